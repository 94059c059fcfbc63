//! Counting pre-tokens, in first-seen order whatever the threads and the chunking.

mod counter;
mod table;

pub use counter::{Counter, Counts};
