//! Counting pre-tokens, in first-seen order whatever the threads and the chunking.

mod counter;
mod lines;
mod sample;
mod table;

pub use counter::{Counter, Counts};
pub use lines::CountLines;
pub use sample::LineSampler;
