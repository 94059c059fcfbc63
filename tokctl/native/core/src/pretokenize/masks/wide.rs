//! Classes of the characters beyond ASCII in a block.

use crate::unicode::{decode, Classes};

/// Bytes up to the end of a character that begins in a block, which has at most four bytes.
pub const WINDOW: usize = 64 + 3;

/// Bytes of a block that belong to well-formed characters beyond ASCII.
pub struct Wide {
    /// Class of the character at each covered byte; anything elsewhere.
    pub classes: [u8; 64],
    /// Mask of the bytes.
    pub covered: u64,
    /// Covered bytes that are not the first of their character.
    pub rest: u64,
}

/// Bytes in this block of the last character of the block before.
#[derive(Clone, Copy, Default)]
pub struct Spill {
    /// Number of bytes.
    length: u32,
    /// Class of the character.
    class: u8,
}

/// Classify the characters beyond ASCII of a block.
///
/// `leads` are the bytes from 0xC0 on. Bytes that are not well-formed UTF-8 are not covered: each
/// of them is a character without a class.
#[inline(always)]
pub fn classify(classes: Classes, window: &[u8; WINDOW], leads: u64, spill: &mut Spill) -> Wide {
    // Each character writes four bytes; the characters after it overwrite the excess.
    let mut found = [0; WINDOW + 1];
    found[..4].fill(spill.class);
    let mut covered = (1 << spill.length) - 1;
    *spill = Spill::default();
    let mut left = leads;
    while left != 0 {
        let at = left.trailing_zeros() as usize & 63;
        left &= left - 1;
        let Some((class, length)) = character(classes, window, at) else {
            continue;
        };
        found[at..at + 4].copy_from_slice(&[class; 4]);
        covered |= ((1 << length) - 1) << at;
        if at + length > 64 {
            *spill = Spill {
                length: (at + length - 64) as u32,
                class,
            };
        }
    }
    let mut wide = Wide {
        classes: [0; 64],
        covered,
        rest: covered & !leads,
    };
    wide.classes.copy_from_slice(&found[..64]);
    wide
}

/// Return the class and the length of the character at `at`, if it is well-formed.
///
/// In the forms of two and three bytes, all bytes but the last select a page of the table.
#[inline(always)]
fn character(classes: Classes, window: &[u8; WINDOW], at: usize) -> Option<(u8, usize)> {
    let [first, second, third] = [0, 1, 2].map(|offset| usize::from(window[at + offset]));
    if first & 0xE0 == 0xC0 && second & 0xC0 == 0x80 && first >= 0xC2 {
        return Some((classes.in_page(first & 0x1F, second & 0x3F), 2));
    }
    if first & 0xF0 == 0xE0 && second & 0xC0 == 0x80 && third & 0xC0 == 0x80 {
        let page = (first & 0x0F) << 6 | second & 0x3F;
        // Neither an overlong form nor a surrogate.
        if page >= 0x800 / 64 && !(0xD800 / 64..0xE000 / 64).contains(&page) {
            return Some((classes.in_page(page, third & 0x3F), 3));
        }
    }
    let (code, length) = decode(window, at)?;
    Some((classes.of(code), length))
}
