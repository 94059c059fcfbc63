//! Unicode's normalization forms (UAX #15), with source spans as in Hugging Face's library.
//!
//! The first character of a decomposition replaces the original character, the others are inserted.
//! A composition adds up the changes of its parts. A reordered mark keeps its own change, so source
//! spans follow the new order, as in the library.

use crate::lock_free::Lazy;
use std::iter::once;

use unicode_normalization::char::{
    canonical_combining_class, compose, decompose_canonical, decompose_compatible,
};
use unicode_normalization::{
    is_nfc_quick, is_nfd_quick, is_nfkc_quick, is_nfkd_quick, IsNormalized,
};

use super::aligned::TextSink;
use super::chars::ascii_length;
use crate::unicode::stretches;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NormalForm {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

impl NormalForm {
    fn composes(self) -> bool {
        matches!(self, NormalForm::Nfc | NormalForm::Nfkc)
    }

    fn is_compatible(self) -> bool {
        matches!(self, NormalForm::Nfkc | NormalForm::Nfkd)
    }

    fn is_normal(self, text: impl Iterator<Item = char>) -> bool {
        let answer = match self {
            NormalForm::Nfc => is_nfc_quick(text),
            NormalForm::Nfd => is_nfd_quick(text),
            NormalForm::Nfkc => is_nfkc_quick(text),
            NormalForm::Nfkd => is_nfkd_quick(text),
        };
        answer == IsNormalized::Yes
    }

    /// Return whether the text before this character cannot change it: a starter that stays as it
    /// is and never composes with a character before it.
    fn starts_anew(self, character: char) -> bool {
        canonical_combining_class(character) == 0 && self.is_normal(once(character))
    }
}

/// Number of code points with an entry in [`STARTS`]: they cover most alphabets.
const IN_TABLE: usize = 0x3400;

/// Results of [`NormalForm::starts_anew`] for each code point, one bit for each form.
static STARTS: Lazy<Vec<u8>> = Lazy::new(|| {
    let bits = |character: char| {
        let forms = [
            NormalForm::Nfc,
            NormalForm::Nfd,
            NormalForm::Nfkc,
            NormalForm::Nfkd,
        ];
        let bits = forms.map(|form| u8::from(form.starts_anew(character)) << form as u8);
        bits.into_iter().sum()
    };
    ('\0'..).take(IN_TABLE).map(bits).collect()
});

/// Table look-up for [`NormalForm::starts_anew`].
#[derive(Clone, Copy)]
struct Starts {
    form: NormalForm,
    table: &'static [u8],
}

impl Starts {
    fn of(form: NormalForm) -> Self {
        Starts {
            form,
            table: &STARTS,
        }
    }

    #[inline]
    fn anew(self, character: char) -> bool {
        if let Some(bits) = self.table.get(character as usize) {
            return bits >> self.form as u8 & 1 == 1;
        }
        match character {
            '\u{4E00}'..='\u{9FFF}' => true,
            '\u{AC00}'..='\u{D7A3}' => self.form.composes(),
            _ => self.form.starts_anew(character),
        }
    }
}

/// Buffers that are reused from one group of characters to the next.
#[derive(Default)]
struct FormScratch {
    /// (combining class, character, change), the change as in [`TextSink::put`].
    decomposed: Vec<(u8, char, isize)>,
    /// Marks that wait until the starter before them is written.
    marks: Vec<(char, isize)>,
}

pub(super) fn run(form: NormalForm, text: &[u8], sink: &mut impl TextSink) {
    let mut scratch = FormScratch::default();
    for (valid, invalid) in stretches(text) {
        run_stretch(form, valid, &mut scratch, sink);
        sink.keep(invalid);
    }
}

/// Normalize a stretch group by group: a character that starts anew, and all up to the next.
fn run_stretch(form: NormalForm, text: &str, scratch: &mut FormScratch, sink: &mut impl TextSink) {
    let bytes = text.as_bytes();
    let starts = Starts::of(form);
    let (mut kept, mut group) = (0, 0);
    // Whether the group is one character that starts anew, and so stays as it is.
    let mut settled = true;
    let mut end_group = |group: usize, end: usize| {
        if !form.is_normal(text[group..end].chars()) {
            sink.keep(&bytes[kept..group]);
            normalize(form, &text[group..end], scratch, sink);
            kept = end;
        }
    };
    let mut at = 0;
    while at < bytes.len() {
        let ascii = ascii_length(&bytes[at..]);
        if ascii > 0 {
            if !settled {
                end_group(group, at);
            }
            // In a run of ASCII, only the last character can interact with the text after the run.
            (group, settled) = (at + ascii - 1, true);
            at += ascii;
        }
        let Some(character) = text[at..].chars().next() else {
            break;
        };
        if starts.anew(character) {
            if !settled {
                end_group(group, at);
            }
            (group, settled) = (at, true);
        } else {
            settled = false;
        }
        at += character.len_utf8();
    }
    if !settled {
        end_group(group, bytes.len());
    }
    sink.keep(&bytes[kept..]);
}

fn normalize(form: NormalForm, group: &str, scratch: &mut FormScratch, sink: &mut impl TextSink) {
    let FormScratch { decomposed, marks } = scratch;
    decomposed.clear();
    for character in group.chars() {
        let mut first = true;
        let push = |part: char| {
            let change = isize::from(!std::mem::take(&mut first));
            decomposed.push((canonical_combining_class(part), part, change));
        };
        match form.is_compatible() {
            true => decompose_compatible(character, push),
            false => decompose_canonical(character, push),
        }
    }
    let starter = |a: &(u8, char, isize), b: &(u8, char, isize)| a.0 != 0 && b.0 != 0;
    for run in decomposed.chunk_by_mut(starter) {
        // A stable sort: marks of one class keep their order.
        run.sort_by_key(|part| part.0);
    }
    match form.composes() {
        true => put_together(decomposed, marks, sink),
        false => decomposed.iter().for_each(|part| sink.put(part.1, part.2)),
    }
}

/// Compose a decomposed group by the canonical composition algorithm.
fn put_together(
    decomposed: &[(u8, char, isize)],
    marks: &mut Vec<(char, isize)>,
    sink: &mut impl TextSink,
) {
    marks.clear();
    let mut starter: Option<(char, isize)> = None;
    // Class of the last mark that was kept since the starter.
    let mut between: Option<u8> = None;
    for &(class, character, change) in decomposed {
        let Some(before) = starter else {
            match class {
                0 => starter = Some((character, change)),
                _ => sink.put(character, change),
            }
            continue;
        };
        let blocked = between.is_some_and(|last| last >= class);
        if let Some(both) = compose(before.0, character).filter(|_| !blocked) {
            starter = Some((both, before.1 + change - 1));
        } else if class == 0 {
            sink.put(before.0, before.1);
            marks.drain(..).for_each(|mark| sink.put(mark.0, mark.1));
            starter = Some((character, change));
            between = None;
        } else {
            marks.push((character, change));
            between = Some(class);
        }
    }
    for (character, change) in starter.into_iter().chain(marks.drain(..)) {
        sink.put(character, change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalize::aligned::TextOnly;
    use crate::random::random_below;
    use unicode_normalization::UnicodeNormalization;

    const FORMS: [NormalForm; 4] = [
        NormalForm::Nfc,
        NormalForm::Nfd,
        NormalForm::Nfkc,
        NormalForm::Nfkd,
    ];

    fn ours(form: NormalForm, text: &str) -> String {
        let mut sink = TextOnly::new(text.as_bytes(), usize::MAX);
        run(form, text.as_bytes(), &mut sink);
        String::from_utf8(sink.finish().unwrap().into_owned()).expect("text stays text")
    }

    fn theirs(form: NormalForm, text: &str) -> String {
        match form {
            NormalForm::Nfc => text.nfc().collect(),
            NormalForm::Nfd => text.nfd().collect(),
            NormalForm::Nfkc => text.nfkc().collect(),
            NormalForm::Nfkd => text.nfkd().collect(),
        }
    }

    #[test]
    fn every_code_point_alone_and_among_others() {
        for form in FORMS {
            // Private-use and unassigned planes are left out: their characters never change.
            for character in
                ('\0'..='\u{323AF}').filter(|&c| !('\u{4E10}'..'\u{9FF0}').contains(&c))
            {
                let decomposed: String = once(character).nfkd().collect();
                for text in [
                    format!("{character}"),
                    format!("a{character}\u{301}\u{323}{decomposed}b{character}"),
                ] {
                    assert_eq!(ours(form, &text), theirs(form, &text), "{form:?} {text:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_looked_up_is_right() {
        for form in FORMS {
            for character in '\0'..=char::MAX {
                let fast = Starts::of(form).anew(character);
                assert_eq!(fast, form.starts_anew(character), "{form:?} {character:?}");
            }
        }
    }

    /// Compare random sequences of characters that compose, decompose or reorder.
    #[test]
    fn generated_sequences() {
        let turning: Vec<char> = "aAe \u{300}\u{301}\u{323}\u{327}\u{345}\u{e9}\u{1e69}\u{1100}\u{1161}\u{11a8}\u{ac00}\u{ac01}\u{ffa1}\u{ffc2}\u{fb01}\u{ff76}\u{ff9e}\u{3099}\u{304b}\u{fdfa}\u{212b}\u{5d0}\u{5b0}\u{5bc}\u{9c7}\u{9be}\u{1d15e}\u{1f600}\u{4e2d}"
            .chars()
            .collect();
        let mut below = random_below(1);
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..8 {
                text.push(turning[below(turning.len())]);
            }
            for form in FORMS {
                assert_eq!(ours(form, &text), theirs(form, &text), "{form:?} {text:?}");
            }
        }
    }
}
