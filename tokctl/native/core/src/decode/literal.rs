//! Replacing a fixed string, in text that comes in parts.

use std::sync::Arc;

use memchr::memmem::Finder;

use super::chain::{Flow, StepNode};
use crate::error::{Error, Result};

/// A string to look for: leftmost first, without overlap.
#[derive(Debug)]
pub struct Literal {
    finder: Finder<'static>,
    /// For each length of a prefix: that of its longest proper prefix that also ends it
    /// (Knuth, Morris & Pratt 1977).
    borders: Vec<usize>,
}

impl Literal {
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

    /// How much of the literal a text ends with after `byte`, if it was `held` before.
    fn grown(&self, mut held: usize, byte: u8) -> usize {
        let text = self.text();
        while held > 0 && text[held] != byte {
            held = self.borders[held];
        }
        held + usize::from(text[held] == byte)
    }
}

/// What a search comes upon.
pub enum Found<'t> {
    Text(&'t [u8]),
    Match,
}

/// A search whose text comes in parts.
pub struct LiteralSearch {
    literal: Arc<Literal>,
    /// So many bytes at the end of what came may begin a match. They are the literal's own.
    held: usize,
}

impl LiteralSearch {
    pub fn new(literal: &Arc<Literal>) -> Self {
        let literal = Arc::clone(literal);
        LiteralSearch { literal, held: 0 }
    }

    pub fn bytes(
        &mut self,
        mut text: &[u8],
        mut emit: impl FnMut(Found) -> Result<()>,
    ) -> Result<()> {
        // Across the seam byte by byte, then as fast as one can search.
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
        // No match lies in the rest, so only its end can begin one.
        let tail = text.len() - text.len().min(needle.len() - 1);
        let grow = |held, &byte: &u8| self.literal.grown(held, byte);
        self.held = text[tail..].iter().fold(0, grow);
        emit(Found::Text(&text[..text.len() - self.held]))
    }

    fn step(&mut self, byte: u8, emit: &mut impl FnMut(Found) -> Result<()>) -> Result<()> {
        let needle = self.literal.text();
        let held = self.literal.grown(self.held, byte);
        // What was held, and the byte, but for what is held now.
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

    /// The text is over.
    pub fn end(&mut self, mut emit: impl FnMut(Found) -> Result<()>) -> Result<()> {
        let held = std::mem::take(&mut self.held);
        match held {
            0 => Ok(()),
            _ => emit(Found::Text(&self.literal.text()[..held])),
        }
    }
}

/// Every token's occurrences of a string replaced (`Replace`, `Metaspace`).
pub struct Replace {
    search: LiteralSearch,
    content: Arc<str>,
    /// In the first token they are left out.
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

/// `BPEDecoder`: a suffix becomes a space, in the last token nothing. A token with a suffix
/// waits from there on until another begins.
pub struct Suffix {
    search: LiteralSearch,
    /// The current token from its first suffix on: what stands between suffixes.
    waiting: Vec<Vec<u8>>,
    /// A token has ended and nobody behind knows.
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

    /// `text` in parts of `size` bytes, with what was found written as `<>`.
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
