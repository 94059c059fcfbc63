//! The decoder steps of a chain, and the parts of which they consist.

use std::sync::Arc;

use super::chain::{Each, Flow, StepNode, Whole};
use super::literal::{Literal, Replace, Suffix};
use crate::error::{Error, Result};
use crate::model::{byte_characters, Marker, Prepend};
use crate::pattern::{Pattern, Search};

/// Decoder of Hugging Face's `tokenizers` 0.23 or of tokctl: a map from a list of tokens to a list
/// of tokens.
#[derive(Debug, Clone)]
pub enum DecoderStep {
    /// A token with the prefix continues a word; every other token starts one.
    WordPiece { prefix: String, cleanup: bool },
    /// The replacement becomes a space, or nothing in the first token. `prepend` says which tokens
    /// got a space in front during encoding.
    Metaspace { replacement: char, prepend: Prepend },
    /// Runs of tokens such as `<0x41>` become text.
    ByteFallback { invalid: InvalidBytes },
    /// The suffix becomes a space, or nothing in the last token.
    BpeSuffix { suffix: String },
    /// Fuse all tokens into one. Also used for `ByteLevel`, since tokens are stored as bytes.
    Fuse,
    /// A token made of GPT-2's stand-ins for bytes becomes these bytes; all tokens become one. Used
    /// for `ByteLevel` in a model of characters.
    ByteCharacters,
    /// Join all tokens into one with spaces: Hugging Face's rule for a file without a decoder.
    JoinWithSpaces,
    /// Up to `start` and `stop` copies of a character are removed from the two ends of every token,
    /// or only of the first one.
    Strip {
        content: char,
        start: usize,
        stop: usize,
        first_only: bool,
    },
    /// Matches in each token are replaced.
    Replace { pattern: Search, content: String },
    /// Speech recognition: repeated tokens become one, and padding is removed.
    Ctc {
        pad: String,
        word_delimiter: String,
        cleanup: bool,
    },
    /// Words are joined with spaces, by tokctl's word marker.
    Markers(Marker),
}

/// Treatment of byte tokens whose bytes are not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InvalidBytes {
    /// Every byte of a run with an invalid byte becomes U+FFFD, as in Hugging Face's decoder.
    #[default]
    ReplaceRun,
    /// Every invalid byte becomes U+FFFD, and valid characters stay, as in SentencePiece. A skipped
    /// token ends a run.
    ReplaceBytes,
    /// Bytes stay as they are, as in llama.cpp.
    Keep,
}

impl InvalidBytes {
    /// Return the value with this name.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "replace-run" => Ok(InvalidBytes::ReplaceRun),
            "replace-bytes" => Ok(InvalidBytes::ReplaceBytes),
            "keep" => Ok(InvalidBytes::Keep),
            _ => Err(Error::Invalid(format!(
                "invalid value {name:?} for invalid bytes"
            ))),
        }
    }
}

/// Replacements of `WordPiece`'s clean-up, in order.
const CLEANUP: [(&str, &str); 11] = [
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
];

/// Context that a part needs besides the token itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    Token,
    /// Whether the token is the first one.
    First,
    /// Whether the token is the first or the last one.
    Edges,
    /// Further tokens, before or after.
    Tokens,
}

/// Smallest part of a step, with its prepared data.
#[derive(Debug, Clone)]
pub enum StepPart {
    Replace(Arc<Literal>, Arc<str>),
    ReplaceButFirst(Arc<Literal>, Arc<str>),
    Matches(Arc<dyn Pattern>, Arc<str>),
    Strip(char, usize, usize, bool),
    Prefix(String),
    Suffix(Arc<Literal>),
    Words(Marker),
    ByteCharacters,
    Join,
    Fuse,
    ByteFallback(InvalidBytes),
    Dedup,
    DropEmpty,
}

