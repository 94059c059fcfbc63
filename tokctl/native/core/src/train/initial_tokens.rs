//! Tokens that a model of merges has from the start.
//!
//! The first merges are those that BPE learns on these tokens alone, each counted once, until each
//! is a single symbol; pairs that they have equally often are ordered by their count in the text,
//! then by the tie rule. To find them, the tokens are counted with the text as further pre-tokens,
//! so often that one occurrence in them is more than all that the text has. A count modulo that
//! weight is the count in the text.

use std::borrow::Cow;

use super::alphabet::initial_symbols;
use super::corpus::Corpus;
use super::{count_symbols, Options};
use crate::count::Counts;
use crate::error::{Error, Result};
use crate::memory;
use crate::model::{Vocabulary, NO_ID};

/// The text's pre-tokens and, if there are initial tokens, these after them, with how often each of
/// them is counted.
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
