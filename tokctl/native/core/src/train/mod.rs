//! Training by merges (BPE and WordPiece) and by frequency ([`frequency`]: words, characters).
//!
//! BPE and WordPiece start from initial symbols and merge the best adjacent pair again and again.
//! They differ in what "best" means ([`Criterion`]). [`corpus`] holds the segmented pre-tokens and
//! applies merges. [`pairs`] keeps the count and the positions of every pair up to date. A selector
//! ([`by_count`], [`by_text`], [`by_likelihood`]) names the next pair. [`parity`] trains on several
//! languages at once, [`removal`] also removes tokens, and [`superwords`] merges whole pre-tokens.
//! [`stepper`] replays a training that is over, and ranks the pairs of any step.

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
mod stepper;
mod superwords;
mod ties;
pub mod unigram;
mod whole_characters;

pub use extend::Extend;
pub use removal::{RemovalRule, TokenRemoval, TrainingEvents};
pub use stepper::{RankedPair, Ranking, Stepper};
pub use superwords::{train_superwords, FirstPhase, SuperwordTraining};
pub use ties::Ties;

use hashbrown::HashSet;

use crate::count::Counts;
use crate::error::{Error, Result};
use crate::model::{Marker, Merge, Stored, Units, Vocabulary};
use alphabet::Limits;
use corpus::Corpus;
use pairs::{PairId, Pairs};

/// Score by which the best pair is chosen.
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

    /// Return the selector for this criterion and the tie rule of `options`. `pairs` must already
    /// hold every pair of `corpus`.
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

/// Options of a training by merges.
#[derive(Debug, Clone)]
pub struct Options {
    pub criterion: Criterion,
    pub ties: Ties,
    pub units: Units,
    pub marker: Marker,
    /// Target vocabulary size: special tokens, alphabet and merged tokens.
    pub vocab_size: u64,
    /// Tokens that get the lowest ids and that no merge makes. When a model is extended, special
    /// tokens that it already has keep their ids, and the others get no id in training.
    pub special_tokens: Vec<Vec<u8>>,
    /// Further strings that no token may have, because a model file would spell them like a special
    /// token.
    pub reserved: Vec<Vec<u8>>,
    /// Symbols that are in the alphabet whether or not they occur.
    pub initial_alphabet: Vec<Vec<u8>>,
    /// Whether every character is in the alphabet in its bare form too, as in Hugging Face.
    pub bare_characters: bool,
    /// Minimum count of a pair to be merged; at least 1.
    pub min_frequency: u64,
    /// Maximum length of a token in units, without its marker.
    pub max_token_length: Option<u64>,
    /// Maximum number of words in a merged token. Words are the non-empty parts between spaces.
    pub max_words: Option<u64>,
    /// Strings that no merged token may contain.
    pub forbidden: Vec<Vec<u8>>,
    /// Whether merges respect character boundaries: see [`whole_characters`].
    pub whole_characters: bool,
    /// Pre-tokens, each listed once, that the first merges turn into tokens: see
    /// [`initial_tokens`]. Their characters are in the alphabet, and no limit drops them.
    pub initial_tokens: Vec<Vec<u8>>,
    /// Limits on which characters get an id, for [`Units::Characters`].
    pub limits: Limits,
    /// Model to extend.
    pub extend: Option<Extend>,
    /// Rule by which tokens are removed during training (BPE only).
    pub removal: Option<RemovalRule>,
}

impl Options {
    /// Return why no merge may make `token` of `left` and a right side, judged by the texts alone;
    /// `never` is from [`never`]. None if a merge may.
    fn refusal(&self, never: &HashSet<&[u8]>, left: &[u8], token: &[u8]) -> Option<Refusal> {
        let words = || token.split(|&byte| byte == b' ').filter(|w| !w.is_empty());
        let has = |text: &Vec<u8>| token.windows(text.len().max(1)).any(|part| part == text);
        if self
            .max_words
            .is_some_and(|most| words().count() as u64 > most)
        {
            Some(Refusal::TooManyWords)
        } else if self.forbidden.iter().any(has) {
            Some(Refusal::Forbidden)
        } else if never.contains(token) {
            // No merge makes a special token, even if the text contains the same string.
            Some(Refusal::Special)
        } else if self.whole_characters && !whole_characters::may_merge(left, token) {
            Some(Refusal::CutsCharacter)
        } else {
            None
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            criterion: Criterion::Count,
            ties: Ties::FirstSeen,
            units: Units::Bytes,
            marker: Marker::None,
            vocab_size: 0,
            special_tokens: Vec::new(),
            reserved: Vec::new(),
            initial_alphabet: Vec::new(),
            bare_characters: false,
            min_frequency: 1,
            max_token_length: None,
            max_words: None,
            forbidden: Vec::new(),
            whole_characters: false,
            initial_tokens: Vec::new(),
            limits: Limits::default(),
            extend: None,
            removal: None,
        }
    }
}

