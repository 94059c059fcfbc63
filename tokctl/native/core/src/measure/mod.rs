//! Counts over a text and its tokens, from which the metrics are computed.
//!
//! A document is encoded as a whole and scanned once. All counts add up over its parts, its lines
//! and several documents.

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

/// Number of counts per range of text.
pub const COUNTS: usize = 8;
/// Counts of a range of text; see the constants below for their indices.
pub type Row = [u64; COUNTS];

/// Indices of the counts in a [`Row`].
pub const BYTES: usize = 0;
/// Characters; a byte that is not UTF-8 counts as one.
pub const CHARACTERS: usize = 1;
/// Characters that are white space.
pub const SPACES: usize = 2;
pub const WORDS: usize = 3;
/// Words that are a single token, other than the unknown token.
pub const WHOLE: usize = 4;
/// Words of at least two tokens.
pub const SPLIT: usize = 5;
pub const TOKENS: usize = 6;
/// Unknown tokens, and characters without an id.
pub const UNKNOWN: usize = 7;

fn add(to: &mut Row, row: &Row) {
    for (sum, count) in to.iter_mut().zip(row) {
        *sum += count;
    }
}

/// Options of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct MeasureOptions {
    pub unknown: Option<u32>,
    pub words: WordRule,
    /// Whether to compute [`Measured::boundaries`], and [`Measured::lines`].
    pub boundaries: bool,
    pub lines: bool,
    pub threads: usize,
    /// Bytes that a thread takes at a time.
    pub chunk: usize,
}

/// Counts of one model on one text.
#[derive(Debug, Default)]
pub struct Measured {
    pub totals: Row,
    /// (id, count) of the ids in the output, in id order.
    pub ids: Vec<(u32, u64)>,
    pub boundaries: Option<Boundaries>,
    /// Counts of each line. A token and a word belong to the line in which they start. The rows add
    /// up to the totals; an empty text has no lines.
    pub lines: Option<Vec<Row>>,
}

/// Measure a text. The result does not depend on the number of threads or the chunk size.
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

/// Maximum number of lines to draw from, with the lines of each document repeated by its weight.
pub const MOST_LINES: u64 = 10_000_000;

/// Append one count per line. Return an error for a count that does not fit 32 bits.
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

/// Like [`column`], for documents given as (number of lines, weight): the lines of each document
/// are repeated by its weight.
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
        // An empty document may have a very high weight.
        for _ in 1..if own > 0 { weight } else { 1 } {
            onto.extend_from_within(start..start + own);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
