//! Parity-aware BPE (Foroutan et al. 2025, arXiv 2508.04796): the language that is compressed worst
//! chooses the next merge.
//!
//! Each language has a training text and may have a development text. Each step serves the language
//! whose development text (without one: whose training text) has the highest cost. The best pair of
//! that language's training text is merged in every text. All training texts together may choose
//! the first merges, as in ordinary BPE (the hybrid variant). A moving window may keep one language
//! from being served all the time.
//!
//! Every text is a corpus state of its own, with its own pair numbers; the vocabulary is shared.
//! All training texts together are one more corpus state, which is dropped before the others are
//! built.

use std::cmp::Ordering;
use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};

use super::alphabet;
use super::corpus::Corpus;
use super::pairs::{PairId, Pairs};
use super::{count_symbols, never, Options, Progress, Selector, Stop, Training};
use crate::count::Counts;
use crate::error::{Error, Result};
use crate::model::{Merge, Vocabulary};

/// Divisor of a text's number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// No divisor: the texts of all languages have the same content.
    Tokens,
    /// Number of bytes.
    Bytes,
    /// Number of characters.
    Characters,
}

impl Measure {
    pub fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "tokens" => Measure::Tokens,
            "bytes" => Measure::Bytes,
            "characters" => Measure::Characters,
            _ => return Err(Error::Invalid(format!("no measure is called {name}"))),
        })
    }

    /// Return the divisor for a text.
    fn of(self, counts: &Counts) -> Result<u64> {
        if self == Measure::Tokens {
            return Ok(1);
        }
        let length = |word: &[u8]| match self {
            Measure::Bytes => word.len(),
            _ => word.iter().filter(|&&byte| byte & 0xC0 != 0x80).count(),
        };
        let lengths = counts
            .iter()
            .map(|(word, count)| u128::from(count) * length(word) as u128);
        u64::try_from(lengths.sum::<u128>())
            .map_err(|_| Error::TooLarge("a text has 2^64 bytes or more".into()))
    }
}

/// Moving window: a language that had more than its share of the last choices is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Number of choices in the window.
    pub size: u64,
    /// Maximum share of a language, as a multiple of an equal share: (numerator, denominator). The
    /// paper's alpha.
    pub limit: (u64, u64),
}

/// Number of merges that all training texts choose together, before single languages choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlobalMerges {
    Number(u64),
    /// Share of the ids that merges can get, rounded down: (numerator, denominator).
    Share(u64, u64),
}

/// Options of parity-aware training, beside those of ordinary training.
#[derive(Debug, Clone)]
pub struct ParityOptions {
    pub global_merges: GlobalMerges,
    pub window: Option<Window>,
    pub measure: Measure,
    /// Desired compression of each language relative to the others, as (numerator, denominator).
    /// Empty if equal.
    pub targets: Vec<(u64, u64)>,
}

/// Result of parity-aware training.
#[derive(Debug, Clone)]
pub struct ParityTraining {
    pub training: Training,
    /// Language that chose each merge after the first `global_merges`.
    pub chosen: Vec<u32>,
    pub global_merges: usize,
    /// Number of distinct pre-tokens in all training texts together.
    pub pre_tokens: usize,
    /// Tokens of each language's measured text, before the first merge (`before`) and after the
    /// last (`after`).
    pub before: Vec<u64>,
    pub after: Vec<u64>,
    /// Divisor of each language's measured text.
    pub lengths: Vec<u64>,
}

/// Text in which merges are applied.
struct MergedText {
    corpus: Corpus,
    pairs: Pairs,
    tokens: u64,
}

impl MergedText {
    fn new(
        counts: &Counts,
        vocabulary: &Vocabulary,
        options: &Options,
        progress: Progress,
    ) -> Result<Self> {
        // A character without an id counts as a token too: the unknown token.
        let tokens = count_symbols(counts, options)?;
        let corpus = Corpus::new(counts, vocabulary, options, None, progress)?;
        let pairs = Pairs::new(&corpus, vocabulary.tokens().iter(), options, progress)?;
        Ok(MergedText {
            corpus,
            pairs,
            tokens,
        })
    }