/// Reason why a pair may not be merged, however often it occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The token would be longer than `max_token_length`.
    TooLong,
    /// The token would have more words than `max_words`.
    TooManyWords,
    /// The token would contain one of the `forbidden` strings.
    Forbidden,
    /// The token would be spelled like a special token.
    Special,
    /// The merge would cut a character, against `whole_characters`.
    CutsCharacter,
}

/// Reason why training stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The vocabulary reached its target size.
    VocabularyFull,
    /// No pair is left that may be merged.
    Exhausted,
}

/// Result of a training by merges.
#[derive(Debug, Clone)]
pub struct Training {
    pub vocabulary: Vocabulary,
    /// Merges in the order learned, without those of an extended model.
    pub merges: Vec<Merge>,
    /// Number of leading merges that make the initial tokens.
    pub initial_merges: u32,
    /// First id after the alphabet. The alphabet has the ids `special_tokens.len()..alphabet_end`;
    /// when a model is extended, new symbols have the ids `extend.tokens.len()..alphabet_end`.
    pub alphabet_end: u32,

    pub stop: Stop,
    /// Merges and removals of a training that removes tokens; `merges` is then empty.
    pub events: Option<TrainingEvents>,
}

impl Training {
    /// Convert the result to the content of a model file.
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

/// Callback that receives the current vocabulary size from time to time; false stops the training.
pub type Progress<'p> = &'p mut dyn FnMut(u64) -> bool;

/// Segmenter of the extended model: calls its callback with the ids of each pre-token, in order.
pub type Start<'s> = &'s mut dyn FnMut(&[&[u8]], &mut dyn FnMut(&[u32])) -> Result<()>;

/// Strategy that names the pair to merge next.
trait Selector {
    /// Return the best pair of the current state, or None if no pair is left.
    fn next(&mut self, pairs: &mut Pairs, corpus: &Corpus) -> Option<PairId>;

    /// Record that `pair`, which [`Selector::next`] named, will never be merged.
    fn refused(&mut self, pair: PairId, pairs: &Pairs, corpus: &Corpus);

    /// Record a merge: `left` and `right` lost occurrences, and the pairs in `gained` are new or
    /// won occurrences.
    fn merged(&mut self, merge: &Merge, gained: &[PairId], pairs: &mut Pairs, corpus: &Corpus);
}

/// Return the number of initial symbols, with each pre-token counted as often as it occurs.
///
/// Every count in training is at most this number. If it fits 64 bits, no count wraps.
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
    fits(symbols)
}

/// Return a number of symbols as 64 bits, or an error if it has more.
fn fits(symbols: u128) -> Result<u64> {
    u64::try_from(symbols).map_err(|_| {
        Error::TooLarge(format!(
            "the corpus has {symbols} symbols, and counts have 64 bits"
        ))
    })
}

/// Return the strings that no merge may make: special tokens and strings that look like one.
fn never(options: &Options) -> HashSet<&[u8]> {
    let never = options.special_tokens.iter().chain(&options.reserved);
    never.map(Vec::as_slice).collect()
}

/// Train on counted pre-tokens.
///
/// With `options.extend`, the extended model's merges are replayed on the pre-tokens, unless
/// `start` gives the segmentation of each pre-token. With `start`, the corpus needs memory for
/// tokens rather than for bytes.
pub fn train(
    counts: &Counts,
    options: &Options,
    start: Option<Start>,
    progress: Progress,
) -> Result<Training> {
    if let Some(rule) = options.removal {
        return removal::train(counts, options, rule, progress);
    }
    // While the initial tokens are being made, `weight` is how often each of them is counted.
    let (words, mut weight) = initial_tokens::with_tokens(counts, options)?;
    let mut vocabulary = alphabet::vocabulary(counts, options)?;
    let alphabet_end = vocabulary.len() as u32;
    let started = start.is_some();
    let mut corpus = Corpus::new(&words, &vocabulary, options, start, progress)?;
    drop(words);
    let mut pairs = Pairs::new(&corpus, vocabulary.tokens().iter(), options, progress)?;
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
                // A new selector also names the pair again that was not merged now.
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
        if options.refusal(&never, before, &string).is_some() {
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
