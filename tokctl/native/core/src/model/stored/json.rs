//! JSON (RFC 8259), as far as the long lists of a model file need it. `serde_json` takes 1.6 times
//! as long for GPT-2's file and for a file of 100,000 tokens.
//!
//! Every method returns None if the expected item is missing or is not valid JSON. Python then
//! reads the whole document and reports what is wrong with it.

/// Maximum number of digits that always fit 64 bits.
const SURELY_FITS: usize = 19;

/// Cursor in a JSON document.
pub struct JsonScanner<'j> {
    text: &'j [u8],
    at: usize,
}

impl<'j> JsonScanner<'j> {
    pub fn new(text: &'j [u8]) -> Self {
        JsonScanner { text, at: 0 }
    }

    /// Return the offset of the cursor in bytes.
    pub fn place(&self) -> usize {
        self.at
    }

    /// Return the byte at the cursor, or None at the end.
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline]
    pub fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Skip white space, the byte `byte`, and white space.
    #[inline]
    pub fn expect(&mut self, byte: u8) -> Option<()> {
        self.skip_space();
        self.take(byte).then_some(())?;
        self.skip_space();
        Some(())
    }

    #[inline]
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Call `member` at the start of each member of a list or object delimited by `open` and
    /// `close`.
    ///
    /// `member` must advance to the end of the member.
    #[inline]
    pub fn members(
        &mut self,
        open: u8,
        close: u8,
        mut member: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.expect(open)?;
        if self.take(close) {
            return Some(());
        }
        loop {
            member(self)?;
            self.skip_space();
            if self.take(close) {
                return Some(());
            }
            self.expect(b',')?;
        }
    }

    /// Read a string. Return it in place if it has no escapes, else decoded in `scratch`.
    #[inline]
    pub fn string<'s>(&mut self, scratch: &'s mut Vec<u8>) -> Option<&'s [u8]>
    where
        'j: 's,
    {
        self.take(b'"').then_some(())?;
        let start = self.at;
        let rest = &self.text[start..];
        let length = plain(rest)?;
        self.at += length;
        match rest[length] {
            b'"' => {
                self.at += 1;
                Some(&rest[..length])
            }
            b'\\' => self.escaped(start, scratch),
            _ => None,
        }
    }

    /// Decode the rest of a string that began at `start`, from its first escape on.
    #[cold]
    fn escaped<'s>(&mut self, start: usize, scratch: &'s mut Vec<u8>) -> Option<&'s [u8]> {
        scratch.clear();
        scratch.extend_from_slice(&self.text[start..self.at]);
        loop {
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b'"' => return Some(scratch),
                b'\\' => {
                    let character = self.escape()?;
                    let mut room = [0; 4];
                    scratch.extend_from_slice(character.encode_utf8(&mut room).as_bytes());
                }
                0..0x20 => return None,
                _ => scratch.push(byte),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let byte = self.peek()?;
        self.at += 1;
        Some(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{C}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.unit()?;
                let (0xD800..0xDC00, true) = (first, self.text[self.at..].starts_with(b"\\u"))
                else {
                    return char::from_u32(first); // None for an unpaired surrogate
                };
                self.at += 2;
                let second = self.unit()?;
                let 0xDC00..0xE000 = second else { return None };
                return char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
            }
            _ => return None,
        })
    }

    /// Read four hexadecimal digits.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |unit, &digit| {
            Some(unit << 4 | char::from(digit).to_digit(16)?)
        })
    }

    /// Read a whole number from 0 to 2^64 - 1 without a fraction or an exponent.
    #[inline]
    pub fn whole(&mut self) -> Option<u64> {
        let rest = &self.text[self.at..];
        let mut number: u64 = 0;
        let mut length = 0;
        while let Some(digit @ b'0'..=b'9') = rest.get(length) {
            let digit = u64::from(digit - b'0');
            // A number of [`SURELY_FITS`] nines fits 64 bits: only further digits need a check.
            number = match length < SURELY_FITS {
                true => number * 10 + digit,
                false => number.checked_mul(10)?.checked_add(digit)?,
            };
            length += 1;
        }
        self.at += length;
        let canonical = length > 0 && (rest[0] != b'0' || length == 1);
        let ends = !matches!(self.peek(), Some(b'.' | b'e' | b'E'));
        (canonical && ends).then_some(number)
    }

    /// Read a number as the nearest double, with its text. Return None if no finite double is near.
    pub fn number(&mut self) -> Option<(f64, &'j str)> {
        let start = self.at;
        let negative = self.take(b'-');
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits()?;
        if leading_zero && whole > 1 {
            return None;
        }
        let mut integer = true;
        if self.take(b'.') {
            self.digits()?;
            integer = false;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
            integer = false;
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).ok()?;
        let number: f64 = text.parse().ok()?;
        // `-0` is an integer, and integers have no negative zero.
        (number.is_finite() && !(integer && negative && leading_zero)).then_some((number, text))
    }

    /// Skip digits and return how many; None if the next byte is not a digit.
    fn digits(&mut self) -> Option<usize> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        (self.at > start).then_some(self.at - start)
    }

    /// Skip a value of any kind. Only brackets and strings are recognized: the caller must have the
    /// skipped text checked by another parser.
    pub fn skip(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                b'[' | b'{' => {
                    depth += 1;
                    self.at += 1;
                }
                b']' | b'}' | b',' if depth == 0 => return Some(()),
                b']' | b'}' => {
                    depth -= 1;
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
    }

    fn skip_string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            let step = memchr::memchr2(b'"', b'\\', self.text.get(self.at..)?)?;
            self.at += step + 1;
            if self.text[self.at - 1] == b'"' {
                return Some(());
            }
            self.at += 1; // the byte after a backslash does not end the string
        }
    }
}