    /// Merge the pair wherever it occurs. Return the pairs that gained occurrences, or None if the
    /// two symbols were never adjacent in this text.
    fn merge(&mut self, merge: &Merge, progress: Progress) -> Result<Option<Vec<PairId>>> {
        let Merge {
            left, right, token, ..
        } = *merge;
        self.pairs.add_length(left, right, token);
        let Some(pair) = self.pairs.id(left, right) else {
            return Ok(None);
        };
        let before = self.corpus.symbol_count(token);
        let gained = self.pairs.merge(pair, token, &mut self.corpus, progress)?;
        self.tokens -= self.corpus.symbol_count(token) - before;
        Ok(Some(gained))
    }
}

/// Text that chooses merges.
struct ChoosingText {
    text: MergedText,
    selector: Box<dyn Selector>,
}

impl ChoosingText {
    fn new(mut text: MergedText, vocabulary: &Vocabulary, options: &Options) -> Result<Self> {
        let MergedText { corpus, pairs, .. } = &mut text;
        let selector = options
            .criterion
            .selector(options, vocabulary, pairs, corpus)?;
        Ok(ChoosingText { text, selector })
    }

    /// Return the two sides of the best pair and the string that they make, or None if no pair is
    /// left.
    fn best(
        &mut self,
        vocabulary: &Vocabulary,
        options: &Options,
        never: &HashSet<&[u8]>,
    ) -> Option<(u32, u32, Vec<u8>)> {
        let MergedText { corpus, pairs, .. } = &mut self.text;
        loop {
            let best = self.selector.next(pairs, corpus)?;
            let (left, right) = pairs.symbols(best);
            let [before, after] =
                [left, right].map(|id| vocabulary.token(id).expect("symbols are tokens"));
            let string = options.marker.join(before, after);
            if options.refusal(never, before, &string).is_none() {
                return Some((left, right, string));
            }
            pairs.refuse(best);
            self.selector.refused(best, pairs, corpus);
        }
    }

    fn merge(&mut self, merge: &Merge, progress: Progress) -> Result<()> {
        if let Some(gained) = self.text.merge(merge, progress)? {
            let MergedText { corpus, pairs, .. } = &mut self.text;
            self.selector.merged(merge, &gained, pairs, corpus);
        }
        Ok(())
    }
}

/// Return the merge of a pair, with its counts summed over `texts`.
fn counted<'t>(
    (left, right, token): (u32, u32, u32),
    texts: impl Iterator<Item = &'t ChoosingText>,
) -> Merge {
    let mut merge = Merge {
        left,
        right,
        token,
        count: 0,
        left_count: 0,
        right_count: 0,
    };
    for MergedText { corpus, pairs, .. } in texts.map(|one| &one.text) {
        merge.count += pairs.id(left, right).map_or(0, |pair| pairs.count(pair));
        merge.left_count += corpus.symbol_count(left);
        merge.right_count += corpus.symbol_count(right);
    }
    merge
}

/// Add up the counts of several texts, in first-seen order.
fn together(texts: &[&Counts]) -> Counts {
    let mut numbers: HashMap<&[u8], usize> = HashMap::new();
    let mut words: Vec<(&[u8], u64)> = Vec::new();
    for (word, count) in texts.iter().flat_map(|counts| counts.iter()) {
        let number = *numbers.entry(word).or_insert(words.len());
        match words.get_mut(number) {
            Some((_, sum)) => *sum = sum.saturating_add(count),
            None => words.push((word, count)),
        }
    }
    let mut all = Counts::default();
    for (word, count) in words {
        all.push(word, count);
    }
    all
}

