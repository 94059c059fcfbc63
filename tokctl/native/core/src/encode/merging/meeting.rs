//! The result of merging two adjacent tokens by rank, decided without merging their symbols.
//!
//! The answer follows from how the two tokens are made. Merges are made in the order of their
//! ranks, so a rank is a time. At any time, the left token has a last symbol and the right token
//! has a first symbol, and these two symbols must not merge then. (Neubeck and others decide in
//! this way for tiktoken's vocabularies, in GitHub's crate `bpe`.) This holds if every token merges
//! later than it is made, which [`Meetings::of`] checks. If two symbols do merge, merging continues
//! from the symbols of that time: few symbols, not bytes.

use crate::large_pages;
use crate::model::{Alphabet, Merges, NO_ID, NO_RANK, NO_SYMBOL};
use crate::prefetch::prefetch;

/// The time of an event that never happens.
const NEVER: u32 = u32::MAX;

/// How a token is made, in one number: the two ids that it is made of, and its time.
///
/// The time is the rank of the merge plus 1. A byte is made of itself, at time 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Origin(u64);

const ID_BITS: u32 = 21;
const TIME_BITS: u32 = 22;
const _: () = assert!(NO_SYMBOL < 1 << ID_BITS && 2 * ID_BITS + TIME_BITS == u64::BITS);

impl Origin {
    /// Origin of a token that no text becomes.
    const NONE: Origin = Origin(u64::MAX);

    fn of(left: u32, right: u32, made: u32) -> Self {
        Origin((u64::from(left) << ID_BITS | u64::from(right)) << TIME_BITS | u64::from(made))
    }

    #[inline(always)]
    fn left(self) -> u32 {
        (self.0 >> (ID_BITS + TIME_BITS)) as u32
    }

    #[inline(always)]
    fn right(self) -> u32 {
        (self.0 >> TIME_BITS) as u32 & ((1 << ID_BITS) - 1)
    }

    #[inline(always)]
    fn made(self) -> u32 {
        self.0 as u32 & ((1 << TIME_BITS) - 1)
    }
}

/// Filter for the neighbours that a token could merge with.
#[derive(Debug, Clone, Copy)]
struct Sides {
    /// Bit set of the classes of right neighbours that the token's last symbol ever merges with.
    after: u64,
    /// Bit set of the classes of left neighbours that the token's first symbol ever merges with.
    before: u64,
    /// Length of the text in bytes; 0 for a token that no text becomes.
    length: u32,
    /// Class of this token as a right neighbour.
    starts: u8,
    /// Class of this token as a left neighbour.
    ends: u8,
    /// First byte of the text.
    first: u8,
    /// Last byte of the text.
    last: u8,
}

impl Sides {
    const NONE: Sides = Sides {
        after: 0,
        before: 0,
        length: 0,
        starts: 0,
        ends: 0,
        first: 0,
        last: 0,
    };

    fn of_byte(byte: u8) -> Self {
        let class = class(byte, None);
        Sides {
            length: 1,
            starts: class,
            ends: class,
            first: byte,
            last: byte,
            ..Sides::NONE
        }
    }

    /// Return the filter of a token made of two tokens.
    ///
    /// The parts may have merged with other neighbours before.
    fn of_two(one: &Sides, other: &Sides) -> Option<Self> {
        Some(Sides {
            after: other.after,
            before: one.before,
            length: one.length.checked_add(other.length)?,
            starts: match one.length {
                1 => class(one.first, Some(other.first)),
                _ => one.starts,
            },
            ends: match other.length {
                1 => class(other.last, Some(one.last)),
                _ => other.ends,
            },
            first: one.first,
            last: other.last,
        })
    }
}

/// Return the class of a token by its byte `near` the border and the byte `far` behind that one.
///
/// There are 4 groups of 16 classes. A single byte may be the start of any class of its group, so
/// each group has one more class for single bytes.
fn class(near: u8, far: Option<u8>) -> u8 {
    let group = match near {
        b' ' => 0,
        near => 1 + near % 3,
    };
    match far {
        Some(far) => 16 * group + (far ^ far >> 4) % 16,
        None => 64 + group,
    }
}

/// Bit set of each of the 68 classes; a class of single bytes has all bits of its group.
static BITS: [u64; 256] = {
    let mut bits = [0; 256];
    let mut class = 0;
    while class < 68 {
        bits[class] = match class {
            0..64 => 1 << class,
            _ => 0xFFFF << (16 * (class - 64)),
        };
        class += 1;
    }
    bits
};

#[inline(always)]
fn bits(class: u8) -> u64 {
    BITS[usize::from(class)]
}

/// The result of merging two adjacent tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// The two tokens, unchanged.
    Apart,
    /// A single token.
    One(u32),
    /// Several other tokens: merges across the border come before both are made, the first one of
    /// this rank.
    Others(u32),
}

