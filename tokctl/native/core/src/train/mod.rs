//! Training: by merges (BPE and WordPiece), and by frequency ([`frequency`]: words, characters).
//!
//! BPE and WordPiece start from initial symbols and merge the best adjacent pair again and again;
//! they differ in what "best" means ([`Criterion`]). [`corpus`] holds the segmented
//! pre-tokens and applies merges, [`pairs`] keeps every pair's count and places up to
//! date, and a selector ([`by_count`], [`by_text`], [`by_likelihood`]) names the next pair.
//! [`parity`] does so for each of several languages; [`removal`] takes tokens away again, and
//! [`superwords`] merges whole pre-tokens.

pub mod alphabet;
mod by_count;
mod by_likelihood;
mod by_text;
mod corpus;
mod extend;
pub mod frequency;
mod initial_tokens;
mod pairs;
pub mod parity;
pub mod removal;
mod superwords;
mod ties;
pub mod unigram;
mod whole_characters;

pub use extend::Extend;
pub use removal::{RemovalRule, TokenRemoval, TrainingEvents};
pub use superwords::{train_superwords, FirstPhase, SuperwordTraining};
pub use ties::Ties;

use hashbrown::HashSet;

use crate::count::Counts;
use crate::error::{Error, Result};
use crate::model::{Marker, Merge, Stored, Units, Vocabulary};
use alphabet::Limits;
use corpus::Corpus;
use pairs::{PairId, Pairs};

/// What makes a pair the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Criterion {
    /// The highest count: BPE (Sennrich et al. 2016), and Hugging Face's WordPiece.
    Count,
    /// The highest `count(ab) / (count(a) * count(b))`, compared exactly.
    Likelihood,
}

impl Criterion {
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "count" => Ok(Criterion::Count),
            "likelihood" => Ok(Criterion::Likelihood),
            _ => Err(Error::Invalid(format!("no score is called {name}"))),
        }
    }

    /// The selector of a criterion and the tie rule, for a corpus whose pairs are known.
    fn selector(
        self,
        options: &Options,
        vocabulary: &Vocabulary,
        pairs: &mut Pairs,
        corpus: &Corpus,
    ) -> Result<Box<dyn Selector>> {
        Ok(match (self, options.ties) {
            (Criterion::Count, Ties::HighestText) => {
                Box::new(by_text::ByText::new(pairs, vocabulary, options))
            }
            (Criterion::Likelihood, Ties::HighestText) => {
                return Err(Error::Invalid(
                    "highest-text is a tie rule of counts, not of likelihoods".into(),
                ))
            }
            (Criterion::Count, _) => Box::new(by_count::ByCount::new(pairs, corpus)),
            (Criterion::Likelihood, _) => Box::new(by_likelihood::ByLikelihood::new(pairs, corpus)),
        })
    }
}

#[derive(Debug, Clone)]
pub struct Options {
    pub criterion: Criterion,
    pub ties: Ties,
    pub units: Units,
    pub marker: Marker,
    /// Ids wanted in all: special tokens, alphabet and merged tokens.
    pub vocab_size: u64,
    /// These get the lowest ids, and no merge makes one. Where a model is extended, those
    /// that it has keep their ids, and others get none here.
    pub special_tokens: Vec<Vec<u8>>,
    /// More strings that no token may have: those that a model file would spell like a
    /// special token.
    pub reserved: Vec<Vec<u8>>,
    /// Symbols that are in the alphabet whether they occur or not.
    pub initial_alphabet: Vec<Vec<u8>>,
    /// Puts every character in the alphabet in its bare form too, as Hugging Face does.
    pub bare_characters: bool,
    /// Pairs that occur less often are never merged; at least 1.
    pub min_frequency: u64,
    /// Longest token, in units, its marker not counted.
    pub max_token_length: Option<u64>,
    /// The most words of a merged token: parts between spaces that are not empty.
    pub max_words: Option<u64>,
    /// No merged token contains one of these.
    pub forbidden: Vec<Vec<u8>>,
    /// No merge crosses the border of a character, but between whole ones: see
    /// [`whole_characters`].
    pub whole_characters: bool,
    /// Pre-tokens, each once, that the first merges make into tokens: see [`initial_tokens`].
    /// Their characters get ids as those of the text, and no limit drops them.
    pub initial_tokens: Vec<Vec<u8>>,
    /// Which characters get an id, for [`Units::Characters`].
    pub limits: Limits,
    /// A model to go on from.
    pub extend: Option<Extend>,
    /// Tokens that are taken away again (BPE only).
    pub removal: Option<RemovalRule>,
}

