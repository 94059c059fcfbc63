//! Many texts at once, shared out among threads.

use super::shared_out::in_order;
use super::{Encoder, Interrupt, Matchers};
use crate::error::Result;

/// Bytes of short texts that are one piece of work, so that no thread is woken for nothing.
const GROUP: usize = 64 * 1024;

impl Encoder {
    /// The ids of each text, in the order of the texts.
    pub fn batch(
        &self,
        texts: &[Vec<u8>],
        threads: usize,
        matchers: Option<&Matchers>,
        interrupt: Interrupt,
    ) -> Result<Vec<Vec<u32>>> {
        let total: usize = texts.iter().map(Vec::len).sum();
        // One that would keep a thread busy when the others have ended is shared out by itself.
        let large = (total / (2 * threads.max(1))).max(2 * GROUP);
        let mut out = Vec::with_capacity(texts.len());
        let mut rest = texts;
        while let Some(first) = rest.first() {
            if threads > 1 && first.len() > large {
                let mut ids = Vec::new();
                self.ids_threaded(first, threads, matchers, &mut ids, interrupt)?;
                out.push(ids);
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|text| text.len() > large);
            let (now, later) = match end {
                Some(end) if threads > 1 => rest.split_at(end),
                _ => (rest, &rest[rest.len()..]),
            };
            out.extend(self.batch_in_groups(now, threads, matchers, interrupt)?);
            rest = later;
        }
        Ok(out)
    }

    fn batch_in_groups(
        &self,
        texts: &[Vec<u8>],
        threads: usize,
        matchers: Option<&Matchers>,
        interrupt: Interrupt,
    ) -> Result<Vec<Vec<u32>>> {
        let groups = groups(texts.iter().map(Vec::len), GROUP);
        let made = in_order(groups.len(), threads, interrupt, |jobs, interrupt| {
            self.with_work(interrupt, matchers, |work| {
                while let Some(number) = jobs.take() {
                    let (from, to) = groups[number];
                    let one = |text: &Vec<u8>| {
                        let mut ids = Vec::new();
                        self.ids_with(text, work, &mut ids)?;
                        Ok(ids)
                    };
                    let ids = texts[from..to]
                        .iter()
                        .map(one)
                        .collect::<Result<Vec<_>>>()?;
                    jobs.done(number, ids);
                }
                Ok(())
            })
        })?;
        Ok(made.into_iter().flatten().collect())
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