impl StepPart {
    /// Return the context that the part needs.
    pub fn scope(&self) -> Scope {
        match self {
            StepPart::Replace(..)
            | StepPart::Matches(..)
            | StepPart::Strip(_, _, _, false)
            | StepPart::ByteCharacters => Scope::Token,
            StepPart::ReplaceButFirst(..)
            | StepPart::Strip(_, _, _, true)
            | StepPart::Prefix(_)
            | StepPart::Words(Marker::None | Marker::Start(_) | Marker::Continuation(_)) => {
                Scope::First
            }
            StepPart::Suffix(_) | StepPart::Words(Marker::End(_) | Marker::EndFused(_)) => {
                Scope::Edges
            }
            StepPart::Join
            | StepPart::Fuse
            | StepPart::ByteFallback(_)
            | StepPart::Dedup
            | StepPart::DropEmpty => Scope::Tokens,
        }
    }

    /// Return the initial state of the part for one decoding.
    pub fn node(&self) -> Box<dyn StepNode> {
        match self {
            StepPart::Replace(literal, content) => Box::new(Replace::new(literal, content, false)),
            StepPart::ReplaceButFirst(literal, content) => {
                Box::new(Replace::new(literal, content, true))
            }
            StepPart::Matches(pattern, content) => {
                Box::new(Whole::new(PatternReplacer::new(pattern, content)))
            }
            StepPart::Strip(content, start, stop, first_only) => {
                Box::new(Strip::new(*content, *start, *stop, *first_only))
            }
            StepPart::Prefix(prefix) => Box::new(Prefix::new(prefix)),
            StepPart::Suffix(suffix) => Box::new(Suffix::new(suffix)),
            StepPart::Words(marker) => Box::new(Whole::new(WordJoiner::new(marker))),
            StepPart::ByteCharacters => Box::new(Whole::new(ByteCharacters::default())),
            StepPart::Join => Box::new(Fuse::new(b" ")),
            StepPart::Fuse => Box::new(Fuse::new(b"")),
            StepPart::ByteFallback(invalid) => Box::new(ByteFallback::new(*invalid)),
            StepPart::Dedup => Box::new(Dedup::default()),
            StepPart::DropEmpty => Box::new(DropEmpty::default()),
        }
    }
}

/// Return the parts of all steps, without those that change nothing.
pub fn parts(steps: &[DecoderStep]) -> Result<Vec<StepPart>> {
    let mut parts = Vec::new();
    for step in steps {
        add(step, &mut parts)?;
    }
    // The output is joined anyway.
    while let Some(StepPart::Fuse | StepPart::DropEmpty) = parts.last() {
        parts.pop();
    }
    Ok(parts)
}

fn add(step: &DecoderStep, parts: &mut Vec<StepPart>) -> Result<()> {
    match step {
        DecoderStep::WordPiece { prefix, cleanup } => {
            parts.push(StepPart::Prefix(prefix.clone()));
            if *cleanup {
                clean_up(parts)?;
            }
        }
        DecoderStep::Metaspace {
            replacement,
            prepend,
        } => {
            let literal = Literal::new(&replacement.to_string())?;
            parts.push(match prepend {
                Prepend::Never => StepPart::Replace(literal, " ".into()),
                Prepend::Always | Prepend::First => StepPart::ReplaceButFirst(literal, " ".into()),
            });
        }
        DecoderStep::ByteFallback { invalid } => parts.push(StepPart::ByteFallback(*invalid)),
        DecoderStep::BpeSuffix { suffix } => parts.push(StepPart::Suffix(Literal::new(suffix)?)),
        DecoderStep::Fuse => parts.push(StepPart::Fuse),
        DecoderStep::ByteCharacters => parts.extend([StepPart::ByteCharacters, StepPart::Fuse]),
        DecoderStep::JoinWithSpaces => parts.push(StepPart::Join),
        DecoderStep::Strip {
            content,
            start,
            stop,
            first_only,
        } => parts.push(StepPart::Strip(*content, *start, *stop, *first_only)),
        DecoderStep::Replace { pattern, content } => parts.push(match pattern {
            Search::Literal(text) => {
                StepPart::Replace(Literal::new(text)?, content.as_str().into())
            }
            Search::Pattern(pattern) => {
                StepPart::Matches(Arc::clone(pattern), content.as_str().into())
            }
        }),
        DecoderStep::Ctc {
            pad,
            word_delimiter,
            cleanup,
        } => {
            parts.push(StepPart::Dedup);
            // Replacing an empty string by nothing changes nothing.
            if !pad.is_empty() {
                parts.push(StepPart::Replace(Literal::new(pad)?, "".into()));
            }
            if *cleanup {
                clean_up(parts)?;
                parts.push(StepPart::Replace(Literal::new(word_delimiter)?, " ".into()));
            }
            parts.push(StepPart::DropEmpty);
        }
        DecoderStep::Markers(Marker::None) => parts.push(StepPart::Fuse),
        DecoderStep::Markers(marker) => {
            parts.extend([StepPart::Words(marker.clone()), StepPart::Fuse])
        }
    }
    Ok(())
}

