//! The tokens of a text, each with its span in the raw text.

use super::encoder::{each_span, Call, Encoder};
use super::parallel::TextPart;
use super::segmenter::Segment;
use super::{AddedTokens, Matchers};
use crate::error::Result;
use crate::normalize::Edges;
use crate::pretokenize::Splits;
use crate::unicode::places;
use crate::Interrupt;
use std::ops::Range;

/// A token with its span in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub id: u32,
    /// Byte offset of the first byte in the raw text.
    pub start: usize,
    /// Byte offset after the last byte in the raw text.
    pub end: usize,
    /// Number of the pre-token, from 0.
    ///
    /// An added token counts as a pre-token; a superword has the number of its first pre-token.
    pub pre_token: usize,
}

/// The pre-tokens of a text and the added tokens between them.
#[derive(Debug, Default)]
pub struct PreTokens {
    /// Text of all pre-tokens after normalization and rewriting; added tokens as they were found.
    pub text: Vec<u8>,
    /// Byte range of each pre-token in `text`, in order.
    pub ranges: Vec<(usize, usize)>,
    /// Span of each pre-token in the raw text, in bytes.
    pub places: Vec<(usize, usize)>,
    /// Id of each pre-token that is an added token.
    pub added: Vec<Option<u32>>,
}

/// A part of a text, as [`Encoder::each_part`] visits it.
enum Part<'p> {
    Added {
        id: u32,
        text: &'p [u8],
        place: (usize, usize),
    },
    /// A stretch without added tokens, split into pre-tokens.
    Stretch(Splits<'p>, Origin<'p>),
}

/// Maps offsets in a stretch of normalized text back to the raw text.
struct Origin<'p> {
    /// Offset in the raw text of the start of the normalized text.
    base: usize,
    /// Offset of the stretch in the normalized text.
    start: usize,
    /// Span of each byte of the normalized text, relative to `base`; `None` if nothing moved.
    places: Option<&'p [(u32, u32)]>,
}

impl Origin<'_> {
    /// Return the span in the raw text of the bytes `from..to` of the stretch.
    fn of(&self, from: usize, to: usize) -> (usize, usize) {
        let (from, to) = place_of(self.places, self.start + from, self.start + to);
        (self.base + from, self.base + to)
    }

    /// Return the span in the raw text of the bytes `from..to` of the split text, which may be
    /// rewritten.
    fn of_split(&self, splits: &Splits, from: usize, to: usize) -> (usize, usize) {
        let (from, to) = place_of(splits.origins.as_deref(), from, to);
        self.of(from, to)
    }
}

impl Encoder {
    /// Return the tokens of `text` with their spans.
    pub fn tokens(
        &self,
        text: &[u8],
        matchers: Option<&Matchers>,
        interrupt: Interrupt,
    ) -> Result<Vec<Token>> {
        let mut out = Placed::default();
        let mut state = self.call_state();
        let call = &mut state.call(interrupt, matchers);
        self.each_part(text, matchers, |part| self.place(part, call, &mut out))?;
        Ok(out.tokens)
    }

    /// Append the tokens of a part of `text`, with their spans in `text`.
    pub(crate) fn tokens_of(
        &self,
        text: &[u8],
        part: &TextPart,
        call: &mut Call,
        out: &mut Vec<Token>,
    ) -> Result<()> {
        let mut placed = Placed {
            tokens: std::mem::take(out),
            pre_tokens: 0,
        };
        let range = (part.start, part.end);
        let result = match part.id {
            Some(id) => {
                placed.added(id, range);
                Ok(())
            }
            None => self.stretch_parts(text, range, part.edges, None, &mut |found| {
                let found = match found {
                    Part::Stretch(mut splits, origin) if part.changed => {
                        if splits.origins.is_none() {
                            splits.origins = Some(places(&splits.text));
                        }
                        Part::Stretch(splits, origin)
                    }
                    found => found,
                };
                self.place(found, call, &mut placed)
            }),
        };
        *out = placed.tokens;
        result
    }

    fn place(&self, part: Part, call: &mut Call, out: &mut Placed) -> Result<()> {
        match part {
            Part::Added { id, place, .. } => {
                out.added(id, place);
                Ok(())
            }
            Part::Stretch(splits, origin) => {
                let first = out.tokens.len();
                let superwords = self.segmenter.superwords();
                self.each_range(&splits.text, &splits.ranges, call, |segments, from| {
                    let length: usize = segments.iter().map(|one| one.length as usize).sum();
                    let kept = (self.segmenter).kept_symbols(&splits.text[from..from + length]);
                    let place = |a, b| {
                        let (a, b) = narrowed(kept.as_deref(), (a - from, b - from));
                        origin.of_split(&splits, from + a, from + b)
                    };
                    if let (Some(superwords), &[segment]) = (superwords, segments) {
                        let mut id = [segment.id];
                        superwords.mark(&mut id);
                        out.segments(
                            &[Segment {
                                id: id[0],
                                ..segment
                            }],
                            from,
                            place,
                        );
                        return Ok(());
                    }
                    match self.bytes_of_stretches() {
                        Some(ids) => out.stretches(segments, &splits.text, from, ids, place),
                        None => out.segments(segments, from, place),
                    }
                    Ok(())
                })?;
                if let Some(unknown) = self.fused() {
                    out.fuse(unknown, first);
                }
                match superwords {
                    Some(superwords) => {
                        superwords.join_tokens(&mut out.tokens, first, call.interrupt)
                    }
                    None => Ok(()),
                }
            }
        }
    }

