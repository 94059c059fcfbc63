//! Superwords: tokens of several whole pre-tokens (BoundlessBPE).
//!
//! A supermerge joins two neighbouring pre-tokens that are one token each: a word ([`is_word`]) or
//! a superword. While pre-tokens are segmented and cached, an id gets a mark if it is a whole
//! pre-token and some supermerge takes it. Adjacent marked ids are a run. The runs of a text are
//! merged, lowest rank first, once all of the text's pre-tokens are known.
//!
//! Most neighbouring words are adjacent in no superword, so a run is first cut between such words.

use hashbrown::{HashMap, HashSet};

use super::Merging;
use crate::encode::segmenter::Segment;
use crate::encode::Token;
use crate::error::{Error, Result};
use crate::model::{Alphabet, Merges, NO_ID, NO_RANK};
use crate::pretokenize::is_word;
use crate::Interrupt;

/// The mark of an id that is one whole pre-token.
///
/// All ids are below this bit. Special values such as [`NO_ID`] have a higher bit set as well.
const MARK: u32 = 1 << 30;

#[inline(always)]
fn is_marked(id: u32) -> bool {
    id >> 30 == 1
}

/// The supermerges of a model.
pub struct Superwords {
    /// Merges the words of a run by the supermerges.
    merging: Merging,
    /// Pairs of words that are adjacent in some superword; their ranks are indices into `pairs`.
    joints: Merges,
    /// The superword that a pair alone becomes; [`NO_ID`] if the pair stays.
    pairs: Vec<u32>,
    /// By id: whether a supermerge takes the word.
    words: Vec<bool>,
}

impl Superwords {
    /// Make superwords from (left, right, token) in rank order, and all tokens of the model.
    pub fn new<T: AsRef<[u8]>>(merges: &[(u32, u32, u32)], tokens: &[(T, u32)]) -> Result<Self> {
        let texts: HashMap<u32, &[u8]> = tokens
            .iter()
            .map(|(text, id)| (*id, text.as_ref()))
            .collect();
        let highest = merges
            .iter()
            .map(|&(left, right, token)| left.max(right).max(token));
        if highest.max().unwrap_or(0) >= MARK {
            return Err(Error::TooLarge(
                "a supermerge has an id of over a billion".into(),
            ));
        }
        // The first and the last word of each superword.
        let mut ends: HashMap<u32, (u32, u32)> = HashMap::new();
        let mut words: HashSet<u32> = HashSet::new();
        let (mut joints, mut known) = (Vec::new(), HashSet::new());
        for (number, &(left, right, token)) in (1..).zip(merges) {
            let text = |id| texts.get(&id).copied();
            let whole = match (text(left), text(right), text(token)) {
                (Some(left), Some(right), Some(token)) => token == [left, right].concat(),
                _ => false,
            };
            if !whole || ends.contains_key(&token) || words.contains(&token) {
                return Err(invalid(number, "does not make a token of its own"));
            }
            let mut of = |id| match ends.get(&id) {
                Some(&ends) => Some(ends),
                None if text(id).is_some_and(is_word) => {
                    words.insert(id);
                    Some((id, id))
                }
                None => None,
            };
            let (Some(left), Some(right)) = (of(left), of(right)) else {
                return Err(invalid(
                    number,
                    "takes a token that is neither a word nor a superword",
                ));
            };
            ends.insert(token, (left.0, right.1));
            if known.insert((left.1, right.0)) {
                joints.push((left.1, right.0, token));
            }
        }
        let made: HashMap<(u32, u32), u32> = merges
            .iter()
            .map(|&(left, right, token)| ((left, right), token))
            .collect();
        let pairs = joints
            .iter()
            .map(|&(left, right, _)| made.get(&(left, right)).copied());
        let pairs = pairs.map(|token| token.unwrap_or(NO_ID)).collect();
        let size = words
            .iter()
            .max()
            .map_or(0, |&highest| highest as usize + 1);
        let mut flags = vec![false; size];
        words.iter().for_each(|&word| flags[word as usize] = true);
        Ok(Superwords {
            merging: Merging::new(
                Alphabet::bytes(|_| None),
                Merges::new(merges.iter().copied()),
            ),
            joints: Merges::new(joints.iter().copied()),
            pairs,
            words: flags,
        })
    }

