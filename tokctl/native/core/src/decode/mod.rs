//! From ids back to text.
//!
//! A decoder is a chain of [`Step`]s; what they mean is Hugging Face's `decode_chain`, token
//! list in, token list out, and the last list joined. Three things differ on purpose.
//! Where theirs ends in U+FFFD because bytes of a byte-level model are no UTF-8, ours gives
//! the bytes: whoever wants text decodes them with replacement and has theirs. A special
//! token of a byte-level model is its own text, and not looked up in GPT-2's alphabet
//! (`é` comes out as `é`, not as the byte E9). And where theirs stops with a panic (`Strip`
//! of more than a token has), ours leaves nothing of the token.

mod chain;
mod fallback;
mod joining;
mod lines;
mod literal;
mod steps;
mod stream;
mod tokens;

pub use steps::Step;
pub use stream::Stream;

use crate::error::{Error, Result};
use chain::Chain;
use steps::{Part, Scope};

/// Turns ids into bytes.
pub struct Decoder {
    parts: Vec<Part>,
    /// So many parts at the start have been applied to `texts` already.
    applied: usize,
    texts: Texts,
    /// What each token becomes between two others, if that depends on nothing else.
    inner: Option<Texts>,
    /// Is that what the last token becomes, too?
    same_at_end: bool,
    special: Vec<bool>,
}

impl Decoder {
    /// `tokens` in id order; `special` tells which of them are special tokens.
    pub fn new(steps: Vec<Step>, tokens: Vec<Vec<u8>>, special: Vec<bool>) -> Result<Self> {
        if tokens.len() != special.len() {
            return Err(Error::Invalid("a flag is needed for every token".into()));
        }
        let parts = steps::parts(&steps)?;
        let by_token = |part: &&Part| part.scope() == Scope::Token;
        let applied = parts.iter().take_while(by_token).count();
        let mut decoder = Decoder {
            parts,
            applied,
            texts: Texts::default(),
            inner: None,
            same_at_end: false,
            special,
        };
        decoder.texts = decoder.apply(&tokens)?;
        if decoder.is_local() {
            decoder.inner = Some(decoder.between_others()?);
            let fixed = |part: &Part| part.scope() <= Scope::First;
            decoder.same_at_end = decoder.parts.iter().all(fixed);
        }
        Ok(decoder)
    }

    /// Every token after the parts that look at nothing else.
    fn apply(&self, tokens: &[Vec<u8>]) -> Result<Texts> {
        let mut chain = chain(&self.parts[..self.applied]);
        let mut texts = Texts::default();
        for token in tokens {
            chain.flow(&mut texts.bytes).token(token)?;
            texts.end();
        }
        Ok(texts)
    }

    /// Does a token's text depend on itself, and whether it is the first or the last?
    fn is_local(&self) -> bool {
        let (last, parts) = match self.parts[self.applied..].split_last() {
            Some(parts) => parts,
            None => return false,
        };
        let known = |part: &Part| part.scope() <= Scope::Edges;
        parts.iter().all(known) && (known(last) || matches!(last, Part::Join))
    }

    /// All tokens one after the other, cut where it is known that another token begins.
    fn between_others(&self) -> Result<Texts> {
        let mut chain = chain(&self.parts[self.applied..]);
        let mut texts = Texts::default();
        // What comes before decides as little as what comes after, once there is something.
        let mut first = Vec::new();
        chain.flow(&mut first).token(b"")?;
        chain.flow(&mut first).begin()?;
        for id in 0..self.texts.len() {
            let token = self.texts.get(id).unwrap_or_default();
            let mut flow = chain.flow(&mut texts.bytes);
            flow.bytes(token)?;
            flow.end()?;
            flow.begin()?;
            texts.end();
        }
        Ok(texts)
    }

    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<Vec<u8>> {
        let mut chain = chain(&self.parts[self.applied..]);
        let mut out = Vec::new();
        let mut tokens = self.tokens(ids, skip_special);
        if self.applied == self.parts.len() {
            for token in tokens {
                out.extend_from_slice(token?.1);
            }
            return Ok(out);
        }
        let Some(inner) = &self.inner else {
            for token in tokens {
                chain.flow(&mut out).token(token?.1)?;
            }
            chain.finish(&mut out)?;
            return Ok(out);
        };
        if let Some(first) = tokens.next() {
            chain.flow(&mut out).token(first?.1)?;
        }
        if let Some(second) = tokens.next() {
            let mut last = second?;
            chain.flow(&mut out).begin()?;
            for token in tokens {
                let token = token?;
                out.extend_from_slice(inner.get(last.0).unwrap_or_default());
                last = token;
            }
            chain.flow(&mut out).bytes(last.1)?;
            chain.flow(&mut out).end()?;
        }
        chain.finish(&mut out)?;
        Ok(out)
    }

    /// Numbers and texts of the tokens to decode.
    fn tokens<'d>(
        &'d self,
        ids: &'d [u32],
        skip_special: bool,
    ) -> impl Iterator<Item = Result<(usize, &'d [u8])>> + 'd {
        (0u64..).zip(ids).filter_map(move |(position, &id)| {
            let number = id as usize;
            match self.texts.get(number) {
                None => Some(Err(Error::UnknownId { position, id })),
                Some(_) if skip_special && self.special[number] => None,
                Some(text) => Some(Ok((number, text))),
            }
        })
    }

    /// Decodes token strings, which need not be in the vocabulary.
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

fn chain(parts: &[Part]) -> Chain {
    Chain::new(parts.iter().map(Part::node).collect())
}

/// Many texts, end to end.
#[derive(Default)]
struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    fn end(&mut self) {
        self.ends.push(self.bytes.len());
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, number: usize) -> Option<&[u8]> {
        let end = *self.ends.get(number)?;
        let start = match number {
            0 => 0,
            _ => self.ends[number - 1],
        };
        self.bytes.get(start..end)
    }
}

#[cfg(test)]
mod tests;
