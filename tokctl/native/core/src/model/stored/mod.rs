//! A model as its file holds it: tokens and merges in a few flat arrays.
//!
//! A file of 50,000 tokens is read in milliseconds so, where an object for each token and
//! each merge takes a hundred. It is the short way for files that are as they should be:
//! for any other there is None, and the long way says what is wrong.

mod fill;
mod scanner;
mod sections;

pub use fill::{Filling, Stored};
pub use sections::Sections;

use super::strings::{Index, Strings};
