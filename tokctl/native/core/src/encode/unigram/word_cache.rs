//! A cache of the segments of words in bounded memory, for [`super::sentence`].

use hashbrown::HashTable;

use crate::encode::cache::CacheStats;
use crate::encode::Segment;
use crate::model::LabelledText;
use crate::packed::{Key, Seeds};

/// Length in bytes: a longer word is not cached.
pub(crate) const LONGEST: usize = LabelledText::LONGEST;

/// A segment of a word, and the score of the word's piece with the same index.
///
/// A word has as many segments as pieces, except where unknown characters become one token, or one
/// per byte; then the shorter list is padded. Both lists are padded to a multiple of four with
/// scores of 0, which don't change a sum. Most words have at most four segments, and taking four at
/// once is faster than counting.
#[derive(Clone, Copy)]
pub(crate) struct WordStep {
    pub segment: Segment,
    pub score: f64,
}

/// The cache entry of a word: where its steps are, and when they are valid.
#[derive(Clone, Copy)]
pub(crate) struct CachedWord {
    /// Limit of the preceding sum, see [`super::margin`].
    ///
    /// Not above 0 if the word must be searched.
    limit: f32,
    /// Index of the first step, in the generation numbered `generation`.
    steps: u32,
    generation: u32,
    pub segments: u8,
    pub pieces: u8,
}

impl CachedWord {
    /// The entry of a word that must be searched each time.
    pub(crate) const UNCACHED: CachedWord = CachedWord {
        limit: 0.0,
        steps: 0,
        generation: 0,
        segments: 0,
        pieces: 0,
    };

    /// Return the number of groups of four steps.
    #[inline]
    fn fours(self) -> usize {
        usize::from(self.segments.max(self.pieces)).div_ceil(4)
    }

    /// Return whether the segments are valid after a preceding sum of `sum`.
    #[inline]
    pub(crate) fn holds_behind(self, sum: f64) -> bool {
        sum.abs() < f64::from(self.limit)
    }
}

/// A table entry, which fills half a line of the processor's cache.
struct WordEntry {
    /// Key of the word; for a word of over 15 bytes, its range in `texts`.
    key: Key,
    word: CachedWord,
}

/// Cached words in two generations, young and old.
///
/// When the young words fill their half of the memory, they become the old generation. The previous
/// old generation is forgotten, except words that were used meanwhile.
#[derive(Default)]
pub(crate) struct WordCache {
    seeds: Seeds,
    young: Generation,
    old: Generation,
    /// Number of the young generation.
    number: u32,
    /// Memory limit of both generations, in bytes.
    memory: usize,
}

#[derive(Default)]
struct Generation {
    entries: HashTable<WordEntry>,
    steps: Vec<WordStep>,
    /// The words of over 15 bytes, one after another.
    texts: Vec<u8>,
}

impl Generation {
    fn find(&self, text: &[u8], seeds: Seeds) -> Option<CachedWord> {
        let found = match Key::short(text) {
            Some(key) => self.entries.find(seeds.hash(key), |entry| entry.key == key),
            None => self.entries.find(seeds.hash_long(text), |entry| {
                let place = entry.key.place();
                place.is_some_and(|place| self.texts[place] == *text)
            }),
        };
        found.map(|entry| entry.word)
    }

    fn insert(&mut self, text: &[u8], word: CachedWord, seeds: Seeds) {
        let (key, hash) = match Key::short(text) {
            Some(key) => (key, seeds.hash(key)),
            None => {
                let key = Key::of_place(self.texts.len(), text.len());
                self.texts.extend_from_slice(text);
                (key, seeds.hash_long(text))
            }
        };
        let texts = &self.texts;
        let rehash = |entry: &WordEntry| match entry.key.place() {
            Some(place) => seeds.hash_long(&texts[place]),
            None => seeds.hash(entry.key),
        };
        self.entries
            .insert_unique(hash, WordEntry { key, word }, rehash);
    }

    /// Return an upper bound of the memory in use: each part may have twice the capacity it needs.
    fn bytes(&self) -> usize {
        let entries = self.entries.len() * (size_of::<WordEntry>() + 1);
        2 * (entries + size_of_val(&self.steps[..]) + self.texts.len())
    }
}

impl WordCache {
    /// Set the memory limit in bytes.
    pub(crate) fn set_memory(&mut self, memory: usize) {
        self.memory = memory;
    }

    pub(crate) fn stats(&self) -> CacheStats {
        CacheStats {
            entries: self.young.entries.len() + self.old.entries.len(),
            bytes: self.young.bytes() + self.old.bytes(),
        }
    }

    /// Return the entry of a word of up to [`LONGEST`] bytes.
    #[inline]
    pub(crate) fn get(&mut self, text: &[u8]) -> Option<CachedWord> {
        let found = self.young.find(text, self.seeds);
        if found.is_some() || self.old.entries.is_empty() {
            return found;
        }
        self.renewed(text)
    }

