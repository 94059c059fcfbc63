//! Token boundaries strictly inside words. Words are runs of characters other than white space.

use super::WordRule;
use crate::encode::Token;

/// Set of byte offsets in a text, as bits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Boundaries(Vec<u64>);

const BITS: usize = 64;

impl Boundaries {
    /// Create an empty set for a text of `length` bytes.
    pub(super) fn of_text(length: usize) -> Self {
        Boundaries(vec![0; length / BITS + 1])
    }

    /// Collect the boundaries in `text`, which starts at offset `start`. The first bit stands for
    /// `start` rounded down to a multiple of 64.
    pub(super) fn of_share(text: &[u8], start: usize, tokens: &[Token]) -> Self {
        let base = Self::base(start);
        let mut bits = vec![0u64; (start - base + text.len()) / BITS + 1];
        for place in tokens.iter().flat_map(|token| [token.start, token.end]) {
            let at = place.wrapping_sub(base);
            if let Some(word) = bits.get_mut(at / BITS) {
                *word |= 1 << (at % BITS);
            }
        }
        let mut inner = vec![0u64; bits.len()];
        WordRule::Spaces.each(text, |from, to| {
            set(&mut inner, start - base + from + 1, start - base + to);
        });
        for (bits, inner) in bits.iter_mut().zip(inner) {
            *bits &= inner;
        }
        Boundaries(bits)
    }

    /// Add the boundaries of a share that starts at `start`.
    pub(super) fn join(&mut self, start: usize, share: &Boundaries) {
        for (to, bits) in self.0[start / BITS..].iter_mut().zip(&share.0) {
            *to |= bits;
        }
    }

    /// Add the boundaries of a document that starts at `start`; its first bit stands for its first
    /// byte.
    pub(super) fn join_shifted(&mut self, start: usize, document: &Boundaries) {
        let (first, shift) = (start / BITS, start % BITS);
        for (at, &bits) in document.0.iter().enumerate() {
            self.0[first + at] |= bits << shift;
            // Bits shifted out are inside the document, so the text has space for them.
            let rest = bits.checked_shr((BITS - shift) as u32).unwrap_or_default();
            if rest != 0 {
                self.0[first + at + 1] |= rest;
            }
        }
    }

    /// Return the offset of the first bit in the word of bits that holds `place`.
    pub(super) fn base(place: usize) -> usize {
        place / BITS * BITS
    }

    /// Return the number of boundaries.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|bits| u64::from(bits.count_ones())).sum()
    }
}

/// Return the number of boundaries that two sets have in common.
pub fn shared(first: &Boundaries, second: &Boundaries) -> u64 {
    let both = first.0.iter().zip(&second.0);
    both.map(|(a, b)| u64::from((a & b).count_ones())).sum()
}

/// Like [`shared`], for documents that end at `ends`, with the boundaries of each counted as often
/// as its weight.
pub fn shared_weighted(
    first: &Boundaries,
    second: &Boundaries,
    ends: &[usize],
    weights: &[u64],
) -> u64 {
    let (mut start, mut sum) = (0, 0);
    for (&end, weight) in ends.iter().zip(weights) {
        for at in start / BITS..end.div_ceil(BITS) {
            // Mask of the bits of this document only.
            let below = |place: usize| match place.saturating_sub(at * BITS) {
                bits if bits < BITS => (1u64 << bits) - 1,
                _ => u64::MAX,
            };
            let both = first.0[at] & second.0[at] & below(end) & !below(start);
            sum += u64::from(both.count_ones()) * weight;
        }
        start = end;
    }
    sum
}

/// Set the bits `from..to`.
fn set(bits: &mut [u64], from: usize, to: usize) {
    let mut at = from;
    while at < to {
        let end = to.min((at / BITS + 1) * BITS);
        let ones = u64::MAX >> (BITS - (end - at));
        bits[at / BITS] |= ones << (at % BITS);
        at = end;
    }
}
