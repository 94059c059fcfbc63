//! SentencePiece's normalization rules: at each offset, the longest key that matches is replaced by
//! its value (`Normalizer::NormalizePrefix` of normalizer.cc).
//!
//! SentencePiece turns a byte that is not UTF-8 into U+FFFD; this code keeps the byte, like every
//! normalizer. Hugging Face's `Precompiled` applies the same rules in another way: see
//! [`graphemes`].

mod blob;
mod builtin;
mod compile;
mod darts;
mod expand;
mod graphemes;
mod kept;
mod sections;
mod tails;

use std::sync::Arc;

use super::aligned::TextSink;
#[cfg(target_arch = "x86_64")]
use super::avx512::Suspects;
use super::chars::leading;
use crate::error::{Error, Result};
use crate::lock_free::Once;
#[cfg(target_arch = "x86_64")]
use crate::pretokenize::Level;
use crate::unicode::stretches;
use blob::Blob;
use builtin::{Builtin, Replacement};
use kept::Kept;

pub use compile::{compile, compile_named, CharsMapRules};

/// Set of rules, with the way to apply them.
#[derive(Debug, Clone)]
pub struct CharsMap {
    rules: Arc<Rules>,
    graphemes: bool,
    kept: Option<Arc<Kept>>,
}

/// Rules with a known name, or from a model file.
#[derive(Debug)]
enum Source {
    Builtin(Builtin),
    Blob(Blob),
}

#[derive(Debug)]
struct Rules {
    source: Source,
    /// Whether each ASCII character needs a look-up if another ASCII character follows.
    ascii: [bool; 128],
    /// Replacement of each ASCII character, if no longer key begins with it.
    alone: [Option<u8>; 128],
    /// Whether NUL and the printable ASCII characters need no look-up.
    plain: bool,
    /// Characters beyond ASCII that need a look-up.
    concerned: Concerned,
    /// Whether a key may begin with ASCII and continue with other characters. True for a blob, of
    /// whose keys `concerned` records only the first character.
    ascii_joins: bool,
    /// Prefilter for [`Rules::untouched`]; None with `ascii_joins`.
    #[cfg(target_arch = "x86_64")]
    suspects: Option<Suspects>,
}

/// Set of the characters that rules concern, in the basic plane without ASCII: two bits for each,
/// in words of 32 characters.
#[derive(Debug)]
struct Concerned(Box<[u64; Concerned::WORDS]>);

impl Concerned {
    const WORDS: usize = 0x1_0000 / 32;
    /// Bit of a character that may begin a key.
    const BEGINS: u64 = 1;
    /// Bit of a character before which a key may begin, whatever the bits of that earlier
    /// character.
    const FOLLOWS: u64 = 2;

    fn new(source: &Source) -> Self {
        let mut all = Concerned(Box::new([0; Self::WORDS]));
        let mut set = |code: u32, bits: u64| {
            if let Some(word) = all.0.get_mut(code as usize / 32) {
                *word |= bits << (code % 32 * 2);
            }
        };
        match source {
            Source::Builtin(rules) => rules.each_concerned(|code, begins, follows| {
                let (begins, follows) = (u64::from(begins), u64::from(follows));
                set(code, begins * Self::BEGINS + follows * Self::FOLLOWS);
            }),
            Source::Blob(blob) => blob.each_beginning(|code| set(code, Self::BEGINS)),
        }
        all
    }

    #[inline(always)]
    fn get(&self, code: u32) -> u64 {
        self.0[code as usize / 32 % Self::WORDS] >> (code % 32 * 2) & 3
    }
}

/// Printable ASCII, with the space.
const PRINTABLE: std::ops::Range<usize> = 0x20..0x7F;

/// Names of the built-in rules, with whether they add `nmt` and `cf` to NFKC.
const NAMES: [(&str, bool, bool); 4] = [
    ("nfkc", false, false),
    ("nmt_nfkc", true, false),
    ("nfkc_cf", false, true),
    ("nmt_nfkc_cf", true, true),
];

impl CharsMap {
    /// Return SentencePiece's rules named `nfkc`, `nmt_nfkc`, `nfkc_cf` or `nmt_nfkc_cf`; None for
    /// another name.
    ///
    /// With `graphemes`, the rules are applied as in Hugging Face.
    pub fn named(name: &str, graphemes: bool) -> Option<Self> {
        static RULES: [Once<Arc<Rules>>; 4] = [const { Once::new() }; 4];
        let number = NAMES.iter().position(|known| known.0 == name)?;
        let (_, nmt, cf) = NAMES[number];
        let make = || Arc::new(Rules::new(Source::Builtin(Builtin::new(nmt, cf))));
        Some(CharsMap {
            rules: RULES[number].get_or_init(make).clone(),
            graphemes,
            kept: None,
        })
    }

