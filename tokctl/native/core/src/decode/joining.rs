//! Steps that turn on where a token stands in its list: joining, prefixes, word markers.

use super::chain::{Each, Flow, Node};
use crate::error::Result;
use crate::model::Marker;

/// All tokens become one, with a separator between them.
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

impl Node for Fuse {
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
        // No tokens at all make one empty token.
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

/// `WordPiece` without its clean-up: a token with the prefix goes on with the word, every
/// other one but the first begins a word.
pub struct Prefix {
    prefix: String,
    /// Bytes of the prefix that the current token began with; None when that is settled.
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

    /// The current token does not start with the prefix.
    fn refused(&mut self, matched: usize, next: &mut Flow) -> Result<()> {
        self.matched = None;
        next.bytes(b" ")?;
        next.bytes(&self.prefix.as_bytes()[..matched])
    }
}

impl Node for Prefix {
    fn begin(&mut self, next: &mut Flow) -> Result<()> {
        // An empty prefix is one that every token has.
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

/// tokctl's word markers: words are joined with spaces.
pub struct Words {
    marker: Marker,
    started: bool,
    /// A word has ended: a space is due before the next token.
    ended: bool,
}

impl Words {
    pub fn new(marker: &Marker) -> Self {
        Words {
            marker: marker.clone(),
            started: false,
            ended: false,
        }
    }
}

impl Each for Words {
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
