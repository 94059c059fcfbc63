//! Steps that turn on a token's own text, or that drop and regroup tokens.

use std::sync::Arc;

use super::chain::{Each, Flow, Node};
use crate::error::{Error, Result};
use crate::pattern::Pattern;

/// `Replace` with a regular expression: it sees each token whole.
pub struct Matches {
    pattern: Arc<dyn Pattern>,
    content: Arc<str>,
}

impl Matches {
    pub fn new(pattern: &Arc<dyn Pattern>, content: &Arc<str>) -> Self {
        Matches {
            pattern: Arc::clone(pattern),
            content: Arc::clone(content),
        }
    }
}

impl Each for Matches {
    fn token(&mut self, token: &[u8], next: &mut Flow) -> Result<()> {
        // Hugging Face never searches an empty token.
        if token.is_empty() {
            return Ok(());
        }
        let mut from = 0;
        for (start, end) in self.pattern.find(token)? {
            let between = token.get(from..start).filter(|_| end >= start);
            let between = between.ok_or_else(|| {
                Error::Invalid("a pattern's matches lie outside the token".into())
            })?;
            next.bytes(between)?;
            next.bytes(self.content.as_bytes())?;
            from = end;
        }
        next.bytes(token.get(from..).unwrap_or_default())
    }
}

/// `Strip`: up to so many of one character off a token's start and its end.
pub struct Strip {
    content: Vec<u8>,
    start: usize,
    stop: usize,
    /// How many more may go at the start; 0 once something else has come.
    leading: usize,
    /// How many stand at the end of what came, `stop` at most, and bytes of one more.
    trailing: usize,
    partial: usize,
}

impl Strip {
    pub fn new(content: char, start: usize, stop: usize) -> Self {
        Strip {
            content: content.to_string().into_bytes(),
            start,
            stop,
            leading: start,
            trailing: 0,
            partial: 0,
        }
    }

    /// What is held is not the token's end.
    fn release(&mut self, next: &mut Flow) -> Result<()> {
        for _ in 0..std::mem::take(&mut self.trailing) {
            next.bytes(&self.content)?;
        }
        next.bytes(&self.content[..std::mem::take(&mut self.partial)])
    }
}

impl Node for Strip {
    fn begin(&mut self, next: &mut Flow) -> Result<()> {
        self.leading = self.start;
        next.begin()
    }

    fn bytes(&mut self, text: &[u8], next: &mut Flow) -> Result<()> {
        if self.leading == 0 && self.stop == 0 && self.partial == 0 {
            return next.bytes(text);
        }
        let mut from = 0;
        for (at, &byte) in text.iter().enumerate() {
            // The first byte of a character stands nowhere else in it, so a character
            // that was begun and not completed can't be one a byte further on.
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
        // Nothing of the one token's end is taken off, and its start is over.
        fused && self.stop == 0 && self.leading == 0 && self.partial == 0
    }
}

/// Of equal tokens in a row the first (`CTC`).
#[derive(Default)]
pub struct Dedup {
    token: Vec<u8>,
    last: Option<Vec<u8>>,
}

impl Node for Dedup {
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

/// Empty tokens left out (`CTC`).
#[derive(Default)]
pub struct DropEmpty {
    begun: bool,
}

impl Node for DropEmpty {
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