    /// Return the rules of a model file's `precompiled_charsmap`; a damaged one is an error.
    pub fn from_blob(blob: &[u8], graphemes: bool) -> Result<Self> {
        Ok(CharsMap {
            rules: Arc::new(Rules::new(Source::Blob(Blob::new(blob)?))),
            graphemes,
            kept: None,
        })
    }

    /// Return these rules with protected texts, which stay as they are.
    ///
    /// No rule begins inside a protected text. Fails with `graphemes`.
    pub fn keeping(mut self, texts: &[Vec<u8>]) -> Result<Self> {
        if self.graphemes && !texts.is_empty() {
            let message = "rules for whole graphemes can't leave texts alone";
            return Err(Error::Invalid(message.into()));
        }
        self.kept = match texts.is_empty() {
            true => None,
            false => Some(Arc::new(Kept::new(texts)?)),
        };
        Ok(self)
    }

    /// Return whether the rules turn this text into nothing but spaces.
    ///
    /// Each key that matches must give one space, and each unchanged character must be one.
    pub(super) fn makes_only_spaces(&self, text: &[u8]) -> bool {
        let Ok(mut rest) = std::str::from_utf8(text) else {
            return false;
        };
        let kept = |text: &str| self.kept.as_ref()?.longest(text.as_bytes());
        while !rest.is_empty() {
            let length = match (kept(rest), self.rules.longest(rest)) {
                (None, Some((length, Replacement::Text(" ")))) => length,
                (Some(1), _) | (None, None) if rest.starts_with(' ') => 1,
                _ => return false,
            };
            rest = &rest[length..];
        }
        true
    }

    pub(super) fn run(&self, text: &[u8], sink: &mut impl TextSink) {
        let mut at = 0;
        for (valid, invalid) in stretches(text) {
            sink.stretch(at);
            match self.graphemes {
                true => graphemes::run(&self.rules, valid, sink),
                false => longest(&self.rules, self.kept.as_deref(), valid, sink),
            }
            at += valid.len();
            sink.stretch(at);
            sink.keep(invalid);
            at += invalid.len();
        }
    }

    /// Return whether a text may be cut before a space or a line feed that does not follow white
    /// space.
    pub(super) fn cuts_before_space(&self) -> bool {
        match &self.rules.source {
            // No built-in key holds a space or a line feed beside another character, and none
            // begins with a character that a grapheme joins to the next. (Tested.)
            _ if self.kept.as_ref().is_some_and(|kept| kept.holds_space) => false,
            Source::Builtin(_) => true,
            Source::Blob(blob) => !self.graphemes && !blob.reaches_over_a_space(),
        }
    }

    /// Return whether the rules treat the text on each side of a NUL as a text of its own.
    ///
    /// Neither a key nor a value holds a NUL: NULs end them in a blob.
    pub(super) fn splits_at_nul(&self) -> bool {
        !self.graphemes && self.kept.is_none() && !self.rules.ascii[0]
    }

    /// Return whether these are SentencePiece's named rules, whose values are all known.
    pub(super) fn is_builtin(&self) -> bool {
        matches!(self.rules.source, Source::Builtin(_))
    }
}

impl Rules {
    fn new(source: Source) -> Self {
        let ascii = std::array::from_fn(|byte| match &source {
            Source::Builtin(rules) => rules.touches_ascii(byte as u8),
            Source::Blob(blob) => blob.touches_ascii(byte as u8),
        });
        let alone = std::array::from_fn(|byte| match &source {
            Source::Builtin(_) => None,
            Source::Blob(blob) => blob.alone(byte as u8),
        });
        let plain = !ascii[PRINTABLE].contains(&true) && !ascii[0];
        let concerned = Concerned::new(&source);
        let ascii_joins = matches!(source, Source::Blob(_));
        Rules {
            #[cfg(target_arch = "x86_64")]
            suspects: (!ascii_joins)
                .then(|| Suspects::new(&ascii, |code| concerned.get(code) != 0)),
            source,
            ascii,
            alone,
            plain,
            concerned,
            ascii_joins,
        }
    }

    /// Return how many leading bytes are ASCII that begin no key of ASCII alone.
    #[inline]
    fn untouched_ascii(&self, bytes: &[u8]) -> usize {
        let is_untouched = |&byte: &u8| byte < 0x80 && !self.ascii[usize::from(byte)];
        let length = match self.plain {
            true => leading(bytes, |byte| {
                byte != 0 && !PRINTABLE.contains(&usize::from(byte))
            }),
            false => 0,
        };
        let rest = &bytes[length..];
        let behind = rest.iter().position(|byte| !is_untouched(byte));
        length + behind.unwrap_or(rest.len())
    }

    /// Return how many leading bytes no rule concerns.
    #[inline]
    fn untouched(&self, text: &str) -> usize {
        let bytes = text.as_bytes();
        #[cfg(target_arch = "x86_64")]
        if let (Level::Avx512(has), Some(suspects)) = (Level::get(), &self.suspects) {
            let looked_at = match suspects.find(has, bytes, |at| self.stop_at(bytes, at)) {
                Ok(stop) => return stop,
                Err(looked_at) => looked_at,
            };
            // A rule may begin with the last character that was searched.
            let from = before(bytes, looked_at);
            return from + self.untouched_one_by_one(&bytes[from..]);
        }
        self.untouched_one_by_one(bytes)
    }

