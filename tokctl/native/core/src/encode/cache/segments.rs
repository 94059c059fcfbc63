//! A cache of the segments of pre-tokens, for calls that want the spans of tokens.

use super::records::{numbers, RecordTable};
use super::{CacheMemory, CacheStats};
use crate::encode::Segment;
use crate::error::Result;
use crate::packed::Seeds;

pub(crate) struct SegmentCache {
    seeds: Seeds,
    /// The id and the length of each segment, alternating.
    table: RecordTable,
    flat: Vec<u32>,
    segments: Vec<Segment>,
    scratch: Vec<Segment>,
}

impl SegmentCache {
    pub fn new(memory: CacheMemory) -> Self {
        SegmentCache {
            seeds: Seeds::default(),
            table: RecordTable::new(memory.segments()),
            flat: Vec::new(),
            segments: Vec::new(),
            scratch: Vec::new(),
        }
    }

    pub fn stats(&self) -> CacheStats {
        self.table.stats()
    }

    /// Return the segments of `pre_token`.
    ///
    /// If they are not cached, `segment` appends them.
    #[inline]
    pub fn get_or_insert(
        &mut self,
        pre_token: &[u8],
        segment: impl FnOnce(&mut Vec<Segment>) -> Result<()>,
    ) -> Result<&[Segment]> {
        self.segments.clear();
        let hash = self.seeds.hash_any(pre_token);
        if let Some(found) = self.table.find(pre_token, hash) {
            let mut numbers = numbers(found);
            while let (Some(id), Some(length)) = (numbers.next(), numbers.next()) {
                self.segments.push(Segment { id, length });
            }
            return Ok(&self.segments);
        }
        segment(&mut self.segments)?;
        self.flat.clear();
        (self.flat).extend(self.segments.iter().flat_map(|one| [one.id, one.length]));
        if !self.flat.is_empty() {
            self.table.insert(pre_token, hash, &self.flat);
        }
        Ok(&self.segments)
    }

    /// Take an empty vector for a pre-token that is not cached; give it back to
    /// [`Self::keep_scratch`].
    pub fn take_scratch(&mut self) -> Vec<Segment> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch
    }

    /// Take back the vector of [`Self::take_scratch`], and return its segments.
    pub fn keep_scratch(&mut self, scratch: Vec<Segment>) -> &[Segment] {
        self.scratch = scratch;
        &self.scratch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn words_that_differ_in_one_byte_or_in_length_differ() {
        let mut cache = SegmentCache::new(CacheMemory::default());
        let mut words: Vec<Vec<u8>> = (0..=40).map(|length| vec![b'a'; length]).collect();
        for length in 1..=40 {
            for at in 0..length {
                let mut word = vec![b'a'; length];
                word[at] = 0;
                words.push(word);
            }
        }
        for _ in 0..2 {
            for (id, word) in (0..).zip(&words) {
                let length = word.len() as u32;
                let found = cache.get_or_insert(word, |out| {
                    out.push(Segment { id, length });
                    Ok(())
                });
                assert_eq!(found.unwrap(), [Segment { id, length }]);
            }
        }
    }

    #[test]
    fn what_fails_is_not_remembered() {
        let mut cache = SegmentCache::new(CacheMemory::default());
        let segment = Segment { id: 7, length: 2 };
        let failed = cache.get_or_insert(b"ab", |out| {
            out.push(segment);
            Err(Error::Interrupted)
        });
        assert!(failed.is_err());
        let found = cache.get_or_insert(b"ab", |out| {
            out.push(Segment { id: 8, ..segment });
            Ok(())
        });
        assert_eq!(found.unwrap(), [Segment { id: 8, ..segment }]);
    }
}
