//! What the encoder gives, as columns and as packed numbers.

use tokctl_core::encode::{Segment, Token};
use tokctl_core::model::NO_ID;
use tokctl_core::Error;

/// Columns of a token table: ids, starts, ends, pre-token numbers (None: special).
pub type Columns = (Vec<u32>, Vec<usize>, Vec<usize>, Vec<Option<usize>>);

pub fn ids_and_lengths(segments: &[Segment]) -> (Vec<u32>, Vec<u32>) {
    let ids = segments.iter().map(|segment| segment.id).collect();
    (ids, segments.iter().map(|segment| segment.length).collect())
}

pub fn columns(tokens: &[Token]) -> Columns {
    (
        tokens.iter().map(|token| token.id).collect(),
        tokens.iter().map(|token| token.start).collect(),
        tokens.iter().map(|token| token.end).collect(),
        tokens.iter().map(|token| token.pre_token).collect(),
    )
}

/// Can ids be written as numbers of `width` bytes?
pub fn check_width(ids: &[u32], width: usize) -> Result<(), Error> {
    if !matches!(width, 2 | 4) {
        return Err(Error::Invalid(format!("ids can't be {width} bytes wide")));
    }
    if ids.contains(&NO_ID) {
        return Err(Error::Invalid("a character of the text has no id".into()));
    }
    match ids.iter().find(|&&id| width == 2 && id > u16::MAX.into()) {
        Some(id) => Err(Error::TooLarge(format!("id {id} does not fit 16 bits"))),
        None => Ok(()),
    }
}

/// Writes ids that were checked as little-endian numbers of `width` bytes.
pub fn pack(ids: &[u32], width: usize, out: &mut [u8]) {
    if width == 4 {
        for (&id, to) in ids.iter().zip(out.chunks_exact_mut(4)) {
            to.copy_from_slice(&id.to_le_bytes());
        }
    } else {
        for (&id, to) in ids.iter().zip(out.chunks_exact_mut(2)) {
            to.copy_from_slice(&(id as u16).to_le_bytes());
        }
    }
}
