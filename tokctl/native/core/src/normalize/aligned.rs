//! Sinks that a normalizer writes to: the text alone, or the text with its source spans.
//!
//! The operations mirror Hugging Face's `NormalizedString`, so that every normalizer is written
//! once and both sinks match the library exactly.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::memory;
use crate::unicode;

/// Normalized text with the source span of each byte.
///
/// A source span is a byte range (start, end) of the original. An inserted character takes the span
/// of the character before it, (0, 0) at the start. A replacement takes the span of the character
/// that it replaces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Aligned {
    pub text: Vec<u8>,
    pub places: Vec<(u32, u32)>,
}

impl Aligned {
    /// Return `text` unchanged, with the span of its character for each byte.
    ///
    /// A text of 4 GiB or more is an error.
    pub fn unchanged(text: &[u8]) -> Result<Self> {
        check_length(text)?;
        Ok(Aligned {
            text: text.to_vec(),
            places: unicode::places(text),
        })
    }
}

fn check_length(text: &[u8]) -> Result<()> {
    match u32::try_from(text.len()) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::TooLarge(
            "a text of 4 GiB or more cannot be normalized with places".into(),
        )),
    }
}

/// Most bytes that normalizers may write for each byte of a text.
///
/// A short text may grow to [`LEAST_MOST`] bytes. A model whose replacements feed one another can
/// exceed the limit; the text is then refused.
pub const MOST_GROWTH: usize = 64;
/// Bytes that normalizers may always write, however short the text.
pub const LEAST_MOST: usize = 64 << 20;

/// Return the most bytes that normalizers may make of a text of `bytes` bytes.
pub(super) fn most(bytes: usize) -> usize {
    bytes.saturating_mul(MOST_GROWTH).max(LEAST_MOST)
}

fn too_long(most: usize) -> Error {
    let most = most >> 20;
    Error::TooLarge(format!(
        "the normalizers make more than {most} MB of a text"
    ))
}

/// Receiver of the new text, in order, while a normalizer reads the old text from start to end.
pub(super) trait TextSink {
    /// Note that a stretch of well-formed text begins at offset `at` of the old text.
    fn stretch(&mut self, at: usize);
    /// Keep the next bytes of the old text.
    fn keep(&mut self, bytes: &[u8]);
    /// Replace the next bytes of the old text, which are ASCII, each by the result of `becomes`.
    fn map(&mut self, bytes: &[u8], becomes: impl Fn(u8) -> u8);
    /// Remove the next `length` bytes of the old text.
    fn skip(&mut self, length: usize);
    /// Write a character as Hugging Face's `transform` does.
    ///
    /// A `change` above 0 inserts the character. Otherwise it replaces the next character of the
    /// old text, and the next -`change` characters are removed.
    fn put(&mut self, character: char, change: isize);
    /// Replace the next `length` bytes of the old text by `text`.
    ///
    /// Every byte of `text` takes the span of all `length` bytes.
    fn stand_for(&mut self, length: usize, text: &str);
    /// Insert text that takes the span of the character after it.
    fn lead(&mut self, text: &str);
    /// Reserve room for `bytes` inserted bytes.
    ///
    /// Fails if the new text would exceed its limit, or if memory is short.
    fn reserve(&mut self, bytes: usize) -> Result<()>;
}

/// Sink that keeps the text alone and copies nothing before the first change.
pub(super) struct TextOnly<'t> {
    old: &'t [u8],
    /// Most bytes that the new text may have.
    most: usize,
    /// Leading bytes of the old text that are unchanged, counted until the first change.
    same: usize,
    new: Option<Vec<u8>>,
}

impl<'t> TextOnly<'t> {
    /// Create a sink over `old` for at most `most` bytes of new text.
    pub fn new(old: &'t [u8], most: usize) -> Self {
        TextOnly {
            old,
            most,
            same: 0,
            new: None,
        }
    }

    #[inline]
    fn new_text(&mut self) -> &mut Vec<u8> {
        let (old, same) = (self.old, self.same);
        self.new.get_or_insert_with(|| {
            let mut text = Vec::with_capacity(old.len() + 16);
            text.extend_from_slice(&old[..same]);
            text
        })
    }

    pub fn finish(self) -> Result<Cow<'t, [u8]>> {
        match self.new {
            Some(new) if new.len() > self.most => Err(too_long(self.most)),
            Some(new) if new != self.old => Ok(Cow::Owned(new)),
            _ => Ok(Cow::Borrowed(self.old)),
        }
    }
}

impl TextSink for TextOnly<'_> {
    fn stretch(&mut self, _: usize) {}

    #[inline]
    fn keep(&mut self, bytes: &[u8]) {
        match &mut self.new {
            Some(new) => new.extend_from_slice(bytes),
            None => self.same += bytes.len(),
        }
    }

    #[inline]
    fn map(&mut self, bytes: &[u8], becomes: impl Fn(u8) -> u8) {
        let new = self.new_text();
        new.extend(bytes.iter().map(|&byte| becomes(byte)));
    }

    #[inline]
    fn skip(&mut self, length: usize) {
        if length > 0 {
            self.new_text();
        }
    }

    #[inline]
    fn put(&mut self, character: char, _: isize) {
        let new = self.new_text();
        if character.is_ascii() {
            new.push(character as u8);
        } else {
            new.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }

    fn stand_for(&mut self, _: usize, text: &str) {
        let most = self.most;
        let new = self.new_text();
        // A text that is too long already stops growing; `finish` refuses it.
        if new.len() <= most {
            new.extend_from_slice(text.as_bytes());
        }
    }

    fn lead(&mut self, text: &str) {
        self.new_text().extend_from_slice(text.as_bytes());
    }

    fn reserve(&mut self, bytes: usize) -> Result<()> {
        let most = self.most;
        let new = self.new_text();
        match new.len().saturating_add(bytes) > most {
            true => Err(too_long(most)),
            false => memory::reserve(new, bytes),
        }
    }
}

