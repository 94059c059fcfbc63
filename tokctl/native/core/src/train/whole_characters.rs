//! The `whole_characters` rule for byte-level models: merges across a character boundary join only
//! whole UTF-8 characters, and the bytes of one character are merged from its first byte on. Land
//! and Arnett (2025, "BPE Stays on SCRIPT") also train this way.
//!
//! A token of two bytes or more is then either a text of whole characters or the beginning of a
//! single character. Merges make a character of three or four bytes in steps, and each step is a
//! token.

/// Return whether `left` may be merged with the bytes that follow it in `joined`.
///
/// Return true if both are whole characters, if `joined` is one character, or if more bytes can
/// still complete `joined` to one character. Bytes that can't occur in UTF-8 text are never merged.
pub fn may_merge(left: &[u8], joined: &[u8]) -> bool {
    match std::str::from_utf8(joined) {
        Ok(text) => std::str::from_utf8(left).is_ok() || text.chars().nth(1).is_none(),
        // If the error has no length, the text ends too early but is valid up to its end.
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
        // A token of an older model: the end of a character and more.
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
