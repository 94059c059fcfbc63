//! Patterns that the core does not search for itself.

use std::fmt::Debug;
use std::sync::Arc;

use crate::error::Result;

/// A pattern whose matches the caller finds: a regular expression of Python's `regex`
/// package, for one. The core knows only this.
pub trait Pattern: Debug + Send + Sync {
    /// Byte ranges of the matches in `text`, ascending and not overlapping. One with equal ends is
    /// empty, and none such stands where the match before it ends. A byte that is not UTF-8 is a
    /// character of its own.
    fn find(&self, text: &[u8]) -> Result<Vec<(usize, usize)>>;
}

/// What is looked for in a text.
#[derive(Debug, Clone)]
pub enum Search {
    Literal(String),
    Pattern(Arc<dyn Pattern>),
}
