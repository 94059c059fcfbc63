//! Merging by rank for pre-tokens of up to 128 symbols, for models that do nothing else to symbols.
//!
//! Each merge looks up the ranks of two pairs in a table that is larger than the nearest cache, and
//! the next merge needs both ranks. So several pre-tokens are merged interleaved: while one waits
//! for its cache lines, the others proceed.

use super::{MergeOrder, Merging};
use crate::model::{Alphabet, Merges, PairSlot, NO_ID, NO_RANK, NO_SYMBOL};
#[cfg(target_arch = "x86_64")]
use crate::pretokenize::Level;

/// The most symbols of a row.
///
/// Most pre-tokens have at most 16, and take less time in a smaller row.
pub(crate) const LARGE: usize = 128;
/// Symbols of a medium row, at most.
pub(crate) const MEDIUM: usize = 64;
/// Symbols of a small row, at most.
pub(crate) const SMALL: usize = 16;
pub(crate) const ABOVE_SMALL: usize = SMALL + 1;
const ABOVE_MEDIUM: usize = MEDIUM + 1;

/// A set of positions in a row, one bit for each.
pub(crate) trait Places: Copy {
    /// The empty set.
    const NONE: Self;
    /// Return the set of the first `count` positions.
    fn first(count: usize) -> Self;
    fn is_empty(self) -> bool;
    /// Return the lowest position.
    ///
    /// Of an empty set, the result is arbitrary.
    fn least(self) -> usize;
    /// Return the highest position.
    ///
    /// Of an empty set, the result is arbitrary.
    fn greatest(self) -> usize;
    /// Return the set without its lowest position.
    fn without_least(self) -> Self;
    fn without(self, place: usize) -> Self;
    /// Return the positions below `place`.
    fn before(self, place: usize) -> Self;
    /// Return the positions above `place`.
    fn behind(self, place: usize) -> Self;
}

macro_rules! places_in {
    ($bits:ty) => {
        impl Places for $bits {
            const NONE: Self = 0;

            #[inline(always)]
            fn first(count: usize) -> Self {
                <$bits>::MAX >> (<$bits>::BITS as usize - count)
            }

            #[inline(always)]
            fn is_empty(self) -> bool {
                self == 0
            }

            #[inline(always)]
            fn least(self) -> usize {
                self.trailing_zeros() as usize
            }

            #[inline(always)]
            fn greatest(self) -> usize {
                ((<$bits>::BITS - 1) ^ self.leading_zeros()) as usize
            }

            #[inline(always)]
            fn without_least(self) -> Self {
                self & self.wrapping_sub(1)
            }

            #[inline(always)]
            fn without(self, place: usize) -> Self {
                self & !(1 << place)
            }

            #[inline(always)]
            fn before(self, place: usize) -> Self {
                self & ((1 << place) - 1)
            }

            #[inline(always)]
            fn behind(self, place: usize) -> Self {
                self & (<$bits>::MAX << place) << 1
            }
        }
    };
}

places_in!(u64);
places_in!(u128);

/// Number of candidates that are compared at once.
const LANES: usize = 8;

/// A pair that may merge: its rank, and in the low bits the position where it begins.
///
/// The least candidate has the lowest rank, and of equal ranks it is the leftmost. Numbers are
/// signed because every processor can compare many signed numbers at once.
type Candidate = i32;
const PLACE_BITS: u32 = LARGE.ilog2();
/// Candidate that stands for a pair without a rank.
const NEVER: Candidate = Candidate::MAX;

/// Limit of the number of ranks, so that every candidate is less than [`NEVER`].
pub(crate) const MAX_RANKS: usize = NEVER as usize >> PLACE_BITS;

#[inline(always)]
fn candidate(rank: u32, at: usize) -> Candidate {
    match rank {
        NO_RANK => NEVER,
        rank => (rank << PLACE_BITS) as Candidate | at as Candidate,
    }
}

/// Return the least candidate.
#[inline(always)]
fn least(candidates: &[Candidate]) -> Candidate {
    let mut least = [NEVER; LANES];
    for some in candidates.chunks_exact(LANES) {
        for (least, &one) in least.iter_mut().zip(some) {
            *least = (*least).min(one);
        }
    }
    least.into_iter().fold(NEVER, Candidate::min)
}

/// The symbols of a pre-token.
///
/// Each symbol stays at the position where it begins, and a bit per position says whether a symbol
/// is left there: a merge moves nothing.
#[derive(Debug, Clone)]
pub(crate) struct SymbolRow<const N: usize, P = u64> {
    ids: [u32; N],
    candidates: [Candidate; N],
    there: P,
    /// Positions of the last merge and of the symbol before it, and the pairs that the merge
    /// created there.
    at: usize,
    before: usize,
    pairs: [PairSlot; 2],
}

