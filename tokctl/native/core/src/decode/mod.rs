//! Decoding: ids to text.
//!
//! A decoder is a chain of [`DecoderStep`]s. Their meaning is that of Hugging Face's
//! `decode_chain`: token list in, token list out, and the last list joined. Three things differ on
//! purpose:
//!
//! - If bytes of a byte-level model are not UTF-8, Hugging Face returns U+FFFD, and this decoder
//!   returns the bytes. Decoding them with replacement gives Hugging Face's text.
//! - A special token of a byte-level model stands for its own text, and is not mapped through
//!   GPT-2's alphabet (`é` gives `é`, not the byte E9).
//! - If `Strip` removes more than a token has, Hugging Face panics, and this decoder leaves an
//!   empty token.

mod chain;
mod lines;
mod literal;
mod steps;
mod stream;

pub use crate::text_table::OutputByte;
pub use steps::{DecoderStep, InvalidBytes};
pub use stream::Stream;

use crate::error::{Error, Result};
use crate::memory;
use crate::text_table::TextTable;
use chain::StepChain;
use steps::{Scope, StepPart};

/// Maximum total length of all tokens' texts in bytes, after the steps that process tokens one by
/// one. A model whose replacements make longer texts is rejected.
pub const MOST_TEXT: usize = 256 << 20;

/// Maximum number of bytes per id that the other steps may make, if that exceeds [`MOST_TEXT`] in
/// all.
pub const MOST_OF_TOKEN: usize = 4096;

/// Decoder from ids to bytes.
pub struct Decoder {
    parts: Vec<StepPart>,
    /// Number of leading parts that are already applied to `texts`.
    applied: usize,
    texts: TextTable,
    /// Text of each token between two others, if it depends on nothing but the token.
    inner: Option<TextTable>,
    /// Whether `inner` also holds for the last token.
    same_at_end: bool,
    /// Whether each token is not a byte token.
    plain: Vec<bool>,
    special: Vec<bool>,
}

impl Decoder {
    /// Build a decoder. `tokens` are in id order; `special` says which of them are special tokens.
    pub fn new(steps: Vec<DecoderStep>, tokens: Vec<Vec<u8>>, special: Vec<bool>) -> Result<Self> {
        if tokens.len() != special.len() {
            return Err(Error::Invalid(
                "the number of flags differs from the number of tokens".into(),
            ));
        }
        let parts = steps::parts(&steps)?;
        let by_token = |part: &&StepPart| part.scope() == Scope::Token;
        let applied = parts.iter().take_while(by_token).count();
        let mut decoder = Decoder {
            parts,
            applied,
            texts: TextTable::default(),
            inner: None,
            same_at_end: false,
            plain: Vec::new(),
            special,
        };
        decoder.texts = decoder.apply(&tokens)?;
        let texts = (0..tokens.len()).filter_map(|id| decoder.texts.get(id));
        decoder.plain = texts.map(|text| steps::byte(text).is_none()).collect();
        if decoder.is_local() {
            decoder.inner = Some(decoder.between_others()?);
            let fixed = |part: &StepPart| part.scope() <= Scope::First;
            decoder.same_at_end = decoder.parts.iter().all(fixed);
        }
        Ok(decoder)
    }

    /// Return every token's text after the parts that process tokens one by one.
    fn apply(&self, tokens: &[Vec<u8>]) -> Result<TextTable> {
        let mut chain = chain(&self.parts[..self.applied]);
        let mut texts = TextTable::default();
        let mut text = Vec::new();
        let mut left = MOST_TEXT;
        for token in tokens {
            chain.flow_within(left, &mut text).token(token)?;
            left -= text.len();
            texts.push(&text);
            text.clear();
        }
        Ok(texts)
    }

    /// Return whether a token's text depends only on the token, and on whether it is the first or
    /// the last.
    fn is_local(&self) -> bool {
        let (last, parts) = match self.parts[self.applied..].split_last() {
            Some(parts) => parts,
            None => return false,
        };
        let known = |part: &StepPart| part.scope() <= Scope::Edges;
        parts.iter().all(known) && (known(last) || matches!(last, StepPart::Join))
    }

    /// Return the text of each token between two others. All tokens run through the chain, and the
    /// output is cut where the next token begins.
    fn between_others(&self) -> Result<TextTable> {
        let mut chain = chain(&self.parts[self.applied..]);
        let mut texts = TextTable::default();
        // Only the existence of a token before and after matters, not its text.
        let mut text = Vec::new();
        chain.flow(&mut text).token(b"")?;
        chain.flow(&mut text).begin()?;
        let mut left = MOST_TEXT;
        for id in 0..self.texts.len() {
            let token = self.texts.get(id).unwrap_or_default();
            text.clear();
            let mut flow = chain.flow_within(left, &mut text);
            flow.bytes(token)?;
            flow.end()?;
            flow.begin()?;
            left -= text.len();
            texts.push(&text);
        }
        Ok(texts)
    }

