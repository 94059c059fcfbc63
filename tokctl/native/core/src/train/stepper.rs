//! A training by merges, replayed to any step, forward and back, with the ranking of its pairs.
//!
//! The corpus and its pairs are the trainer's, and so are the scores and the tie keys. Training
//! itself needs only the best pair, which a selector keeps at the top of a heap. A reader wants to
//! see the next best pairs, too, so here all pairs of a step are ranked: linear in their number.

use std::cmp::Reverse;

use super::by_likelihood::Fraction;
use super::by_text::Spelling;
use super::corpus::{Corpus, Place};
use super::pairs::{PairId, Pairs};
use super::{fits, never, Criterion, Extend, Options, Refusal, Ties};
use crate::count::{run_ids, Counts};
use crate::error::{Error, Result};
use crate::Interrupt;

/// A pair of the corpus state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankedPair {
    pub left: u32,
    pub right: u32,
    pub count: u64,
    pub left_count: u64,
    pub right_count: u64,
    /// Reason why the training may not merge the pair, however often it occurs; None if it may.
    pub refusal: Option<Refusal>,
}

/// The leading pairs of a corpus state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranking {
    /// Best pairs first, without rare ones. Pairs that are refused for another reason are included.
    pub pairs: Vec<RankedPair>,
    /// The pair that the training would merge; None if no pair may merge.
    pub best: Option<RankedPair>,
    /// Number of pairs that may merge and have the score of `best`, `best` included.
    pub tied: usize,
}

/// A place where a step merged two symbols.
struct MergedPlace {
    place: Place,
    /// Width of the left symbol.
    left_width: u32,
}

/// The places and words that a step changed, to undo the step.
#[derive(Default)]
struct Undo {
    merged: Vec<MergedPlace>,
    /// Words that the step moved to the end of the scan, with their positions before it.
    moved: Vec<(u32, u64)>,
}

/// A training on counted pre-tokens at one of its steps: see the module.
pub struct Stepper {
    model: Extend,
    options: Options,
    corpus: Corpus,
    pairs: Pairs,
    /// Weighted number of symbols, including those without an id.
    symbols: u64,
    /// Weighted number of neighbours in the words, including symbols without an id.
    neighbours: u64,
    /// The changes of the steps made, first to last.
    undo: Vec<Undo>,
    /// Positions that undone steps gave back to pairs since [`Pairs::order_all`].
    regained: usize,
    /// Reason to refuse each pair, whatever its count.
    refusals: Vec<Option<Refusal>>,
}

impl Stepper {
    /// Build the state before the first merge.
    ///
    /// `words` are rows of initial symbols, as in [`Corpus::of_runs`]. `options` need only what
    /// decides between pairs. With `keeps_scan_order`, words that a merge rewrites move to the end
    /// of the scan, whatever the tie rule is.
    pub fn new(
        words: &Counts,
        model: Extend,
        options: Options,
        keeps_scan_order: bool,
    ) -> Result<Self> {
        let (mut symbols, mut neighbours) = (0u128, 0u128);
        for (word, count) in words.iter() {
            let length = run_ids(word).count() as u128;
            symbols += u128::from(count) * length;
            neighbours += u128::from(count) * length.saturating_sub(1);
        }
        let size = model.tokens.len() as u32;
        let outside =
            |&&(left, right, token): &&(u32, u32, u32)| left.max(right).max(token) >= size;
        if model.merges.iter().any(|merge| outside(&merge)) {
            return Err(Error::Invalid(
                "a merge names an id that the model lacks".into(),
            ));
        }
        let scan = if keeps_scan_order {
            Ties::RewrittenLast
        } else {
            options.ties
        };
        let symbols = fits(symbols)?;
        let corpus = Corpus::of_runs(words, model.tokens.len(), scan)?;
        let tokens = model.tokens.iter().map(Vec::as_slice);
        let mut pairs = Pairs::new(&corpus, tokens, &options, &mut |_| true)?;
        model.set_lengths((&options.marker, options.units), &mut pairs);
        Ok(Stepper {
            corpus,
            pairs,
            symbols,
            neighbours: neighbours as u64,
            undo: Vec::new(),
            regained: 0,
            refusals: Vec::new(),
            model,
            options,
        })
    }

    /// Return the number of merges made.
    pub fn step(&self) -> usize {
        self.undo.len()
    }

