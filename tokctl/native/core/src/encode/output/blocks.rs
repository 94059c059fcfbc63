//! Encoding of one text that comes in blocks: each block is encoded as far as it is complete.

use super::sinks::{Pushed, Sink};
use crate::encode::encoder::{Call, CallState};
use crate::encode::{Encoder, Matchers};
use crate::error::{Error, Result};
use crate::jobs::{Interrupt, Jobs, Worker};
use crate::lock_free::PoolGuard;
use crate::memory;
use crate::pretokenize::{cut_into_pieces, last_cut};

/// The offsets where a text may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cuts {
    /// After every line feed: each line is a text of its own.
    Lines,
    /// At every cut that the pre-tokenizer allows; only without normalizers and added tokens.
    Pieces,
    /// Nowhere: the whole text is encoded at once.
    Nowhere,
}

/// Bytes of text encoded at a time, few enough for their ids to stay in the processor's cache until
/// the sink has them.
const SHARE: usize = 64 * 1024;

/// Bytes of a text that may wait for a cut, at most.
///
/// Lengths in results are 32-bit numbers, and memory would be full sooner.
const MOST_WAITING: usize = u32::MAX as usize;

/// A text with a character that has no id.
#[derive(Debug, PartialEq, Eq)]
pub struct MissingId {
    /// The line in which the text starts, from 0 at the start of the first block.
    pub line: u64,
    pub text: Vec<u8>,
}

/// The settings that [`BlockEncoder::feed`] encodes with.
pub struct Context<'e> {
    pub encoder: &'e Encoder,
    pub matchers: Option<&'e Matchers>,
    pub threads: usize,
    pub interrupt: Interrupt<'e>,
}

/// The state of a text between two of its blocks.
#[derive(Debug)]
pub struct BlockEncoder {
    cuts: Cuts,
    /// Text that may continue in the next block.
    waiting: Vec<u8>,
    ids: Vec<u32>,
    /// Number of lines that have ended.
    lines: u64,
}

impl BlockEncoder {
    pub fn new(cuts: Cuts) -> Self {
        BlockEncoder {
            cuts,
            waiting: Vec::new(),
            ids: Vec::new(),
            lines: 0,
        }
    }

    /// Return the number of bytes that were taken and not yet encoded.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Take the next block, and give `sink` the ids of the text that it completes.
    ///
    /// With `last`, the text ends, and another one may begin. Returns the first text that has a
    /// character without an id, if any; the ids of the block are then invalid.
    pub fn feed<S: Sink>(
        &mut self,
        context: &Context,
        mut block: &[u8],
        last: bool,
        sink: &mut S,
    ) -> Result<Option<MissingId>> {
        let mut missing = None;
        if !self.waiting.is_empty() {
            let taken = self.complete(context.encoder, block)?;
            block = &block[taken.unwrap_or(block.len())..];
            if taken.is_some() || last {
                let text = std::mem::take(&mut self.waiting);
                missing = self.encode(context, &text, sink)?;
                self.waiting = text;
                self.waiting.clear();
            }
        }
        let end = match last {
            true => block.len(),
            false => self.last_end(context.encoder, block),
        };
        if missing.is_none() {
            missing = self.encode(context, &block[..end], sink)?;
        }
        self.reserve(block.len() - end)?;
        self.waiting.extend_from_slice(&block[end..]);
        if last {
            self.lines = 0;
            if missing.is_none() {
                sink.end_text()?;
            }
        }
        Ok(missing)
    }

    /// Append the start of `block`, up to the first cut, to the waiting text.
    ///
    /// Returns the number of bytes appended, or `None` if the block has no cut; then the whole
    /// block was appended.
    fn complete(&mut self, encoder: &Encoder, block: &[u8]) -> Result<Option<usize>> {
        self.reserve(block.len())?;
        let taken = match self.cuts {
            Cuts::Lines => memchr::memchr(b'\n', block).map(|at| at + 1),
            Cuts::Pieces => {
                let before = self.waiting.len();
                let (mut taken, mut window) = (0, 256);
                while taken < block.len() {
                    let to = block.len().min(taken + window);
                    let searched = self.waiting.len();
                    self.waiting.extend_from_slice(&block[taken..to]);
                    if let Some(cut) = last_cut(&encoder.pre_tokenizer, &self.waiting, searched) {
                        self.waiting.truncate(cut);
                        return Ok(Some(cut - before));
                    }
                    (taken, window) = (to, 2 * window);
                }
                return Ok(None);
            }
            Cuts::Nowhere => None,
        };
        self.waiting
            .extend_from_slice(&block[..taken.unwrap_or(block.len())]);
        Ok(taken)
    }

    fn reserve(&mut self, bytes: usize) -> Result<()> {
        if self.waiting.len() + bytes > MOST_WAITING {
            let cut = match self.cuts {
                Cuts::Lines => "a line of over 4 GB can't be encoded",
                _ => "a text that has no place to cut it in 4 GB can't be encoded",
            };
            return Err(Error::TooLarge(cut.into()));
        }
        memory::reserve(&mut self.waiting, bytes)
    }

