//! Counts as text: one `word<TAB>count` per line.
//!
//! The last tab of a line is the separator. In the word, `\n`, `\r`, `\t` and `\\` stand for a line
//! feed, a carriage return, a tab and a backslash, and `\xff` stands for the byte FF, so that the
//! output is always UTF-8. A backslash before anything else is an error, so that no other notation
//! is misread silently. Bytes that are not UTF-8 are also read as they are. The count is a whole
//! number from 0 to 2^63 - 1; a carriage return may follow it. The counts of a repeated word add
//! up.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2, memrchr};

use super::counter::Counter;
use super::counts::{Counts, LEAST_TOO_LARGE};
use crate::error::{Error, Result};

/// Reader of counts, block by block.
#[derive(Default)]
pub struct CountLines {
    /// Start of a line whose end has not come yet.
    waiting: Vec<u8>,
    /// Number of lines read.
    done: u64,
    /// Whether words must be UTF-8.
    characters: bool,
}

impl CountLines {
    /// Create a reader; with `characters`, a word that is not UTF-8 is an error.
    pub fn new(characters: bool) -> Self {
        CountLines {
            characters,
            ..CountLines::default()
        }
    }

    /// Add the lines that end in this block.
    pub fn feed(&mut self, mut block: &[u8], counter: &mut Counter) -> Result<()> {
        while let Some(end) = memchr(b'\n', block) {
            if self.waiting.is_empty() {
                self.line(&block[..end], counter)?;
            } else {
                let mut line = std::mem::take(&mut self.waiting);
                line.extend_from_slice(&block[..end]);
                self.line(&line, counter)?;
            }
            block = &block[end + 1..];
        }
        self.waiting.extend_from_slice(block);
        Ok(())
    }

    /// Add the last line, if no line feed ended it.
    pub fn end(&mut self, counter: &mut Counter) -> Result<()> {
        match std::mem::take(&mut self.waiting) {
            line if line.is_empty() => Ok(()),
            line => self.line(&line, counter),
        }
    }

    fn line(&mut self, line: &[u8], counter: &mut Counter) -> Result<()> {
        self.done += 1;
        let number = self.done;
        let wrong = |what: String| Err(Error::Invalid(format!("line {number}: {what}")));
        let Some(tab) = memrchr(b'\t', line) else {
            return wrong("there is no tab between a word and its count".into());
        };
        let (word, digits) = (&line[..tab], &line[tab + 1..]);
        let digits = digits.strip_suffix(b"\r").unwrap_or(digits);
        let count = match parse(digits) {
            Some(count) => count,
            None => {
                let shown = String::from_utf8_lossy(&digits[..digits.len().min(40)]);
                return wrong(format!(
                    "{shown:?} is not a whole number from 0 to 2^63 - 1"
                ));
            }
        };
        let word = match unescape(word) {
            Some(word) if word.is_empty() => return wrong("the word is empty".into()),
            Some(word) => word,
            None => {
                return wrong(r"a backslash in the word is not \n, \r, \t, \\ or \xNN".into());
            }
        };
        if self.characters && std::str::from_utf8(&word).is_err() {
            return wrong("the word is not UTF-8, which this recipe needs".into());
        }
        counter.add(&word, count)
    }
}

/// Return the number in `digits`, if it is nothing but digits and below 2^63.
fn parse(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (number < LEAST_TOO_LARGE).then_some(number)
}

fn unescape(word: &[u8]) -> Option<Cow<'_, [u8]>> {
    if memchr(b'\\', word).is_none() {
        return Some(Cow::Borrowed(word));
    }
    let mut text = Vec::with_capacity(word.len());
    let mut bytes = word.iter();
    while let Some(&byte) = bytes.next() {
        text.push(match byte {
            b'\\' => match bytes.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'\\' => b'\\',
                b'x' => 16 * digit(*bytes.next()?)? + digit(*bytes.next()?)?,
                _ => return None,
            },
            byte => byte,
        });
    }
    Some(Cow::Owned(text))
}

/// Return the value of a hexadecimal digit.
fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|value| value as u8)
}

