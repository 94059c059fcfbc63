//! Words repeat: the segments of short pre-tokens, remembered in bounded memory.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use super::Segment;
use crate::error::Result;

/// When either is reached the cache starts afresh; natural text seldom gets there.
const MOST_ENTRIES: usize = 1 << 18;
const MOST_BYTES: usize = 1 << 24;

#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    key: (u32, u32),
    segments: (u32, u32),
}

#[derive(Default)]
pub struct Cache {
    hasher: DefaultHashBuilder,
    index: HashTable<Entry>,
    keys: Vec<u8>,
    segments: Vec<Segment>,
    scratch: Vec<Segment>,
}

impl Cache {
    /// The segments of `pre_token`, which `segment` appends when they are not here yet.
    pub fn get_or_insert(
        &mut self,
        pre_token: &[u8],
        segment: impl FnOnce(&mut Vec<Segment>) -> Result<()>,
    ) -> Result<&[Segment]> {
        let hash = self.hasher.hash_one(pre_token);
        let found = self.index.find(hash, |entry| {
            let (start, end) = entry.key;
            entry.hash == hash && self.keys[start as usize..end as usize] == *pre_token
        });
        let (start, end) = match found {
            Some(entry) => entry.segments,
            None => self.insert(hash, pre_token, segment)?,
        };
        Ok(&self.segments[start as usize..end as usize])
    }

    fn insert(
        &mut self,
        hash: u64,
        pre_token: &[u8],
        segment: impl FnOnce(&mut Vec<Segment>) -> Result<()>,
    ) -> Result<(u32, u32)> {
        if self.index.len() >= MOST_ENTRIES || self.keys.len() >= MOST_BYTES {
            self.index.clear();
            self.keys.clear();
            self.segments.clear();
        }
        let first = self.segments.len();
        if let Err(error) = segment(&mut self.segments) {
            self.segments.truncate(first);
            return Err(error);
        }
        let key_start = self.keys.len() as u32;
        self.keys.extend_from_slice(pre_token);
        // A pre-token has no more segments than bytes plus markers, so 32 bits hold these.
        let entry = Entry {
            hash,
            key: (key_start, self.keys.len() as u32),
            segments: (first as u32, self.segments.len() as u32),
        };
        self.index.insert_unique(hash, entry, |entry| entry.hash);
        Ok(entry.segments)
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
