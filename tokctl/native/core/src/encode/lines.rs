//! The ids of many lines, one behind the other, with marks between.

use super::batched::{Batched, LINE_END};
use super::encoder::Work;
use super::{Encoder, Matchers};
use crate::error::Result;

impl Encoder {
    /// Appends the ids of every line of `block`; behind those of a line, [`LINE_END`] stands for
    /// its line feed.
    pub(super) fn line_ids(&self, block: &[u8], work: &mut Work, out: &mut Vec<u32>) -> Result<()> {
        if self.takes_lines_together(work.matchers) {
            let (memory, interrupt) = (&mut work.memory.ids, work.interrupt);
            let mut batched = Batched::new(self, block, None, memory, out, interrupt);
            let (mut places, mut result) = (batched.places(), Ok(()));
            for (line, start, ended) in lines(block) {
                let split = self.pre_tokenizer.split(line, |from, to| {
                    places.push(start + from, start + to);
                });
                if ended {
                    places.end_line();
                }
                if split.is_err() {
                    result = split;
                    break;
                }
            }
            drop(places);
            return result.and(batched.finish());
        }
        for (line, _, ended) in lines(block) {
            self.ids_with(line, work, out)?;
            if ended {
                out.push(LINE_END);
            }
        }
        Ok(())
    }

    /// Are pre-tokens ranges of the text as given, so that those of many lines can be gathered?
    fn takes_lines_together(&self, matchers: Option<&Matchers>) -> bool {
        let found = matchers.is_some_and(|all| all.raw().is_some() || all.normalized().is_some());
        let splitting = &self.pre_tokenizer;
        let rewrites = splitting.metaspace().is_some() || splitting.rewrites();
        !found && self.normalizers.is_empty() && !rewrites && self.fused().is_none()
    }
}

/// Each line without its line feed, where it starts, and whether it has a line feed.
fn lines(block: &[u8]) -> impl Iterator<Item = (&[u8], usize, bool)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = block.get(start..).filter(|rest| !rest.is_empty())?;
        let end = memchr::memchr(b'\n', rest);
        let line = (&rest[..end.unwrap_or(rest.len())], start, end.is_some());
        start += line.0.len() + 1;
        Some(line)
    })
}
