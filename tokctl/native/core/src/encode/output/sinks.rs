//! Sinks for ids: decimal text, packed numbers, names of tokens, arrays.

use std::sync::Arc;

use super::decimal::append_lines;
use super::names::TokenNames;
use crate::encode::lookup::LINE_END;
use crate::encode::parallel::does_not_fit;
use crate::encode::{IdNumber, RaggedIds};
use crate::error::{Error, Result};
use crate::model::NO_ID;

/// A destination for the ids of documents, filled share by share.
pub trait Sink: Clone + Send + Sync {
    /// Make an empty sink for a share of the text that another thread encodes.
    fn for_share(&self) -> Self;

    /// Append the ids of `share`, in which [`LINE_END`] marks the end of a line.
    ///
    /// A share of lines ends with a line feed, or at the end of the text; then its last line has
    /// ended, too. The sink may change `ids`, which must not be used afterwards.
    fn push(&mut self, ids: &mut Vec<u32>, share: &[u8]) -> Result<Pushed>;

    /// Append the contents of a sink made by [`Self::for_share`].
    fn append(&mut self, share: Self);

    /// Note that the text ends.
    ///
    /// Another one may begin.
    fn end_text(&mut self) -> Result<()>;
}

/// The result of pushing ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
/// Every id was taken.
pub enum Pushed {
    All,
    /// A token has no id; this many lines end before it.
    MissingId(u64),
}

/// Ids as an array, document by document.
#[derive(Debug, Clone)]
pub struct IdSink<N> {
    /// Whether each line is a document.
    lines: bool,
    /// Id that follows the ids of each document.
    separator: Option<u32>,
    ids: Vec<N>,
    /// For each document that has ended: where its ids end.
    ends: Vec<usize>,
}

