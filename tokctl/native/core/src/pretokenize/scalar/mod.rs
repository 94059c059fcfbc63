//! Patterns from character to character, which the masks must equal in their tests.
//!
//! The scanner of o200k also takes over where a text is awkward for masks.

#[cfg(test)]
pub mod bert;
#[cfg(test)]
pub mod cl100k;
#[cfg(test)]
pub mod gpt2;
#[cfg(test)]
pub mod gpt2_words;
pub mod o200k;
#[cfg(test)]
pub mod whitespace;
#[cfg(test)]
pub mod word_runs;
