//! What a tokenizer of merges consists of: units, word marker, alphabet, vocabulary, merges.
//!
//! Training fills these in; encoding and decoding read them.

mod alphabet;
mod marker;
mod merges;
mod trie;
mod trie_blocks;
mod vocabulary;

pub use alphabet::{Alphabet, ByteAlphabet, CharAlphabet, Units};
pub use marker::Marker;
pub use merges::{Merge, Merges, NO_RANK};
pub use trie::Trie;
pub use vocabulary::{Vocabulary, NO_ID};
