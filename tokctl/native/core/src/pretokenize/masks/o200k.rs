//! The pattern of GPT-4o (tiktoken's o200k_base); nothing is dropped.
//!
//! With U = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`, L = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]` and
//! C = `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`:
//!
//! `[^\r\n\p{L}\p{N}]?U*L+C|[^\r\n\p{L}\p{N}]?U+L*C|\p{N}{1,3}|`
//! ` ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
//!
//! A run of U and L that starts with a letter is split
//! - before each of U alone that follows one of L alone, or what is of both behind that;
//! - where no L alone follows a run of U: behind its last character that is of both, which
//!   `U*` gives back to `L+`.
//!
//! A run that starts with a mark is a matter of its own, because a mark is no `\p{L}`: it may
//! be taken for a prefix or for punctuation. From there on the scalar scanner goes on, up to
//! where a pre-token starts whatever was before.

use super::algebra::{bit, Run};
use super::parts::{Parts, Prefixed};
use super::{ahead, follow, AsciiClasses, Carry, Groups, MaskPattern, View};
use crate::pretokenize::runs::contraction_any_case;
use crate::pretokenize::runs::is_line_break;
use crate::pretokenize::scalar::o200k::token_end;
use crate::unicode::{Categories, Classes, LETTER, LOWER, NUMBER, SPACE, UPPER};

/// The plain space, and the apostrophe.
const MARKED: u8 = 8;
/// Line breaks, and the slash.
const TRAILING: u8 = 16;

#[derive(Clone, Copy, Default)]
pub struct O200k {
    parts: Prefixed,
    groups: Groups,
    words: Carry,
    words_again: Carry,
    lower: Carry,
    both: Carry,
    /// Of the block before's contractions: what they take away here, what they start, and
    /// where among these the scalar scanner decides.
    taken: u64,
    started: u64,
    awkward: u64,
    /// Where the last contraction ended.
    contracted: usize,
    /// The last place that started a pre-token.
    last: usize,
    /// Where the scalar scanner starts its next pre-token, and the place it was called for.
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
    /// Where a run of U and L is split.
    #[inline(always)]
    fn cases(&mut self, view: &View, upper: u64, lower: u64) -> u64 {
        // L alone, and what of L follows it.
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

    /// Those of `places`, each of U alone behind one of both, where no L follows the run of U.
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

    /// A contraction goes to the word before it, what is behind starts a pre-token.
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
            // A word that is nothing but a contraction is used up.
            if length == 0 || at == self.contracted {
                continue;
            }
            self.contracted = at + length;
            let end = place + length as u32;
            taken |= (1 << end) - (1 << place);
            started |= 1 << end;
            // Is the next word of both? `cases` has taken it for the rest of this one.
            let is_both = |class| bit(end, view.block.of(class), view.next.of(class));
            behind |= u128::from(is_both(UPPER) && is_both(LOWER)) << end;
        }
        self.taken = (taken >> 64) as u64;
        self.started = (started >> 64) as u64;
        self.awkward = (behind >> 64) as u64;
        let starts = starts & !(taken as u64) | started as u64;
        (starts, awkward | behind as u64)
    }

    /// The scalar scanner from the last start before each of the `awkward` places on.
    #[cold]
    fn repair(&mut self, view: &View, starts: u64, mut awkward: u64) -> u64 {
        let (classes, categories) = (Classes::get(), Categories::get());
        let text = view.text;
        let end = text.len().min(view.at + 64);
        let mut right = 0;
        // Of `starts` those from here on are still to be looked at.
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

/// Does a pre-token start at `at` whatever was before it? The masks know such places, and may
/// go on there.
fn is_fresh(classes: Classes, text: &[u8], at: usize) -> bool {
    let before = classes.before(text, at);
    match classes.at(text, at).0 {
        SPACE => text[at] == b' ' && before & SPACE == 0,
        class if class & NUMBER != 0 => before & NUMBER == 0,
        class if class & LETTER != 0 => before & NUMBER != 0 || is_line_break(text[at - 1]),
        _ => false,
    }
}

/// Is the run of U alone that goes on behind the next block followed by one of L? Each run
/// is looked up once, because it starts at one place.
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
