//! What merging by rank makes of two tokens that meet, without merging their symbols.
//!
//! It follows from how the two are made. Merges are made in the order of their ranks, so that a rank is
//! a time: at any time, the left one has a last symbol and the right one a first symbol, and these two
//! must not merge then. (Neubeck and others decide so for tiktoken's vocabularies, in GitHub's crate
//! `bpe`.) This holds where tokens merge later than they are made, which [`Meetings::of`] checks.

use crate::model::{Alphabet, Merges, NO_ID, NO_RANK, NO_SYMBOL};
use crate::prefetch::prefetch;

/// Of a token that no text becomes, and the time of what never happens.
const NEVER: u32 = u32::MAX;

/// How a token is made, and what it could merge with.
#[derive(Debug, Clone, Copy)]
struct MadeToken {
    /// The two that it is made of; of a byte, itself.
    left: u32,
    right: u32,
    /// One more than the rank of the merge; 0 for a byte.
    made: u32,
    /// Bytes of its text.
    length: u32,
    /// A bit for each class of what its last symbol ever merges with.
    after: u64,
    /// The same for its first symbol.
    before: u64,
    /// The bit of its own class, as what comes after another one.
    starts: u64,
    /// As what comes before.
    ends: u64,
}

impl MadeToken {
    const NONE: MadeToken = MadeToken {
        left: NO_ID,
        right: NO_ID,
        made: NEVER,
        length: 0,
        after: 0,
        before: 0,
        starts: 0,
        ends: 0,
    };
}

/// The class of a token by the byte next to its neighbour and the byte behind that, if there is one: 4
/// groups of 16. One byte alone may be the start of any.
fn class((near, far): (u8, Option<u8>)) -> u64 {
    let group = match near {
        b' ' => 0,
        near => 1 + near % 3,
    };
    match far {
        Some(far) => 1 << (16 * group + (far ^ far >> 4) % 16),
        None => 0xFFFF << (16 * group),
    }
}

/// What two tokens become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// They stay as they are.
    Apart,
    /// One token.
    One(u32),
    /// Others: merges across their border come before both are made.
    Others,
}

/// How every token is made that a text becomes.
#[derive(Debug)]
pub(crate) struct Meetings {
    /// By id.
    tokens: Vec<MadeToken>,
    /// The bytes that have no token, if there are any.
    unknown: Option<Box<[bool; 256]>>,
    /// Do more tokens end with a space than begin with one?
    spaces_end_words: bool,
}

impl Meetings {
    /// None where a token may merge with a lower rank than it is made by, or has several texts, or where
    /// symbols are not bytes.
    pub fn of(merges: &Merges, alphabet: &Alphabet) -> Option<Self> {
        let Alphabet::Bytes(alphabet) = alphabet else {
            return None;
        };
        let bytes: Vec<u32> = (0..=u8::MAX).map(|byte| alphabet.id(byte)).collect();
        let mut pairs: Vec<(u32, u32, u32)> = merges.pairs().collect();
        pairs.sort_unstable_by_key(|&(left, right, rank)| (rank, left, right));
        let ids = pairs
            .iter()
            .map(|&(left, right, rank)| merges.token(rank, left, right));
        let ids = ids.chain(bytes.iter().copied());
        let most = ids.filter(|&id| id != NO_ID).max()?;
        if most >= NO_SYMBOL {
            return None;
        }
        let mut found = Meetings {
            tokens: vec![MadeToken::NONE; most as usize + 1],
            unknown: None,
            spaces_end_words: false,
        };
        let mut builder = MeetingsBuilder {
            sides: vec![Sides::default(); found.tokens.len()],
            inside: vec![(0, 0); found.tokens.len()],
        };
        let mut unknown = Box::new([false; 256]);
        for (byte, &id) in (0..=u8::MAX).zip(&bytes) {
            unknown[usize::from(byte)] = id == NO_ID;
            if id != NO_ID {
                let sides = Sides {
                    start: (byte, None),
                    end: (byte, None),
                };
                builder.add(&mut found, id, (id, id, 0), sides)?;
            }
        }
        found.unknown = unknown.contains(&true).then_some(unknown);
        for same in pairs.chunk_by(|one, other| one.2 == other.2) {
            let known = |pair: &&(u32, u32, u32)| found.is_made(pair.0) && found.is_made(pair.1);
            let known: Vec<_> = same.iter().filter(known).collect();
            for &&(left, right, _) in &known {
                found.tokens[left as usize].after |= found.tokens[right as usize].starts;
                found.tokens[right as usize].before |= found.tokens[left as usize].ends;
            }
            for &(left, right, rank) in known {
                // Else its text becomes something else.
                if found.stay_apart_before(merges, left, right) {
                    let id = merges.token(rank, left, right);
                    let sides = builder.sides[left as usize].and(builder.sides[right as usize]);
                    builder.add(&mut found, id, (left, right, rank + 1), sides)?;
                }
            }
        }
        let early = |id: u32, rank: u32| found.is_made(id) && found.tokens[id as usize].made > rank;
        if pairs
            .iter()
            .any(|&(left, right, rank)| early(left, rank) || early(right, rank))
        {
            return None;
        }
        for (token, (after, before)) in found.tokens.iter_mut().zip(builder.inside) {
            token.after |= after;
            token.before |= before;
        }
        let with_space = |side: fn(&Sides) -> u8| {
            builder
                .sides
                .iter()
                .filter(|sides| sides.start.1.is_some() && side(sides) == b' ')
                .count()
        };
        found.spaces_end_words =
            with_space(|sides| sides.end.0) > with_space(|sides| sides.start.0);
        Some(found)
    }

