//! Decoding of a stream of ids.

use std::sync::Arc;

use super::chain::StepChain;
use super::{Decoder, MOST_OF_TOKEN, MOST_TEXT};
use crate::error::{Error, Result};
use crate::memory;

/// Decoder that returns text as soon as it is certain: no incomplete character, and nothing that a
/// later token could change.
///
/// All pieces together equal the result of [`Decoder::decode`] for all ids. The work is linear in
/// the output, however the ids are divided.
///
/// Bytes that can't become a character are passed on as they are. At most three bytes that still
/// can are held back. With `InvalidBytes::ReplaceRun`, a run of byte-fallback tokens is held back
/// to its end, since one invalid byte turns the whole run into U+FFFD. A token that was fused and
/// is then searched with a regular expression is held back to the end of the stream.
pub struct Stream {
    decoder: Arc<Decoder>,
    chain: StepChain,
    skip_special: bool,
    pushed: u64,
    started: bool,
    /// The text returned last, followed by an incomplete character.
    text: Vec<u8>,
    returned: usize,
}

impl Stream {
    pub fn new(decoder: Arc<Decoder>, skip_special: bool) -> Self {
        Stream {
            chain: super::chain(&decoder.parts[decoder.applied..]),
            decoder,
            skip_special,
            pushed: 0,
            started: false,
            text: Vec::new(),
            returned: 0,
        }
    }

    /// Add an id, like [`Self::extend`].
    pub fn push(&mut self, id: u32) -> Result<&[u8]> {
        self.extend(&[id])
    }

    /// Add ids and return the text that is now certain. If an id is outside the vocabulary, return
    /// an error and add none of them.
    pub fn extend(&mut self, ids: &[u32]) -> Result<&[u8]> {
        let Stream { decoder, chain, .. } = self;
        for (position, &id) in (self.pushed..).zip(ids) {
            if id as usize >= decoder.texts.len() {
                return Err(Error::UnknownId { position, id });
            }
        }
        let out = &mut self.text;
        chain.most = ids.len().saturating_mul(MOST_OF_TOKEN).max(MOST_TEXT);
        out.drain(..std::mem::take(&mut self.returned));
        let inner = match decoder.is_flat() {
            true => Some(&decoder.texts),
            false => decoder.inner.as_ref().filter(|_| decoder.same_at_end),
        };
        for token in decoder.tokens(ids, self.skip_special) {
            let Some((number, text)) = token? else {
                chain.flow(out).gap()?;
                continue;
            };
            match inner {
                Some(inner) if self.started => {
                    let text = inner.get(number).unwrap_or_default();
                    memory::reserve(out, text.len())?;
                    out.extend_from_slice(text);
                }
                None if decoder.plain[number] && chain.is_settled() => out.extend_from_slice(text),
                _ => chain.flow(out).token(text)?,
            }
            self.started = true;
        }
        self.pushed += ids.len() as u64;
        self.returned = out.len() - incomplete(out);
        Ok(&self.text[..self.returned])
    }

    /// End the stream and return the remaining text.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        let mut out = self.text.split_off(self.returned);
        self.chain.finish(&mut out)?;
        Ok(out)
    }
}

/// Return the length of the incomplete character at the end of `text`.
fn incomplete(text: &[u8]) -> usize {
    let ends = |&length: &usize| {
        let tail = &text[text.len() - length..];
        // The tail is the beginning of one character: neither complete nor invalid.
        let error = std::str::from_utf8(tail).err();
        error.is_some_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=text.len().min(3)).find(ends).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::DecoderStep;

    #[test]
    fn only_whole_characters_come_out() {
        let tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
        let steps = vec![DecoderStep::Fuse];
        let decoder = Arc::new(Decoder::new(steps, tokens, vec![false; 256]).unwrap());
        let pieces = |bytes: &[u8]| {
            let mut stream = Stream::new(Arc::clone(&decoder), false);
            let push = |&byte: &u8| stream.push(byte.into()).unwrap().to_vec();
            let mut pieces: Vec<Vec<u8>> = bytes.iter().map(push).collect();
            pieces.push(stream.finish().unwrap());
            pieces
        };
        let (none, whole) = (Vec::new(), "\u{1F600}".as_bytes().to_vec());
        assert_eq!(
            pieces(&whole),
            [
                none.clone(),
                none.clone(),
                none.clone(),
                whole,
                none.clone()
            ]
        );
        // E2 82 can't continue with 41; F5 and a second 80 begin no character.
        assert_eq!(
            pieces(b"\xE2\x82A\xF5\xE0\x80\xE2"),
            [
                &b""[..],
                b"",
                b"\xE2\x82A",
                b"\xF5",
                b"",
                b"\xE0\x80",
                b"",
                b"\xE2"
            ]
        );
    }

    #[test]
    fn an_unknown_id_changes_nothing() {
        let tokens = vec![b"a".to_vec()];
        let decoder = Decoder::new(vec![DecoderStep::JoinWithSpaces], tokens, vec![false]).unwrap();
        let mut stream = Stream::new(Arc::new(decoder), false);
        assert_eq!(stream.extend(&[0, 0]), Ok(&b"a a"[..]));
        let error = Err(Error::UnknownId { position: 3, id: 9 });
        assert_eq!(stream.extend(&[0, 9]), error);
        assert_eq!(stream.push(0), Ok(&b" a"[..]));
        assert_eq!(stream.finish(), Ok(Vec::new()));
    }
}
