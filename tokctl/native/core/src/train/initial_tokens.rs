//! Tokens that a model of merges has from the start.
//!
//! The first merges are those that BPE learns on these tokens alone, each counted once, until each
//! is a single symbol; pairs that they have equally often are ordered by their count in the text,
//! then by the tie rule. To find them, the tokens are counted with the text as further pre-tokens,
//! so often that one occurrence in them is more than all that the text has. Any count divided by
//! this [`Weight`] leaves the count in the text.

use super::alphabet::initial_symbols;
use super::corpus::Corpus;
use super::Options;
use crate::count::Counts;
use crate::error::{Error, Result};
use crate::model::{Vocabulary, NO_ID};

/// How often each initial token is counted; `symbols` are those of the text.
pub fn weight(symbols: u64, options: &Options) -> u64 {
    symbols.saturating_add(1).max(options.min_frequency)
}

/// The text's pre-tokens, then the initial tokens.
pub fn with_tokens(counts: &Counts, options: &Options, weight: u64) -> Counts {
    let mut all = counts.clone();
    for token in &options.initial_tokens {
        all.push(token, weight);
    }
    all
}

/// Takes the initial tokens out of the corpus, each of which is a single symbol now.
pub fn take_out(
    corpus: &mut Corpus,
    vocabulary: &Vocabulary,
    options: &Options,
    weight: u64,
) -> Result<()> {
    let alphabet = initial_symbols(vocabulary, options);
    for token in &options.initial_tokens {
        let mut spelled: Option<Vec<u8>> = None;
        alphabet.symbols(token, |id, _| {
            let symbol = vocabulary.token(id).unwrap_or_default();
            spelled = Some(match (id, spelled.take()) {
                (NO_ID, _) | (_, None) => symbol.to_vec(),
                (_, Some(left)) => options.marker.join(&left, symbol),
            });
        });
        let id = vocabulary.id(&spelled.unwrap_or_default());
        if !id.is_some_and(|id| corpus.take_out(id, weight)) {
            return Err(Error::Invalid(format!(
                "no merges make the initial token {:?}",
                String::from_utf8_lossy(token)
            )));
        }
    }
    Ok(())
}