fn clean_up(parts: &mut Vec<StepPart>) -> Result<()> {
    for (spaced, clean) in CLEANUP {
        parts.push(StepPart::Replace(Literal::new(spaced)?, clean.into()));
    }
    Ok(())
}

// Steps that depend on a token's own text, or that drop and regroup tokens.

/// Step of `Replace` with a regular expression, which sees each token as a whole.
pub struct PatternReplacer {
    pattern: Arc<dyn Pattern>,
    content: Arc<str>,
}

impl PatternReplacer {
    pub fn new(pattern: &Arc<dyn Pattern>, content: &Arc<str>) -> Self {
        PatternReplacer {
            pattern: Arc::clone(pattern),
            content: Arc::clone(content),
        }
    }
}

impl Each for PatternReplacer {
    fn token(&mut self, token: &[u8], next: &mut Flow) -> Result<()> {
        // Hugging Face never searches an empty token.
        if token.is_empty() {
            return Ok(());
        }
        let mut from = 0;
        for (start, end) in self.pattern.matches(token)? {
            next.bytes(&token[from..start])?;
            next.bytes(self.content.as_bytes())?;
            from = end;
        }
        next.bytes(&token[from..])
    }
}

/// Step of `ByteLevel`: emits the bytes that a token spells, or the token itself.
#[derive(Default)]
struct ByteCharacters {
    bytes: Vec<u8>,
}

impl Each for ByteCharacters {
    fn token(&mut self, token: &[u8], next: &mut Flow) -> Result<()> {
        self.bytes.clear();
        match byte_characters::unspell(token, &mut self.bytes) {
            Some(()) => next.bytes(&self.bytes),
            None => next.bytes(token),
        }
    }
}

/// Step of `Strip`: removes up to a number of copies of a character from a token's start and end.
pub struct Strip {
    content: Vec<u8>,
    start: usize,
    stop: usize,
    first_only: bool,
    /// Whether the current token passes unchanged: it follows the first one, and `first_only` is
    /// set.
    passes: bool,
    begun: bool,
    /// Number of copies that may still be removed at the start; 0 after any other character.
    leading: usize,
    /// Number of copies at the end of the text so far (at most `stop`), and number of bytes of a
    /// further, incomplete copy.
    trailing: usize,
    partial: usize,
}

impl Strip {
    pub fn new(content: char, start: usize, stop: usize, first_only: bool) -> Self {
        Strip {
            content: content.to_string().into_bytes(),
            start,
            stop,
            first_only,
            passes: false,
            begun: false,
            leading: start,
            trailing: 0,
            partial: 0,
        }
    }

    /// Emit what is held back, because it is not at the token's end.
    fn release(&mut self, next: &mut Flow) -> Result<()> {
        for _ in 0..std::mem::take(&mut self.trailing) {
            next.bytes(&self.content)?;
        }
        next.bytes(&self.content[..std::mem::take(&mut self.partial)])
    }
}

impl StepNode for Strip {
    fn begin(&mut self, next: &mut Flow) -> Result<()> {
        self.leading = self.start;
        self.passes = self.first_only && std::mem::replace(&mut self.begun, true);
        next.begin()
    }

