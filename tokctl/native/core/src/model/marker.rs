//! How a recipe shows where a word starts, goes on or ends.

use crate::error::{Error, Result};

/// The text of a marker is part of the tokens that carry it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marker {
    /// No marker: tokens are stretches of the text and nothing else.
    None,
    /// A symbol of its own after the last character (`_` in the first notebook).
    End(String),
    /// Glued to the last character (`</w>` of CharBPE).
    EndFused(String),
    /// A symbol of its own before the first character (`Ġ` in the notebook's class).
    Start(String),
    /// In front of every symbol but a word's first (`##` of WordPiece); a merge drops
    /// it from its right part.
    Continuation(String),
}

impl Marker {
    pub fn new(kind: &str, text: &str) -> Result<Self> {
        let text = text.to_owned();
        // A continuation may look as the start of a word does.
        if !matches!(kind, "none" | "continuation") && text.is_empty() {
            return Err(Error::Invalid(format!("the {kind} marker has no text")));
        }
        Ok(match kind {
            "none" => Marker::None,
            "end" => Marker::End(text),
            "end-fused" => Marker::EndFused(text),
            "start" => Marker::Start(text),
            "continuation" => Marker::Continuation(text),
            _ => return Err(Error::Invalid(format!("no marker kind is called {kind}"))),
        })
    }

    /// The string of the token that merging `left` and `right` makes.
    pub fn join(&self, left: &[u8], right: &[u8]) -> Vec<u8> {
        let right = match self {
            Marker::Continuation(mark) => right.strip_prefix(mark.as_bytes()).unwrap_or(right),
            _ => right,
        };
        [left, right].concat()
    }

    /// The stretch of a token's string that stands for text: the marker cut off.
    pub fn strip<'t>(&self, token: &'t [u8]) -> &'t [u8] {
        let stripped = match self {
            Marker::None => None,
            Marker::End(mark) | Marker::EndFused(mark) => token.strip_suffix(mark.as_bytes()),
            Marker::Start(mark) | Marker::Continuation(mark) => token.strip_prefix(mark.as_bytes()),
        };
        stripped.unwrap_or(token)
    }
}

/// Where a character is put in front of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepend {
    /// In front of every piece.
    Always,
    /// In front of a piece that starts where the text starts.
    First,
    Never,
}

impl Prepend {
    pub fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "always" => Prepend::Always,
            "first" => Prepend::First,
            "never" => Prepend::Never,
            _ => {
                return Err(Error::Invalid(format!(
                    "no prepend scheme is called {name}"
                )))
            }
        })
    }
}
