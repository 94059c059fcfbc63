//! Letters that make up most text beyond ASCII, found without a look-up of each.

use super::lanes::Lanes;
use crate::unicode::{LETTER, LOWER, UPPER, WORD};

/// Accented Latin, Cyrillic, ideographs, Hiragana, Katakana and Hangul, as far as their first bytes
/// decide it.
///
/// [`super::wide`] looks up the other letters.
#[derive(Clone, Copy, Default)]
pub struct Letters {
    /// Bytes of the letters that were found.
    pub covered: u64,
    /// Bytes of upper-case letters; a letter of neither case has both classes.
    upper: u64,
    /// Bytes of lower-case letters.
    lower: u64,
}

impl Letters {
    /// Find the letters of a block.
    ///
    /// `leads` are the bytes from 0xC0 on, `rest` the bytes that continue a character. A character
    /// that reaches into the next block is not found.
    #[inline(always)]
    pub fn find<L: Lanes>(lanes: L, leads: u64, rest: u64) -> Self {
        let mut found = Letters::default();
        let two = leads & rest >> 1;
        let three = two & rest >> 2;
        let alphabets = lanes.between(0xC3, 0xD1) & two;
        if alphabets != 0 {
            found.alphabets(lanes, alphabets);
        }
        if three != 0 {
            let firsts = ideographs(lanes, three);
            found.covered |= firsts | firsts << 1 | firsts << 2;
        }
        found
    }

    #[inline(always)]
    fn alphabets<L: Lanes>(&mut self, lanes: L, two: u64) {
        let is = |byte| lanes.between(byte, byte);
        let second = |first, last| lanes.between(first, last) >> 1;
        // U+00C0 to U+00FF without the signs of multiplication and division.
        let latin = two & is(0xC3) & !((is(0x97) | is(0xB7)) >> 1);
        // U+0400 to U+045F; after these, upper and lower case alternate.
        let (d0, d1) = (two & is(0xD0), two & is(0xD1) & second(0x80, 0x9F));
        let lower = latin & second(0x9F, 0xBF) | d0 & second(0xB0, 0xBF) | d1;
        let firsts = latin | d0 | d1;
        let upper = firsts & !lower;
        self.covered |= firsts | firsts << 1;
        self.upper |= upper | upper << 1;
        self.lower |= lower | lower << 1;
    }

    /// Return the bytes of the letters that have class `bit`.
    #[inline(always)]
    pub fn of(&self, bit: u8) -> u64 {
        match bit {
            LETTER | WORD => self.covered,
            UPPER => self.covered & !self.lower,
            LOWER => self.covered & !self.upper,
            _ => 0,
        }
    }
}

/// Return the first bytes of the letters of three bytes, which have no case.
#[inline(always)]
fn ideographs<L: Lanes>(lanes: L, three: u64) -> u64 {
    let is = |byte| lanes.between(byte, byte);
    // U+4000 to U+9FFF without the hexagrams (U+4DC0 to U+4DFF), and U+B000 to U+CFFF.
    let han = lanes.between(0xE4, 0xE9) & !(is(0xE4) & is(0xB7) >> 1);
    let mut firsts = (han | lanes.between(0xEB, 0xEC)) & three;
    let kana = three & is(0xE3) & lanes.between(0x81, 0x83) >> 1;
    if kana != 0 {
        // U+3040 to U+30FF without the non-letters U+3040, U+3097 to U+309C, U+30A0 and U+30FB, and
        // without the letters that end in the same byte as one of these.
        let others = is(0x80) | lanes.between(0x97, 0x9C) | is(0xA0) | is(0xBB);
        firsts |= kana & !(others >> 2);
    }
    firsts
}
