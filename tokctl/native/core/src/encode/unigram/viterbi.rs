//! The best segmentation, by the Viterbi algorithm in one pass over the text.
//!
//! Every character starts the pieces that the trie finds there, and each offset remembers the best
//! piece that ends at it. Sums are kept in a ring as long as the longest piece. The pieces are kept
//! from the last *cut* on: an offset that no piece found so far crosses. Every segmentation passes
//! through a cut, so the text before it can be emitted, and a long text takes little memory.
//!
//! Sums start from any number, so that a sentence can be searched word by word (see `sentence`).

use std::cell::Cell;

use super::{Emitter, Precision, Unigram};
use crate::encode::segmenter::{check_length, Segment};
use crate::error::{Error, Result};
use crate::memory;
use crate::Interrupt;

/// Bytes after which the search looks for a cut.
const CHUNK: usize = 1 << 12;
/// Bytes examined between two polls of the interrupt.
const POLL_EVERY: usize = 1 << 20;
/// SentencePiece rebases a sum above this limit: it subtracts the sum from itself and all pending
/// sums, because 32 bits get too coarse.
pub(crate) const MAX_SUM: f64 = 100_000.0;
/// Total length of the scratch vectors up to which a thread keeps them.
const KEPT: usize = 1 << 17;

/// Working memory, kept by each thread from one pre-token to the next.
#[derive(Default)]
struct ViterbiScratch {
    /// The best sum that ends at an offset, indexed by the offset modulo the length, a power of
    /// two.
    ///
    /// NaN where nothing ends. Between two texts, all sums are NaN.
    sums: Vec<f64>,
    /// The last piece of the best path to an offset, indexed by the distance from the last cut.
    pieces: Vec<u32>,
}

thread_local! {
    static SCRATCH: Cell<ViterbiScratch> = Cell::default();
}

impl Unigram {
    /// Append the best segmentation and return its score.
    pub(crate) fn best(
        &self,
        text: &[u8],
        out: &mut Vec<Segment>,
        interrupt: Interrupt,
    ) -> Result<f64> {
        let (sum, taken) = self.best_from(0.0, text, out, interrupt)?;
        Ok(taken + sum)
    }

    /// Append the best segmentation of a text that follows another one, whose best sum is `before`.
    ///
    /// Returns the sum after the text, and the total that was subtracted by rebasing.
    pub(crate) fn best_from(
        &self,
        before: f64,
        text: &[u8],
        out: &mut Vec<Segment>,
        interrupt: Interrupt,
    ) -> Result<(f64, f64)> {
        check_length(text)?;
        // Room for the segments, and for twice the pieces if no cut is found.
        memory::check(text.len().saturating_mul(24))?;
        let first = out.len();
        // `interrupt` may run other code of the caller that also segments, so the scratch is taken,
        // not borrowed.
        let mut scratch = SCRATCH.take();
        let score = match self.precision {
            Precision::Single => self.search::<true>(before, text, out, &mut scratch, interrupt),
            Precision::Double => self.search::<false>(before, text, out, &mut scratch, interrupt),
        };
        match score {
            Ok(_) if scratch.pieces.len() + scratch.sums.len() <= KEPT => SCRATCH.set(scratch),
            Ok(_) => {}
            Err(_) => out.truncate(first),
        }
        score
    }

    fn search<const SINGLE: bool>(
        &self,
        start: f64,
        text: &[u8],
        out: &mut Vec<Segment>,
        scratch: &mut ViterbiScratch,
        interrupt: Interrupt,
    ) -> Result<(f64, f64)> {
        // The farthest that a piece or a character reaches, in bytes.
        let reach = self.trie.longest_entry().max(4).min(text.len());
        scratch.reserve(reach, (CHUNK + reach).min(text.len()));
        let ViterbiScratch { sums, pieces } = scratch;
        let mask = sums.len() - 1;
        let mut emitter = Emitter::new(self, text, out);
        let (mut at, mut cut, mut end) = (0, 0, 0);
        let (mut work, mut taken) = (0, 0.0);
        sums[0] = start;
        while at < text.len() {
            if at - cut >= CHUNK {
                if at == end {
                    write(&mut pieces[..=at - cut], &mut emitter);
                    cut = at;
                } else if pieces.len() <= at - cut + reach {
                    pieces.resize(pieces.len() * 2 + reach, 0);
                }
            }
            let mut before = std::mem::replace(&mut sums[at & mask], f64::NAN);
            if SINGLE && before.abs() > MAX_SUM {
                // Rebase: subtract the sum from all pending sums as well.
                for later in at + 1..=end {
                    let sum = &mut sums[later & mask];
                    *sum = round::<SINGLE>(*sum - before);
                }
                taken += std::mem::take(&mut before);
            }
            let (length, looked_at) = self.pieces_at(text, at, |length, entry, score| {
                let sum = round::<SINGLE>(before + score);
                let best = &mut sums[(at + length) & mask];
                // Also true if nothing ends at this offset yet (NaN). Of equal sums, the first
                // stays.
                #[allow(clippy::neg_cmp_op_on_partial_ord)]
                if !(sum <= *best) {
                    *best = sum;
                    pieces[at + length - cut] = entry;
                }
                end = end.max(at + length);
            });
            work += looked_at;
            // A piece that ends inside a character is a dead end.
            for inside in at + 1..at + length {
                sums[inside & mask] = f64::NAN;
            }
            at += length;
            if work >= POLL_EVERY {
                work = 0;
                if interrupt() {
                    return Err(Error::Interrupted);
                }
            }
        }
        let score = std::mem::replace(&mut sums[at & mask], f64::NAN);
        write(&mut pieces[..=at - cut], &mut emitter);
        emitter.finish();
        Ok((score, taken))
    }
}

#[inline]
fn round<const SINGLE: bool>(sum: f64) -> f64 {
    match SINGLE {
        true => Precision::Single.round(sum),
        false => sum,
    }
}

impl ViterbiScratch {
    fn reserve(&mut self, reach: usize, places: usize) {
        if self.sums.len() <= reach {
            self.sums.resize((reach + 1).next_power_of_two(), f64::NAN);
        }
        if self.pieces.len() <= places {
            self.pieces.resize(places + 1, 0);
        }
    }
}

/// Emit the path that ends at the last of `pieces`.
///
/// Reverses the backward links in place, then follows them forward.
fn write(pieces: &mut [u32], emitter: &mut Emitter) {
    let mut at = pieces.len() - 1;
    let mut piece = pieces[at];
    let last = at;
    while at > 0 {
        at -= emitter.length(piece);
        std::mem::swap(&mut pieces[at], &mut piece);
    }
    while at < last {
        at += emitter.push(pieces[at]);
    }
}