impl Options {
    /// May a merge whose left side is `left` make this token, as far as their texts decide?
    fn may_be_made(&self, left: &[u8], token: &[u8]) -> bool {
        let words = || token.split(|&byte| byte == b' ').filter(|w| !w.is_empty());
        let too_many = self
            .max_words
            .is_some_and(|most| words().count() as u64 > most);
        let has = |text: &Vec<u8>| token.windows(text.len().max(1)).any(|part| part == text);
        let cuts = self.whole_characters && !whole_characters::may_merge(left, token);
        !too_many && !cuts && !self.forbidden.iter().any(has)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The vocabulary has the size that was asked for.
    VocabularyFull,
    /// No pair is left that may be merged.
    Exhausted,
}

#[derive(Debug, Clone)]
pub struct Training {
    pub vocabulary: Vocabulary,
    /// Those of a model that is extended are not among them.
    pub merges: Vec<Merge>,
    /// So many of them, the first ones, make the initial tokens.
    pub initial_merges: u32,
    /// Ids of the alphabet: `special_tokens.len()..alphabet_end`; of what an extended model
    /// has got in addition, `extend.tokens.len()..alphabet_end`.
    pub alphabet_end: u32,

    pub stop: Stop,
    /// Of a training that takes tokens away: its merges are there alone.
    pub events: Option<TrainingEvents>,
}

impl Training {
    /// What was learned, as a model's file would hold it.
    pub fn into_stored(self) -> Stored {
        let merges = self.merges.iter();
        let column = |count: fn(&Merge) -> u64| self.merges.iter().map(count).collect();
        Stored {
            merges: merges.map(|m| (m.left, m.right, m.token)).collect(),
            counts: [
                column(|merge| merge.count),
                column(|merge| merge.left_count),
                column(|merge| merge.right_count),
            ],
            tokens: self.vocabulary.into_tokens(),
            scores: Vec::new(),
            token_counts: Vec::new(),
        }
    }
}

/// Called now and then with the vocabulary's size so far; false stops the training.
pub type Progress<'p> = &'p mut dyn FnMut(u64) -> bool;

/// Segments pre-tokens with the model that is extended: calls back with the ids of each, in order.
pub type Start<'s> = &'s mut dyn FnMut(&[&[u8]], &mut dyn FnMut(&[u32])) -> Result<()>;

/// Names the pair to merge next.
trait Selector {
    /// The best pair as things stand, or None when no pair is left.
    fn next(&mut self, pairs: &mut Pairs, corpus: &Corpus) -> Option<PairId>;

    /// Takes note that the pair which was named will not be merged, now or later.
    fn refused(&mut self, pair: PairId, pairs: &Pairs, corpus: &Corpus);