    fn bytes(&mut self, text: &[u8], next: &mut Flow) -> Result<()> {
        if self.passes || (self.leading == 0 && self.stop == 0 && self.partial == 0) {
            return next.bytes(text);
        }
        let mut from = 0;
        for (at, &byte) in text.iter().enumerate() {
            // The first byte of a character occurs nowhere else in it. So after an incomplete copy,
            // no copy can begin in the middle of it.
            let fits = self.content[self.partial] == byte;
            if !fits && (self.partial > 0 || self.trailing > 0) {
                self.release(next)?;
                self.leading = 0;
            }
            if self.content[self.partial] != byte {
                self.leading = 0;
                continue;
            }
            if self.partial == 0 {
                next.bytes(&text[from..at])?;
            }
            from = at + 1;
            self.partial += 1;
            if self.partial < self.content.len() {
                continue;
            }
            self.partial = 0;
            if self.leading > 0 {
                self.leading -= 1;
            } else if self.trailing < self.stop {
                self.trailing += 1;
            } else {
                next.bytes(&self.content)?;
            }
        }
        next.bytes(&text[from..])
    }

    fn end(&mut self, next: &mut Flow) -> Result<()> {
        if self.partial > 0 {
            self.release(next)?;
        }
        self.trailing = 0;
        next.end()
    }

    fn is_settled(&self, fused: bool) -> bool {
        // Between two tokens, the first one has ended.
        let is_over = self.first_only && self.begun && !fused;
        // Nothing is removed from the end of the one fused token, and its start has passed.
        is_over || fused && self.stop == 0 && self.leading == 0 && self.partial == 0
    }
}

/// Step of `CTC` that drops tokens equal to the token before.
#[derive(Default)]
pub struct Dedup {
    token: Vec<u8>,
    last: Option<Vec<u8>>,
}

impl StepNode for Dedup {
    fn begin(&mut self, _next: &mut Flow) -> Result<()> {
        Ok(())
    }

    fn bytes(&mut self, text: &[u8], _next: &mut Flow) -> Result<()> {
        self.token.extend_from_slice(text);
        Ok(())
    }

    fn end(&mut self, next: &mut Flow) -> Result<()> {
        if self.last.as_ref() != Some(&self.token) {
            next.token(&self.token)?;
            std::mem::swap(self.last.get_or_insert_default(), &mut self.token);
        }
        self.token.clear();
        Ok(())
    }
}

/// Step of `CTC` that drops empty tokens.
#[derive(Default)]
pub struct DropEmpty {
    begun: bool,
}

impl StepNode for DropEmpty {
    fn begin(&mut self, _next: &mut Flow) -> Result<()> {
        Ok(())
    }

    fn bytes(&mut self, text: &[u8], next: &mut Flow) -> Result<()> {
        if !std::mem::replace(&mut self.begun, true) {
            next.begin()?;
        }
        next.bytes(text)
    }

    fn end(&mut self, next: &mut Flow) -> Result<()> {
        match std::mem::take(&mut self.begun) {
            true => next.end(),
            false => Ok(()),
        }
    }
}

// Steps that depend on a token's position in the list: joining, prefixes, word markers.

/// Step that makes all tokens one, with a separator between them.
pub struct Fuse {
    separator: &'static [u8],
    begun: bool,
}

impl Fuse {
    pub fn new(separator: &'static [u8]) -> Self {
        let begun = false;
        Fuse { separator, begun }
    }
}

impl StepNode for Fuse {
    fn begin(&mut self, next: &mut Flow) -> Result<()> {
        match std::mem::replace(&mut self.begun, true) {
            true => next.bytes(self.separator),
            false => next.begin(),
        }
    }

    fn bytes(&mut self, text: &[u8], next: &mut Flow) -> Result<()> {
        next.bytes(text)
    }

    fn end(&mut self, _next: &mut Flow) -> Result<()> {
        Ok(())
    }

    fn finish(&mut self, next: &mut Flow) -> Result<()> {
        // An empty list of tokens becomes one empty token.
        if !self.begun {
            next.begin()?;
        }
        next.end()
    }

