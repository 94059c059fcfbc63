//! Token files of tiktoken: a line per token with its base64 text and its rank.

use std::collections::HashMap;

use super::stored::Stored;
use super::strings::{Index, Strings};

/// Distinct tokens of a file, in the order of their ranks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ranks {
    tokens: Strings,
    ranks: Vec<u32>,
}

/// Maximum number of digits in a rank.
const MOST_DIGITS: usize = 7;

impl Ranks {
    /// Read a file in its usual form; None if its form is unusual, which does not mean that it is
    /// invalid.
    ///
    /// Each line must have a padded base64 token of at least one byte, a space, a rank greater than
    /// the one before, and a line feed (optional after the last line). No two tokens may be equal.
    pub fn scan(data: &[u8]) -> Option<Ranks> {
        let mut ranks = Ranks::default();
        let mut rest = data;
        while !rest.is_empty() {
            let (token, behind) = rest.split_at(memchr::memchr(b' ', rest)?);
            let digits = behind[1..]
                .iter()
                .take_while(|byte| **byte != b'\n')
                .take(MOST_DIGITS + 1);
            let (digits, behind) = behind[1..].split_at(digits.count());
            let rank = number(digits)?;
            if ranks.ranks.last().is_some_and(|&before| before >= rank) {
                return None;
            }
            ranks.tokens.push_with(|bytes| decode(token, bytes))?;
            ranks.ranks.push(rank);
            rest = behind.get(1..).unwrap_or_default();
        }
        Index::of(&ranks.tokens).is_some().then_some(ranks)
    }

    /// Build from (token, rank) in any order. All tokens and all ranks must be distinct.
    pub fn of<'t>(entries: impl Iterator<Item = (&'t [u8], u32)>) -> Ranks {
        let mut entries: Vec<(&[u8], u32)> = entries.collect();
        entries.sort_unstable_by_key(|&(_, rank)| rank);
        let mut ranks = Ranks::default();
        for (token, rank) in entries {
            ranks.tokens.push(token);
            ranks.ranks.push(rank);
        }
        ranks
    }

    pub fn len(&self) -> usize {
        self.ranks.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// Return one more than the highest rank.
    pub fn end(&self) -> u32 {
        self.ranks.last().map_or(0, |&last| last.saturating_add(1))
    }

    /// Return whether a token has this rank.
    pub fn has(&self, rank: u32) -> bool {
        self.ranks.binary_search(&rank).is_ok()
    }

    /// Return the numbers below `end` that are not the rank of any token.
    pub fn free(&self, end: u32) -> Vec<u32> {
        let mut ranks = self.ranks.iter().peekable();
        (0..end)
            .filter(|number| ranks.next_if_eq(&number).is_none())
            .collect()
    }

    /// Return the lowest byte that is not a token.
    pub fn missing_byte(&self) -> Option<u8> {
        let mut known = [false; 256];
        for token in self.tokens.iter() {
            if let [byte] = *token {
                known[usize::from(byte)] = true;
            }
        }
        (0..=u8::MAX).find(|&byte| !known[usize::from(byte)])
    }

    /// Build the model whose ids are the ranks. Ids that are not a rank get the text of `others`,
    /// or an empty text.
    pub fn fill(&self, others: &HashMap<u32, Vec<u8>>) -> Stored {
        let end = others.keys().map(|&id| id.saturating_add(1)).max();
        let end = end.unwrap_or_default().max(self.end());
        let mut tokens = Strings::with_capacity(end as usize, self.tokens.total());
        let mut ranks = self.ranks.iter().zip(self.tokens.iter()).peekable();
        for id in 0..end {
            match ranks.next_if(|&(&rank, _)| rank == id) {
                Some((_, token)) => tokens.push(token),
                None => tokens.push(others.get(&id).map_or(b"", |text| &text[..])),
            }
        }
        Stored {
            tokens,
            ..Stored::default()
        }
    }
}

fn number(digits: &[u8]) -> Option<u32> {
    if !(1..=MOST_DIGITS).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = digits.iter().map(|digit| u32::from(digit - b'0'));
    Some(digits.fold(0, |number, digit| 10 * number + digit))
}

/// Value of a byte that is not a base64 digit; no digit has this bit.
const NONE: u8 = 64;

/// Value of each byte as a base64 digit (RFC 4648, section 4).
static DIGITS: [u8; 256] = digits();

const fn digits() -> [u8; 256] {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut digits = [NONE; 256];
    let mut digit = 0;
    while digit < 64 {
        digits[alphabet[digit as usize] as usize] = digit;
        digit += 1;
    }
    digits
}

