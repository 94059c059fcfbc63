//! Pre-tokenizers: a text is split into pre-tokens, which no token crosses.
//!
//! A scanner that stands for a pattern is written by hand and must equal the `regex`
//! package on that pattern for every input; one that stands for a component of Hugging
//! Face's must equal that. The tests hold them side by side.

mod behaviour;
mod bert;
mod characters;
mod cl100k;
mod cuts;
mod deepseek;
mod gpt2;
mod gpt2_words;
mod graphemes;
mod metaspace;
mod o200k;
mod penn_treebank;
mod rewrite;
mod runs;
mod scanner;
mod scripts;
mod sequence;
mod spaces;
mod split;
mod whitespace;

pub use behaviour::Behaviour;
pub use cuts::{cut_into_pieces, last_cut, last_safe_cut, safe_cut};
pub use metaspace::Metaspace;
pub use rewrite::Rewrite;
pub use scanner::Scanner;
pub use sequence::{PreTokenizer, Splits, Step};
pub use split::{Needle, Split};