/// Train on one text per language.
///
/// `dev` has a development text for each language; with None, costs are measured on the training
/// texts. Ids are assigned as in ordinary training on all training texts together. Of languages
/// with equal cost, the first is served. A language that has no pair left is never served again.
pub fn train_parity(
    languages: &[&Counts],
    dev: Option<&[&Counts]>,
    options: &Options,
    parity: &ParityOptions,
    progress: Progress,
) -> Result<ParityTraining> {
    let count = languages.len();
    let fits = |number: usize| number == count || number == 0;
    if count == 0 || dev.is_some_and(|dev| dev.len() != count) || !fits(parity.targets.len()) {
        return Err(Error::Invalid(
            "there is not one text or target for each language".into(),
        ));
    }
    if options.extend.is_some() {
        return Err(Error::Invalid(
            "parity-aware training does not go on from a model".into(),
        ));
    }
    let total = together(languages);
    count_symbols(&total, options)?;
    let mut vocabulary = alphabet::vocabulary(&total, options)?;
    let alphabet_end = vocabulary.len() as u32;
    let never = never(options);
    let mut merges: Vec<Merge> = Vec::new();
    let mut stop = Stop::VocabularyFull;
    let is_full = |vocabulary: &Vocabulary| vocabulary.len() as u64 >= options.vocab_size;

    let wanted = match parity.global_merges {
        GlobalMerges::Number(number) => number,
        GlobalMerges::Share(share, whole) => {
            let room = options.vocab_size - u64::from(alphabet_end);
            (u128::from(room) * u128::from(share) / u128::from(whole.max(1))) as u64
        }
    };
    if wanted > 0 {
        let all = MergedText::new(&total, &vocabulary, options, progress)?;
        let mut all = ChoosingText::new(all, &vocabulary, options)?;
        while (merges.len() as u64) < wanted && !is_full(&vocabulary) {
            if !progress(vocabulary.len() as u64) {
                return Err(Error::Interrupted);
            }
            let Some((left, right, string)) = all.best(&vocabulary, options, &never) else {
                stop = Stop::Exhausted;
                break;
            };
            let token = vocabulary.intern(&string);
            let merge = counted((left, right, token), std::iter::once(&all));
            all.merge(&merge, progress)?;
            merges.push(merge);
        }
    }
    let pre_tokens = total.len();
    drop(total);
    let global_merges = merges.len();

    let mut before = Vec::new();
    let mut replayed = |counts: &Counts| {
        let mut text = MergedText::new(counts, &vocabulary, options, progress)?;
        before.push(text.tokens);
        for merge in &merges {
            if !progress(vocabulary.len() as u64) {
                return Err(Error::Interrupted);
            }
            text.merge(merge, progress)?;
        }
        Ok(text)
    };
    let mut measured = Vec::new();
    for counts in dev.unwrap_or_default() {
        measured.push(replayed(counts)?);
    }
    let mut texts = Vec::with_capacity(count);
    for counts in languages {
        texts.push(ChoosingText::new(replayed(counts)?, &vocabulary, options)?);
    }
    // Keep the counts of the measured texts, which come first.
    before.truncate(count);
    let lengths = dev.unwrap_or(languages).iter();
    let lengths: Vec<u64> = lengths
        .map(|counts| parity.measure.of(counts))
        .collect::<Result<_>>()?;

    let mut balance = Balance::new(parity, &lengths);
    let mut chosen = Vec::new();
    while !is_full(&vocabulary) && stop != Stop::Exhausted {
        if !progress(vocabulary.len() as u64) {
            return Err(Error::Interrupted);
        }
        let tokens = |language: usize| match measured.get(language) {
            Some(text) => text.tokens,
            None => texts[language].text.tokens,
        };
        let Some(language) = balance.choose(tokens) else {
            stop = Stop::Exhausted;
            break;
        };
        let Some((left, right, string)) = texts[language].best(&vocabulary, options, &never) else {
            balance.exhausted[language] = true;
            continue;
        };
        let token = vocabulary.intern(&string);
        let merge = counted((left, right, token), texts.iter());
        for text in &mut texts {
            text.merge(&merge, progress)?;
        }
        for text in &mut measured {
            text.merge(&merge, progress)?;
        }
        merges.push(merge);
        chosen.push(language as u32);
    }
    progress(vocabulary.len() as u64);
    let after = match dev {
        Some(_) => measured.iter().map(|text| text.tokens).collect(),
        None => texts.iter().map(|one| one.text.tokens).collect(),
    };
    Ok(ParityTraining {
        training: Training {
            vocabulary,
            merges,
            initial_merges: 0,
            events: None,
            alphabet_end,
            stop,
        },
        chosen,
        global_merges,
        pre_tokens,
        before,
        after,
        lengths,
    })
}

// -- choice of the language -------------------------------------------------------------

/// State from which the next language is chosen.
struct Balance {
    /// Factor and divisor of each language's number of tokens.
    weights: Vec<(u64, u128)>,
    window: Option<Window>,
    last: VecDeque<usize>,
    /// How often each language is among the last choices.
    times: Vec<u64>,
    /// Whether each language's training text has no pair left.
    exhausted: Vec<bool>,
}

