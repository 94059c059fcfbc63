//! The pattern of GPT-4o (tiktoken's o200k_base); nothing is dropped.
//!
//! With U = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`, L = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]` and
//! C = `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`:
//!
//! `[^\r\n\p{L}\p{N}]?U*L+C|[^\r\n\p{L}\p{N}]?U+L*C|\p{N}{1,3}|`
//! ` ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
//!
//! A run of U and L that starts with a letter is split
//! - before each character of U alone that follows one of L alone, with or without characters of
//!   both classes in between;
//! - if no character of L alone follows a run of U: after the last character of the run that is in
//!   both classes, which `U*` gives back to `L+`.
//!
//! A run that starts with a mark is a separate case, because a mark is not `\p{L}`: the mark can be
//! a prefix, or count as punctuation. The scalar scanner takes over there, up to an offset where a
//! pre-token starts whatever comes before it.

use super::algebra::{bit, Run};
use super::parts::{Parts, Prefixed};
use super::{ahead, follow, AsciiClasses, Carry, Groups, MaskPattern, View};
use crate::pretokenize::runs::contraction_any_case;
use crate::pretokenize::runs::is_line_break;
use crate::pretokenize::scalar::o200k::token_end;
use crate::unicode::{Categories, Classes, LETTER, LOWER, NUMBER, SPACE, UPPER};

/// Class bit of the plain space and the apostrophe.
const MARKED: u8 = 8;
/// Class bit of line breaks and the slash.
const TRAILING: u8 = 16;

/// State of the pattern that goes from block to block.
#[derive(Clone, Copy, Default)]
pub struct O200k {
    parts: Prefixed,
    groups: Groups,
    words: Carry,
    words_again: Carry,
    lower: Carry,
    both: Carry,
    /// Starts that contractions of the block before remove in this block.
    taken: u64,
    /// Starts that contractions of the block before add in this block.
    started: u64,
    /// Added starts at which the scalar scanner decides.
    awkward: u64,
    /// End of the last contraction, an offset in the text.
    contracted: usize,
    /// Last start of a pre-token, an offset in the text.
    last: usize,
    /// Next start of the scalar scanner, and the position that it was called for.
    scalar: Option<(usize, usize)>,
}

impl MaskPattern for O200k {
    const ASCII: AsciiClasses =
        AsciiClasses::new(Self::WIDE, &[(MARKED, b" '"), (TRAILING, b"\r\n/")]);
    const WIDE: u8 = LETTER | NUMBER | SPACE | UPPER | LOWER;

    #[inline(always)]
    fn starts(&mut self, view: &View) -> u64 {
        let (block, next) = (view.block, view.next);
        let [upper, lower, numbers, spaces] =
            [UPPER, LOWER, NUMBER, SPACE].map(|class| block.of(class));
        let words = upper | lower;
        let others = !(words | numbers | spaces);
        let breaks = block.of(TRAILING) & spaces;
        let (runs, joined) = self.parts.starts::<false>(&Parts {
            view,
            others,
            spaces: (spaces, next.of(SPACE)),
            plain: spaces & block.of(MARKED),
            breaks: (breaks, next.of(TRAILING) & next.of(SPACE)),
            trailing: block.of(TRAILING),
        });
        let word_runs = words & !self.words.behind(words);
        let cases = self.cases(view, upper, lower);
        let numbers = self.groups.starts(numbers, view);
        let mut starts = runs | (word_runs & !joined) | cases | numbers;
        starts = starts & !self.taken | self.started;
        let mut awkward = word_runs & !block.of(LETTER) | self.awkward;
        (self.taken, self.started, self.awkward) = (0, 0, 0);

        let apostrophes = block.of(MARKED) & others;
        let next_letters = next.of(LETTER);
        let short = apostrophes & self.words_again.behind(words);
        let short = short & ahead(block.of(LETTER), next_letters);
        if short != 0 {
            (starts, awkward) = self.contractions(view, starts, awkward, short);
        }
        if awkward != 0 || self.scalar.is_some() {
            starts = self.repair(view, starts, awkward);
        }
        if starts != 0 {
            self.last = view.at + 63 - starts.leading_zeros() as usize;
        }
        starts
    }
}

impl O200k {
    /// Return where a run of U and L is split.
    #[inline(always)]
    fn cases(&mut self, view: &View, upper: u64, lower: u64) -> u64 {
        // L alone, and the characters of L after it.
        let in_lower = follow(lower & !upper | lower & self.lower.first(), lower);
        let only_upper = upper & !lower;
        let after_lower = only_upper & self.lower.behind(in_lower);
        let both = upper & lower & !in_lower;
        let after_both = only_upper & self.both.behind(both);
        match after_both {
            0 => after_lower,
            _ => after_lower | self.given_back(view, after_both),
        }
    }

