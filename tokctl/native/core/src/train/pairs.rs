//! Every adjacent pair of the corpus state: its count and where it occurs.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

use super::corpus::{Corpus, Place};
use super::ties::{TieKey, Ties};
use super::{Options, Progress};
use crate::error::{Error, Result};
use crate::model::{Marker, Units, Vocabulary};
use crate::prefetch::prefetch;

// What stands on one side of a pair that is being merged, symbol by symbol.
//
// A merge changes two pairs for each neighbour at each place. The same few neighbours come
// again and again: what they lose and gain is added up here first, so that each pair is
// looked up once for a batch of places, and knows how many places it is going to have.

struct Neighbour {
    symbol: u32,
    /// The pair that it makes with the new token, once a batch was settled.
    gained: PairId,
    /// Occurrences beside it, weighted.
    weight: u64,
    /// Those of the present batch.
    new_weight: u64,
    new_places: usize,
}

#[derive(Default)]
struct NeighbourCounts {
    /// By symbol: 1 + its index among `found`, or 0.
    index: Vec<u32>,
    found: Vec<Neighbour>,
    /// Of the present batch: (index among `found`, place of the pair that is gained)
    places: Vec<(u32, Place)>,
}

impl NeighbourCounts {
    /// Forgets all, and makes room for `symbols`.
    fn clear(&mut self, symbols: usize) {
        for neighbour in self.found.drain(..) {
            self.index[neighbour.symbol as usize] = 0;
        }
        if self.index.len() < symbols {
            self.index.resize(symbols, 0);
        }
    }

    #[inline]
    fn add(&mut self, symbol: u32, place: Place, weight: u64) {
        let index = &mut self.index[symbol as usize];
        if *index == 0 {
            self.found.push(Neighbour {
                symbol,
                gained: FREE,
                weight: 0,
                new_weight: 0,
                new_places: 0,
            });
            *index = self.found.len() as u32;
        }
        let neighbour = &mut self.found[*index as usize - 1];
        neighbour.new_weight += weight;
        neighbour.new_places += 1;
        self.places.push((*index - 1, place));
    }
}

// From two symbols to their pair: open addressing with linear probing.
//
// An entry is a part of the hash and the pair's number, 8 bytes; the symbols stand with the
// pair, which the caller is about to read anyway.

/// No pair has this number.
const FREE: PairId = PairId::MAX;

const LEAST: usize = 64;

pub struct PairTable {
    /// (part of the hash, pair); a power of two of them.
    slots: Vec<(u32, PairId)>,
    used: usize,
    /// Its seed differs from table to table: no text is slow on purpose.
    hasher: DefaultHashBuilder,
}

