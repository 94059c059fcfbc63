//! Counting pre-tokens, in first-seen order whatever the threads and the chunking.

mod counter;
mod counts;
mod lines;
mod long;
mod pieces;
mod sample;
mod short;
mod table;
mod utf8;

pub use counter::Counter;
pub use counts::Counts;
pub use lines::CountLines;
pub use sample::LineSampler;
pub use utf8::Utf8Check;
