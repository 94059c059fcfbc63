//! Line by line: a block of decimal ids in, a block of text out.

use super::Decoder;
use crate::error::{Error, Result};

impl Decoder {
    /// Decodes every line of `block`; line feeds are copied. Places in errors count
    /// lines from `first_line` and columns (bytes) from 1.
    pub fn lines(&self, block: &[u8], first_line: u64, skip_special: bool) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let mut ids = Vec::new();
        let mut columns = Vec::new();
        for (line_number, line) in (first_line..).zip(block.split_inclusive(|&b| b == b'\n')) {
            let (line, ended) = match line.split_last() {
                Some((b'\n', line)) => (line, true),
                _ => (line, false),
            };
            ids.clear();
            columns.clear();
            for (column, word) in words(line) {
                ids.push(parse(word).ok_or_else(|| Error::NotAnId {
                    line: line_number,
                    column,
                    word: String::from_utf8_lossy(&word[..word.len().min(40)]).into_owned(),
                })?);
                columns.push(column);
            }
            let text = self
                .decode(&ids, skip_special)
                .map_err(|error| match error {
                    Error::UnknownId { position, id } => Error::IdOutside {
                        line: line_number,
                        column: columns[position as usize],
                        id,
                    },
                    other => other,
                })?;
            out.extend_from_slice(&text);
            if ended {
                out.push(b'\n');
            }
        }
        Ok(out)
    }
}

/// Words between ASCII white space, with their columns from 1.
fn words(line: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let base = line.as_ptr() as usize;
    line.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map(move |word| ((word.as_ptr() as usize - base) as u64 + 1, word))
}

/// A decimal number below 2^32, digits only.
fn parse(word: &[u8]) -> Option<u32> {
    word.iter().try_fold(0u32, |number, &byte| {
        let digit = byte.is_ascii_digit().then(|| u32::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Step;
    use crate::model::Marker;

    #[test]
    fn lines_stay_lines_and_errors_name_their_place() {
        let tokens = vec![b"a".to_vec(), b"b\n".to_vec()];
        let steps = vec![Step::Markers(Marker::None)];
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