    /// Takes note of a merge: `left` and `right` have lost occurrences, and the pairs
    /// in `gained` are new or have won some.
    fn merged(&mut self, merge: &Merge, gained: &[PairId], pairs: &mut Pairs, corpus: &Corpus);
}

/// The number of initial symbols, occurrences of pre-tokens multiplied out. Every count of a
/// training is at most that: where it fits 64 bits, no count wraps.
fn count_symbols(counts: &Counts, options: &Options) -> Result<u64> {
    let own_marker = matches!(options.marker, Marker::Start(_) | Marker::End(_));
    let mut symbols = 0u128;
    for (pre_token, count) in counts.iter() {
        let units = match options.units {
            Units::Bytes => pre_token.len(),
            Units::Characters => std::str::from_utf8(pre_token)
                .map_err(|_| Error::Invalid("a pre-token is not UTF-8".into()))?
                .chars()
                .count(),
        };
        symbols += u128::from(count) * (units as u128 + u128::from(own_marker));
    }
    u64::try_from(symbols).map_err(|_| {
        Error::TooLarge(format!(
            "the corpus has {symbols} symbols, and counts have 64 bits"
        ))
    })
}

/// What no merge may make: special tokens, and what is spelled like one.
fn never(options: &Options) -> HashSet<&[u8]> {
    let never = options.special_tokens.iter().chain(&options.reserved);
    never.map(Vec::as_slice).collect()
}

/// Trains on counted pre-tokens. An extended model's merges are replayed on them, or `start` gives
/// what these merges make of a pre-token: the corpus then takes the memory of its tokens, not that
/// of its bytes.
pub fn train(
    counts: &Counts,
    options: &Options,
    start: Option<Start>,
    progress: Progress,
) -> Result<Training> {
    if let Some(rule) = options.removal {
        return removal::train(counts, options, rule, progress);
    }
    // While initial tokens are made, `weight` is how often each is counted.
    let (words, mut weight) = initial_tokens::with_tokens(counts, options)?;
    let mut vocabulary = alphabet::vocabulary(counts, options)?;
    let alphabet_end = vocabulary.len() as u32;
    let started = start.is_some();
    let mut corpus = Corpus::new(&words, &vocabulary, options, start, progress)?;
    drop(words);
    let mut pairs = Pairs::new(&corpus, &vocabulary, options, progress)?;
    if let (Some(old), false) = (&options.extend, started) {
        let form = (&options.marker, options.units);
        old.replay(form, &mut corpus, &mut pairs, progress)?;
    }
    let first = weight.map_or(options.criterion, |_| Criterion::Count);
    let mut selector = first.selector(options, &vocabulary, &mut pairs, &corpus)?;
    let never = never(options);
    let mut merges = Vec::new();
    let mut initial_merges = 0;
    let mut stop = Stop::VocabularyFull;
    while weight.is_some() || (vocabulary.len() as u64) < options.vocab_size {
        if !progress(vocabulary.len() as u64) {
            return Err(Error::Interrupted);
        }
        let next = selector.next(&mut pairs, &corpus);
        if let Some(each) = weight {
            if next.is_none_or(|pair| pairs.count(pair) < each) {
                initial_tokens::take_out(&mut corpus, &vocabulary, options, each)?;
                alphabet::check_size(options.vocab_size, vocabulary.len() as u64)?;
                weight = None;
                initial_merges = merges.len() as u32;
                // The new one also names the pair again that was not merged here.
                let criterion = options.criterion;
                selector = criterion.selector(options, &vocabulary, &mut pairs, &corpus)?;
                continue;
            }
        }
        let Some(best) = next else {
            stop = Stop::Exhausted;
            break;
        };
        let (left, right) = pairs.symbols(best);
        let [before, after] =
            [left, right].map(|id| vocabulary.token(id).expect("symbols are tokens"));
        let string = options.marker.join(before, after);
        // Text is text: no merge makes a special token, though the text spells it.
        if never.contains(string.as_slice()) || !options.may_be_made(before, &string) {
            pairs.refuse(best);
            selector.refused(best, &pairs, &corpus);
            continue;
        }
        let token = vocabulary.intern(&string);
        let in_text = |count: u64| weight.map_or(count, |each| count % each);
        let merge = Merge {
            left,
            right,
            token,
            count: in_text(pairs.count(best)),
            left_count: in_text(corpus.symbol_count(left)),
            right_count: in_text(corpus.symbol_count(right)),
        };
        let gained = pairs.merge(best, token, &mut corpus, progress)?;
        selector.merged(&merge, &gained, &mut pairs, &corpus);
        merges.push(merge);
    }
    progress(vocabulary.len() as u64);
    Ok(Training {
        vocabulary,
        merges,
        initial_merges,
        alphabet_end,
        stop,
        events: None,
    })
}
