//! The rule of `whole_characters`, for models of bytes: no merge crosses the border of a UTF-8
//! character but between whole characters, and the bytes of one are merged from its first on. Land
//! and Arnett (2025, "BPE Stays on SCRIPT") train so, too.
//!
//! A token of two bytes or more is then a text of whole characters, or the beginning of a single
//! one: merges make a character of three or four bytes in steps, and each step is a token.

/// May `left` be merged with the bytes that follow it in `joined`?
///
/// Yes where both are whole characters, where `joined` is one character, and where more bytes can
/// still make one of it. Bytes that no UTF-8 text has are never merged.
pub fn may_merge(left: &[u8], joined: &[u8]) -> bool {
    match std::str::from_utf8(joined) {
        Ok(text) => std::str::from_utf8(left).is_ok() || text.chars().nth(1).is_none(),
        // Without a length of the error, the text ends too early and is valid so far.
        Err(error) => error.valid_up_to() == 0 && error.error_len().is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::may_merge;

    fn check(left: &[u8], right: &[u8]) -> bool {
        may_merge(left, &[left, right].concat())
    }

    #[test]
    fn a_character_is_made_from_its_first_byte_on() {
        for character in ["é", "字", "😀"].map(str::as_bytes) {
            for end in 2..=character.len() {
                for start in 0..end - 1 {
                    for middle in start + 1..end {
                        let allowed = check(&character[start..middle], &character[middle..end]);
                        assert_eq!(allowed, start == 0, "{character:?} {start} {middle} {end}");
                    }
                }
            }
        }
    }

    #[test]
    fn whole_characters_merge_with_whole_characters_only() {
        let (whole, begun, rest) = ("字".as_bytes(), &b"\xE5\xAD"[..], &b"\x97"[..]);
        assert!(check(whole, whole) && check(b"a", whole) && check(whole, b"ab"));
        assert!(!check(whole, begun) && !check(b" ", b"\xE5"));
        assert!(!check(begun, whole) && !check(begun, b" "));
        assert!(!check(rest, whole) && !check(rest, rest) && !check(whole, rest));
        // An old model's token: the end of a character, and more.
        assert!(!check(begun, b"\x97a") && check(b"\xE5", b"\xAD\x97"));
    }

    #[test]
    fn what_is_no_utf_8_stays_bytes() {
        // Not a first byte; overlong; a surrogate; beyond the last code point.
        let pairs: [[u8; 2]; 7] = [
            [0xFF, 0x80],
            [0xC0, 0x80],
            [0xC1, 0xBF],
            [0xE0, 0x9F],
            [0xED, 0xA0],
            [0xF4, 0x90],
            [0xF5, 0x80],
        ];
        for [first, second] in pairs {
            assert!(!check(&[first], &[second]), "{first:X} {second:X}");
        }
        assert!(check(b"\xE0", b"\xA0") && check(b"\xED", b"\x9F") && check(b"\xF4", b"\x8F"));
    }
}
