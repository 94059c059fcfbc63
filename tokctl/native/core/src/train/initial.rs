//! The vocabulary before the first merge: special tokens, then the alphabet; or, where a
//! model is extended, all its tokens, then what is new in the alphabet.

use super::alphabet::{alphabet_of, text, Characters, Limits};
use super::Options;
use crate::count::Counts;
use crate::error::{Error, Result};
use crate::model::{Marker, Units, Vocabulary};

/// Ids: special tokens as given, or the tokens of the model that is extended; symbols
/// without a fused marker by code point; those that carry one by code point (bytes in the
/// order of `initial_alphabet`).
pub fn vocabulary(counts: &Counts, options: &Options) -> Result<Vocabulary> {
    let mut vocabulary = match &options.extend {
        Some(old) => old.vocabulary()?,
        None => Vocabulary::default(),
    };
    if options.extend.is_none() {
        for token in &options.special_tokens {
            vocabulary.intern(token);
        }
    }
    let mut alphabet = options.initial_alphabet.clone();
    if options.units == Units::Characters {
        let (bare, marked) = characters(counts, options)?;
        alphabet.extend(bare.into_iter().chain(marked).map(String::into_bytes));
    }
    for symbol in &alphabet {
        if options.special_tokens.contains(symbol) || options.reserved.contains(symbol) {
            return Err(spelled_like_a_special_token(symbol));
        }
        vocabulary.intern(symbol);
    }
    check_size(options.vocab_size, vocabulary.len() as u64)?;
    Ok(vocabulary)
}

pub fn spelled_like_a_special_token(symbol: &[u8]) -> Error {
    Error::Invalid(format!(
        "a special token is spelled like {:?}, a symbol of the alphabet",
        String::from_utf8_lossy(symbol)
    ))
}

pub fn check_size(asked: u64, least: u64) -> Result<()> {
    if asked < least {
        return Err(Error::VocabularyTooSmall { asked, least });
    }
    if asked >= u64::from(u32::MAX) {
        return Err(Error::TooLarge(format!(
            "a vocabulary of {asked} does not fit 32-bit ids"
        )));
    }
    Ok(())
}

/// The bare symbols (a marker of its own among them) and those with a fused marker, each
/// by code point.
fn characters(counts: &Counts, options: &Options) -> Result<(Vec<String>, Vec<String>)> {
    let allowed: Option<Characters> = if options.limits == Limits::default() {
        None
    } else {
        Some(alphabet_of(counts, &options.limits)?.into_iter().collect())
    };
    let (mut bare, mut marked) = (Characters::none(), Characters::none());
    let (mark, carries) = match &options.marker {
        Marker::Continuation(mark) | Marker::EndFused(mark) => (mark.as_str(), true),
        Marker::End(mark) | Marker::Start(mark) => (mark.as_str(), false),
        Marker::None => ("", false),
    };
    for (pre_token, _) in counts.iter() {
        for (at, character) in text(pre_token)?.char_indices() {
            if allowed
                .as_ref()
                .is_some_and(|allowed| !allowed.contains(character))
            {
                continue;
            }
            let fused = match options.marker {
                Marker::Continuation(_) => at > 0,
                Marker::EndFused(_) => at + character.len_utf8() == pre_token.len(),
                _ => false,
            };
            if fused {
                marked.insert(character);
            }
            if !fused || options.bare_characters {
                bare.insert(character);
            }
        }
    }
    for &character in &options.limits.initial {
        bare.insert(character);
        // A word can have it at any place; Hugging Face's alphabet is the bare form's.
        if carries && !options.bare_characters {
            marked.insert(character);
        }
    }
    let mut bare: Vec<String> = bare.iter().map(String::from).collect();
    if !carries && !mark.is_empty() && !counts.is_empty() {
        if let Err(at) = bare.binary_search_by(|symbol| symbol.as_str().cmp(mark)) {
            bare.insert(at, mark.to_owned());
        }
    }
    let marked = marked.iter().map(|character| match options.marker {
        Marker::EndFused(_) => format!("{character}{mark}"),
        _ => format!("{mark}{character}"),
    });
    Ok((bare, marked.collect()))
}
