//! Scanners that work on blocks of 64 bytes: one mask per character class, and from these,
//! by shifts and carries, one mask of the places where a pre-token starts.
//!
//! - A mask has a bit per byte, the lowest for the first. The class of a character outside
//!   ASCII is set at all of its bytes, so that neighbours among bytes are neighbours among
//!   characters, and one shift asks for the character before or behind.
//! - What a block needs to know of the blocks before it are carries of one bit. The block
//!   behind it is classified before its turn, so that looking ahead is a shift as well.
//! - Text is done by [`BATCH`] blocks at a time, in a function that is compiled for each
//!   level of the processor; only making the class masks differs ([`lanes`]). The places are
//!   handed out by code that is compiled once per caller.
//! - Where white space is dropped, it is a piece of its own until the places are handed out.
//! - Behind its end a text goes on with spaces: they begin no look-ahead that the end would
//!   not, and start nothing inside the text.

mod algebra;
mod block;
mod cl100k;
mod gpt2;
mod lanes;
mod letters;
mod level;
mod o200k;
mod parts;
#[cfg(test)]
mod tests;
mod wide;
mod words;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use algebra::{ahead, first_bytes, follow, Carry, Groups};
pub use block::{AsciiClasses, Block, View};
pub use cl100k::Cl100k;
pub use gpt2::Gpt2;
pub use level::Level;
pub use o200k::O200k;
pub use words::{Bert, Whitespace, WordRuns};

use crate::unicode::SPACE;
use block::Blocks;
use lanes::Lanes;

/// Blocks between two look-ups of what the processor can do.
const BATCH: usize = 16;

/// A pattern as an algebra on masks: the state that goes from block to block.
pub trait MaskPattern: Copy {
    /// The class bits of ASCII. The same bits may mean something else than in
    /// [`crate::unicode`] where [`Self::WIDE`] does not hold them.
    const ASCII: AsciiClasses;
    /// The bits of [`crate::unicode::Classes`] that characters outside ASCII keep.
    const WIDE: u8;

    /// Is white space dropped?
    const DROPS: bool = false;

    /// Where pre-tokens start in `view.block`, and the white space between them. Bits behind the end of the text are ignored,
    /// and that at its start as well.
    fn starts(&mut self, view: &View) -> u64;
}

struct Scan<'t, P> {
    pattern: P,
    blocks: Blocks<'t>,
    /// Where the next block to scan starts, and that block; none at first.
    at: usize,
    block: Option<Block>,
    /// Does the block before end with what is kept?
    kept: Carry,
}

impl<P: MaskPattern> Scan<'_, P> {
    /// Scans the next blocks; returns how many they were.
    #[inline(always)]
    fn fill<L: Lanes>(&mut self, places: &mut BatchPlaces) -> usize {
        let text = self.blocks.text;
        // Copies that need not be in memory at each step.
        let (mut pattern, mut at, mut block) = (self.pattern, self.at, self.block);
        let mut filled = 0;
        while filled < BATCH && at < text.len() {
            let next = self.blocks.next::<L, P>();
            if let Some(block) = &block {
                let starts = pattern.starts(&View {
                    text,
                    at,
                    block,
                    next: &next,
                });
                if P::DROPS {
                    let kept = !block.of(SPACE);
                    places.starts[filled] = starts & kept;
                    places.ends[filled] = starts & self.kept.behind(kept);
                } else {
                    places.starts[filled] = starts;
                }
                filled += 1;
                at += 64;
            }
            block = Some(next);
        }
        (self.pattern, self.at, self.block) = (pattern, at, block);
        filled
    }
}

/// What a batch of blocks was found to be.
struct BatchPlaces {
    starts: [u64; BATCH],
    /// Where pre-tokens end, of a pattern that drops something.
    ends: [u64; BATCH],
}

/// Calls `emit(start, end)` for every pre-token of a pattern.
#[inline]
pub fn split<P: MaskPattern>(pattern: P, text: &[u8], emit: impl FnMut(usize, usize)) {
    split_at_level(Level::get(), pattern, text, emit);
}

fn split_at_level<P: MaskPattern>(
    level: Level,
    pattern: P,
    text: &[u8],
    mut emit: impl FnMut(usize, usize),
) {
    if text.is_empty() {
        return;
    }
    let mut scan = Scan {
        pattern,
        blocks: Blocks::new(text),
        at: 0,
        block: None,
        kept: Carry::default(),
    };
    let mut places = BatchPlaces {
        starts: [0; BATCH],
        ends: [0; BATCH],
    };
    let mut base = 0;
    // The start of the pre-token whose end has not been found yet.
    let mut open = if P::DROPS { None } else { Some(0) };
    while base < text.len() {
        let filled = level.fill(&mut scan, &mut places);
        for number in 0..filled {
            let inside = match text.len() - base {
                length @ ..64 => (1 << length) - 1,
                _ => u64::MAX,
            };
            let (mut starts, mut ends) = (places.starts[number] & inside, 0);
            if P::DROPS {
                ends = places.ends[number] & inside;
            } else if base == 0 {
                // It is open already.
                starts &= !1;
            }
            match P::DROPS {
                true => emit_kept(base, starts, ends, &mut open, &mut emit),
                false => emit_all(base, starts, &mut open, &mut emit),
            }
            base += 64;
        }
    }
    if let Some(start) = open {
        emit(start, text.len());
    }
}

/// Each pre-token ends where the next one starts.
#[inline(always)]
fn emit_all(
    base: usize,
    mut starts: u64,
    open: &mut Option<usize>,
    emit: &mut impl FnMut(usize, usize),
) {
    let mut before = open.unwrap_or_default();
    while starts != 0 {
        let start = base + starts.trailing_zeros() as usize;
        emit(before, start);
        before = start;
        starts &= starts - 1;
    }
    *open = Some(before);
}

/// Starts and ends come by turns.
#[inline(always)]
fn emit_kept(
    base: usize,
    mut starts: u64,
    mut ends: u64,
    open: &mut Option<usize>,
    emit: &mut impl FnMut(usize, usize),
) {
    let first = |mask: &mut u64| {
        let place = base + mask.trailing_zeros() as usize;
        *mask &= *mask - 1;
        place
    };
    if ends != 0 {
        if let Some(start) = open.take() {
            emit(start, first(&mut ends));
        }
    }
    while ends != 0 {
        emit(first(&mut starts), first(&mut ends));
    }
    if starts != 0 {
        *open = Some(first(&mut starts));
    }
}
