//! Patterns from character to character: what the masks must equal in their tests. Where a
//! text is awkward for masks, o200k's goes on itself.

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
