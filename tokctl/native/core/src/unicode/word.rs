//! `\w` of a regular expression (Unicode Technical Standard 18, annex C).

use super::{Categories, Category};

/// Set of the characters that are alphabetic, a mark, a decimal number, connector punctuation or a
/// join control.
#[derive(Clone, Copy)]
pub struct WordCharacters(Categories);

impl WordCharacters {
    /// Return the set; call once before a loop, not inside it.
    pub fn get() -> Self {
        WordCharacters(Categories::get())
    }

    /// Return whether `code` is a word character.
    pub fn has(self, code: u32) -> bool {
        let category = self.0.of(code);
        category.is_letter()
            || category.is_mark()
            || matches!(category, Category::Nd | Category::Nl | Category::Pc)
            || matches!(code, 0x200C | 0x200D)
            // Symbols that are alphabetic: letters in circles and squares.
            || matches!(code, 0x24B6..=0x24E9 | 0x1F130..=0x1F149)
            || matches!(code, 0x1F150..=0x1F169 | 0x1F170..=0x1F189)
    }
}