/// Append the bytes that a base64 text stands for. Return None if the text is not valid.
fn decode(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (fours, rest) = text.as_chunks::<4>();
    let (last, before) = fours.split_last()?;
    if !rest.is_empty() {
        return None;
    }
    let start = out.len();
    out.resize(start + 3 * before.len(), 0);
    let decoded = out[start..].as_chunks_mut().0;
    let mut all = 0;
    for (four, three) in before.iter().zip(decoded) {
        let digits = four.map(|byte| DIGITS[usize::from(byte)]);
        all |= digits.iter().fold(0, |all, digit| all | digit);
        *three = joined(digits);
    }
    if all & NONE != 0 {
        return None;
    }
    let padding = match last {
        [_, _, b'=', b'='] => 2,
        [_, _, _, b'='] => 1,
        _ => 0,
    };
    let mut filled = *last;
    filled[4 - padding..].fill(b'A');
    let digits = filled.map(|byte| DIGITS[usize::from(byte)]);
    let bytes = joined(digits);
    let (kept, dropped) = bytes.split_at(3 - padding);
    out.extend_from_slice(kept);
    let known = digits.iter().all(|&digit| digit != NONE);
    (known && dropped.iter().all(|&byte| byte == 0)).then_some(())
}

/// Return the three bytes of four digits.
#[inline]
fn joined(digits: [u8; 4]) -> [u8; 3] {
    let digits = digits.iter();
    let bits = digits.fold(0, |bits, &digit| bits << 6 | u32::from(digit));
    let [_, first, second, third] = bits.to_be_bytes();
    [first, second, third]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data: &str) -> Option<Vec<(u32, Vec<u8>)>> {
        let ranks = Ranks::scan(data.as_bytes())?;
        let tokens = ranks.tokens.iter().map(<[u8]>::to_vec);
        Some(ranks.ranks.iter().copied().zip(tokens).collect())
    }

    #[test]
    fn usual_lines_are_read() {
        let read_ = read("IQ== 0\nIiM= 7\nYWJj 8\nYWJjIQ== 1234567");
        let expected = [(0, "!"), (7, "\"#"), (8, "abc"), (1_234_567, "abc!")];
        let expected = expected.map(|(rank, token)| (rank, token.as_bytes().to_vec()));
        assert_eq!(read_, Some(expected.to_vec()));
        assert_eq!(read(""), Some(vec![]));
    }

    #[test]
    fn others_are_not() {
        for data in [
            "IQ== 1\nIg== 1\n",
            "IQ== 1\nIg== 0\n",
            "IQ== 12345678\n",
            "IQ== \n",
            "IQ==\n",
            " 1\n",
            "IQ= 1\n",
            "IQ=== 1\n",
            "I=== 1\n",
            "IR== 1\n",
            "IiN= 1\n",
            "IQ== 1\r\n",
            "IQ==  1\n",
            "I-== 1\n",
            "\n",
            "IQ== 1\n\n",
            "IQ== +1\n",
            "==== 1\n",
            "IQ==IQ== 1\n",
            "IQ== 1\nIg== 2\nIQ== 3\n",
        ] {
            assert_eq!(read(data), None, "{data:?}");
        }
    }

    #[test]
    fn ids_that_are_no_ranks_are_given_to_others() {
        let entries = [(&b"b"[..], 5), (b"a", 1), (b"\0", 2)];
        let ranks = Ranks::of(entries.into_iter());
        assert_eq!((ranks.len(), ranks.end()), (3, 6));
        assert_eq!((ranks.has(1), ranks.has(3)), (true, false));
        assert_eq!(ranks.free(8), [0, 3, 4, 6, 7]);
        assert_eq!(ranks.free(3), [0]);
        assert_eq!(ranks.missing_byte(), Some(1));
        let others = HashMap::from([(7, b"<x>".to_vec()), (3, b"<y>".to_vec())]);
        let stored = ranks.fill(&others);
        let tokens: Vec<&[u8]> = stored.tokens.iter().collect();
        assert_eq!(
            tokens,
            [&b""[..], b"a", b"\0", b"<y>", b"", b"b", b"", b"<x>"]
        );
        let bytes: Vec<[u8; 1]> = (0..=255).map(|byte| [byte]).collect();
        let all = Ranks::of(bytes.iter().map(|byte| &byte[..]).zip(0..));
        assert_eq!((all.missing_byte(), all.free(all.end())), (None, vec![]));
        assert_eq!(Ranks::default().fill(&HashMap::new()).tokens.len(), 0);
    }
}
