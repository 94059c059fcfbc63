//! Which lines come back when they are encoded and decoded.

use memchr::memchr;

use crate::decode::Decoder;
use crate::encode::shared_out::in_order;
use crate::encode::{Encoder, Interrupt, Matchers};
use crate::error::Result;
use crate::model::NO_ID;

/// Bytes of lines that a thread takes at a time.
const GROUP: usize = 64 * 1024;

/// For each line of a text: does decode(encode(line)) give it back, byte for byte?
///
/// Lines are taken without their line end (`\n` or `\r\n`). One with a character without an id
/// has no ids to decode, and does not come back.
pub fn exact_lines(
    (encoder, decoder): (&Encoder, &Decoder),
    text: &[u8],
    matchers: Option<&Matchers>,
    threads: usize,
    interrupt: Interrupt,
) -> Result<Vec<bool>> {
    let groups = groups(text);
    let found = in_order(groups.len(), threads, interrupt, |jobs, interrupt| {
        let mut decoded = Vec::new();
        while let Some(number) = jobs.take() {
            let lines: Vec<&[u8]> = lines(groups[number]).collect();
            let flat = encoder.batch(&lines, 1, matchers, interrupt)?;
            let mut exact = Vec::with_capacity(lines.len());
            for (line, ids) in lines.iter().zip(flat.texts()) {
                decoded.clear();
                let has_ids = !ids.contains(&NO_ID);
                if has_ids {
                    decoder.decode_onto(ids, false, &mut decoded)?;
                }
                exact.push(has_ids && decoded == *line);
            }
            jobs.done(number, exact);
        }
        Ok(())
    })?;
    Ok(found.concat())
}

/// Whole lines, in groups.
fn groups(mut text: &[u8]) -> Vec<&[u8]> {
    let mut groups = Vec::new();
    while !text.is_empty() {
        let from = GROUP.min(text.len());
        let end = memchr(b'\n', &text[from..]).map_or(text.len(), |at| from + at + 1);
        let (group, rest) = text.split_at(end);
        groups.push(group);
        text = rest;
    }
    groups
}

fn lines(group: &[u8]) -> impl Iterator<Item = &[u8]> {
    group.split_inclusive(|&byte| byte == b'\n').map(|line| {
        let Some(line) = line.strip_suffix(b"\n") else {
            return line;
        };
        line.strip_suffix(b"\r").unwrap_or(line)
    })
}
