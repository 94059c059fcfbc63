//! Selection of the characters that get an id.
//!
//! A character that is left out has no id, and no merge crosses it: its neighbours do not become
//! adjacent. (Hugging Face drops the character from the word, so that its neighbours do.)

use hashbrown::HashSet;

use super::Options;
use crate::count::Counts;
use crate::error::{Error, Result};
use crate::model::{Alphabet, Marker, Units, Vocabulary};

/// Number of possible code points.
const CODE_POINTS: usize = 0x11_0000;

/// Limits on the characters of an alphabet. The default sets no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Share of the character occurrences that the alphabet must cover, as (numerator,
    /// denominator); SentencePiece's `character_coverage`.
    pub coverage: Option<(u64, u64)>,
    /// Maximum number of characters; Hugging Face's `limit_alphabet`.
    pub most: Option<u64>,
    /// Characters that are included even if they do not occur; no limit drops them.
    pub initial: Vec<char>,
}

/// Return the characters of a model's alphabet, sorted by code point.
///
/// The characters of `limits.initial` are taken first. Then all others follow, from the most
/// frequent to the least (ties by code point), until the coverage or the maximum number is reached.
pub fn alphabet_of(counts: &Counts, limits: &Limits) -> Result<Vec<char>> {
    let occurrences = occurrences(counts)?;
    let total: u128 = occurrences.iter().map(|&count| u128::from(count)).sum();
    let mut initial = limits.initial.clone();
    initial.sort_unstable();
    initial.dedup();
    let mut others: Vec<char> = seen(&occurrences)
        .filter(|character| initial.binary_search(character).is_err())
        .collect();
    // The sort is stable: ties stay in code point order.
    others.sort_by_key(|&character| std::cmp::Reverse(occurrences[character as usize]));

    let (share, whole) = limits.coverage.unwrap_or((1, 1));
    let too_large = || Error::TooLarge("the coverage has too many decimals".into());
    let wanted = total.checked_mul(share.into()).ok_or_else(too_large)?;
    let mut covered: u128 = initial
        .iter()
        .map(|&c| u128::from(occurrences[c as usize]))
        .sum();
    let mut taken = initial;
    let most = limits.most.unwrap_or(u64::MAX);
    for character in others {
        let enough = covered.checked_mul(whole.into()).ok_or_else(too_large)? >= wanted;
        if (limits.coverage.is_some() && enough) || taken.len() as u64 >= most {
            break;
        }
        covered += u128::from(occurrences[character as usize]);
        taken.push(character);
    }
    taken.sort_unstable();
    Ok(taken)
}

/// Return how often each character occurs in the counted pre-tokens, indexed by code point.
pub(super) fn occurrences(counts: &Counts) -> Result<Vec<u64>> {
    let mut occurrences = vec![0u64; CODE_POINTS];
    for (pre_token, count) in counts.iter() {
        for character in text(pre_token)?.chars() {
            let entry = &mut occurrences[character as usize];
            *entry = entry.checked_add(count).ok_or_else(|| {
                Error::TooLarge(format!("{character:?} occurs 2^64 times or more"))
            })?;
        }
    }
    Ok(occurrences)
}

fn seen(occurrences: &[u64]) -> impl Iterator<Item = char> + '_ {
    (0u32..)
        .zip(occurrences)
        .filter(|&(_, &count)| count > 0)
        .filter_map(|(code, _)| char::from_u32(code))
}

/// Return a pre-token as text, or an error if it is not UTF-8.
pub(super) fn text(pre_token: &[u8]) -> Result<&str> {
    std::str::from_utf8(pre_token).map_err(|_| Error::Invalid("a pre-token is not UTF-8".into()))
}

/// Set of characters with constant-time lookup, as an array indexed by code point.
pub(super) struct Characters(Vec<bool>);

impl Characters {
    pub fn none() -> Self {
        Characters(vec![false; CODE_POINTS])
    }

    pub fn insert(&mut self, character: char) {
        self.0[character as usize] = true;
    }

    pub fn contains(&self, character: char) -> bool {
        self.0[character as usize]
    }

    /// Iterate over the characters in code point order.
    pub fn iter(&self) -> impl Iterator<Item = char> + '_ {
        let present = (0u32..).zip(&self.0).filter(|&(_, &present)| present);
        present.filter_map(|(code, _)| char::from_u32(code))
    }
}

impl FromIterator<char> for Characters {
    fn from_iter<I: IntoIterator<Item = char>>(characters: I) -> Self {
        let mut set = Characters::none();
        characters.into_iter().for_each(|c| set.insert(c));
        set
    }
}

// The vocabulary before the first merge: special tokens, then the alphabet. When a model is
// extended: all its tokens, then the new symbols of the alphabet.

