//! Going through a text piece by piece, until one fails.

use super::{AddedTokens, Interrupt};
use crate::error::{Error, Result};

/// Calls `emit(id, start, end)` for every added token and every stretch between, which
/// has no id; no stretch is empty.
pub(super) fn each_span(
    matcher: Option<&AddedTokens>,
    text: &[u8],
    mut emit: impl FnMut(Option<u32>, usize, usize) -> Result<()>,
) -> Result<()> {
    let mut done = 0;
    if let Some(matcher) = matcher {
        for (start, end, id) in matcher.find(text) {
            if start > done {
                emit(None, done, start)?;
            }
            emit(Some(id), start, end)?;
            done = end;
        }
    }
    match done < text.len() {
        true => emit(None, done, text.len()),
        false => Ok(()),
    }
}

/// Pre-tokens between two looks at the interrupt.
const LOOK_EVERY: usize = 1 << 14;

/// Steps that a scanner calls for, which can't stop it: after a failure they do nothing.
pub(super) struct Watch<'i> {
    interrupt: Interrupt<'i>,
    steps: usize,
    result: Result<()>,
}

impl<'i> Watch<'i> {
    pub(super) fn new(interrupt: Interrupt<'i>) -> Self {
        Watch {
            interrupt,
            steps: 0,
            result: Ok(()),
        }
    }

    #[inline]
    pub(super) fn step(&mut self, run: impl FnOnce(Interrupt<'i>) -> Result<()>) {
        self.steps += 1;
        if self.result.is_err() {
            return;
        }
        self.result = match self.steps.is_multiple_of(LOOK_EVERY) && (self.interrupt)() {
            true => Err(Error::Interrupted),
            false => run(self.interrupt),
        };
    }

    /// The first failure, if there was one.
    pub(super) fn result(self) -> Result<()> {
        self.result
    }
}