    fn is_settled(&self, _fused: bool) -> bool {
        self.begun && self.separator.is_empty()
    }

    fn fuses(&self) -> bool {
        true
    }
}

/// Step of `WordPiece` without its clean-up: a token with the prefix continues a word, and every
/// other token but the first gets a space in front.
pub struct Prefix {
    prefix: String,
    /// Number of bytes of the prefix that the current token began with; None once the match is
    /// decided.
    matched: Option<usize>,
    started: bool,
}

impl Prefix {
    pub fn new(prefix: &str) -> Self {
        Prefix {
            prefix: prefix.to_owned(),
            matched: None,
            started: false,
        }
    }

    /// Emit a space and the held bytes, because the current token does not start with the prefix.
    fn refused(&mut self, matched: usize, next: &mut Flow) -> Result<()> {
        self.matched = None;
        next.bytes(b" ")?;
        next.bytes(&self.prefix.as_bytes()[..matched])
    }
}

impl StepNode for Prefix {
    fn begin(&mut self, next: &mut Flow) -> Result<()> {
        // Every token starts with an empty prefix.
        let settled = !self.started || self.prefix.is_empty();
        self.matched = (!settled).then_some(0);
        self.started = true;
        next.begin()
    }

    fn bytes(&mut self, mut text: &[u8], next: &mut Flow) -> Result<()> {
        if let Some(matched) = self.matched {
            let wanted = &self.prefix.as_bytes()[matched..];
            let same = wanted.iter().zip(text).take_while(|(a, b)| a == b).count();
            if same == wanted.len() {
                self.matched = None;
                text = &text[same..];
            } else if same == text.len() {
                self.matched = Some(matched + same);
                return Ok(());
            } else {
                self.refused(matched, next)?;
            }
        }
        next.bytes(text)
    }

    fn end(&mut self, next: &mut Flow) -> Result<()> {
        if let Some(matched) = self.matched {
            self.refused(matched, next)?;
        }
        next.end()
    }
}

/// Step for tokctl's word markers: joins words with spaces.
pub struct WordJoiner {
    marker: Marker,
    started: bool,
    /// Whether a word has ended, so that a space is due before the next token.
    ended: bool,
}

impl WordJoiner {
    pub fn new(marker: &Marker) -> Self {
        WordJoiner {
            marker: marker.clone(),
            started: false,
            ended: false,
        }
    }
}

impl Each for WordJoiner {
    fn begun(&mut self, next: &mut Flow) -> Result<()> {
        match std::mem::take(&mut self.ended) {
            true => next.bytes(b" "),
            false => Ok(()),
        }
    }

    fn token(&mut self, token: &[u8], next: &mut Flow) -> Result<()> {
        let mut rest = token;
        match &self.marker {
            Marker::None => {}
            Marker::End(mark) | Marker::EndFused(mark) => {
                if let Some(stripped) = token.strip_suffix(mark.as_bytes()) {
                    rest = stripped;
                    self.ended = true;
                }
            }
            Marker::Start(mark) => {
                if let Some(stripped) = token.strip_prefix(mark.as_bytes()) {
                    rest = stripped;
                    if self.started {
                        next.bytes(b" ")?;
                    }
                }
            }
            Marker::Continuation(mark) => {
                if self.started {
                    match token.strip_prefix(mark.as_bytes()) {
                        Some(stripped) => rest = stripped,
                        None => next.bytes(b" ")?,
                    }
                }
            }
        }
        self.started = true;
        next.bytes(rest)
    }
}

// `ByteFallback`: tokens that are named after bytes.

/// Length of `<0x41>`.
const LENGTH: usize = 6;

/// Step that turns a run of byte tokens into the text of their bytes. `invalid` says how bytes that
/// are not UTF-8 are treated.
///
/// Each run becomes one token or several. With `ReplaceRun` a run is held back to its end, unless
/// it is already broken; with `ReplaceBytes` only an incomplete character is held back.
#[derive(Default)]
pub struct ByteFallback {
    invalid: InvalidBytes,
    /// The current token, up to the length of a byte token.
    token: Vec<u8>,
    /// Whether the current token is longer than any byte token, and is being passed on.
    passing: bool,
    /// Bytes of the run that are held back.
    run: Vec<u8>,
    /// Number of leading bytes of `run` that are known to be UTF-8.
    valid: usize,
    /// Whether the run contains an invalid byte, so that all its bytes are replaced.
    broken: bool,
}

