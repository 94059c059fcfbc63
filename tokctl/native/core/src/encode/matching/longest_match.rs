//! WordPiece encoding: the longest token first, from left to right, as in BERT.

use super::automaton::{LongestStarts, BLOCK};
use crate::encode::Segment;
use crate::error::{Error, Result};
use crate::lock_free::Once;
use crate::model::{Trie, NO_ID};
use crate::{unicode, Interrupt};

/// How much of a word becomes unknown if a rest of the word matches no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// The whole word is one unknown token, as in BERT.
    Word,
    /// The first character that does not match is unknown; matching continues after it.
    Character,
    /// Characters without a token are dropped.
    Drop,
}

impl Unknown {
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "word" => Ok(Unknown::Word),
            "char" => Ok(Unknown::Character),
            "drop" => Ok(Unknown::Drop),
            _ => Err(Error::Invalid(format!("invalid value {name} for unknown"))),
        }
    }
}

/// Tokens between two polls of the interrupt.
const POLL_EVERY: usize = 1 << 16;
/// Steps in a trie per byte of a word, with [`MORE_STEPS`] in addition; beyond them the automaton
/// takes over.
const STEPS_PER_BYTE: usize = 8;
/// Steps in a trie for any word, in addition to [`STEPS_PER_BYTE`].
const MORE_STEPS: usize = 1 << 14;
/// Length in characters: if no longer words are allowed, as in BERT, the trie alone is used.
const SHORT: usize = 256;

/// A WordPiece model: splits a word by longest match.
pub struct LongestMatch {
    start: Trie,
    inside: Trie,
    /// The strings of `inside`; `None` if words can't be long enough to need the automaton.
    automaton: Option<LazyAutomaton>,
    unknown: Unknown,
    unknown_id: u32,
    /// Words of more characters become unknown as a whole.
    max_characters: usize,
}

impl LongestMatch {
    /// Build a model from the ordinary tokens, without the special ones, and their ids.
    ///
    /// A token that starts with `prefix` continues a word. At the start of a word, every token
    /// matches its literal text, as in BERT.
    pub fn new<'t>(
        tokens: impl Iterator<Item = (&'t [u8], u32)>,
        prefix: &[u8],
        unknown: Unknown,
        unknown_id: Option<u32>,
        max_characters: Option<usize>,
    ) -> Result<Self> {
        let tokens: Vec<(&[u8], u32)> = tokens.collect();
        let inside = tokens
            .iter()
            .filter_map(|&(token, id)| Some((token.strip_prefix(prefix)?, id)));
        let mut automaton = None;
        if max_characters.is_none_or(|most| most > SHORT) {
            let automaton: &mut LazyAutomaton = automaton.get_or_insert_default();
            inside
                .clone()
                .for_each(|(text, id)| automaton.add(text, id));
        }
        Ok(LongestMatch {
            start: Trie::build(tokens.iter().copied())?,
            inside: Trie::build(inside)?,
            automaton,
            unknown,
            unknown_id: unknown_id.unwrap_or(NO_ID),
            max_characters: max_characters.unwrap_or(usize::MAX),
        })
    }

    /// Append the tokens of a word.
    pub fn segment(&self, word: &[u8], out: &mut Vec<Segment>, interrupt: Interrupt) -> Result<()> {
        let first = out.len();
        let whole = Segment {
            id: self.unknown_id,
            length: word.len() as u32,
        };
        if word.len() > self.max_characters && characters(word) > self.max_characters {
            out.push(whole);
            return Ok(());
        }
        let (mut at, mut walked, mut done) = (0, 0, 0usize);
        let mut matches = None;
        while at < word.len() {
            done += 1;
            if done.is_multiple_of(POLL_EVERY) && interrupt() {
                return Err(Error::Interrupted);
            }
            if walked > MORE_STEPS.saturating_add(STEPS_PER_BYTE * at) && matches.is_none() {
                matches = self.automaton.as_ref().and_then(|all| all.of(word, at));
            }
            let found = match &mut matches {
                Some(matches) => matches.longest(at),
                None => {
                    let trie = if at == 0 { &self.start } else { &self.inside };
                    let (found, steps) = trie.longest_counted(&word[at..]);
                    walked += steps;
                    found
                }
            };
            let (id, length) = match found {
                Some(found) => found,
                None if self.unknown == Unknown::Character => {
                    let length = unicode::decode(word, at).map_or(1, |(_, length)| length);
                    (self.unknown_id, length)
                }
                None => {
                    out.truncate(first);
                    out.push(whole);
                    return Ok(());
                }
            };
            out.push(Segment {
                id,
                length: length as u32,
            });
            at += length;
        }
        Ok(())
    }
}