    /// Return the positions whose run of U alone is not followed by L.
    ///
    /// Each bit of `places` is in U alone and follows a character of both classes.
    #[inline(never)]
    fn given_back(&self, view: &View, mut places: u64) -> u64 {
        let only_upper = |upper: u64, lower: u64| upper & !lower;
        let (lower, next_lower) = (view.block.of(LOWER), view.next.of(LOWER));
        let mask = only_upper(view.block.of(UPPER), lower);
        let next = only_upper(view.next.of(UPPER), next_lower);
        let mut found = 0;
        while places != 0 {
            let place = places.trailing_zeros();
            places &= places - 1;
            let last = match Run::from(place, mask, next) {
                Run::Ends(end) => !bit(end, lower, next_lower),
                Run::Open => !lower_follows(view),
            };
            found |= u64::from(last) << place;
        }
        found
    }

    /// Add each contraction to the word before it, and start a pre-token after it.
    #[inline(never)]
    fn contractions(
        &mut self,
        view: &View,
        starts: u64,
        awkward: u64,
        mut short: u64,
    ) -> (u64, u64) {
        let (mut taken, mut started, mut behind) = (0_u128, 0_u128, 0_u128);
        while short != 0 {
            let place = short.trailing_zeros();
            short &= short - 1;
            let at = view.at + place as usize;
            let length = contraction_any_case(view.text, at);
            // A word that is nothing but a contraction includes no second one.
            if length == 0 || at == self.contracted {
                continue;
            }
            self.contracted = at + length;
            let end = place + length as u32;
            taken |= (1 << end) - (1 << place);
            started |= 1 << end;
            // If the next word begins with a character of both classes, `cases` has counted it
            // as the rest of this word.
            let is_both = |class| bit(end, view.block.of(class), view.next.of(class));
            behind |= u128::from(is_both(UPPER) && is_both(LOWER)) << end;
        }
        self.taken = (taken >> 64) as u64;
        self.started = (started >> 64) as u64;
        self.awkward = (behind >> 64) as u64;
        let starts = starts & !(taken as u64) | started as u64;
        (starts, awkward | behind as u64)
    }

    /// Rescan with the scalar scanner from the last start before each of the `awkward` positions.
    #[cold]
    fn repair(&mut self, view: &View, starts: u64, mut awkward: u64) -> u64 {
        let (classes, categories) = (Classes::get(), Categories::get());
        let text = view.text;
        let end = text.len().min(view.at + 64);
        let mut right = 0;
        // First position of `starts` that is still to be checked.
        let mut from = 0;
        loop {
            if let Some((mut at, cause)) = self.scalar.take() {
                while at < end {
                    right |= 1 << (at - view.at);
                    self.last = at;
                    if at > cause && is_fresh(classes, text, at) {
                        break;
                    }
                    at = token_end(classes, categories, text, at);
                }
                if at >= end {
                    self.scalar = Some((at, cause));
                    return right;
                }
                from = (at - view.at) as u32 + 1;
            }
            let open = u64::MAX.checked_shl(from).unwrap_or(0);
            awkward &= open;
            let until = awkward.trailing_zeros();
            let good = starts & open & !u64::MAX.checked_shl(until).unwrap_or(0);
            right |= good;
            if good != 0 {
                self.last = view.at + 63 - good.leading_zeros() as usize;
            }
            if awkward == 0 {
                return right;
            }
            let cause = view.at + until as usize;
            let next = if cause == 0 {
                0
            } else {
                token_end(classes, categories, text, self.last)
            };
            self.scalar = Some((next, cause));
        }
    }
}

/// Return whether a pre-token starts at `at` whatever comes before it.
///
/// The masks find such a start, so they can take over again.
fn is_fresh(classes: Classes, text: &[u8], at: usize) -> bool {
    let before = classes.before(text, at);
    match classes.at(text, at).0 {
        SPACE => text[at] == b' ' && before & SPACE == 0,
        class if class & NUMBER != 0 => before & NUMBER == 0,
        class if class & LETTER != 0 => before & NUMBER != 0 || is_line_break(text[at - 1]),
        _ => false,
    }
}

/// Return whether L follows the run of U alone that continues past the next block.
///
/// Each run is walked once, because it starts at one position.
#[cold]
fn lower_follows(view: &View) -> bool {
    let classes = Classes::get();
    let mut at = view.behind_next();
    while at < view.text.len() {
        let (class, length) = classes.at(view.text, at);
        if class & (UPPER | LOWER) != UPPER {
            return class & LOWER != 0;
        }
        at += length;
    }
    false
}
