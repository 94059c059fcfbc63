//! Encoding of one text on several threads, with the ids that one thread gives.
//!
//! The text is cut where a cut changes nothing. Without normalizers, it is cut where the
//! pre-tokenizer allows. With normalizers, it is cut where they allow, and each part is normalized
//! by itself. The text between the last cut of one normalized part and the first cut of the next is
//! joined, and encoded when both parts are ready.

use std::borrow::Cow;

use super::does_not_fit;
use crate::encode::encoder::{each_span, Call, CallState};
use crate::encode::{Encoder, IdNumber, Matchers};
use crate::error::Result;
use crate::jobs::{groups, Interrupt, Jobs, Worker};
use crate::large_pages::reserve_projected;
use crate::lock_free::PoolGuard;
use crate::normalize::Edges;
use crate::pretokenize::{cut_into_pieces, last_cut, safe_blocks};

/// Bytes that a thread takes at a time.
pub const CHUNK: usize = 128 * 1024;

/// Start offset, id (of an added token), and text of a span.
type Span<'t> = (usize, Option<u32>, Cow<'t, [u8]>);

/// A piece of the text that is encoded by itself.
enum TextPiece<'t> {
    /// An added token.
    Id(u32),
    /// Text between added tokens of the raw text.
    Stretch { text: &'t [u8], first_char: usize },
    /// Normalized text.
    Plain { text: &'t [u8], first_char: usize },
    /// Part of the raw text of a stretch.
    Raw(Raw<'t>),
}

/// Part of a stretch that is not normalized yet.
#[derive(Clone, Copy)]
struct Raw<'t> {
    text: &'t [u8],
    first_char: usize,
    edges: Edges,
}

impl TextPiece<'_> {
    fn length(&self) -> usize {
        match self {
            TextPiece::Id(_) => 0,
            TextPiece::Stretch { text, .. } | TextPiece::Plain { text, .. } => text.len(),
            TextPiece::Raw(raw) => raw.text.len(),
        }
    }
}

/// The result of encoding a piece, or pieces.
enum EncodedPiece<'t> {
    Ids(Vec<u32>),
    Raw(Raw<'t>, Ends),
}

/// The ends of a normalized part: the text before its first cut, and the text from its last cut on.
#[derive(Default)]
struct Ends {
    head: Vec<u8>,
    /// Ids between the cuts, and the text after the last one.
    ///
    /// `None` if the part has no cut: then `head` is the whole part.
    middle: Option<(Vec<u32>, Vec<u8>)>,
}

impl Encoder {
    /// Like [`Self::ids`], on up to `threads` threads.
    pub fn ids_threaded<N: IdNumber>(
        &self,
        text: &[u8],
        threads: usize,
        matchers: Option<&Matchers>,
        out: &mut Vec<N>,
        interrupt: Interrupt,
    ) -> Result<()> {
        self.ids_in_chunks(text, (threads, CHUNK), matchers, out, interrupt)
    }

    /// Like [`Self::ids_threaded`], in chunks of about `chunk` bytes.
    pub fn ids_in_chunks<N: IdNumber>(
        &self,
        text: &[u8],
        (threads, chunk): (usize, usize),
        matchers: Option<&Matchers>,
        out: &mut Vec<N>,
        interrupt: Interrupt,
    ) -> Result<()> {
        // A run of unknown words that is fused into one token could be in two chunks.
        let whole = text.len() < 2 * chunk || self.fused().is_some();
        if whole || threads < 2 {
            if let Some(out) = N::as_encoded(out) {
                return self.ids(text, matchers, out, interrupt);
            }
        }
        if whole {
            let mut ids = self.buffers.take_chunk();
            self.ids(text, matchers, &mut ids, interrupt)?;
            append(&ids, out)?;
            self.buffers.put_chunk(ids);
            return Ok(());
        }
        let stretches = self.stretches(text, matchers)?;
        let mut pieces = Vec::new();
        let first = stretches.get(1).map_or(text.len(), |&(start, ..)| start);
        let first_char = self.first_char(&text[..first])?;
        for (start, id, stretch) in &stretches {
            match id {
                Some(id) => pieces.push(TextPiece::Id(*id)),
                None => {
                    let first_char = if *start == 0 { first_char } else { 0 };
                    self.cut_stretch(stretch, first_char, chunk, matchers, &mut pieces)?;
                }
            }
        }
        let groups = groups(pieces.iter().map(TextPiece::length), chunk);
        let mut joined = Joiner {
            first: out.len(),
            out,
            waiting: Vec::new(),
            split: false,
        };
        let (mut done, mut rest) = (0, text.len());
        let jobs = Jobs {
            count: groups.len(),
            threads,
        };
        let make = |worker: &mut Worker<PoolGuard<CallState>>, number: usize| {
            let pieces = &pieces[groups[number].clone()];
            let mut call = worker.state.call(worker.interrupt, matchers);
            Ok((pieces, self.make(pieces, &mut call)?))
        };
        jobs.in_order(
            interrupt,
            || self.call_state(),
            make,
            |worker, (pieces, made)| {
                let bytes: usize = pieces.iter().map(TextPiece::length).sum();
                done += bytes;
                rest = rest.saturating_sub(bytes);
                joined.reserve(&made, (done, rest));
                let mut call = worker.state.call(worker.interrupt, matchers);
                self.join(made, &mut call, &mut joined)
            },
        )
    }

