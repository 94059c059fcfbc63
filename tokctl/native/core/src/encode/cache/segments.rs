//! The segments of short pre-tokens, for calls that want the places of tokens.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::encode::Segment;
use crate::error::Result;
use crate::packed::{Key, Seeds};

/// When either is reached the cache starts afresh; natural text seldom gets there.
const MAX_ENTRIES: usize = 1 << 18;
const MAX_BYTES: usize = 1 << 24;

/// From, to: places in a vector.
type Range = (u32, u32);

#[derive(Clone, Copy)]
struct ShortEntry {
    key: Key,
    segments: Range,
}

#[derive(Clone, Copy)]
struct TextEntry {
    hash: u64,
    key: Range,
    segments: Range,
}

pub struct SegmentCache {
    hasher: DefaultHashBuilder,
    seeds: Seeds,
    short: HashTable<ShortEntry>,
    long: HashTable<TextEntry>,
    /// The text of the long ones.
    keys: Vec<u8>,
    segments: Vec<Segment>,
    scratch: Vec<Segment>,
}

impl Default for SegmentCache {
    fn default() -> Self {
        SegmentCache {
            hasher: DefaultHashBuilder::default(),
            seeds: Seeds::default(),
            short: HashTable::new(),
            long: HashTable::new(),
            keys: Vec::new(),
            segments: Vec::new(),
            scratch: Vec::new(),
        }
    }
}

impl SegmentCache {
    /// The segments of `pre_token`, which `segment` appends when they are not here yet.
    #[inline]
    pub fn get_or_insert(
        &mut self,
        pre_token: &[u8],
        segment: impl FnOnce(&mut Vec<Segment>) -> Result<()>,
    ) -> Result<&[Segment]> {
        let (start, end) = match Key::short(pre_token) {
            Some(key) => {
                let hash = self.seeds.hash(key);
                match self.short.find(hash, |entry| entry.key == key) {
                    Some(entry) => entry.segments,
                    None => {
                        let segments = self.make(segment)?;
                        let seeds = self.seeds;
                        let rehash = |entry: &ShortEntry| seeds.hash(entry.key);
                        self.short
                            .insert_unique(hash, ShortEntry { key, segments }, rehash);
                        segments
                    }
                }
            }
            None => self.get_or_insert_long(pre_token, segment)?,
        };
        Ok(&self.segments[start as usize..end as usize])
    }

    fn get_or_insert_long(
        &mut self,
        pre_token: &[u8],
        segment: impl FnOnce(&mut Vec<Segment>) -> Result<()>,
    ) -> Result<Range> {
        let hash = self.hasher.hash_one(pre_token);
        let found = self.long.find(hash, |entry| {
            let (start, end) = entry.key;
            entry.hash == hash && self.keys[start as usize..end as usize] == *pre_token
        });
        if let Some(entry) = found {
            return Ok(entry.segments);
        }
        let segments = self.make(segment)?;
        let start = self.keys.len() as u32;
        self.keys.extend_from_slice(pre_token);
        let entry = TextEntry {
            hash,
            key: (start, self.keys.len() as u32),
            segments,
        };
        self.long.insert_unique(hash, entry, |entry| entry.hash);
        Ok(segments)
    }

    /// Room for one more entry, and its segments.
    fn make(&mut self, segment: impl FnOnce(&mut Vec<Segment>) -> Result<()>) -> Result<Range> {
        if self.short.len() + self.long.len() >= MAX_ENTRIES || self.keys.len() >= MAX_BYTES {
            self.short.clear();
            self.long.clear();
            self.keys.clear();
            self.segments.clear();
        }
        let first = self.segments.len();
        if let Err(error) = segment(&mut self.segments) {
            self.segments.truncate(first);
            return Err(error);
        }
        // A pre-token has no more segments than bytes plus markers, so 32 bits hold these.
        Ok((first as u32, self.segments.len() as u32))
    }

    /// An empty vector for a pre-token that is not cached, to be given back.
    pub fn take_scratch(&mut self) -> Vec<Segment> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch
    }

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
        let mut cache = SegmentCache::default();
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
        let mut cache = SegmentCache::default();
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
