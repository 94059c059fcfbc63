//! Many texts at once, shared out among threads; their ids end to end.

use super::encoder::Work;
use super::shared_out::{in_order, Order};
use super::{Encoder, Ids, Interrupt, Matchers};
use crate::error::{Error, Result};
use crate::large_pages::make_room;

/// Bytes of short texts that are one piece of work, so that no thread is woken for nothing.
const GROUP: usize = 64 * 1024;

/// The ids of texts side by side.
#[derive(Debug, Default)]
pub struct Flat {
    /// All ids, text by text.
    pub ids: Ids,
    /// For each text: where its ids end.
    pub ends: Vec<usize>,
}

impl Flat {
    /// The ids of each text.
    pub fn texts(&self) -> impl Iterator<Item = &[u32]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let text = &self.ids[start..end];
            start = end;
            text
        })
    }

    /// The first text with this id.
    pub fn first_with(&self, id: u32) -> Option<usize> {
        let place = self.ids.iter().position(|&one| one == id)?;
        Some(self.ends.partition_point(|&end| end <= place))
    }
}

/// The ids of the texts so far.
struct Filling {
    flat: Flat,
    /// Bytes of the texts whose ids are there, and of the others.
    done: usize,
    rest: usize,
}

impl Filling {
    /// Room for the ids of the next texts, of so many bytes.
    fn make_room(&mut self, bytes: usize) {
        let out = self.flat.ids.as_mut_vec();
        // More ids than bytes have few models; then the vector grows by itself.
        if self.done > 0 && out.capacity() - out.len() < bytes {
            make_room(out, bytes, (self.done, self.rest), out.len());
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.done += bytes;
        self.rest = self.rest.saturating_sub(bytes);
    }
}

impl Encoder {
    /// The ids of each text, in the order of the texts.
    pub fn batch<T: AsRef<[u8]> + Sync>(
        &self,
        texts: &[T],
        threads: usize,
        matchers: Option<&Matchers>,
        interrupt: Interrupt,
    ) -> Result<Flat> {
        let length = |text: &T| text.as_ref().len();
        let total: usize = texts.iter().map(length).sum();
        // One that would keep a thread busy when the others have ended is shared out by itself.
        let large = (total / (2 * threads.max(1))).max(2 * GROUP);
        let mut filling = Filling {
            flat: Flat {
                ids: Ids::new(self.spares(), total),
                ends: Vec::with_capacity(texts.len()),
            },
            done: 0,
            rest: total,
        };
        let mut rest = texts;
        while let Some(first) = rest.first() {
            if threads > 1 && length(first) > large {
                let out = filling.flat.ids.as_mut_vec();
                self.ids_threaded(first.as_ref(), threads, matchers, out, interrupt)?;
                filling.flat.ends.push(out.len());
                filling.advance(length(first));
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|text| length(text) > large);
            let (now, later) = match end {
                Some(end) if threads > 1 => rest.split_at(end),
                _ => (rest, &rest[rest.len()..]),
            };
            let groups = groups(now.iter().map(length), GROUP);
            let groups: Vec<&[T]> = groups.iter().map(|&(from, to)| &now[from..to]).collect();
            match threads > 1 && groups.len() > 1 {
                true => {
                    self.fill_by_threads(&groups, threads, matchers, &mut filling, interrupt)?
                }
                false => self.fill(&groups, matchers, &mut filling, interrupt)?,
            }
            rest = later;
        }
        Ok(filling.flat)
    }

    /// Where the tokens of each text start or end: bit n stands for byte n. Only of texts so short
    /// that their places fit.
    pub fn cuts<T: AsRef<[u8]> + Sync>(
        &self,
        texts: &[T],
        matchers: Option<&Matchers>,
        threads: usize,
        interrupt: Interrupt,
    ) -> Result<Vec<u128>> {
        let groups = groups(texts.iter().map(|text| text.as_ref().len()), GROUP);
        let made = in_order(groups.len(), threads, interrupt, |jobs, interrupt| {
            while let Some(number) = jobs.take() {
                let (from, to) = groups[number];
                let mut cuts = Vec::with_capacity(to - from);
                for text in &texts[from..to] {
                    let mut places = 0u128;
                    for token in self.tokens(text.as_ref(), matchers, interrupt)? {
                        for place in [token.start, token.end] {
                            let bit = u32::try_from(place).ok();
                            let bit = bit.and_then(|place| 1u128.checked_shl(place));
                            places |= bit.ok_or_else(|| {
                                Error::TooLarge("a text of over 127 bytes".into())
                            })?;
                        }
                    }
                    cuts.push(places);
                }
                jobs.done(number, cuts);
            }
            Ok(())
        })?;
        Ok(made.concat())
    }