impl<const N: usize, P: Places> SymbolRow<N, P> {
    pub const EMPTY: Self = SymbolRow {
        ids: [0; N],
        candidates: [NEVER; N],
        there: P::NONE,
        at: 0,
        before: 0,
        pairs: [PairSlot::NOWHERE; 2],
    };

    /// Begin with the first `count` of `symbols`, 1 to `N`, as [`Merging::plain_symbols`] gives
    /// them.
    #[inline(always)]
    pub fn begin(&mut self, merges: &Merges, symbols: &[u32], count: usize) {
        // Copy `N` symbols if `symbols` has as many, so that no branch depends on the count.
        match symbols.first_chunk() {
            Some(all) => self.ids = *all,
            None => self.ids[..symbols.len()].copy_from_slice(symbols),
        }
        self.candidates = [NEVER; N];
        let pairs = self.ids[..count].windows(2).enumerate();
        for (to, (at, two)) in self.candidates.iter_mut().zip(pairs) {
            *to = candidate(merges.rank(two[0], two[1]), at);
        }
        self.there = P::first(count);
    }

    /// Make the first merge and prefetch the ranks of the pairs that it creates.
    ///
    /// Returns false if no pair can merge.
    #[inline(always)]
    pub fn merge_first(&mut self, merges: &Merges) -> bool {
        self.merge(merges, least(&self.candidates))
    }

    /// Read the ranks that were prefetched, and make the next merge.
    ///
    /// Returns false if no pair can merge.
    #[inline(always)]
    pub fn merge_next(&mut self, merges: &Merges) -> bool {
        let (at, before) = (self.at, self.before);
        let [with_last, with_next] = self.pairs;
        let before_it = candidate(merges.rank_at(with_last), before);
        let its_own = candidate(merges.rank_at(with_next), at);
        // Compare these two from registers: a processor stalls when it loads many elements at once
        // and one of them was just stored.
        let best = least(&self.candidates).min(before_it).min(its_own);
        self.candidates[before % N] = before_it;
        self.candidates[at % N] = its_own;
        self.merge(merges, best)
    }

    #[inline(always)]
    fn merge(&mut self, merges: &Merges, best: Candidate) -> bool {
        if best == NEVER {
            return false;
        }
        let (rank, at) = (best as u32 >> PLACE_BITS, best as usize % LARGE % N);
        let behind = self.there.behind(at);
        let right = behind.least() % N;
        let id = merges.token(rank, self.ids[at], self.ids[right]);
        self.ids[at] = id;
        self.there = self.there.without(right);
        // If no symbol follows, the value read is not used.
        let behind = behind.without_least();
        let next = self.ids[behind.least() % N];
        let ahead = self.there.before(at);
        let before = ahead.greatest() % N;
        let last = self.ids[before];
        // If no symbol precedes, `right` receives the candidate of a pair without a rank.
        let before = if ahead.is_empty() { right } else { before };
        for place in [before, at, right] {
            self.candidates[place] = NEVER;
        }
        (self.at, self.before) = (at, before);
        self.pairs = [
            merges.prefetch(last, id, !ahead.is_empty()),
            merges.prefetch(id, next, !behind.is_empty()),
        ];
        true
    }

    /// Append the ids of the symbols that are left.
    #[inline(always)]
    pub fn append(&self, out: &mut Vec<u32>) {
        let mut there = self.there;
        while !there.is_empty() {
            out.push(self.ids[there.least() % N]);
            there = there.without_least();
        }
    }
}

impl Merging {
    /// Return whether merging by rank, as a row does it, is all that the model does to symbols.
    pub(crate) fn is_plain(&self) -> bool {
        let fits = self.merges.len() < MAX_RANKS && self.merges.can_prefetch();
        fits && self.order == MergeOrder::ByRank && self.first_stand_in.is_none()
    }

    /// Append the initial symbols of a pre-token.
    ///
    /// Returns false, and appends nothing, if there are none or more than [`LARGE`], or if one of
    /// them is too large for a pair.
    #[inline]
    pub(crate) fn plain_symbols(&self, pre_token: &[u8], symbols: &mut Vec<u32>) -> bool {
        let first = symbols.len();
        let mut known = true;
        match &self.alphabet {
            Alphabet::Bytes(_) if pre_token.len() > LARGE => return false,
            Alphabet::Bytes(alphabet) => {
                symbols.extend(pre_token.iter().map(|&byte| alphabet.id(byte)));
            }
            Alphabet::Characters(_) if pre_token.len() > 4 * LARGE => return false,
            alphabet => {
                let mut at = 0;
                alphabet.symbols(pre_token, |id, length| {
                    let place = at..at + length as usize;
                    at = place.end;
                    match id {
                        NO_ID => {
                            let push = |id, _| symbols.push(id);
                            known &= self.fall_back_to_bytes(pre_token, place, push);
                        }
                        id => symbols.push(id),
                    }
                });
            }
        }
        let found = &symbols[first..];
        let fits = (1..=LARGE).contains(&found.len());
        let found = known && fits && found.iter().all(|&id| id < NO_SYMBOL);
        if !found {
            symbols.truncate(first);
        }
        found
    }

