//! From text to ids: split, segment each pre-token, remember what was segmented.

mod added;
mod batch;
mod batched;
mod blocks;
mod cache;
mod collected;
mod deferred;
mod digits;
mod encoder;
mod fallback;
mod few;
mod gathered;
mod ids_cache;
mod lines;
mod longest;
mod longest_match;
mod longest_places;
mod matchers;
mod merge;
mod merge_few;
mod merge_long;
mod parts;
mod random;
mod remembered;
mod rows;
mod segmenter;
mod sentences;
pub(crate) mod shared_out;
mod spaced;
mod spans;
mod spares;
mod text_parts;
mod threaded;
mod tokens;
#[cfg(target_arch = "x86_64")]
mod turns_x86;
mod unigram;
mod windows;
mod words;
mod written;

pub use added::{AddedToken, AddedTokens};
pub use batch::Flat;
pub use blocks::{Blocks, Cuts, Encoding, Fed, Lacking};
pub use collected::Collected;
pub use encoder::Encoder;
pub use ids_cache::CacheStats;
pub use longest_match::{LongestMatch, Unknown};
pub use matchers::Matchers;
pub use merge::{MergeOrder, Merging};
pub use parts::can_cut;
pub use random::Rng;
pub use rows::{Rows, WrittenRows};
use segmenter::check_length;
pub use segmenter::{Segment, Segmenter};
pub use spares::{Ids, Spares};
pub use threaded::CHUNK;
pub use tokens::{PreTokens, Token};
pub use unigram::{Precision, Unigram, UnigramOptions};
pub use words::Words;
pub use written::Form;

/// Asked now and then in long work; true stops it.
pub type Interrupt<'i> = &'i (dyn Fn() -> bool + Sync);