    /// Mark the id of a pre-token that is one token, if a supermerge takes it.
    #[inline]
    pub fn mark(&self, ids: &mut [u32]) {
        if let [id] = ids {
            if self.words.get(*id as usize) == Some(&true) {
                *id |= MARK;
            }
        }
    }

    /// Merge the runs among the ids from index `first` on, and remove all marks.
    pub fn join(&self, ids: &mut Vec<u32>, first: usize, interrupt: Interrupt) -> Result<()> {
        let mut run = Vec::new();
        let (mut kept, mut at) = (first, first);
        while at < ids.len() {
            let id = ids[at];
            if !is_marked(id) {
                ids[kept] = id;
                (kept, at) = (kept + 1, at + 1);
                continue;
            }
            let start = at;
            let mut last = id ^ MARK;
            let mut joint = NO_RANK;
            ids[at] = last;
            at += 1;
            while at < ids.len() && is_marked(ids[at]) {
                let next = ids[at] ^ MARK;
                let found = self.joints.rank(last, next);
                if found == NO_RANK {
                    break;
                }
                (joint, last, ids[at]) = (found, next, next);
                at += 1;
            }
            match at - start {
                1 => {
                    ids[kept] = last;
                    kept += 1;
                }
                2 => {
                    let token = self.pairs[joint as usize];
                    (ids[kept], ids[kept + 1]) = match token {
                        NO_ID => (ids[start], last),
                        token => (token, ids[kept + 1]),
                    };
                    kept += 1 + usize::from(token == NO_ID);
                }
                _ => {
                    run.clear();
                    run.extend(ids[start..at].iter().map(|&id| Segment { id, length: 1 }));
                    self.merge(&mut run, interrupt)?;
                    for (place, token) in ids[kept..].iter_mut().zip(&run) {
                        *place = token.id;
                    }
                    kept += run.len();
                }
            }
        }
        ids.truncate(kept);
        Ok(())
    }

    /// Like [`Self::join`], for tokens with spans.
    ///
    /// A superword has the number of its first pre-token.
    pub fn join_tokens(
        &self,
        tokens: &mut Vec<Token>,
        first: usize,
        interrupt: Interrupt,
    ) -> Result<()> {
        let mut run = Vec::new();
        let mut rest = tokens.split_off(first).into_iter().peekable();
        while let Some(token) = rest.next() {
            if !is_marked(token.id) {
                tokens.push(token);
                continue;
            }
            let start = tokens.len();
            let mut last = token.id ^ MARK;
            tokens.push(Token { id: last, ..token });
            while let Some(next) =
                rest.next_if(|next| is_marked(next.id) && self.joins(last, next.id ^ MARK))
            {
                last = next.id ^ MARK;
                tokens.push(Token { id: last, ..next });
            }
            if tokens.len() - start > 1 {
                run.clear();
                run.extend(tokens[start..].iter().map(|token| Segment {
                    id: token.id,
                    length: 1,
                }));
                self.merge(&mut run, interrupt)?;
                let (mut kept, mut from) = (start, start);
                for segment in &run {
                    let to = from + segment.length as usize;
                    tokens[kept] = Token {
                        id: segment.id,
                        end: tokens[to - 1].end,
                        ..tokens[from]
                    };
                    (kept, from) = (kept + 1, to);
                }
                tokens.truncate(kept);
            }
        }
        Ok(())
    }

    /// Return whether the two words are adjacent in some superword.
    #[inline]
    fn joins(&self, left: u32, right: u32) -> bool {
        self.joints.rank(left, right) != NO_RANK
    }

    fn merge(&self, run: &mut Vec<Segment>, interrupt: Interrupt) -> Result<()> {
        self.merging.merge(0, NO_RANK, run, |_, _, _| {}, interrupt)
    }

    /// Return the ranks of the supermerges that a row of words goes through, in order.
    pub fn steps(&self, words: &[u32], interrupt: Interrupt) -> Result<Vec<u32>> {
        let mut run: Vec<Segment> = words.iter().map(|&id| Segment { id, length: 1 }).collect();
        let mut ranks = Vec::new();
        let done = |rank, _, _| ranks.push(rank);
        self.merging.merge(0, NO_RANK, &mut run, done, interrupt)?;
        Ok(ranks)
    }
}

fn invalid(number: usize, what: &str) -> Error {
    Error::Invalid(format!("the supermerge {number} {what}"))
}
