//! The tokens of one text with their spans, on several threads.
//!
//! The text is cut before white space, where the parts have the same tokens and spans as the whole
//! text. So no run of characters other than white space is split between two parts. The tokens of
//! all parts are never in memory at once.

use crate::encode::encoder::each_span;
use crate::encode::{Encoder, Matchers, Token};
use crate::error::{Error, Result};
use crate::jobs::{Interrupt, Jobs, Worker};
use crate::normalize::Edges;
use crate::pretokenize::{first_cut, last_cut, safe_cut};
use crate::unicode::well_formed;

/// A range of a text: an added token, a stretch between two added tokens, or a part of a stretch.
pub(crate) struct TextPart {
    pub start: usize,
    pub end: usize,
    /// Id of an added token.
    pub id: Option<u32>,
    /// Whether the part contains the stretch's start, and its end.
    pub edges: Edges,
    /// Whether any part of the stretch is changed before it is split.
    ///
    /// If so, a token inside a character has the span of the character, as in the whole text.
    pub changed: bool,
}

/// A unit of work.
enum TextShare {
    /// The whole text, which can't be cut.
    Whole,
    /// Consecutive parts.
    Parts(Vec<TextPart>),
}

impl Encoder {
    /// Call `make(start, end, tokens)` with consecutive ranges of about `chunk` bytes that cover
    /// the text.
    ///
    /// `take` gets the results of `make` in text order. The tokens are the tokens of
    /// [`Encoder::tokens`], except for the numbers of their pre-tokens.
    pub fn tokens_by_parts<T: Send>(
        &self,
        text: &[u8],
        (threads, chunk): (usize, usize),
        matchers: Option<&Matchers>,
        make: impl Fn(usize, usize, &[Token]) -> Result<T> + Sync,
        mut take: impl FnMut(T) -> Result<()> + Send,
        interrupt: Interrupt,
    ) -> Result<()> {
        let shares = self.shares(text, chunk.max(1), matchers)?;
        let jobs = Jobs {
            count: shares.len(),
            threads,
        };
        let work = |worker: &mut Worker<Vec<Token>>, number: usize| {
            let (tokens, interrupt) = (&mut worker.state, worker.interrupt);
            if interrupt() {
                return Err(Error::Interrupted);
            }
            match &shares[number] {
                TextShare::Whole => make(0, text.len(), &self.tokens(text, matchers, interrupt)?),
                TextShare::Parts(parts) => {
                    tokens.clear();
                    let mut state = self.call_state();
                    let call = &mut state.call(interrupt, matchers);
                    for part in parts {
                        self.tokens_of(text, part, call, tokens)?;
                    }
                    make(parts[0].start, parts[parts.len() - 1].end, tokens)
                }
            }
        };
        jobs.in_order(interrupt, Vec::new, work, |_, made| take(made))
    }

    /// Cut the text into units of work.
    fn shares(
        &self,
        text: &[u8],
        chunk: usize,
        matchers: Option<&Matchers>,
    ) -> Result<Vec<TextShare>> {
        let normalized = matchers.and_then(Matchers::normalized);
        let plain = self.normalizers.is_empty();
        // If the text has invalid UTF-8, each valid stretch is normalized by itself.
        let can_be_cut = self.pre_tokenizer.cuts_before_space()
            && self.fused().is_none()
            && (plain || self.can_be_cut() && normalized.is_none() && well_formed(text).is_some());
        if text.len() <= chunk || !can_be_cut {
            return Ok(vec![TextShare::Whole]);
        }
        let mut sharing = Sharing {
            encoder: self,
            text,
            chunk,
            size: 0,
            parts: Vec::new(),
            shares: Vec::new(),
        };
        each_span(matchers.and_then(Matchers::raw), text, |id, base, end| {
            if let Some(id) = id {
                sharing.added(id, base, end);
                return Ok(());
            }
            // Without normalizers, the normalized text is the raw text.
            each_span(normalized, &text[base..end], |id, from, to| match id {
                Some(id) => {
                    sharing.added(id, base + from, base + to);
                    Ok(())
                }
                None => sharing.stretch(base + from, base + to),
            })
        })?;
        sharing.close();
        Ok(sharing.shares)
    }

