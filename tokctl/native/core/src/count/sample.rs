//! Sample of the lines of a text that depends on a seed and nothing else.
//!
//! Line number n of all input (from 0, documents one after the other) is kept if the n-th number of
//! SplitMix64, started with the seed, is below `share * 2^64`. The generator is a hashed counter,
//! so neither blocks nor threads change the sample. A document from a source of records is kept or
//! dropped whole, as if it were a line.

use memchr::memchr;

use crate::random::SplitMix64;

/// Sampler of lines, fed block by block.
pub struct LineSampler {
    /// Bound of the numbers that keep their line.
    threshold: u128,
    numbers: SplitMix64,
    /// Whether the current line is kept; None before its first byte.
    keeping: Option<bool>,
}

impl LineSampler {
    /// Create a sampler that keeps `share.0 / share.1` of the lines on average.
    pub fn new(share: (u64, u64), seed: u64) -> Self {
        LineSampler {
            threshold: (u128::from(share.0) << 64) / u128::from(share.1.max(1)),
            numbers: SplitMix64::new(seed),
            keeping: None,
        }
    }

    /// Return the bytes of the next block that lie in kept lines.
    ///
    /// A line ends after its line feed.
    pub fn keep(&mut self, block: &[u8]) -> Vec<u8> {
        let mut kept = Vec::new();
        let mut rest = block;
        while !rest.is_empty() {
            let keep = match self.keeping {
                Some(keep) => keep,
                None => self.choose(),
            };
            let end = memchr(b'\n', rest);
            let (line, after) = rest.split_at(end.map_or(rest.len(), |at| at + 1));
            if keep {
                kept.extend_from_slice(line);
            }
            self.keeping = end.is_none().then_some(keep);
            rest = after;
        }
        kept
    }

    /// Return whether to keep the next line, or the next document that is sampled as a whole.
    pub fn choose(&mut self) -> bool {
        u128::from(self.numbers.next_u64()) < self.threshold
    }

    /// End the document: the next block starts a line, whatever the last one ended with.
    pub fn end_document(&mut self) {
        self.keeping = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_of_the_seed_decide() {
        // The numbers are 0.35, 0.17 and 0.53 of 2^64; see `random`.
        let kept = |share| LineSampler::new(share, 1_234_567).keep(b"a\nb\nc\n");
        assert_eq!(kept((1, 2)), b"a\nb\n");
        assert_eq!(kept((1, 4)), b"b\n");
    }

    #[test]
    fn blocks_do_not_matter_and_all_is_all() {
        let text = "a\nbc\n\nd\ne f\n".repeat(300) + "the end";
        let whole = LineSampler::new((1, 3), 7).keep(text.as_bytes());
        let lines = whole.iter().filter(|&&byte| byte == b'\n').count();
        assert!((400..600).contains(&lines), "{lines}");
        for size in [1, 2, 5, 1000] {
            let mut sampler = LineSampler::new((1, 3), 7);
            let parts: Vec<u8> = text
                .as_bytes()
                .chunks(size)
                .flat_map(|block| sampler.keep(block))
                .collect();
            assert_eq!(parts, whole);
        }
        assert_eq!(
            LineSampler::new((1, 1), 7).keep(text.as_bytes()),
            text.as_bytes()
        );
    }
}
