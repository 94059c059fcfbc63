//! Every adjacent pair of the corpus state, with its count and its positions.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

use super::corpus::{Corpus, Place};
use super::ties::{TieKey, Ties};
use super::{Options, Progress};
use crate::error::{Error, Result};
use crate::model::{Marker, Units};
use crate::prefetch::prefetch;

// Neighbours of the pair that is being merged, on one side, symbol by symbol.
//
// A merge changes two pairs for each neighbour at each position. The same few neighbours recur at
// many positions, so their gains and losses are summed up here first. Each pair is then looked up
// once per batch of positions, and the growth of its position list is known in advance.

struct Neighbour {
    symbol: u32,
    /// The pair of this symbol and the new token, once a batch was settled.
    gained: PairId,
    /// Weighted number of occurrences next to the pair.
    weight: u64,
    /// Weighted number of occurrences in the present batch.
    new_weight: u64,
    new_places: usize,
}

#[derive(Default)]
struct NeighbourCounts {
    /// For each symbol: 1 + its index in `found`, or 0.
    index: Vec<u32>,
    found: Vec<Neighbour>,
    /// Entries of the present batch: (index in `found`, position of the gained pair).
    places: Vec<(u32, Place)>,
}

impl NeighbourCounts {
    /// Remove all entries, and make room for `symbols` symbols.
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

// Hash table from two symbols to their pair, with open addressing and linear probing.
//
// An entry is 8 bytes: a part of the hash, and the pair's number. The symbols are in the pair
// itself, which the caller is about to read anyway.

/// Marker of a free slot; no pair has this number.
const FREE: PairId = PairId::MAX;

const LEAST: usize = 64;

/// Hash table from two symbols to their pair.
pub struct PairTable {
    /// (part of the hash, pair); the number of slots is a power of two.
    slots: Vec<(u32, PairId)>,
    used: usize,
    /// Seeded differently for each table, so that no crafted text makes the table slow.
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

    /// Prefetch the slot where the search for a pair begins.
    #[inline]
    fn prefetch(&self, left: u32, right: u32) {
        prefetch(&self.slots[self.hash(left, right) as usize & (self.slots.len() - 1)]);
    }

    /// Return the slot of a pair, or the free slot where the pair belongs, and the hash. `symbols`
    /// returns the symbols of a pair.
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

    /// Return the pair of two symbols. If there is none, insert and return `new`.
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

// The positions of a pair. Most pairs have very few, which are stored without an allocation.

/// Number of positions stored inline, beside the length.
const INLINE: usize = 3;

/// List of positions, inline while short.
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

    /// Reserve space for exactly `more` positions, for a list that will not grow again soon.
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
            // A list on the heap may grow again and again, so its growth is amortized.
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

    /// Remove the first `head` positions.
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