impl Balance {
    fn new(parity: &ParityOptions, lengths: &[u64]) -> Self {
        let weight = |(language, &length): (usize, &u64)| {
            let &(numerator, denominator) = parity.targets.get(language).unwrap_or(&(1, 1));
            (numerator, u128::from(length) * u128::from(denominator))
        };
        Balance {
            weights: lengths.iter().enumerate().map(weight).collect(),
            window: parity.window,
            last: VecDeque::new(),
            times: vec![0; lengths.len()],
            exhausted: vec![false; lengths.len()],
        }
    }

    /// Return the language with the highest cost, or the first of several. None if no language has
    /// a pair left.
    ///
    /// With a window, languages that had more than their share of the last choices are considered
    /// only if every language had.
    fn choose(&mut self, tokens: impl Fn(usize) -> u64) -> Option<usize> {
        let cost = |language: usize| {
            let (factor, divisor) = self.weights[language];
            let tokens = u128::from(tokens(language)) * u128::from(factor);
            (tokens, divisor)
        };
        let highest = |allowed: &dyn Fn(usize) -> bool| {
            let languages = 0..self.weights.len();
            languages
                .filter(|&language| !self.exhausted[language] && allowed(language))
                .reduce(|best, other| match compare(cost(other), cost(best)) {
                    Ordering::Greater => other,
                    _ => best,
                })
        };
        let language = highest(&|language| self.has_share(language)).or_else(|| highest(&|_| true));
        // A choice counts even if the language turns out to have no pair left.
        if let (Some(language), Some(window)) = (language, self.window) {
            self.last.push_back(language);
            self.times[language] += 1;
            if self.last.len() as u64 > window.size {
                let oldest = self.last.pop_front().expect("it is not empty");
                self.times[oldest] -= 1;
            }
        }
        language
    }

    /// Return whether the language had no more of the last choices than the window allows.
    fn has_share(&self, language: usize) -> bool {
        self.window.is_none_or(|Window { size, limit }| {
            let languages = self.weights.len() as u128;
            let had = (u128::from(self.times[language]) * languages, size.into());
            compare(had, (limit.0.into(), limit.1.into())) != Ordering::Greater
        })
    }
}

/// Compare two fractions exactly by their continued fractions, since products could exceed 128
/// bits. A denominator of 0 means infinity.
fn compare((mut a, mut b): (u128, u128), (mut c, mut d): (u128, u128)) -> Ordering {
    loop {
        match (b, d) {
            (0, 0) => return Ordering::Equal,
            (0, _) => return Ordering::Greater,
            (_, 0) => return Ordering::Less,
            _ => {}
        }
        let (ours, theirs) = (a / b, c / d);
        if ours != theirs {
            return ours.cmp(&theirs);
        }
        // a/b = q + r/b, and r/b falls as b/r grows, so the two fractions swap sides.
        (a, b, c, d) = (d, c % d, b, a % b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random_below;

    #[test]
    fn fractions_are_compared_exactly() {
        let mut below = random_below(5);
        for _ in 0..20_000 {
            let [a, b, c, d] = [(); 4].map(|()| below(40) as u128);
            let (b, d) = (b + 1, d + 1);
            assert_eq!(
                compare((a, b), (c, d)),
                (a * d).cmp(&(c * b)),
                "{a}/{b} {c}/{d}"
            );
        }
        let large = u128::MAX;
        assert_eq!(
            compare((large - 1, large), (large - 2, large - 1)),
            Ordering::Greater
        );
        assert_eq!(compare((large, 1), (1, 0)), Ordering::Less);
        assert_eq!(compare((3, 0), (1, 0)), Ordering::Equal);
    }

    #[test]
    fn a_window_passes_over_a_language_that_had_more_than_its_share() {
        let parity = ParityOptions {
            global_merges: GlobalMerges::Number(0),
            window: Some(Window {
                size: 4,
                limit: (1, 1),
            }),
            measure: Measure::Tokens,
            targets: Vec::new(),
        };
        let mut balance = Balance::new(&parity, &[1, 1]);
        // The first language always costs more, and more than 2 choices of 4 are too many.
        let chosen: Vec<_> = (0..8).map(|_| balance.choose(|at| 9 - at as u64)).collect();
        assert_eq!(chosen, [0, 0, 0, 1, 1, 0, 0, 0].map(Some));
        balance.exhausted[1] = true;
        assert_eq!(balance.choose(|_| 1), Some(0));
        balance.exhausted[0] = true;
        assert_eq!(balance.choose(|_| 1), None);
    }
}
