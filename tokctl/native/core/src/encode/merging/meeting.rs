//! What merging by rank makes of two tokens that meet, without merging their symbols.
//!
//! It follows from how the two are made. Merges are made in the order of their ranks, so that a rank is
//! a time: at any time, the left one has a last symbol and the right one a first symbol, and these two
//! must not merge then. (Neubeck and others decide so for tiktoken's vocabularies, in GitHub's crate
//! `bpe`.) This holds where tokens merge later than they are made, which [`Meetings::of`] checks. Where
//! two symbols do merge, merging goes on from what there is at that time: few symbols, not bytes.

use crate::large_pages;
use crate::model::{Alphabet, Merges, NO_ID, NO_RANK, NO_SYMBOL};
use crate::prefetch::prefetch;

/// The time of what never happens.
const NEVER: u32 = u32::MAX;

/// How a token is made, in one number: the two that it is made of (of a byte, itself) and one more
/// than the rank of the merge (of a byte, 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Origin(u64);

const ID_BITS: u32 = 21;
const TIME_BITS: u32 = 22;
const _: () = assert!(NO_SYMBOL < 1 << ID_BITS && 2 * ID_BITS + TIME_BITS == u64::BITS);

impl Origin {
    /// Of a token that no text becomes.
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

/// What a token could merge with.
#[derive(Debug, Clone, Copy)]
struct Sides {
    /// A bit for each class of what its last symbol ever merges with.
    after: u64,
    /// The same for its first symbol.
    before: u64,
    /// Bytes of its text; 0 of a token that no text becomes.
    length: u32,
    /// Its own class, as what comes after another one, and as what comes before.
    starts: u8,
    ends: u8,
    /// Its first byte and its last one.
    first: u8,
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

    /// Of a token that is made of two, which could merge with others before.
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

/// The class of a token by the byte next to its neighbour and the byte behind that, if there is one: 4
/// groups of 16. One byte alone may be the start of any of its group.
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

/// The bits of each class, of which there are 68.
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

/// What two tokens become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// They stay as they are.
    Apart,
    /// One token.
    One(u32),
    /// Others: merges across their border come before both are made, the first one of this rank.
    Others(u32),
}

/// How every token is made that a text becomes.
#[derive(Debug)]
pub(crate) struct Meetings {
    /// Both by id.
    origins: Vec<Origin>,
    sides: Vec<Sides>,
    /// The bytes that have no token, as ranges: the first one, and how many come behind it.
    unknown: Vec<(u8, u8)>,
    /// Do more tokens end with a space than begin with one?
    spaces_end_words: bool,
}

/// So many merges ahead, what is known of their sides is prefetched.
const AHEAD: usize = 8;

impl Meetings {
    /// None where a token may merge with a lower rank than it is made by, or has several texts, or where
    /// symbols are not bytes.
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

    /// Of bytes, and no tokens; `most` is the greatest id.
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

    /// Where each token has one merge, and that comes behind those of its parts, as in all that a
    /// training learns: so no merge needs to be looked at more closely. What is found of a token that
    /// its text does not become, because other merges come before, is never asked for. None elsewhere.
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

    /// Where a token has several merges: of these, the one counts that its text becomes it by.
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
                // Else its text becomes something else.
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

    /// Adds the token that a merge of two makes. None where it was made before, or has no id.
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

    /// The rank of the first merge across the border of two tokens before both are made, or
    /// [`NO_RANK`]. Backwards in time: of the two symbols that meet, the one that was made later is
    /// taken apart. Of equal ranks the leftmost merge comes first.
    fn first_across(&self, merges: &Merges, mut left: u32, mut right: u32) -> u32 {
        let (mut one, mut other) = (self.origins[left as usize], self.origins[right as usize]);
        // When the last symbol of the left one, and the first of the right one, become part of others.
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

    /// May two tokens become something else? Where this is false, they stay apart.
    #[inline(always)]
    pub fn may_merge(&self, left: u32, right: u32) -> bool {
        let (one, other) = (&self.sides[left as usize], &self.sides[right as usize]);
        one.after & bits(other.starts) != 0 && other.before & bits(one.ends) != 0
    }

    #[inline(always)]
    pub fn prefetch(&self, id: u32) {
        prefetch(&self.sides[id as usize]);
    }

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

    /// Appends the symbols that a token consists of when the first merge of a rank comes. `waiting` is
    /// empty before and after.
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

    /// Bytes of the text of a token that is made.
    #[inline(always)]
    pub fn length(&self, id: u32) -> usize {
        self.sides[id as usize].length as usize
    }

    /// Does every byte have a token?
    pub fn knows(&self, text: &[u8]) -> bool {
        // All bytes of a range in any case: so many are compared at once.
        let has = |&(first, more): &(u8, u8)| {
            let inside = |byte: &u8| byte.wrapping_sub(first) <= more;
            text.iter().fold(false, |any, byte| any | inside(byte))
        };
        !self.unknown.iter().any(has)
    }

    /// Do more tokens end with a space than begin with one?
    pub fn spaces_end_words(&self) -> bool {
        self.spaces_end_words
    }
}
