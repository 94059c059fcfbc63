//! `\w` of a regular expression (Unicode Technical Standard 18, annex C).

use super::{Categories, Category};

/// Alphabetic, mark, decimal number, connector punctuation or join control.
#[derive(Clone, Copy)]
pub struct WordCharacters(Categories);

impl WordCharacters {
    /// Get one before a loop, not inside it.
    pub fn get() -> Self {
        WordCharacters(Categories::get())
    }

    pub fn has(self, code: u32) -> bool {
        let category = self.0.of(code);
        category.is_letter()
            || category.is_mark()
            || matches!(category, Category::Nd | Category::Nl | Category::Pc)
            || matches!(code, 0x200C | 0x200D)
            // Alphabetic symbols: letters in circles and squares.
            || matches!(code, 0x24B6..=0x24E9 | 0x1F130..=0x1F149)
            || matches!(code, 0x1F150..=0x1F169 | 0x1F170..=0x1F189)
    }
}
