//! Parts of a tokenizer: units, word marker, alphabet, vocabulary, merges or pieces.
//!
//! Training fills them in; encoding and decoding read them.

mod alphabet;
pub mod byte_characters;
mod char_ids;
mod char_trie;
mod marker;
mod merges;
mod pair_ranks;
mod ranks;
mod stored;
mod strings;
mod trie;
mod vocabulary;

use char_ids::CharIds;

pub use alphabet::{Alphabet, ByteAlphabet, CharAlphabet, Units};
pub use char_trie::{CharTrie, LabelledText};
pub use marker::Marker;
pub use marker::Prepend;
pub use merges::{Merge, Merges, NO_RANK};
pub(crate) use pair_ranks::{PairSlot, NO_SYMBOL};
pub use ranks::Ranks;
pub use stored::{serde_json, Fault, Filling, Lists, MergeList, Stored};
pub use strings::Strings;
pub use trie::Trie;
pub use vocabulary::{Vocabulary, NO_ID};
