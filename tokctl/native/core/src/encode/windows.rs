//! Merging by rank for a pre-token of very many symbols, window by window.
//!
//! The lowest rank comes first wherever it stands, so merging the whole at once jumps about in
//! memory. But what lies apart does not meet: **a row of tokens is what merging makes of its symbols
//! if each two neighbours in it are what merging makes of theirs.** For suppose that merging makes
//! something else of the row, and look at the first merge that crosses a border between two of its
//! tokens. Before it all merges were inside tokens, and inside these two they were those that the
//! two alone would see, in the same order, since the lowest rank that is leftmost among all is so
//! among some. So the two alone would see that merge, too.
//!
//! Windows are therefore merged one after the other. Where the tokens at a border don't fit, what
//! is around it is merged again, twice as much each time; where that does not end soon, as in
//! the repetition of one letter, the whole is merged at once.

use super::merge_long::Token;
use super::segmenter::Segment;
use super::{merge_long, Interrupt};
use crate::error::Result;
use crate::model::Merges;

/// Symbols of a window: their nodes and the queue stay near the processor.
const WINDOW: usize = 4096;

/// Tokens on each side of a border that are merged again, at most.
const AROUND: usize = 64;

/// Merges the symbols from the place `first` on.
pub(super) fn merge(
    merges: &Merges,
    out: &mut Vec<Segment>,
    first: usize,
    interrupt: Interrupt,
) -> Result<()> {
    merge_windows(merges, out, first, (WINDOW, AROUND), interrupt)
}

fn merge_windows(
    merges: &Merges,
    out: &mut Vec<Segment>,
    first: usize,
    (window, around): (usize, usize),
    interrupt: Interrupt,
) -> Result<()> {
    if out.len() - first < 2 * window {
        return merge_long::merge(merges, out, first, interrupt);
    }
    let symbols = &out[first..];
    let mut row = Row {
        merges,
        symbols,
        tokens: Vec::new(),
        end: 0,
        interrupt,
    };
    while row.end < symbols.len() {
        let to = symbols.len().min(row.end + window);
        let next = row.merged(row.end, to)?;
        if !row.append(&next, around)? {
            return merge_long::merge(merges, out, first, interrupt);
        }
    }
    let tokens = row.tokens;
    out.truncate(first);
    out.extend(tokens.iter().map(|token| token.segment));
    Ok(())
}

/// What merging makes of the symbols before `end`.
struct Row<'r> {
    merges: &'r Merges,
    symbols: &'r [Segment],
    tokens: Vec<Token>,
    end: usize,
    interrupt: Interrupt<'r>,
}

impl Row<'_> {
    /// What merging makes of some symbols alone.
    fn merged(&self, from: usize, to: usize) -> Result<Vec<Token>> {
        match from < to {
            true => merge_long::tokens(self.merges, &self.symbols[from..to], self.interrupt),
            false => Ok(Vec::new()),
        }
    }

    /// Does merging leave two tokens apart that meet at this place?
    fn fit(&self, place: usize, left: Option<&Token>, right: Option<&Token>) -> Result<bool> {
        let (Some(left), Some(right)) = (left, right) else {
            return Ok(true);
        };
        let two = self.merged(place - count([left]), place + count([right]))?;
        Ok(two == [*left, *right])
    }

    /// Appends the tokens of the next symbols; false where they fit nowhere near the border.
    fn append(&mut self, next: &[Token], most: usize) -> Result<bool> {
        let mut around = 0;
        while around <= most {
            let kept = self.tokens.len() - around.min(self.tokens.len());
            let taken = around.min(next.len());
            let from = self.end - count(&self.tokens[kept..]);
            let to = self.end + count(&next[..taken]);
            let between = self.merged(from, to)?;
            let left = self.tokens[..kept].last();
            let right = next.get(taken);
            let fits = match (between.first(), between.last()) {
                (Some(first), Some(last)) => {
                    self.fit(from, left, Some(first))? && self.fit(to, Some(last), right)?
                }
                _ => self.fit(from, left, right)?,
            };
            if fits {
                self.end += count(next);
                self.tokens.truncate(kept);
                self.tokens.extend(between);
                self.tokens.extend(&next[taken..]);
                return Ok(true);
            }
            around = (2 * around).max(1);
        }
        Ok(false)
    }
}

/// Symbols of tokens.
fn count<'t>(tokens: impl IntoIterator<Item = &'t Token>) -> usize {
    tokens.into_iter().map(|token| token.symbols as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split_mix::SplitMix64;

    /// Merges of what there is so far: letters from 97 on, and tokens from 256 on.
    fn merges(below: &mut impl FnMut(u32) -> u32, some_exist: bool) -> Merges {
        let mut merges = Vec::new();
        for step in 0..below(40) {
            let mut symbol = || match below(3 + step) {
                letter @ ..3 => letter + 97,
                token => token + 253,
            };
            let (left, right, known) = (symbol(), symbol(), symbol());
            let token = match some_exist && step % 5 == 4 {
                true => known,
                false => 256 + step,
            };
            merges.push((left, right, token));
        }
        Merges::new(merges.into_iter())
    }

    #[test]
    fn windows_leave_no_trace() {
        let mut numbers = SplitMix64::new(11);
        let mut below = |most: u32| (numbers.next_u64() % u64::from(most)) as u32;
        for round in 0..600 {
            let merges = merges(&mut below, round % 2 == 0);
            let letters = 1 + round % 3;
            let length = 1 + below(300);
            let symbols: Vec<Segment> = (0..length)
                .map(|_| Segment {
                    id: 97 + below(letters),
                    length: 1 + below(3),
                })
                .collect();
            let mut expected = symbols.clone();
            merge_long::merge(&merges, &mut expected, 1, &|| false).unwrap();
            for window in [1, 2, 7, 16, 64] {
                for around in [0, 1, 4, 64] {
                    let (mut out, how) = (symbols.clone(), (window, around));
                    merge_windows(&merges, &mut out, 1, how, &|| false).unwrap();
                    assert!(out == expected, "{round} {window} {around}");
                }
            }
        }
    }
}
