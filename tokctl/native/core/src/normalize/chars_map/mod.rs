//! SentencePiece's normalization rules: at each place the longest key that stands there is
//! replaced by its value (`Normalizer::NormalizePrefix` of its normalizer.cc).
//!
//! SentencePiece turns a byte that is not UTF-8 into U+FFFD; here it stays, as for every
//! normalizer. Hugging Face's `Precompiled` applies the same rules in a way of its own:
//! see [`graphemes`].

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

/// A set of rules, and how they are applied.
#[derive(Debug, Clone)]
pub struct CharsMap {
    rules: Arc<Rules>,
    graphemes: bool,
    kept: Option<Arc<Kept>>,
}

#[derive(Debug)]
enum Source {
    Builtin(Builtin),
    Blob(Blob),
}

#[derive(Debug)]
struct Rules {
    source: Source,
    /// Per ASCII character: does it need a look where another one follows?
    ascii: [bool; 128],
    /// Per ASCII character: what it becomes, if no rule begins with it and another one.
    alone: [Option<u8>; 128],
    /// No printable one does, and neither does a NUL.
    plain: bool,
    concerned: Concerned,
    /// Only its first character tells of a rule, and not that of ASCII.
    ascii_joins: bool,
    /// What stops [`Rules::untouched`], if ASCII does not tell more of what follows.
    #[cfg(target_arch = "x86_64")]
    suspects: Option<Suspects>,
}

/// Which characters of the basic plane, but for ASCII, rules concern: two bits for each, in words of
/// 32 characters.
#[derive(Debug)]
struct Concerned(Box<[u64; Concerned::WORDS]>);

impl Concerned {
    const WORDS: usize = 0x1_0000 / 32;
    /// A rule may begin here.
    const BEGINS: u64 = 1;
    /// One may begin with the character before, whether or not that one says so.
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

/// ASCII without its controls.
const PRINTABLE: std::ops::Range<usize> = 0x20..0x7F;

/// The names of the built-in rules, with what they add to NFKC.
const NAMES: [(&str, bool, bool); 4] = [
    ("nfkc", false, false),
    ("nmt_nfkc", true, false),
    ("nfkc_cf", false, true),
    ("nmt_nfkc_cf", true, true),
];

impl CharsMap {
    /// SentencePiece's rules of this name: `nfkc`, `nmt_nfkc`, `nfkc_cf` or `nmt_nfkc_cf`.
    /// With `graphemes` they are applied as Hugging Face does.
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

    /// The rules of a model file: its `precompiled_charsmap`.
    pub fn from_blob(blob: &[u8], graphemes: bool) -> Result<Self> {
        Ok(CharsMap {
            rules: Arc::new(Rules::new(Source::Blob(Blob::new(blob)?))),
            graphemes,
            kept: None,
        })
    }

    /// These rules, but for the texts that are to stay as they are: where one begins, no rule
    /// does, until behind it. An error with `graphemes`.
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

    /// Do the rules make nothing but spaces of this text, one of each text that they, or no
    /// rule, stand for?
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

    /// May a text be cut before a space or a line feed that follows no white space?
    pub(super) fn cuts_before_space(&self) -> bool {
        match &self.rules.source {
            // No key holds a space or a line feed beside another character, and none
            // begins with a character that a grapheme binds to the next. (Tested.)
            _ if self.kept.as_ref().is_some_and(|kept| kept.holds_space) => false,
            Source::Builtin(_) => true,
            Source::Blob(blob) => !self.graphemes && !blob.reaches_over_a_space(),
        }
    }

    /// Do the rules apply to what lies on the two sides of a NUL as if each were a text?
    /// No key of theirs holds one, and neither does a value: NULs close them in a blob.
    pub(super) fn splits_at_nul(&self) -> bool {
        !self.graphemes && self.kept.is_none() && !self.rules.ascii[0]
    }

    /// Are these SentencePiece's own rules, of which every value is known?
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

    /// How many bytes at the start are ASCII that no rule concerns but with what follows.
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

    /// How many bytes at the start no rule concerns.
    #[inline]
    fn untouched(&self, text: &str) -> usize {
        let bytes = text.as_bytes();
        #[cfg(target_arch = "x86_64")]
        if let (Level::Avx512(has), Some(suspects)) = (Level::get(), &self.suspects) {
            let looked_at = match suspects.find(has, bytes, |at| self.stop_at(bytes, at)) {
                Ok(stop) => return stop,
                Err(looked_at) => looked_at,
            };
            // A rule may begin with what was looked at last.
            let from = before(bytes, looked_at);
            return from + self.untouched_one_by_one(&bytes[from..]);
        }
        self.untouched_one_by_one(bytes)
    }

    /// Where [`Self::untouched`] ends if rules concern the character at `at`, the first of [`Suspects`]
    /// that they may concern.
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

    /// The same by each character.
    #[inline]
    fn untouched_one_by_one(&self, bytes: &[u8]) -> usize {
        // Bytes of the character before, if a rule may begin with that one.
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

    /// The longest rule that begins `text`: the length of its key, and its value.
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

    /// The value of the shortest rule that begins `text`.
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

/// Where the character before a place begins; 0 at the start.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn before(bytes: &[u8], at: usize) -> usize {
    let mut at = at.saturating_sub(1);
    while at > 0 && bytes[at] & 0xC0 == 0x80 {
        at -= 1;
    }
    at
}

/// Every byte of a value stands for all of the key, as in SentencePiece's offsets.
fn longest(rules: &Rules, keep: Option<&Kept>, text: &str, sink: &mut impl TextSink) {
    let bytes = text.as_bytes();
    let (mut kept, mut at) = (0, 0);
    // No rule concerns what lies before this.
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
