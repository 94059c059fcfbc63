//! Steps of BERT's normalizer, in the order of Hugging Face's `BertNormalizer`.
//!
//! The order is: clean, space out ideographs, strip accents, lower-case. Each step works on the
//! result of the step before it.

use super::aligned::TextSink;
use super::chars::CharRule;
use crate::unicode::{Categories, Category};

/// Rule that removes NUL, U+FFFD and the general categories Cc, Cf and Co.
///
/// Tab, line feed, carriage return and other white space become a space. Unassigned characters
/// stay.
pub(super) struct Clean(pub Categories);

impl Clean {
    fn is_removed(&self, character: char) -> bool {
        if character.is_ascii() {
            return character.is_ascii_control() && !matches!(character, '\t' | '\n' | '\r');
        }
        let category = self.0.of(character.into());
        character == '\u{FFFD}' || matches!(category, Category::Cc | Category::Cf | Category::Co)
    }
}

impl CharRule for Clean {
    #[inline]
    fn touches(&self, character: char) -> bool {
        if character.is_ascii() {
            return character.is_ascii_control();
        }
        self.is_removed(character) || character.is_whitespace()
    }

    #[inline]
    fn ascii(&self, byte: u8) -> Option<u8> {
        match byte {
            b'\t' | b'\n' | b'\r' => Some(b' '),
            _ => (!byte.is_ascii_control()).then_some(byte),
        }
    }

    fn write(&self, character: char, sink: &mut impl TextSink) {
        match self.is_removed(character) {
            true => sink.skip(character.len_utf8()),
            false => sink.put(' ', 0),
        }
    }
}

/// Rule that puts a space on both sides of every ideograph.
pub(super) struct SpaceIdeographs;

impl CharRule for SpaceIdeographs {
    /// Return whether `character` is in one of the blocks that BERT names.
    ///
    /// Of U+2B820..U+2CEAF, Hugging Face leaves out the first 256 characters, and so does this
    /// rule.
    #[inline]
    fn touches(&self, character: char) -> bool {
        matches!(
            character,
            '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
                | '\u{20000}'..='\u{2A6DF}' | '\u{2A700}'..='\u{2B73F}'
                | '\u{2B740}'..='\u{2B81F}' | '\u{2B920}'..='\u{2CEAF}'
                | '\u{2F800}'..='\u{2FA1F}'
        )
    }

    fn write(&self, character: char, sink: &mut impl TextSink) {
        sink.put(' ', 0);
        sink.put(character, 1);
        sink.put(' ', 1);
    }
}