/// How each token is made that a text can become, and what the token can merge with.
#[derive(Debug)]
pub(crate) struct Meetings {
    /// How each token is made, by id.
    origins: Vec<Origin>,
    /// Filter of each token, by id.
    sides: Vec<Sides>,
    /// The bytes without a token, as ranges: the first byte, and how many follow it.
    unknown: Vec<(u8, u8)>,
    /// Whether more tokens end with a space than begin with one.
    spaces_end_words: bool,
}

/// Number of merges by which the prefetching of filters runs ahead.
const AHEAD: usize = 8;

impl Meetings {
    /// Collect how the tokens of a model are made.
    ///
    /// Returns `None` if a token may merge with a lower rank than the one it is made by, if a token
    /// has several texts, or if symbols are not bytes.
    pub fn of(merges: &Merges, alphabet: &Alphabet) -> Option<Self> {
        let Alphabet::Bytes(alphabet) = alphabet else {
            return None;
        };
        if merges.len() >= (1 << TIME_BITS) - 1 {
            return None;
        }
        let bytes: Vec<u32> = (0..=u8::MAX).map(|byte| alphabet.id(byte)).collect();
        let mut found = Meetings::of_one_way(merges, &bytes)
            .or_else(|| Meetings::of_several_ways(merges, &bytes))?;
        for (byte, &id) in (0..=u8::MAX).zip(&bytes) {
            match found.unknown.last_mut() {
                _ if id != NO_ID => {}
                Some((first, more)) if *first + *more + 1 == byte => *more += 1,
                _ => found.unknown.push((byte, 0)),
            }
        }
        let with_space = |side: fn(&Sides) -> u8| {
            let longer = found.sides.iter().filter(|sides| sides.length > 1);
            longer.filter(|sides| side(sides) == b' ').count()
        };
        found.spaces_end_words = with_space(|sides| sides.last) > with_space(|sides| sides.first);
        Some(found)
    }

    /// Make a table of the bytes, without longer tokens.
    ///
    /// `most` is the greatest token id.
    fn of_bytes(bytes: &[u32], most: u32) -> Option<Self> {
        let most = bytes
            .iter()
            .copied()
            .filter(|&id| id != NO_ID)
            .max()?
            .max(most);
        if most >= NO_SYMBOL {
            return None;
        }
        let mut found = Meetings {
            origins: large_pages::table(most as usize + 1, Origin::NONE),
            sides: large_pages::table(most as usize + 1, Sides::NONE),
            unknown: Vec::new(),
            spaces_end_words: false,
        };
        for (byte, &id) in (0..=u8::MAX).zip(bytes) {
            if id != NO_ID {
                found.add(id, Origin::of(id, id, 0), Sides::of_byte(byte))?;
            }
        }
        Some(found)
    }

    /// Collect a table if each token has one merge, with a higher rank than the merges of its
    /// parts.
    ///
    /// Training always learns such merges, and no merge needs a closer look. The table may also
    /// list tokens that their own text does not become because other merges come first; they are
    /// never looked up. Returns `None` for other merges.
    fn of_one_way(merges: &Merges, bytes: &[u32]) -> Option<Self> {
        let mut pairs = vec![(NO_ID, NO_ID); merges.len()];
        for (left, right, rank) in merges.pairs() {
            let pair = &mut pairs[rank as usize];
            if pair.0 != NO_ID {
                return None;
            }
            *pair = (left, right);
        }
        let token = |(rank, &(left, right)): (u32, &(u32, u32))| merges.token(rank, left, right);
        let most = (0..).zip(&pairs).map(token).max()?;
        let mut found = Meetings::of_bytes(bytes, most)?;
        for (rank, &pair) in (0u32..).zip(&pairs) {
            if let Some(&(left, right)) = pairs.get(rank as usize + AHEAD) {
                let sides = [left, right].map(|id| found.sides.get(id as usize));
                sides.into_iter().flatten().for_each(prefetch);
            }
            if pair.0 == NO_ID || !found.is_made(pair.0) || !found.is_made(pair.1) {
                return None;
            }
            found.may_merge_now(pair);
            found.make(token((rank, &pair)), pair, rank)?;
        }
        Some(found)
    }

    /// Collect a table if tokens may have several merges.
    ///
    /// The merge that counts is the one by which the token's text becomes the token.
    fn of_several_ways(merges: &Merges, bytes: &[u32]) -> Option<Self> {
        let mut pairs: Vec<(u32, u32, u32)> = merges.pairs().collect();
        pairs.sort_unstable_by_key(|&(left, right, rank)| (rank, left, right));
        let tokens = pairs
            .iter()
            .map(|&(left, right, rank)| merges.token(rank, left, right));
        let most = tokens.filter(|&id| id != NO_ID).max().unwrap_or_default();
        let mut found = Meetings::of_bytes(bytes, most)?;
        for same in pairs.chunk_by(|one, other| one.2 == other.2) {
            let known = |pair: &&(u32, u32, u32)| found.is_made(pair.0) && found.is_made(pair.1);
            let known: Vec<_> = same.iter().filter(known).collect();
            for &&(left, right, _) in &known {
                found.may_merge_now((left, right));
            }
            for &(left, right, rank) in known {
                // Otherwise the text of the pair becomes something else.
                if found.first_across(merges, left, right) == NO_RANK {
                    found.make(merges.token(rank, left, right), (left, right), rank)?;
                }
            }
        }
        let early =
            |id: u32, rank: u32| found.is_made(id) && found.origins[id as usize].made() > rank;
        let too_early =
            |&(left, right, rank): &(u32, u32, u32)| early(left, rank) || early(right, rank);
        (!pairs.iter().any(too_early)).then_some(found)
    }

