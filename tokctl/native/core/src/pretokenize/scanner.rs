//! One way to split a text into pieces.

use std::num::NonZeroUsize;

use super::behaviour::Behaviour;
use super::split::Split;
use super::{characters, deepseek, masks, penn_treebank, superbpe};
use crate::error::Result;
use crate::unicode::{Categories, Classes};

/// Takes the pre-tokens of a text, in order. A closure `|start, end|` is one, too.
pub trait PreTokenSink {
    fn take(&mut self, start: usize, end: usize);

    /// Takes pre-tokens side by side: the first one starts at `start`, and each ends, and the next
    /// one starts, `base` plus one of `ends`. Returns where the last one ends.
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

/// A scanner. The pattern that each one equals, where it is one pattern, is in
/// `tokctl/model/patterns.py` under the same name, or in [`Scanner::of_pattern`].
#[derive(Debug, Clone)]
pub enum Scanner {
    /// The whole text is one pre-token.
    None,
    /// Maximal runs of non-space; the spaces are dropped.
    Whitespace,
    /// Runs of word characters and runs of other characters; the spaces are dropped.
    WhitespacePunctuation,
    /// Split at spaces, which are dropped; every punctuation character stands alone.
    Bert,
    /// GPT-2's pattern without its spaces, which are dropped.
    Gpt2Words,
    /// GPT-2's pattern: a word takes the one space before it along; nothing is dropped.
    Gpt2,
    /// The same without its contractions.
    Gpt2Runs,
    /// GPT-4's pattern as tiktoken has it.
    Cl100k,
    /// The same as Llama 3 has it.
    Llama3,
    /// The same with one number at a time.
    Qwen2,
    /// GPT-4o's pattern.
    O200k,
    /// The three steps of DeepSeek-V3.
    DeepseekV3,
    /// The pattern of SuperBPE's second stage.
    SuperBpe,
    Punctuation(Behaviour),
    Digits {
        individual: bool,
    },
    /// Numbers in groups of so many digits, counted from their ends.
    DigitGroups(NonZeroUsize),
    /// Cuts before each group of so many decimal digits, counted from the end of a number.
    DigitCuts(NonZeroUsize),
    Split(Split),
    Scripts,
    /// Pieces of so many characters.
    Fixed(NonZeroUsize),
    Graphemes,
    /// The words of the Penn Treebank; spaces are dropped.
    PennTreebank,
}

impl Scanner {
    /// The scanners without options.
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

    /// The scanner that splits as a pattern does whose matches are isolated, where it has no name of
    /// its own.
    pub fn of_pattern(pattern: &str) -> Option<Self> {
        match pattern {
            r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+" => Some(Scanner::Gpt2Runs),
            r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)" => Some(Scanner::SuperBpe),
            _ => None,
        }
    }

    /// May texts be split as one, with a tab between them, and cut before and behind each tab?
    ///
    /// Nothing is dropped, and for these patterns a tab is white space and no more: what stands
    /// before it is split as at the end of a text, and what stands behind it as at the start. But
    /// white space with a line feed in it that does not end with one needs the end itself.
    pub fn splits_texts_as_one(&self) -> bool {
        use Scanner::{Cl100k, Gpt2, Gpt2Runs, Llama3, O200k, Qwen2};
        matches!(self, Gpt2 | Gpt2Runs | Cl100k | Llama3 | Qwen2 | O200k)
    }

    /// Gives `sink` the start and the end of every pre-token, in order; none is empty.
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
