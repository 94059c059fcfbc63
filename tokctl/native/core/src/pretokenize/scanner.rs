//! Scanners: ways to split a text into pre-tokens.

use std::num::NonZeroUsize;

use super::behaviour::Behaviour;
use super::split::Split;
use super::{characters, deepseek, masks, penn_treebank, superbpe};
use crate::error::Result;
use crate::unicode::{Categories, Classes};

/// Receiver of the pre-tokens of a text, in order; a closure `|start, end|` is one, too.
pub trait PreTokenSink {
    /// Take the pre-token `start..end`.
    fn take(&mut self, start: usize, end: usize);

    /// Take adjacent pre-tokens, and return the end of the last one.
    ///
    /// The first one starts at `start`. Each one ends, and the next one starts, at `base` plus an
    /// entry of `ends`.
    #[inline(always)]
    fn take_adjoining(&mut self, base: usize, mut start: usize, ends: &[u16]) -> usize {
        for &end in ends {
            let end = base + usize::from(end);
            self.take(start, end);
            start = end;
        }
        start
    }
}

impl<F: FnMut(usize, usize)> PreTokenSink for F {
    #[inline(always)]
    fn take(&mut self, start: usize, end: usize) {
        self(start, end);
    }
}

/// Way to split a text into pre-tokens.
///
/// If a scanner equals one pattern, the pattern is in `tokctl/model/patterns.py` under the
/// scanner's name, or in [`Scanner::of_pattern`].
#[derive(Debug, Clone)]
pub enum Scanner {
    /// The whole text is one pre-token.
    None,
    /// Maximal runs without white space, which is dropped.
    Whitespace,
    /// Runs of word characters and runs of other characters; white space is dropped.
    WhitespacePunctuation,
    /// Runs without white space, which is dropped; every punctuation character stands alone.
    Bert,
    /// GPT-2's pattern without its spaces; white space is dropped.
    Gpt2Words,
    /// GPT-2's pattern: a word includes the one space before it; nothing is dropped.
    Gpt2,
    /// GPT-2's pattern without its contractions.
    Gpt2Runs,
    /// GPT-4's pattern in tiktoken's form.
    Cl100k,
    /// GPT-4's pattern in Llama 3's form.
    Llama3,
    /// Llama 3's pattern with one number at a time.
    Qwen2,
    /// GPT-4o's pattern.
    O200k,
    /// The three steps of DeepSeek-V3.
    DeepseekV3,
    /// The pattern of SuperBPE's second stage.
    SuperBpe,
    /// Hugging Face's `Punctuation`.
    Punctuation(Behaviour),
    /// Hugging Face's `Digits`.
    Digits {
        individual: bool,
    },
    /// Numbers in groups of at most this many digits, counted from their ends.
    DigitGroups(NonZeroUsize),
    /// Cuts before each group of this many decimal digits, counted from the end of a number.
    DigitCuts(NonZeroUsize),
    Split(Split),
    Scripts,
    /// Pieces of this many characters.
    Fixed(NonZeroUsize),
    Graphemes,
    /// Words of the Penn Treebank; white space is dropped.
    PennTreebank,
}

