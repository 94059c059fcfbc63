//! Decoding line by line: a block of decimal ids in, a block of text out.

use super::Decoder;
use crate::error::{Error, Result};
use crate::memory;

impl Decoder {
    /// Decode every line of `block`; line feeds are copied.
    ///
    /// Errors count lines from `first_line` and columns from 1, in bytes.
    pub fn lines(&self, block: &[u8], first_line: u64, skip_special: bool) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let mut ids = Vec::new();
        for (line_number, line) in (first_line..).zip(block.split_inclusive(|&b| b == b'\n')) {
            let (line, ended) = match line.split_last() {
                Some((b'\n', line)) => (line, true),
                _ => (line, false),
            };
            ids.clear();
            memory::check(line.len().saturating_mul(8))?;
            if !parse(line, &mut ids) {
                return Err(not_an_id(line, line_number));
            }
            self.decode_onto(&ids, skip_special, &mut out)
                .map_err(|error| match error {
                    Error::UnknownId { position, id } => Error::IdOutside {
                        line: line_number,
                        column: words(line).nth(position as usize).map_or(1, |word| word.0),
                        id,
                    },
                    other => other,
                })?;
            if ended {
                out.push(b'\n');
            }
        }
        Ok(out)
    }
}

/// Append the decimal numbers of a line, separated by ASCII white space. Return false if a word is
/// not a number below 2^32 in digits only.
fn parse(line: &[u8], ids: &mut Vec<u32>) -> bool {
    let mut word: Option<u64> = None;
    for &byte in line {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            let number = word.unwrap_or(0) * 10 + u64::from(digit);
            if number > u64::from(u32::MAX) {
                return false;
            }
            word = Some(number);
        } else if byte.is_ascii_whitespace() {
            ids.extend(word.take().map(|number| number as u32));
        } else {
            return false;
        }
    }
    ids.extend(word.map(|number| number as u32));
    true
}

/// Return the error for the first word of a line that is not an id.
#[cold]
fn not_an_id(line: &[u8], line_number: u64) -> Error {
    let wrong = |word: &(u64, &[u8])| !parse(word.1, &mut Vec::new());
    let (column, word) = words(line).find(wrong).unwrap_or((1, line));
    Error::NotAnId {
        line: line_number,
        column,
        word: String::from_utf8_lossy(&word[..word.len().min(40)]).into_owned(),
    }
}

/// Iterate over the words between ASCII white space, with their columns from 1.
fn words(line: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let base = line.as_ptr() as usize;
    line.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map(move |word| ((word.as_ptr() as usize - base) as u64 + 1, word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::DecoderStep;
    use crate::model::Marker;

    #[test]
    fn lines_stay_lines_and_errors_name_their_place() {
        let tokens = vec![b"a".to_vec(), b"b\n".to_vec()];
        let steps = vec![DecoderStep::Markers(Marker::None)];
        let decoder = Decoder::new(steps, tokens, vec![false; 2]).unwrap();
        let lines = |block: &str| decoder.lines(block.as_bytes(), 5, false);
        assert_eq!(lines("0 1\n\n0"), Ok(b"ab\n\n\na".to_vec()));
        assert_eq!(lines(" 0 \t0\r\n"), Ok(b"aa\n".to_vec()));
        assert_eq!(
            lines("0\n0 x1"),
            Err(Error::NotAnId {
                line: 6,
                column: 3,
                word: "x1".into()
            })
        );
        assert_eq!(
            lines("0 2"),
            Err(Error::IdOutside {
                line: 5,
                column: 3,
                id: 2
            })
        );
        assert!(lines("4294967296").is_err());
        assert!(lines("-1").is_err());
    }
}
