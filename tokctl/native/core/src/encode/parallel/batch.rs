//! Many texts at once on several threads; their ids end to end.

use crate::encode::encoder::{Call, CallState};
use crate::encode::{Encoder, Ids, Matchers};
use crate::error::{Error, Result};
use crate::jobs::{groups, Interrupt, Jobs, Worker};
use crate::large_pages::reserve_projected;
use crate::lock_free::PoolGuard;

/// Bytes of short texts that are one job, so that no thread is woken for nothing.
const GROUP: usize = 64 * 1024;

/// The ids of texts side by side.
#[derive(Debug, Default)]
pub struct RaggedIds {
    /// All ids, text by text.
    pub ids: Ids,
    /// For each text: where its ids end.
    pub ends: Vec<usize>,
}

impl RaggedIds {
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
struct BatchOutput {
    flat: RaggedIds,
    /// Bytes of the texts whose ids are there, and of the others.
    done: usize,
    rest: usize,
}

impl BatchOutput {
    /// Room for the ids of the next texts, of so many bytes.
    fn reserve(&mut self, bytes: usize) {
        let out = self.flat.ids.as_mut_vec();
        // More ids than bytes have few models; then the vector grows by itself.
        if self.done > 0 && out.capacity() - out.len() < bytes {
            reserve_projected(out, bytes, (self.done, self.rest), out.len());
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
    ) -> Result<RaggedIds> {
        let length = |text: &T| text.as_ref().len();
        let total: usize = texts.iter().map(length).sum();
        // One that would keep a thread busy when the others have ended is shared out by itself.
        let large = (total / threads.max(1).saturating_mul(2)).max(2 * GROUP);
        let mut output = BatchOutput {
            flat: RaggedIds {
                ids: Ids::new(self.buffers(), total),
                ends: Vec::with_capacity(texts.len()),
            },
            done: 0,
            rest: total,
        };
        let mut rest = texts;
        while let Some(first) = rest.first() {
            if threads > 1 && length(first) > large {
                let out = output.flat.ids.as_mut_vec();
                self.ids_threaded(first.as_ref(), threads, matchers, out, interrupt)?;
                output.flat.ends.push(out.len());
                output.advance(length(first));
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|text| length(text) > large);
            let (now, later) = match end {
                Some(end) if threads > 1 => rest.split_at(end),
                _ => (rest, &rest[rest.len()..]),
            };
            let groups = groups(now.iter().map(length), GROUP);
            let groups: Vec<&[T]> = groups.into_iter().map(|group| &now[group]).collect();
            match threads > 1 && groups.len() > 1 {
                true => self.fill_by_threads(&groups, threads, matchers, &mut output, interrupt)?,
                false => self.fill(&groups, matchers, &mut output, interrupt)?,
            }
            rest = later;
        }
        Ok(output.flat)
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
        let count = groups.len();
        let cuts = |worker: &mut Worker<()>, number: usize| {
            let texts = &texts[groups[number].clone()];
            let mut cuts = Vec::with_capacity(texts.len());
            for text in texts {
                let mut places = 0u128;
                for token in self.tokens(text.as_ref(), matchers, worker.interrupt)? {
                    for place in [token.start, token.end] {
                        let bit = u32::try_from(place).ok();
                        let bit = bit.and_then(|place| 1u128.checked_shl(place));
                        let too_large = || Error::TooLarge("a text of over 127 bytes".into());
                        places |= bit.ok_or_else(too_large)?;
                    }
                }
                cuts.push(places);
            }
            Ok(cuts)
        };
        let made = Jobs { count, threads }.collect(interrupt, || (), cuts)?;
        Ok(made.concat())
    }

    fn fill<T: AsRef<[u8]>>(
        &self,
        groups: &[&[T]],
        matchers: Option<&Matchers>,
        output: &mut BatchOutput,
        interrupt: Interrupt,
    ) -> Result<()> {
        let mut state = self.call_state();
        let call = &mut state.call(interrupt, matchers);
        for texts in groups {
            let bytes = bytes(texts);
            output.reserve(bytes);
            let RaggedIds { ids, ends } = &mut output.flat;
            self.group_ids(texts, call, ids.as_mut_vec(), ends)?;
            output.advance(bytes);
        }
        Ok(())
    }

    fn fill_by_threads<T: AsRef<[u8]> + Sync>(
        &self,
        groups: &[&[T]],
        threads: usize,
        matchers: Option<&Matchers>,
        output: &mut BatchOutput,
        interrupt: Interrupt,
    ) -> Result<()> {
        let jobs = Jobs {
            count: groups.len(),
            threads,
        };
        let work = |worker: &mut Worker<PoolGuard<CallState>>, number: usize| {
            let (mut ids, mut ends) = (self.buffers().take_chunk(), Vec::new());
            let call = &mut worker.state.call(worker.interrupt, matchers);
            self.group_ids(groups[number], call, &mut ids, &mut ends)?;
            Ok((ids, ends, bytes(groups[number])))
        };
        let take = |_: &mut Worker<_>, (ids, ends, bytes): (Vec<u32>, Vec<usize>, usize)| {
            output.reserve(bytes);
            let flat = &mut output.flat;
            let before = flat.ids.len();
            flat.ids.as_mut_vec().extend_from_slice(&ids);
            flat.ends.extend(ends.iter().map(|end| before + end));
            output.advance(bytes);
            self.buffers().put_chunk(ids);
            Ok(())
        };
        jobs.in_order(interrupt, || self.call_state(), work, take)
    }

    /// Appends the ids of each text, and where they end among `ids`.
    fn group_ids<T: AsRef<[u8]>>(
        &self,
        texts: &[T],
        call: &mut Call,
        ids: &mut Vec<u32>,
        ends: &mut Vec<usize>,
    ) -> Result<()> {
        if (call.interrupt)() {
            return Err(Error::Interrupted);
        }
        self.ids_of_each(texts, call, ids, ends)
    }
}

fn bytes<T: AsRef<[u8]>>(texts: &[T]) -> usize {
    texts.iter().map(|text| text.as_ref().len()).sum()
}
