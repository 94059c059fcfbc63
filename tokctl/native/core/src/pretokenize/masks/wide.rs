//! The classes of the characters outside ASCII in a block.

use crate::unicode::{decode, Classes};

/// A character has four bytes at most, so the last one of a block reaches this far.
pub const WINDOW: usize = 64 + 3;

/// The bytes of a block that belong to well-formed characters outside ASCII.
pub struct Wide {
    /// The class of its character at each of them; anything elsewhere.
    pub classes: [u8; 64],
    pub covered: u64,
    /// Those that are not the first of their character.
    pub rest: u64,
}

/// What the block before leaves: its last character has so many bytes here, of this class.
#[derive(Clone, Copy, Default)]
pub struct Spill {
    length: u32,
    class: u8,
}

/// `leads`: the bytes from 0xC0 on. What is no well-formed UTF-8 is not covered: each such
/// byte is a character without a class.
#[inline(always)]
pub fn classify(classes: Classes, window: &[u8; WINDOW], leads: u64, spill: &mut Spill) -> Wide {
    // Each character writes four bytes, and the ones after it write over what is too much.
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

/// Class and length of the character at `at`, if it is well-formed.
///
/// In the forms of two and three bytes all but the last name a page of the table.
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