    /// Return the pre-tokens of `text` and the added tokens that `matchers` find.
    pub fn pre_tokens(&self, text: &[u8], matchers: Option<&Matchers>) -> Result<PreTokens> {
        let mut out = PreTokens::default();
        self.each_part(text, matchers, |part| {
            match part {
                Part::Added { id, text, place } => out.added(id, text, place),
                Part::Stretch(splits, origin) => out.stretch(&splits, &origin),
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// Call `visit` with each part of `text`, in order.
    fn each_part(
        &self,
        text: &[u8],
        matchers: Option<&Matchers>,
        mut visit: impl FnMut(Part) -> Result<()>,
    ) -> Result<()> {
        each_span(matchers.and_then(Matchers::raw), text, |id, base, end| {
            if let Some(id) = id {
                let (text, place) = (&text[base..end], (base, end));
                return visit(Part::Added { id, text, place });
            }
            let normalized = matchers.and_then(Matchers::normalized);
            self.stretch_parts(text, (base, end), Edges::WHOLE, normalized, &mut visit)
        })
    }

    /// Call `visit` with each part of the stretch `base..end` of `text`.
    ///
    /// `matcher` finds added tokens in the normalized stretch.
    fn stretch_parts(
        &self,
        text: &[u8],
        (base, end): (usize, usize),
        edges: Edges,
        matcher: Option<&AddedTokens>,
        visit: &mut impl FnMut(Part) -> Result<()>,
    ) -> Result<()> {
        let stretch = &text[base..end];
        let aligned = self.normalizers.apply_aligned(stretch, edges)?;
        let (normalized, places) = match &aligned {
            Some(aligned) => (&aligned.text[..], Some(&aligned.places[..])),
            None => (stretch, None),
        };
        each_span(matcher, normalized, |id, start, end| {
            let text = &normalized[start..end];
            let origin = Origin {
                base,
                start,
                places,
            };
            if let Some(id) = id {
                let place = origin.of(0, text.len());
                return visit(Part::Added { id, text, place });
            }
            let of_first =
                |places: &[(u32, u32)]| places.iter().take_while(|place| place.0 == 0).count();
            let first_char = if base == 0 {
                places.map_or(1, of_first)
            } else {
                0
            };
            let splits = self
                .pre_tokenizer
                .run(text, first_char.saturating_sub(start))?;
            visit(Part::Stretch(splits, origin))
        })
    }
}

impl PreTokens {
    fn added(&mut self, id: u32, text: &[u8], place: (usize, usize)) {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        self.ranges.push((start, self.text.len()));
        self.places.push(place);
        self.added.push(Some(id));
    }

    fn stretch(&mut self, splits: &Splits, origin: &Origin) {
        let base = self.text.len();
        self.text.extend_from_slice(&splits.text);
        for &(start, end) in &splits.ranges {
            self.ranges.push((base + start, base + end));
            self.places.push(origin.of_split(splits, start, end));
            self.added.push(None);
        }
    }
}

/// Return the span `start..end` without the bytes that the model drops at both ends.
///
/// `kept` are the ranges of the bytes that the model keeps.
fn narrowed(kept: Option<&[Range<usize>]>, (start, end): (usize, usize)) -> (usize, usize) {
    let kept = kept.unwrap_or_default();
    let first = kept.partition_point(|one| one.end <= start);
    let last = kept.partition_point(|one| one.start < end);
    match kept.get(first..last) {
        Some([only]) => (start.max(only.start), end.min(only.end)),
        Some([first, .., last]) => (start.max(first.start), end.min(last.end)),
        _ => (start, end),
    }
}

/// Return the span in the source text of the bytes `start..end`.
///
/// `places` has the source span of each byte; without it, nothing moved. An empty range has an
/// empty span.
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

/// Tokens found so far, with the number of the next pre-token.
#[derive(Default)]
struct Placed {
    tokens: Vec<Token>,
    pre_tokens: usize,
}

impl Placed {
    fn added(&mut self, id: u32, (start, end): (usize, usize)) {
        self.tokens.push(Token {
            id,
            start,
            end,
            pre_token: self.pre_tokens,
        });
        self.pre_tokens += 1;
    }

    /// Fuse runs of unknown words into one token each, with the number of the first word.
    fn fuse(&mut self, unknown: u32, first: usize) {
        let later = self.tokens.split_off(first);
        for token in later {
            match self.tokens[first..].last_mut() {
                Some(before) if (before.id, token.id) == (unknown, unknown) => {
                    before.end = token.end;
                }
                _ => self.tokens.push(token),
            }
        }
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
                pre_token: self.pre_tokens,
            });
            from = to;
        }
        self.pre_tokens += 1;
    }

    /// Append the segments of a pre-token, giving all bytes of an unknown stretch the span of the
    /// whole stretch.
    ///
    /// `ids` are the ids of the 256 bytes.
    fn stretches(
        &mut self,
        segments: &[Segment],
        text: &[u8],
        mut from: usize,
        ids: &[u32; 256],
        place: impl Fn(usize, usize) -> (usize, usize),
    ) {
        let is_byte = |segment: &Segment, at: usize| {
            segment.length == 1 && ids[text[at] as usize] == segment.id
        };
        let mut left = segments;
        while let Some(first) = left.first() {
            let bytes = (left.iter().zip(from..)).take_while(|&(segment, at)| is_byte(segment, at));
            let count = bytes.count();
            let (taken, length) = match count {
                0 => (1, first.length as usize),
                _ => (count, count),
            };
            let (start, end) = place(from, from + length);
            self.tokens
                .extend(left[..taken].iter().map(|segment| Token {
                    id: segment.id,
                    start,
                    end,
                    pre_token: self.pre_tokens,
                }));
            left = &left[taken..];
            from += length;
        }
        self.pre_tokens += 1;
    }
}
