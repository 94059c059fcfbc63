//! The longest token at each place of a long word, in linear time.
//!
//! Taking the longest token, place after place, with a trie looks at every byte as often as the
//! longest token has bytes, if tokens go on for long and then don't match. Words that turn out so
//! are finished with the automaton of [`LongestStarts`], which is made when the first one comes.

use super::longest::{LongestStarts, BLOCK};
use crate::lock_free::Once;

/// Strings with their ids, and the automaton that finds them.
#[derive(Default)]
pub(super) struct Places {
    text: Vec<u8>,
    /// Where each string ends in `text`, and its id.
    strings: Vec<(usize, u32)>,
    automaton: Once<Option<LongestStarts>>,
}

impl Places {
    pub fn add(&mut self, string: &[u8], id: u32) {
        self.text.extend_from_slice(string);
        self.strings.push((self.text.len(), id));
    }

    /// None if there are too many strings for an automaton.
    pub fn of<'p>(&'p self, text: &'p [u8], from: usize) -> Option<PlacesOf<'p>> {
        let make = || {
            let starts = std::iter::once(0).chain(self.strings.iter().map(|string| string.0));
            let strings = starts.zip(&self.strings);
            let mut strings: Vec<&[u8]> = strings
                .map(|(start, &(end, _))| &self.text[start..end])
                .collect();
            // Of equal ones the first counts there, and the last in a trie.
            strings.reverse();
            LongestStarts::new(&strings)
        };
        Some(PlacesOf {
            places: self,
            automaton: self.automaton.get_or_init(make).as_ref()?,
            text,
            scanned: from,
            found: Vec::new(),
        })
    }
}

pub(super) struct PlacesOf<'p> {
    places: &'p Places,
    automaton: &'p LongestStarts,
    text: &'p [u8],
    scanned: usize,
    /// Places up to `scanned` where a string starts, last first.
    found: Vec<(usize, u32)>,
}

impl PlacesOf<'_> {
    /// Id and length of the longest string at a place that lies behind those asked for before.
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
        let strings = &self.places.strings;
        let (_, id) = strings[strings.len() - 1 - number as usize];
        (place == at).then(|| (id, self.automaton.length(number)))
    }
}
