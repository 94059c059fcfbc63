//! Measurement of many documents that are concatenated in one text. Each is encoded by itself.

use super::boundaries::Boundaries;
use super::ids::IdTables;
use super::shares::{RangeCounts, Shares};
use super::{add, measure, MeasureOptions, Measured, Row};
use crate::encode::{Encoder, Matchers};
use crate::error::{Error, Result};
use crate::jobs::{Interrupt, Jobs, Worker};

/// Exclusive upper bound of the bytes of all documents, each multiplied by its weight: so no sum of
/// counts exceeds 64 bits.
const MOST_BYTES: u128 = 1 << 56;

/// Concatenated documents.
#[derive(Debug, Clone, Copy)]
pub struct Documents<'t> {
    pub text: &'t [u8],
    /// End offset of each document. The last one ends with the text.
    ends: &'t [usize],
    /// How often each document counts; None: once.
    pub weights: Option<&'t [u64]>,
}

impl<'t> Documents<'t> {
    /// Check that the documents cover the text, and that their sizes and weights fit.
    pub fn new(text: &'t [u8], ends: &'t [usize], weights: Option<&'t [u64]>) -> Result<Self> {
        let invalid = |what: &str| Err(Error::Invalid(what.into()));
        if !ends.is_sorted() || ends.last().copied().unwrap_or_default() != text.len() {
            return invalid("the documents are not the text");
        }
        if weights.is_some_and(|weights| weights.len() != ends.len()) {
            return invalid("there is not a weight for each document");
        }
        let found = Documents {
            text,
            ends,
            weights,
        };
        let bytes = |number: usize| {
            let (start, end) = found.range(number);
            (end - start + 1) as u128 * u128::from(found.weight(number))
        };
        if (0..ends.len()).map(bytes).sum::<u128>() >= MOST_BYTES {
            return Err(Error::TooLarge(
                "documents that are too large, with their counts".into(),
            ));
        }
        Ok(found)
    }

    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// Return the start and end offsets of a document.
    pub fn range(&self, number: usize) -> (usize, usize) {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        (start, self.ends[number])
    }

    /// Return how often a document counts.
    pub fn weight(&self, number: usize) -> u64 {
        self.weights.map_or(1, |weights| weights[number])
    }

    /// Divide the documents into ranges (from, to) of about `size` bytes each. A document of more
    /// than `large` bytes is a range of its own.
    pub(super) fn groups(&self, size: usize, large: usize) -> Vec<(usize, usize)> {
        let mut groups = Vec::new();
        let (mut from, mut bytes) = (0, 0);
        for number in 0..self.count() {
            let (start, end) = self.range(number);
            if end - start > large && number > from {
                groups.push((from, number));
                (from, bytes) = (number, 0);
            }
            // An empty document takes time, too.
            bytes += end - start + 64;
            if bytes >= size || end - start > large || number + 1 == self.count() {
                groups.push((from, number + 1));
                (from, bytes) = (number + 1, 0);
            }
        }
        groups
    }
}

/// Counts of adjacent documents.
struct DocumentGroup {
    /// Offset in the text of the first bit of `boundaries`.
    base: usize,
    totals: Row,
    boundaries: Option<Boundaries>,
    lines: Option<Vec<Row>>,
}

