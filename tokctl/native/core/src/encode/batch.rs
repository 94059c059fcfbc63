//! Many texts at once, shared out among threads; their ids end to end.

use super::shared_out::in_order;
use super::{Encoder, Interrupt, Matchers};
use crate::error::Result;

/// Bytes of short texts that are one piece of work, so that no thread is woken for nothing.
const GROUP: usize = 64 * 1024;

/// The ids of texts side by side.
#[derive(Debug, Default)]
pub struct Flat {
    /// All ids, text by text.
    ids: Vec<u32>,
    /// For each text: where its ids end.
    ends: Vec<usize>,
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
    pub fn first_with(all: &[Flat], id: u32) -> Option<usize> {
        let mut before = 0;
        for flat in all {
            if flat.ids.contains(&id) {
                let place = flat.texts().position(|ids| ids.contains(&id));
                return place.map(|place| before + place);
            }
            before += flat.ends.len();
        }
        None
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
    ) -> Result<Vec<Flat>> {
        let length = |text: &T| text.as_ref().len();
        let total: usize = texts.iter().map(length).sum();
        // One that would keep a thread busy when the others have ended is shared out by itself.
        let large = (total / (2 * threads.max(1))).max(2 * GROUP);
        let mut out = Vec::new();
        let mut rest = texts;
        while let Some(first) = rest.first() {
            if threads > 1 && length(first) > large {
                let mut ids = Vec::new();
                self.ids_threaded(first.as_ref(), threads, matchers, &mut ids, interrupt)?;
                let ends = vec![ids.len()];
                out.push(Flat { ids, ends });
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|text| length(text) > large);
            let (now, later) = match end {
                Some(end) if threads > 1 => rest.split_at(end),
                _ => (rest, &rest[rest.len()..]),
            };
            out.extend(self.batch_in_groups(now, threads, matchers, interrupt)?);
            rest = later;
        }
        Ok(out)
    }

    fn batch_in_groups<T: AsRef<[u8]> + Sync>(
        &self,
        texts: &[T],
        threads: usize,
        matchers: Option<&Matchers>,
        interrupt: Interrupt,
    ) -> Result<Vec<Flat>> {
        let groups = groups(texts.iter().map(|text| text.as_ref().len()), GROUP);
        in_order(groups.len(), threads, interrupt, |jobs, interrupt| {
            self.with_work(interrupt, matchers, |work| {
                while let Some(number) = jobs.take() {
                    let (from, to) = groups[number];
                    let mut flat = Flat {
                        ids: Vec::new(),
                        ends: Vec::with_capacity(to - from),
                    };
                    for text in &texts[from..to] {
                        self.ids_with(text.as_ref(), work, &mut flat.ids)?;
                        flat.ends.push(flat.ids.len());
                    }
                    jobs.done(number, flat);
                }
                Ok(())
            })
        })
    }
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
