//! Matching of whole strings: added tokens, WordPiece's longest match, and whole words.

mod added_tokens;
mod automaton;
mod longest_match;
mod words;

pub use added_tokens::{AddedToken, AddedTokens, Matchers};
pub use longest_match::{LongestMatch, Unknown};
pub use words::Words;
