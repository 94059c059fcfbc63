//! Training that also removes tokens: PickyBPE, BoundlessBPE with a threshold, and Scaffold-BPE.
//!
//! All three merge as BPE does, and check the two merged tokens after each merge. PickyBPE (Chizhov
//! et al. 2024) removes a token that now hardly occurs outside the new token, and splits its
//! remaining occurrences. BoundlessBPE (Schmidt et al. 2025) does so in its first phase, but splits
//! into initial symbols. Scaffold-BPE (Lian et al. 2024) leaves the corpus unchanged: a token that
//! has become rarer than the next candidate only leaves the vocabulary, and comes back once it is
//! the most frequent of all that wait.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashSet;

use super::by_count::ByCount;
use super::corpus::{Corpus, Place};
use super::pairs::{PairId, Pairs};
use super::{alphabet, count_symbols, never, Options, Progress, Selector, Stop, Training};
use crate::count::Counts;
use crate::error::{Error, Result};
use crate::model::{Merge, Vocabulary};

/// Rule by which tokens are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalRule {
    /// Remove a token if `merged / (merged + left over)` is at least `threshold` (PickyBPE).
    ///
    /// With `to_symbols`, the denominator is the token's count before the merge (each merge of `aa`
    /// takes two occurrences), and remaining occurrences are split into initial symbols
    /// (BoundlessBPE).
    Intermediate {
        threshold: (u64, u64),
        to_symbols: bool,
    },
    /// Remove a token if it is rarer than the head of the queue (Scaffold-BPE).
    Scaffold,
}

/// Removal of a token after merge number `step`, counted from 1.
///
/// With [`RemovalRule::Intermediate`], `count` of the token's `whole` occurrences became the new
/// token. With [`RemovalRule::Scaffold`], the token occurs `count` times, and the head of the queue
/// `whole` times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenRemoval {
    pub step: u32,
    pub token: u32,
    pub count: u64,
    pub whole: u64,
}

/// Merges and removals of a training. Token numbers are ids; removed tokens have the numbers after
/// the last id.
#[derive(Debug, Clone, Default)]
pub struct TrainingEvents {
    pub removed: Vec<Vec<u8>>,
    pub merges: Vec<Merge>,
    pub removals: Vec<TokenRemoval>,
}

/// State of a training with removals.
struct Refinement<'o> {
    options: &'o Options,
    vocabulary: Vocabulary,
    corpus: Corpus,
    pairs: Pairs,
    selector: ByCount,
    /// Strings that no merge may make.
    never: HashSet<&'o [u8]>,
    /// First symbol made by a merge. Only merged symbols are ever removed.
    alphabet_end: u32,
    /// Merged tokens by number, from `alphabet_end` on.
    merged: Vec<MergedToken>,
    /// Number of tokens that have an id.
    size: u64,
    events: TrainingEvents,
}

/// State of a token that a merge made.
struct MergedToken {
    /// Left and right side of its first merge.
    sides: (u32, u32),
    /// Width in initial symbols.
    width: u32,
    removed: bool,
    /// Positions where the token is, and outdated ones where it once was. Only kept where
    /// occurrences are split.
    places: Vec<Place>,
}

/// Train with removals by `rule`. A model can't be extended.
pub fn train(
    counts: &Counts,
    options: &Options,
    rule: RemovalRule,
    progress: Progress,
) -> Result<Training> {
    count_symbols(counts, options)?;
    if options.extend.is_some() {
        let message = "a training that removes tokens can't go on from a model";
        return Err(Error::Invalid(message.into()));
    }
    let vocabulary = alphabet::vocabulary(counts, options)?;
    let corpus = Corpus::new(counts, &vocabulary, options, None, progress)?;
    let mut pairs = Pairs::new(&corpus, vocabulary.tokens().iter(), options, progress)?;
    let state = Refinement {
        options,
        alphabet_end: vocabulary.len() as u32,
        size: vocabulary.len() as u64,
        selector: ByCount::new(&mut pairs, &corpus),
        never: never(options),
        vocabulary,
        corpus,
        pairs,
        merged: Vec::new(),
        events: TrainingEvents::default(),
    };
    match rule {
        RemovalRule::Intermediate {
            threshold,
            to_symbols,
        } => state.remove_intermediate(threshold, to_symbols, progress),
        RemovalRule::Scaffold => state.remove_scaffolds(progress),
    }
}

