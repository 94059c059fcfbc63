//! Word and character models, whose tokens are the most frequent pre-tokens or characters.

use std::cmp::Reverse;

use hashbrown::HashSet;

use super::alphabet::{
    alphabet_of, check_size, occurrences, spelled_like_a_special_token, text, Characters, Limits,
};
use super::Stop;
use crate::count::Counts;
use crate::error::{Error, Result};

/// Kind of string that becomes a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Whole pre-tokens: a word list.
    Words,
    /// The characters of the pre-tokens.
    Characters,
}

/// Options of a word or character training.
#[derive(Debug, Clone)]
pub struct FrequencyOptions {
    pub kind: TokenKind,
    /// Target vocabulary size.
    pub vocab_size: u64,
    /// Tokens with the lowest ids: special tokens, or all tokens of an extended model. They are not
    /// counted again.
    pub first: Vec<Vec<u8>>,
    /// Strings that no further token may have: special tokens. A word that equals one is skipped; a
    /// character that equals one is an error.
    pub reserved: Vec<Vec<u8>>,
    /// Words, each listed once, that become tokens however rare they are.
    pub initial_tokens: Vec<Vec<u8>>,
    /// Minimum count of a word to become a token.
    pub min_frequency: u64,
    /// Maximum length of a word in characters.
    pub max_token_length: Option<u64>,
    /// Limits on which characters may be tokens, for [`TokenKind::Characters`].
    pub limits: Limits,
}

/// Result of a word or character training.
#[derive(Debug, Clone)]
pub struct FrequencyTraining {
    /// Tokens by id.
    pub tokens: Vec<Vec<u8>>,
    /// Count of each token, by id; 0 for the tokens of `first`.
    pub counts: Vec<u64>,
    pub stop: Stop,
}

/// String that may become a token.
struct TokenCandidate<'t> {
    text: &'t [u8],
    count: u64,
    /// Whether the string becomes a token whatever its count.
    required: bool,
}

/// Choose the most frequent words or characters as tokens.
///
/// Ids: the tokens of `first` as given, then the others by descending count, ties in first-seen
/// order. Initial tokens and the characters of `limits.initial` are always kept. Those that do not
/// occur come last, in the order given.
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

/// Return (character, count, whether it must be kept) for each allowed character: first those that
/// occur, in first-seen order, then those of `limits.initial` that do not.
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

/// Choose the best of `candidates`, which must be in first-seen order.
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
