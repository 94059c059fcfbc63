//! Scanners that work on blocks of 64 bytes.
//!
//! Each character class gives one mask of a block. Shifts and carries turn these masks into one
//! mask of the positions where a pre-token starts.
//!
//! - A mask has a bit for each byte, the lowest for the first. A character beyond ASCII sets the
//!   bits of all of its bytes. So neighbours among bytes are neighbours among characters, and one
//!   shift reaches the character before or after.
//! - Carries of one bit hold all that a block needs to know of the blocks before it. The next block
//!   is classified in advance, so that looking ahead is a shift as well.
//! - A function that is compiled for each level of the processor scans [`BATCH`] blocks at a time;
//!   only the making of the class masks differs ([`lanes`]). The pre-tokens are handed out by code
//!   that is compiled once for each caller.
//! - Dropped white space is a piece of its own until the pre-tokens are handed out.
//! - Past its end, a text continues with spaces: for a look-ahead they are like the end, and they
//!   start nothing inside the text.

mod algebra;
mod block;
mod cl100k;
mod gpt2;
mod lanes;
mod letters;
mod level;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
mod o200k;
mod parts;
mod places;
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
#[cfg(target_arch = "x86_64")]
pub use x86::HasAvx512;

use super::PreTokenSink;
use crate::unicode::SPACE;
use block::Blocks;
use lanes::Lanes;
use places::Places;

/// Blocks per call of the code for the processor's level.
const BATCH: usize = 16;

/// Pattern as an algebra on masks, with the state that goes from block to block.
pub trait MaskPattern: Copy {
    /// Class bits of ASCII. A bit that is not in [`Self::WIDE`] may have another meaning than in
    /// [`crate::unicode`].
    const ASCII: AsciiClasses;
    /// Bits of [`crate::unicode::Classes`] that characters beyond ASCII keep.
    const WIDE: u8;

    /// Whether white space is dropped.
    const DROPS: bool = false;

    /// Return where pre-tokens, and the white space between them, start in `view.block`.
    ///
    /// Bits past the end of the text are ignored. The bit at its start counts only with
    /// [`Self::DROPS`].
    fn starts(&mut self, view: &View) -> u64;
}

struct Scan<'t, P> {
    pattern: P,
    blocks: Blocks<'t>,
    /// Offset of the next block to scan.
    at: usize,
    /// Block at `at`; None before the first one is read.
    block: Option<Block>,
    /// Whether the block before ends with a byte that is kept.
    kept: Carry,
}

impl<P: MaskPattern> Scan<'_, P> {
    /// Scan at most [`BATCH`] blocks and return their number.
    #[inline(always)]
    fn fill<L: Lanes>(&mut self, places: &mut BatchPlaces) -> usize {
        let text = self.blocks.text;
        // Local copies, which need not be in memory at each step.
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
                let inside = match text.len() - at {
                    length @ ..64 => (1 << length) - 1,
                    _ => u64::MAX,
                };
                let base = 64 * filled;
                if P::DROPS {
                    let kept = !block.of(SPACE);
                    places.starts.add::<L>(base, starts & kept & inside);
                    let ends = starts & self.kept.behind(kept);
                    places.ends.add::<L>(base, ends & inside);
                } else {
                    // The first pre-token is open already.
                    let first = u64::from(at == 0);
                    places.starts.add::<L>(base, starts & inside & !first);
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

/// Offsets that were found in a batch of blocks.
struct BatchPlaces {
    /// Starts of pre-tokens.
    starts: Places,
    /// Ends of pre-tokens, for a pattern that drops white space.
    ends: Places,
}

/// Give `sink` every pre-token of a pattern.
#[inline]
pub fn split<P: MaskPattern>(pattern: P, text: &[u8], sink: impl PreTokenSink) {
    split_at_level(Level::get(), pattern, text, sink);
}

fn split_at_level<P: MaskPattern>(
    level: Level,
    pattern: P,
    text: &[u8],
    mut sink: impl PreTokenSink,
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
        starts: Places::none(),
        ends: Places::none(),
    };
    let mut base = 0;
    // Start of the pre-token whose end is not found yet.
    let mut open = if P::DROPS { None } else { Some(0) };
    while base < text.len() {
        let filled = level.fill(&mut scan, &mut places);
        let starts = places.starts.take();
        if P::DROPS {
            // Starts and ends alternate.
            let mut starts = starts.iter().map(|&start| base + usize::from(start));
            for &end in places.ends.take() {
                if let Some(start) = open.take().or_else(|| starts.next()) {
                    sink.take(start, base + usize::from(end));
                }
            }
            open = open.or_else(|| starts.next());
        } else {
            open = open.map(|open| sink.take_adjoining(base, open, starts));
        }
        base += 64 * filled;
    }
    if let Some(start) = open {
        sink.take(start, text.len());
    }
}
