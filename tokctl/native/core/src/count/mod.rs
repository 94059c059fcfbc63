//! Counts of pre-tokens, in first-seen order for any number of threads and any chunking.

mod counter;
mod counts;
mod lines;
mod merging;
mod runs;
mod sample;
mod spilling;
mod table;
mod utf8;

pub use counter::{framed, Counter};
pub use counts::Counts;
pub use lines::CountLines;
pub use merging::{merge, parts, Collected, CountedText, PlacedCounts};
pub use runs::{run_ids, RunWords};
pub use sample::LineSampler;

pub use spilling::{Limit, Scratch, Store};
pub use utf8::Utf8Check;
