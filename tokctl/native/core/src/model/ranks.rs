//! Tokens in base64 with their ranks, a line each, as tiktoken's files have them.

/// The tokens of a file with their ranks, one behind the other.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ranks {
    bytes: Vec<u8>,
    /// The rank of each, and where it ends.
    ends: Vec<(u32, usize)>,
}

/// No rank has more digits.
const MOST_DIGITS: usize = 7;

impl Ranks {
    /// None where a line is not as everybody writes it: a token of at least one byte with its
    /// padding, a space, a rank above the one before, a line feed (the last one may lack it).
    /// That says nothing yet about the file.
    pub fn of(data: &[u8]) -> Option<Ranks> {
        let mut ranks = Ranks::default();
        ranks.bytes.reserve(data.len() / 2);
        for line in data.split_inclusive(|&byte| byte == b'\n') {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let (token, digits) = line.split_at(memchr::memchr(b' ', line)?);
            let rank = number(&digits[1..])?;
            if ranks.ends.last().is_some_and(|&(before, _)| before >= rank) {
                return None;
            }
            decode(token, &mut ranks.bytes)?;
            ranks.ends.push((rank, ranks.bytes.len()));
        }
        Some(ranks)
    }

    /// Each rank and its token.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&(rank, end)| {
            let token = &self.bytes[start..end];
            start = end;
            (rank, token)
        })
    }
}

fn number(digits: &[u8]) -> Option<u32> {
    if !(1..=MOST_DIGITS).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = digits.iter().map(|digit| u32::from(digit - b'0'));
    Some(digits.fold(0, |number, digit| 10 * number + digit))
}

/// Is no digit of base64.
const NONE: u8 = 64;

/// What each byte stands for (RFC 4648, section 4).
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

/// Appends what the base64 stands for.
fn decode(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (fours, rest) = text.as_chunks::<4>();
    let (last, before) = fours.split_last()?;
    if !rest.is_empty() {
        return None;
    }
    for four in before {
        out.extend_from_slice(&three(*four)?);
    }
    let padding = match last {
        [_, _, b'=', b'='] => 2,
        [_, _, _, b'='] => 1,
        _ => 0,
    };
    let mut filled = *last;
    filled[4 - padding..].fill(b'A');
    let bytes = three(filled)?;
    let (kept, dropped) = bytes.split_at(3 - padding);
    out.extend_from_slice(kept);
    dropped.iter().all(|&byte| byte == 0).then_some(())
}

fn three(four: [u8; 4]) -> Option<[u8; 3]> {
    let digits = four.map(|byte| DIGITS[usize::from(byte)]);
    let bits = digits
        .iter()
        .fold(0, |bits, &digit| bits << 6 | u32::from(digit));
    let [_, first, second, third] = bits.to_be_bytes();
    digits
        .iter()
        .all(|&digit| digit != NONE)
        .then_some([first, second, third])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data: &str) -> Option<Vec<(u32, Vec<u8>)>> {
        let ranks = Ranks::of(data.as_bytes())?;
        Some(
            ranks
                .iter()
                .map(|(rank, token)| (rank, token.to_vec()))
                .collect(),
        )
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
        ] {
            assert_eq!(read(data), None, "{data:?}");
        }
    }
}