impl<N: IdNumber> IdSink<N> {
    pub fn new(lines: bool, separator: Option<u32>) -> Self {
        IdSink {
            lines,
            separator,
            ids: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Take documents that are already encoded.
    pub fn add(&mut self, mut documents: RaggedIds<N>) -> Result<()> {
        if self.ids.capacity() == 0 && self.ends.is_empty() && documents.ends.len() == 1 {
            // The ids of one long text are moved, not copied.
            self.ids = std::mem::take(documents.ids.as_mut_vec());
            return self.end_document();
        }
        for ids in documents.texts() {
            self.ids.extend_from_slice(ids);
            self.end_document()?;
        }
        Ok(())
    }

    fn end_document(&mut self) -> Result<()> {
        if let Some(id) = self.separator {
            self.append_ids(&[id])?;
        }
        self.ends.push(self.ids.len());
        Ok(())
    }

    fn append_ids(&mut self, ids: &[u32]) -> Result<()> {
        N::append(ids, &mut self.ids).map_err(|place| does_not_fit(ids[place], self.ends.len()))
    }

    /// Return the number of documents that have ended.
    pub fn documents(&self) -> usize {
        self.ends.len()
    }

    /// Take the ids of the documents that have ended.
    pub fn take(&mut self) -> RaggedIds<N> {
        let ends = std::mem::take(&mut self.ends);
        let rest = self.ids.split_off(ends.last().copied().unwrap_or_default());
        let mut ids = std::mem::replace(&mut self.ids, rest);
        if ids.capacity() / 2 > ids.len() {
            ids.shrink_to_fit();
        }
        RaggedIds {
            ids: ids.into(),
            ends,
        }
    }
}

impl<N: IdNumber> Sink for IdSink<N> {
    fn for_share(&self) -> Self {
        IdSink::new(self.lines, self.separator)
    }

    fn push(&mut self, ids: &mut Vec<u32>, share: &[u8]) -> Result<Pushed> {
        if ids.contains(&NO_ID) {
            return Ok(missing_id(ids));
        }
        if self.lines {
            for line in lines(ids, share) {
                self.append_ids(line)?;
                self.end_document()?;
            }
        } else {
            self.append_ids(ids)?;
        }
        Ok(Pushed::All)
    }

    fn append(&mut self, share: Self) {
        let before = self.ids.len();
        self.ids.extend_from_slice(&share.ids);
        self.ends.extend(share.ends.iter().map(|end| before + end));
    }

    fn end_text(&mut self) -> Result<()> {
        if !self.lines {
            self.end_document()?;
        }
        Ok(())
    }
}

/// How ids are written.
#[derive(Clone)]
pub enum Form {
    /// Decimal numbers separated by spaces; a line feed where a line ends.
    Decimal,
    /// Little-endian numbers of 16 bits.
    Packed16,
    /// Little-endian numbers of 32 bits.
    Packed32,
    /// No output: ids are only counted.
    Counted,
    /// Names of tokens; a line feed where a line ends.
    Named(Arc<TokenNames>),
}

/// Ids as bytes.
#[derive(Clone)]
pub struct ByteSink {
    form: Form,
    lines: bool,
    /// Id that follows the ids of each document.
    last_id: Option<u32>,
    /// Whether an id precedes the next one in its line, so that a separator is needed.
    joined: bool,
    /// The ids of a text that becomes one JSON object.
    collected: Vec<u32>,
    /// The bytes written.
    pub bytes: Vec<u8>,
    /// Number of ids in `bytes`, including `last_id`.
    pub tokens: u64,
    /// Number of ids up to the end of each document.
    ///
    /// Lines count as documents in packed forms and by name.
    pub ends: Vec<u64>,
}

impl ByteSink {
    /// Make an empty sink.
    ///
    /// With `lines`, each line of a text is a document; `last_id` follows the ids of each document.
    pub fn new(form: Form, lines: bool, last_id: Option<u32>) -> Self {
        ByteSink {
            form,
            lines,
            last_id,
            joined: false,
            collected: Vec::new(),
            bytes: Vec::new(),
            tokens: 0,
            ends: Vec::new(),
        }
    }

    /// Forget the bytes written, and keep the memory for later ones.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.tokens = 0;
        self.ends.clear();
    }

    /// Append whole documents, each as a line if the form has line feeds.
    ///
    /// Returns the index of the first document with a character that has no id; then nothing is
    /// appended.
    pub fn push_documents(&mut self, documents: &RaggedIds) -> Result<Option<usize>> {
        if let Some(number) = documents.first_with(NO_ID) {
            return Ok(Some(number));
        }
        let width = match self.form {
            Form::Packed16 => 2,
            Form::Packed32 => 4,
            Form::Decimal => 5,
            Form::Named(_) => 8,
            Form::Counted => 0,
        };
        let ids = documents.ids.len() + documents.ends.len();
        self.bytes.reserve(width * ids);
        self.ends.reserve(documents.ends.len());
        for ids in documents.texts() {
            self.push_document(ids)?;
            if self.has_line_feeds() {
                self.bytes.push(b'\n');
            }
        }
        Ok(None)
    }

    /// Return whether the form has a line feed where a line ends.
    fn has_line_feeds(&self) -> bool {
        matches!(self.form, Form::Decimal | Form::Named(_))
    }

    /// Append one document, without a line feed.
    fn push_document(&mut self, ids: &[u32]) -> Result<()> {
        self.joined = false;
        self.write(ids)?;
        self.end_document()?;
        self.ends.push(self.tokens);
        Ok(())
    }

    /// Append the rest of a document after its ids.
    fn end_document(&mut self) -> Result<()> {
        if let Some(id) = self.last_id {
            self.write(&[id])?;
        }
        if let Form::Named(names) = &self.form {
            if names.is_json() {
                names.append_object(&self.collected, &mut self.bytes)?;
                self.tokens += self.collected.len() as u64;
                self.collected.clear();
            }
        }
        Ok(())
    }

    /// Append ids.
    ///
    /// In decimal, a space precedes each id except the first of a line or of the text.
    fn write(&mut self, ids: &[u32]) -> Result<Pushed> {
        if let Form::Decimal = self.form {
            let joined = &mut self.joined;
            let Some(tokens) = append_lines(ids, b' ', joined, &mut self.bytes) else {
                return Ok(missing_id(ids));
            };
            self.tokens += tokens;
            return Ok(Pushed::All);
        }
        let highest = ids.iter().fold(0, |all, &id| all | id);
        // NO_ID has all bits set.
        if highest == NO_ID && ids.contains(&NO_ID) {
            return Ok(missing_id(ids));
        }
        let bytes = &mut self.bytes;
        let first = bytes.len();
        match self.form {
            Form::Packed16 => {
                if highest > u16::MAX.into() {
                    let id = ids.iter().find(|&&id| id > u16::MAX.into());
                    let id = id.copied().unwrap_or_default();
                    return Err(Error::TooLarge(format!("id {id} does not fit 16 bits")));
                }
                bytes.resize(first + 2 * ids.len(), 0);
                for (to, &id) in bytes[first..].chunks_exact_mut(2).zip(ids) {
                    to.copy_from_slice(&(id as u16).to_le_bytes());
                }
            }
            Form::Packed32 => {
                bytes.resize(first + 4 * ids.len(), 0);
                for (to, &id) in bytes[first..].chunks_exact_mut(4).zip(ids) {
                    to.copy_from_slice(&id.to_le_bytes());
                }
            }
            Form::Named(ref names) if names.is_json() => {
                // Tokens are counted when the object is written.
                self.collected.extend_from_slice(ids);
                return Ok(Pushed::All);
            }
            Form::Named(ref names) if !ids.is_empty() => {
                if self.joined {
                    bytes.push(b' ');
                }
                names.append(ids, bytes)?;
                // Drop the space after the last name.
                bytes.pop();
                self.joined = true;
            }
            Form::Named(_) | Form::Decimal | Form::Counted => {}
        }
        let ends = match self.form {
            Form::Counted => ids.iter().filter(|&&id| id == LINE_END).count(),
            _ => 0,
        };
        self.tokens += (ids.len() - ends) as u64;
        Ok(Pushed::All)
    }
}

impl Sink for ByteSink {
    fn for_share(&self) -> Self {
        let mut sink = ByteSink::new(self.form.clone(), self.lines, self.last_id);
        // A share of lines begins with a line; any other share continues the previous one.
        sink.joined = !self.lines;
        sink
    }

