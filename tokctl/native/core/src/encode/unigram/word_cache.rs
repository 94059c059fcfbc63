//! The segments of words in bounded memory, for [`super::sentence`].

use hashbrown::HashTable;

use crate::encode::Segment;
use crate::packed::{Key, Seeds};

/// A word of more bytes is not cached.
pub(crate) const LONGEST: usize = 128;
/// When one of these is reached the cache is cleared: about 24 MB for each thread. Natural text
/// seldom gets there.
const MAX_WORDS: usize = 1 << 18;
const MAX_STEPS: usize = 1 << 20;
const MAX_BYTES: usize = 1 << 22;

/// One of a word's segments and, beside it, the score of one of its pieces. There is one of
/// each, but where unknown characters become one token, or one for each byte; then the shorter
/// list is filled up. Both are filled up to a multiple of four, with scores of 0, which leave a
/// sum as it is: most words have no more, and taking four at once is quicker than counting.
#[derive(Clone, Copy)]
pub(crate) struct WordStep {
    pub segment: Segment,
    pub score: f64,
}

/// A word's entry.
#[derive(Clone, Copy)]
pub(crate) struct CachedWord {
    /// See [`super::margin`]. Not above 0 where nothing is known.
    limit: f32,
    /// The first of its steps.
    steps: u32,
    pub segments: u8,
    pub pieces: u8,
}

impl CachedWord {
    /// Of one whose segmentation must be searched for each time.
    pub(crate) const UNCACHED: CachedWord = CachedWord {
        limit: 0.0,
        steps: 0,
        segments: 0,
        pieces: 0,
    };

    /// How many times four steps it has.
    #[inline]
    fn fours(self) -> usize {
        usize::from(self.segments.max(self.pieces)).div_ceil(4)
    }

    /// May the segments be used behind this sum?
    #[inline]
    pub(crate) fn holds_behind(self, sum: f64) -> bool {
        sum.abs() < f64::from(self.limit)
    }
}

/// In half a line of the processor's cache.
struct WordEntry {
    /// Of a word of over 15 bytes, its place among `texts`.
    key: Key,
    word: CachedWord,
}

pub(crate) struct WordCache {
    seeds: Seeds,
    entries: HashTable<WordEntry>,
    steps: Vec<WordStep>,
    /// The longer words.
    texts: Vec<u8>,
}

impl Default for WordCache {
    fn default() -> Self {
        WordCache {
            seeds: Seeds::default(),
            entries: HashTable::new(),
            steps: Vec::new(),
            texts: Vec::new(),
        }
    }
}

impl WordCache {
    /// The entry of a word of up to [`LONGEST`] bytes.
    #[inline]
    pub(crate) fn get(&self, text: &[u8]) -> Option<CachedWord> {
        let found = match Key::short(text) {
            Some(key) => self
                .entries
                .find(self.seeds.hash(key), |entry| entry.key == key),
            None => self.entries.find(self.seeds.hash_long(text), |entry| {
                let place = entry.key.place();
                place.is_some_and(|place| self.texts[place] == *text)
            }),
        };
        found.map(|entry| entry.word)
    }

    /// Adds a word that is not here yet.
    pub(crate) fn insert(
        &mut self,
        text: &[u8],
        limit: f64,
        segments: &[Segment],
        scores: &[f64],
    ) -> CachedWord {
        let full = self.entries.len() >= MAX_WORDS || self.steps.len() >= MAX_STEPS;
        if full || self.texts.len() >= MAX_BYTES {
            self.entries.clear();
            self.steps.clear();
            self.texts.clear();
        }
        let counts = (u8::try_from(segments.len()), u8::try_from(scores.len()));
        let word = match counts {
            (Ok(segments), Ok(pieces)) => CachedWord {
                limit: below(limit),
                steps: self.steps.len() as u32,
                segments,
                pieces,
            },
            _ => CachedWord::UNCACHED,
        };
        let none = Segment { id: 0, length: 0 };
        self.steps.extend((0..4 * word.fours()).map(|at| WordStep {
            segment: segments.get(at).copied().unwrap_or(none),
            score: scores.get(at).copied().unwrap_or(0.0),
        }));
        let seeds = self.seeds;
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
        word
    }

    /// A word's steps, four and four.
    #[inline]
    pub(crate) fn steps(&self, word: CachedWord) -> impl Iterator<Item = &[WordStep; 4]> {
        let steps = &self.steps[word.steps as usize..][..4 * word.fours()];
        steps.chunks_exact(4).filter_map(|four| four.first_chunk())
    }
}

/// A number of 32 bits that is not above this one.
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
    fn memory_is_bounded() {
        let mut known = WordCache::default();
        let segment = Segment { id: 1, length: 1 };
        for number in 0..2 * MAX_WORDS as u32 {
            let word = [&[b'x'; 20][..], &number.to_le_bytes()].concat();
            known.insert(&word, 1.0, &[segment], &[1.0]);
        }
        assert!(known.entries.len() <= MAX_WORDS && known.steps.len() <= MAX_STEPS);
        assert!(known.texts.len() <= MAX_BYTES + LONGEST);
    }
}
