//! Every adjacent pair of the corpus state: its count and where it occurs.

use hashbrown::HashMap;

use super::corpus::{Corpus, Place};
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
    places: Vec<Place>,
    /// Places before this index are known to be outdated.
    head: usize,
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
    ids: HashMap<u64, PairId>,
    ties: Ties,
    min_frequency: u64,
    max_length: u64,
    marker: Marker,
    lengths: Vec<Length>,
    /// Number of the last merge in which each pair gained, so that it is reported once.
    gained_in: Vec<u64>,
    merges: u64,
}

/// Progress is reported, and Ctrl-C looked for, every so many places.
const REPORT_EVERY: usize = 1 << 16;

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

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
            ids: HashMap::new(),
            ties: options.ties,
            min_frequency: options.min_frequency.max(1),
            max_length: options.max_token_length.unwrap_or(u64::MAX),
            marker: options.marker.clone(),
            lengths: lengths.collect(),
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

    /// The pair of two symbols, where they have ever been neighbours.
    pub fn id(&self, left: u32, right: u32) -> Option<PairId> {
        self.ids.get(&key(left, right)).copied()
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

    fn gain(&mut self, place: Place, left: u32, right: u32, weight: u64) -> PairId {
        let new = self.pairs.len() as PairId;
        let id = *self.ids.entry(key(left, right)).or_insert(new);
        if id == new {
            let allowed = self.merged_length(left, right).text <= self.max_length;
            self.pairs.push(Pair {
                left,
                right,
                count: 0,
                places: Vec::new(),
                head: 0,
                disordered: false,
                allowed,
                key_bound: (0, 0),
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
        if self.lengths.len() <= token as usize {
            let length = self.merged_length(left, right);
            self.lengths.resize(token as usize + 1, length);
        }

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

    /// The key that [`Pairs::tie_key`] gave last: the present one is no smaller, unless
    /// the pair has gained occurrences since.
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
        self.places.get(self.head).map(|&place| (0, place.into()))
    }

    /// Moves `head` to the first place where the pair still is.
    fn skip_outdated(&mut self, corpus: &Corpus) {
        while let Some(&place) = self.places.get(self.head) {
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
        let mut at = self.head;
        while let Some(&place) = self.places.get(at) {
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
        if outdated * 2 > self.places.len() - self.head {
            let mut places = std::mem::take(&mut self.places);
            places.drain(..self.head);
            places.retain(|&place| self.is_at(place, corpus));
            (self.places, self.head) = (places, 0);
        }
        best
    }

    /// The index of the first place after the word that place number `at` lies in.
    fn after_word(&self, at: usize, corpus: &Corpus) -> usize {
        let word = corpus.word(self.places[at]);
        let mut step = 1;
        while self
            .places
            .get(at + step)
            .is_some_and(|&p| corpus.word(p) == word)
        {
            step *= 2;
        }
        let from = at + step / 2;
        let to = self.places.len().min(at + step);
        from + self.places[from..to].partition_point(|&p| corpus.word(p) <= word)
    }
}
