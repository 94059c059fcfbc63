//! Every adjacent pair of the corpus state: its count and where it occurs.

use hashbrown::HashMap;

use super::corpus::{Corpus, Place};
use super::ties::{TieKey, Ties};
use super::{Options, Progress};
use crate::error::{Error, Result};

pub type PairId = u32;

struct Pair {
    left: u32,
    right: u32,
    count: u64,
    /// Where the pair occurs, and places where it once did: they are told apart by a
    /// look at the corpus. Ascending but for `disordered`.
    places: Vec<Place>,
    /// Places before this index are known to be outdated.
    head: usize,
    /// Set when a merge made a token that existed already, which can give an old pair
    /// places before those it has.
    disordered: bool,
    /// May it be merged at all (`max_token_length`)?
    allowed: bool,
}

pub struct Pairs {
    pairs: Vec<Pair>,
    ids: HashMap<u64, PairId>,
    ties: Ties,
    min_frequency: u64,
    max_length: u64,
    /// Length of each symbol in units, its marker not counted.
    lengths: Vec<u64>,
    /// The places of the merge under way at which a pair gained, to be reported once.
    gained_in: Vec<u64>,
    merges: u64,
}

/// Progress is reported, and Ctrl-C looked for, every so many places.
const REPORT_EVERY: usize = 1 << 16;

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

impl Pairs {
    pub fn new(corpus: &Corpus, options: &Options, progress: Progress) -> Result<Self> {
        let mut pairs = Pairs {
            pairs: Vec::new(),
            ids: HashMap::new(),
            ties: options.ties,
            min_frequency: options.min_frequency.max(1),
            max_length: options.max_token_length.unwrap_or(u64::MAX),
            lengths: Vec::new(),
            gained_in: Vec::new(),
            merges: 0,
        };
        for (number, (place, left, right)) in corpus.pairs().enumerate() {
            if number % REPORT_EVERY == 0 && !progress(0) {
                return Err(Error::Interrupted);
            }
            pairs.gain(place, left, right, corpus.weight(place));
        }
        Ok(pairs)
    }

    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    pub fn symbols(&self, pair: PairId) -> (u32, u32) {
        let pair = &self.pairs[pair as usize];
        (pair.left, pair.right)
    }

    pub fn count(&self, pair: PairId) -> u64 {
        self.pairs[pair as usize].count
    }

    /// May the pair be merged as things stand?
    pub fn is_candidate(&self, pair: PairId) -> bool {
        let pair = &self.pairs[pair as usize];
        pair.allowed && pair.count >= self.min_frequency
    }

    fn length(&self, symbol: u32) -> u64 {
        // A symbol of the alphabet is one unit; a marker of its own counts as one, too.
        self.lengths
            .get(symbol as usize)
            .copied()
            .filter(|&l| l > 0)
            .unwrap_or(1)
    }

    fn gain(&mut self, place: Place, left: u32, right: u32, weight: u64) -> PairId {
        let new = self.pairs.len() as PairId;
        let id = *self.ids.entry(key(left, right)).or_insert(new);
        if id == new {
            let allowed = self.length(left) + self.length(right) <= self.max_length;
            self.pairs.push(Pair {
                left,
                right,
                count: 0,
                places: Vec::new(),
                head: 0,
                disordered: false,
                allowed,
            });
            self.gained_in.push(0);
        }
        let pair = &mut self.pairs[id as usize];
        pair.count += weight;
        match pair.places.last() {
            Some(&last) if last > place => pair.disordered = true,
            Some(&last) if last == place => return id,
            _ => {}
        }
        pair.places.push(place);
        id
    }

    fn lose(&mut self, left: u32, right: u32, weight: u64) {
        if let Some(&id) = self.ids.get(&key(left, right)) {
            let pair = &mut self.pairs[id as usize];
            pair.count -= weight;
            if pair.count == 0 {
                // Its places are all outdated, and free memory is worth more.
                pair.places = Vec::new();
                pair.head = 0;
                pair.disordered = false;
            }
        }
    }

    /// Merges `pair` into `token` wherever it occurs. Returns the pairs that gained.
    pub fn merge(
        &mut self,
        id: PairId,
        token: u32,
        corpus: &mut Corpus,
        progress: Progress,
    ) -> Result<Vec<PairId>> {
        self.merges += 1;
        self.order(id);
        let pair = &mut self.pairs[id as usize];
        let (left, right) = (pair.left, pair.right);
        let places = std::mem::take(&mut pair.places);
        let head = std::mem::take(&mut pair.head);
        let length = self.length(left) + self.length(right);
        if self.lengths.len() <= token as usize {
            self.lengths.resize(token as usize + 1, 0);
        }
        self.lengths[token as usize] = length;

        let mut gained = Vec::new();
        let mut rewritten = Vec::new();
        for (number, &place) in places[head..].iter().enumerate() {
            if number % REPORT_EVERY == REPORT_EVERY - 1 && !progress(0) {
                return Err(Error::Interrupted);
            }
            if !corpus.has_pair(place, left, right) {
                continue;
            }
            let weight = corpus.weight(place);
            let around = corpus.merge_at(place, token);
            self.lose(left, right, weight);
            if let Some((before, symbol)) = around.before {
                self.lose(symbol, left, weight);
                let pair = self.gain(before, symbol, token, weight);
                self.note(pair, &mut gained);
            }
            if let Some(symbol) = around.after {
                self.lose(right, symbol, weight);
                let pair = self.gain(place, token, symbol, weight);
                self.note(pair, &mut gained);
            }
            if corpus.keeps_scan_order() {
                rewritten.push(corpus.word(place));
            }
        }
        corpus.move_to_end(&mut rewritten);
        gained.retain(|&pair| self.is_candidate(pair));
        Ok(gained)
    }

    fn note(&mut self, pair: PairId, gained: &mut Vec<PairId>) {
        let noted = &mut self.gained_in[pair as usize];
        if *noted != self.merges {
            *noted = self.merges;
            gained.push(pair);
        }
    }

    /// Sorts the places where a reused token has disordered them.
    fn order(&mut self, id: PairId) {
        let pair = &mut self.pairs[id as usize];
        if pair.disordered {
            pair.places.drain(..pair.head);
            pair.head = 0;
            pair.places.sort_unstable();
            pair.places.dedup();
            pair.disordered = false;
        }
    }

    /// The pair's key under the tie rule, as things stand.
    pub fn tie_key(&mut self, id: PairId, corpus: &Corpus) -> TieKey {
        if self.ties == Ties::LowestId {
            let pair = &self.pairs[id as usize];
            return (pair.left.into(), pair.right.into());
        }
        self.order(id);
        let pair = &mut self.pairs[id as usize];
        let (left, right) = (pair.left, pair.right);
        let first = |place: Place| (corpus.scan_place(place), u64::from(place));
        if self.ties == Ties::FirstSeen {
            while let Some(&place) = pair.places.get(pair.head) {
                if corpus.has_pair(place, left, right) {
                    return first(place);
                }
                pair.head += 1;
            }
        } else {
            pair.places
                .retain(|&place| corpus.has_pair(place, left, right));
            if let Some(key) = pair.places.iter().map(|&place| first(place)).min() {
                return key;
            }
        }
        (u64::MAX, u64::MAX)
    }
}
