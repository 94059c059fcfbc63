//! Check, block by block, that a text is UTF-8; the text need not fit into memory.

use std::str::from_utf8;

use memchr::memchr_iter;

use crate::unicode;

/// Position of the first ill-formed sequence: the line, from 1, and the byte, from 0.
pub type LinePosition = (u64, u64);

/// State of the check between blocks.
#[derive(Default)]
pub struct Utf8Check {
    /// Start of a character whose end has not come yet.
    waiting: Vec<u8>,
    /// Number of bytes in the blocks so far.
    bytes: u64,
    /// Number of line feeds in the blocks so far.
    lines: u64,
}

impl Utf8Check {
    /// Check the next block; after an error, the check is over.
    pub fn feed(&mut self, block: &[u8]) -> Result<(), LinePosition> {
        let mut rest = block;
        while !self.waiting.is_empty() && !rest.is_empty() {
            let start = self.bytes - self.waiting.len() as u64;
            self.waiting.push(rest[0]);
            rest = &rest[1..];
            self.bytes += 1;
            match from_utf8(&self.waiting).map_err(|error| error.error_len()) {
                // A character of several bytes is not a line feed.
                Ok(_) => self.waiting.clear(),
                Err(None) => {}
                Err(Some(_)) => return Err((self.lines + 1, start)),
            }
        }
        // The fast check does not tell which byte is wrong.
        let valid = match unicode::well_formed(rest).map_or_else(|| from_utf8(rest), Ok) {
            Ok(_) => rest.len(),
            Err(error) => {
                let valid = error.valid_up_to();
                if error.error_len().is_some() {
                    let line = self.lines + lines(&rest[..valid]) + 1;
                    return Err((line, self.bytes + valid as u64));
                }
                valid
            }
        };
        self.waiting.extend_from_slice(&rest[valid..]);
        self.bytes += rest.len() as u64;
        self.lines += lines(rest);
        Ok(())
    }

    /// End the text: a character that has only begun is ill-formed.
    pub fn end(&self) -> Result<(), LinePosition> {
        match self.waiting.len() as u64 {
            0 => Ok(()),
            waiting => Err((self.lines + 1, self.bytes - waiting)),
        }
    }
}

fn lines(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &[u8], block: usize) -> Result<(), LinePosition> {
        let mut check = Utf8Check::default();
        for block in text.chunks(block) {
            check.feed(block)?;
        }
        check.end()
    }

    #[test]
    fn the_first_ill_formed_sequence_is_named_whatever_the_blocks() {
        let texts: [&[u8]; 12] = [
            b"",
            "aé\n字\n\u{1F600}\u{10ffff}".as_bytes(),
            b"a\n\xFF",
            b"\n\n\xE2\x82",
            b"\xE2\x82a",
            b"\xE2\x82\n\xE2\x82\xAC",
            b"\xED\xA0\x80",
            b"\xE0\x80\x80",
            b"\xF4\x90\x80\x80",
            b"abc\xF0\x9F\x98",
            b"\xF0\x9F\x98\xE2",
            b"\x80\n",
        ];
        for text in texts {
            let expected = from_utf8(text).map(drop).map_err(|error| {
                let valid = error.valid_up_to();
                (lines(&text[..valid]) + 1, valid as u64)
            });
            for block in 1..=text.len().max(1) {
                assert_eq!(check(text, block), expected, "{text:?} by {block}");
            }
        }
    }
}
