//! Every adjacent pair of the corpus state: its count and where it occurs.

use super::corpus::{Corpus, Place};
use super::neighbours::Neighbours;
use super::pair_table::PairTable;
use super::places::Places;
use super::ties::{TieKey, Ties};
use super::{Options, Progress};
use crate::error::{Error, Result};
use crate::model::{Marker, Units, Vocabulary};

pub type PairId = u32;

struct Pair {
    left: u32,
    right: u32,
    count: u64,
    /// Where the pair occurs, and places where it once did: they are told apart by a
    /// look at the corpus. Ascending but for `disordered`.
    places: Places,
    /// Places before this index are known to be outdated.
    head: u32,
    /// Set when a merge made a token that existed already, which can give an old pair
    /// places before those it has.
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
    before: Neighbours,
    after: Neighbours,
}

/// Progress is reported, and Ctrl-C looked for, every so many places.
const REPORT_EVERY: usize = 1 << 16;

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
            before: Neighbours::default(),
            after: Neighbours::default(),
        };
        for (number, (place, left, right)) in corpus.pairs().enumerate() {
            if number % REPORT_EVERY == 0 && !progress(0) {
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
                places: Places::default(),
                head: 0,
                disordered: false,
                allowed,
                key_bound: (0, 0),
            });
        }
        id
    }

    fn lose(&mut self, left: u32, right: u32, weight: u64) {
        if let Some(id) = self.id(left, right) {
            let pair = &mut self.pairs[id as usize];
            pair.count -= weight;
            if pair.count == 0 {
                // Its places are all outdated, and free memory is worth more.
                pair.places = Places::default();
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
        if self.lengths.len() <= token as usize {
            let length = self.merged_length(left, right);
            self.lengths.resize(token as usize + 1, length);
        }

        self.before.clear(self.lengths.len());
        self.after.clear(self.lengths.len());
        let mut merged = 0;
        let mut rewritten = Vec::new();
        for (number, &place) in places.as_slice()[head..].iter().enumerate() {
            if number % REPORT_EVERY == REPORT_EVERY - 1 && !progress(0) {
                return Err(Error::Interrupted);
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
        drop(places);
        corpus.count_merged(left, right, token, merged);
        corpus.move_to_end(&mut rewritten);
        self.lose(left, right, merged);
        Ok(self.settle(left, right, token))
    }

    /// Brings the pairs around a merge up to date. All gain before any loses: between two
    /// places that follow each other a pair is made and broken up again.
    fn settle(&mut self, left: u32, right: u32, token: u32) -> Vec<PairId> {
        let (before, after) = (
            std::mem::take(&mut self.before),
            std::mem::take(&mut self.after),
        );
        let mut gained = Vec::with_capacity(before.found().len() + after.found().len());
        self.gain(&before, |symbol| (symbol, token), &mut gained);
        self.gain(&after, |symbol| (token, symbol), &mut gained);
        for neighbour in before.found() {
            self.lose(neighbour.symbol, left, neighbour.weight);
        }
        for neighbour in after.found() {
            self.lose(right, neighbour.symbol, neighbour.weight);
        }
        (self.before, self.after) = (before, after);
        gained.retain(|&pair| self.is_candidate(pair));
        gained
    }

    fn gain(
        &mut self,
        neighbours: &Neighbours,
        symbols: impl Fn(u32) -> (u32, u32),
        gained: &mut Vec<PairId>,
    ) {
        let first = gained.len();
        for neighbour in neighbours.found() {
            let (left, right) = symbols(neighbour.symbol);
            let id = self.pair(left, right);
            let pair = &mut self.pairs[id as usize];
            pair.count += neighbour.weight;
            pair.key_bound = (0, 0);
            pair.places.reserve(neighbour.places);
            gained.push(id);
        }
        for &(index, place) in neighbours.places() {
            let pair = &mut self.pairs[gained[first + index as usize] as usize];
            match pair.places.as_slice().last() {
                Some(&last) if last > place => pair.disordered = true,
                Some(&last) if last == place => continue,
                _ => {}
            }
            pair.places.push(place);
        }
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
