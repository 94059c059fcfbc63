//! The long lists of a model file, taken out of its JSON.
//!
//! A `tokenizer.json` (Hugging Face's, or tokctl's own) is a small description and a few
//! lists as long as the vocabulary. Only these are read here; what is left, `null` in their
//! places, is small, and read by whoever knows what it means. JSON that differs in the least
//! from what these lists hold, or a name that is there twice, is not read here.

use super::scanner::Scanner;
use super::{Index, Strings};

/// Names of the columns that a merge history has, under `model.tokctl`.
const COLUMNS: [&[u8]; 4] = [b"counts", b"left_counts", b"right_counts", b"token_counts"];

/// Bytes without the long lists; a document that has more keeps something else in it, and is
/// not held in memory twice.
const MOST_REST: usize = 1 << 24;

/// What a file holds many of.
#[derive(Debug, Default)]
pub struct Sections {
    /// The document, with `null` for each list that was taken out.
    pub rest: Vec<u8>,
    /// The tokens as they are spelled, by id.
    pub spelled: Strings,
    pub(super) index: Index,
    /// By id, where the vocabulary is a list of pieces with their scores.
    pub scores: Option<Vec<f64>>,
    /// The scores that stand beside the vocabulary.
    pub own_scores: Option<Vec<f64>>,
    pub(super) pairs: Pairs,
    /// `counts`, `left_counts`, `right_counts` of merges; `token_counts`.
    pub columns: [Option<Vec<u64>>; 4],
}

/// The two sides of each merge.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pub ids: Option<Vec<(u32, u32)>>,
    /// Were they texts with a space between the sides?
    pub are_lines: bool,
}

/// Reads a document from its start, and keeps what is not taken out.
struct Reader<'j> {
    text: &'j [u8],
    /// Where what has not been kept yet begins.
    kept: usize,
    found: Sections,
}

impl Sections {
    /// None where the file has to be read in another way.
    pub fn of(text: &[u8]) -> Option<Self> {
        let mut reader = Reader {
            text,
            kept: 0,
            found: Sections::default(),
        };
        let mut scanner = Scanner::new(text);
        let mut seen = false;
        reader.object(&mut scanner, |reader, scanner, name| {
            if name != b"model" {
                return scanner.skip();
            }
            once(&mut seen)?;
            reader.model(scanner)
        })?;
        scanner.skip_space();
        let Reader {
            kept, mut found, ..
        } = reader;
        let last = &text[kept..];
        if scanner.place() < text.len() || found.rest.len() + last.len() > MOST_REST {
            return None;
        }
        found.rest.extend_from_slice(last);
        Some(found)
    }

    /// The id of a token of the vocabulary.
    pub fn id(&self, token: &[u8]) -> Option<u32> {
        self.index.find(&self.spelled, token)
    }

    /// Are the merges texts with a space between the two sides?
    pub fn merges_are_lines(&self) -> bool {
        self.pairs.are_lines
    }
}

fn once(seen: &mut bool) -> Option<()> {
    (!std::mem::replace(seen, true)).then_some(())
}

