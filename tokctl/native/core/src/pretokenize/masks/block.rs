//! Blocks of 64 bytes as masks, and a text as a sequence of blocks.

use super::lanes::Lanes;
use super::letters::Letters;
use super::wide::{classify, Spill, WINDOW};
use super::MaskPattern;
use crate::unicode::{Classes, LETTER, LOWER, NUMBER, PUNCTUATION, SPACE, UPPER, WORD};

/// Class bits of the ASCII characters, aligned for loads of 64-byte vectors.
#[repr(align(64))]
pub struct AsciiClasses(pub [u8; 128]);

impl AsciiClasses {
    /// Create a table with the classes of [`crate::unicode`] that are in `kept`.
    ///
    /// Each entry of `more` adds a class bit to the bytes that it lists.
    pub const fn new(kept: u8, more: &[(u8, &[u8])]) -> Self {
        let mut classes = [0; 128];
        let mut byte = 0;
        while byte < 128 {
            classes[byte] = match byte as u8 {
                b'A'..=b'Z' => LETTER | UPPER | WORD,
                b'a'..=b'z' => LETTER | LOWER | WORD,
                b'0'..=b'9' => NUMBER | WORD,
                b'\t'..=b'\r' | b' ' => SPACE,
                b'_' => PUNCTUATION | WORD,
                punctuation if punctuation.is_ascii_punctuation() => PUNCTUATION,
                _ => 0,
            } & kept;
            byte += 1;
        }
        let mut each = 0;
        while each < more.len() {
            let (class, bytes) = more[each];
            let mut byte = 0;
            while byte < bytes.len() {
                classes[bytes[byte] as usize] |= class;
                byte += 1;
            }
            each += 1;
        }
        AsciiClasses(classes)
    }

    /// Return the bits that at least one character has.
    pub const fn bits(&self) -> u8 {
        let (mut bits, mut byte) = (0, 0);
        while byte < 128 {
            bits |= self.0[byte];
            byte += 1;
        }
        bits
    }
}

/// Class masks of 64 bytes.
#[derive(Clone, Copy)]
pub struct Block {
    masks: [u64; 8],
    /// Bytes that are not the first of their character.
    pub rest: u64,
}

impl Block {
    const fn of_spaces(classes: &AsciiClasses) -> Self {
        let mut masks = [0; 8];
        let mut bit = 0;
        while bit < 8 {
            if classes.0[b' ' as usize] >> bit & 1 != 0 {
                masks[bit] = u64::MAX;
            }
            bit += 1;
        }
        Block { masks, rest: 0 }
    }

    /// Return the mask of class `bit`, a constant that the pattern names.
    #[inline(always)]
    pub fn of(&self, bit: u8) -> u64 {
        self.masks[bit.trailing_zeros() as usize & 7]
    }
}

/// Part of the text that a pattern sees: a block, and the next one.
pub struct View<'a> {
    pub text: &'a [u8],
    /// Offset of the block, which is inside the text.
    pub at: usize,
    pub block: &'a Block,
    pub next: &'a Block,
}

impl View<'_> {
    /// Return the offset of the first character that does not end in the next block.
    ///
    /// The character may start in that block. The offset may be the end of the text, or past it.
    pub fn behind_next(&self) -> usize {
        let mut at = self.at + 128;
        while self.text.get(at).is_some_and(|byte| byte & 0xC0 == 0x80) {
            at -= 1;
        }
        at
    }
}

/// Reader of a text in blocks.
pub struct Blocks<'t> {
    pub text: &'t [u8],
    at: usize,
    spill: Spill,
    classes: Classes,
}

impl<'t> Blocks<'t> {
    pub fn new(text: &'t [u8]) -> Self {
        Blocks {
            text,
            at: 0,
            spill: Spill::default(),
            classes: Classes::get(),
        }
    }

    /// Return the next 64 bytes; from the end of the text on, spaces.
    #[inline(always)]
    pub fn next<L: Lanes, P: MaskPattern>(&mut self) -> Block {
        let rest = match self.text.get(self.at..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => return const { Block::of_spaces(&P::ASCII) },
        };
        self.at += 64;
        let at_end;
        let window = match rest.first_chunk() {
            Some(window) => window,
            None => {
                at_end = padded(rest);
                &at_end
            }
        };
        let lanes = L::load(window.first_chunk().unwrap_or(&[b' '; 64]));
        let mut masks = masks::<L, P>(lanes.classes(&P::ASCII));
        let high = lanes.mask::<7>();
        if high == 0 {
            return Block { masks, rest: 0 };
        }
        let leads = high & lanes.mask::<6>();
        let letters = match L::COMPARES {
            true => Letters::find(lanes, leads, high & !leads),
            false => Letters::default(),
        };
        for (bit, mask) in masks.iter_mut().enumerate() {
            *mask |= letters.of(P::WIDE & 1 << bit);
        }
        let mut rest = letters.covered & !leads;
        // A character that spills over from the block before is beyond ASCII, so it always gets
        // here.
        if letters.covered != high {
            let leads = leads & !letters.covered;
            let wide = classify(self.classes, window, leads, &mut self.spill);
            let found = self::masks::<L, P>(L::load(&wide.classes));
            for (bit, mask) in masks.iter_mut().enumerate() {
                if P::WIDE >> bit & 1 != 0 {
                    *mask |= found[bit] & wide.covered;
                }
            }
            rest |= wide.rest;
        }
        Block { masks, rest }
    }
}

#[cold]
fn padded(rest: &[u8]) -> [u8; WINDOW] {
    let mut padded = [b' '; WINDOW];
    padded[..rest.len()].copy_from_slice(rest);
    padded
}

/// Return one mask for each bit that the pattern uses.
#[inline(always)]
fn masks<L: Lanes, P: MaskPattern>(classes: L) -> [u64; 8] {
    let used = const { P::WIDE | P::ASCII.bits() };
    let mut masks = [0; 8];
    macro_rules! mask {
        ($($bit:literal)*) => {
            $(if used >> $bit & 1 != 0 {
                masks[$bit] = classes.mask::<$bit>();
            })*
        };
    }
    mask!(0 1 2 3 4 5 6 7);
    masks
}
