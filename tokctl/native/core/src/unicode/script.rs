//! Scripts of code points (Unicode, annex 24).

use crate::lock_free::Lazy;

use super::scripts::{COMMON, INHERITED, NAMES, SCRIPTS, UNKNOWN};

static TABLE: Lazy<Box<[u8]>> = Lazy::new(|| {
    let mut table = vec![UNKNOWN; super::CODE_POINTS].into_boxed_slice();
    for &(first, last, number) in &SCRIPTS {
        table[first as usize..=last as usize].fill(number);
    }
    table
});

/// Look-up of scripts; get one before a loop, not inside it.
#[derive(Clone, Copy)]
pub struct Scripts(&'static [u8]);

impl Scripts {
    pub fn get() -> Self {
        Scripts(&TABLE)
    }

    /// Return the number of a code point's script; [`super::scripts`] names some numbers.
    pub fn of(self, code: u32) -> u8 {
        self.0.get(code as usize).copied().unwrap_or(UNKNOWN)
    }
}

/// Return the names of the scripts of a text's characters, each once, in the order of their
/// numbers.
///
/// Characters without a script of their own are left out: spaces, digits, punctuation, combining
/// marks and unassigned code points.
pub fn scripts_of(text: &str) -> Vec<&'static str> {
    let table = Scripts::get();
    let mut found: Vec<u8> = text
        .chars()
        .map(|character| table.of(u32::from(character)))
        .filter(|number| ![UNKNOWN, COMMON, INHERITED].contains(number))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
        .into_iter()
        .map(|number| NAMES[usize::from(number)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::scripts::*;
    use super::*;

    #[test]
    fn scripts_of_texts() {
        assert_eq!(scripts_of(" caf\u{65}\u{301} 12!"), ["Latin"]);
        assert_eq!(scripts_of("京のグ"), ["Han", "Hiragana", "Katakana"]);
        assert_eq!(scripts_of("12, \u{378}"), [""; 0]);
    }

    #[test]
    fn scripts_of_known_characters() {
        let table = Scripts::get();
        let of = |character: char| table.of(u32::from(character));
        assert_eq!(of('\u{4EAC}'), HAN);
        assert_eq!(of('\u{3044}'), HIRAGANA);
        assert_eq!(of('\u{30B0}'), KATAKANA);
        assert_eq!(of(' '), COMMON);
        assert_eq!(of('\u{378}'), UNKNOWN);
        assert_ne!(of('a'), of('\u{3B1}'));
    }
}
