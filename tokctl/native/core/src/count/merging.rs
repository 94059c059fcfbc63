//! Merges of counts that were made separately, by other processes or of other texts.

use hashbrown::HashTable;

use super::counts::Counts;
use crate::error::{Error, Result};
use crate::jobs::Interrupt;
use crate::memory;
use crate::packed::Seeds;

/// Pre-token with its count and its first position: the number of a source, and how many other
/// pre-tokens were seen in the source before.
#[derive(Debug, Clone, Copy)]
pub struct CountedText<'t> {
    pub text: &'t [u8],
    pub count: u64,
    pub first: (u64, u64),
}

/// Counts in the order of their first positions.
#[derive(Debug, Default)]
pub struct PlacedCounts {
    pub counts: Counts,
    /// Source of each pre-token's first position.
    pub sources: Vec<u64>,
    /// Number of other pre-tokens seen before it in that source.
    pub places: Vec<u64>,
}

/// Rows between two checks whether to stop.
const ROWS: usize = 1 << 16;

/// Merge rows so that each pre-token comes once, with the sum of its counts and its least first
/// position.
///
/// The result does not depend on the order of the rows, nor on which rows were merged before.
pub fn merge<'t>(
    rows: impl Iterator<Item = CountedText<'t>>,
    interrupt: Interrupt,
) -> Result<PlacedCounts> {
    let seeds = Seeds::default();
    let mut merged: Vec<CountedText> = Vec::new();
    // (hash, index in `merged`) of each pre-token.
    let mut table: HashTable<(u64, usize)> = HashTable::new();
    for (number, row) in rows.enumerate() {
        if number % ROWS == 0 && interrupt() {
            return Err(Error::Interrupted);
        }
        let hash = seeds.hash_any(row.text);
        let same = |&(other, at): &(u64, usize)| other == hash && merged[at].text == row.text;
        if let Some(&(_, at)) = table.find(hash, same) {
            let known = &mut merged[at];
            // `check` below refuses a count that 64 bits can't hold.
            known.count = known.count.saturating_add(row.count);
            known.first = known.first.min(row.first);
            continue;
        }
        table
            .try_reserve(1, |&(hash, _)| hash)
            .map_err(|_| Error::OutOfMemory)?;
        table.insert_unique(hash, (hash, merged.len()), |&(hash, _)| hash);
        memory::reserve(&mut merged, 1)?;
        merged.push(row);
    }
    drop(table);
    // Rows come in long stretches that are sorted already. Two pre-tokens share a first position
    // only if callers gave two sources the same number.
    merged.sort_by(|a, b| (a.first, a.text).cmp(&(b.first, b.text)));
    let length = merged.iter().map(|row| row.text.len()).sum();
    memory::check(length)?;
    let mut placed = PlacedCounts {
        counts: Counts::with_capacity(merged.len(), length),
        sources: memory::with_capacity(merged.len())?,
        places: memory::with_capacity(merged.len())?,
    };
    for row in &merged {
        placed.counts.push(row.text, row.count);
        placed.sources.push(row.first.0);
        placed.places.push(row.first.1);
    }
    placed.counts.check()?;
    Ok(placed)
}

/// Merged counts that arrive in order: all of one range of first positions, then all of the next.
pub struct Collected(Counts);

impl Collected {
    /// Create an empty result with room for `pre_tokens` pre-tokens of `bytes` bytes in all.
    pub fn with_capacity(pre_tokens: usize, bytes: usize) -> Result<Self> {
        memory::check(bytes.saturating_add(pre_tokens.saturating_mul(16)))?;
        Ok(Collected(Counts::with_capacity(pre_tokens, bytes)))
    }

    /// Add the `count` pre-tokens of the next range, in any order, each once.
    pub fn add<'t>(
        &mut self,
        rows: impl Iterator<Item = CountedText<'t>>,
        count: usize,
    ) -> Result<()> {
        let mut sorted = memory::with_capacity(count)?;
        sorted.extend(rows);
        // The rows of each table are sorted already.
        sorted.sort_by(|a, b| (a.first, a.text).cmp(&(b.first, b.text)));
        for row in sorted {
            self.0.push(row.text, row.count);
        }
        Ok(())
    }

    /// Return the counts, or an error if one is too large (see [`Counts::check`]).
    pub fn finish(self) -> Result<Counts> {
        self.0.check()?;
        Ok(self.0)
    }
}

/// Return the numbers of the texts in each of `parts` parts.
///
/// A text's part is its 64-bit FNV-1a hash modulo `parts`, which is equal in every process.
pub fn parts<'t>(texts: impl Iterator<Item = &'t [u8]>, parts: usize) -> Result<Vec<Vec<u64>>> {
    let mut numbers = memory::with_capacity(parts)?;
    numbers.resize_with(parts, Vec::new);
    for (number, text) in (0..).zip(texts) {
        let part: &mut Vec<u64> = &mut numbers[(fnv_1a(text) % parts as u64) as usize];
        memory::reserve(part, 1)?;
        part.push(number);
    }
    Ok(numbers)
}

/// Return the hash of Fowler, Noll and Vo: http://www.isthe.com/chongo/tech/comp/fnv/
fn fnv_1a(text: &[u8]) -> u64 {
    text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl Counts {
    /// Return the pre-tokens with a count of at least `least`.
    pub fn at_least(&self, least: u64) -> Counts {
        let mut kept = Counts::default();
        for (text, count) in self.iter().filter(|&(_, count)| count >= least) {
            kept.push(text, count);
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::counts::LEAST_TOO_LARGE;

    fn rows(rows: &[(&'static str, u64, u64, u64)]) -> Vec<CountedText<'static>> {
        let row = |&(text, count, source, place): &(&'static str, _, _, _)| CountedText {
            text: text.as_bytes(),
            count,
            first: (source, place),
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn counts_add_up_and_the_first_place_stays() {
        let rows = rows(&[
            ("b", 2, 1, 0),
            ("a", 1, 1, 1),
            ("a", 4, 0, 7),
            ("c", 1, 0, 2),
        ]);
        let merged = merge(rows.into_iter(), &|| false).unwrap();
        let found: Vec<_> = merged.counts.iter().collect();
        assert_eq!(found, [(&b"c"[..], 1), (b"a", 5), (b"b", 2)]);
        assert_eq!(
            (&merged.sources[..], &merged.places[..]),
            (&[0, 0, 1][..], &[2, 7, 0][..])
        );
    }

    #[test]
    fn a_count_of_2_to_63_is_too_large() {
        let most = LEAST_TOO_LARGE - 1;
        let two = rows(&[("a", most, 0, 0), ("a", 1, 1, 0)]);
        assert!(merge(two[..1].iter().copied(), &|| false).is_ok());
        assert!(matches!(
            merge(two.into_iter(), &|| false),
            Err(Error::TooLarge(_))
        ));
    }

    #[test]
    fn stretches_follow_each_other_and_each_is_sorted() {
        let mut collected = Collected::with_capacity(3, 3).unwrap();
        for some in [&[("b", 2, 0, 7), ("a", 1, 0, 3)][..], &[("c", 5, 1, 0)]] {
            collected.add(rows(some).into_iter(), some.len()).unwrap();
        }
        let counts = collected.finish().unwrap();
        let found: Vec<_> = counts.iter().collect();
        assert_eq!(found, [(&b"a"[..], 1), (b"b", 2), (b"c", 5)]);
    }

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv_1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv_1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv_1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