    /// Go to the state after `step` merges. A step costs as much as it rewrites.
    pub fn goto(&mut self, step: usize, interrupt: Interrupt) -> Result<()> {
        if step > self.model.merges.len() {
            return Err(Error::Invalid(format!("the model has no step {step}")));
        }
        while self.step() != step {
            if interrupt() {
                return Err(Error::Interrupted);
            }
            match self.step() < step {
                true => self.merge()?,
                false => self.split(),
            }
        }
        Ok(())
    }

    /// Make the next merge.
    fn merge(&mut self) -> Result<()> {
        let (left, right, token) = self.model.merges[self.step()];
        let mut undo = Undo::default();
        let mut times = 0;
        if let Some(pair) = self.pairs.id(left, right) {
            let record = |corpus: &Corpus, place| {
                times += corpus.weight(place);
                let left_width = corpus.width(place as usize) as u32;
                undo.merged.push(MergedPlace { place, left_width });
                if corpus.keeps_scan_order() {
                    undo.moved
                        .push((corpus.word(place), corpus.scan_place(place)));
                }
            };
            // An interruption in the middle of a merge would leave the counts wrong.
            let progress = &mut |_| true;
            (self.pairs).merge_each(pair, token, &mut self.corpus, progress, record)?;
        }
        self.symbols -= times;
        self.neighbours -= times;
        self.undo.push(undo);
        Ok(())
    }

    /// Undo the last merge: split each token that it made.
    fn split(&mut self) {
        let Some(undo) = self.undo.pop() else { return };
        let (left, right, token) = self.model.merges[self.step()];
        let mut times = 0;
        for &MergedPlace { place, left_width } in &undo.merged {
            let weight = self.corpus.weight(place);
            let right_width = self.corpus.width(place as usize) as u32 - left_width;
            let parts = [(left, left_width), (right, right_width)];
            let around = self.corpus.split_at(place, &parts);
            if let Some((before, symbol)) = around.before {
                self.pairs.lose(symbol, token, weight);
                self.pairs.gain_at(symbol, left, before, weight);
            }
            self.pairs.gain_at(left, right, place, weight);
            if let Some(symbol) = around.after {
                self.pairs.lose(token, symbol, weight);
                (self.pairs).gain_at(right, symbol, place + left_width, weight);
            }
            self.corpus.count_split(token, &parts, weight);
            times += weight;
        }
        for &(word, scan_place) in &undo.moved {
            self.corpus.move_back(word, scan_place);
        }
        self.symbols += times;
        self.neighbours += times;
        // Going back and forth lists the same positions again and again.
        self.regained += undo.merged.len();
        if self.regained > self.corpus.len() {
            self.regained = 0;
            self.pairs.order_all();
        }
    }

    /// Return the numbers of the words that the last merge rewrote, ascending.
    pub fn rewritten(&self) -> Vec<u32> {
        let merged = self.undo.last().map_or(&[][..], |undo| &undo.merged);
        let mut words: Vec<u32> = merged.iter().map(|at| self.corpus.word(at.place)).collect();
        words.dedup();
        words
    }

    /// Return the numbers of the words in the order in which the tie rule scans them.
    pub fn scan_order(&self) -> Vec<u32> {
        self.corpus.scan_order()
    }

    /// Return the weighted number of symbols, including those without an id.
    pub fn symbols(&self) -> u64 {
        self.symbols
    }

    /// Return the number of distinct pairs.
    pub fn distinct_pairs(&self) -> usize {
        self.present(1).count()
    }

    /// Return the weighted number of neighbours of which one has no id.
    pub fn unknown_pairs(&self) -> u64 {
        self.neighbours
            - self
                .present(1)
                .map(|pair| self.pairs.count(pair))
                .sum::<u64>()
    }

