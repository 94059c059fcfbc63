//! Training: by merges (BPE and WordPiece), and by frequency ([`frequency`]: words, characters).
//!
//! BPE and WordPiece start from initial symbols and merge the best adjacent pair again and again;
//! they differ in what "best" means ([`Criterion`]). [`corpus`] holds the segmented
//! pre-tokens and applies merges, [`pairs`] keeps every pair's count and places up to
//! date, and a selector ([`by_count`], [`by_likelihood`]) names the next pair. [`removal`]
//! does the same, and takes tokens away again.

pub mod alphabet;
mod by_count;
mod by_likelihood;
mod corpus;
mod extend;
pub mod frequency;
mod pairs;
pub mod removal;
mod ties;
pub mod unigram;

pub use extend::Extend;
pub use removal::{RemovalRule, TokenRemoval, TrainingEvents};
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
    /// Which characters get an id, for [`Units::Characters`].
    pub limits: Limits,
    /// A model to go on from.
    pub extend: Option<Extend>,
    /// Tokens that are taken away again (BPE only).
    pub removal: Option<RemovalRule>,
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

/// Every count of a training is at most the number of initial symbols, occurrences of
/// pre-tokens multiplied out: where that fits 64 bits, no count wraps.
fn check_counts(counts: &Counts, options: &Options) -> Result<()> {
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
    match u64::try_from(symbols) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::TooLarge(format!(
            "the corpus has {symbols} symbols, and counts have 64 bits"
        ))),
    }
}

pub fn train(counts: &Counts, options: &Options, progress: Progress) -> Result<Training> {
    if let Some(rule) = options.removal {
        return removal::train(counts, options, rule, progress);
    }
    check_counts(counts, options)?;
    let mut vocabulary = alphabet::vocabulary(counts, options)?;
    let alphabet_end = vocabulary.len() as u32;
    let mut corpus = Corpus::new(counts, &vocabulary, options)?;
    let mut pairs = Pairs::new(&corpus, &vocabulary, options, progress)?;
    if let Some(old) = &options.extend {
        let form = (&options.marker, options.units);
        old.replay(form, &mut corpus, &mut pairs, progress)?;
    }
    let mut selector: Box<dyn Selector> = match options.criterion {
        Criterion::Count => Box::new(by_count::ByCount::new(&mut pairs, &corpus)),
        Criterion::Likelihood => Box::new(by_likelihood::ByLikelihood::new(&mut pairs, &corpus)),
    };
    let never: HashSet<&[u8]> = options
        .special_tokens
        .iter()
        .chain(&options.reserved)
        .map(Vec::as_slice)
        .collect();
    let mut merges = Vec::new();
    let mut stop = Stop::VocabularyFull;
    while (vocabulary.len() as u64) < options.vocab_size {
        if !progress(vocabulary.len() as u64) {
            return Err(Error::Interrupted);
        }
        let Some(best) = selector.next(&mut pairs, &corpus) else {
            stop = Stop::Exhausted;
            break;
        };
        let (left, right) = pairs.symbols(best);
        let string = options.marker.join(
            vocabulary.token(left).expect("symbols are tokens"),
            vocabulary.token(right).expect("symbols are tokens"),
        );
        // Text is text: no merge makes a special token, though the text spells it.
        if never.contains(string.as_slice()) {
            pairs.refuse(best);
            selector.refused(best, &pairs, &corpus);
            continue;
        }
        let token = vocabulary.intern(&string);
        let merge = Merge {
            left,
            right,
            token,
            count: pairs.count(best),
            left_count: corpus.symbol_count(left),
            right_count: corpus.symbol_count(right),
        };
        let gained = pairs.merge(best, token, &mut corpus, progress)?;
        selector.merged(&merge, &gained, &mut pairs, &corpus);
        merges.push(merge);
    }
    progress(vocabulary.len() as u64);
    Ok(Training {
        vocabulary,
        merges,
        alphabet_end,
        stop,
        events: None,
    })
}
