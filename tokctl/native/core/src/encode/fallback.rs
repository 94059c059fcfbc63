//! Symbols without an id, before the merges: bytes or the unknown token.
//!
//! As Hugging Face's `models/bpe` does it, to the letter: where all bytes of a symbol have
//! tokens it becomes these; otherwise it is unknown. An unknown symbol is held back until
//! the next symbol with an id of its own, or the next unknown one that it isn't fused
//! with: where only some bytes have tokens, it comes out behind those in between.

use super::{Merging, Segment};
use crate::model::NO_ID;

/// Rewrites the symbols of `pre_token`, which are `out[first..]`.
pub(super) fn resolve(
    merging: &Merging,
    pre_token: &[u8],
    unknown: Option<u32>,
    out: &mut Vec<Segment>,
    first: usize,
) {
    let symbols = out.split_off(first);
    let mut held: Option<Segment> = None;
    let mut at = 0;
    for symbol in symbols {
        let end = at + symbol.length as usize;
        if symbol.id != NO_ID {
            out.extend(held.take());
            out.push(symbol);
        } else if !fall_back(merging, pre_token, at..end, out) {
            match (&mut held, unknown) {
                (Some(held), _) if merging.fuse_unknown => held.length += symbol.length,
                (_, Some(id)) => out.extend(held.replace(Segment { id, ..symbol })),
                (_, None) => out.push(symbol),
            }
        }
        at = end;
    }
    out.extend(held);
}

/// Appends the tokens of the bytes of one symbol, if all have one. The bytes of a marker
/// fused to it have tokens, too, which cover nothing.
fn fall_back(
    merging: &Merging,
    pre_token: &[u8],
    place: std::ops::Range<usize>,
    out: &mut Vec<Segment>,
) -> bool {
    let Some(ids) = &merging.byte_ids else {
        return false;
    };
    if place.is_empty() {
        return false;
    }
    let (before, after) = merging.alphabet.fused(&place, pre_token.len());
    let first = out.len();
    for (bytes, length) in [(before, 0), (&pre_token[place], 1), (after, 0)] {
        out.extend(bytes.iter().map(|&byte| Segment {
            id: ids[byte as usize],
            length,
        }));
    }
    let complete = out[first..].iter().all(|segment| segment.id != NO_ID);
    if !complete {
        out.truncate(first);
    }
    complete
}