    fn present(&self, least: u64) -> impl Iterator<Item = PairId> + '_ {
        (0..self.pairs.len() as PairId).filter(move |&pair| self.pairs.count(pair) >= least)
    }

    /// Return the value that the training compares.
    fn score(&self, pair: PairId) -> Fraction {
        let count = self.pairs.count(pair);
        let (left, right) = self.pairs.symbols(pair);
        let symbol_count = |symbol| self.corpus.symbol_count(symbol);
        match self.options.criterion {
            Criterion::Count => Fraction::new(count, 1, 1),
            Criterion::Likelihood => Fraction::new(count, symbol_count(left), symbol_count(right)),
        }
    }

    /// Find out for each new pair whether the training may merge it.
    fn judge_new_pairs(&mut self) {
        let known = self.refusals.len();
        if known == self.pairs.len() {
            return;
        }
        let never = never(&self.options);
        let tokens = &self.model.tokens;
        let new = (known as PairId..self.pairs.len() as PairId).map(|pair| {
            if !self.pairs.is_allowed(pair) {
                return Some(Refusal::TooLong);
            }
            let (left, right) = self.pairs.symbols(pair);
            let (left, right) = (&tokens[left as usize], &tokens[right as usize]);
            let joined = self.options.marker.join(left, right);
            self.options.refusal(&never, left, &joined)
        });
        self.refusals.extend(new);
    }

    /// Sort pairs as the training prefers them: by score, equal scores by the tie rule.
    fn rank(&mut self, ranked: &mut [(Fraction, PairId)]) {
        let (pairs, corpus) = (&mut self.pairs, &self.corpus);
        if self.options.ties == Ties::HighestText {
            let spelling = Spelling::of(&self.options);
            let text = |id: u32| spelling.spell(&self.model.tokens[id as usize]);
            ranked.sort_by_cached_key(|&(_, pair)| {
                let (left, right) = pairs.symbols(pair);
                Reverse((text(left), text(right)))
            });
        } else {
            ranked.sort_by_cached_key(|&(_, pair)| pairs.tie_key(pair, corpus));
        }
        ranked.sort_by_key(|&(score, _)| Reverse(score)); // keeps the order of equals
    }

    fn described(&self, pair: PairId) -> RankedPair {
        let (left, right) = self.pairs.symbols(pair);
        RankedPair {
            left,
            right,
            count: self.pairs.count(pair),
            left_count: self.corpus.symbol_count(left),
            right_count: self.corpus.symbol_count(right),
            refusal: self.refusals[pair as usize],
        }
    }

    /// Return the `limit` best pairs, and the pair that the training would merge.
    pub fn leading(&mut self, limit: usize) -> Ranking {
        self.judge_new_pairs();
        let least = self.options.min_frequency.max(1);
        let mut found: Vec<_> = self
            .present(least)
            .map(|pair| (self.score(pair), pair))
            .collect();
        let allowed = found.iter();
        let allowed = allowed.filter(|(_, pair)| self.refusals[*pair as usize].is_none());
        let highest = allowed.clone().map(|(score, _)| *score).max();
        let mut tied: Vec<_> = allowed
            .filter(|(score, _)| Some(*score) == highest)
            .copied()
            .collect();
        self.rank(&mut tied);
        if let Some(last) = limit.checked_sub(1).filter(|&last| last < found.len()) {
            // Only the best, and those that tie with the last of them, need their tie keys.
            let (_, &mut (lowest, _), _) = found.select_nth_unstable_by(last, |a, b| b.0.cmp(&a.0));
            found.retain(|(score, _)| *score >= lowest);
        }
        self.rank(&mut found);
        found.truncate(limit);
        let pairs = found.iter().map(|&(_, pair)| self.described(pair));
        Ranking {
            pairs: pairs.collect(),
            best: tied.first().map(|&(_, pair)| self.described(pair)),
            tied: tied.len(),
        }
    }

    /// Return all pairs in the order that the training prefers, rare and refused ones included.
    pub fn all_pairs(&mut self) -> Vec<RankedPair> {
        self.judge_new_pairs();
        let mut found: Vec<_> = self
            .present(1)
            .map(|pair| (self.score(pair), pair))
            .collect();
        self.rank(&mut found);
        found
            .iter()
            .map(|&(_, pair)| self.described(pair))
            .collect()
    }

    /// Return the pair of two symbols with the number of pairs of a higher score; None if the two
    /// are not neighbours in this state.
    pub fn pair(&mut self, left: u32, right: u32) -> Option<(RankedPair, usize)> {
        self.judge_new_pairs();
        let pair = self.pairs.id(left, right);
        let pair = pair.filter(|&pair| self.pairs.count(pair) > 0)?;
        let score = self.score(pair);
        let above = self.present(1).filter(|&other| self.score(other) > score);
        Some((self.described(pair), above.count()))
    }
}
