//! Counts over a text and its tokens, from which the metrics are made.
//!
//! The text is encoded whole, as one document, and gone through once: what is counted adds up
//! over its parts, and over its lines.

mod boundaries;
mod resample;
mod round_trip;
mod shares;
mod words;

use std::sync::{Mutex, PoisonError};

pub use boundaries::{shared, Boundaries};
pub use resample::{resample, Column};
pub use round_trip::exact_lines;
pub use words::Words;

pub use crate::encode::CHUNK;
use crate::encode::{Encoder, Interrupt, Matchers};
use crate::error::{Error, Result};
use crate::model::NO_ID;
use shares::{Share, Shares};

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
pub struct Options {
    pub unknown: Option<u32>,
    pub words: Words,
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
    options: &Options,
    interrupt: Interrupt,
) -> Result<Measured> {
    // Tables of counts by id, one for each thread that counts at the same time.
    let tables: Mutex<Vec<Vec<u64>>> = Mutex::new(Vec::new());
    let lock = || tables.lock().unwrap_or_else(PoisonError::into_inner);
    let mut shares = Shares::new(text.len(), options);
    encoder.tokens_by_parts(
        text,
        (options.threads, options.chunk),
        matchers,
        |start, end, tokens| {
            let mut table = lock().pop().unwrap_or_default();
            for token in tokens.iter().filter(|token| token.id != NO_ID) {
                let id = token.id as usize;
                if id >= table.len() {
                    table.resize(id + 1, 0);
                }
                table[id] += 1;
            }
            lock().push(table);
            Ok(Share::of(text, (start, end), tokens, options))
        },
        |share| {
            shares.join(share);
            Ok(())
        },
        interrupt,
    )?;
    let tables = std::mem::take(&mut *lock());
    Ok(shares.finish(sums(tables)))
}

/// The counts that are not 0, with their ids.
fn sums(tables: Vec<Vec<u64>>) -> Vec<(u32, u64)> {
    let longest = tables.iter().map(Vec::len).max().unwrap_or_default();
    let of = |id: usize| tables.iter().filter_map(|table| table.get(id)).sum::<u64>();
    (0..longest)
        .map(|id| (id as u32, of(id)))
        .filter(|&(_, count)| count > 0)
        .collect()
}

/// One count of every line. A line with more than 32 bits hold is refused.
pub fn column(lines: &[Row], count: usize) -> Result<Column> {
    let narrow = |row: &Row| u32::try_from(row[count]);
    let narrowed: std::result::Result<Vec<u32>, _> = lines.iter().map(narrow).collect();
    narrowed.map_err(|_| Error::TooLarge("a line of over 4 GB can't be resampled".into()))
}

#[cfg(test)]
mod tests;