    fn push(&mut self, ids: &mut Vec<u32>, share: &[u8]) -> Result<Pushed> {
        let line_by_line = !matches!(self.form, Form::Decimal | Form::Counted);
        if !self.lines || !line_by_line && self.last_id.is_none() {
            return self.write(ids);
        }
        if ids.contains(&NO_ID) {
            return Ok(missing_id(ids));
        }
        if line_by_line {
            let has_line_feeds = self.has_line_feeds();
            for line in lines(ids, share) {
                self.push_document(line)?;
                if has_line_feeds {
                    self.bytes.push(b'\n');
                }
            }
            if has_line_feeds && !share.ends_with(b"\n") {
                self.bytes.pop();
            }
            return Ok(Pushed::All);
        }
        let mut ended = Vec::with_capacity(ids.len() + ids.len() / 8);
        for line in lines(ids, share) {
            ended.extend_from_slice(line);
            ended.extend(self.last_id);
            ended.push(LINE_END);
        }
        if !share.ends_with(b"\n") {
            ended.pop();
        }
        self.write(&ended)
    }

    fn append(&mut self, share: Self) {
        let ends = share.ends.iter().map(|end| self.tokens + end);
        self.ends.extend(ends);
        self.tokens += share.tokens;
        self.collected.extend_from_slice(&share.collected);
        if let [first, ..] = share.bytes[..] {
            let is_first = self.has_line_feeds() && !self.lines && !self.joined && first == b' ';
            self.bytes
                .extend_from_slice(&share.bytes[usize::from(is_first)..]);
            self.joined = share.joined;
        }
    }