    fn fill<T: AsRef<[u8]>>(
        &self,
        groups: &[&[T]],
        matchers: Option<&Matchers>,
        filling: &mut Filling,
        interrupt: Interrupt,
    ) -> Result<()> {
        self.with_work(interrupt, matchers, |work| {
            for texts in groups {
                let bytes = bytes(texts);
                filling.make_room(bytes);
                let Flat { ids, ends } = &mut filling.flat;
                self.group_ids(texts, work, ids.as_mut_vec(), ends)?;
                filling.advance(bytes);
            }
            Ok(())
        })
    }

    fn fill_by_threads<T: AsRef<[u8]> + Sync>(
        &self,
        groups: &[&[T]],
        threads: usize,
        matchers: Option<&Matchers>,
        filling: &mut Filling,
        interrupt: Interrupt,
    ) -> Result<()> {
        let order = Order::new(filling);
        in_order::<()>(groups.len(), threads, interrupt, |jobs, interrupt| {
            self.with_work(interrupt, matchers, |work| {
                while let Some(number) = jobs.take() {
                    let (mut ids, mut ends) = (self.spares().take_short(), Vec::new());
                    self.group_ids(groups[number], work, &mut ids, &mut ends)?;
                    let made = (ids, ends, bytes(groups[number]));
                    order.hand_over(number, made, |filling, (ids, ends, bytes)| {
                        filling.make_room(bytes);
                        let flat = &mut filling.flat;
                        let before = flat.ids.len();
                        flat.ids.as_mut_vec().extend_from_slice(&ids);
                        flat.ends.extend(ends.iter().map(|end| before + end));
                        filling.advance(bytes);
                        self.spares().give_short(ids);
                        Ok(())
                    })?;
                }
                Ok(())
            })
        })?;
        Ok(())
    }

    /// Appends the ids of each text, and where they end among `ids`.
    fn group_ids<T: AsRef<[u8]>>(
        &self,
        texts: &[T],
        work: &mut Work,
        ids: &mut Vec<u32>,
        ends: &mut Vec<usize>,
    ) -> Result<()> {
        if (work.interrupt)() {
            return Err(Error::Interrupted);
        }
        for text in texts {
            self.ids_with(text.as_ref(), work, ids)?;
            ends.push(ids.len());
        }
        Ok(())
    }
}

fn bytes<T: AsRef<[u8]>>(texts: &[T]) -> usize {
    texts.iter().map(|text| text.as_ref().len()).sum()
}

/// From, to: texts side by side that have together `size` bytes or a little more.
pub(super) fn groups(
    lengths: impl ExactSizeIterator<Item = usize>,
    size: usize,
) -> Vec<(usize, usize)> {
    let count = lengths.len();
    let mut groups = Vec::new();
    let (mut from, mut bytes) = (0, 0);
    for (at, length) in lengths.enumerate() {
        // An empty text takes time, too.
        bytes += length + 64;
        if bytes >= size || at + 1 == count {
            groups.push((from, at + 1));
            (from, bytes) = (at + 1, 0);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_in_one_group() {
        let texts = || (0..1000usize).map(|length| length % 70);
        for size in [1, 100, 5000, 1 << 30] {
            let groups = groups(texts(), size);
            let numbers: Vec<usize> = groups.iter().flat_map(|&(from, to)| from..to).collect();
            assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
        }
        assert_eq!(groups(texts(), 1).len(), 1000);
        assert!(groups([].into_iter(), 10).is_empty());
    }
}