impl Refinement<'_> {
    fn is_full(&self) -> bool {
        self.size >= self.options.vocab_size
    }

    fn report(&self, progress: Progress) -> Result<()> {
        match progress(self.size) {
            true => Ok(()),
            false => Err(Error::Interrupted),
        }
    }

    /// Return the next pair to merge and the string that it makes, or None if no pair is left.
    fn next(&mut self) -> Option<(PairId, Vec<u8>)> {
        loop {
            let best = self.selector.next(&mut self.pairs, &self.corpus)?;
            let (left, right) = self.pairs.symbols(best);
            let token = |id| self.vocabulary.token(id).expect("symbols are tokens");
            let string = self.options.marker.join(token(left), token(right));
            let refusal = self.options.refusal(&self.never, token(left), &string);
            if refusal.is_none() {
                return Some((best, string));
            }
            self.pairs.refuse(best);
        }
    }

    fn merged(&mut self, token: u32) -> Option<&mut MergedToken> {
        let number = token.checked_sub(self.alphabet_end)?;
        self.merged.get_mut(number as usize)
    }

    fn width(&self, symbol: u32) -> u32 {
        match symbol.checked_sub(self.alphabet_end) {
            Some(number) => self.merged[number as usize].width,
            None => 1,
        }
    }

    fn is_removed(&self, symbol: u32) -> bool {
        let number = symbol.checked_sub(self.alphabet_end);
        number.is_some_and(|number| self.merged[number as usize].removed)
    }

    /// Merge a pair wherever it occurs. Return the token made, and how often.
    fn merge(&mut self, pair: PairId, string: &[u8], progress: Progress) -> Result<(u32, u64)> {
        let (left, right) = self.pairs.symbols(pair);
        let token = self.vocabulary.intern(string);
        if (token - self.alphabet_end) as usize == self.merged.len() {
            let width = self.width(left) + self.width(right);
            self.merged.push(MergedToken {
                sides: (left, right),
                width,
                removed: true,
                places: Vec::new(),
            });
        }
        if let Some(merged) = self.merged(token) {
            // A token that is new, or was removed, gets an id.
            let gained = std::mem::take(&mut merged.removed);
            self.size += u64::from(gained);
        }
        let merge = Merge {
            left,
            right,
            token,
            count: self.pairs.count(pair),
            left_count: self.corpus.symbol_count(left),
            right_count: self.corpus.symbol_count(right),
        };
        let before = self.corpus.symbol_count(token);
        let gained = self.pairs.merge(pair, token, &mut self.corpus, progress)?;
        (self.selector).merged(&merge, &gained, &mut self.pairs, &self.corpus);
        self.events.merges.push(merge);
        Ok((token, self.corpus.symbol_count(token) - before))
    }

    /// Remove a token from the vocabulary and record the removal.
    fn remove(&mut self, token: u32, count: u64, whole: u64) {
        self.merged(token).expect("a merged token").removed = true;
        self.size -= 1;
        self.events.removals.push(TokenRemoval {
            step: self.events.merges.len() as u32,
            token,
            count,
            whole,
        });
    }

    fn finish(mut self, stop: Stop, progress: Progress) -> Training {
        progress(self.size);
        let total = self.vocabulary.len() as u32;
        let (removed, kept): (Vec<u32>, Vec<u32>) = (0..total).partition(|&id| self.is_removed(id));
        let mut numbers = vec![0; total as usize];
        let mut vocabulary = Vocabulary::default();
        let token = |id: &u32| self.vocabulary.token(*id).expect("an id of the vocabulary");
        for (number, id) in (0..).zip(kept.iter().chain(&removed)) {
            numbers[*id as usize] = number;
        }
        for id in &kept {
            vocabulary.intern(token(id));
        }
        self.events.removed = removed.iter().map(|id| token(id).to_vec()).collect();
        let number = |id: &mut u32| *id = numbers[*id as usize];
        for merge in &mut self.events.merges {
            number(&mut merge.left);
            number(&mut merge.right);
            number(&mut merge.token);
        }
        for removal in &mut self.events.removals {
            number(&mut removal.token);
        }
        Training {
            vocabulary,
            merges: Vec::new(),
            initial_merges: 0,
            alphabet_end: self.alphabet_end,
            stop,
            events: Some(self.events),
        }
    }
}