impl Scanner {
    /// Return the scanner of this name; a scanner with options has no name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "none" => Scanner::None,
            "whitespace" => Scanner::Whitespace,
            "whitespace-punctuation" => Scanner::WhitespacePunctuation,
            "bert" => Scanner::Bert,
            "gpt2-words" => Scanner::Gpt2Words,
            "gpt2" => Scanner::Gpt2,
            "cl100k" => Scanner::Cl100k,
            "llama3" => Scanner::Llama3,
            "qwen2" => Scanner::Qwen2,
            "o200k" => Scanner::O200k,
            "deepseek-v3" => Scanner::DeepseekV3,
            "scripts" => Scanner::Scripts,
            "characters" => Scanner::Fixed(NonZeroUsize::MIN),
            "graphemes" => Scanner::Graphemes,
            "penn-treebank" => Scanner::PennTreebank,
            _ => return None,
        })
    }

    /// Return the scanner that splits like this pattern with isolated matches; None for other
    /// patterns.
    ///
    /// Covers the patterns whose scanners have no names.
    pub fn of_pattern(pattern: &str) -> Option<Self> {
        match pattern {
            r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+" => Some(Scanner::Gpt2Runs),
            r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)" => Some(Scanner::SuperBpe),
            _ => None,
        }
    }

    /// Return whether texts can be joined by tabs, split as one, and cut before and after each tab.
    ///
    /// True if nothing is dropped and the pattern treats a tab as plain white space: the text
    /// before a tab is split as at the end of a text, the text after it as at the start. The
    /// exception is white space that holds a line feed but does not end with one: its split depends
    /// on the real end of the text.
    pub fn splits_texts_as_one(&self) -> bool {
        use Scanner::{Cl100k, Gpt2, Gpt2Runs, Llama3, O200k, Qwen2};
        matches!(self, Gpt2 | Gpt2Runs | Cl100k | Llama3 | Qwen2 | O200k)
    }

    /// Give `sink` the start and the end of every pre-token, in order; none is empty.
    pub fn split(&self, text: &[u8], mut sink: impl PreTokenSink) -> Result<()> {
        let classes = Classes::get();
        match self {
            Scanner::None => {
                if !text.is_empty() {
                    sink.take(0, text.len());
                }
            }
            Scanner::Whitespace => masks::split(masks::Whitespace::default(), text, sink),
            Scanner::WhitespacePunctuation => {
                masks::split(masks::WordRuns::default(), text, sink);
            }
            Scanner::Bert => masks::split(masks::Bert::default(), text, sink),
            Scanner::Gpt2Words => {
                masks::split(masks::Gpt2::<true, true>::default(), text, sink);
            }
            Scanner::Gpt2 => masks::split(masks::Gpt2::<false, true>::default(), text, sink),
            Scanner::Gpt2Runs => masks::split(masks::Gpt2::<false, false>::default(), text, sink),
            Scanner::Cl100k => masks::split(masks::Cl100k::<false, true>::default(), text, sink),
            Scanner::Llama3 => masks::split(masks::Cl100k::<false, false>::default(), text, sink),
            Scanner::Qwen2 => masks::split(masks::Cl100k::<true, false>::default(), text, sink),
            Scanner::O200k => masks::split(masks::O200k::default(), text, sink),
            Scanner::DeepseekV3 => {
                deepseek::split(classes, text, |start, end| sink.take(start, end))
            }
            Scanner::SuperBpe => superbpe::split(classes, text, |start, end| sink.take(start, end)),
            Scanner::Punctuation(behaviour) => {
                characters::punctuation(*behaviour, classes, text, |start, end| {
                    sink.take(start, end)
                });
            }
            Scanner::Digits { individual } => {
                characters::digits(*individual, classes, text, |start, end| {
                    sink.take(start, end)
                })
            }
            Scanner::DigitGroups(most) => {
                characters::digit_groups(*most, classes, text, |start, end| sink.take(start, end))
            }
            Scanner::DigitCuts(length) => {
                let categories = Categories::get();
                characters::digit_cuts(*length, categories, text, |start, end| {
                    sink.take(start, end)
                })
            }
            Scanner::Split(split) => return split.split(text, |start, end| sink.take(start, end)),
            Scanner::Scripts => characters::split_scripts(text, |start, end| sink.take(start, end)),
            Scanner::Fixed(most) => {
                characters::fixed(*most, text, |start, end| sink.take(start, end))
            }
            Scanner::Graphemes => {
                characters::split_graphemes(text, |start, end| sink.take(start, end))
            }
            Scanner::PennTreebank => {
                penn_treebank::split(classes, text, |start, end| sink.take(start, end))
            }
        }
        Ok(())
    }
}
