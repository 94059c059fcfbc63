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

    /// Where pre-tokens start in `view.block`, and the white space between them. Bits behind the
    /// end of the text are ignored, and that at its start as well.
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
                    // The first one is open already.
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

/// What a batch of blocks was found to be.
struct BatchPlaces {
    starts: Places,
    /// Where pre-tokens end, of a pattern that drops something.
    ends: Places,
}

/// Gives `sink` every pre-token of a pattern.
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
    // The start of the pre-token whose end has not been found yet.
    let mut open = if P::DROPS { None } else { Some(0) };
    while base < text.len() {
        let filled = level.fill(&mut scan, &mut places);
        let starts = places.starts.take();
        if P::DROPS {
            // Starts and ends come by turns.
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