    /// Return the added tokens found in the raw text, and the stretches between them.
    ///
    /// A stretch is normalized if added tokens must be found in normalized text.
    fn stretches<'t>(&self, text: &'t [u8], matchers: Option<&Matchers>) -> Result<Vec<Span<'t>>> {
        let normalized = matchers.and_then(Matchers::normalized).is_some();
        let mut stretches = Vec::new();
        each_span(matchers.and_then(Matchers::raw), text, |id, start, end| {
            let stretch = &text[start..end];
            let stretch = match id.is_none() && normalized {
                true => self.normalizers.apply(stretch, Edges::WHOLE)?,
                false => Cow::Borrowed(stretch),
            };
            stretches.push((start, id, stretch));
            Ok(())
        })?;
        Ok(stretches)
    }

    fn cut_stretch<'t>(
        &self,
        stretch: &'t [u8],
        first_char: usize,
        chunk: usize,
        matchers: Option<&Matchers>,
        pieces: &mut Vec<TextPiece<'t>>,
    ) -> Result<()> {
        let matcher = matchers.and_then(Matchers::normalized);
        if matcher.is_some() || self.normalizers.is_empty() {
            return each_span(matcher, stretch, |id, start, end| {
                match id {
                    Some(id) => pieces.push(TextPiece::Id(id)),
                    None => {
                        let first_char = first_char.saturating_sub(start);
                        self.cut_plain(&stretch[start..end], first_char, chunk, pieces);
                    }
                }
                Ok(())
            });
        }
        if stretch.len() <= chunk || !self.can_be_cut() {
            pieces.push(TextPiece::Stretch {
                text: stretch,
                first_char,
            });
            return Ok(());
        }
        pieces.extend(safe_blocks(stretch, chunk).map(|block| {
            let edges = Edges::of(&block, stretch);
            let text = &stretch[block];
            TextPiece::Raw(Raw {
                text,
                first_char,
                edges,
            })
        }));
        Ok(())
    }

    fn cut_plain<'t>(
        &self,
        text: &'t [u8],
        first_char: usize,
        chunk: usize,
        pieces: &mut Vec<TextPiece<'t>>,
    ) {
        let mut start = 0;
        for end in cut_into_pieces(&self.pre_tokenizer, text, chunk) {
            pieces.push(TextPiece::Plain {
                text: &text[start..end],
                first_char: first_char.saturating_sub(start),
            });
            start = end;
        }
    }

    /// Encode a run of pieces.
    fn make<'t>(&self, pieces: &[TextPiece<'t>], call: &mut Call) -> Result<Vec<EncodedPiece<'t>>> {
        let (mut made, mut ids) = (Vec::new(), self.buffers.take_chunk());
        for piece in pieces {
            match *piece {
                TextPiece::Id(id) => ids.push(id),
                TextPiece::Stretch { text, first_char } => {
                    self.stretch_ids(text, first_char, call, &mut ids)?;
                }
                TextPiece::Plain { text, first_char } => {
                    self.normalized_ids(text, first_char, call, &mut ids)?;
                }
                TextPiece::Raw(raw) => {
                    made.push(EncodedPiece::Ids(std::mem::take(&mut ids)));
                    made.push(EncodedPiece::Raw(raw, self.make_raw(raw, call)?));
                }
            }
        }
        made.push(EncodedPiece::Ids(ids));
        Ok(made)
    }

    fn make_raw(&self, raw: Raw, call: &mut Call) -> Result<Ends> {
        let text = self.normalizers.apply(raw.text, raw.edges)?;
        let from = match raw.edges.start {
            true => 0,
            false => self.first_cut(&text).unwrap_or(text.len()),
        };
        let to = match raw.edges.end {
            true => Some(text.len()),
            false => last_cut(&self.pre_tokenizer, &text, from),
        };
        // In a part that is not the last, the first cut may also be the last one.
        let middle = match to {
            Some(to) if from < text.len() => {
                let mut ids = Vec::new();
                let first_char = if raw.edges.start { raw.first_char } else { 0 };
                self.normalized_ids(&text[from..to], first_char, call, &mut ids)?;
                Some((ids, text[to..].to_vec()))
            }
            _ => None,
        };
        let head = match middle {
            Some(_) => text[..from].to_vec(),
            None => text.into_owned(),
        };
        Ok(Ends { head, middle })
    }

    /// Return the first offset where normalized text can be cut.
    ///
    /// Only the byte at the cut and the character before it matter.
    fn first_cut(&self, text: &[u8]) -> Option<usize> {
        let mut window = 256;
        loop {
            let part = &text[..window.min(text.len())];
            match cut_into_pieces(&self.pre_tokenizer, part, 1)[0] {
                end if end < part.len() => return Some(end),
                end if end == text.len() => return None,
                _ => window *= 2,
            }
        }
    }

    /// Append all ids in order, including the ids of the text between parts.
    fn join<N: IdNumber>(
        &self,
        made: Vec<EncodedPiece>,
        call: &mut Call,
        joined: &mut Joiner<N>,
    ) -> Result<()> {
        for made in made {
            let (raw, ends) = match made {
                EncodedPiece::Ids(ids) => {
                    append(&ids, joined.out)?;
                    self.buffers.put_chunk(ids);
                    continue;
                }
                EncodedPiece::Raw(raw, ends) => (raw, ends),
            };
            let Joiner {
                out,
                waiting,
                split,
                ..
            } = joined;
            if raw.edges.start {
                *split = false;
            }
            waiting.extend_from_slice(&ends.head);
            if ends.middle.is_some() || raw.edges.end {
                if !waiting.is_empty() {
                    let mut ids = self.buffers.take_chunk();
                    let first_char = if *split { 0 } else { raw.first_char };
                    self.normalized_ids(waiting, first_char, call, &mut ids)?;
                    append(&ids, out)?;
                    self.buffers.put_chunk(ids);
                    *split = true;
                }
                waiting.clear();
            }
            if let Some((ids, tail)) = ends.middle {
                append(&ids, out)?;
                *waiting = tail;
                *split = true;
            }
        }
        Ok(())
    }
}

