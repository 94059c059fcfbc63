//! Many texts on several threads; their ids are concatenated.

use crate::encode::encoder::{Call, CallState};
use crate::encode::{Encoder, IdNumber, Ids, Matchers};
use crate::error::{Error, Result};
use crate::jobs::{groups, Interrupt, Jobs, Worker};
use crate::large_pages::reserve_projected;
use crate::lock_free::PoolGuard;
use crate::memory;
use crate::model::NO_ID;

/// Bytes of short texts that form one job, so that waking a thread pays.
const GROUP: usize = 64 * 1024;

/// The ids of several texts, concatenated.
#[derive(Debug, Default)]
pub struct RaggedIds<N: IdNumber = u32> {
    /// Ids of all texts, one text after another.
    pub ids: Ids<N>,
    /// End of each text's ids in `ids`.
    pub ends: Vec<usize>,
}

impl<N: IdNumber> RaggedIds<N> {
    /// Iterate over the ids of each text.
    pub fn texts(&self) -> impl Iterator<Item = &[N]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let text = &self.ids[start..end];
            start = end;
            text
        })
    }

    /// Return the index of the first text that has this id.
    pub fn first_with(&self, id: u32) -> Option<usize> {
        let place = self.ids.iter().position(|&one| one.into() == id)?;
        Some(self.ends.partition_point(|&end| end <= place))
    }

    /// Append the ids of more texts; `ends` are relative to `ids`.
    fn append(&mut self, ids: &[u32], ends: &[usize]) -> Result<()> {
        let before = self.ids.len();
        N::append(ids, self.ids.as_mut_vec()).map_err(|place| {
            let text = self.ends.len() + ends.partition_point(|&end| end <= place);
            does_not_fit(ids[place], text)
        })?;
        self.ends.extend(ends.iter().map(|end| before + end));
        Ok(())
    }
}

impl RaggedIds {
    /// Wrap the ids of each text: keep at most `most`, and put `before` and `behind` around them.
    ///
    /// `ids` are the ids of all texts, which end at `ends`. Keeps the last ids if `last` is true,
    /// else the first ones.
    pub fn wrapped(
        (ids, ends): (&[u32], &[usize]),
        (before, behind): (&[u32], &[u32]),
        most: usize,
        last: bool,
    ) -> Result<Self> {
        let texts = || {
            let starts = std::iter::once(&0).chain(ends);
            starts.zip(ends).map(|(&start, &end)| {
                let text = ids.get(start..end).unwrap_or_default();
                let cut = text.len().saturating_sub(most);
                match last {
                    true => &text[cut..],
                    false => &text[..text.len() - cut],
                }
            })
        };
        let around = before.len() + behind.len();
        let length = texts().map(|text| text.len() + around).sum();
        let mut wrapped = RaggedIds {
            ids: memory::with_capacity(length)?.into(),
            ends: memory::with_capacity(ends.len())?,
        };
        let out = wrapped.ids.as_mut_vec();
        for text in texts() {
            for part in [before, text, behind] {
                out.extend_from_slice(part);
            }
            wrapped.ends.push(out.len());
        }
        Ok(wrapped)
    }
}

/// The ids of the texts so far.
struct BatchOutput<N: IdNumber> {
    flat: RaggedIds<N>,
    /// Bytes of the texts that are done.
    done: usize,
    /// Bytes of the other texts.
    rest: usize,
}

impl<N: IdNumber> BatchOutput<N> {
    /// Reserve room for the ids of the next texts, of `bytes` bytes.
    fn reserve(&mut self, bytes: usize) {
        let out = self.flat.ids.as_mut_vec();
        // Few models make more ids than bytes; for them the vector grows by itself.
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
    /// Return the ids of each text, in the order of the texts.
    pub fn batch<N: IdNumber, T: AsRef<[u8]> + Sync>(
        &self,
        texts: &[T],
        threads: usize,
        matchers: Option<&Matchers>,
        interrupt: Interrupt,
    ) -> Result<RaggedIds<N>> {
        let length = |text: &T| text.as_ref().len();
        let total: usize = texts.iter().map(length).sum();
        // A text that would keep one thread busy after the others have ended is split among all
        // threads.
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
                let RaggedIds { ids, ends } = &mut output.flat;
                let (text, out) = (first.as_ref(), ids.as_mut_vec());
                self.ids_threaded(text, threads, matchers, out, interrupt)
                    .map_err(|error| match error {
                        Error::NoId(_) => Error::NoId(ends.len()),
                        error => error,
                    })?;
                ends.push(out.len());
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

    /// Return where the tokens of each text start or end: bit n stands for byte offset n.
    ///
    /// Fails on a text of over 127 bytes.
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

    fn fill<N: IdNumber, T: AsRef<[u8]>>(
        &self,
        groups: &[&[T]],
        matchers: Option<&Matchers>,
        output: &mut BatchOutput<N>,
        interrupt: Interrupt,
    ) -> Result<()> {
        let mut state = self.call_state();
        let call = &mut state.call(interrupt, matchers);
        for texts in groups {
            let bytes = bytes(texts);
            output.reserve(bytes);
            let RaggedIds { ids, ends } = &mut output.flat;
            match N::as_encoded(ids.as_mut_vec()) {
                Some(ids) => self.group_ids(texts, call, ids, ends)?,
                None => {
                    let (mut ids, mut ends) = (self.buffers().take_chunk(), Vec::new());
                    self.group_ids(texts, call, &mut ids, &mut ends)?;
                    output.flat.append(&ids, &ends)?;
                    self.buffers().put_chunk(ids);
                }
            }
            output.advance(bytes);
        }
        Ok(())
    }

    fn fill_by_threads<N: IdNumber, T: AsRef<[u8]> + Sync>(
        &self,
        groups: &[&[T]],
        threads: usize,
        matchers: Option<&Matchers>,
        output: &mut BatchOutput<N>,
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
            output.flat.append(&ids, &ends)?;
            output.advance(bytes);
            self.buffers().put_chunk(ids);
            Ok(())
        };
        jobs.in_order(interrupt, || self.call_state(), work, take)
    }

    /// Append the ids of each text, and to `ends` the length of `ids` after each text.
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

/// Return the error for an id that can't be stored, of the text with index `text`.
pub(in crate::encode) fn does_not_fit(id: u32, text: usize) -> Error {
    match id {
        NO_ID => Error::NoId(text),
        id => Error::TooLarge(format!("id {id} does not fit 16 bits")),
    }
}

fn bytes<T: AsRef<[u8]>>(texts: &[T]) -> usize {
    texts.iter().map(|text| text.as_ref().len()).sum()
}
