//! Counts of pre-tokens, the result of a counter.

use std::ops::Range;

use crate::error::{Error, Result};

/// Lowest count that is too large for a pre-token.
pub const LEAST_TOO_LARGE: u64 = 1 << 63;

/// Distinct pre-tokens with their counts, in first-seen order.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    text: Vec<u8>,
    ends: Vec<usize>,
    counts: Vec<u64>,
}

impl Counts {
    /// Create empty counts with room for `pre_tokens` pre-tokens of `bytes` bytes in all.
    pub fn with_capacity(pre_tokens: usize, bytes: usize) -> Self {
        Counts {
            text: Vec::with_capacity(bytes),
            ends: Vec::with_capacity(pre_tokens),
            counts: Vec::with_capacity(pre_tokens),
        }
    }

    /// Append a pre-token that is not in the counts yet.
    pub fn push(&mut self, pre_token: &[u8], count: u64) {
        self.push_with(count, |text| text.extend_from_slice(pre_token));
    }

    /// Append the pre-token that `write` appends to the text.
    pub fn push_with(&mut self, count: u64, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.text);
        self.ends.push(self.text.len());
        self.counts.push(count);
    }

    pub fn len(&self) -> usize {
        self.counts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Return the bytes of all pre-tokens, each once.
    pub fn text_length(&self) -> usize {
        self.text.len()
    }

    /// Return the sum of all counts, at most `u64::MAX`.
    pub fn total(&self) -> u64 {
        self.counts
            .iter()
            .fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// Check that every count is below 2^63 and their sum below 2^64; otherwise return an error.
    pub fn check(&self) -> Result<()> {
        if let Some((word, _)) = self.iter().find(|&(_, count)| count >= LEAST_TOO_LARGE) {
            return Err(Error::TooLarge(format!(
                "the pre-token {:?} has a count of 2^63 or more",
                String::from_utf8_lossy(&word[..word.len().min(40)])
            )));
        }
        let total: u128 = self.counts.iter().map(|&count| u128::from(count)).sum();
        if total > u64::MAX.into() {
            return Err(Error::TooLarge(format!(
                "the pre-tokens occur {total} times, and counts have 64 bits"
            )));
        }
        Ok(())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.range(0..self.len())
    }

    /// Return some of the pre-tokens, by their numbers.
    pub fn range(&self, numbers: Range<usize>) -> impl Iterator<Item = (&[u8], u64)> {
        let start = numbers
            .start
            .checked_sub(1)
            .map_or(0, |before| self.ends[before]);
        let ends = &self.ends[numbers.clone()];
        let starts = std::iter::once(start).chain(ends.iter().copied());
        starts
            .zip(ends)
            .zip(&self.counts[numbers])
            .map(|((start, &end), &count)| (&self.text[start..end], count))
    }

    /// Return all pre-tokens end to end, the end of each, and their counts.
    pub fn columns(&self) -> (&[u8], &[usize], &[u64]) {
        (&self.text, &self.ends, &self.counts)
    }

    /// Return the bytes of memory that the counts need.
    pub fn bytes(&self) -> usize {
        self.text.len() + size_of_val(&self.ends[..]) + size_of_val(&self.counts[..])
    }
}
