//! Removal of combining marks.

use super::aligned::Sink;
use super::chars::CharRule;
use crate::unicode::{Categories, Category};

/// Which marks are removed.
pub(super) enum Marks {
    /// Every mark (general category M): Hugging Face's `StripAccents`.
    All(Categories),
    /// Nonspacing marks (Mn): the step of BERT's normalizer.
    Nonspacing(Categories),
}

impl CharRule for Marks {
    #[inline]
    fn touches(&self, character: char) -> bool {
        // The first mark is U+0300.
        character >= '\u{300}'
            && match self {
                Marks::All(categories) => categories.of(character.into()).is_mark(),
                Marks::Nonspacing(categories) => categories.of(character.into()) == Category::Mn,
            }
    }

    fn write(&self, character: char, sink: &mut impl Sink) {
        sink.skip(character.len_utf8());
    }
}