    /// Return the first offset from `from` on where the stretch `start..end` can be cut.
    fn cut(&self, text: &[u8], (start, end): (usize, usize), from: usize) -> Result<Option<usize>> {
        let stretch = &text[start..end];
        let pre_tokenizer = &self.pre_tokenizer;
        if self.normalizers.is_empty() {
            let cut = first_cut(pre_tokenizer, stretch, from - start);
            return Ok(cut.map(|at| start + at));
        }
        let Some(first) = safe_cut(stretch, from.max(start + 1) - start) else {
            return Ok(None);
        };
        // Normalize the text between safe offsets on each side, to see the characters beside the
        // cut.
        let (mut before, mut at) = (first, first);
        while before > 0 && (before == at || !is_safe(stretch, before)) {
            before -= 1;
        }
        let normalized = |from: usize, to: usize| {
            let edges = Edges {
                start: from == 0,
                end: to == stretch.len(),
            };
            self.normalizers.apply(&stretch[from..to], edges)
        };
        let mut left = normalized(before, at)?.into_owned();
        loop {
            let next = safe_cut(stretch, at + 1);
            let right = normalized(at, next.unwrap_or(stretch.len()))?;
            if let (false, Some(&first)) = (left.is_empty(), right.first()) {
                let joint = left.len();
                left.push(first);
                if last_cut(pre_tokenizer, &left, joint).is_some() {
                    return Ok(Some(start + at));
                }
            }
            left = right.into_owned();
            match next {
                Some(next) => at = next,
                None => return Ok(None),
            }
        }
    }

    /// Return whether the text of a part is changed before it is split, so that offsets must be
    /// mapped.
    fn is_changed(&self, text: &[u8], part: &TextPart) -> Result<bool> {
        let given = &text[part.start..part.end];
        if self.normalizers.apply_aligned(given, part.edges)?.is_some() {
            return Ok(true);
        }
        let rewrites = self.pre_tokenizer.rewrites();
        Ok(rewrites
            && self
                .pre_tokenizer
                .run(given, usize::from(part.start == 0))?
                .origins
                .is_some())
    }

    /// Return whether spans at the start of a stretch don't depend on the text after a cut.
    ///
    /// In Hugging Face's SentencePiece rules, if characters are removed at the very start, spans
    /// lag behind up to the end of the stretch.
    fn starts_in_place(&self, stretch: &[u8]) -> Result<bool> {
        let Some(at) = safe_cut(stretch, 1) else {
            return Ok(true);
        };
        let edges = Edges {
            start: true,
            end: at == stretch.len(),
        };
        let aligned = self.normalizers.apply_aligned(&stretch[..at], edges)?;
        let last = aligned.map(|aligned| aligned.places.last().map(|place| place.1 as usize));
        Ok(last.is_none_or(|last| last == Some(at)))
    }
}

fn is_safe(text: &[u8], at: usize) -> bool {
    safe_cut(&text[..=at], at) == Some(at)
}

/// Collects parts into units of work of about `chunk` bytes.
struct Sharing<'e> {
    encoder: &'e Encoder,
    text: &'e [u8],
    chunk: usize,
    /// Bytes of `parts`, which are not in `shares` yet.
    size: usize,
    parts: Vec<TextPart>,
    shares: Vec<TextShare>,
}

impl Sharing<'_> {
    fn push(&mut self, part: TextPart) {
        self.size += part.end - part.start;
        self.parts.push(part);
    }

    fn added(&mut self, id: u32, start: usize, end: usize) {
        self.push(TextPart {
            start,
            end,
            id: Some(id),
            edges: Edges::WHOLE,
            changed: false,
        });
    }

    fn close(&mut self) {
        if !self.parts.is_empty() {
            self.shares
                .push(TextShare::Parts(std::mem::take(&mut self.parts)));
        }
        self.size = 0;
    }

    fn stretch(&mut self, start: usize, end: usize) -> Result<()> {
        let (encoder, text) = (self.encoder, self.text);
        let mut wanted = start + self.chunk.saturating_sub(self.size);
        let mut ends = Vec::new();
        if wanted < end && encoder.starts_in_place(&text[start..end])? {
            while wanted < end {
                let from = wanted.max(start + 1);
                let Some(cut) = encoder.cut(text, (start, end), from)? else {
                    break;
                };
                ends.push(cut);
                wanted = cut + self.chunk;
            }
        }
        ends.push(end);
        let mut parts = Vec::with_capacity(ends.len());
        let mut from = start;
        for to in ends {
            parts.push(TextPart {
                start: from,
                end: to,
                id: None,
                edges: Edges {
                    start: from == start,
                    end: to == end,
                },
                changed: false,
            });
            from = to;
        }
        let mut changed = false;
        if parts.len() > 1 {
            let mut all = parts.iter();
            while let (false, Some(part)) = (changed, all.next()) {
                changed = encoder.is_changed(text, part)?;
            }
        }
        for part in parts {
            let is_last = part.end == end;
            self.push(TextPart { changed, ..part });
            if !is_last {
                self.close();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
