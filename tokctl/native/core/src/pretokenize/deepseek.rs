//! Steps of DeepSeek-V3's `tokenizer.json`, each of which isolates its matches.
//!
//! 1. `\p{N}{1,3}`
//! 2. `[一-龥぀-ゟ゠-ヿ]+`
//! 3. ``[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|``
//!    ` ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
//!
//! A step sees only one piece of the step before, so the third looks ahead no further than the end
//! of its stretch. Text that it does not match (controls, unassigned code points) is a pre-token
//! from one match to the next.

use super::runs::{breaks_end, is_line_break, space_end};
use super::runs::{code_at, numbers_end};
use crate::unicode::{Categories, Classes, NUMBER, SPACE};

#[derive(Clone, Copy, PartialEq, Eq)]
enum StretchKind {
    Numbers,
    /// Step 2: ideographs, Hiragana and Katakana.
    Ideographs,
    Rest,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharacterKind {
    /// `[\p{L}\p{M}]`
    Word,
    /// `[\p{P}\p{S}]`
    Punctuation,
    Space,
    Other,
}

#[derive(Clone, Copy)]
struct Tables {
    classes: Classes,
    categories: Categories,
}

impl Tables {
    fn stretch(self, text: &[u8], at: usize) -> (StretchKind, usize) {
        let (code, length) = code_at(text, at);
        let stretch = match code {
            0x4E00..=0x9FA5 | 0x3040..=0x30FF => StretchKind::Ideographs,
            _ if self.classes.of(code) & NUMBER != 0 => StretchKind::Numbers,
            _ => StretchKind::Rest,
        };
        (stretch, length)
    }

    /// Return the kind and the length of the character at `at`; None at the end of the text.
    fn kind(self, text: &[u8], at: usize) -> Option<(CharacterKind, usize)> {
        if at >= text.len() {
            return None;
        }
        let (code, length) = code_at(text, at);
        let category = self.categories.of(code);
        let kind = if category.is_letter() || category.is_mark() {
            CharacterKind::Word
        } else if category.is_punctuation() || category.is_symbol() {
            CharacterKind::Punctuation
        } else if self.classes.of(code) & SPACE != 0 {
            CharacterKind::Space
        } else {
            CharacterKind::Other
        };
        Some((kind, length))
    }

    fn run_end(self, text: &[u8], mut at: usize, kind: CharacterKind) -> usize {
        while let Some((here, length)) = self.kind(text, at) {
            if here != kind {
                break;
            }
            at += length;
        }
        at
    }

    /// Return the end of step 3's match at `at`; None if nothing matches.
    fn match_end(self, text: &[u8], at: usize) -> Option<usize> {
        let (kind, length) = self.kind(text, at)?;
        let next = at + length;
        if text[at].is_ascii_punctuation() && text.get(next).is_some_and(u8::is_ascii_alphabetic) {
            let letters = text[next..].iter().take_while(|b| b.is_ascii_alphabetic());
            return Some(next + letters.count());
        }
        let following = self.kind(text, next).map(|(kind, _)| kind);
        let punctuation = |from| {
            let end = self.run_end(text, from, CharacterKind::Punctuation);
            Some(breaks_end(text, end, false))
        };
        match kind {
            CharacterKind::Word => Some(self.run_end(text, next, CharacterKind::Word)),
            CharacterKind::Punctuation => punctuation(next),
            _ if following == Some(CharacterKind::Word) && !is_line_break(text[at]) => {
                Some(self.run_end(text, next, CharacterKind::Word))
            }
            CharacterKind::Space
                if text[at] == b' ' && following == Some(CharacterKind::Punctuation) =>
            {
                punctuation(next)
            }
            CharacterKind::Space => Some(space_end(self.classes, text, at, false)),
            CharacterKind::Other => None,
        }
    }

    /// Apply step 3 to one stretch.
    fn words(self, text: &[u8], mut emit: impl FnMut(usize, usize)) {
        let (mut at, mut unmatched) = (0, 0);
        while at < text.len() {
            match self.match_end(text, at) {
                Some(end) => {
                    if unmatched < at {
                        emit(unmatched, at);
                    }
                    emit(at, end);
                    (at, unmatched) = (end, end);
                }
                None => at += code_at(text, at).1,
            }
        }
        if unmatched < at {
            emit(unmatched, at);
        }
    }
}

pub fn split(classes: Classes, text: &[u8], mut emit: impl FnMut(usize, usize)) {
    let tables = Tables {
        classes,
        categories: Categories::get(),
    };
    let mut at = 0;
    while at < text.len() {
        let (stretch, length) = tables.stretch(text, at);
        if stretch == StretchKind::Numbers {
            let end = numbers_end(classes, text, at, 3);
            emit(at, end);
            at = end;
            continue;
        }
        let mut end = at + length;
        while end < text.len() {
            let (here, length) = tables.stretch(text, end);
            if here != stretch {
                break;
            }
            end += length;
        }
        tables.words(&text[at..end], |from, to| emit(at + from, at + to));
        at = end;
    }
}