/// Append the word as UTF-8 without tabs and line ends.
fn escape(word: &[u8], line: &mut Vec<u8>) {
    for chunk in word.utf8_chunks() {
        for &byte in chunk.valid().as_bytes() {
            match byte {
                b'\n' => line.extend_from_slice(br"\n"),
                b'\r' => line.extend_from_slice(br"\r"),
                b'\t' => line.extend_from_slice(br"\t"),
                b'\\' => line.extend_from_slice(br"\\"),
                byte => line.push(byte),
            }
        }
        for &byte in chunk.invalid() {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            line.extend_from_slice(br"\x");
            line.push(DIGITS[usize::from(byte >> 4)]);
            line.push(DIGITS[usize::from(byte & 15)]);
        }
    }
}

impl Counts {
    /// Return the lines that [`CountLines`] reads, in first-seen order.
    pub fn to_lines(&self) -> Vec<u8> {
        self.lines_of(0..self.len())
    }

    /// Return the lines of some of the pre-tokens, by their numbers.
    pub fn lines_of(&self, pre_tokens: Range<usize>) -> Vec<u8> {
        let mut lines = Vec::new();
        let mut digits = itoa::Buffer::new();
        for (word, count) in self.range(pre_tokens) {
            let plain = memchr2(b'\\', b'\t', word).is_none()
                && memchr2(b'\n', b'\r', word).is_none()
                && std::str::from_utf8(word).is_ok();
            if plain {
                lines.extend_from_slice(word);
            } else {
                escape(word, &mut lines);
            }
            lines.push(b'\t');
            lines.extend_from_slice(digits.format(count).as_bytes());
            lines.push(b'\n');
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalize::Chain;
    use crate::pretokenize::PreTokenizer;

    fn read(text: &[u8], block: usize, characters: bool) -> Result<Counts> {
        let mut counter = Counter::new(PreTokenizer::default(), Chain::default(), 1);
        let mut lines = CountLines::new(characters);
        for block in text.chunks(block) {
            lines.feed(block, &mut counter)?;
        }
        lines.end(&mut counter)?;
        counter.finish(1)
    }

    #[test]
    fn written_lines_are_read_again() {
        let mut counts = Counts::default();
        for (word, count) in [("a b", 3), ("\n\t\\n", 2), ("é\r", (1 << 63) - 1), ("x", 1)] {
            counts.push(word.as_bytes(), count);
        }
        counts.push(b"\xff\\xff\xe2\x96", 7);
        counts.push(b"\xe2", 1);
        counts.push(b"\x96\x81", 1);
        let lines = counts.to_lines();
        let text = std::str::from_utf8(&lines).unwrap();
        assert!(text.ends_with("\n\\xff\\\\xff\\xe2\\x96\t7\n\\xe2\t1\n\\x96\\x81\t1\n"));
        for block in [1, 3, 1000] {
            let again = read(&lines, block, false).unwrap();
            assert!(counts.iter().eq(again.iter()));
        }
    }

    #[test]
    fn duplicates_add_up_and_a_carriage_return_is_taken() {
        let counts = read(b"b\t2\r\na\t1\r\nz\t0\nb\t3", 4, true).unwrap();
        let found: Vec<_> = counts.iter().collect();
        assert_eq!(found, [(&b"b"[..], 5), (&b"a"[..], 1)]);
    }

    #[test]
    fn bytes_are_taken_escaped_and_as_they_are() {
        let counts = read(b"\\xFf\t2\n\xff\t3\n\\x61b\t1\nab\t1\n", 3, false).unwrap();
        let found: Vec<_> = counts.iter().collect();
        assert_eq!(found, [(&b"\xff"[..], 5), (&b"ab"[..], 2)]);
    }

    #[test]
    fn errors_name_the_line() {
        for (line, what) in [
            (&b"ab"[..], "no tab"),
            (b"", "no tab"),
            (b"ab\t", "\"\" is not a whole number"),
            (b"ab\t-1", "\"-1\" is not a whole"),
            (b"ab\t+1", "is not a whole"),
            (b"ab\t1.0", "is not a whole"),
            (b"ab\t9223372036854775808", "is not a whole"),
            (b"\t1", "is empty"),
            (br"a\b	1", "a backslash"),
            (b"a\\\t1", "a backslash"),
            (br"\x	1", "a backslash"),
            (br"\xf	1", "a backslash"),
            (br"\x+1	1", "a backslash"),
            (br"\xff	1", "not UTF-8"),
            (b"\xff\t1", "not UTF-8"),
        ] {
            let text = [b"x\t1\n", line, b"\n"].concat();
            let error = read(&text, 5, true).unwrap_err().to_string();
            assert!(
                error.starts_with("line 2: ") && error.contains(what),
                "{error}"
            );
        }
    }
}
