//! Patterns that the core does not match itself.

use std::fmt::Debug;
use std::sync::Arc;

use crate::error::{Error, Result};

/// Pattern whose matches the caller finds, for example a regular expression of Python's `regex`
/// package.
pub trait Pattern: Debug + Send + Sync {
    /// Return the byte ranges of the matches in `text`, ascending and without overlaps.
    ///
    /// A range with equal ends is an empty match; none starts where the match before it ends. A
    /// byte that is not UTF-8 counts as one character.
    fn find(&self, text: &[u8]) -> Result<Vec<(usize, usize)>>;
}

impl dyn Pattern {
    /// Return what [`Pattern::find`] returns, or an error if it breaks the rules.
    ///
    /// Anybody can write a `Pattern`, and later code reads the ranges without checks.
    pub fn matches(&self, text: &[u8]) -> Result<Vec<(usize, usize)>> {
        let found = self.find(text)?;
        let mut done = 0;
        for &(start, end) in &found {
            if !(done <= start && start <= end && end <= text.len()) {
                let message = format!("a pattern has no match from byte {start} to byte {end}");
                return Err(Error::Invalid(message));
            }
            done = end;
        }
        Ok(found)
    }
}

/// Search term in a text.
#[derive(Debug, Clone)]
pub enum Search {
    Literal(String),
    Pattern(Arc<dyn Pattern>),
}