impl Default for PairTable {
    fn default() -> Self {
        PairTable {
            slots: vec![(0, FREE); LEAST],
            used: 0,
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl PairTable {
    fn hash(&self, left: u32, right: u32) -> u32 {
        self.hasher
            .hash_one(u64::from(left) << 32 | u64::from(right)) as u32
    }

    /// Asks for the slot where the search for a pair begins.
    #[inline]
    fn prefetch(&self, left: u32, right: u32) {
        prefetch(&self.slots[self.hash(left, right) as usize & (self.slots.len() - 1)]);
    }

    /// The slot of a pair, or the free one where it belongs. `symbols` gives the symbols of a pair.
    #[inline]
    fn find(&self, left: u32, right: u32, symbols: impl Fn(PairId) -> (u32, u32)) -> (usize, u32) {
        let (hash, mask) = (self.hash(left, right), self.slots.len() - 1);
        let mut at = hash as usize & mask;
        loop {
            let (part, pair) = self.slots[at];
            if pair == FREE || (part == hash && symbols(pair) == (left, right)) {
                return (at, hash);
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    pub fn get(
        &self,
        left: u32,
        right: u32,
        symbols: impl Fn(PairId) -> (u32, u32),
    ) -> Option<PairId> {
        let pair = self.slots[self.find(left, right, symbols).0].1;
        (pair != FREE).then_some(pair)
    }

    /// The pair of two symbols; where there is none it is `new` from now on.
    #[inline]
    pub fn get_or_insert(
        &mut self,
        left: u32,
        right: u32,
        new: PairId,
        symbols: impl Fn(PairId) -> (u32, u32),
    ) -> PairId {
        let (at, hash) = self.find(left, right, symbols);
        let pair = self.slots[at].1;
        if pair != FREE {
            return pair;
        }
        self.slots[at] = (hash, new);
        self.used += 1;
        if self.used * 2 > self.slots.len() {
            self.grow();
        }
        new
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        let old = std::mem::replace(&mut self.slots, vec![(0, FREE); size]);
        for (hash, pair) in old.into_iter().filter(|&(_, pair)| pair != FREE) {
            let mut at = hash as usize & (size - 1);
            while self.slots[at].1 != FREE {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = (hash, pair);
        }
    }
}

// Where a pair occurs. Most pairs have very few places: those are stored without an allocation.

/// How many places are stored inline, beside the length.
const INLINE: usize = 3;

#[derive(Debug)]
pub enum PairPlaces {
    Inline { length: u8, at: [Place; INLINE] },
    Heap(Vec<Place>),
}

impl Default for PairPlaces {
    fn default() -> Self {
        PairPlaces::Inline {
            length: 0,
            at: [0; INLINE],
        }
    }
}

impl PairPlaces {
    pub fn as_slice(&self) -> &[Place] {
        match self {
            PairPlaces::Inline { length, at } => &at[..usize::from(*length)],
            PairPlaces::Heap(places) => places,
        }
    }

    /// Makes room for exactly so many more, for a list that will not grow again soon.
    pub fn reserve(&mut self, more: usize) {
        match self {
            PairPlaces::Inline { length, at } => {
                let length = usize::from(*length);
                if length + more > INLINE {
                    let mut places = Vec::with_capacity(length + more);
                    places.extend_from_slice(&at[..length]);
                    *self = PairPlaces::Heap(places);
                }
            }
            // One that grows once more can do so again and again.
            PairPlaces::Heap(places) => places.reserve(more),
        }
    }

    #[inline]
    pub fn push(&mut self, place: Place) {
        match self {
            PairPlaces::Inline { length, at } if usize::from(*length) < INLINE => {
                at[usize::from(*length)] = place;
                *length += 1;
            }
            PairPlaces::Inline { .. } => {
                self.reserve(1);
                self.push(place);
            }
            PairPlaces::Heap(places) => places.push(place),
        }
    }

    /// Takes out the first `head` places.
    pub fn forget(&mut self, head: usize) {
        match self {
            PairPlaces::Inline { length, at } => {
                at.copy_within(head..usize::from(*length), 0);
                *length -= head as u8;
            }
            PairPlaces::Heap(places) => drop(places.drain(..head)),
        }
    }

    pub fn retain(&mut self, keep: impl Fn(Place) -> bool) {
        match self {
            PairPlaces::Inline { length, at } => {
                let mut kept = 0;
                for index in 0..usize::from(*length) {
                    at[kept] = at[index];
                    kept += usize::from(keep(at[index]));
                }
                *length = kept as u8;
            }
            PairPlaces::Heap(places) => places.retain(|&place| keep(place)),
        }
    }

    /// Ascending, and each once.
    pub fn sort(&mut self) {
        let mut places = self.as_slice().to_vec();
        places.sort_unstable();
        places.dedup();
        *self = PairPlaces::Heap(places);
    }
}

pub type PairId = u32;

struct Pair {
    left: u32,
    right: u32,
    count: u64,
    /// Where the pair occurs, and places where it once did: they are told apart by a
    /// look at the corpus. Ascending but for `disordered`.
    places: PairPlaces,
    /// Places before this index are known to be outdated.
    head: u32,
    /// Set when a merge made a token that existed already, or a token was split, which can
    /// give an old pair places before those it has.
    disordered: bool,
    /// May it be merged at all (`max_token_length`, special tokens)?
    allowed: bool,
    /// The tie key when it was last worked out: the present one is no smaller.
    key_bound: TieKey,
}

/// Lengths of a symbol's string in units.
#[derive(Clone, Copy, Default)]
struct Length {
    whole: u64,
    /// Without its marker.
    text: u64,
}

pub struct Pairs {
    pairs: Vec<Pair>,
    ids: PairTable,
    ties: Ties,
    min_frequency: u64,
    max_length: u64,
    marker: Marker,
    lengths: Vec<Length>,
    /// What stands before and behind the pair that is being merged.
    before: NeighbourCounts,
    after: NeighbourCounts,
}

/// So many places are taken at a time: then progress is reported, Ctrl-C looked for, and what the
/// neighbours gain is settled, which would take more memory than the corpus.
const BATCH: usize = 1 << 16;

/// Places that are asked for ahead: a corpus is larger than the processor's cache.
const AHEAD: usize = 8;

impl Pairs {
    pub fn new(
        corpus: &Corpus,
        vocabulary: &Vocabulary,
        options: &Options,
        progress: Progress,
    ) -> Result<Self> {
        let length = |string: &[u8]| match options.units {
            Units::Bytes => string.len() as u64,
            Units::Characters => string.iter().filter(|&&b| b & 0xC0 != 0x80).count() as u64,
        };
        let lengths = vocabulary.tokens().iter().map(|token| Length {
            whole: length(token),
            text: length(options.marker.strip(token)),
        });
        let mut pairs = Pairs {
            pairs: Vec::new(),
            ids: PairTable::default(),
            ties: options.ties,
            min_frequency: options.min_frequency.max(1),
            max_length: options.max_token_length.unwrap_or(u64::MAX),
            marker: options.marker.clone(),
            lengths: lengths.collect(),
            before: NeighbourCounts::default(),
            after: NeighbourCounts::default(),
        };
        for (number, (place, left, right)) in corpus.pairs().enumerate() {
            if number % BATCH == 0 && !progress(0) {
                return Err(Error::Interrupted);
            }
            let id = pairs.pair(left, right);
            let pair = &mut pairs.pairs[id as usize];
            pair.count += corpus.weight(place);
            pair.places.push(place);
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

    /// The pair of two symbols, where they have ever been neighbours.
    pub fn id(&self, left: u32, right: u32) -> Option<PairId> {
        self.ids.get(left, right, |pair| self.symbols(pair))
    }

    /// Gives `token` the length of what merging two symbols makes.
    pub fn set_length(&mut self, left: u32, right: u32, token: u32) {
        self.lengths[token as usize] = self.merged_length(left, right);
    }

    /// The same, where `token` is new. Tokens come in the order of their ids, those that do not
    /// occur here among them.
    pub fn add_length(&mut self, left: u32, right: u32, token: u32) {
        if self.lengths.len() <= token as usize {
            let length = self.merged_length(left, right);
            self.lengths.resize(token as usize + 1, length);
        }
    }

    pub fn count(&self, pair: PairId) -> u64 {
        self.pairs[pair as usize].count
    }

    /// The pair is not merged, however often it occurs.
    pub fn refuse(&mut self, pair: PairId) {
        self.pairs[pair as usize].allowed = false;
    }

    /// May the pair be merged as things stand?
    pub fn is_candidate(&self, pair: PairId) -> bool {
        let pair = &self.pairs[pair as usize];
        pair.allowed && pair.count >= self.min_frequency
    }

    /// The length of the token that merging two symbols makes.
    fn merged_length(&self, left: u32, right: u32) -> Length {
        let (left, right) = (self.lengths[left as usize], self.lengths[right as usize]);
        let (whole, text) = match self.marker {
            Marker::None => (left.whole + right.whole, left.whole + right.whole),
            Marker::End(_) | Marker::EndFused(_) => {
                (left.whole + right.whole, left.whole + right.text)
            }
            Marker::Start(_) => (left.whole + right.whole, left.text + right.whole),
            Marker::Continuation(_) => (left.whole + right.text, left.text + right.text),
        };
        Length { whole, text }
    }

    /// The pair of two symbols, which is made where they have never been neighbours.
    fn pair(&mut self, left: u32, right: u32) -> PairId {
        let new = self.pairs.len() as PairId;
        let pairs = &self.pairs;
        let symbols = |pair: PairId| (pairs[pair as usize].left, pairs[pair as usize].right);
        let id = self.ids.get_or_insert(left, right, new, symbols);
        if id == new {
            let allowed = self.merged_length(left, right).text <= self.max_length;
            self.pairs.push(Pair {
                left,
                right,
                count: 0,
                places: PairPlaces::default(),
                head: 0,
                disordered: false,
                allowed,
                key_bound: (0, 0),
            });
        }
        id
    }

    /// Places where the pair is, and where it once was.
    pub fn places(&self, pair: PairId) -> &[Place] {
        self.pairs[pair as usize].places.as_slice()
    }

    /// The pair has won an occurrence.
    pub fn gain_at(&mut self, left: u32, right: u32, place: Place, weight: u64) -> PairId {
        let id = self.pair(left, right);
        let pair = &mut self.pairs[id as usize];
        pair.count += weight;
        pair.key_bound = (0, 0);
        pair.add_place(place);
        id
    }

    /// The pair has lost occurrences.
    pub fn lose(&mut self, left: u32, right: u32, weight: u64) {
        if let Some(id) = self.id(left, right) {
            let pair = &mut self.pairs[id as usize];
            pair.count -= weight;
            if pair.count == 0 {
                // Its places are all outdated, and free memory is worth more.
                pair.places = PairPlaces::default();
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
        self.order(id);
        let pair = &mut self.pairs[id as usize];
        let (left, right) = (pair.left, pair.right);
        let places = std::mem::take(&mut pair.places);
        let head = std::mem::take(&mut pair.head) as usize;
        self.add_length(left, right, token);

        self.before.clear(self.lengths.len());
        self.after.clear(self.lengths.len());
        let mut merged = 0;
        let mut rewritten = Vec::new();
        let places = &places.as_slice()[head..];
        for (number, &place) in places.iter().enumerate() {
            if let Some(&soon) = places.get(number + AHEAD) {
                corpus.prefetch(soon);
            }
            if number % BATCH == BATCH - 1 {
                if !progress(0) {
                    return Err(Error::Interrupted);
                }
                self.gain_around(token);
            }
            if !corpus.has_pair(place, left, right) {
                continue;
            }
            let weight = corpus.weight(place);
            let around = corpus.merge_at(place, token);
            merged += weight;
            if let Some((before, symbol)) = around.before {
                self.before.add(symbol, before, weight);
            }
            if let Some(symbol) = around.after {
                self.after.add(symbol, place, weight);
            }
            if corpus.keeps_scan_order() {
                rewritten.push(corpus.word(place));
            }
        }
        corpus.count_merged(left, right, token, merged);
        corpus.move_to_end(&mut rewritten);
        self.gain_around(token);
        self.lose(left, right, merged);
        Ok(self.lose_around(left, right))
    }

    /// Gives the pairs that the new token is in what a batch of places has added to them.
    fn gain_around(&mut self, token: u32) {
        let (mut before, mut after) = (
            std::mem::take(&mut self.before),
            std::mem::take(&mut self.after),
        );
        for neighbour in &before.found {
            self.ids.prefetch(neighbour.symbol, token);
        }
        for neighbour in &after.found {
            self.ids.prefetch(token, neighbour.symbol);
        }
        self.gain(&mut before, |symbol| (symbol, token));
        self.gain(&mut after, |symbol| (token, symbol));
        (self.before, self.after) = (before, after);
    }

    fn gain(&mut self, neighbours: &mut NeighbourCounts, symbols: impl Fn(u32) -> (u32, u32)) {
        for neighbour in &mut neighbours.found {
            if neighbour.new_places == 0 {
                continue;
            }
            if neighbour.gained == FREE {
                let (left, right) = symbols(neighbour.symbol);
                neighbour.gained = self.pair(left, right);
            }
            let pair = &mut self.pairs[neighbour.gained as usize];
            pair.count += neighbour.new_weight;
            pair.key_bound = (0, 0);
            pair.places.reserve(neighbour.new_places);
            neighbour.weight += std::mem::take(&mut neighbour.new_weight);
            neighbour.new_places = 0;
        }
        for (index, place) in neighbours.places.drain(..) {
            let gained = neighbours.found[index as usize].gained;
            self.pairs[gained as usize].add_place(place);
        }
    }

    /// Takes from the pairs that the merged symbols were in what they have lost: only when all have
    /// gained, as between two places that follow each other a pair is made and broken up again.
    /// Returns the candidates among those that gained.
    fn lose_around(&mut self, left: u32, right: u32) -> Vec<PairId> {
        let (before, after) = (
            std::mem::take(&mut self.before),
            std::mem::take(&mut self.after),
        );
        for neighbour in &before.found {
            self.ids.prefetch(neighbour.symbol, left);
        }
        for neighbour in &after.found {
            self.ids.prefetch(right, neighbour.symbol);
        }
        for neighbour in &before.found {
            self.lose(neighbour.symbol, left, neighbour.weight);
        }
        for neighbour in &after.found {
            self.lose(right, neighbour.symbol, neighbour.weight);
        }
        let found = before.found.iter().chain(&after.found);
        let gained = found.map(|neighbour| neighbour.gained);
        let gained = gained.filter(|&pair| self.is_candidate(pair)).collect();
        (self.before, self.after) = (before, after);
        gained
    }

    /// Sorts the places where a reused token has disordered them.
    fn order(&mut self, id: PairId) {
        let pair = &mut self.pairs[id as usize];
        if pair.disordered {
            pair.places.forget(pair.head as usize);
            pair.head = 0;
            pair.places.sort();
            pair.disordered = false;
        }
    }

    /// The pair's key under the tie rule, as things stand. It can take a look at every
    /// word that the pair is in; [`Pairs::tie_bound`] costs nothing.
    pub fn tie_key(&mut self, id: PairId, corpus: &Corpus) -> TieKey {
        self.order(id);
        let pair = &mut self.pairs[id as usize];
        let key = match self.ties {
            Ties::LowestId => Some((pair.left.into(), pair.right.into())),
            Ties::HighestText => Some((0, 0)),
            Ties::FirstSeen => pair.first_place(corpus),
            Ties::RewrittenLast => pair.first_in_scan(corpus),
        };
        pair.key_bound = key.unwrap_or((u64::MAX, u64::MAX));
        pair.key_bound
    }

    /// The key that [`Pairs::tie_key`] gave last, or the least there is where the pair has
    /// gained since: the present one is no smaller.
    pub fn tie_bound(&self, id: PairId) -> TieKey {
        self.pairs[id as usize].key_bound
    }
}

impl Pair {
    fn add_place(&mut self, place: Place) {
        let places = self.places.as_slice();
        match places.last() {
            Some(&last) if last > place => self.disordered = true,
            // One that is known to be outdated can come back where a token is split.
            Some(&last) if last == place && (self.head as usize) < places.len() => return,
            _ => {}
        }
        self.places.push(place);
    }

    fn is_at(&self, place: Place, corpus: &Corpus) -> bool {
        corpus.has_pair(place, self.left, self.right)
    }

    fn first_place(&mut self, corpus: &Corpus) -> Option<TieKey> {
        self.skip_outdated(corpus);
        self.places
            .as_slice()
            .get(self.head as usize)
            .map(|&place| (0, place.into()))
    }

    /// Moves `head` to the first place where the pair still is.
    fn skip_outdated(&mut self, corpus: &Corpus) {
        while let Some(&place) = self.places.as_slice().get(self.head as usize) {
            if self.is_at(place, corpus) {
                break;
            }
            self.head += 1;
        }
    }

    /// The smallest (place of the word in the scan, place) at which the pair is. Only the
    /// first place in each word is looked at: ten megabytes can be one word.
    fn first_in_scan(&mut self, corpus: &Corpus) -> Option<TieKey> {
        self.skip_outdated(corpus);
        let mut best = None;
        let mut outdated = 0;
        let mut at = self.head as usize;
        while let Some(&place) = self.places.as_slice().get(at) {
            if !self.is_at(place, corpus) {
                outdated += 1;
                at += 1;
                continue;
            }
            let key = (corpus.scan_place(place), u64::from(place));
            if best.is_none_or(|best| key < best) {
                best = Some(key);
            }
            at = self.after_word(at, corpus);
        }
        // What was looked at in vain is forgotten before it costs more than the rest.
        if outdated * 2 > self.places.as_slice().len() - self.head as usize {
            let mut places = std::mem::take(&mut self.places);
            places.forget(self.head as usize);
            places.retain(|place| self.is_at(place, corpus));
            (self.places, self.head) = (places, 0);
        }
        best
    }

    /// The index of the first place after the word that place number `at` lies in.
    fn after_word(&self, at: usize, corpus: &Corpus) -> usize {
        let places = self.places.as_slice();
        let word = corpus.word(places[at]);
        let mut step = 1;
        while places
            .get(at + step)
            .is_some_and(|&p| corpus.word(p) == word)
        {
            step *= 2;
        }
        let from = at + step / 2;
        let to = places.len().min(at + step);
        from + places[from..to].partition_point(|&p| corpus.word(p) <= word)
    }
}

#[cfg(test)]
mod pair_table_tests {
    use super::*;

    #[test]
    fn every_pair_is_found_again() {
        let symbols = |pair: PairId| (pair / 50, pair % 50);
        let mut table = PairTable::default();
        for pair in 0..2500 {
            let (left, right) = symbols(pair);
            assert_eq!(table.get(left, right, symbols), None);
            assert_eq!(table.get_or_insert(left, right, pair, symbols), pair);
            assert_eq!(table.get_or_insert(left, right, 9999, symbols), pair);
        }
        for pair in 0..2500 {
            let (left, right) = symbols(pair);
            assert_eq!(table.get(left, right, symbols), Some(pair));
        }
    }
}

#[cfg(test)]
mod places_tests {
    use super::*;

    #[test]
    fn short_and_long_lists_are_alike() {
        assert_eq!(size_of::<PairPlaces>(), size_of::<Vec<Place>>());
        for length in 0..9u32 {
            let mut places = PairPlaces::default();
            places.reserve(length as usize / 2);
            (0..length).for_each(|at| places.push(at * 2));
            let all: Vec<_> = (0..length).map(|at| at * 2).collect();
            assert_eq!(places.as_slice(), all);
            places.forget(length as usize / 2);
            assert_eq!(places.as_slice(), &all[length as usize / 2..]);
            places.retain(|place| place % 4 == 0);
            places.push(1);
            places.push(1);
            places.sort();
            let left = all[length as usize / 2..].iter().copied();
            let left = left.filter(|place| place % 4 == 0);
            let expected: Vec<_> = std::iter::once(1).chain(left).collect();
            let mut sorted = expected.clone();
            sorted.sort_unstable();
            assert_eq!(places.as_slice(), sorted);
        }
    }
}
