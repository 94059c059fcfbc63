//! A text to its tokens, each with its place.

use super::encoder::{Encoder, Work};
use super::segmenter::Segment;
use super::spans::each_span;
use super::{Interrupt, Matchers};
use crate::error::Result;
use crate::normalize::Edges;

/// A token with its place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub id: u32,
    /// Bytes of the original text.
    pub start: usize,
    pub end: usize,
    /// Number of the pre-token, from 0; None for a special token.
    pub pre_token: Option<usize>,
}

/// The pre-tokens of a text.
pub struct PreTokens {
    pub text: Vec<u8>,
    pub ranges: Vec<(usize, usize)>,
    pub places: Vec<(usize, usize)>,
}

impl Encoder {
    /// The tokens of `text` with their places in it.
    pub fn tokens(
        &self,
        text: &[u8],
        matchers: Option<&Matchers>,
        interrupt: Interrupt,
    ) -> Result<Vec<Token>> {
        let mut out = Placed::default();
        self.with_work(interrupt, matchers, |work| {
            let matcher = matchers.and_then(Matchers::raw);
            each_span(matcher, text, |id, start, end| match id {
                Some(id) => {
                    out.added(id, start, end, work.matchers);
                    Ok(())
                }
                None => self.stretch_tokens(&text[start..end], start, work, &mut out),
            })
        })?;
        Ok(out.tokens)
    }

    /// The tokens of a stretch that starts at `base` of the text as given.
    fn stretch_tokens(
        &self,
        stretch: &[u8],
        base: usize,
        work: &mut Work,
        out: &mut Placed,
    ) -> Result<()> {
        let aligned = self.normalizers.apply_aligned(stretch, Edges::WHOLE)?;
        let (text, places) = match &aligned {
            Some(aligned) => (&aligned.text[..], Some(&aligned.places[..])),
            None => (stretch, None),
        };
        let matcher = work.matchers.and_then(Matchers::normalized);
        each_span(matcher, text, |id, start, end| {
            if let Some(id) = id {
                let (from, to) = place_of(places, start, end);
                out.added(id, base + from, base + to, work.matchers);
                return Ok(());
            }
            let at_start = base == 0 && start == 0;
            let splits = self.pre_tokenizer.run(&text[start..end], at_start)?;
            let origins = splits.origins.as_deref();
            let place = |from: usize, to: usize| {
                let (from, to) = place_of(origins, from, to);
                let (from, to) = place_of(places, start + from, start + to);
                (base + from, base + to)
            };
            self.each_range(&splits.text, &splits.ranges, work, |segments, from| {
                out.segments(segments, from, place);
                Ok(())
            })
        })
    }

    /// The normalized and rewritten text, the byte ranges of its pre-tokens, and where
    /// each of these stood in `text`.
    pub fn pre_tokens(&self, text: &[u8]) -> Result<PreTokens> {
        let aligned = self.normalizers.apply_aligned(text, Edges::WHOLE)?;
        let (normalized, places) = match &aligned {
            Some(aligned) => (&aligned.text[..], Some(&aligned.places[..])),
            None => (text, None),
        };
        let splits = self.pre_tokenizer.run(normalized, true)?;
        let origins = splits.origins.as_deref();
        let place = |&(from, to): &(usize, usize)| {
            let (from, to) = place_of(origins, from, to);
            place_of(places, from, to)
        };
        Ok(PreTokens {
            places: splits.ranges.iter().map(place).collect(),
            ranges: splits.ranges,
            text: splits.text.into_owned(),
        })
    }
}

/// Where the bytes `start..end` of a text came from: `places` holds that of each byte,
/// and nothing moved without it. An empty stretch has an empty place.
fn place_of(places: Option<&[(u32, u32)]>, start: usize, end: usize) -> (usize, usize) {
    let Some(places) = places else {
        return (start, end);
    };
    if start < end {
        return (places[start].0 as usize, places[end - 1].1 as usize);
    }
    let at = match places.get(start) {
        Some(&(from, _)) => from,
        None => places.last().map_or(0, |&(_, to)| to),
    };
    (at as usize, at as usize)
}

/// Tokens as they are found, with the number of the next pre-token.
#[derive(Default)]
struct Placed {
    tokens: Vec<Token>,
    pre_tokens: usize,
}

impl Placed {
    fn added(&mut self, id: u32, start: usize, end: usize, matchers: Option<&Matchers>) {
        let special = matchers.is_some_and(|matchers| matchers.is_special(id));
        let pre_token = (!special).then_some(self.pre_tokens);
        self.pre_tokens += usize::from(!special);
        self.tokens.push(Token {
            id,
            start,
            end,
            pre_token,
        });
    }

    fn segments(
        &mut self,
        segments: &[Segment],
        mut from: usize,
        place: impl Fn(usize, usize) -> (usize, usize),
    ) {
        for segment in segments {
            let to = from + segment.length as usize;
            let (start, end) = place(from, to);
            self.tokens.push(Token {
                id: segment.id,
                start,
                end,
                pre_token: Some(self.pre_tokens),
            });
            from = to;
        }
        self.pre_tokens += 1;
    }
}
