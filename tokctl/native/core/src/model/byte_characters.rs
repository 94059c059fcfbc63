//! GPT-2's printable stand-ins for the 256 bytes (`bytes_to_unicode` in its `encoder.py`).

/// Append the characters that stand for `bytes`.
pub fn spell(bytes: &[u8], text: &mut Vec<u8>) {
    for &byte in bytes {
        let mut buffer = [0; 4];
        text.extend_from_slice(character_of(byte).encode_utf8(&mut buffer).as_bytes());
    }
}

/// Append the bytes for which the characters of `text` stand. Return None if a character is not a
/// stand-in. Stand-ins have one or two bytes of UTF-8.
pub fn unspell(text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let mut rest = text.iter();
    while let Some(&first) = rest.next() {
        let code = match first {
            ..0x80 => u32::from(first),
            0xC2..0xE0 => u32::from(first & 0x1F) << 6 | u32::from(rest.next()? & 0x3F),
            _ => return None,
        };
        bytes.push(byte_of(code)?);
    }
    Some(())
}

/// Return the byte for which a character stands, or None. Printable Latin-1 stands for itself; the
/// other bytes are U+0100 onwards, in order.
#[inline]
pub fn byte_of(character: u32) -> Option<u8> {
    Some(match character {
        code @ (0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF) => code as u8,
        code @ 0x100..=0x120 => (code - 0x100) as u8,
        code @ 0x121..=0x142 => (code - 0x121 + 0x7F) as u8,
        0x143 => 0xAD,
        _ => return None,
    })
}

/// Return the character that stands for a byte: the inverse of [`byte_of`].
pub fn character_of(byte: u8) -> char {
    match byte {
        0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF => byte.into(),
        ..0x21 => char::from_u32(0x100 + u32::from(byte)).unwrap_or_default(),
        0x7F..=0xA0 => char::from_u32(0x121 + u32::from(byte - 0x7F)).unwrap_or_default(),
        0xAD => '\u{143}',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compare with the table that GPT-2's `bytes_to_unicode` makes.
    #[test]
    fn stand_ins_are_those_of_gpt2() {
        let mut next = 0x100;
        for byte in 0..=255u8 {
            let printable = matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
            let code = if printable { byte.into() } else { next };
            next += u32::from(!printable);
            assert_eq!(byte_of(code), Some(byte));
            let mut bytes = Vec::new();
            let spelled = char::from_u32(code).unwrap().to_string();
            unspell(spelled.as_bytes(), &mut bytes).unwrap();
            assert_eq!(bytes, [byte]);
            let mut text = Vec::new();
            spell(&[byte], &mut text);
            assert_eq!(text, spelled.as_bytes());
        }
        assert_eq!(next, 0x144);
        let known = (0..0x3000).filter_map(byte_of);
        assert_eq!(known.count(), 256);
    }
}
