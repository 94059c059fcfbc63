//! Texts that come block by block, as their ids are written: in decimal, or packed.

use super::batched::LINE_END;
use super::digits::{decimal, ROOM};
use crate::error::{Error, Result};
use crate::model::NO_ID;

/// How ids are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In decimal, a space between; a line feed where a line ends.
    Decimal,
    /// As little-endian numbers of 16 bits.
    Packed16,
    /// As little-endian numbers of 32 bits.
    Packed32,
    /// Not at all: they are only counted.
    Counted,
}

/// What was made of some ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// So many tokens were written.
    Tokens(u64),
    /// A token has no id; so many lines end before it.
    Lacking(u64),
}

/// Ids that are written between two looks at how much room there is.
const AT_ONCE: usize = 256;

/// Appends the ids to `out`. In decimal, a space stands before each that is the first neither of
/// a line nor of what `joined` says: whether an id stands right before.
pub(super) fn write(ids: &[u32], form: Form, joined: &mut bool, out: &mut Vec<u8>) -> Result<Made> {
    match form {
        Form::Decimal => return Ok(write_decimal(ids, joined, out)),
        Form::Packed16 => {
            // NO_ID has high bits, too.
            if ids.iter().fold(0, |all, &id| all | id) > u16::MAX.into() {
                if ids.contains(&NO_ID) {
                    return Ok(lacking(ids));
                }
                let id = ids.iter().find(|&&id| id > u16::MAX.into());
                let id = id.copied().unwrap_or_default();
                return Err(Error::TooLarge(format!("id {id} does not fit 16 bits")));
            }
            let first = out.len();
            out.resize(first + 2 * ids.len(), 0);
            for (to, &id) in out[first..].chunks_exact_mut(2).zip(ids) {
                to.copy_from_slice(&(id as u16).to_le_bytes());
            }
        }
        Form::Packed32 => {
            if ids.contains(&NO_ID) {
                return Ok(lacking(ids));
            }
            let first = out.len();
            out.resize(first + 4 * ids.len(), 0);
            for (to, &id) in out[first..].chunks_exact_mut(4).zip(ids) {
                to.copy_from_slice(&id.to_le_bytes());
            }
        }
        Form::Counted => {
            if ids.contains(&NO_ID) {
                return Ok(lacking(ids));
            }
            let ends = ids.iter().filter(|&&id| id == LINE_END).count();
            return Ok(Made::Tokens((ids.len() - ends) as u64));
        }
    }
    Ok(Made::Tokens(ids.len() as u64))
}

pub(super) fn lacking(ids: &[u32]) -> Made {
    let before = ids.iter().take_while(|&&id| id != NO_ID);
    Made::Lacking(before.filter(|&&id| id == LINE_END).count() as u64)
}

fn write_decimal(ids: &[u32], joined: &mut bool, out: &mut Vec<u8>) -> Made {
    // Each id takes up to a space and ten digits.
    let mut text = [0; AT_ONCE * (1 + ROOM)];
    let mut tokens = 0;
    for some in ids.chunks(AT_ONCE) {
        let mut at = 0;
        tokens += some.len() as u64;
        for &id in some {
            if id >= LINE_END {
                if id == NO_ID {
                    return lacking(ids);
                }
                text[at] = b'\n';
                at += 1;
                tokens -= 1;
                *joined = false;
                continue;
            }
            text[at] = b' ';
            at += usize::from(*joined);
            *joined = true;
            at += decimal(id, &mut text[at..at + ROOM]);
        }
        out.extend_from_slice(&text[..at]);
    }
    Made::Tokens(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(ids: &[u32], form: Form) -> (Result<Made>, Vec<u8>) {
        let mut out = Vec::new();
        (write(ids, form, &mut false, &mut out), out)
    }

    #[test]
    fn spaces_stand_between_the_ids_of_a_line() {
        let ids = [LINE_END, 7, 0, LINE_END, LINE_END, 123_456_789, 3];
        let (result, text) = made(&ids, Form::Decimal);
        assert_eq!(text, b"\n7 0\n\n123456789 3");
        assert_eq!(result, Ok(Made::Tokens(4)));
        assert_eq!(made(&ids, Form::Counted).0, Ok(Made::Tokens(4)));
        let mut many: Vec<u32> = (0..3000).map(|id| id * 1_431_655).collect();
        let expected: Vec<String> = many.iter().map(u32::to_string).collect();
        assert_eq!(made(&many, Form::Decimal).1, expected.join(" ").as_bytes());
        many.push(NO_ID);
        assert_eq!(made(&many, Form::Decimal).0, Ok(Made::Lacking(0)));
    }

    #[test]
    fn an_id_that_does_not_fit_is_an_error() {
        assert_eq!(made(&[1, 65_535], Form::Packed16).1, [1, 0, 255, 255]);
        assert!(made(&[1, 65_536], Form::Packed16).0.is_err());
        assert_eq!(made(&[65_536], Form::Packed32).1, [0, 0, 1, 0]);
        for form in [Form::Decimal, Form::Packed16, Form::Packed32, Form::Counted] {
            let result = made(&[1, LINE_END, NO_ID, LINE_END], form).0;
            assert_eq!(result, Ok(Made::Lacking(1)));
        }
    }
}
