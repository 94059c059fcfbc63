//! Counting pre-tokens, in first-seen order whatever the threads and the chunking.

mod by_place;
mod counter;
mod counts;
mod documents;
mod framed;
mod lines;
mod long;
mod merge;
mod pieces;
mod runs;
mod sample;
mod short;
mod table;
mod tally;
mod utf8;

pub use counter::Counter;
pub use counts::Counts;
pub use framed::framed;
pub use lines::CountLines;
pub use runs::{Scratch, Store};
pub use sample::LineSampler;
pub use tally::Limit;
pub use utf8::Utf8Check;