    fn may_merge_now(&mut self, (left, right): (u32, u32)) {
        self.sides[left as usize].after |= bits(self.sides[right as usize].starts);
        self.sides[right as usize].before |= bits(self.sides[left as usize].ends);
    }

    /// Add the token that a merge of two tokens makes.
    ///
    /// Returns `None` if the token was made before, or has no id.
    fn make(&mut self, id: u32, (left, right): (u32, u32), rank: u32) -> Option<()> {
        let (one, other) = (&self.sides[left as usize], &self.sides[right as usize]);
        let sides = Sides::of_two(one, other)?;
        self.add(id, Origin::of(left, right, rank + 1), sides)
    }

    fn add(&mut self, id: u32, origin: Origin, sides: Sides) -> Option<()> {
        let place = self.origins.get_mut(id as usize)?;
        if *place != Origin::NONE {
            return None;
        }
        *place = origin;
        self.sides[id as usize] = sides;
        Some(())
    }

    fn is_made(&self, id: u32) -> bool {
        let origin = self.origins.get(id as usize);
        origin.is_some_and(|&origin| origin != Origin::NONE)
    }

    /// Return the rank of the first merge across the border of two tokens before both are made, or
    /// [`NO_RANK`].
    ///
    /// Goes back in time: of the two symbols at the border, the one that was made later is split
    /// into its parts. Of equal ranks, the leftmost merge comes first.
    fn first_across(&self, merges: &Merges, mut left: u32, mut right: u32) -> u32 {
        let (mut one, mut other) = (self.origins[left as usize], self.origins[right as usize]);
        // Times when the left token's last symbol, and the right token's first symbol, become part
        // of other symbols.
        let (mut left_ends, mut right_ends) = (NEVER, NEVER);
        let mut first = NO_RANK;
        loop {
            if one.made() > other.made() {
                (left, left_ends) = (one.right(), one.made());
                one = self.origins[left as usize];
            } else if other.made() > 0 {
                (right, right_ends) = (other.left(), other.made());
                other = self.origins[right as usize];
            } else {
                return first;
            }
            let rank = merges.rank(left, right);
            if rank < left_ends - 1 && rank < right_ends {
                first = first.min(rank);
            }
        }
    }

    /// Return whether two tokens may become something else.
    ///
    /// If false, they stay as they are.
    #[inline(always)]
    pub fn may_merge(&self, left: u32, right: u32) -> bool {
        let (one, other) = (&self.sides[left as usize], &self.sides[right as usize]);
        one.after & bits(other.starts) != 0 && other.before & bits(one.ends) != 0
    }

    #[inline(always)]
    pub fn prefetch(&self, id: u32) {
        prefetch(&self.sides[id as usize]);
    }

    /// Return the result of merging two adjacent tokens.
    pub fn meeting(&self, merges: &Merges, left: u32, right: u32) -> Meeting {
        match (
            self.first_across(merges, left, right),
            merges.rank(left, right),
        ) {
            (NO_RANK, NO_RANK) => Meeting::Apart,
            (NO_RANK, rank) => Meeting::One(merges.token(rank, left, right)),
            (rank, _) => Meeting::Others(rank),
        }
    }

    /// Append the symbols that a token consists of just before the first merge of rank `rank`.
    ///
    /// `waiting` is scratch memory, empty before and after.
    pub fn symbols_before(&self, rank: u32, id: u32, waiting: &mut Vec<u32>, out: &mut Vec<u32>) {
        waiting.push(id);
        while let Some(id) = waiting.pop() {
            let origin = self.origins[id as usize];
            match origin.made() > rank {
                true => waiting.extend([origin.right(), origin.left()]),
                false => out.push(id),
            }
        }
    }

    /// Return the length in bytes of the text of a token.
    #[inline(always)]
    pub fn length(&self, id: u32) -> usize {
        self.sides[id as usize].length as usize
    }

    /// Return whether every byte of `text` has a token.
    pub fn knows(&self, text: &[u8]) -> bool {
        // All bytes are tested without an early exit, so that many are compared at once.
        let has = |&(first, more): &(u8, u8)| {
            let inside = |byte: &u8| byte.wrapping_sub(first) <= more;
            text.iter().fold(false, |any, byte| any | inside(byte))
        };
        !self.unknown.iter().any(has)
    }

    /// Return whether more tokens end with a space than begin with one.
    pub fn spaces_end_words(&self) -> bool {
        self.spaces_end_words
    }
}
