//! Encoding: split a text into pre-tokens, segment each one, and cache the results.
//!
//! [`encoder`] takes a text through these steps. [`lookup`] and [`sentences`] turn pre-tokens and
//! words into ids with the help of [`cache`]; [`stitching`] does so for pre-tokens of many words.
//! Each kind of model is a variant of [`Segmenter`]: [`merging`] (BPE), [`removed`] (BPE with
//! removed tokens), longest match and whole words in [`matching`], and [`unigram`].
//!
//! [`parallel`] encodes on several threads, [`side_by_side`] encodes many short texts together, and
//! [`output`] encodes texts that arrive in blocks.

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
