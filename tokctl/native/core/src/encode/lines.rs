//! Line by line: a block of text in, a block of decimal ids out.

use super::encoder::Work;
use super::{Encoder, Interrupt, Matchers};
use crate::error::Result;
use crate::model::NO_ID;

/// The text form of the ids of some lines.
#[derive(Debug, Default)]
pub struct Lines {
    /// Ids in decimal, separated by a space; a line feed where the input had one.
    pub text: Vec<u8>,
    pub tokens: u64,
    /// Line (from 0) of the first token that has no id, if any.
    pub unknown: Option<u64>,
}

impl Encoder {
    /// Encodes every line of `block`; line feeds are not encoded but copied.
    pub fn lines(
        &self,
        block: &[u8],
        matchers: Option<&Matchers>,
        interrupt: Interrupt,
    ) -> Result<Lines> {
        self.with_work(interrupt, matchers, |work| self.lines_with(block, work))
    }

    fn lines_with(&self, block: &[u8], work: &mut Work) -> Result<Lines> {
        let mut out = Lines::default();
        let mut ids = Vec::new();
        let mut number = itoa::Buffer::new();
        for (line_number, line) in (0u64..).zip(block.split_inclusive(|&byte| byte == b'\n')) {
            let (line, ended) = match line.split_last() {
                Some((b'\n', line)) => (line, true),
                _ => (line, false),
            };
            ids.clear();
            self.ids_with(line, work, &mut ids)?;
            out.tokens += ids.len() as u64;
            for (at, &id) in ids.iter().enumerate() {
                if id == NO_ID {
                    out.unknown = Some(line_number);
                    return Ok(out);
                }
                if at > 0 {
                    out.text.push(b' ');
                }
                out.text.extend_from_slice(number.format(id).as_bytes());
            }
            if ended {
                out.text.push(b'\n');
            }
        }
        Ok(out)
    }
}
