//! The vocabulary before the first merge: special tokens, then the alphabet.

use std::collections::BTreeSet;

use super::Options;
use crate::count::Counts;
use crate::error::{Error, Result};
use crate::model::{Marker, Units, Vocabulary};

/// Ids: special tokens as given; symbols without a fused marker by code point; those
/// that carry one by code point (bytes in the order of `initial_alphabet`).
pub fn vocabulary(counts: &Counts, options: &Options) -> Result<Vocabulary> {
    let mut vocabulary = Vocabulary::default();
    for token in &options.special_tokens {
        vocabulary.intern(token);
    }
    let special = vocabulary.len() as u32;
    let mut alphabet = options.initial_alphabet.clone();
    if options.units == Units::Characters {
        let (bare, marked) = characters(counts, options);
        alphabet.extend(bare.into_iter().chain(marked).map(String::into_bytes));
    }
    for symbol in &alphabet {
        if vocabulary.intern(symbol) < special || options.reserved.contains(symbol) {
            return Err(Error::Invalid(format!(
                "a special token is spelled like {:?}, a symbol of the alphabet",
                String::from_utf8_lossy(symbol)
            )));
        }
    }
    let least = vocabulary.len() as u64;
    if options.vocab_size < least {
        return Err(Error::VocabularyTooSmall {
            asked: options.vocab_size,
            least,
        });
    }
    if options.vocab_size >= u64::from(u32::MAX) {
        return Err(Error::TooLarge(format!(
            "a vocabulary of {} does not fit 32-bit ids",
            options.vocab_size
        )));
    }
    Ok(vocabulary)
}

/// The bare symbols (a marker of its own among them) and those with a fused marker.
fn characters(counts: &Counts, options: &Options) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut bare, mut marked) = (BTreeSet::new(), BTreeSet::new());
    let mut bare_characters = BTreeSet::new();
    let mut marked_characters = BTreeSet::new();
    for (pre_token, _) in counts.iter() {
        let text = String::from_utf8_lossy(pre_token);
        let last = text.chars().count() - 1;
        for (index, character) in text.chars().enumerate() {
            let fused = match options.marker {
                Marker::Continuation(_) => index > 0,
                Marker::EndFused(_) => index == last,
                _ => false,
            };
            if fused {
                marked_characters.insert(character);
            }
            if !fused || options.bare_characters {
                bare_characters.insert(character);
            }
        }
    }
    bare.extend(bare_characters.iter().map(char::to_string));
    match &options.marker {
        Marker::End(mark) | Marker::Start(mark) if !counts.is_empty() => {
            bare.insert(mark.clone());
        }
        Marker::Continuation(mark) => {
            marked.extend(marked_characters.iter().map(|c| format!("{mark}{c}")));
        }
        Marker::EndFused(mark) => {
            marked.extend(marked_characters.iter().map(|c| format!("{c}{mark}")));
        }
        _ => {}
    }
    (bare, marked)
}
