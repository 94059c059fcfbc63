//! Pre-tokenizers: a text is split into pre-tokens, which no token but a superword crosses.
//!
//! The scanners of the patterns that most models use work on blocks of text ([`masks`]).
//!
//! A hand-written scanner for a pattern must equal the `regex` package on that pattern for every
//! input. A scanner for a component of Hugging Face must equal that component. The tests compare
//! them.

mod behaviour;
mod characters;
mod cuts;
mod deepseek;
mod masks;
mod metaspace;
mod penn_treebank;
mod rewrite;
mod runs;
mod scalar;
mod scanner;
mod sequence;
mod split;
mod superbpe;
mod together;

pub use behaviour::Behaviour;
pub use cuts::{
    cut_into_pieces, first_cut, is_word, last_cut, last_safe_cut, safe_blocks, safe_cut,
};
#[cfg(target_arch = "x86_64")]
pub(crate) use masks::{HasAvx512, Level};
pub use metaspace::Metaspace;
pub use rewrite::Rewrite;
pub use scanner::{PreTokenSink, Scanner};
pub use sequence::{PreTokenizer, Splits, Step};
pub use split::{Needle, Split};
pub use together::{TextsSink, TAB};
