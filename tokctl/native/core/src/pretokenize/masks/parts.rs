//! Parts that the patterns of cl100k and o200k share.
//!
//! The parts are `[^\r\n\p{L}\p{N}]?` before a word, and
//! ` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`.

use super::algebra::{bit, Run};
use super::{ahead, first_bytes, follow, Carry, View};
use crate::pretokenize::runs::is_line_break;
use crate::unicode::{Classes, SPACE};

/// Masks that the parts are made from; the second of a pair is the next block's.
pub struct Parts<'a> {
    pub view: &'a View<'a>,
    /// Characters other than letters, numbers and white space.
    pub others: u64,
    pub spaces: (u64, u64),
    /// The plain space.
    pub plain: u64,
    pub breaks: (u64, u64),
    /// Characters that a run of `others` includes after its first line break.
    pub trailing: u64,
}

/// State of the shared parts.
#[derive(Clone, Copy, Default)]
pub struct Prefixed {
    breaks: Carry,
    plain: Carry,
    others: Carry,
    /// Line breaks (and slashes) that belong to the run of others before them.
    taken: Carry,
    free_others: Carry,
    free_spaces: Carry,
    prefixes: Carry,
    first_others: Carry,
}

impl Prefixed {
    /// Return where pre-tokens of others and of white space start, and where words are joined.
    ///
    /// A word that starts at a bit of the second mask includes the character before it.
    #[inline(always)]
    pub fn starts<const WHOLE: bool>(&mut self, parts: &Parts) -> (u64, u64) {
        let view = parts.view;
        let (rest, next_rest) = (view.block.rest, view.next.rest);
        let ((spaces, next_spaces), (breaks, next_breaks)) = (parts.spaces, parts.breaks);

        // `[\r\n]*` after a run of others.
        let first_taken =
            breaks & self.others.behind(parts.others) | parts.trailing & self.taken.first();
        let taken = follow(first_taken, parts.trailing);
        self.taken.behind(taken);

        // `\s+(?!\S)` gives back the last space, which joins a word or stands alone.
        let blanks = spaces & !breaks;
        let mut last = blanks & !ahead(spaces, next_spaces);
        if (blanks & rest) | (next_rest & 1) != 0 {
            let next_last = next_spaces & !next_breaks & !(next_spaces >> 1);
            last = first_bytes(last, next_last, (rest, next_rest));
        }

        let free_spaces = spaces & !taken;
        let runs = free_spaces & !self.free_spaces.behind(free_spaces);
        // `\s*[\r\n]+` extends to a run's last line break.
        let mut after_break = blanks & self.breaks.behind(breaks);
        if after_break != 0 {
            after_break = after_last_break::<WHOLE>(parts, after_break);
        }

        let others = parts.others & !taken;
        let first_others = others & !self.free_others.behind(others);
        let first_others = first_others & !self.plain.behind(parts.plain);
        // All bytes of the first character of each run of others that includes no space.
        let mut alone = first_others;
        if rest != 0 {
            alone |= rest & self.first_others.first();
            for _ in 0..3 {
                alone |= alone << 1 & rest;
            }
        }
        self.first_others.behind(alone);
        let joined = self.prefixes.behind(alone | blanks);
        (first_others | runs | after_break | last, joined)
    }
}

/// Return the positions at which a run of white space has no line break left.
///
/// Each bit of `places` directly follows a line break.
#[inline(always)]
fn after_last_break<const WHOLE: bool>(parts: &Parts, mut places: u64) -> u64 {
    let ((spaces, next_spaces), (breaks, next_breaks)) = (parts.spaces, parts.breaks);
    let (blanks, next_blanks) = (spaces & !breaks, next_spaces & !next_breaks);
    let mut found = 0;
    while places != 0 {
        let place = places.trailing_zeros();
        let is_last = match Run::from(place, blanks, next_blanks) {
            Run::Ends(end) => !bit(end, breaks, next_breaks),
            Run::Open => is_last_break::<WHOLE>(parts.view),
        };
        found |= u64::from(is_last) << place;
        places &= places - 1;
    }
    found
}

/// Return whether no line break is left in a run of blanks that continues past the next block.
///
/// Each such run is walked once, because only one line break is directly before it.
#[cold]
fn is_last_break<const WHOLE: bool>(view: &View) -> bool {
    let classes = Classes::get();
    let mut at = view.behind_next();
    while at < view.text.len() {
        let (class, length) = classes.at(view.text, at);
        if class & SPACE == 0 || is_line_break(view.text[at]) {
            return class & SPACE == 0;
        }
        at += length;
    }
    // The run reaches the end of the text, after which the blocks continue with blanks. With
    // `WHOLE`, white space at the end is one pre-token, so nothing starts after the line break.
    !WHOLE
}
