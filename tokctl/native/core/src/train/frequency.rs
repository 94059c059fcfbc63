//! Word and character models: the most frequent pre-tokens, or characters, are the tokens.

use std::cmp::Reverse;

use hashbrown::HashSet;

use super::alphabet::{
    alphabet_of, check_size, occurrences, spelled_like_a_special_token, text, Characters, Limits,
};
use super::Stop;
use crate::count::Counts;
use crate::error::{Error, Result};

/// What the tokens are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Whole pre-tokens: a word list.
    Words,
    /// The characters of the pre-tokens.
    Characters,
}

#[derive(Debug, Clone)]
pub struct FrequencyOptions {
    pub kind: TokenKind,
    /// Ids wanted in all.
    pub vocab_size: u64,
    /// Tokens that have the lowest ids: special tokens, or all those of a model that is
    /// extended. They are not counted again.
    pub first: Vec<Vec<u8>>,
    /// Strings that no further token may have: special tokens. A word that spells one is
    /// passed over; a character that is one is an error.
    pub reserved: Vec<Vec<u8>>,
    /// Words that are tokens however often they occur, each once.
    pub initial_tokens: Vec<Vec<u8>>,
    /// Words that occur less often are no tokens.
    pub min_frequency: u64,
    /// Longest word, in characters.
    pub max_token_length: Option<u64>,
    /// Which characters may be tokens, for [`TokenKind::Characters`].
    pub limits: Limits,
}

#[derive(Debug, Clone)]
pub struct FrequencyTraining {
    /// By id.
    pub tokens: Vec<Vec<u8>>,
    /// How often each token occurs, by id; 0 for those of `first`.
    pub counts: Vec<u64>,
    pub stop: Stop,
}

/// A string that may become a token.
struct TokenCandidate<'t> {
    text: &'t [u8],
    count: u64,
    /// It becomes one whatever its count.
    required: bool,
}

/// Ids: `first` as given, then by descending count; ties in the order in which they are
/// first seen. Initial tokens, and characters that `limits.initial` puts in, are always kept;
/// those of them that are not seen come last, in the order given.
pub fn train(counts: &Counts, options: &FrequencyOptions) -> Result<FrequencyTraining> {
    match options.kind {
        TokenKind::Words => {
            let initial = options.initial_tokens.iter().map(Vec::as_slice);
            let mut unseen: HashSet<&[u8]> = initial.clone().collect();
            let mut candidates = Vec::new();
            for (text, count) in counts.iter() {
                let required = unseen.remove(text);
                if required || is_wanted(text, count, options) {
                    candidates.push(TokenCandidate {
                        text,
                        count,
                        required,
                    });
                }
            }
            let unseen = initial.filter(|text| unseen.contains(text));
            candidates.extend(unseen.map(|text| TokenCandidate {
                text,
                count: 0,
                required: true,
            }));
            select(candidates, options)
        }
        TokenKind::Characters => {
            let characters = characters(counts, &options.limits)?;
            let candidates = characters
                .iter()
                .map(|(text, count, required)| TokenCandidate {
                    text: text.as_bytes(),
                    count: *count,
                    required: *required,
                });
            select(candidates.collect(), options)
        }
    }
}

fn is_wanted(word: &[u8], count: u64, options: &FrequencyOptions) -> bool {
    let longest = options.max_token_length.unwrap_or(u64::MAX);
    let length = || word.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u64;
    count >= options.min_frequency && (longest == u64::MAX || length() <= longest)
}

/// Characters with their counts, and whether they must stay: as first seen, then those
/// that are not seen.
fn characters(counts: &Counts, limits: &Limits) -> Result<Vec<(String, u64, bool)>> {
    let occurrences = occurrences(counts)?;
    let allowed: Characters = alphabet_of(counts, limits)?.into_iter().collect();
    let initial: Characters = limits.initial.iter().copied().collect();
    let mut known = Characters::none();
    let mut found = Vec::new();
    let mut meet = |character: char| {
        if allowed.contains(character) && !known.contains(character) {
            known.insert(character);
            let count = occurrences[character as usize];
            found.push((character.to_string(), count, initial.contains(character)));
        }
    };
    for (pre_token, _) in counts.iter() {
        text(pre_token)?.chars().for_each(&mut meet);
    }
    limits.initial.iter().copied().for_each(meet);
    Ok(found)
}

/// The best of the candidates, which come in first-seen order.
fn select(
    mut candidates: Vec<TokenCandidate>,
    options: &FrequencyOptions,
) -> Result<FrequencyTraining> {
    let has_id: HashSet<&[u8]> = options.first.iter().map(Vec::as_slice).collect();
    if has_id.len() != options.first.len() {
        return Err(Error::Invalid("two tokens are spelled alike".into()));
    }
    let reserved: HashSet<&[u8]> = options.reserved.iter().map(Vec::as_slice).collect();
    if options.kind == TokenKind::Characters {
        let clash = |candidate: &&TokenCandidate| reserved.contains(candidate.text);
        if let Some(candidate) = candidates.iter().find(clash) {
            return Err(spelled_like_a_special_token(candidate.text));
        }
    }
    candidates
        .retain(|candidate| !has_id.contains(candidate.text) && !reserved.contains(candidate.text));
    let required = candidates.iter().filter(|candidate| candidate.required);
    let least = options.first.len() as u64 + required.count() as u64;
    check_size(options.vocab_size, least)?;
    // The sort is stable: ties stay in first-seen order.
    candidates.sort_by_key(|candidate| Reverse(candidate.count));
    let mut room = options.vocab_size - least;
    let mut tokens = options.first.clone();
    let mut counts = vec![0; tokens.len()];
    for candidate in candidates {
        if !candidate.required {
            if room == 0 {
                continue;
            }
            room -= 1;
        }
        tokens.push(candidate.text.to_vec());
        counts.push(candidate.count);
    }
    Ok(FrequencyTraining {
        tokens,
        counts,
        stop: match room {
            0 => Stop::VocabularyFull,
            _ => Stop::Exhausted,
        },
    })
}
