//! Superwords: the second phase of BoundlessBPE.
//!
//! The first phase is BPE up to the size of the vocabulary. Here runs of words are merged by count:
//! the runs are counted in advance, so that no text has to be kept (Schmidt et al. 2026, "Faster
//! Superword Tokenization"). Each step takes what occurs most often, the next merge of the first
//! phase or the best supermerge, until the vocabulary is full; what the first phase has learned
//! beyond that is given up. Of equal counts the merge goes first, so a word is always there before
//! a supermerge takes it: that takes no more words than its merge has made.

use super::by_count::ByCount;
use super::corpus::Corpus;
use super::pairs::Pairs;
use super::{never, Options, Progress, Selector, Stop};
use crate::count::Counts;
use crate::error::{Error, Result};
use crate::model::{Merge, Stored, Vocabulary};

/// What both phases have found.
pub struct SuperwordTraining {
    /// The tokens, those of superwords last, and the merges within pre-tokens.
    pub model: Stored,
    pub supermerges: Vec<Merge>,
    pub stop: Stop,
}

/// Goes on from the model of the first phase, whose merges each make one new token, with the
/// pre-tokens that it was trained on, and with the runs that
/// [`Counter::of_runs`](crate::count::Counter::of_runs) has counted of its tokens. Of the options
/// `vocab_size`, `ties`, `min_frequency`, `max_token_length`, `special_tokens` and `reserved` count.
pub fn train_superwords(
    first: &Stored,
    pre_tokens: &Counts,
    runs: &Counts,
    options: &Options,
    progress: Progress,
) -> Result<SuperwordTraining> {
    let words = first.tokens.len();
    let merge_counts = &first.counts[0];
    let alphabet = words.checked_sub(first.merges.len()).filter(|_| {
        let mut made = (0..).zip(&first.merges);
        let offset = words - first.merges.len();
        merge_counts.len() == first.merges.len()
            && made.all(|(number, merge): (usize, _)| merge.2 as usize == offset + number)
    });
    let Some(alphabet) = alphabet else {
        return Err(Error::Invalid(
            "superwords need merges that each make a new token".into(),
        ));
    };
    check_counts(runs)?;
    let mut vocabulary = Vocabulary::default();
    first.tokens.iter().for_each(|token| {
        vocabulary.intern(token);
    });
    if vocabulary.len() != words {
        return Err(Error::Invalid(
            "two words of the first phase are the same".into(),
        ));
    }
    let mut corpus = Corpus::of_runs(runs, words, options.ties)?;
    for (pre_token, count) in pre_tokens.iter() {
        if let Some(word) = vocabulary.id(pre_token) {
            corpus.count_all(word, count);
        }
    }
    let mut pairs = Pairs::new(&corpus, &vocabulary, options, progress)?;
    let mut selector = ByCount::new(&mut pairs, &corpus);
    let never = never(options);
    let (mut kept, mut supermerges): (usize, Vec<Merge>) = (0, Vec::new());
    let mut stop = Stop::VocabularyFull;
    // The best supermerge, until it is made.
    let mut best = None;
    while ((alphabet + kept + supermerges.len()) as u64) < options.vocab_size {
        if best.is_none() {
            best = selector.next(&mut pairs, &corpus);
        }
        let next = merge_counts.get(kept).copied();
        let Some(pair) = best.filter(|&pair| next.is_none_or(|next| pairs.count(pair) > next))
        else {
            match next {
                Some(_) => kept += 1,
                None => {
                    stop = Stop::Exhausted;
                    break;
                }
            }
            continue;
        };
        if !progress((alphabet + kept + supermerges.len()) as u64) {
            return Err(Error::Interrupted);
        }
        best = None;
        let (left, right) = pairs.symbols(pair);
        let text = |symbol| vocabulary.token(symbol).expect("symbols are tokens");
        let string = [text(left), text(right)].concat();
        // A string is a token once. (Pre-tokenizers that look ahead could split one in two ways.)
        if never.contains(string.as_slice()) || vocabulary.id(&string).is_some() {
            pairs.refuse(pair);
            selector.refused(pair, &pairs, &corpus);
            continue;
        }
        let is_there =
            |symbol: u32| symbol as usize >= words || (symbol as usize) < alphabet + kept;
        if !is_there(left) || !is_there(right) {
            return Err(Error::Invalid(
                "the runs have more words than the first phase has counted".into(),
            ));
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
    progress((alphabet + kept + supermerges.len()) as u64);
    Ok(SuperwordTraining {
        model: joined(first, &vocabulary, (alphabet + kept, words)),
        supermerges: renumbered(supermerges, (alphabet + kept, words)),
        stop,
    })
}

/// The words up to `kept` of `words`, then the superwords.
fn joined(first: &Stored, vocabulary: &Vocabulary, (kept, words): (usize, usize)) -> Stored {
    let mut tokens = Vocabulary::default();
    let all = vocabulary.tokens().iter().enumerate();
    for (_, token) in all.filter(|&(id, _)| id < kept || id >= words) {
        tokens.intern(token);
    }
    let merges = first.merges.len() - (words - kept);
    Stored {
        tokens: tokens.into_tokens(),
        merges: first.merges[..merges].to_vec(),
        counts: first
            .counts
            .each_ref()
            .map(|counts| counts[..merges].to_vec()),
        scores: Vec::new(),
        token_counts: Vec::new(),
    }
}

/// The same with the ids that the tokens have in the end.
fn renumbered(mut merges: Vec<Merge>, (kept, words): (usize, usize)) -> Vec<Merge> {
    let given_up = (words - kept) as u32;
    let id = |id: u32| id - if id as usize >= words { given_up } else { 0 };
    for merge in &mut merges {
        merge.left = id(merge.left);
        merge.right = id(merge.right);
        merge.token = id(merge.token);
    }
    merges
}

/// Every count is at most the number of words in all runs: where that fits 64 bits, none wraps.
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
