//! The letters that most text outside ASCII consists of, found without looking each one up.

use super::lanes::Lanes;
use crate::unicode::{LETTER, LOWER, UPPER, WORD};

/// Latin letters with accents, Cyrillic ones, ideographs, Hiragana, Katakana and Hangul, as
/// far as their first bytes decide it; the others are [`super::wide`]'s.
#[derive(Clone, Copy, Default)]
pub struct Letters {
    /// All of their bytes.
    pub covered: u64,
    /// Those of upper case alone, and of lower case alone; the others are of both.
    upper: u64,
    lower: u64,
}

impl Letters {
    /// `leads`: the bytes from 0xC0 on. `rest`: those of the form that goes on with a character.
    /// A character that reaches into the next block is not found.
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
        // U+00C0 to U+00FF but the signs of multiplication and division.
        let latin = two & is(0xC3) & !((is(0x97) | is(0xB7)) >> 1);
        // U+0400 to U+045F; what follows has upper and lower case by turns.
        let (d0, d1) = (two & is(0xD0), two & is(0xD1) & second(0x80, 0x9F));
        let lower = latin & second(0x9F, 0xBF) | d0 & second(0xB0, 0xBF) | d1;
        let firsts = latin | d0 | d1;
        let upper = firsts & !lower;
        self.covered |= firsts | firsts << 1;
        self.upper |= upper | upper << 1;
        self.lower |= lower | lower << 1;
    }

    /// The bytes of those that have class `bit`.
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

/// Those of three bytes, by their first: letters that have no case.
#[inline(always)]
fn ideographs<L: Lanes>(lanes: L, three: u64) -> u64 {
    let is = |byte| lanes.between(byte, byte);
    // U+4000 to U+9FFF but the hexagrams from U+4DC0 to U+4DFF, U+B000 to U+CFFF.
    let han = lanes.between(0xE4, 0xE9) & !(is(0xE4) & is(0xB7) >> 1);
    let mut firsts = (han | lanes.between(0xEB, 0xEC)) & three;
    let kana = three & is(0xE3) & lanes.between(0x81, 0x83) >> 1;
    if kana != 0 {
        // U+3040 to U+30FF but what is none: U+3040, U+3097 to U+309C, U+30A0, U+30FB, and
        // with these some others that end alike.
        let others = is(0x80) | lanes.between(0x97, 0x9C) | is(0xA0) | is(0xBB);
        firsts |= kana & !(others >> 2);
    }
    firsts
}
