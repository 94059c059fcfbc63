//! Where tokens start or end strictly inside words: runs of characters that are no white space.

use super::Words;
use crate::encode::Token;

/// A set of byte offsets of a text, as bits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Boundaries(Vec<u64>);

const BITS: usize = 64;

impl Boundaries {
    /// Room for those of a text of so many bytes.
    pub(super) fn of_text(length: usize) -> Self {
        Boundaries(vec![0; length / BITS + 1])
    }

    /// Those of `text`, which starts at `start`; the first bit stands for `start` rounded down
    /// to a whole word of bits.
    pub(super) fn of_share(text: &[u8], start: usize, tokens: &[Token]) -> Self {
        let base = start / BITS * BITS;
        let mut bits = vec![0u64; (start - base + text.len()) / BITS + 1];
        for place in tokens.iter().flat_map(|token| [token.start, token.end]) {
            let at = place.wrapping_sub(base);
            if let Some(word) = bits.get_mut(at / BITS) {
                *word |= 1 << (at % BITS);
            }
        }
        let mut inner = vec![0u64; bits.len()];
        Words::Spaces.each(text, |from, to| {
            set(&mut inner, start - base + from + 1, start - base + to);
        });
        for (bits, inner) in bits.iter_mut().zip(inner) {
            *bits &= inner;
        }
        Boundaries(bits)
    }

    /// Takes those of a share that starts at `start`.
    pub(super) fn join(&mut self, start: usize, share: &Boundaries) {
        for (to, bits) in self.0[start / BITS..].iter_mut().zip(&share.0) {
            *to |= bits;
        }
    }

    pub fn count(&self) -> u64 {
        self.0.iter().map(|bits| u64::from(bits.count_ones())).sum()
    }
}

/// How many boundaries two models have both.
pub fn shared(first: &Boundaries, second: &Boundaries) -> u64 {
    let both = first.0.iter().zip(&second.0);
    both.map(|(a, b)| u64::from((a & b).count_ones())).sum()
}

/// Sets the bits `from..to`.
fn set(bits: &mut [u64], from: usize, to: usize) {
    let mut at = from;
    while at < to {
        let end = to.min((at / BITS + 1) * BITS);
        let ones = u64::MAX >> (BITS - (end - at));
        bits[at / BITS] |= ones << (at % BITS);
        at = end;
    }
}
