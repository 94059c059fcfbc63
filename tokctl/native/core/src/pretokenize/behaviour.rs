//! Treatment of the matches that a text is split at.

use crate::error::{Error, Result};

/// Hugging Face's `SplitDelimiterBehavior`.
///
/// The variants show the pieces of `the-final--countdown`, split at `-`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// `the`, `final`, `countdown`
    Removed,
    /// `the`, `-`, `final`, `-`, `-`, `countdown`
    Isolated,
    /// `the-`, `final-`, `-`, `countdown`
    MergedWithPrevious,
    /// `the`, `-final`, `-`, `-countdown`
    MergedWithNext,
    /// `the`, `-`, `final`, `--`, `countdown`
    Contiguous,
}

impl Behaviour {
    pub fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "removed" => Behaviour::Removed,
            "isolated" => Behaviour::Isolated,
            "merged-with-previous" => Behaviour::MergedWithPrevious,
            "merged-with-next" => Behaviour::MergedWithNext,
            "contiguous" => Behaviour::Contiguous,
            _ => return Err(Error::Invalid(format!("no behaviour is called {name}"))),
        })
    }
}

/// Merger of the matches in a text and the stretches between them into pre-tokens.
///
/// The pieces come in order. Empty ones are merged like others, as in Hugging Face's
/// `NormalizedString::split`, but an empty pre-token is never emitted.
pub struct PieceMerger<E> {
    behaviour: Behaviour,
    /// Piece that the next one may still join.
    held: Option<(usize, usize)>,
    previous_is_match: bool,
    emit: E,
}

impl<E: FnMut(usize, usize)> PieceMerger<E> {
    pub fn new(behaviour: Behaviour, emit: E) -> Self {
        PieceMerger {
            behaviour,
            held: None,
            previous_is_match: false,
            emit,
        }
    }

    pub fn push(&mut self, start: usize, end: usize, is_match: bool) {
        let joins = match self.behaviour {
            Behaviour::Removed | Behaviour::Isolated => false,
            Behaviour::MergedWithPrevious => is_match,
            Behaviour::MergedWithNext => !is_match,
            Behaviour::Contiguous => is_match == self.previous_is_match,
        };
        let start = match self.held.take() {
            Some((held, _)) if joins => held,
            Some((held, held_end)) => {
                self.emit(held, held_end);
                start
            }
            None => start,
        };
        let holds = match self.behaviour {
            Behaviour::Removed | Behaviour::Isolated => false,
            Behaviour::MergedWithPrevious => !is_match,
            Behaviour::MergedWithNext => is_match,
            Behaviour::Contiguous => true,
        };
        if holds {
            self.held = Some((start, end));
        } else if self.behaviour != Behaviour::Removed || !is_match {
            self.emit(start, end);
        }
        self.previous_is_match = is_match;
    }

    pub fn finish(mut self) {
        if let Some((start, end)) = self.held.take() {
            self.emit(start, end);
        }
    }

    fn emit(&mut self, start: usize, end: usize) {
        if start < end {
            (self.emit)(start, end);
        }
    }
}

/// Split at every character for which `is_match(at)` returns true, with its length in bytes.
pub fn split_at_characters(
    behaviour: Behaviour,
    text: &[u8],
    is_match: impl Fn(usize) -> (bool, usize),
    emit: impl FnMut(usize, usize),
) {
    let mut pieces = PieceMerger::new(behaviour, emit);
    let (mut at, mut done) = (0, 0);
    while at < text.len() {
        let (found, length) = is_match(at);
        if found {
            if done < at {
                pieces.push(done, at, false);
            }
            pieces.push(at, at + length, true);
            done = at + length;
        }
        at += length;
    }
    if done < at {
        pieces.push(done, at, false);
    }
    pieces.finish();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(behaviour: Behaviour, text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        let is_dash = |at: usize| (text.as_bytes()[at] == b'-', 1);
        split_at_characters(behaviour, text.as_bytes(), is_dash, |a, b| {
            found.push(&text[a..b]);
        });
        found
    }

    #[test]
    fn the_example_of_every_behaviour() {
        let text = "the-final--countdown";
        for (name, expected) in [
            ("removed", vec!["the", "final", "countdown"]),
            ("isolated", vec!["the", "-", "final", "-", "-", "countdown"]),
            (
                "merged-with-previous",
                vec!["the-", "final-", "-", "countdown"],
            ),
            ("merged-with-next", vec!["the", "-final", "-", "-countdown"]),
            ("contiguous", vec!["the", "-", "final", "--", "countdown"]),
        ] {
            assert_eq!(pieces(Behaviour::named(name).unwrap(), text), expected);
        }
        assert!(Behaviour::named("kept").is_err());
    }

    #[test]
    fn matches_at_both_ends() {
        assert_eq!(pieces(Behaviour::MergedWithPrevious, "-a-"), ["-", "a-"]);
        assert_eq!(pieces(Behaviour::MergedWithNext, "-a-"), ["-a", "-"]);
        assert_eq!(pieces(Behaviour::Contiguous, "--a--"), ["--", "a", "--"]);
        assert!(pieces(Behaviour::Removed, "--").is_empty());
    }

    #[test]
    fn an_empty_match_parts_its_neighbours() {
        for behaviour in [Behaviour::Isolated, Behaviour::Contiguous] {
            let mut found = Vec::new();
            let mut pieces = PieceMerger::new(behaviour, |a, b| found.push((a, b)));
            pieces.push(0, 1, false);
            pieces.push(1, 1, true);
            pieces.push(1, 2, false);
            pieces.finish();
            assert_eq!(found, [(0, 1), (1, 2)]);
        }
    }
}