    fn end_text(&mut self) -> Result<()> {
        if !self.lines {
            self.end_document()?;
        }
        self.joined = false;
        Ok(())
    }
}

/// Iterate over the ids of each line of a share; a last line without a line feed counts.
fn lines<'i>(ids: &'i mut Vec<u32>, share: &[u8]) -> impl Iterator<Item = &'i [u32]> {
    if !share.ends_with(b"\n") {
        ids.push(LINE_END);
    }
    let lines = ids.split_inclusive(|&id| id == LINE_END);
    lines.map(|line| &line[..line.len() - 1])
}

/// Report the first [`NO_ID`] by the number of lines that end before it.
fn missing_id(ids: &[u32]) -> Pushed {
    let before = ids.iter().take_while(|&&id| id != NO_ID);
    Pushed::MissingId(before.filter(|&&id| id == LINE_END).count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(ids: &[u32], share: &[u8], sink: ByteSink) -> (Result<Pushed>, ByteSink) {
        let mut sink = sink;
        (sink.push(&mut ids.to_vec(), share), sink)
    }

    fn written(ids: &[u32], form: Form) -> (Result<Pushed>, Vec<u8>) {
        let (result, sink) = pushed(ids, b"", ByteSink::new(form, false, None));
        (result, sink.bytes)
    }

    #[test]
    fn spaces_stand_between_the_ids_of_a_line() {
        let ids = [LINE_END, 7, 0, LINE_END, LINE_END, 123_456_789, 3];
        let (result, text) = written(&ids, Form::Decimal);
        assert_eq!(
            (result, &text[..]),
            (Ok(Pushed::All), &b"\n7 0\n\n123456789 3"[..])
        );
        for form in [Form::Decimal, Form::Counted] {
            let (result, sink) = pushed(&ids, b"", ByteSink::new(form, false, None));
            assert_eq!((result, sink.tokens), (Ok(Pushed::All), 4));
        }
        let mut many: Vec<u32> = (0..3000).map(|id| id * 1_431_655).collect();
        let expected: Vec<String> = many.iter().map(u32::to_string).collect();
        assert_eq!(
            written(&many, Form::Decimal).1,
            expected.join(" ").as_bytes()
        );
        many.push(NO_ID);
        assert_eq!(written(&many, Form::Decimal).0, Ok(Pushed::MissingId(0)));
    }

    #[test]
    fn an_id_that_does_not_fit_is_an_error() {
        assert_eq!(written(&[1, 65_535], Form::Packed16).1, [1, 0, 255, 255]);
        assert!(written(&[1, 65_536], Form::Packed16).0.is_err());
        assert_eq!(written(&[65_536], Form::Packed32).1, [0, 0, 1, 0]);
        for form in [Form::Decimal, Form::Packed16, Form::Packed32, Form::Counted] {
            let result = written(&[1, LINE_END, NO_ID, LINE_END], form).0;
            assert_eq!(result, Ok(Pushed::MissingId(1)));
        }
        // All bits together equal NO_ID, which does not occur.
        assert_eq!(
            written(&[u32::MAX - 2, 3], Form::Packed32).0,
            Ok(Pushed::All)
        );
    }

    fn ragged(texts: &[&[u32]]) -> RaggedIds {
        let mut ragged = RaggedIds::default();
        for text in texts {
            ragged.ids.as_mut_vec().extend_from_slice(text);
            ragged.ends.push(ragged.ids.len());
        }
        ragged
    }

    #[test]
    fn documents_end_where_they_end() {
        let documents = ragged(&[&[1, 2], &[], &[300]]);
        let written = |form, last_id| {
            let mut sink = ByteSink::new(form, false, last_id);
            assert_eq!(sink.push_documents(&documents), Ok(None));
            sink
        };
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
    fn names_go_on_from_share_to_share() {
        let sink = |json, lines| {
            let quoted = ["\"a\"", "\"b\""];
            let plain = ["a", "b"];
            let names = TokenNames::new(if json { quoted } else { plain }, json);
            ByteSink::new(Form::Named(Arc::new(names)), lines, Some(1))
        };
        let mut of_text = sink(false, false);
        for ids in [&[][..], &[0], &[0, 1]] {
            let mut share = of_text.for_share();
            assert_eq!(share.push(&mut ids.to_vec(), b""), Ok(Pushed::All));
            of_text.append(share);
        }
        of_text.end_text().unwrap();
        assert_eq!((&of_text.bytes[..], of_text.tokens), (&b"a a b b"[..], 4));
        let mut of_text = sink(true, false);
        for ids in [&[][..], &[0]] {
            let mut share = of_text.for_share();
            assert_eq!(share.push(&mut ids.to_vec(), b""), Ok(Pushed::All));
            of_text.append(share);
        }
        // An object is written and counted when it is complete.
        assert_eq!((of_text.bytes.len(), of_text.tokens), (0, 0));
        of_text.end_text().unwrap();
        let object = br#"{"ids":[0,1],"tokens":["a","b"]}"#;
        assert_eq!((&of_text.bytes[..], of_text.tokens), (&object[..], 2));
        let mut of_lines = sink(false, true);
        let mut ids = vec![0, LINE_END, LINE_END, 0];
        assert_eq!(of_lines.push(&mut ids, b"a\n\na"), Ok(Pushed::All));
        assert_eq!(of_lines.bytes, b"a b\nb\na b");
        assert_eq!(of_lines.ends, [2, 3, 5]);
        let missing = of_lines.push(&mut vec![0, LINE_END, NO_ID], b"a\nx");
        assert_eq!(missing, Ok(Pushed::MissingId(1)));
    }

    #[test]
    fn the_first_document_without_an_id_is_named() {
        let documents = ragged(&[&[1], &[], &[2, NO_ID], &[NO_ID]]);
        let mut sink = ByteSink::new(Form::Decimal, false, None);
        assert_eq!(sink.push_documents(&documents), Ok(Some(2)));
    }

    #[test]
    fn lines_are_documents_with_or_without_a_last_line_feed() {
        let lines = |ids: &[u32], share: &[u8], form: Form, last_id| {
            let mut sink = ByteSink::new(form.clone(), true, last_id);
            sink.tokens = 10;
            let (result, sink) = pushed(ids, share, sink);
            assert_eq!(result, Ok(Pushed::All));
            let mut array = IdSink::<u32>::new(true, last_id);
            assert_eq!(array.push(&mut ids.to_vec(), share), Ok(Pushed::All));
            if matches!(form, Form::Packed16) {
                let array = array.take();
                let ends: Vec<u64> = array.ends.iter().map(|&end| 10 + end as u64).collect();
                let bytes: Vec<u8> = array.ids.iter().flat_map(|&id| [id as u8, 0]).collect();
                assert_eq!((bytes, ends), (sink.bytes.clone(), sink.ends.clone()));
            }
            (sink.tokens - 10, sink.bytes, sink.ends)
        };
        let (ended, open) = ([5, LINE_END, LINE_END], [5, LINE_END, 6]);
        let (tokens, out, ends) = lines(&ended, b"a\n\n", Form::Packed16, None);
        assert_eq!((tokens, out, ends), (1, vec![5, 0], vec![11, 11]));
        let (tokens, out, ends) = lines(&open, b"a\nb", Form::Packed16, Some(9));
        assert_eq!((tokens, out), (4, vec![5, 0, 9, 0, 6, 0, 9, 0]));
        assert_eq!(ends, [12, 14]);
        let (tokens, out, ends) = lines(&open, b"a\nb", Form::Decimal, Some(9));
        assert_eq!((tokens, out, ends), (4, b"5 9\n6 9".to_vec(), vec![]));
        let (tokens, out, _) = lines(&ended, b"a\n\n", Form::Decimal, Some(9));
        assert_eq!((tokens, out), (3, b"5 9\n9\n".to_vec()));
        // A last line whose text makes no token.
        let (_, out, _) = lines(&[5, LINE_END], b"a\n ", Form::Decimal, Some(9));
        assert_eq!(out, b"5 9\n9");
    }
}
