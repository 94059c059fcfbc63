//! The clean-up of Google's neural machine translation, as Hugging Face's `Nmt` has it:
//! controls are removed, and what counts as a space becomes one. (SentencePiece's rules
//! `nmt_nfkc` differ in U+061C and U+200D.)

use super::aligned::Sink;
use super::chars::CharRule;

pub(super) struct Nmt;

fn is_removed(character: char) -> bool {
    matches!(
        character,
        '\u{1}'..='\u{8}' | '\u{B}' | '\u{E}'..='\u{1F}' | '\u{7F}' | '\u{8F}' | '\u{9F}'
    )
}

fn is_spaced(character: char) -> bool {
    matches!(
        character,
        '\t' | '\n' | '\u{C}' | '\r' | '\u{1680}' | '\u{200B}'
            ..='\u{200F}' | '\u{2028}' | '\u{2029}' | '\u{2581}' | '\u{FEFF}' | '\u{FFFD}'
    )
}

impl CharRule for Nmt {
    #[inline]
    fn touches(&self, character: char) -> bool {
        is_removed(character) || is_spaced(character)
    }

    fn write(&self, character: char, sink: &mut impl Sink) {
        match is_removed(character) {
            true => sink.skip(character.len_utf8()),
            false => sink.put(' ', 0),
        }
    }
}
