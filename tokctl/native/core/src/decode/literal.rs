//! Replacement of a fixed string in text that comes in parts.

use std::sync::Arc;

use memchr::memmem::Finder;

use super::chain::{Flow, StepNode};
use crate::error::{Error, Result};

/// String to search for. Matches are leftmost first and do not overlap.
#[derive(Debug)]
pub struct Literal {
    finder: Finder<'static>,
    /// For each length of a prefix: the length of its longest proper prefix that is also its suffix
    /// (Knuth, Morris & Pratt 1977).
    borders: Vec<usize>,
}

impl Literal {
    /// Prepare a search for `text`. Return an error if it is empty.
    pub fn new(text: &str) -> Result<Arc<Self>> {
        if text.is_empty() {
            let message = "a decoder can't replace an empty string";
            return Err(Error::Invalid(message.into()));
        }
        let text = text.as_bytes();
        let mut borders = vec![0; text.len() + 1];
        let mut border = 0;
        for at in 1..text.len() {
            while border > 0 && text[at] != text[border] {
                border = borders[border];
            }
            border += usize::from(text[at] == text[border]);
            borders[at + 1] = border;
        }
        Ok(Arc::new(Literal {
            finder: Finder::new(text).into_owned(),
            borders,
        }))
    }

    fn text(&self) -> &[u8] {
        self.finder.needle()
    }

    /// Return the length of the literal's longest prefix that ends a text after `byte`, if it was
    /// `held` before `byte`.
    fn grown(&self, mut held: usize, byte: u8) -> usize {
        let text = self.text();
        while held > 0 && text[held] != byte {
            held = self.borders[held];
        }
        held + usize::from(text[held] == byte)
    }
}

/// Event of a search.
pub enum Found<'t> {
    Text(&'t [u8]),
    Match,
}

/// Search in a text that comes in parts.
pub struct LiteralSearch {
    literal: Arc<Literal>,
    /// Number of bytes at the end of the text so far that may begin a match. They equal the
    /// literal's own.
    held: usize,
}

impl LiteralSearch {
    pub fn new(literal: &Arc<Literal>) -> Self {
        let literal = Arc::clone(literal);
        LiteralSearch { literal, held: 0 }
    }

    /// Search the next part of the text, and emit texts and matches in order.
    pub fn bytes(
        &mut self,
        mut text: &[u8],
        mut emit: impl FnMut(Found) -> Result<()>,
    ) -> Result<()> {
        // Search byte by byte across the seam, then with the fast searcher.
        while self.held > 0 {
            let Some((&byte, rest)) = text.split_first() else {
                return Ok(());
            };
            text = rest;
            self.step(byte, &mut emit)?;
        }
        let needle = self.literal.text();
        while let Some(at) = self.literal.finder.find(text) {
            emit(Found::Text(&text[..at]))?;
            emit(Found::Match)?;
            text = &text[at + needle.len()..];
        }
        // The rest contains no match, so only its end can begin one.
        let tail = text.len() - text.len().min(needle.len() - 1);
        let grow = |held, &byte: &u8| self.literal.grown(held, byte);
        self.held = text[tail..].iter().fold(0, grow);
        emit(Found::Text(&text[..text.len() - self.held]))
    }

    fn step(&mut self, byte: u8, emit: &mut impl FnMut(Found) -> Result<()>) -> Result<()> {
        let needle = self.literal.text();
        let held = self.literal.grown(self.held, byte);
        // Number of bytes to emit: the bytes held before and `byte`, without those held now.
        let free = self.held + 1 - held;
        let known = free.min(self.held);
        emit(Found::Text(&needle[..known]))?;
        if free > known {
            emit(Found::Text(&[byte]))?;
        }
        self.held = held;
        if held == needle.len() {
            self.held = 0;
            return emit(Found::Match);
        }
        Ok(())
    }

    /// End the text, and emit the bytes held back.
    pub fn end(&mut self, mut emit: impl FnMut(Found) -> Result<()>) -> Result<()> {
        let held = std::mem::take(&mut self.held);
        match held {
            0 => Ok(()),
            _ => emit(Found::Text(&self.literal.text()[..held])),
        }
    }
}