// -- PickyBPE and BoundlessBPE ------------------------------------------------------------

impl Refinement<'_> {
    fn remove_intermediate(
        mut self,
        (numerator, denominator): (u64, u64),
        to_symbols: bool,
        progress: Progress,
    ) -> Result<Training> {
        let mut stop = Stop::VocabularyFull;
        while !self.is_full() {
            self.report(progress)?;
            let Some((pair, string)) = self.next() else {
                stop = Stop::Exhausted;
                break;
            };
            let (left, right) = self.pairs.symbols(pair);
            let places = self.pairs.places(pair).to_vec();
            let (token, times) = self.merge(pair, &string, progress)?;
            let made = places.into_iter();
            let made: Vec<Place> = made
                .filter(|&place| self.corpus.symbol_at(place) == token)
                .collect();
            let merged = self.merged(token).expect("a merged token");
            match merged.places.is_empty() {
                true => merged.places = made,
                false => merged.places.extend(made),
            }
            let sides = [left, right];
            for &side in &sides[usize::from(left == right)..] {
                let taken = times << u32::from(to_symbols && left == right);
                let whole = self.corpus.symbol_count(side) + taken;
                let reached = u128::from(times) * u128::from(denominator)
                    >= u128::from(whole) * u128::from(numerator);
                if side >= self.alphabet_end && !self.is_removed(side) && reached {
                    self.remove(side, times, whole);
                    self.split(side, to_symbols, progress)?;
                }
            }
        }
        Ok(self.finish(stop, progress))
    }

    /// Return the tokens into which a removed token is split: the sides of its first merge, where
    /// each side that was removed (with `to_symbols`: each merged side) is split further.
    fn parts(&self, token: u32, to_symbols: bool) -> Vec<u32> {
        let (mut waiting, mut parts) = (vec![token], Vec::new());
        while let Some(symbol) = waiting.pop() {
            if symbol >= self.alphabet_end && (to_symbols || self.is_removed(symbol)) {
                let (left, right) = self.merged[(symbol - self.alphabet_end) as usize].sides;
                waiting.extend([right, left]);
            } else {
                parts.push(symbol);
            }
        }
        parts
    }

    /// Split the remaining occurrences of a removed token.
    fn split(&mut self, token: u32, to_symbols: bool, progress: Progress) -> Result<()> {
        let merged = self.merged(token).expect("a merged token");
        let mut places = std::mem::take(&mut merged.places);
        places.retain(|&place| self.corpus.symbol_at(place) == token);
        places.sort_unstable();
        places.dedup();
        if places.is_empty() {
            return Ok(());
        }
        let parts = self.parts(token, to_symbols);
        let parts: Vec<_> = (parts.iter())
            .map(|&part| (part, self.width(part)))
            .collect();
        let (mut gained, mut rewritten, mut times) = (Vec::new(), Vec::new(), 0);
        for (number, &place) in places.iter().enumerate() {
            if number % (1 << 16) == (1 << 16) - 1 {
                self.report(progress)?;
            }
            let weight = self.corpus.weight(place);
            times += weight;
            let around = self.corpus.split_at(place, &parts);
            if let Some((before, symbol)) = around.before {
                self.pairs.lose(symbol, token, weight);
                gained.push(self.pairs.gain_at(symbol, parts[0].0, before, weight));
            }
            let mut at = place;
            for (index, &(part, width)) in parts.iter().enumerate() {
                if let Some(merged) = self.merged(part) {
                    merged.places.push(at);
                }
                let next = parts.get(index + 1).map(|next| next.0).or(around.after);
                if let Some(next) = next {
                    gained.push(self.pairs.gain_at(part, next, at, weight));
                }
                at += width;
            }
            if let Some(symbol) = around.after {
                self.pairs.lose(token, symbol, weight);
            }
            if self.corpus.keeps_scan_order() {
                rewritten.push(self.corpus.word(place));
            }
        }
        self.corpus.count_split(token, &parts, times);
        self.corpus.move_to_end(&mut rewritten);
        gained.sort_unstable();
        gained.dedup();
        gained.retain(|&pair| self.pairs.is_candidate(pair));
        (self.selector).push_all(&gained, &mut self.pairs, &self.corpus);
        Ok(())
    }
}

