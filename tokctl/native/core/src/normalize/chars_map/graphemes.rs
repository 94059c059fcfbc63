//! SentencePiece's rules as Hugging Face's `Precompiled` applies them: grapheme by grapheme.
//!
//! A grapheme of fewer than six bytes is replaced as a whole by the value of the *shortest* rule
//! that begins it, whatever follows in the grapheme. Otherwise its characters are looked up one by
//! one.
//!
//! The source spans match the library's, including its mistake: characters removed at the very
//! start are not consumed. The characters after them take the spans of earlier ones, up to the end
//! of the stretch.

use unicode_segmentation::UnicodeSegmentation;

use super::{Replacement, Rules};
use crate::normalize::aligned::TextSink;

/// Bytes from which on a grapheme is looked up character by character.
const LONG: usize = 6;

pub(super) fn run(rules: &Rules, text: &str, sink: &mut impl TextSink) {
    let mut writer = Writer {
        sink,
        last: Last::Nothing,
        late: false,
    };
    let mut at = 0;
    while at < text.len() {
        let plain = plain_length(rules, text.as_bytes(), at);
        writer.keep(&text[at..at + plain]);
        at += plain;
        let end = at + island_length(text.as_bytes(), at);
        for grapheme in text[at..end].graphemes(true) {
            replace_grapheme(rules, grapheme, &mut writer);
        }
        at = end;
    }
    match writer.last {
        // Every character was removed.
        Last::Nothing => sink.skip(text.len()),
        _ => writer.flush(),
    }
}

fn replace_grapheme(rules: &Rules, grapheme: &str, writer: &mut Writer<'_, impl TextSink>) {
    if grapheme.len() < LONG {
        if let Some(value) = rules.shortest(grapheme) {
            writer.replace(grapheme, value);
            return;
        }
    }
    for (at, character) in grapheme.char_indices() {
        let part = &grapheme[at..at + character.len_utf8()];
        match rules.shortest(part) {
            Some(value) => writer.replace(part, value),
            None => writer.keep(part),
        }
    }
}

/// Return how many bytes at `at` are ASCII that no rule concerns, each a grapheme on its own.
fn plain_length(rules: &Rules, bytes: &[u8], at: usize) -> usize {
    let length = rules.untouched_ascii(&bytes[at..]);
    let newline = memchr::memchr(b'\r', &bytes[at..at + length]);
    let length = newline.unwrap_or(length);
    // The last one may form a grapheme with the text after it.
    match at + length < bytes.len() {
        true => length.saturating_sub(1),
        false => length,
    }
}

/// Return the bytes from `at` to the first boundary between two printable ASCII characters, where a
/// grapheme ends.
fn island_length(bytes: &[u8], at: usize) -> usize {
    let mut pairs = bytes[at..].windows(2);
    let between = pairs.position(|pair| pair.iter().all(|byte| (b' '..0x7F).contains(byte)));
    between.map_or(bytes.len() - at, |before| before + 1)
}

/// Last write, which decides how a removal after it is recorded.
enum Last {
    /// No write yet.
    Nothing,
    Kept,
    /// Character that is still to be written, with its change (see [`TextSink::put`]).
    Put(char, isize),
}

/// Writer of changes as the library lists them: (character, change).
struct Writer<'s, S: TextSink> {
    sink: &'s mut S,
    last: Last,
    /// Whether characters were removed at the start, so that the old text lags behind.
    late: bool,
}

impl<S: TextSink> Writer<'_, S> {
    fn keep(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.late {
            text.chars().for_each(|character| self.put(character, 0));
            return;
        }
        self.flush();
        self.sink.keep(text.as_bytes());
        self.last = Last::Kept;
    }

    fn put(&mut self, character: char, change: isize) {
        self.flush();
        self.last = Last::Put(character, change);
    }

    fn replace(&mut self, old: &str, value: Replacement<'_>) {
        let replaced = old.chars().count();
        let mut written = 0;
        value.with(|new| {
            for character in new.chars() {
                self.put(character, isize::from(written >= replaced));
                written += 1;
            }
        });
        if written < replaced {
            self.remove(old, written);
        }
    }

    /// Remove the characters of `old` from number `from` on.
    ///
    /// The library adds them to the change of the character written last. So an inserted character
    /// comes to replace the first of them.
    fn remove(&mut self, old: &str, from: usize) {
        let removed = old.chars().skip(from).map(char::len_utf8);
        match &mut self.last {
            Last::Nothing => self.late = true,
            Last::Kept => self.sink.skip(removed.sum()),
            Last::Put(_, change) => *change -= removed.count() as isize,
        }
    }

    fn flush(&mut self) {
        if let Last::Put(character, change) = self.last {
            self.sink.put(character, change);
            self.last = Last::Kept;
        }
    }
}