    fn is_made(&self, id: u32) -> bool {
        self.tokens
            .get(id as usize)
            .is_some_and(|token| token.made != NEVER)
    }

    /// Do two tokens stay apart until both are made? Backwards in time: of the two symbols that meet, the
    /// one that was made later is taken apart. Of equal ranks the leftmost merge comes first.
    fn stay_apart_before(&self, merges: &Merges, mut left: u32, mut right: u32) -> bool {
        // When the last symbol of the left one, and the first of the right one, become part of others.
        let (mut left_ends, mut right_ends) = (NEVER, NEVER);
        loop {
            let (one, other) = (&self.tokens[left as usize], &self.tokens[right as usize]);
            if one.made > other.made {
                (left, left_ends) = (one.right, one.made);
            } else if other.made > 0 {
                (right, right_ends) = (other.left, other.made);
            } else {
                return true;
            }
            let rank = merges.rank(left, right);
            if rank != NO_RANK && rank + 1 < left_ends && rank < right_ends {
                return false;
            }
        }
    }

    /// May two tokens become something else? Where this is false, they stay apart.
    #[inline(always)]
    pub fn may_merge(&self, left: u32, right: u32) -> bool {
        let (one, other) = (&self.tokens[left as usize], &self.tokens[right as usize]);
        one.after & other.starts != 0 && other.before & one.ends != 0
    }

    #[inline(always)]
    pub fn prefetch(&self, id: u32) {
        prefetch(&self.tokens[id as usize]);
    }

    pub fn meeting(&self, merges: &Merges, left: u32, right: u32) -> Meeting {
        if !self.stay_apart_before(merges, left, right) {
            return Meeting::Others;
        }
        match merges.rank(left, right) {
            NO_RANK => Meeting::Apart,
            rank => Meeting::One(merges.token(rank, left, right)),
        }
    }

    /// Bytes of the text of a token that is made.
    #[inline(always)]
    pub fn length(&self, id: u32) -> usize {
        self.tokens[id as usize].length as usize
    }

    /// Does every byte have a token?
    pub fn knows(&self, text: &[u8]) -> bool {
        let unknown = self.unknown.as_ref();
        unknown.is_none_or(|unknown| !text.iter().any(|&byte| unknown[usize::from(byte)]))
    }

    /// Do more tokens end with a space than begin with one?
    pub fn spaces_end_words(&self) -> bool {
        self.spaces_end_words
    }
}

/// The byte of a token at one of its sides, and the one beside it.
type Side = (u8, Option<u8>);

#[derive(Debug, Clone, Copy, Default)]
struct Sides {
    start: Side,
    end: Side,
}

impl Sides {
    fn and(self, other: Sides) -> Sides {
        Sides {
            start: (self.start.0, self.start.1.or(Some(other.start.0))),
            end: (other.end.0, other.end.1.or(Some(self.end.0))),
        }
    }
}

struct MeetingsBuilder {
    sides: Vec<Sides>,
    /// `after` and `before` of the symbols inside a token, up to when they become part of others.
    inside: Vec<(u64, u64)>,
}

impl MeetingsBuilder {
    /// A token that is made of two, or a byte. None where it was made before.
    fn add(
        &mut self,
        all: &mut Meetings,
        id: u32,
        (left, right, made): (u32, u32, u32),
        sides: Sides,
    ) -> Option<()> {
        let length = match made {
            0 => 1,
            _ => {
                let (one, other) = (&all.tokens[left as usize], &all.tokens[right as usize]);
                self.inside[id as usize] = (
                    other.after | self.inside[right as usize].0,
                    one.before | self.inside[left as usize].1,
                );
                one.length.checked_add(other.length)?
            }
        };
        let token = all
            .tokens
            .get_mut(id as usize)
            .filter(|token| token.made == NEVER)?;
        *token = MadeToken {
            left,
            right,
            made,
            length,
            after: 0,
            before: 0,
            starts: class(sides.start),
            ends: class(sides.end),
        };
        self.sides[id as usize] = sides;
        Some(())
    }
}