    /// Append the ids of a pre-token, equal to the ids of [`Self::segment`].
    ///
    /// Returns false, and appends nothing, if the pre-token has too many symbols or the model does
    /// more than merge by rank.
    pub(crate) fn short_ids(&self, pre_token: &[u8], out: &mut Vec<u32>) -> bool {
        if !self.is_plain() {
            return false;
        }
        if let Some(id) = self.whole.as_ref().and_then(|whole| whole.id(pre_token)) {
            out.push(id);
            return true;
        }
        // The symbols are written where their ids will be.
        let first = out.len();
        self.plain_symbols(pre_token, out) && self.merge_symbols(first, out)
    }

    /// Merge the symbols from index `first` on.
    ///
    /// Returns false, and changes nothing, if they are too many.
    pub(crate) fn merge_symbols(&self, first: usize, out: &mut Vec<u32>) -> bool {
        match out.len() - first {
            0..=SMALL => self.merge_alone::<SMALL, u64>(first, out),
            ABOVE_SMALL..=MEDIUM => self.merge_alone::<MEDIUM, u64>(first, out),
            ABOVE_MEDIUM..=LARGE => self.merge_alone::<LARGE, u128>(first, out),
            _ => return false,
        }
        true
    }

    fn merge_alone<const N: usize, P: Places>(&self, first: usize, out: &mut Vec<u32>) {
        let mut row = SymbolRow::<N, P>::EMPTY;
        row.begin(&self.merges, &out[first..], out.len() - first);
        out.truncate(first);
        let mut merged = row.merge_first(&self.merges);
        while merged {
            merged = row.merge_next(&self.merges);
        }
        row.append(out);
    }
}

/// Rows of pre-tokens that are merged interleaved.
#[derive(Debug)]
pub(crate) struct Interleaved<const N: usize, P = u64> {
    words: Vec<SymbolRow<N, P>>,
    /// Numbers of the rows that may have more merges.
    waiting: Vec<u32>,
    count: usize,
}

impl<const N: usize, P> Default for Interleaved<N, P> {
    fn default() -> Self {
        Interleaved {
            words: Vec::new(),
            waiting: Vec::new(),
            count: 0,
        }
    }
}

impl<const N: usize, P: Places> Interleaved<N, P> {
    /// Add a pre-token, the first `count` of `symbols` (1 to `N`), and return its number.
    pub fn add(&mut self, merges: &Merges, symbols: &[u32], count: usize) -> usize {
        let number = self.count;
        if number == self.words.len() {
            self.words.push(SymbolRow::EMPTY);
        }
        self.words[number].begin(merges, symbols, count);
        self.count += 1;
        number
    }

    /// Make all merges of all pre-tokens.
    #[allow(unsafe_code)]
    pub fn merge(&mut self, merges: &Merges) {
        #[cfg(target_arch = "x86_64")]
        if Level::get().avx2().is_some() {
            // SAFETY: a value of `HasAvx2` exists only if all features of `merge_avx2` were
            // detected.
            return unsafe { merge_avx2(self, merges) };
        }
        self.merge_all(merges);
    }

    #[inline(always)]
    fn merge_all(&mut self, merges: &Merges) {
        let Interleaved {
            words,
            waiting,
            count,
        } = self;
        waiting.clear();
        for (number, word) in (0u32..).zip(&mut words[..*count]) {
            if word.merge_first(merges) {
                waiting.push(number);
            }
        }
        while !waiting.is_empty() {
            let mut kept = 0;
            for at in 0..waiting.len() {
                let number = waiting[at];
                let word = &mut words[number as usize];
                // Written in any case: a branch would be mispredicted.
                waiting[kept] = number;
                kept += usize::from(word.merge_next(merges));
            }
            waiting.truncate(kept);
        }
    }

    /// Append the ids of a pre-token that was merged.
    pub fn append(&self, number: usize, out: &mut Vec<u32>) {
        self.words[number].append(out);
    }

    pub fn clear(&mut self) {
        self.count = 0;
    }
}

