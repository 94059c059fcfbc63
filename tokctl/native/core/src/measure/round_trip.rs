//! Lines that encoding and decoding reproduce exactly.

use memchr::memchr;

use super::documents::Documents;
use crate::decode::Decoder;
use crate::encode::{Encoder, Matchers};
use crate::error::Result;
use crate::jobs::{Interrupt, Jobs, Worker};
use crate::model::NO_ID;

/// Bytes of lines that a thread takes at a time.
const GROUP: usize = 64 * 1024;

/// Return, for each line of the documents, whether decode(encode(line)) equals the line byte for
/// byte.
///
/// Lines are taken without their line end (`\n` or `\r\n`); the end of a document also ends a line.
/// A line with a character without an id can't be decoded, and counts as different.
pub fn exact_lines(
    (encoder, decoder): (&Encoder, &Decoder),
    documents: &Documents,
    matchers: Option<&Matchers>,
    threads: usize,
    interrupt: Interrupt,
) -> Result<Vec<bool>> {
    let groups = groups(documents);
    let count = groups.len();
    let exact = |worker: &mut Worker<Vec<u8>>, number: usize| {
        let decoded = &mut worker.state;
        let lines: Vec<&[u8]> = groups[number].lines(documents).collect();
        let flat = encoder.batch(&lines, 1, matchers, worker.interrupt)?;
        let mut exact = Vec::with_capacity(lines.len());
        for (line, ids) in lines.iter().zip(flat.texts()) {
            decoded.clear();
            let has_ids = !ids.contains(&NO_ID);
            if has_ids {
                decoder.decode_onto(ids, false, decoded)?;
            }
            exact.push(has_ids && decoded == *line);
        }
        Ok(exact)
    };
    let found = Jobs { count, threads }.collect(interrupt, Vec::new, exact)?;
    Ok(found.concat())
}

/// Return the number of lines of each document.
pub fn line_counts(documents: &Documents) -> Vec<usize> {
    let count = |number: usize| {
        let (start, end) = documents.range(number);
        lines(&documents.text[start..end]).count()
    };
    (0..documents.count()).map(count).collect()
}

/// Whole lines: of whole documents, or of a part of one.
struct LineGroup {
    documents: (usize, usize),
    range: (usize, usize),
}

impl LineGroup {
    fn lines<'t>(&self, documents: &'t Documents) -> impl Iterator<Item = &'t [u8]> {
        let (from, to) = self.range;
        (self.documents.0..self.documents.1).flat_map(move |number| {
            let (start, end) = documents.range(number);
            lines(&documents.text[start.max(from)..end.min(to)])
        })
    }
}

fn groups(documents: &Documents) -> Vec<LineGroup> {
    let mut groups = Vec::new();
    for (first, last) in documents.groups(GROUP, GROUP) {
        let (mut start, end) = (documents.range(first).0, documents.range(last - 1).1);
        while last - first == 1 && end - start > GROUP {
            let rest = &documents.text[start + GROUP..end];
            let size = memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let range = (start, start + GROUP + size);
            start = range.1;
            groups.push(LineGroup {
                documents: (first, last),
                range,
            });
        }
        if end > start {
            groups.push(LineGroup {
                documents: (first, last),
                range: (start, end),
            });
        }
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