// -- Scaffold-BPE -----------------------------------------------------------------------

impl Refinement<'_> {
    fn remove_scaffolds(mut self, progress: Progress) -> Result<Training> {
        let mut waiting = BinaryHeap::new();
        let mut stop = Stop::VocabularyFull;
        let mut next = self.next();
        while !self.is_full() {
            self.report(progress)?;
            let count = next.as_ref().map_or(0, |next| self.pairs.count(next.0));
            if let Some((scaffold, _)) = self.most_frequent(&mut waiting).filter(|s| s.1 >= count) {
                waiting.pop();
                self.merged(scaffold).expect("a merged token").removed = false;
                self.size += 1;
                continue;
            }
            let Some((pair, string)) = next else {
                stop = Stop::Exhausted;
                break;
            };
            let (left, right) = self.pairs.symbols(pair);
            self.merge(pair, &string, progress)?;
            next = self.next();
            let head = next.as_ref().map_or(0, |next| self.pairs.count(next.0));
            let scaffold = self.most_frequent(&mut waiting).map_or(0, |found| found.1);
            let head = head.max(scaffold);
            let sides = [left, right];
            for &side in &sides[usize::from(left == right)..] {
                let count = self.corpus.symbol_count(side);
                if side >= self.alphabet_end && !self.is_removed(side) && count < head {
                    self.remove(side, count, head);
                    waiting.push((count, Reverse(side)));
                }
            }
        }
        // Tokens that came back are dropped from the list; of several removals of a token the last
        // counts.
        let mut seen = HashSet::new();
        let mut removals = std::mem::take(&mut self.events.removals);
        removals.reverse();
        removals.retain(|removal| self.is_removed(removal.token) && seen.insert(removal.token));
        removals.reverse();
        self.events.removals = removals;
        Ok(self.finish(stop, progress))
    }

    /// Return the most frequent scaffold token and its count; of equally frequent ones, the oldest.
    /// The token stays at the top of `waiting`.
    fn most_frequent(&self, waiting: &mut BinaryHeap<(u64, Reverse<u32>)>) -> Option<(u32, u64)> {
        let least = self.options.min_frequency.max(1);
        while let Some(&(count, Reverse(token))) = waiting.peek() {
            let now = self.corpus.symbol_count(token);
            if count == now && now >= least && self.is_removed(token) {
                return Some((token, now));
            }
            waiting.pop();
            // Later merges also take occurrences from a scaffold token, so its count may have
            // fallen.
            if self.is_removed(token) && now < count && now >= least {
                waiting.push((now, Reverse(token)));
            }
        }
        None
    }
}