impl ByteFallback {
    pub fn new(invalid: InvalidBytes) -> Self {
        ByteFallback {
            invalid,
            ..ByteFallback::default()
        }
    }

    fn add(&mut self, byte: u8, next: &mut Flow) -> Result<()> {
        if self.invalid == InvalidBytes::Keep {
            return next.token(&[byte]);
        }
        if self.broken {
            return replaced(1, next);
        }
        self.run.push(byte);
        let error = std::str::from_utf8(&self.run[self.valid..]).err();
        self.valid += error.map_or(self.run.len() - self.valid, |error| error.valid_up_to());
        let wrong = error.and_then(|error| error.error_len());
        if self.invalid == InvalidBytes::ReplaceRun {
            if wrong.is_some() {
                self.broken = true;
                let length = self.run.len();
                self.run.clear();
                return replaced(length, next);
            }
            return Ok(());
        }
        if let Some(length) = wrong {
            // The byte that reveals the error may itself begin a character.
            replaced(length, next)?;
            let rest = self.run.split_off(length);
            self.run.clear();
            return rest.iter().try_for_each(|&byte| self.add(byte, next));
        }
        if self.valid > 0 {
            next.token(&self.run)?;
            self.run.clear();
            self.valid = 0;
        }
        Ok(())
    }

    fn end_run(&mut self, next: &mut Flow) -> Result<()> {
        let whole = self.valid == self.run.len();
        if !self.run.is_empty() {
            match whole {
                true => next.token(&self.run)?,
                false => replaced(self.run.len(), next)?,
            }
        }
        self.run.clear();
        self.valid = 0;
        self.broken = false;
        Ok(())
    }
}

fn replaced(count: usize, next: &mut Flow) -> Result<()> {
    (0..count).try_for_each(|_| next.token("\u{FFFD}".as_bytes()))
}

/// Return the byte that a token such as `<0x41>` names. Parsed with Rust's `from_str_radix`, as in
/// Hugging Face's decoder, so that `<0x+A>` is a byte too.
pub fn byte(token: &[u8]) -> Option<u8> {
    if token.len() != LENGTH {
        return None;
    }
    let digits = token.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

impl StepNode for ByteFallback {
    fn begin(&mut self, _next: &mut Flow) -> Result<()> {
        Ok(())
    }

    fn bytes(&mut self, text: &[u8], next: &mut Flow) -> Result<()> {
        if !self.passing {
            if self.token.len() + text.len() <= LENGTH {
                self.token.extend_from_slice(text);
                return Ok(());
            }
            self.end_run(next)?;
            next.begin()?;
            next.bytes(&self.token)?;
            self.token.clear();
            self.passing = true;
        }
        next.bytes(text)
    }

    fn end(&mut self, next: &mut Flow) -> Result<()> {
        if std::mem::take(&mut self.passing) {
            return next.end();
        }
        let token = std::mem::take(&mut self.token);
        match byte(&token) {
            Some(byte) => self.add(byte, next)?,
            None => {
                self.end_run(next)?;
                next.token(&token)?;
            }
        }
        self.token = token;
        self.token.clear();
        Ok(())
    }

    fn gap(&mut self, next: &mut Flow) -> Result<()> {
        if self.invalid == InvalidBytes::ReplaceBytes {
            self.end_run(next)?;
        }
        next.gap()
    }

    fn finish(&mut self, next: &mut Flow) -> Result<()> {
        self.end_run(next)
    }

    fn is_settled(&self, fused: bool) -> bool {
        // No run is open, and no broken run may continue.
        !fused && !self.passing && self.token.is_empty() && self.run.is_empty() && !self.broken
    }
}
