//! Documents side by side, as their ids are written, and where each of them ends.

use super::batched::LINE_END;
use super::written::{lacking, write, Form, Made};
use super::Flat;
use crate::error::Result;
use crate::model::NO_ID;

/// How documents are written.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    /// In decimal, each document is a line.
    pub form: Form,
    /// Stands behind the ids of each document.
    pub last_id: Option<u32>,
}

/// What some documents have become.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WrittenRows {
    pub bytes: Vec<u8>,
    /// How many ids stand before the end of each document.
    pub ends: Vec<u64>,
    /// The first document with a character that has no id; then nothing else counts.
    pub lacking: Option<usize>,
}

impl Rows {
    /// Writes documents, whole ones.
    pub fn write(&self, documents: &Flat) -> Result<WrittenRows> {
        let mut made = WrittenRows::default();
        if let Some(number) = documents.first_with(NO_ID) {
            made.lacking = Some(number);
            return Ok(made);
        }
        let width = match self.form {
            Form::Packed16 => 2,
            Form::Packed32 => 4,
            Form::Decimal => 5,
            Form::Counted => 0,
        };
        let ids = documents.ids.len() + documents.ends.len();
        made.bytes.reserve(width * ids);
        made.ends.reserve(documents.ends.len());
        let mut count = 0;
        for ids in documents.texts() {
            count += self.one(ids, &mut made.bytes)?;
            if self.form == Form::Decimal {
                made.bytes.push(b'\n');
            }
            made.ends.push(count);
        }
        Ok(made)
    }

    /// Appends one document, without a line feed, and returns how many ids that were.
    fn one(&self, ids: &[u32], out: &mut Vec<u8>) -> Result<u64> {
        let mut joined = false;
        write(ids, self.form, &mut joined, out)?;
        if let Some(id) = self.last_id {
            write(&[id], self.form, &mut joined, out)?;
        }
        Ok(ids.len() as u64 + u64::from(self.last_id.is_some()))
    }
}

/// Appends the lines of `share`, whose ids stand in `ids` with [`LINE_END`] between: packed, as
/// documents one behind the other, whose ends go to `ends`; in decimal as they stand there.
///
/// A share ends with a line feed, or where the text does: then its last line has ended, too.
pub(super) fn write_lines(
    ids: &mut Vec<u32>,
    share: &[u8],
    rows: Rows,
    joined: &mut bool,
    out: &mut Vec<u8>,
    ends: &mut Vec<u64>,
) -> Result<Made> {
    if ids.contains(&NO_ID) {
        return Ok(lacking(ids));
    }
    let is_open = !share.ends_with(b"\n");
    if rows.form == Form::Decimal || rows.form == Form::Counted {
        if let Some(id) = rows.last_id {
            let mut more = Vec::with_capacity(ids.len() + ids.len() / 8);
            for line in ids.split_inclusive(|&id| id == LINE_END) {
                match line.split_last() {
                    Some((&LINE_END, line)) => {
                        more.extend_from_slice(line);
                        more.extend([id, LINE_END]);
                    }
                    _ => more.extend_from_slice(line),
                }
            }
            if is_open {
                more.push(id);
            }
            *ids = more;
        }
        return write(ids, rows.form, joined, out);
    }
    if is_open {
        ids.push(LINE_END);
    }
    // Others stand before those of this share, in what the caller counts.
    let mut count = ends.last().copied().unwrap_or(0);
    let first = count;
    let lines = ids.split(|&id| id == LINE_END);
    let number = ids.iter().filter(|&&id| id == LINE_END).count();
    for line in lines.take(number) {
        count += rows.one(line, out)?;
        ends.push(count);
    }
    Ok(Made::Tokens(count - first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(texts: &[&[u32]]) -> Flat {
        let mut flat = Flat::default();
        for text in texts {
            flat.ids.as_mut_vec().extend_from_slice(text);
            flat.ends.push(flat.ids.len());
        }
        flat
    }

    #[test]
    fn documents_end_where_they_end() {
        let documents = flat(&[&[1, 2], &[], &[300]]);
        let written = |form, last_id| Rows { form, last_id }.write(&documents).unwrap();
        let plain = written(Form::Packed16, None);
        assert_eq!(plain.bytes, [1, 0, 2, 0, 44, 1]);
        assert_eq!(plain.ends, [2, 2, 3]);
        let ended = written(Form::Packed16, Some(7));
        assert_eq!(ended.bytes, [1, 0, 2, 0, 7, 0, 7, 0, 44, 1, 7, 0]);
        assert_eq!(ended.ends, [3, 4, 6]);
        assert_eq!(written(Form::Decimal, None).bytes, b"1 2\n\n300\n");
        assert_eq!(written(Form::Decimal, Some(7)).bytes, b"1 2 7\n7\n300 7\n");
        assert_eq!(written(Form::Packed32, None).bytes.len(), 12);
    }

    #[test]
    fn the_document_without_an_id_is_told() {
        let documents = flat(&[&[1], &[], &[2, NO_ID], &[NO_ID]]);
        let rows = Rows {
            form: Form::Decimal,
            last_id: None,
        };
        assert_eq!(rows.write(&documents).unwrap().lacking, Some(2));
    }

    #[test]
    fn lines_are_documents_with_or_without_a_last_line_feed() {
        let lines = |ids: &[u32], share: &[u8], form, last_id| {
            let (mut out, mut ends, mut joined) = (Vec::new(), vec![10], false);
            let rows = Rows { form, last_id };
            let ids = &mut ids.to_vec();
            let made = write_lines(ids, share, rows, &mut joined, &mut out, &mut ends).unwrap();
            (made, out, ends)
        };
        let (ended, open) = ([5, LINE_END, LINE_END], [5, LINE_END, 6]);
        let (made, out, ends) = lines(&ended, b"a\n\n", Form::Packed16, None);
        assert_eq!((made, out), (Made::Tokens(1), vec![5, 0]));
        assert_eq!(ends, [10, 11, 11]);
        let (made, out, ends) = lines(&open, b"a\nb", Form::Packed16, Some(9));
        assert_eq!((made, out), (Made::Tokens(4), vec![5, 0, 9, 0, 6, 0, 9, 0]));
        assert_eq!(ends, [10, 12, 14]);
        let (made, out, ends) = lines(&open, b"a\nb", Form::Decimal, Some(9));
        assert_eq!((made, out), (Made::Tokens(4), b"5 9\n6 9".to_vec()));
        assert_eq!(ends, [10]);
        let (made, out, _) = lines(&ended, b"a\n\n", Form::Decimal, Some(9));
        assert_eq!((made, out), (Made::Tokens(3), b"5 9\n9\n".to_vec()));
        // A last line whose text makes no token.
        let (_, out, _) = lines(&[5, LINE_END], b"a\n ", Form::Decimal, Some(9));
        assert_eq!(out, b"5 9\n9");
    }
}
