//! Marks by which a recipe shows where a word starts, continues or ends.

use crate::error::{Error, Result};

/// Kind and text of the marker. The text is part of the tokens that carry the marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marker {
    /// No marker: tokens are plain text.
    None,
    /// Symbol of its own after the last character (`_` in the first notebook).
    End(String),
    /// Suffix of the last character (`</w>` of CharBPE).
    EndFused(String),
    /// Symbol of its own before the first character (`Ġ` in the notebook's class).
    Start(String),
    /// Prefix of every symbol but the first of a word (`##` of WordPiece); a merge drops the prefix
    /// from its right side.
    Continuation(String),
}

impl Marker {
    pub fn new(kind: &str, text: &str) -> Result<Self> {
        let text = text.to_owned();
        // A continuation marker may be empty: continuations then look like starts of words.
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

    /// Return the string of the token that merging `left` and `right` makes.
    pub fn join(&self, left: &[u8], right: &[u8]) -> Vec<u8> {
        let right = match self {
            Marker::Continuation(mark) => right.strip_prefix(mark.as_bytes()).unwrap_or(right),
            _ => right,
        };
        [left, right].concat()
    }

    /// Return the part of a token's string that stands for text, without the marker.
    pub fn strip<'t>(&self, token: &'t [u8]) -> &'t [u8] {
        let stripped = match self {
            Marker::None => None,
            Marker::End(mark) | Marker::EndFused(mark) => token.strip_suffix(mark.as_bytes()),
            Marker::Start(mark) | Marker::Continuation(mark) => token.strip_prefix(mark.as_bytes()),
        };
        stripped.unwrap_or(token)
    }
}

/// Condition under which a character is put before a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepend {
    /// Before every piece.
    Always,
    /// Before a piece at the start of the text.
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