/// Return the number of bytes before the first quote, backslash or control character, or None if
/// `text` has none of them.
#[inline]
fn plain(text: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 0xFF;
    const HIGH: u64 = ONES << 7;
    // Highest bit of each byte less than `limit`; bits above the first set one may be wrong.
    let below = |bytes: u64, limit: u64| bytes.wrapping_sub(ONES * limit) & !bytes & HIGH;
    let (eights, rest) = text.as_chunks::<8>();
    for (number, eight) in eights.iter().enumerate() {
        let bytes = u64::from_le_bytes(*eight);
        let equal = |byte: u8| below(bytes ^ (ONES * u64::from(byte)), 1);
        let found = equal(b'"') | equal(b'\\') | below(bytes, 0x20);
        if found != 0 {
            return Some(8 * number + found.trailing_zeros() as usize / 8);
        }
    }
    let is_end = |&byte: &u8| byte == b'"' || byte == b'\\' || byte < 0x20;
    Some(text.len() - rest.len() + rest.iter().position(is_end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str) -> Option<String> {
        let mut scratch = Vec::new();
        let mut scanner = JsonScanner::new(text.as_bytes());
        let found = scanner.string(&mut scratch)?.to_vec();
        assert_eq!(scanner.place(), text.len());
        Some(String::from_utf8(found).unwrap())
    }

    #[test]
    fn strings() {
        assert_eq!(string(r#""""#).unwrap(), "");
        assert_eq!(string(r#""é▁""#).unwrap(), "é▁");
        assert_eq!(
            string(r#""a\"\\\/\b\f\n\r\t\u00e9\uD83D\ude42z""#).unwrap(),
            "a\"\\/\u{8}\u{c}\n\r\té🙂z"
        );
        for wrong in [
            "",
            "\"",
            "\"a",
            "a",
            r#""\x""#,
            r#""\u12""#,
            r#""\ud800""#,
            r#""\ud800\n""#,
            r#""\ud800\u0041""#,
            r#""\udc00""#,
            r#""\u+123""#,
            "\"\n\"",
            "\"\\n\n\"",
            r#""\"#,
        ] {
            assert_eq!(string(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_string_ends_at_its_first_byte_that_is_not_plain() {
        for length in 0..20 {
            for plain_byte in [0x20, b'!', b'#', b'[', b']', 0x7F, 0x80, 0xA2, 0xDC, 0xFF] {
                for end in [0, 0x1F, b'"', b'\\'] {
                    let mut text = vec![plain_byte; length];
                    assert_eq!(plain(&text), None);
                    text.push(end);
                    assert_eq!(plain(&text), Some(length));
                    text.extend([plain_byte; 9]);
                    assert_eq!(plain(&text), Some(length));
                }
            }
        }
    }

    #[test]
    fn numbers() {
        let whole = |text: &str| JsonScanner::new(text.as_bytes()).whole();
        for (text, number) in [("0", 0), ("7,", 7), ("18446744073709551615]", u64::MAX)] {
            assert_eq!(whole(text), Some(number));
        }
        for wrong in ["", "-1", "01", "1.0", "1e3", "18446744073709551616", "x"] {
            assert_eq!(whole(wrong), None, "{wrong}");
        }
        let number = |text: &str| Some(JsonScanner::new(text.as_bytes()).number()?.0);
        for text in [
            "0",
            "-7",
            "1.5",
            "-0.0",
            "-12.345678901234567",
            "1e-7",
            "2E+3",
            "0.1",
        ] {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(number(text).map(f64::to_bits), Some(expected.to_bits()));
        }
        for wrong in [
            "", "-", "-0", "01", ".5", "1.", "1e", "1e999", "inf", "NaN", "+1", "-00.5",
        ] {
            assert_eq!(number(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn values_are_passed_over() {
        for (text, rest) in [
            (r#"{"a":[1,"]}",{}]},2"#, ",2"),
            (r#""a\"b\\",2"#, ",2"),
            ("1.5e3 ]", "]"),
            ("null}", "}"),
        ] {
            let mut scanner = JsonScanner::new(text.as_bytes());
            scanner.skip().unwrap();
            assert_eq!(&text[scanner.place()..], rest, "{text}");
        }
        for wrong in ["", "[", r#""a"#, r#""a\"#, r#"[[],"]"#] {
            assert_eq!(JsonScanner::new(wrong.as_bytes()).skip(), None, "{wrong}");
        }
    }
}