/// Step that replaces a string in every token (`Replace`, `Metaspace`).
pub struct Replace {
    search: LiteralSearch,
    content: Arc<str>,
    /// Whether matches in the first token are removed instead of replaced.
    dropped_first: bool,
    tokens: u64,
}

impl Replace {
    pub fn new(literal: &Arc<Literal>, content: &Arc<str>, dropped_first: bool) -> Self {
        Replace {
            search: LiteralSearch::new(literal),
            content: Arc::clone(content),
            dropped_first,
            tokens: 0,
        }
    }
}

impl StepNode for Replace {
    fn bytes(&mut self, text: &[u8], next: &mut Flow) -> Result<()> {
        let content = match self.dropped_first && self.tokens == 0 {
            true => &[],
            false => self.content.as_bytes(),
        };
        self.search.bytes(text, |found| match found {
            Found::Text(text) => next.bytes(text),
            Found::Match => next.bytes(content),
        })
    }

    fn end(&mut self, next: &mut Flow) -> Result<()> {
        self.search.end(|found| match found {
            Found::Text(text) => next.bytes(text),
            Found::Match => Ok(()),
        })?;
        self.tokens += 1;
        next.end()
    }
}

/// Step of `BPEDecoder`: a suffix becomes a space, or nothing in the last token. A token is held
/// back from its first suffix on, until another token begins.
pub struct Suffix {
    search: LiteralSearch,
    /// The current token from its first suffix on: the texts after each suffix.
    waiting: Vec<Vec<u8>>,
    /// Whether a token has ended and the next step was not told yet.
    ended: bool,
}

impl Suffix {
    pub fn new(literal: &Arc<Literal>) -> Self {
        Suffix {
            search: LiteralSearch::new(literal),
            waiting: Vec::new(),
            ended: false,
        }
    }

    fn release(&mut self, space: &[u8], next: &mut Flow) -> Result<()> {
        for part in self.waiting.drain(..) {
            next.bytes(space)?;
            next.bytes(&part)?;
        }
        match std::mem::take(&mut self.ended) {
            true => next.end(),
            false => Ok(()),
        }
    }
}

impl StepNode for Suffix {
    fn begin(&mut self, next: &mut Flow) -> Result<()> {
        self.release(b" ", next)?;
        next.begin()
    }

    fn bytes(&mut self, text: &[u8], next: &mut Flow) -> Result<()> {
        let waiting = &mut self.waiting;
        self.search.bytes(text, |found| take(found, waiting, next))
    }

    fn end(&mut self, next: &mut Flow) -> Result<()> {
        let waiting = &mut self.waiting;
        self.search.end(|found| take(found, waiting, next))?;
        self.ended = true;
        Ok(())
    }

    fn finish(&mut self, next: &mut Flow) -> Result<()> {
        self.release(b"", next)
    }
}

fn take(found: Found, waiting: &mut Vec<Vec<u8>>, next: &mut Flow) -> Result<()> {
    match (found, waiting.last_mut()) {
        (Found::Match, _) => waiting.push(Vec::new()),
        (Found::Text(text), Some(part)) => part.extend_from_slice(text),
        (Found::Text(text), None) => return next.bytes(text),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Search `text` in parts of `size` bytes, and write each match as `<>`.
    fn found(literal: &str, text: &str, size: usize) -> String {
        let mut search = LiteralSearch::new(&Literal::new(literal).unwrap());
        let mut out = Vec::new();
        let mut emit = |found: Found| {
            match found {
                Found::Text(text) => out.extend_from_slice(text),
                Found::Match => out.extend_from_slice(b"<>"),
            }
            Ok(())
        };
        for part in text.as_bytes().chunks(size) {
            search.bytes(part, &mut emit).unwrap();
        }
        search.end(&mut emit).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn parts_of_any_size_are_searched_as_the_whole() {
        let texts = [
            "",
            "a",
            "ab",
            "aab",
            "abaabaab",
            "aaaaaaa",
            "abababac",
            "▁a▁▁é",
        ];
        for literal in ["a", "aa", "ab", "aab", "abaab", "ababac", "▁", "aaa"] {
            for text in texts {
                for size in 1..=text.len().max(1) {
                    let whole = text.replace(literal, "<>");
                    assert_eq!(found(literal, text, size), whole, "{literal} in {text}");
                }
            }
        }
    }
}
