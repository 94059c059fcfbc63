//! `ByteFallback`: tokens that are called after bytes.

use super::chain::{Flow, Node};
use crate::error::Result;

/// Length of `<0x41>`.
const LENGTH: usize = 6;

/// A run of byte tokens becomes the text that its bytes are; where they are no UTF-8, each
/// of them becomes U+FFFD. A run is one token or many, so it is held back to its end, unless
/// it is broken already.
#[derive(Default)]
pub struct ByteFallback {
    /// The current token, up to the length of a byte token.
    token: Vec<u8>,
    /// The current token is longer than any byte token, and on its way.
    passing: bool,
    run: Vec<u8>,
    /// So many bytes of the run are certain to be UTF-8.
    valid: usize,
    broken: bool,
}

impl ByteFallback {
    fn add(&mut self, byte: u8, next: &mut Flow) -> Result<()> {
        if self.broken {
            return replaced(1, next);
        }
        self.run.push(byte);
        if let Err(error) = std::str::from_utf8(&self.run[self.valid..]) {
            self.valid += error.valid_up_to();
            if error.error_len().is_some() {
                self.broken = true;
                let length = self.run.len();
                self.run.clear();
                return replaced(length, next);
            }
        } else {
            self.valid = self.run.len();
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

/// The byte that `<0x..>` names. As Hugging Face reads it, with Rust's `from_str_radix`, so
/// that `<0x+A>` is a byte too.
pub fn byte(token: &[u8]) -> Option<u8> {
    if token.len() != LENGTH {
        return None;
    }
    let digits = token.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

impl Node for ByteFallback {
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

    fn finish(&mut self, next: &mut Flow) -> Result<()> {
        self.end_run(next)
    }

    fn is_settled(&self, fused: bool) -> bool {
        // No run is open, and none that was found to be broken goes on.
        !fused && !self.passing && self.token.is_empty() && self.run.is_empty() && !self.broken
    }
}
