//! The pattern of GPT-2's `encoder.py`; every byte belongs to exactly one pre-token.
//!
//! `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
//!
//! With `WORDS`, the pattern has no spaces, and white space is dropped:
//!
//! `'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}+|[^\s\p{L}\p{N}]+`
//!
//! Some models use the first pattern without its contractions.

use super::{ahead, first_bytes, AsciiClasses, Carry, MaskPattern, View};
use crate::pretokenize::runs::contraction;
use crate::unicode::{LETTER, NUMBER, SPACE};

/// Class bit of the plain space and the apostrophe.
const MARKED: u8 = 8;

/// State of the pattern that goes from block to block.
#[derive(Clone, Copy)]
pub struct Gpt2<const WORDS: bool, const CONTRACTIONS: bool> {
    letters: Carry,
    numbers: Carry,
    spaces: Carry,
    plain: Carry,
    /// Start in this block that a contraction of the block before removes.
    taken: u64,
    /// Start in this block that a contraction of the block before adds.
    started: u64,
}

impl<const WORDS: bool, const CONTRACTIONS: bool> Default for Gpt2<WORDS, CONTRACTIONS> {
    fn default() -> Self {
        Gpt2 {
            letters: Carry::default(),
            numbers: Carry::default(),
            spaces: Carry::default(),
            plain: Carry::default(),
            taken: 0,
            // Start of the text, where no run ends.
            started: 1,
        }
    }
}

impl<const WORDS: bool, const CONTRACTIONS: bool> MaskPattern for Gpt2<WORDS, CONTRACTIONS> {
    const ASCII: AsciiClasses = AsciiClasses::new(Self::WIDE, &[(MARKED, b" '")]);
    const WIDE: u8 = LETTER | NUMBER | SPACE;
    const DROPS: bool = WORDS;

    #[inline(always)]
    fn starts(&mut self, view: &View) -> u64 {
        let (block, next) = (view.block, view.next);
        let [letters, numbers, spaces] = [LETTER, NUMBER, SPACE].map(|class| block.of(class));
        // Other characters are the fourth kind: where a run of them starts, a run of another kind
        // ends.
        let changes = (letters ^ self.letters.behind(letters))
            | (numbers ^ self.numbers.behind(numbers))
            | (spaces ^ self.spaces.behind(spaces));
        let (joined, last) = match WORDS {
            true => (0, 0),
            false => self.spaces_before(view, spaces),
        };
        let starts = (changes & !joined & !self.taken) | last | self.started;
        (self.taken, self.started) = (0, 0);
        if !CONTRACTIONS {
            return starts;
        }
        let apostrophes = block.of(MARKED) & !spaces;
        let short = starts & apostrophes & ahead(letters, next.of(LETTER));
        match short {
            0 => starts,
            _ => self.contractions(view, starts, short),
        }
    }
}

impl<const WORDS: bool, const CONTRACTIONS: bool> Gpt2<WORDS, CONTRACTIONS> {
    /// Return where a plain space is joined to a word, so that nothing starts; and the last space
    /// of each run, which starts a pre-token.
    #[inline(always)]
    fn spaces_before(&mut self, view: &View, spaces: u64) -> (u64, u64) {
        let (block, next) = (view.block, view.next);
        // ` ?`
        let joined = self.plain.behind(spaces & block.of(MARKED));
        // `\s+(?!\S)` gives back the last space, which joins a word or stands alone.
        let next_spaces = next.of(SPACE);
        let mut last = spaces & !ahead(spaces, next_spaces);
        if (spaces & block.rest) | (next.rest & 1) != 0 {
            let next_last = next_spaces & !(next_spaces >> 1);
            last = first_bytes(last, next_last, (block.rest, next.rest));
        }
        (joined, last)
    }

    /// Return `starts`, changed for contractions that are at the start of a pre-token.
    ///
    /// The letters of a contraction join its apostrophe, and a pre-token starts after them.
    #[inline(never)]
    fn contractions(&mut self, view: &View, starts: u64, mut short: u64) -> u64 {
        let (mut taken, mut started) = (0_u128, 0_u128);
        while short != 0 {
            let place = short.trailing_zeros();
            short &= short - 1;
            let length = contraction(view.text, view.at + place as usize);
            if length > 0 {
                taken |= 1 << (place + 1);
                started |= 1 << (place + length as u32);
            }
        }
        (self.taken, self.started) = ((taken >> 64) as u64, (started >> 64) as u64);
        (starts & !(taken as u64)) | started as u64
    }
}
