//! Tokens that a merge-based model has from the start.
//!
//! The first merges are the ones that BPE learns on these tokens alone, each counted once, until
//! each token is a single symbol. Pairs that are equally frequent in the tokens are ordered by
//! their count in the text, then by the tie rule. To find these merges, the tokens are added to the
//! text as further pre-tokens. Their weight is so high that one occurrence in a token outweighs the
//! whole text. A count modulo the weight is therefore the count in the text.

use std::borrow::Cow;

use super::alphabet::initial_symbols;
use super::corpus::Corpus;
use super::{count_symbols, Options};
use crate::count::Counts;
use crate::error::{Error, Result};
use crate::memory;
use crate::model::{Vocabulary, NO_ID};

/// Return the pre-tokens of the text followed by the initial tokens, and the count (weight) of each
/// initial token. The weight is None if `options` has no initial tokens.
pub fn with_tokens<'c>(
    counts: &'c Counts,
    options: &Options,
) -> Result<(Cow<'c, Counts>, Option<u64>)> {
    let symbols = count_symbols(counts, options)?;
    if options.initial_tokens.is_empty() {
        return Ok((Cow::Borrowed(counts), None));
    }
    let weight = symbols.saturating_add(1).max(options.min_frequency);
    memory::check(counts.bytes())?;
    let mut all = counts.clone();
    for token in &options.initial_tokens {
        all.push(token, weight);
    }
    count_symbols(&all, options)?;
    Ok((Cow::Owned(all), Some(weight)))
}

/// Remove the initial tokens from the corpus. Each of them must be a single symbol by now.
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