    /// Sort the positions in ascending order and remove duplicates.
    pub fn sort(&mut self) {
        let mut places = self.as_slice().to_vec();
        places.sort_unstable();
        places.dedup();
        *self = PairPlaces::Heap(places);
    }
}

/// Number of a pair, in the order in which pairs first appeared.
pub type PairId = u32;

struct Pair {
    left: u32,
    right: u32,
    count: u64,
    /// Positions where the pair occurs, and outdated ones where it once occurred. The corpus tells
    /// which is which. Ascending unless `disordered`.
    places: PairPlaces,
    /// Positions before this index are known to be outdated.
    head: u32,
    /// Whether positions may be out of order. This happens when a merge makes an existing token, or
    /// a token is split: an old pair can then gain positions before those it has.
    disordered: bool,
    /// Whether the pair may be merged at all (`max_token_length`, special tokens).
    allowed: bool,
    /// The tie key when it was last computed; the present key is no smaller.
    key_bound: TieKey,
}

/// Lengths of a symbol's string, in units.
#[derive(Clone, Copy, Default)]
struct Length {
    whole: u64,
    /// Length without the marker.
    text: u64,
}

/// Every pair that ever occurred in a corpus, with its present count and positions.
pub struct Pairs {
    pairs: Vec<Pair>,
    ids: PairTable,
    ties: Ties,
    min_frequency: u64,
    max_length: u64,
    marker: Marker,
    lengths: Vec<Length>,
    /// Symbols before and after the pair that is being merged.
    before: NeighbourCounts,
    after: NeighbourCounts,
}

/// Number of positions in a batch. After each batch, progress is reported, Ctrl-C is checked, and
/// the gains of the neighbours are settled; unsettled gains could take more memory than the corpus.
const BATCH: usize = 1 << 16;

/// Distance of the prefetch in positions; a corpus is larger than the processor's cache.
const AHEAD: usize = 8;

impl Pairs {
    pub fn new<'t>(
        corpus: &Corpus,
        tokens: impl Iterator<Item = &'t [u8]>,
        options: &Options,
        progress: Progress,
    ) -> Result<Self> {
        let length = |string: &[u8]| match options.units {
            Units::Bytes => string.len() as u64,
            Units::Characters => string.iter().filter(|&&b| b & 0xC0 != 0x80).count() as u64,
        };
        let lengths = tokens.map(|token| Length {
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

    /// Return the left and the right symbol of a pair.
    pub fn symbols(&self, pair: PairId) -> (u32, u32) {
        let pair = &self.pairs[pair as usize];
        (pair.left, pair.right)
    }

    /// Return the pair of two symbols if they have ever been neighbours.
    pub fn id(&self, left: u32, right: u32) -> Option<PairId> {
        self.ids.get(left, right, |pair| self.symbols(pair))
    }

    /// Set the length of `token` to the length of the merged strings of `left` and `right`.
    pub fn set_length(&mut self, left: u32, right: u32, token: u32) {
        self.lengths[token as usize] = self.merged_length(left, right);
    }

    /// Add the length of the new token `token`, which is merged from `left` and `right`.
    ///
    /// Tokens must be added in the order of their ids, also those that do not occur in this corpus.
    pub fn add_length(&mut self, left: u32, right: u32, token: u32) {
        if self.lengths.len() <= token as usize {
            let length = self.merged_length(left, right);
            self.lengths.resize(token as usize + 1, length);
        }
    }

    /// Return the weighted count of a pair.
    pub fn count(&self, pair: PairId) -> u64 {
        self.pairs[pair as usize].count
    }

    /// Exclude the pair from merging, however often it occurs.
    pub fn refuse(&mut self, pair: PairId) {
        self.pairs[pair as usize].allowed = false;
    }

    /// Return whether the pair may be merged if it occurs often enough.
    pub fn is_allowed(&self, pair: PairId) -> bool {
        self.pairs[pair as usize].allowed
    }

    /// Return whether the pair may be merged with its present count.
    pub fn is_candidate(&self, pair: PairId) -> bool {
        let pair = &self.pairs[pair as usize];
        pair.allowed && pair.count >= self.min_frequency
    }

    /// Return the length of the token that merging two symbols makes.
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

    /// Return the pair of two symbols, and create it if they have never been neighbours.
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

    /// Return the positions where the pair is, and outdated ones where it once was.
    pub fn places(&self, pair: PairId) -> &[Place] {
        self.pairs[pair as usize].places.as_slice()
    }

    /// Add an occurrence to the pair of `left` and `right`, and return the pair.
    pub fn gain_at(&mut self, left: u32, right: u32, place: Place, weight: u64) -> PairId {
        let id = self.pair(left, right);
        let pair = &mut self.pairs[id as usize];
        pair.count += weight;
        pair.key_bound = (0, 0);
        pair.add_place(place);
        id
    }

    /// Subtract `weight` occurrences from the pair of `left` and `right`.
    pub fn lose(&mut self, left: u32, right: u32, weight: u64) {
        if let Some(id) = self.id(left, right) {
            let pair = &mut self.pairs[id as usize];
            pair.count -= weight;
            if pair.count == 0 {
                // All its positions are outdated, so free their memory.
                pair.places = PairPlaces::default();
                pair.head = 0;
                pair.disordered = false;
            }
        }
    }

    /// Merge the pair `id` into `token` wherever it occurs. Return the candidates that gained
    /// occurrences.
    pub fn merge(
        &mut self,
        id: PairId,
        token: u32,
        corpus: &mut Corpus,
        progress: Progress,
    ) -> Result<Vec<PairId>> {
        self.merge_each(id, token, corpus, progress, |_, _| {})
    }

    /// Like [`Pairs::merge`]; calls `at` with each position that is about to be merged.
    pub fn merge_each(
        &mut self,
        id: PairId,
        token: u32,
        corpus: &mut Corpus,
        progress: Progress,
        mut at: impl FnMut(&Corpus, Place),
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
            at(corpus, place);
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

    /// Add the gains of the present batch to the pairs of the new token and its neighbours.
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

    /// Subtract the lost occurrences from the pairs of the merged symbols and their neighbours.
    /// Return the candidates among the pairs that gained.
    ///
    /// Must run after all gains were added: between two adjacent merged positions, a pair is first
    /// gained and then lost.
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

    /// Sort the pair's positions if a reused token has put them out of order.
    fn order(&mut self, id: PairId) {
        let pair = &mut self.pairs[id as usize];
        if pair.disordered {
            pair.places.forget(pair.head as usize);
            pair.head = 0;
            pair.places.sort();
            pair.disordered = false;
        }
    }

    /// Drop positions that are listed twice, or known to be outdated, from disordered lists.
    pub fn order_all(&mut self) {
        for id in 0..self.pairs.len() as PairId {
            self.order(id);
        }
    }

    /// Compute the pair's current key under the tie rule. This may visit every word that contains
    /// the pair, whereas [`Pairs::tie_bound`] costs nothing.
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

    /// Return a lower bound of the pair's tie key: the key that [`Pairs::tie_key`] computed last,
    /// or (0, 0) if the pair has gained occurrences since.
    pub fn tie_bound(&self, id: PairId) -> TieKey {
        self.pairs[id as usize].key_bound
    }
}

impl Pair {
    fn add_place(&mut self, place: Place) {
        let places = self.places.as_slice();
        match places.last() {
            Some(&last) if last > place => self.disordered = true,
            // A repeated position is skipped, unless `head` has passed it as outdated: after the
            // split of a token, the pair may occur at this position again.
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

    /// Advance `head` to the first position where the pair still occurs.
    fn skip_outdated(&mut self, corpus: &Corpus) {
        while let Some(&place) = self.places.as_slice().get(self.head as usize) {
            if self.is_at(place, corpus) {
                break;
            }
            self.head += 1;
        }
    }

    /// Return the smallest (scan position of the word, position) at which the pair occurs. Only the
    /// first position in each word is checked, because ten megabytes can be one word.
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
        // Outdated positions are removed before checking them costs more than checking the rest.
        if outdated * 2 > self.places.as_slice().len() - self.head as usize {
            let mut places = std::mem::take(&mut self.places);
            places.forget(self.head as usize);
            places.retain(|place| self.is_at(place, corpus));
            (self.places, self.head) = (places, 0);
        }
        best
    }

    /// Return the index of the first position after the word that contains position number `at`.
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
