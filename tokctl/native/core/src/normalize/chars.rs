//! Normalizers that look at one character at a time.

use super::aligned::Sink;
use crate::unicode::stretches;

/// What becomes of a character, whatever stands beside it.
pub(super) trait CharRule {
    /// False where the character stays as it is.
    fn touches(&self, character: char) -> bool;
    /// How many bytes at the start are ASCII that stays.
    #[inline]
    fn untouched(&self, bytes: &[u8]) -> usize {
        leading(bytes, |byte| {
            !byte.is_ascii() || self.touches(char::from(byte))
        })
    }
    /// The one ASCII character that this ASCII byte becomes, where it is one. Runs of these
    /// are written at once.
    #[inline]
    fn ascii(&self, _: u8) -> Option<u8> {
        None
    }
    /// Writes what a touched character becomes.
    fn write(&self, character: char, sink: &mut impl Sink);
}

/// Bytes that are not UTF-8 stay as they are.
pub(super) fn run(rule: &impl CharRule, text: &[u8], sink: &mut impl Sink) {
    for (stretch, invalid) in stretches(text) {
        let bytes = stretch.as_bytes();
        let (mut kept, mut at) = (0, 0);
        loop {
            at += rule.untouched(&bytes[at..]);
            let Some(character) = stretch[at..].chars().next() else {
                break;
            };
            let becomes = |byte: u8| becomes(rule, byte);
            let mapped = leading(&bytes[at..], |byte| becomes(byte).is_none());
            if mapped > 0 {
                sink.keep(&bytes[kept..at]);
                let run = &bytes[at..at + mapped];
                sink.map(run, |byte| becomes(byte).unwrap_or(byte));
                at += mapped;
                kept = at;
                continue;
            }
            let end = at + character.len_utf8();
            if rule.touches(character) {
                sink.keep(&bytes[kept..at]);
                rule.write(character, sink);
                kept = end;
            }
            at = end;
        }
        sink.keep(&bytes[kept..]);
        sink.keep(invalid);
    }
}

#[inline]
fn becomes(rule: &impl CharRule, byte: u8) -> Option<u8> {
    match byte.is_ascii() {
        true => rule.ascii(byte),
        false => None,
    }
}

/// How many bytes at the start are ASCII.
#[inline]
pub(super) fn ascii_length(bytes: &[u8]) -> usize {
    leading(bytes, |byte| !byte.is_ascii())
}

/// How many bytes at the start come before the first that stops; sixteen at a time.
#[inline]
pub(super) fn leading(bytes: &[u8], stops: impl Fn(u8) -> bool) -> usize {
    if bytes.first().is_none_or(|&byte| stops(byte)) {
        return 0;
    }
    let goes_on = |chunk: &&[u8]| !chunk.iter().fold(false, |any, &byte| any | stops(byte));
    let length = 16 * bytes.chunks_exact(16).take_while(goes_on).count();
    let rest = &bytes[length..];
    length
        + rest
            .iter()
            .position(|&byte| stops(byte))
            .unwrap_or(rest.len())
}