    /// Return the end of [`Self::untouched`] if rules concern the character at `at`; else None.
    ///
    /// The character is the first that [`Suspects`] holds and that may stop the run.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn stop_at(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let low = |byte: u8| u32::from(byte & 0x3F);
        let code = match bytes[at..] {
            [..0x80, ..] => return Some(at),
            [a @ 0x80..0xE0, b, ..] => u32::from(a & 0x1F) << 6 | low(b),
            [a @ 0xE0..0xF0, b, c, ..] => u32::from(a & 0x0F) << 12 | low(b) << 6 | low(c),
            _ => return Some(before(bytes, at)),
        };
        match self.concerned.get(code) {
            0 => None,
            Concerned::BEGINS => Some(at),
            _ => Some(before(bytes, at)),
        }
    }

    /// Return the result of [`Self::untouched`], character by character.
    #[inline]
    fn untouched_one_by_one(&self, bytes: &[u8]) -> usize {
        // `last`: bytes of the character before `at`, which a rule may begin with; 0 at the start.
        let (mut at, mut last) = (0, 0);
        let low = |byte: u8| u32::from(byte & 0x3F);
        loop {
            let (code, length) = match bytes[at..] {
                [..0x80, ..] => {
                    let ascii = self.untouched_ascii(&bytes[at..]);
                    at += ascii;
                    match bytes.get(at) {
                        Some(0x80..) if self.ascii_joins => return at - 1,
                        Some(0x80..) => last = 1,
                        _ => return at,
                    }
                    continue;
                }
                [a @ 0x80..0xE0, b, ..] => (u32::from(a & 0x1F) << 6 | low(b), 2),
                [a @ 0xE0..0xF0, b, c, ..] => (u32::from(a & 0x0F) << 12 | low(b) << 6 | low(c), 3),
                [0xF0..=0xFF, ..] => return at - last,
                _ => return at,
            };
            match self.concerned.get(code) {
                0 => {}
                Concerned::BEGINS => return at,
                _ => return at - last,
            }
            last = length;
            at += length;
        }
    }

    /// Return the longest rule that begins `text`: the bytes of its key, and its value.
    #[inline]
    fn longest<'s>(&'s self, text: &'s str) -> Option<(usize, Replacement<'s>)> {
        match &self.source {
            Source::Builtin(rules) => rules.longest(text),
            Source::Blob(blob) => {
                let (length, value) = blob.prefixes(text).last()?;
                Some((length, Replacement::Text(value)))
            }
        }
    }

    /// Return the value of the shortest rule that begins `text`.
    fn shortest<'s>(&'s self, text: &'s str) -> Option<Replacement<'s>> {
        match &self.source {
            Source::Builtin(rules) => rules.shortest(text),
            Source::Blob(blob) => blob
                .prefixes(text)
                .next()
                .map(|rule| Replacement::Text(rule.1)),
        }
    }
}

/// Return where the character before offset `at` begins; 0 at the start.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn before(bytes: &[u8], at: usize) -> usize {
    let mut at = at.saturating_sub(1);
    while at > 0 && bytes[at] & 0xC0 == 0x80 {
        at -= 1;
    }
    at
}

/// Apply the longest rule at each offset of `text`, except in protected texts.
///
/// Every byte of a value takes the span of the whole key, as in SentencePiece's offsets.
fn longest(rules: &Rules, keep: Option<&Kept>, text: &str, sink: &mut impl TextSink) {
    let bytes = text.as_bytes();
    let (mut kept, mut at) = (0, 0);
    // No rule concerns the bytes before `clear`.
    let mut clear = 0;
    loop {
        if at >= clear {
            clear = at + rules.untouched(&text[at..]);
        }
        let untouched = clear - at;
        match keep {
            None => at += untouched,
            Some(keep) => {
                let stays = keep.longest(&bytes[at..]);
                let stays = stays.unwrap_or_else(|| keep.before(&bytes[at..at + untouched]));
                if stays > 0 {
                    at += stays;
                    continue;
                }
            }
        }
        if let Some(&first @ ..0x80) = bytes.get(at) {
            if let Some(value) = rules.alone[usize::from(first)] {
                sink.keep(&bytes[kept..at]);
                sink.map(&bytes[at..=at], |_| value);
                at += 1;
                kept = at;
                continue;
            }
        }
        let Some(character) = text[at..].chars().next() else {
            break;
        };
        match rules.longest(&text[at..]) {
            Some((length, value)) => {
                sink.keep(&bytes[kept..at]);
                value.with(|value| sink.stand_for(length, value));
                at += length;
                kept = at;
            }
            None => at += character.len_utf8(),
        }
    }
    sink.keep(&bytes[kept..]);
}

#[cfg(test)]
mod tests;