/// Sink that keeps the text and its source spans.
pub(super) struct TextAndPlaces<'t> {
    old: &'t [u8],
    /// Source spans of the old text's bytes. If the old text is the original, they are computed at
    /// the first change.
    places: Cow<'t, [(u32, u32)]>,
    /// Most bytes that the new text may have.
    most: usize,
    /// Offset up to which the old text is consumed.
    at: usize,
    new: Option<Aligned>,
}

impl<'t> TextAndPlaces<'t> {
    /// Create a sink over `old` for at most `most` bytes of new text.
    ///
    /// `places` holds the source spans of `old`, or is None if `old` is the original.
    pub fn new(old: &'t [u8], places: Option<&'t [(u32, u32)]>, most: usize) -> Result<Self> {
        if places.is_none() {
            check_length(old)?;
        }
        Ok(TextAndPlaces {
            old,
            places: Cow::Borrowed(places.unwrap_or_default()),
            most,
            at: 0,
            new: None,
        })
    }

    fn change(&mut self) -> &mut Aligned {
        if self.new.is_none() {
            if self.places.is_empty() {
                self.places = Cow::Owned(unicode::places(self.old));
            }
            self.new = Some(Aligned {
                text: self.old[..self.at].to_vec(),
                places: self.places[..self.at].to_vec(),
            });
        }
        self.new.get_or_insert_default()
    }

    fn push(&mut self, text: &[u8], place: (u32, u32)) {
        let new = self.change();
        new.text.extend_from_slice(text);
        new.places.resize(new.text.len(), place);
    }

    /// Return the source span of the byte at `at`; past the end, the span of the last byte.
    fn place(&mut self, at: usize) -> (u32, u32) {
        self.change();
        let last = self.places.len().saturating_sub(1);
        self.places.get(at.min(last)).copied().unwrap_or((0, 0))
    }

    /// Consume `characters` characters of the old text.
    fn pass(&mut self, characters: usize) {
        for _ in 0..characters {
            self.at += character_length(self.old, self.at);
        }
    }

    pub fn finish(self) -> Result<Option<Aligned>> {
        match self.new {
            Some(new) if new.text.len() > self.most => Err(too_long(self.most)),
            new => Ok(new),
        }
    }
}

/// Return the byte length of the character at `at`: 1 for a byte that is not UTF-8, 0 at the end.
fn character_length(text: &[u8], at: usize) -> usize {
    if at >= text.len() {
        return 0;
    }
    unicode::decode(text, at).map_or(1, |(_, length)| length)
}

impl TextSink for TextAndPlaces<'_> {
    fn stretch(&mut self, at: usize) {
        self.at = at;
    }

    fn keep(&mut self, bytes: &[u8]) {
        let (start, end) = (self.at, (self.at + bytes.len()).min(self.old.len()));
        if let Some(new) = &mut self.new {
            new.text.extend_from_slice(bytes);
            new.places.extend_from_slice(&self.places[start..end]);
        }
        self.at = end;
    }

    fn map(&mut self, bytes: &[u8], becomes: impl Fn(u8) -> u8) {
        let mut kept = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            let new = becomes(byte);
            if new != byte {
                self.keep(&bytes[kept..at]);
                self.put(new.into(), 0);
                kept = at + 1;
            }
        }
        self.keep(&bytes[kept..]);
    }

    fn skip(&mut self, length: usize) {
        if length > 0 {
            self.change();
            self.at = (self.at + length).min(self.old.len());
        }
    }

    fn put(&mut self, character: char, change: isize) {
        let place = match change > 0 {
            true if self.at == 0 => {
                self.change();
                (0, 0)
            }
            true => self.place(self.at - 1),
            false => self.place(self.at),
        };
        self.push(character.encode_utf8(&mut [0; 4]).as_bytes(), place);
        if change <= 0 {
            self.pass(1 + change.unsigned_abs());
        }
    }

    fn stand_for(&mut self, length: usize, text: &str) {
        let first = self.place(self.at);
        let last = self.place((self.at + length).saturating_sub(1));
        if self.change().text.len() <= self.most {
            self.push(text.as_bytes(), (first.0, last.1));
        }
        self.skip(length);
    }

    fn lead(&mut self, text: &str) {
        let place = self.place(self.at);
        self.push(text.as_bytes(), place);
    }

    fn reserve(&mut self, bytes: usize) -> Result<()> {
        let most = self.most;
        let new = self.change();
        if new.text.len().saturating_add(bytes) > most {
            return Err(too_long(most));
        }
        memory::reserve(&mut new.text, bytes)?;
        memory::reserve(&mut new.places, bytes)
    }
}