/// [`Interleaved::merge_all`], compiled for AVX2, which finds the best of sixteen candidates at
/// once.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn merge_avx2<const N: usize, P: Places>(rows: &mut Interleaved<N, P>, merges: &Merges) {
    rows.merge_all(merges);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::merging::long;
    use crate::encode::{Segment, Segmenter};
    use crate::random::random_below;

    /// Return the ids by the general method.
    fn by_segments(merging: &Merging, text: &[u8]) -> Vec<u32> {
        let mut out = Vec::new();
        merging.segment(text, &mut out, &|| false).unwrap();
        out.iter().map(|segment| segment.id).collect()
    }

    /// Return the ids by the queue of [`long`].
    fn by_queue(merging: &Merging, text: &[u8]) -> Vec<u32> {
        let symbol = |&byte: &u8| Segment {
            id: byte.into(),
            length: 1,
        };
        let mut out = vec![symbol(&b'.')];
        out.extend(text.iter().map(symbol));
        long::merge(&merging.merges, &mut out, 1, &|| false).unwrap();
        let length: u32 = out[1..].iter().map(|segment| segment.length).sum();
        assert_eq!(length as usize, text.len());
        out[1..].iter().map(|segment| segment.id).collect()
    }

    /// Return the ids by scans, as merging is defined.
    fn by_scans(merging: &Merging, text: &[u8]) -> Vec<u32> {
        let mut ids: Vec<u32> = text.iter().map(|&byte| byte.into()).collect();
        loop {
            let ranks = ids
                .windows(2)
                .map(|two| merging.merges.rank(two[0], two[1]));
            match (0..).zip(ranks).min_by_key(|&(_, rank)| rank) {
                Some((at, rank)) if rank != NO_RANK => {
                    let right = ids.remove(at + 1);
                    ids[at] = merging.merges.token(rank, ids[at], right);
                }
                _ => return ids,
            }
        }
    }

    #[test]
    fn few_bytes_merge_as_many_do() {
        let mut in_order = 0;
        let mut numbers = random_below(7);
        let mut below = |most: u32| numbers(most as usize) as u32;
        for round in 0..400 {
            // Merges of earlier symbols; some make a token that exists.
            let mut merges = Vec::new();
            for step in 0..below(30) {
                let symbol = |number: u32| match number < 3 {
                    true => number + 97,
                    false => number + 253,
                };
                let (left, right) = (symbol(below(3 + step)), symbol(below(3 + step)));
                let token = if round % 2 == 0 && below(8) == 0 {
                    symbol(below(3))
                } else {
                    256 + step
                };
                merges.push((left, right, token));
            }
            let merging = Merging::new(
                Alphabet::bytes(|byte| (byte[0] != b'z').then_some(byte[0].into())),
                Merges::new(merges.into_iter()),
            );
            for length in (1..=LARGE + 2).step_by(1 + round % 7) {
                let text: Vec<u8> = (0..length).map(|_| b'a' + below(3) as u8).collect();
                let mut ids = vec![5];
                assert_eq!(merging.short_ids(&text, &mut ids), length <= LARGE);
                let expected = by_scans(&merging, &text);
                assert_eq!(by_segments(&merging, &text), expected);
                assert_eq!(by_queue(&merging, &text), expected);
                if length <= LARGE {
                    assert_eq!(ids[1..], expected);
                }
            }
            in_order += u32::from(merging.merges.come_later());
            let mut ids = Vec::new();
            assert!(!merging.short_ids(b"az", &mut ids) && ids.is_empty());
            let segmenter = Segmenter::Merges(merging);
            let mut scratch = Vec::new();
            segmenter
                .ids(b"az", &mut scratch, &mut ids, &|| false)
                .unwrap();
            assert_eq!(ids, [97, NO_ID]);
        }
        // Both queues were used.
        assert!((100..300).contains(&in_order), "{in_order}");
    }

    #[test]
    fn pre_tokens_take_turns() {
        let merges = [
            (97, 97, 256),
            (256, 98, 257),
            (98, 97, 258),
            (257, 258, 259),
            (256, 256, 260),
        ];
        let merges = Merges::new(merges.into_iter());
        let mut interleaved = Interleaved::<SMALL>::default();
        for round in 0..3 {
            interleaved.clear();
            let words: Vec<Vec<u32>> = (0..40u32)
                .map(|number| {
                    (0..1 + number % 16)
                        .map(|at| 97 + (number >> (at % 6) & 1))
                        .collect()
                })
                .collect();
            for (number, word) in words.iter().enumerate() {
                assert_eq!(interleaved.add(&merges, word, word.len()), number);
            }
            match round {
                0 => interleaved.merge_all(&merges),
                _ => interleaved.merge(&merges),
            }
            for (number, word) in words.iter().enumerate() {
                let mut alone = SymbolRow::<SMALL>::EMPTY;
                alone.begin(&merges, word, word.len());
                let mut merged = alone.merge_first(&merges);
                while merged {
                    merged = alone.merge_next(&merges);
                }
                let (mut ids, mut expected) = (Vec::new(), Vec::new());
                interleaved.append(number, &mut ids);
                alone.append(&mut expected);
                assert_eq!(ids, expected);
            }
        }
    }
}
