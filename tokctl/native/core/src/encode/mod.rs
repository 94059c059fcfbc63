//! From text to ids: split, segment each pre-token, cache what was segmented.
//!
//! [`encoder`] takes a text through its steps; [`lookup`] and [`sentences`] turn pre-tokens and
//! words into ids with the help of [`cache`], and [`stitching`] pre-tokens of many words. A kind of
//! model is one arm of [`Segmenter`]: [`merging`] (BPE), [`removed`] (BPE with removals), the longest
//! match and whole words in [`matching`], and [`unigram`].
//! [`parallel`] does the same on several threads, [`side_by_side`] for many short texts, [`output`]
//! for texts that come block by block.

mod borders;
mod cache;
mod encoder;
mod lookup;
mod matching;
mod merging;
mod output;
mod parallel;
mod removed;
mod segmenter;
mod sentences;
mod side_by_side;
mod stitching;
mod tokens;
mod unigram;
mod word_starts;

pub use crate::random::Rng;
pub use borders::Borders;
pub use cache::{BufferPool, CacheMemory, CacheStats, IdNumber, Ids};
pub use encoder::Encoder;
pub use matching::{AddedToken, AddedTokens, LongestMatch, Matchers, Unknown, Words};
pub use merging::{MergeOrder, Merging, Superwords};
pub use output::{
    BlockEncoder, ByteSink, Context, Cuts, Form, IdSink, MissingId, Sink, TokenNames,
};
pub use parallel::{RaggedIds, CHUNK};
pub use removed::{Demolition, EventReplay, RemovalEvents};
pub use segmenter::{Learned, Segment, Segmentation, Segmenter, SegmenterOptions};
pub use tokens::{PreTokens, Token};
pub use unigram::{Precision, Unigram, UnigramOptions};
pub use word_starts::can_cut;
