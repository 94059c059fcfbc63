//! Superwords: the second phase of BoundlessBPE.
//!
//! The first phase is BPE up to the vocabulary size, possibly with removals ([`super::removal`]).
//! The second phase merges runs of words by count. The runs are counted in advance, so that no text
//! has to be kept (Schmidt et al. 2026, "Faster Superword Tokenization").
//!
//! Each step takes whichever occurs more often: the next merge of the first phase with the removals
//! after it, or the best supermerge. This ends when the vocabulary is full; further merges of the
//! first phase are discarded. On equal counts the merge of the first phase goes first. So a word
//! always exists before a supermerge uses it, because a supermerge takes no more words than the
//! last merge of the word made. Only after a removal can a merge have a higher count than the merge
//! before it; a supermerge then waits until its words exist.

use std::mem::replace;

use super::by_count::ByCount;
use super::corpus::Corpus;
use super::pairs::Pairs;
use super::{never, Options, Progress, Selector, Stop, Training, TrainingEvents};
use crate::count::Counts;
use crate::error::{Error, Result};
use crate::model::{Merge, Stored, Vocabulary};

/// Result of the first phase.
pub struct FirstPhase<'f> {
    pub model: &'f Stored,
    /// Merges and removals, if tokens could be removed; the model then has no merges.
    pub events: Option<&'f TrainingEvents>,
    pub alphabet_end: u32,
    /// For each token id: the number of merges after which a pre-token that equals the token is a
    /// single token, and stays one.
    pub whole_after: &'f [u32],
}

/// Result of both phases; superwords have the last ids.
pub struct SuperwordTraining {
    pub training: Training,
    pub supermerges: Vec<Merge>,
}

/// Continue from the first phase with `pre_tokens`, on which that phase was trained, and `runs`,
/// the runs of words that [`Counter::of_runs`](crate::count::Counter::of_runs) counted.
///
/// Only these options are used: `vocab_size`, `ties`, `min_frequency`, `max_token_length`,
/// `special_tokens` and `reserved`.
pub fn train_superwords(
    first: &FirstPhase,
    pre_tokens: &Counts,
    runs: &Counts,
    options: &Options,
    progress: Progress,
) -> Result<SuperwordTraining> {
    check_counts(runs)?;
    let events = match first.events {
        Some(events) => events,
        None => &without_removals(first.model),
    };
    let mut vocabulary = Vocabulary::default();
    let removed = events.removed.iter().map(Vec::as_slice);
    for token in first.model.tokens.iter().chain(removed) {
        vocabulary.intern(token);
    }
    let words = vocabulary.len();
    let mut corpus = Corpus::of_runs(runs, words, options.ties)?;
    for (pre_token, count) in pre_tokens.iter() {
        if let Some(word) = vocabulary.id(pre_token) {
            corpus.count_all(word, count);
        }
    }
    let mut pairs = Pairs::new(&corpus, vocabulary.tokens().iter(), options, progress)?;
    let mut selector = ByCount::new(&mut pairs, &corpus);
    let never = never(options);
    let mut kept = FirstSteps::new(events, words);
    let mut supermerges: Vec<Merge> = Vec::new();
    let mut stop = Stop::VocabularyFull;
    // The best supermerge, kept until it is made or refused.
    let mut best = None;
    while kept.size + (supermerges.len() as u64) < options.vocab_size {
        if best.is_none() {
            best = selector.next(&mut pairs, &corpus);
        }
        let next = events.merges.get(kept.merges).map(|merge| merge.count);
        let is_there = |symbol: u32| match first.whole_after.get(symbol as usize) {
            Some(&after) => after as usize <= kept.merges,
            None => true,
        };
        let goes_first = |&pair: &_| {
            let (left, right) = pairs.symbols(pair);
            let more = next.is_none_or(|next| pairs.count(pair) > next);
            more && is_there(left) && is_there(right)
        };
        let Some(pair) = best.filter(goes_first) else {
            if next.is_none() {
                stop = Stop::Exhausted;
                break;
            }
            kept.step();
            continue;
        };
        if !progress(kept.size + supermerges.len() as u64) {
            return Err(Error::Interrupted);
        }
        best = None;
        let (left, right) = pairs.symbols(pair);
        let text = |symbol| vocabulary.token(symbol).expect("symbols are tokens");
        let string = [text(left), text(right)].concat();
        // No string becomes two tokens. (Pre-tokenizers with look-ahead could split a string in two
        // ways.)
        if never.contains(string.as_slice()) || vocabulary.id(&string).is_some() {
            pairs.refuse(pair);
            selector.refused(pair, &pairs, &corpus);
            continue;
        }
        let token = vocabulary.intern(&string);
        let merge = Merge {
            left,
            right,
            token,
            count: pairs.count(pair),
            left_count: corpus.symbol_count(left),
            right_count: corpus.symbol_count(right),
        };
        let gained = pairs.merge(pair, token, &mut corpus, progress)?;
        selector.merged(&merge, &gained, &mut pairs, &corpus);
        supermerges.push(merge);
    }
    progress(kept.size + supermerges.len() as u64);
    let (tokens, mut events) = kept.finish(&vocabulary, words, &mut supermerges);
    let merges = match first.events {
        Some(_) => Vec::new(),
        None => std::mem::take(&mut events.merges),
    };
    Ok(SuperwordTraining {
        training: Training {
            vocabulary: tokens,
            merges,
            initial_merges: 0,
            alphabet_end: first.alphabet_end,
            stop,
            events: first.events.map(|_| events),
        },
        supermerges,
    })
}

