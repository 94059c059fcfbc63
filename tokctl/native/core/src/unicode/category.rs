//! General categories of code points (Unicode, table 4-4).

use crate::lock_free::Lazy;

use super::categories::CATEGORIES;
use super::{LOWER, UPPER};

/// General category, by its two-letter name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Category {
    Lu,
    Ll,
    Lt,
    Lm,
    Lo,
    Mn,
    Mc,
    Me,
    Nd,
    Nl,
    No,
    Pc,
    Pd,
    Ps,
    Pe,
    Pi,
    Pf,
    Po,
    Sm,
    Sc,
    Sk,
    So,
    Zs,
    Zl,
    Zp,
    Cc,
    Cf,
    Cs,
    Co,
    /// Unassigned.
    Cn,
}

use Category::*;

/// Categories in the order of the generated table.
const ALL: [Category; 30] = [
    Lu, Ll, Lt, Lm, Lo, Mn, Mc, Me, Nd, Nl, No, Pc, Pd, Ps, Pe, Pi, Pf, Po, Sm, Sc, Sk, So, Zs, Zl,
    Zp, Cc, Cf, Cs, Co, Cn,
];

/// Return the ranges of code points that have a category other than Cn.
pub(super) fn ranges() -> impl Iterator<Item = (u32, u32, Category)> {
    let named = |&(first, last, number): &(u32, u32, u8)| (first, last, ALL[number as usize]);
    CATEGORIES.iter().map(named)
}

static TABLE: Lazy<Box<[Category]>> = Lazy::new(|| {
    let mut table = vec![Cn; super::CODE_POINTS].into_boxed_slice();
    for (first, last, category) in ranges() {
        table[first as usize..=last as usize].fill(category);
    }
    table
});

/// Look-up of general categories; get one before a loop, not inside it.
#[derive(Clone, Copy)]
pub struct Categories(&'static [Category]);

impl Categories {
    pub fn get() -> Self {
        Categories(&TABLE)
    }

    /// Return the category of a code point; Cn past U+10FFFF.
    pub fn of(self, code: u32) -> Category {
        self.0.get(code as usize).copied().unwrap_or(Cn)
    }
}

impl Category {
    /// Return whether the category is in `\p{L}`.
    pub fn is_letter(self) -> bool {
        self <= Lo
    }

    /// Return whether the category is in `\p{M}`.
    pub fn is_mark(self) -> bool {
        matches!(self, Mn | Mc | Me)
    }

    /// Return the bits UPPER and LOWER of a character class.
    pub(super) fn cases(self) -> u8 {
        match self {
            Lu | Lt => UPPER,
            Ll => LOWER,
            Lm | Lo | Mn | Mc | Me => UPPER | LOWER,
            _ => 0,
        }
    }

    /// Return whether the category is in `\p{P}`.
    pub fn is_punctuation(self) -> bool {
        matches!(self, Pc | Pd | Ps | Pe | Pi | Pf | Po)
    }

    /// Return whether the category is in `\p{S}`.
    pub fn is_symbol(self) -> bool {
        matches!(self, Sm | Sc | Sk | So)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unicode::{Classes, LETTER, NUMBER};

    #[test]
    fn categories_agree_with_the_classes() {
        let (categories, classes) = (Categories::get(), Classes::get());
        for code in 0..0x11_0000 {
            let (category, class) = (categories.of(code), classes.of(code));
            assert_eq!(category.is_letter(), class & LETTER != 0, "{code:x}");
            assert_eq!(
                matches!(category, Nd | Nl | No),
                class & NUMBER != 0,
                "{code:x}"
            );
        }
        assert_eq!(categories.of(0x301), Mn);
        assert_eq!(categories.of(0x378), Cn);
        assert_eq!(categories.of(u32::MAX), Cn);
    }
}
