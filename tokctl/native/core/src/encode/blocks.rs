//! One text that comes in blocks: encoded as far as it is there, and written.

use super::encoder::Work;
use super::rows::{write_lines, Rows};
use super::shared_out::in_order;
use super::written::{write, Form, Made};
use super::{Encoder, Interrupt, Matchers};
use crate::error::Result;
use crate::pretokenize::{cut_into_pieces, last_cut};

/// Where a text may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cuts {
    /// Behind every line feed: each line is a text of its own, and line feeds are copied.
    Lines,
    /// Where the pre-tokenizer may be cut; only without normalizers and added tokens.
    Pieces,
    /// Nowhere: it comes as one block.
    Nowhere,
}

/// Bytes of text whose ids are written at once, small enough for the processor's cache.
const SHARE: usize = 64 * 1024;

/// A text with a character that has no id.
#[derive(Debug, PartialEq, Eq)]
pub struct Lacking {
    /// The line that it starts in, from 0 at the start of what came in blocks.
    pub line: u64,
    pub text: Vec<u8>,
}

/// What was made of a share, as bytes, and where documents end in it.
type Written = (Made, Vec<u8>, Vec<u64>);

/// See [`Blocks::feed`].
pub struct Encoding<'e> {
    pub encoder: &'e Encoder,
    pub matchers: Option<&'e Matchers>,
    pub threads: usize,
    pub interrupt: Interrupt<'e>,
}

/// What one block has become.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Fed {
    /// Those of [`Blocks::ending_with`], too.
    pub tokens: u64,
    /// Of lines in a packed form: how many ids stand before the end of each, of those appended.
    pub ends: Vec<u64>,
    /// The first text with such a character; then nothing of the block counts.
    pub lacking: Option<Lacking>,
}

/// A text between two of its blocks.
#[derive(Debug)]
pub struct Blocks {
    cuts: Cuts,
    form: Form,
    /// Stands behind the ids of each line.
    last_id: Option<u32>,
    /// Text that may go on in the next block.
    waiting: Vec<u8>,
    ids: Vec<u32>,
    /// Lines that have ended.
    lines: u64,
    /// Has an id been written that the next one follows?
    joined: bool,
}

impl Blocks {
    pub fn new(cuts: Cuts, form: Form) -> Self {
        Blocks {
            cuts,
            form,
            last_id: None,
            waiting: Vec::new(),
            ids: Vec::new(),
            lines: 0,
            joined: false,
        }
    }

    /// The same, with an id behind those of each line.
    pub fn ending_with(self, id: Option<u32>) -> Self {
        Blocks {
            last_id: id,
            ..self
        }
    }

    /// Bytes that were taken and not yet encoded.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Takes the next block, and appends to `out` what it completes. With `last` the text ends,
    /// and another one may begin.
    pub fn feed(
        &mut self,
        encoding: &Encoding,
        mut block: &[u8],
        last: bool,
        out: &mut Vec<u8>,
    ) -> Result<Fed> {
        let mut fed = Fed::default();
        if !self.waiting.is_empty() {
            let taken = self.complete(encoding.encoder, block);
            let ends = match taken {
                Some(taken) => {
                    block = &block[taken..];
                    true
                }
                None => {
                    block = &[];
                    last
                }
            };
            if ends {
                let text = std::mem::take(&mut self.waiting);
                self.encode(encoding, &text, out, &mut fed)?;
                self.waiting = text;
                self.waiting.clear();
            }
        }
        let end = match last {
            true => block.len(),
            false => self.last_end(encoding.encoder, block),
        };
        if fed.lacking.is_none() {
            self.encode(encoding, &block[..end], out, &mut fed)?;
        }
        self.waiting.extend_from_slice(&block[end..]);
        if last {
            (self.lines, self.joined) = (0, false);
        }
        Ok(fed)
    }