/// Measure documents, each by itself.
///
/// The totals and ids of each document are multiplied by its weight; lines and boundaries are
/// listed once. The result does not depend on the number of threads or the chunk size.
pub fn measure_documents(
    encoder: &Encoder,
    documents: &Documents,
    matchers: Option<&Matchers>,
    options: &MeasureOptions,
    interrupt: Interrupt,
) -> Result<Measured> {
    if documents.count() == 1 && documents.weights.is_none() {
        return measure(encoder, documents.text, matchers, options, interrupt);
    }
    let length = documents.text.len();
    let large = options.chunk.saturating_mul(4);
    let tables = IdTables::default();
    let mut all = Measured {
        boundaries: options.boundaries.then(|| Boundaries::of_text(length)),
        lines: options.lines.then(Vec::new),
        ..Measured::default()
    };
    let groups = documents.groups(options.chunk, large);
    let is_large = |&(from, to): &(usize, usize)| {
        let (start, end) = documents.range(from);
        to - from == 1 && end - start > large
    };
    let mut rest = &groups[..];
    while let Some(first) = rest.first() {
        if is_large(first) {
            // The threads divide the document among them.
            let (start, end) = documents.range(first.0);
            let text = &documents.text[start..end];
            let found = measure(encoder, text, matchers, options, interrupt)?;
            let weight = documents.weight(first.0);
            tables.with(|table| table.add_counts(&found.ids, weight));
            all.join(start, found, weight);
            rest = &rest[1..];
            continue;
        }
        let end = rest.iter().position(is_large).unwrap_or(rest.len());
        let (now, later) = rest.split_at(end);
        let jobs = Jobs {
            count: now.len(),
            threads: options.threads,
        };
        let work = |worker: &mut Worker<()>, number: usize| {
            let (now, interrupt) = (now[number], worker.interrupt);
            group(
                encoder, documents, now, matchers, options, &tables, interrupt,
            )
        };
        jobs.in_order(
            interrupt,
            || (),
            work,
            |_, made| {
                all.take(made);
                Ok(())
            },
        )?;
        rest = later;
    }
    all.ids = tables.finish();
    Ok(all)
}

fn group(
    encoder: &Encoder,
    documents: &Documents,
    (from, to): (usize, usize),
    matchers: Option<&Matchers>,
    options: &MeasureOptions,
    tables: &IdTables,
    interrupt: Interrupt,
) -> Result<DocumentGroup> {
    if interrupt() {
        return Err(Error::Interrupted);
    }
    let (first, last) = (documents.range(from).0, documents.range(to - 1).1);
    let base = Boundaries::base(first);
    let mut made = DocumentGroup {
        base,
        totals: Row::default(),
        boundaries: (options.boundaries).then(|| Boundaries::of_text(last - base)),
        lines: options.lines.then(Vec::new),
    };
    // Boundaries are joined for the group, not document by document.
    let alone = MeasureOptions {
        boundaries: false,
        ..*options
    };
    tables.with(|table| {
        for number in from..to {
            let (start, end) = documents.range(number);
            let weight = documents.weight(number);
            let mut tokens = encoder.tokens(&documents.text[start..end], matchers, interrupt)?;
            for token in &mut tokens {
                token.start += start;
                token.end += start;
            }
            table.add(&tokens, weight);
            let mut share = RangeCounts::of(documents.text, (start, end), &tokens, options);
            if let (Some(all), Some(own)) = (&mut made.boundaries, share.take_boundaries()) {
                all.join(start - base, &own);
            }
            let mut shares = Shares::new(0, &alone);
            shares.join(share);
            let found = shares.finish(Vec::new());
            add_times(&mut made.totals, &found.totals, weight);
            if let (Some(lines), Some(own)) = (&mut made.lines, found.lines) {
                lines.extend(own);
            }
        }
        Ok(made)
    })
}

impl Measured {
    fn take(&mut self, group: DocumentGroup) {
        add(&mut self.totals, &group.totals);
        if let (Some(all), Some(own)) = (&mut self.boundaries, &group.boundaries) {
            all.join(group.base, own);
        }
        if let (Some(lines), Some(own)) = (&mut self.lines, group.lines) {
            lines.extend(own);
        }
    }

    /// Add the counts of a document that was measured alone.
    fn join(&mut self, start: usize, document: Measured, weight: u64) {
        add_times(&mut self.totals, &document.totals, weight);
        if let (Some(all), Some(own)) = (&mut self.boundaries, &document.boundaries) {
            all.join_shifted(start, own);
        }
        if let (Some(lines), Some(own)) = (&mut self.lines, document.lines) {
            lines.extend(own);
        }
    }
}

fn add_times(to: &mut Row, row: &Row, weight: u64) {
    for (sum, count) in to.iter_mut().zip(row) {
        *sum += count * weight;
    }
}