    /// Return the entry of a word that only the old generation may have, and copy it to the young
    /// one.
    #[cold]
    fn renewed(&mut self, text: &[u8]) -> Option<CachedWord> {
        let mut word = self.old.find(text, self.seeds)?;
        if !self.is_full() {
            let steps = &self.old.steps[word.steps as usize..][..4 * word.fours()];
            word.steps = self.young.steps.len() as u32;
            word.generation = self.number;
            self.young.steps.extend_from_slice(steps);
            self.young.insert(text, word, self.seeds);
        }
        Some(word)
    }

    fn is_full(&self) -> bool {
        self.young.bytes() >= self.memory / 2
    }

    /// Add a word that is not in the cache, and return its entry.
    pub(crate) fn insert(
        &mut self,
        text: &[u8],
        limit: f64,
        segments: &[Segment],
        scores: &[f64],
    ) -> CachedWord {
        if self.is_full() {
            self.old = std::mem::take(&mut self.young);
            self.number = self.number.wrapping_add(1);
        }
        let counts = (u8::try_from(segments.len()), u8::try_from(scores.len()));
        let word = match counts {
            (Ok(segments), Ok(pieces)) => CachedWord {
                limit: below(limit),
                steps: self.young.steps.len() as u32,
                generation: self.number,
                segments,
                pieces,
            },
            _ => CachedWord::UNCACHED,
        };
        let none = Segment { id: 0, length: 0 };
        let steps = (0..4 * word.fours()).map(|at| WordStep {
            segment: segments.get(at).copied().unwrap_or(none),
            score: scores.get(at).copied().unwrap_or(0.0),
        });
        self.young.steps.extend(steps);
        self.young.insert(text, word, self.seeds);
        word
    }

    /// Return the steps of a word that was just found or added, in groups of four.
    #[inline]
    pub(crate) fn steps(&self, word: CachedWord) -> impl Iterator<Item = &[WordStep; 4]> {
        debug_assert!(self.number.wrapping_sub(word.generation) < 2 || word.fours() == 0);
        let generation = match word.generation == self.number {
            true => &self.young,
            false => &self.old,
        };
        let steps = generation.steps.get(word.steps as usize..);
        let steps = steps.and_then(|steps| steps.get(..4 * word.fours()));
        let fours = steps.unwrap_or_default().chunks_exact(4);
        fours.filter_map(|four| four.first_chunk())
    }
}

/// Return the nearest 32-bit number that is not above `limit`.
fn below(limit: f64) -> f32 {
    match limit as f32 {
        rounded if f64::from(rounded) > limit => rounded.next_down(),
        rounded => rounded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_known_by_all_its_bytes() {
        let mut known = WordCache::default();
        known.set_memory(64 << 20);
        let mut words: Vec<Vec<u8>> = (1..=40).map(|length| vec![b'a'; length]).collect();
        for length in 1..=40 {
            for at in 0..length {
                let mut word = vec![b'a'; length];
                word[at] = 0;
                words.push(word);
            }
        }
        for (id, word) in (0..).zip(&words) {
            assert!(known.get(word).is_none());
            let segment = Segment { id, length: 1 };
            known.insert(word, 1.0, &[segment; 2], &[f64::from(id)]);
        }
        for (id, word) in (0..).zip(&words) {
            let found = known.get(word).unwrap();
            assert_eq!((found.segments, found.pieces), (2, 1));
            let steps: Vec<_> = known.steps(found).collect();
            assert_eq!(steps.len(), 1);
            let [first, second, third, _] = steps[0];
            assert_eq!((second.segment.id, first.score), (id, f64::from(id)));
            assert_eq!((third.segment.id, second.score), (0, 0.0));
        }
    }

    #[test]
    fn memory_is_bounded_and_what_is_asked_for_stays() {
        let mut known = WordCache::default();
        known.set_memory(100_000);
        let segment = |id| Segment { id, length: 1 };
        known.insert(b"often", 1.0, &[segment(7)], &[0.5]);
        for number in 0..20_000_u32 {
            let word = [&[b'x'; 20][..], &number.to_le_bytes()].concat();
            known.insert(&word, 1.0, &[segment(number)], &[1.0]);
            let newest = known.get(&word).unwrap();
            let id = |step: &[WordStep; 4]| step[0].segment.id;
            assert_eq!(known.steps(newest).map(id).collect::<Vec<_>>(), [number]);
            let often = known.get(b"often").unwrap();
            assert_eq!(known.steps(often).map(id).collect::<Vec<_>>(), [7]);
            assert!(known.stats().bytes <= 100_000 + 1000);
        }
        assert!(known.get(&[&[b'x'; 20][..], &[0; 4]].concat()).is_none());
    }
}
