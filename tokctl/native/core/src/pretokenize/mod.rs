//! Pre-tokenizers: a text is split into pre-tokens, which no token crosses.
//!
//! Each scanner is written by hand for one pattern and must equal the `regex`
//! package on that pattern for every input; the tests hold them side by side.

mod bert;
mod cuts;
mod gpt2;
mod gpt2_words;
mod runs;
mod whitespace;

pub use cuts::{cut_into_pieces, last_cut};

use crate::unicode::Classes;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreTokenizer {
    /// The whole text is one pre-token.
    None,
    /// Maximal runs of non-space; the spaces are dropped.
    Whitespace,
    /// Split at spaces, which are dropped; every punctuation character stands alone.
    Bert,
    /// GPT-2's pattern without its spaces, which are dropped.
    Gpt2Words,
    /// GPT-2's pattern: a word takes the one space before it along; nothing is dropped.
    Gpt2,
}

impl PreTokenizer {
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "none" => PreTokenizer::None,
            "whitespace" => PreTokenizer::Whitespace,
            "bert" => PreTokenizer::Bert,
            "gpt2-words" => PreTokenizer::Gpt2Words,
            "gpt2" => PreTokenizer::Gpt2,
            _ => return None,
        })
    }

    /// Calls `emit(start, end)` for every pre-token, in order; none is empty.
    pub fn split(self, text: &[u8], mut emit: impl FnMut(usize, usize)) {
        let classes = Classes::get();
        match self {
            PreTokenizer::None => {
                if !text.is_empty() {
                    emit(0, text.len());
                }
            }
            PreTokenizer::Whitespace => whitespace::split(classes, text, emit),
            PreTokenizer::Bert => bert::split(classes, text, emit),
            PreTokenizer::Gpt2Words => gpt2_words::split(classes, text, emit),
            PreTokenizer::Gpt2 => gpt2::split(classes, text, emit),
        }
    }

    /// May a text be cut where a space follows something else, without changing the
    /// pre-tokens? True of every scanner that never joins a word to the space after it.
    pub fn cuts_before_space(self) -> bool {
        !matches!(self, PreTokenizer::None)
    }
}