    /// Return the decoded text as bytes. With `skip_special`, special tokens are skipped.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.decode_onto(ids, skip_special, &mut out)?;
        Ok(out)
    }

    /// Return whether every token's text is independent of the tokens around it. If so,
    /// [`Self::size`] and [`Self::fill`] can decode into the caller's memory.
    pub fn is_flat(&self) -> bool {
        self.applied == self.parts.len()
    }

    /// Return the length of the decoded text in bytes. The decoder must be flat.
    pub fn size(&self, ids: &[u32], skip_special: bool) -> Result<usize> {
        match skip_special {
            true => self.texts.size(ids, |number| self.special[number]),
            false => self.texts.size(ids, |_| false),
        }
    }

    /// Decode to the start of `out`. Return the rest of `out`, or None if `out` is too small.
    ///
    /// `out` must have at least the length that [`Self::size`] returns for these ids. The decoder
    /// must be flat.
    pub fn fill<'o, P: OutputByte>(
        &self,
        ids: &[u32],
        skip_special: bool,
        out: &'o mut [P],
    ) -> Option<&'o mut [P]> {
        match skip_special {
            true => self.texts.fill(ids, |number| self.special[number], out),
            false => self.texts.fill(ids, |_| false, out),
        }
    }

    /// Append the decoded text to `out`.
    pub fn decode_onto(&self, ids: &[u32], skip_special: bool, out: &mut Vec<u8>) -> Result<()> {
        if self.is_flat() {
            let (first, size) = (out.len(), self.size(ids, skip_special)?);
            memory::reserve(out, size)?;
            out.resize(first + size, 0);
            self.fill(ids, skip_special, &mut out[first..]);
            return Ok(());
        }
        let mut chain = chain(&self.parts[self.applied..]);
        let most = ids.len().saturating_mul(MOST_OF_TOKEN).max(MOST_TEXT);
        chain.most = most.saturating_add(out.len());
        match &self.inner {
            Some(inner) => self.decode_local(ids, skip_special, inner, &mut chain, out)?,
            None => self.decode_through(ids, skip_special, &mut chain, out)?,
        }
        chain.finish(out)
    }

    /// Decode by table; only the first and the last token go through the chain.
    fn decode_local(
        &self,
        ids: &[u32],
        skip_special: bool,
        inner: &TextTable,
        chain: &mut StepChain,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let skipped = |number: usize| skip_special && self.special[number];
        // Checks all ids first, so that the error names the first unknown one.
        let size = inner.size(ids, skipped)?;
        let kept = |id: &u32| !skipped(*id as usize);
        let text = |at: usize| self.texts.get(ids[at] as usize).unwrap_or_default();
        let Some(first) = ids.iter().position(kept) else {
            return Ok(());
        };
        let last = ids.iter().rposition(kept).unwrap_or(first);
        memory::reserve(out, size)?;
        chain.flow(out).token(text(first))?;
        if last > first {
            chain.flow(out).begin()?;
            let middle = &ids[first + 1..last];
            let (start, size) = (out.len(), inner.size(middle, skipped)?);
            memory::reserve(out, size)?;
            out.resize(start + size, 0);
            inner.fill(middle, skipped, &mut out[start..]);
            chain.flow(out).bytes(text(last))?;
            chain.flow(out).end()?;
        }
        Ok(())
    }

    /// Decode through the chain, except for runs of tokens that would pass unchanged.
    fn decode_through(
        &self,
        ids: &[u32],
        skip_special: bool,
        chain: &mut StepChain,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let skipped = |number: usize| skip_special && self.special[number];
        let plain = |&&id: &&u32| self.plain.get(id as usize) == Some(&true);
        let mut at = 0;
        while let Some(&id) = ids.get(at) {
            if chain.is_settled() {
                let run = ids[at..].iter().take_while(plain).count();
                if run > 0 {
                    let run = &ids[at..at + run];
                    let (start, size) = (out.len(), self.texts.size(run, skipped)?);
                    memory::reserve(out, size)?;
                    out.resize(start + size, 0);
                    self.texts.fill(run, skipped, &mut out[start..]);
                    at += run.len();
                    continue;
                }
            }
            let number = id as usize;
            let position = at as u64;
            let text = self.texts.get(number);
            let text = text.ok_or(Error::UnknownId { position, id })?;
            match skipped(number) {
                true => chain.flow(out).gap()?,
                false => chain.flow(out).token(text)?,
            }
            at += 1;
        }
        Ok(())
    }

    /// Iterate over (id, text) of the tokens to decode, with None for a skipped token.
    fn tokens<'d>(
        &'d self,
        ids: &'d [u32],
        skip_special: bool,
    ) -> impl Iterator<Item = Result<Option<(usize, &'d [u8])>>> + 'd {
        (0u64..).zip(ids).map(move |(position, &id)| {
            let number = id as usize;
            match self.texts.get(number) {
                None => Err(Error::UnknownId { position, id }),
                Some(_) if skip_special && self.special[number] => Ok(None),
                Some(text) => Ok(Some((number, text))),
            }
        })
    }

    /// Decode token strings, which need not be in the vocabulary.
    pub fn decode_tokens<'t>(&self, tokens: impl Iterator<Item = &'t [u8]>) -> Result<Vec<u8>> {
        let mut chain = chain(&self.parts);
        let mut out = Vec::new();
        for token in tokens {
            chain.flow(&mut out).token(token)?;
        }
        chain.finish(&mut out)?;
        Ok(out)
    }
}

fn chain(parts: &[StepPart]) -> StepChain {
    StepChain::new(parts.iter().map(StepPart::node).collect())
}

#[cfg(test)]
mod tests;