impl<'j> Reader<'j> {
    /// Calls `member` with the name of each member of an object, where its value starts.
    fn object(
        &mut self,
        scanner: &mut Scanner<'j>,
        mut member: impl FnMut(&mut Self, &mut Scanner<'j>, &[u8]) -> Option<()>,
    ) -> Option<()> {
        let mut scratch = Vec::new();
        scanner.members(b'{', b'}', |scanner| {
            let name = scanner.string(&mut scratch)?;
            scanner.expect(b':')?;
            member(self, scanner, name)
        })
    }

    fn model(&mut self, scanner: &mut Scanner<'j>) -> Option<()> {
        let (mut vocabulary, mut merges, mut own) = (false, false, false);
        self.object(scanner, |reader, scanner, name| match name {
            b"vocab" => {
                once(&mut vocabulary)?;
                reader.take_out(scanner, Self::vocabulary)
            }
            b"merges" => {
                once(&mut merges)?;
                reader.take_out(scanner, Self::merges)
            }
            b"tokctl" => {
                once(&mut own)?;
                reader.own(scanner)
            }
            _ => scanner.skip(),
        })?;
        vocabulary.then_some(())
    }

    fn own(&mut self, scanner: &mut Scanner<'j>) -> Option<()> {
        self.object(scanner, |reader, scanner, name| {
            if let Some(column) = COLUMNS.iter().position(|&column| column == name) {
                return reader.take_out(scanner, |reader, scanner| {
                    let numbers = list(scanner, Scanner::whole)?;
                    reader.found.columns[column]
                        .replace(numbers)
                        .is_none()
                        .then_some(())
                });
            }
            match name {
                b"merges" => reader.take_out(scanner, Self::merges),
                b"scores" => reader.take_out(scanner, |reader, scanner| {
                    let scores = list(scanner, Scanner::number)?;
                    reader
                        .found
                        .own_scores
                        .replace(scores)
                        .is_none()
                        .then_some(())
                }),
                _ => scanner.skip(),
            }
        })
    }

    /// Keeps what came before, and `null` for what `read` goes past.
    fn take_out(
        &mut self,
        scanner: &mut Scanner<'j>,
        read: impl FnOnce(&mut Self, &mut Scanner<'j>) -> Option<()>,
    ) -> Option<()> {
        let before = &self.text[self.kept..scanner.place()];
        self.found.rest.extend_from_slice(before);
        self.found.rest.extend_from_slice(b"null");
        read(self, scanner)?;
        self.kept = scanner.place();
        Some(())
    }

    /// An object of tokens with their ids 0, 1, 2, …, or a list of tokens with their scores.
    fn vocabulary(&mut self, scanner: &mut Scanner<'j>) -> Option<()> {
        let mut scratch = Vec::new();
        let spelled = &mut self.found.spelled;
        if scanner.peek() == Some(b'{') {
            scanner.members(b'{', b'}', |scanner| {
                let id = spelled.len() as u64;
                spelled.push(scanner.string(&mut scratch)?);
                scanner.expect(b':')?;
                (scanner.whole()? == id).then_some(())
            })?;
        } else {
            let mut scores = Vec::new();
            scanner.members(b'[', b']', |scanner| {
                scanner.expect(b'[')?;
                spelled.push(scanner.string(&mut scratch)?);
                scanner.expect(b',')?;
                scores.push(scanner.number()?);
                scanner.expect(b']')
            })?;
            self.found.scores = Some(scores);
        }
        self.found.index = Index::of(&self.found.spelled)?;
        Some(())
    }

    /// Merges of tokens that the vocabulary, which has to come first, holds.
    fn merges(&mut self, scanner: &mut Scanner<'j>) -> Option<()> {
        let found = &mut self.found;
        let (strings, index) = (&found.spelled, &found.index);
        let id = |token: &[u8]| index.find(strings, token);
        let mut pairs = Vec::with_capacity(strings.len());
        let (mut scratch, mut lines) = (Vec::new(), 0);
        scanner.members(b'[', b']', |scanner| {
            if scanner.peek() == Some(b'"') {
                let line = scanner.string(&mut scratch)?;
                let space = line.iter().position(|&byte| byte == b' ')?;
                let (left, right) = (&line[..space], &line[space + 1..]);
                if right.contains(&b' ') || line.starts_with(b"#version") {
                    return None;
                }
                pairs.push((id(left)?, id(right)?));
                lines += 1;
                return Some(());
            }
            scanner.expect(b'[')?;
            let left = id(scanner.string(&mut scratch)?)?;
            scanner.expect(b',')?;
            let right = id(scanner.string(&mut scratch)?)?;
            pairs.push((left, right));
            scanner.expect(b']')
        })?;
        if lines > 0 && lines < pairs.len() {
            return None;
        }
        found.pairs.are_lines = lines > 0;
        // Two lists of merges are one too many.
        found.pairs.ids.replace(pairs).is_none().then_some(())
    }
}

/// The numbers of a list.
fn list<'j, T>(
    scanner: &mut Scanner<'j>,
    mut number: impl FnMut(&mut Scanner<'j>) -> Option<T>,
) -> Option<Vec<T>> {
    let mut found = Vec::new();
    scanner.members(b'[', b']', |scanner| {
        found.push(number(scanner)?);
        Some(())
    })?;
    Some(found)
}
