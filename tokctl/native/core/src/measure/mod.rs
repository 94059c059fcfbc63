//! Counts over a text and its tokens, from which the metrics are made.
//!
//! A document is encoded whole, and gone through once: what is counted adds up over its parts,
//! over its lines, and over documents.

mod boundaries;
mod documents;
mod fewest;
mod ids;
mod resample;
mod round_trip;
mod shares;
mod vocabulary_bound;
mod words;

pub use boundaries::{shared, shared_weighted, Boundaries};
pub use documents::{measure_documents, Documents};
pub use fewest::FewestTokens;
pub use resample::{resample, Column};
pub use round_trip::{exact_lines, line_counts};
pub use vocabulary_bound::{vocabulary_bound, BoundOptions, Symbols, VocabularyBound, MARK};
pub use words::WordRule;

pub use crate::encode::CHUNK;
use crate::encode::{Encoder, Matchers};
use crate::error::{Error, Result};
use crate::jobs::Interrupt;
use ids::IdTables;
use shares::{RangeCounts, Shares};

/// What is counted of a stretch of text.
pub const COUNTS: usize = 8;
pub type Row = [u64; COUNTS];

/// The places of counts in a [`Row`].
pub const BYTES: usize = 0;
/// A byte that is not UTF-8 is a character.
pub const CHARACTERS: usize = 1;
/// Characters that are white space.
pub const SPACES: usize = 2;
pub const WORDS: usize = 3;
/// Words that are one token, which is not the unknown token.
pub const WHOLE: usize = 4;
/// Words that are two tokens or more.
pub const SPLIT: usize = 5;
pub const TOKENS: usize = 6;
/// Unknown tokens, and characters without an id.
pub const UNKNOWN: usize = 7;

fn add(to: &mut Row, row: &Row) {
    for (sum, count) in to.iter_mut().zip(row) {
        *sum += count;
    }
}

#[derive(Debug, Clone, Copy)]
pub struct MeasureOptions {
    pub unknown: Option<u32>,
    pub words: WordRule,
    /// Are [`Measured::boundaries`] wanted? [`Measured::lines`]?
    pub boundaries: bool,
    pub lines: bool,
    pub threads: usize,
    /// Bytes that a thread takes at a time.
    pub chunk: usize,
}

/// What one model makes of one text.
#[derive(Debug, Default)]
pub struct Measured {
    pub totals: Row,
    /// The ids that came out, in order, and how often.
    pub ids: Vec<(u32, u64)>,
    pub boundaries: Option<Boundaries>,
    /// The counts of each line: a token and a word are of the line in which they start. Rows add
    /// up to the totals; an empty text has no lines.
    pub lines: Option<Vec<Row>>,
}

/// Measures a text. The result does not depend on the threads or the chunks.
pub fn measure(
    encoder: &Encoder,
    text: &[u8],
    matchers: Option<&Matchers>,
    options: &MeasureOptions,
    interrupt: Interrupt,
) -> Result<Measured> {
    let tables = IdTables::default();
    let mut shares = Shares::new(text.len(), options);
    encoder.tokens_by_parts(
        text,
        (options.threads, options.chunk),
        matchers,
        |start, end, tokens| {
            tables.with(|table| table.add(tokens, 1));
            Ok(RangeCounts::of(text, (start, end), tokens, options))
        },
        |share| {
            shares.join(share);
            Ok(())
        },
        interrupt,
    )?;
    Ok(shares.finish(tables.finish()))
}

/// Lines of documents that count more than once are drawn from as if they stood there as often: up
/// to so many.
pub const MOST_LINES: u64 = 10_000_000;

/// Appends one count of every line. A line with more than 32 bits hold is refused.
pub fn column(lines: impl Iterator<Item = u64>, onto: &mut Column) -> Result<()> {
    for count in lines {
        let narrowed = u32::try_from(count);
        onto.push(
            narrowed
                .map_err(|_| Error::TooLarge("a line of over 4 GB can't be resampled".into()))?,
        );
    }
    Ok(())
}

/// The same of documents that count so often: the lines of each stand there as often, behind one
/// another.
pub fn weighted_column(
    mut lines: impl Iterator<Item = u64>,
    documents: impl Iterator<Item = (usize, u64)>,
    onto: &mut Column,
) -> Result<()> {
    for (own, weight) in documents {
        let start = onto.len();
        column(lines.by_ref().take(own), onto)?;
        if start as u64 + (own as u64).saturating_mul(weight) > MOST_LINES {
            let why = "the counts of the texts make more than 10,000,000 lines to draw from";
            return Err(Error::TooLarge(why.into()));
        }
        // An empty document may count very often.
        for _ in 1..if own > 0 { weight } else { 1 } {
            onto.extend_from_within(start..start + own);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