/// Return the vocabulary before the first merge.
///
/// Ids follow this order: special tokens as given, or the tokens of the extended model; then
/// symbols without a fused marker by code point; then symbols with one by code point. Bytes follow
/// the order of `initial_alphabet`.
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

/// Return the initial symbols of pre-tokens, with their ids in [`vocabulary`]. Special tokens are
/// not among them, because text never starts as a special token.
pub(super) fn initial_symbols(vocabulary: &Vocabulary, options: &Options) -> Alphabet {
    match options.units {
        Units::Bytes => Alphabet::bytes(|byte| vocabulary.id(byte)),
        Units::Characters => {
            let special: HashSet<&[u8]> =
                options.special_tokens.iter().map(Vec::as_slice).collect();
            let tokens = vocabulary.tokens().iter().zip(0..);
            let ordinary = tokens.filter(|(token, _)| !special.contains(token));
            Alphabet::characters(&options.marker, ordinary)
        }
    }
}

/// Return the error for a symbol that is spelled like a special token.
pub fn spelled_like_a_special_token(symbol: &[u8]) -> Error {
    Error::Invalid(format!(
        "a special token is spelled like {:?}, a symbol of the alphabet",
        String::from_utf8_lossy(symbol)
    ))
}

/// Return an error if the requested vocabulary size is less than `least` or does not fit 32-bit
/// ids.
pub fn check_size(requested: u64, least: u64) -> Result<()> {
    if requested < least {
        return Err(Error::VocabularyTooSmall { requested, least });
    }
    if requested >= u64::from(u32::MAX) {
        return Err(Error::TooLarge(format!(
            "a vocabulary of {requested} does not fit 32-bit ids"
        )));
    }
    Ok(())
}

/// Return the bare symbols (with the marker, if the marker is a symbol of its own) and the symbols
/// with a fused marker, each in code point order.
fn characters(counts: &Counts, options: &Options) -> Result<(Vec<String>, Vec<String>)> {
    let initial_tokens = options.initial_tokens.iter().map(Vec::as_slice);
    let allowed: Option<Characters> = if options.limits == Limits::default() {
        None
    } else {
        let mut limits = options.limits.clone();
        for token in initial_tokens.clone() {
            limits.initial.extend(text(token)?.chars());
        }
        Some(alphabet_of(counts, &limits)?.into_iter().collect())
    };
    let (mut bare, mut marked) = (Characters::none(), Characters::none());
    let (mark, carries) = match &options.marker {
        Marker::Continuation(mark) | Marker::EndFused(mark) => (mark.as_str(), true),
        Marker::End(mark) | Marker::Start(mark) => (mark.as_str(), false),
        Marker::None => ("", false),
    };
    let pre_tokens = counts.iter().map(|(pre_token, _)| pre_token);
    for pre_token in pre_tokens.chain(initial_tokens) {
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
        // The character can occur at any position; Hugging Face adds only the bare form to the
        // alphabet.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[(&str, u64)], limits: Limits) -> String {
        let mut counts = Counts::default();
        for (word, count) in words {
            counts.push(word.as_bytes(), *count);
        }
        alphabet_of(&counts, &limits).unwrap().into_iter().collect()
    }

    #[test]
    fn the_most_frequent_come_first_and_ties_go_by_code_point() {
        // Counts: a 5, b 3, c 1, d 1; ten in all.
        let words = [("aab", 2), ("ba", 1), ("dc", 1)];
        let covering = |share, whole| Limits {
            coverage: Some((share, whole)),
            ..Limits::default()
        };
        assert_eq!(of(&words, Limits::default()), "abcd");
        assert_eq!(of(&words, covering(1, 1)), "abcd");
        assert_eq!(of(&words, covering(5, 10)), "a");
        assert_eq!(of(&words, covering(51, 100)), "ab");
        assert_eq!(of(&words, covering(81, 100)), "abc");
        let most = |most| Limits {
            most: Some(most),
            ..Limits::default()
        };
        assert_eq!(of(&words, most(3)), "abc");
        assert_eq!(of(&words, most(0)), "");
    }

    #[test]
    fn initial_characters_stay_and_count() {
        let words = [("aab", 2), ("c", 1)];
        let limits = |coverage, most| Limits {
            coverage,
            most,
            initial: vec!['z', 'c', 'z'],
        };
        assert_eq!(of(&words, limits(None, Some(3))), "acz");
        assert_eq!(of(&words, limits(None, Some(1))), "cz");
        assert_eq!(of(&words, limits(Some((1, 7)), None)), "cz");
        assert_eq!(of(&words, limits(Some((2, 7)), None)), "acz");
        assert_eq!(of(&[], limits(None, None)), "cz");
    }
}