    /// Appends the start of `block` to the text that waits, up to the first place where it may be
    /// cut, and returns how much that is. None where there is no such place: then all of it.
    fn complete(&mut self, encoder: &Encoder, block: &[u8]) -> Option<usize> {
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
                        return Some(cut - before);
                    }
                    (taken, window) = (to, 2 * window);
                }
                return None;
            }
            Cuts::Nowhere => None,
        };
        self.waiting
            .extend_from_slice(&block[..taken.unwrap_or(block.len())]);
        taken
    }

    /// The last place where `block` may be cut; 0 where there is none.
    fn last_end(&self, encoder: &Encoder, block: &[u8]) -> usize {
        match self.cuts {
            Cuts::Lines => memchr::memrchr(b'\n', block).map_or(0, |at| at + 1),
            Cuts::Pieces => last_cut(&encoder.pre_tokenizer, block, 1).unwrap_or(0),
            Cuts::Nowhere => 0,
        }
    }

    /// Encodes text that is a text of its own as it stands.
    fn encode(
        &mut self,
        encoding: &Encoding,
        text: &[u8],
        out: &mut Vec<u8>,
        fed: &mut Fed,
    ) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let shares = self.shares(encoding.encoder, text);
        let rows = self.rows();
        let mut lacking = None;
        if encoding.threads < 2 || shares.len() < 2 {
            let (form, cuts) = (self.form, self.cuts);
            let (joined, ids) = (&mut self.joined, &mut self.ids);
            encoding.encoder.with_work(
                encoding.interrupt,
                encoding.matchers,
                |work| -> Result<()> {
                    for (number, share) in shares.iter().enumerate() {
                        ids.clear();
                        encoding.ids(share, cuts, work, ids)?;
                        let made = match rows {
                            Some(rows) => write_lines(ids, share, rows, joined, out, &mut fed.ends),
                            None => write(ids, form, joined, out),
                        };
                        match made? {
                            Made::Tokens(tokens) => fed.tokens += tokens,
                            Made::Lacking(lines) => {
                                lacking = Some((number, lines));
                                break;
                            }
                        }
                    }
                    Ok(())
                },
            )?;
        } else {
            let made = self.threaded(encoding, &shares)?;
            for (number, (made, text, ends)) in made.into_iter().enumerate() {
                let before = fed.tokens;
                match made {
                    Made::Tokens(tokens) => fed.tokens += tokens,
                    Made::Lacking(lines) => {
                        lacking = Some((number, lines));
                        break;
                    }
                }
                fed.ends.extend(ends.iter().map(|end| before + end));
                // A space stands before the first id of a piece; before that of a line none.
                let spaced = usize::from(!self.joined && text.first() == Some(&b' '));
                let spaced = if self.form == Form::Decimal {
                    spaced
                } else {
                    0
                };
                out.extend_from_slice(&text[spaced..]);
                self.joined |= self.cuts == Cuts::Pieces && !text.is_empty();
            }
        }
        if let Some((number, lines)) = lacking {
            let before = shares[..number]
                .iter()
                .map(|share| feeds(share))
                .sum::<u64>();
            let share = shares[number];
            let text = match self.cuts {
                Cuts::Lines => share.split(|&byte| byte == b'\n').nth(lines as usize),
                _ => None,
            };
            fed.lacking = Some(Lacking {
                line: self.lines + before + lines,
                text: text.unwrap_or(share).to_vec(),
            });
            return Ok(());
        }
        self.lines += feeds(text);
        // Lines end with a line feed, but the last one of all.
        self.joined &= self.cuts != Cuts::Lines;
        Ok(())
    }

    fn threaded(&self, encoding: &Encoding, shares: &[&[u8]]) -> Result<Vec<Written>> {
        let (rows, cuts) = (self.rows(), self.cuts);
        let (count, threads) = (shares.len(), encoding.threads);
        in_order(count, threads, encoding.interrupt, |jobs, interrupt| {
            let (encoder, matchers) = (encoding.encoder, encoding.matchers);
            encoder.with_work(interrupt, matchers, |work| {
                let mut ids = Vec::new();
                while let Some(number) = jobs.take() {
                    ids.clear();
                    let share = shares[number];
                    encoding.ids(share, cuts, work, &mut ids)?;
                    let (mut text, mut ends) = (Vec::new(), Vec::new());
                    let mut joined = cuts == Cuts::Pieces;
                    let (ids, joined, out) = (&mut ids, &mut joined, &mut text);
                    let made = match rows {
                        Some(rows) => write_lines(ids, share, rows, joined, out, &mut ends),
                        None => write(ids, self.form, joined, out),
                    };
                    jobs.done(number, (made?, text, ends));
                }
                Ok(())
            })
        })
    }

    /// How lines are written that are more than their ids in decimal.
    fn rows(&self) -> Option<Rows> {
        let packed = matches!(self.form, Form::Packed16 | Form::Packed32);
        let rows = Rows {
            form: self.form,
            last_id: self.last_id,
        };
        (self.cuts == Cuts::Lines && (packed || self.last_id.is_some())).then_some(rows)
    }

    /// The text in shares of like size, each a text, or lines, of its own.
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

impl Encoding<'_> {
    /// Appends the ids of a share.
    fn ids(&self, share: &[u8], cuts: Cuts, work: &mut Work, ids: &mut Vec<u32>) -> Result<()> {
        match cuts {
            Cuts::Lines => self.encoder.line_ids(share, work, ids),
            Cuts::Pieces => self.encoder.ids_with(share, work, ids),
            Cuts::Nowhere if self.threads < 2 => self.encoder.ids_with(share, work, ids),
            Cuts::Nowhere => {
                let (threads, matchers) = (self.threads, self.matchers);
                self.encoder
                    .ids_threaded(share, threads, matchers, ids, self.interrupt)
            }
        }
    }
}

/// Where shares of whole lines end, of at least `size` bytes each but the last.
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

fn feeds(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}