/// Return the merges of a model whose training kept all tokens.
fn without_removals(model: &Stored) -> TrainingEvents {
    let [counts, lefts, rights] = &model.counts;
    let counts = counts.iter().zip(lefts).zip(rights);
    let merges = model.merges.iter().zip(counts);
    let merges = merges.map(
        |(&(left, right, token), ((&count, &left_count), &right_count))| Merge {
            left,
            right,
            token,
            count,
            left_count,
            right_count,
        },
    );
    TrainingEvents {
        merges: merges.collect(),
        ..TrainingEvents::default()
    }
}

/// The part of the first phase that is kept.
struct FirstSteps<'e> {
    events: &'e TrainingEvents,
    /// Number of merges that are kept.
    merges: usize,
    removals: usize,
    /// Whether each token has an id, by token number.
    present: Vec<bool>,
    /// Tokens that ever existed, in the order in which they were first made.
    order: Vec<u32>,
    /// Number of tokens that have an id.
    size: u64,
}

impl<'e> FirstSteps<'e> {
    fn new(events: &'e TrainingEvents, words: usize) -> Self {
        let mut present = vec![true; words];
        for merge in &events.merges {
            present[merge.token as usize] = false;
        }
        let order: Vec<u32> = (0..words as u32)
            .filter(|&id| present[id as usize])
            .collect();
        FirstSteps {
            events,
            merges: 0,
            removals: 0,
            size: order.len() as u64,
            present,
            order,
        }
    }

    /// Keep one more merge and the removals after it.
    fn step(&mut self) {
        let token = self.events.merges[self.merges].token;
        self.merges += 1;
        if !replace(&mut self.present[token as usize], true) {
            self.size += 1;
            self.order.push(token);
        }
        let removals = &self.events.removals[self.removals..];
        for removal in removals
            .iter()
            .take_while(|removal| removal.step as usize == self.merges)
        {
            self.present[removal.token as usize] = false;
            self.size -= 1;
            self.removals += 1;
        }
    }

    /// Return the kept tokens and events with their final numbers: ids first, then removed tokens.
    ///
    /// In `vocabulary`, the superwords come after the `words` tokens of the first phase.
    fn finish(
        self,
        vocabulary: &Vocabulary,
        words: usize,
        supermerges: &mut [Merge],
    ) -> (Vocabulary, TrainingEvents) {
        let mut seen = vec![false; words];
        let mut order = self.order;
        order.retain(|&id| !replace(&mut seen[id as usize], true));
        let (present, gone): (Vec<u32>, Vec<u32>) =
            (order.iter()).partition(|&&id| self.present[id as usize]);
        let superwords = words as u32..vocabulary.len() as u32;
        let token = |id: u32| vocabulary.token(id).expect("an id of the vocabulary");
        let mut numbers = vec![0; vocabulary.len()];
        let mut tokens = Vocabulary::default();
        for id in present.into_iter().chain(superwords) {
            numbers[id as usize] = tokens.intern(token(id));
        }
        for (number, &id) in (tokens.len() as u32..).zip(&gone) {
            numbers[id as usize] = number;
        }
        let mut events = TrainingEvents {
            removed: gone.iter().map(|&id| token(id).to_vec()).collect(),
            merges: self.events.merges[..self.merges].to_vec(),
            removals: self.events.removals[..self.removals].to_vec(),
        };
        let renumber = |id: &mut u32| *id = numbers[*id as usize];
        for merge in events.merges.iter_mut().chain(supermerges) {
            renumber(&mut merge.left);
            renumber(&mut merge.right);
            renumber(&mut merge.token);
        }
        for removal in &mut events.removals {
            renumber(&mut removal.token);
        }
        (tokens, events)
    }
}

/// Check that the number of words in all runs fits 64 bits. No count exceeds this number, so no
/// count can wrap.
fn check_counts(runs: &Counts) -> Result<()> {
    let words = runs
        .iter()
        .map(|(run, count)| run.len() as u128 / 4 * u128::from(count));
    match u64::try_from(words.sum::<u128>()) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::TooLarge(
            "the runs have more words than 64 bits count".into(),
        )),
    }
}