fn characters(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

/// Strings with their ids, and an automaton that finds the longest one at each offset of a long
/// word in linear time.
///
/// If tokens match for long and then fail, a trie examines each byte as many times as the longest
/// token has bytes. Such words are finished with the automaton of [`LongestStarts`], which is made
/// when the first one comes.
#[derive(Default)]
struct LazyAutomaton {
    text: Vec<u8>,
    /// End of each string in `text`, and the string's id.
    strings: Vec<(usize, u32)>,
    automaton: Once<Option<LongestStarts>>,
}

impl LazyAutomaton {
    pub fn add(&mut self, string: &[u8], id: u32) {
        self.text.extend_from_slice(string);
        self.strings.push((self.text.len(), id));
    }

    /// Find strings in `text` from offset `from` on.
    ///
    /// `None` if there are too many strings for an automaton.
    pub fn of<'p>(&'p self, text: &'p [u8], from: usize) -> Option<LongestMatches<'p>> {
        let make = || {
            let starts = std::iter::once(0).chain(self.strings.iter().map(|string| string.0));
            let strings = starts.zip(&self.strings);
            let mut strings: Vec<&[u8]> = strings
                .map(|(start, &(end, _))| &self.text[start..end])
                .collect();
            // Of equal strings, the automaton takes the first, and the trie the last.
            strings.reverse();
            LongestStarts::new(&strings)
        };
        Some(LongestMatches {
            strings: self,
            automaton: self.automaton.get_or_init(make).as_ref()?,
            text,
            scanned: from,
            found: Vec::new(),
        })
    }
}

/// The longest strings found in a word, block by block.
struct LongestMatches<'p> {
    strings: &'p LazyAutomaton,
    automaton: &'p LongestStarts,
    text: &'p [u8],
    /// Offset up to which the text has been scanned.
    scanned: usize,
    /// Offsets before `scanned` where a string starts, with the string's number, last first.
    found: Vec<(usize, u32)>,
}

impl LongestMatches<'_> {
    /// Return id and length of the longest string at `at`, an offset after the offsets of earlier
    /// calls.
    pub fn longest(&mut self, at: usize) -> Option<(u32, usize)> {
        if at >= self.scanned {
            let block = BLOCK.max(self.automaton.longest().saturating_mul(4));
            self.scanned = self.text.len().min(at.saturating_add(block));
            self.found.clear();
            self.automaton
                .starts(self.text, at, self.scanned, &mut self.found);
        }
        while self.found.last().is_some_and(|found| found.0 < at) {
            self.found.pop();
        }
        let &(place, number) = self.found.last()?;
        let strings = &self.strings.strings;
        let (_, id) = strings[strings.len() - 1 - number as usize];
        (place == at).then(|| (id, self.automaton.length(number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random_below;

    /// Segment by trying every length, longest first.
    fn slow(tokens: &[(Vec<u8>, u32)], word: &[u8], unknown: Unknown) -> Vec<(u32, u32)> {
        let (mut at, mut found) = (0, Vec::new());
        while at < word.len() {
            let id = |length: usize| {
                let part = [
                    if at > 0 { &b"##"[..] } else { b"" },
                    &word[at..at + length],
                ]
                .concat();
                tokens.iter().rev().find(|token| token.0 == part)
            };
            let best = (1..=word.len() - at)
                .rev()
                .find_map(|length| Some((id(length)?.1, length)));
            let (id, length) = match best {
                Some(best) => best,
                None if unknown == Unknown::Word => return vec![(99, word.len() as u32)],
                None => (99, unicode::decode(word, at).map_or(1, |found| found.1)),
            };
            found.push((id, length as u32));
            at += length;
        }
        found
    }

    #[test]
    fn the_automaton_takes_over_and_nothing_changes() {
        let mut below = random_below(5);
        for round in 0..40 {
            let unknown = [Unknown::Word, Unknown::Character][round % 2];
            let mut tokens = vec![
                (b"##".to_vec(), 0),
                (b"a".to_vec(), 1),
                (b"##a".to_vec(), 2),
            ];
            let long = 30 + below(40);
            // Long near misses make the trie examine many bytes for one.
            tokens.push(([&b"##"[..], &vec![b'a'; long], b"b"].concat(), 3));
            for id in 4..12 {
                let mut text = match below(2) {
                    0 => b"##".to_vec(),
                    _ => Vec::new(),
                };
                text.extend((0..1 + below(4)).map(|_| b"aab\xC3\xA9"[below(5)]));
                tokens.push((text, id));
            }
            let mut word = vec![b'a'; 600 + below(200)];
            word.extend((0..30).map(|_| b"aaab\xC3\xA9"[below(6)]));
            word.extend(vec![b'a'; below(60)]);
            let given = tokens.iter().map(|(text, id)| (&text[..], *id));
            let model = LongestMatch::new(given, b"##", unknown, Some(99), None).unwrap();
            let mut out = Vec::new();
            model.segment(&word, &mut out, &|| false).unwrap();
            let found: Vec<_> = out.iter().map(|s| (s.id, s.length)).collect();
            assert_eq!(found, slow(&tokens, &word, unknown), "{round}");
        }
    }

    #[test]
    fn long_near_misses_take_linear_time() {
        let near = [&b"##"[..], &[b'a'; 20_000], b"b"].concat();
        let tokens: [(&[u8], u32); 3] = [(b"a", 1), (b"##a", 2), (&near, 3)];
        let tokens = tokens.into_iter();
        let model = LongestMatch::new(tokens, b"##", Unknown::Word, None, None).unwrap();
        // 2 * 10^10 steps if every offset were followed to its end.
        let mut out = Vec::new();
        let word = vec![b'a'; 1_000_000];
        model.segment(&word, &mut out, &|| false).unwrap();
        assert_eq!(out.len(), word.len());
    }
}