/// The ids of all parts so far.
struct Joiner<'o, N> {
    out: &'o mut Vec<N>,
    /// Length of `out` before the first id of this text.
    first: usize,
    /// Normalized text from the last cut on.
    waiting: Vec<u8>,
    /// Whether a pre-token of this stretch was encoded before.
    split: bool,
}

impl<N> Joiner<'_, N> {
    fn reserve(&mut self, made: &[EncodedPiece], bytes: (usize, usize)) {
        let next = made.iter().map(EncodedPiece::ids).sum();
        if self.out.capacity() - self.out.len() < next {
            let ids = self.out.len() - self.first + next;
            reserve_projected(self.out, next, bytes, ids);
        }
    }
}

/// Append ids of the only text.
fn append<N: IdNumber>(ids: &[u32], out: &mut Vec<N>) -> Result<()> {
    N::append(ids, out).map_err(|place| does_not_fit(ids[place], 0))
}

impl EncodedPiece<'_> {
    fn ids(&self) -> usize {
        match self {
            EncodedPiece::Ids(ids) => ids.len(),
            EncodedPiece::Raw(_, ends) => ends.middle.as_ref().map_or(0, |(ids, _)| ids.len()),
        }
    }
}

#[cfg(test)]
#[path = "one_text_tests.rs"]
pub(crate) mod tests;