    /// Return the last offset where `block` can be cut, or 0.
    fn last_end(&self, encoder: &Encoder, block: &[u8]) -> usize {
        match self.cuts {
            Cuts::Lines => memchr::memrchr(b'\n', block).map_or(0, |at| at + 1),
            Cuts::Pieces => last_cut(&encoder.pre_tokenizer, block, 1).unwrap_or(0),
            Cuts::Nowhere => 0,
        }
    }

    /// Encode text that is complete as it is.
    fn encode<S: Sink>(
        &mut self,
        context: &Context,
        text: &[u8],
        sink: &mut S,
    ) -> Result<Option<MissingId>> {
        if text.is_empty() {
            return Ok(None);
        }
        let shares = self.shares(context.encoder, text);
        let missing = match context.threads < 2 || shares.len() < 2 {
            true => self.push_shares(context, &shares, sink)?,
            false => self.push_by_threads(context, &shares, sink)?,
        };
        let Some((number, lines)) = missing else {
            self.lines += line_feeds(text);
            return Ok(None);
        };
        let before: u64 = shares[..number].iter().map(|share| line_feeds(share)).sum();
        let share = shares[number];
        let line = match self.cuts {
            Cuts::Lines => share.split(|&byte| byte == b'\n').nth(lines as usize),
            _ => None,
        };
        Ok(Some(MissingId {
            line: self.lines + before + lines,
            text: line.unwrap_or(share).to_vec(),
        }))
    }

    /// Encode shares one by one into `sink`.
    ///
    /// Returns the first share with a character that has no id, and how many of its lines end
    /// before that character.
    fn push_shares<S: Sink>(
        &mut self,
        context: &Context,
        shares: &[&[u8]],
        sink: &mut S,
    ) -> Result<Option<(usize, u64)>> {
        let mut state = context.encoder.call_state();
        let call = &mut state.call(context.interrupt, context.matchers);
        for (number, share) in shares.iter().enumerate() {
            self.ids.clear();
            context.ids(share, self.cuts, call, &mut self.ids)?;
            if let Pushed::MissingId(lines) = sink.push(&mut self.ids, share)? {
                return Ok(Some((number, lines)));
            }
        }
        Ok(None)
    }

    /// Like [`Self::push_shares`], on several threads.
    ///
    /// Each thread fills a separate sink for every share.
    fn push_by_threads<S: Sink>(
        &self,
        context: &Context,
        shares: &[&[u8]],
        sink: &mut S,
    ) -> Result<Option<(usize, u64)>> {
        let (cuts, matchers) = (self.cuts, context.matchers);
        let jobs = Jobs {
            count: shares.len(),
            threads: context.threads,
        };
        let state = || (context.encoder.call_state(), Vec::new());
        let empty = sink.for_share();
        let work = |worker: &mut Worker<(PoolGuard<CallState>, Vec<u32>)>, number: usize| {
            let (state, ids) = &mut worker.state;
            let call = &mut state.call(worker.interrupt, matchers);
            ids.clear();
            context.ids(shares[number], cuts, call, ids)?;
            let mut part = empty.clone();
            let pushed = part.push(ids, shares[number])?;
            Ok((number, part, pushed))
        };
        let mut missing = None;
        jobs.in_order(
            context.interrupt,
            state,
            work,
            |_, (number, part, pushed)| {
                match (missing, pushed) {
                    (Some(_), _) => {}
                    (None, Pushed::MissingId(lines)) => missing = Some((number, lines)),
                    (None, Pushed::All) => sink.append(part),
                }
                Ok(())
            },
        )?;
        Ok(missing)
    }

    /// Cut the text into shares of about equal size.
    ///
    /// Each share is a text, or whole lines.
    fn shares<'t>(&self, encoder: &Encoder, text: &'t [u8]) -> Vec<&'t [u8]> {
        let ends = match self.cuts {
            Cuts::Lines => line_ends(text, SHARE),
            Cuts::Pieces => cut_into_pieces(&encoder.pre_tokenizer, text, SHARE),
            Cuts::Nowhere => vec![text.len()],
        };
        let mut start = 0;
        let share = |end| &text[std::mem::replace(&mut start, end)..end];
        ends.into_iter().map(share).collect()
    }
}

impl Context<'_> {
    /// Append the ids of a share.
    fn ids(&self, share: &[u8], cuts: Cuts, call: &mut Call, ids: &mut Vec<u32>) -> Result<()> {
        match cuts {
            Cuts::Lines => self.encoder.line_ids(share, call, ids),
            Cuts::Pieces => self.encoder.ids_with(share, call, ids),
            Cuts::Nowhere if self.threads < 2 => self.encoder.ids_with(share, call, ids),
            Cuts::Nowhere => {
                let (threads, matchers) = (self.threads, self.matchers);
                self.encoder
                    .ids_threaded(share, threads, matchers, ids, self.interrupt)
            }
        }
    }
}

/// Return where shares of whole lines end.
///
/// Each share has at least `size` bytes, except the last.
fn line_ends(text: &[u8], size: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let from = text.len().min(start + size - 1);
        let end = memchr::memchr(b'\n', &text[from..]).map(|at| from + at + 1);
        start = end.unwrap_or(text.len());
        ends.push(start);
    }
    ends
}

fn line_feeds(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}
