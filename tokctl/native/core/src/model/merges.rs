//! Merges and the look-up from a pair of symbols to its rank.

use hashbrown::HashMap;

/// Stands where a pair has no merge.
pub const NO_RANK: u32 = u32::MAX;

/// One step of a training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    pub left: u32,
    pub right: u32,
    pub token: u32,
    /// Weighted occurrences of the pair before the merge.
    pub count: u64,
    /// Weighted occurrences of the left symbol before the merge; 0 where unknown.
    pub left_count: u64,
    /// The same of the right symbol.
    pub right_count: u64,
}

/// Ranks of pairs. A pair can stand in the list more than once, when a merge made a
/// token that existed already; then `later` leads from a rank to the next one.
#[derive(Debug, Clone, Default)]
pub struct Merges {
    first: HashMap<u64, u32>,
    tokens: Vec<u32>,
    later: HashMap<u32, u32>,
}

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

impl Merges {
    /// From (left, right, token) in rank order.
    pub fn new(triples: impl Iterator<Item = (u32, u32, u32)>) -> Self {
        let mut merges = Merges::default();
        let mut last_of: HashMap<u64, u32> = HashMap::new();
        for (rank, (left, right, token)) in (0u32..).zip(triples) {
            merges.tokens.push(token);
            let pair = key(left, right);
            if let Some(earlier) = last_of.insert(pair, rank) {
                merges.later.insert(earlier, rank);
            } else {
                merges.first.insert(pair, rank);
            }
        }
        merges
    }

    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The token that the merge of `rank` makes.
    #[inline]
    pub fn token(&self, rank: u32) -> u32 {
        self.tokens[rank as usize]
    }

    /// The first rank of the pair, or [`NO_RANK`].
    #[inline]
    pub fn rank(&self, left: u32, right: u32) -> u32 {
        self.first
            .get(&key(left, right))
            .copied()
            .unwrap_or(NO_RANK)
    }

    /// The first rank of the pair that comes after `done`, or [`NO_RANK`].
    #[inline]
    pub fn rank_after(&self, left: u32, right: u32, done: u32) -> u32 {
        let mut rank = self.rank(left, right);
        while rank != NO_RANK && rank <= done {
            rank = self.later.get(&rank).copied().unwrap_or(NO_RANK);
        }
        rank
    }
}
