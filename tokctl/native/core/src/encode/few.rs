//! A pre-token of few bytes while it is merged by rank.

use crate::model::{Asked, ByteAlphabet, Merges, NOBODY, NO_RANK};

/// As many bytes as a word has bits, and as many as most pre-tokens have at most.
pub(super) const FEW: usize = 64;
pub(super) const FEWER: usize = 16;

/// Candidates that are compared at once.
const LANES: usize = 8;

/// A pair that may merge: its rank, and the place where it begins in the low bits, so that the
/// least of them all is of the lowest rank, and of equal ranks the leftmost. Signed numbers,
/// because every processor compares many of these at once.
type Candidate = i32;
const PLACE_BITS: u32 = FEW.ilog2();
const NEVER: Candidate = Candidate::MAX;

/// As many ranks as leave every candidate less than the one that stands for none.
pub(super) const MOST_RANKS: usize = NEVER as usize >> PLACE_BITS;

#[inline(always)]
fn candidate(rank: u32, at: usize) -> Candidate {
    match rank {
        NO_RANK => NEVER,
        rank => (rank << PLACE_BITS) as Candidate | at as Candidate,
    }
}

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

/// Symbols stay where they begin, and a bit for each says that it is still there: what a
/// merge takes away moves nothing.
#[derive(Debug, Clone)]
pub(super) struct Few<const MOST: usize> {
    ids: [u32; MOST],
    candidates: [Candidate; MOST],
    there: u64,
    /// The last merge's place and the one before it, and the pairs that it made there.
    at: usize,
    before: usize,
    pairs: [Asked; 2],
}

impl<const MOST: usize> Few<MOST> {
    pub const EMPTY: Self = Few {
        ids: [0; MOST],
        candidates: [NEVER; MOST],
        there: 0,
        at: 0,
        before: 0,
        pairs: [Asked::NOWHERE; 2],
    };

    /// Begins with a pre-token of 1 to `MOST` bytes; false if it has a byte without an id.
    #[inline(always)]
    pub fn begin(&mut self, alphabet: &ByteAlphabet, merges: &Merges, pre_token: &[u8]) -> bool {
        let count = pre_token.len();
        let mut any_unknown = false;
        for (id, &byte) in self.ids.iter_mut().zip(pre_token) {
            *id = alphabet.id(byte);
            any_unknown |= *id >= NOBODY;
        }
        if any_unknown {
            return false;
        }
        self.candidates = [NEVER; MOST];
        let pairs = self.ids[..count].windows(2).enumerate();
        for (to, (at, two)) in self.candidates.iter_mut().zip(pairs) {
            *to = candidate(merges.rank(two[0], two[1]), at);
        }
        self.there = u64::MAX >> (FEW - count);
        true
    }

    /// Makes the first merge and asks for the ranks of the pairs that come of it; false if
    /// there is none.
    #[inline(always)]
    pub fn merge_first(&mut self, merges: &Merges) -> bool {
        self.merge(merges, least(&self.candidates))
    }

    /// Takes the ranks that were asked for, and makes the next merge.
    #[inline(always)]
    pub fn merge_next(&mut self, merges: &Merges) -> bool {
        let (at, before) = (self.at, self.before);
        let [with_last, with_next] = self.pairs;
        let before_it = candidate(merges.told(with_last), before);
        let its_own = candidate(merges.told(with_next), at);
        // These two are compared from where they are: a processor waits when it is to load
        // many at once and has just stored one of them.
        let best = least(&self.candidates).min(before_it).min(its_own);
        self.candidates[before % MOST] = before_it;
        self.candidates[at % MOST] = its_own;
        self.merge(merges, best)
    }

    #[inline(always)]
    fn merge(&mut self, merges: &Merges, best: Candidate) -> bool {
        if best == NEVER {
            return false;
        }
        let (rank, at) = (best as u32 >> PLACE_BITS, best as usize % FEW % MOST);
        let behind = self.there & (u64::MAX << at) << 1;
        let right = behind.trailing_zeros() as usize % MOST;
        let id = merges.token(rank, self.ids[at], self.ids[right]);
        self.ids[at] = id;
        self.there &= !(1 << right);
        // What is read where there is nobody does not matter.
        let behind = behind & behind.wrapping_sub(1);
        let next = self.ids[behind.trailing_zeros() as usize % MOST];
        let next = if behind == 0 { NOBODY } else { next };
        let ahead = self.there & ((1 << at) - 1);
        let before = (63 ^ ahead.leading_zeros()) as usize % MOST;
        let last = self.ids[before];
        // With nothing before it, what is written there is of a pair that has no rank.
        let (before, last) = match ahead == 0 {
            true => (right, NOBODY),
            false => (before, last),
        };
        for place in [before, at, right] {
            self.candidates[place] = NEVER;
        }
        (self.at, self.before) = (at, before);
        self.pairs = [merges.asked(last, id), merges.asked(id, next)];
        true
    }

    /// Appends the ids of what is there.
    #[inline(always)]
    pub fn append(&self, out: &mut Vec<u32>) {
        let mut there = self.there;
        while there != 0 {
            out.push(self.ids[there.trailing_zeros() as usize % MOST]);
            there &= there - 1;
        }
    }
}
