//! A model as its file stores it: tokens and merges in a few flat arrays.
//!
//! A `tokenizer.json` (Hugging Face's, or tokctl's own) is a small description and a few lists as
//! long as the vocabulary. Only these lists are read by this module, in milliseconds; creating a
//! Python object for each token and merge takes a hundred. The caller parses the rest of the
//! document, in which `null` replaces each list, and knows its meaning.
//!
//! `Lists::scan` reads files as libraries write them: ids in order, tokens before merges, no name
//! twice. For any other form, Python builds the `Lists` and reports what is wrong.

mod json;
pub mod serde_json;

use hashbrown::{HashMap, HashSet};

use super::byte_characters::{byte_of, unspell};
use super::strings::{Index, Strings};
use json::JsonScanner;

/// Names of the columns of a merge history, under `model.tokctl`.
const COLUMNS: [&[u8]; 4] = [b"counts", b"left_counts", b"right_counts", b"token_counts"];

/// Maximum size of a document without its long lists, in bytes. A larger document has other large
/// content, and is not copied in memory.
const MOST_REST: usize = 1 << 24;

/// The long lists of a model file.
#[derive(Debug, Default)]
pub struct Lists {
    /// The scanned document, with `null` for each list that was taken out.
    pub rest: Vec<u8>,
    /// Tokens as the file spells them, by id.
    pub spelled: Strings,
    index: Index,
    /// Scores by id, if the vocabulary is a list of (piece, score).
    pub scores: Option<Vec<f64>>,
    /// Scores that serde_json reads differently: (index in `scores`, value that it reads).
    misread: Vec<(usize, f64)>,
    /// Scores stored separately from the vocabulary.
    pub own_scores: Option<Vec<f64>>,
    pub merges: MergeList,
    /// Columns `counts`, `left_counts`, `right_counts` of merges, and `token_counts`.
    pub columns: [Option<Vec<u64>>; 4],
}

/// Merges of a file, by the ids of their sides.
#[derive(Debug, Default)]
pub enum MergeList {
    #[default]
    Missing,
    /// (left id, right id) of each merge.
    Pairs(Vec<(u32, u32)>),
    /// (left id, right id, token id) of each merge.
    Triples(Vec<(u32, u32, u32)>),
}

/// Properties of the lists, from the rest of the document.
#[derive(Debug, Default)]
pub struct Filling<'f> {
    /// Whether tokens are spelled in GPT-2's stand-ins for bytes.
    pub bytes: bool,
    /// Prefix that a merge drops from its right side; empty if none.
    pub mark: &'f str,
    /// Number of tokens, including those after the end of the vocabulary.
    pub size: usize,
    /// Tokens with literal text, by id, including those after the end of the vocabulary.
    pub reserved: HashMap<u32, &'f str>,
}

/// Tokens, merges and counts of a model.
#[derive(Debug, Default)]
pub struct Stored {
    /// Texts of the tokens by id, with their markers.
    pub tokens: Strings,
    /// (left, right, token), in the order learned.
    pub merges: Vec<(u32, u32, u32)>,
    /// Scores by id, or empty.
    pub scores: Vec<f64>,
    /// Counts of each merge, of its left side and of its right side; or empty.
    pub counts: [Vec<u64>; 3],
    /// Count of each token by id, or empty.
    pub token_counts: Vec<u64>,
}

/// Reason why lists are not a valid model.
#[derive(Debug, PartialEq)]
pub enum Fault {
    /// A character of a byte-level token does not stand for a byte. Of several, the first in
    /// Unicode.
    NoByte(char),
    /// Merge number `step`, counted from 1, makes the string `spelled`, which is not a token.
    NoToken { step: usize, spelled: String },
}

impl Lists {
    /// Build from tokens by id (None if an id has no token). Of equal tokens, the last one owns the
    /// text. Return None if there are too many tokens.
    pub fn of<'t>(tokens: impl Iterator<Item = Option<&'t str>>) -> Option<Self> {
        let (mut spelled, mut holes) = (Strings::default(), HashSet::new());
        for (id, token) in (0u32..).zip(tokens) {
            spelled.push(token.unwrap_or_default().as_bytes());
            if token.is_none() {
                holes.insert(id);
            }
        }
        Some(Lists {
            index: Index::of_last(&spelled, |id| !holes.contains(&id))?,
            spelled,
            ..Lists::default()
        })
    }

    /// Return the id of a token of the vocabulary.
    pub fn id(&self, token: &[u8]) -> Option<u32> {
        self.index.find(&self.spelled, token)
    }

    /// Drop each merge that occurs again later in the list.
    pub fn drop_repeated_merges(&mut self) {
        let MergeList::Pairs(pairs) = &mut self.merges else {
            return;
        };
        let mut seen = HashSet::with_capacity(pairs.len());
        if pairs.iter().all(|&pair| seen.insert(pair)) {
            return;
        }
        seen.clear();
        pairs.reverse();
        pairs.retain(|&pair| seen.insert(pair));
        pairs.reverse();
    }

    /// Return whether the right side of every merge begins with `mark`.
    pub fn merges_go_on_with(&self, mark: &str) -> bool {
        let MergeList::Pairs(pairs) = &self.merges else {
            return true;
        };
        pairs.iter().all(|&(_, right)| {
            let right = self.spelled.get(right as usize).unwrap_or_default();
            right.starts_with(mark.as_bytes())
        })
    }

    /// Build the model, and take the lists out of `self` unless [`Fault::NoByte`] is returned.
    pub fn fill(&mut self, filling: &Filling) -> Result<Stored, Fault> {
        let tokens = self.tokens(filling)?;
        let merges = match std::mem::take(&mut self.merges) {
            MergeList::Missing => Vec::new(),
            MergeList::Pairs(ref pairs) => self.triples(pairs, filling.mark)?,
            MergeList::Triples(triples) => triples,
        };
        let [counts, left_counts, right_counts, token_counts] =
            std::mem::take(&mut self.columns).map(Option::unwrap_or_default);
        let scores = match self.scores.take() {
            Some(mut scores) => {
                // Tokens after the end of the vocabulary get the highest score, or 0 if all are
                // negative.
                let none = scores.iter().copied().fold(0.0, f64::max);
                scores.resize(filling.size, none);
                scores
            }
            None => self.own_scores.take().unwrap_or_default(),
        };
        Ok(Stored {
            tokens,
            merges,
            scores,
            counts: [counts, left_counts, right_counts],
            token_counts,
        })
    }

    fn tokens(&self, filling: &Filling) -> Result<Strings, Fault> {
        let mut tokens = Strings::with_capacity(filling.size, self.spelled.total());
        let mut strange: Option<char> = None;
        for (id, spelled) in (0u32..).zip(self.spelled.iter()) {
            match filling.reserved.get(&id) {
                Some(text) => tokens.push(text.as_bytes()),
                None if filling.bytes => {
                    let known = tokens.push_with(|bytes| unspell(spelled, bytes));
                    if known.is_none() {
                        let text = String::from_utf8_lossy(spelled);
                        let unknown = text.chars().filter(|&one| byte_of(one.into()).is_none());
                        strange = strange.into_iter().chain(unknown).min();
                    }
                }
                None => tokens.push(spelled),
            }
        }
        if let Some(character) = strange {
            return Err(Fault::NoByte(character));
        }
        for id in self.spelled.len()..filling.size {
            let text = u32::try_from(id)
                .ok()
                .and_then(|id| filling.reserved.get(&id));
            tokens.push(text.map_or(b"", |text| text.as_bytes()));
        }
        Ok(tokens)
    }

    /// Return the merges with the tokens that they make.
    fn triples(&self, pairs: &[(u32, u32)], mark: &str) -> Result<Vec<(u32, u32, u32)>, Fault> {
        let mut triples = Vec::with_capacity(pairs.len());
        let spelled = |id: u32| self.spelled.get(id as usize).unwrap_or_default();
        let mut joined = Vec::new();
        let mut next = 0;
        for &(left, right) in pairs {
            let (start, end) = (spelled(left), spelled(right));
            let end = end.strip_prefix(mark.as_bytes()).unwrap_or(end);
            // Training numbers tokens as it makes them, so a merge usually makes the next token.
            let token = if spelled(next).strip_prefix(start) == Some(end) {
                next
            } else {
                joined.clear();
                joined.extend_from_slice(start);
                joined.extend_from_slice(end);
                self.id(&joined).ok_or_else(|| Fault::NoToken {
                    step: triples.len() + 1,
                    spelled: String::from_utf8_lossy(&joined).into_owned(),
                })?
            };
            triples.push((left, right, token));
            next = token + 1;
        }
        Ok(triples)
    }
}

// -- scanning ---------------------------------------------------------------------------

/// Reader that copies a document to its rest, without the lists taken out.
struct ListReader<'j> {
    text: &'j [u8],
    /// Start of the text that is not copied to the rest yet.
    kept: usize,
    found: Lists,
}

impl Lists {
    /// Take the lists out of a file. Return None for invalid JSON, and for JSON in an unusual form.
    pub fn scan(text: &[u8]) -> Option<Self> {
        let mut reader = ListReader {
            text,
            kept: 0,
            found: Lists::default(),
        };
        let mut scanner = JsonScanner::new(text);
        let mut seen = false;
        reader.object(&mut scanner, |reader, scanner, name| {
            if name != b"model" {
                return scanner.skip();
            }
            once(&mut seen)?;
            reader.model(scanner)
        })?;
        scanner.skip_space();
        let ListReader {
            kept, mut found, ..
        } = reader;
        let last = &text[kept..];
        let whole = scanner.place() == text.len() && found.rest.len() + last.len() <= MOST_REST;
        if !whole || !found.spelled.are_utf8() {
            return None;
        }
        found.rest.extend_from_slice(last);
        Some(found)
    }
}

impl Lists {
    /// Replace the vocabulary's scores by the values that serde_json reads.
    pub fn take_scores_of_serde_json(&mut self) {
        let scores = self.scores.as_deref_mut().unwrap_or_default();
        for (place, score) in self.misread.drain(..) {
            scores[place] = score;
        }
    }
}

fn once(seen: &mut bool) -> Option<()> {
    (!std::mem::replace(seen, true)).then_some(())
}

impl<'j> ListReader<'j> {
    /// Call `member` with the name of each member of an object, at the start of its value.
    fn object(
        &mut self,
        scanner: &mut JsonScanner<'j>,
        mut member: impl FnMut(&mut Self, &mut JsonScanner<'j>, &[u8]) -> Option<()>,
    ) -> Option<()> {
        let mut scratch = Vec::new();
        scanner.members(b'{', b'}', |scanner| {
            let name = scanner.string(&mut scratch)?;
            scanner.expect(b':')?;
            member(self, scanner, name)
        })
    }

    fn model(&mut self, scanner: &mut JsonScanner<'j>) -> Option<()> {
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

    fn own(&mut self, scanner: &mut JsonScanner<'j>) -> Option<()> {
        self.object(scanner, |reader, scanner, name| {
            if let Some(column) = COLUMNS.iter().position(|&column| column == name) {
                return reader.take_out(scanner, |reader, scanner| {
                    let numbers = list(scanner, JsonScanner::whole)?;
                    reader.found.columns[column]
                        .replace(numbers)
                        .is_none()
                        .then_some(())
                });
            }
            match name {
                b"merges" => reader.take_out(scanner, Self::merges),
                b"scores" => reader.take_out(scanner, |reader, scanner| {
                    let scores = list(scanner, |scanner| Some(scanner.number()?.0))?;
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

    /// Copy the text before the current value and `null` to the rest, and let `read` consume the
    /// value.
    fn take_out(
        &mut self,
        scanner: &mut JsonScanner<'j>,
        read: impl FnOnce(&mut Self, &mut JsonScanner<'j>) -> Option<()>,
    ) -> Option<()> {
        let before = &self.text[self.kept..scanner.place()];
        self.found.rest.extend_from_slice(before);
        self.found.rest.extend_from_slice(b"null");
        read(self, scanner)?;
        self.kept = scanner.place();
        Some(())
    }

    /// Read an object of tokens with the ids 0, 1, 2, …, or a list of tokens with their scores.
    fn vocabulary(&mut self, scanner: &mut JsonScanner<'j>) -> Option<()> {
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
            let (mut scores, misread) = (Vec::new(), &mut self.found.misread);
            scanner.members(b'[', b']', |scanner| {
                scanner.expect(b'[')?;
                spelled.push(scanner.string(&mut scratch)?);
                scanner.expect(b',')?;
                let (score, text) = scanner.number()?;
                let read = serde_json::read(text)?;
                if read.to_bits() != score.to_bits() {
                    misread.push((scores.len(), read));
                }
                scores.push(score);
                scanner.expect(b']')
            })?;
            self.found.scores = Some(scores);
        }
        self.found.index = Index::of(&self.found.spelled)?;
        Some(())
    }

    /// Read a list of merges. The vocabulary must come earlier and contain both sides of every
    /// merge.
    fn merges(&mut self, scanner: &mut JsonScanner<'j>) -> Option<()> {
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
        // A document must not have two lists of merges.
        let MergeList::Missing = found.merges else {
            return None;
        };
        found.merges = MergeList::Pairs(pairs);
        Some(())
    }
}

/// Read a list of numbers.
fn list<'j, T>(
    scanner: &mut JsonScanner<'j>,
    mut number: impl FnMut(&mut JsonScanner<'j>) -> Option<T>,
) -> Option<Vec<T>> {
    let mut found = Vec::new();
    scanner.members(b'[', b']', |scanner| {
        found.push(number(scanner)?);
        Some(())
    })?;
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str, filling: &Filling) -> Result<Stored, Fault> {
        Lists::scan(text.as_bytes()).unwrap().fill(filling)
    }

    fn texts(stored: &Stored) -> Vec<&str> {
        let texts = stored.tokens.iter();
        texts
            .map(|text| std::str::from_utf8(text).unwrap())
            .collect()
    }

    const BPE: &str = r#" {"a": [1, {"model": 2}], "model": {"type": "BPE",
        "vocab": {"a": 0, "\u0062": 1, "ab": 2, "aab": 3},
        "merges": [["a", "b"], ["a","ab"]],
        "tokctl": {"x": "]", "counts": [7, 18446744073709551615], "scores": [0, -1.5, 2e0, 0.5]}},
        "z": 1} "#;

    #[test]
    fn lists_are_taken_out() {
        let mut lists = Lists::scan(BPE.as_bytes()).unwrap();
        assert_eq!(
            std::str::from_utf8(&lists.rest).unwrap(),
            r#" {"a": [1, {"model": 2}], "model": {"type": "BPE",
        "vocab": null,
        "merges": null,
        "tokctl": {"x": "]", "counts": null, "scores": null}},
        "z": 1} "#
        );
        assert_eq!((lists.id(b"ab"), lists.id(b"ba")), (Some(2), None));
        let filling = Filling {
            size: 4,
            ..Filling::default()
        };
        let stored = lists.fill(&filling).unwrap();
        assert_eq!(texts(&stored), ["a", "b", "ab", "aab"]);
        assert_eq!(stored.merges, [(0, 1, 2), (0, 2, 3)]);
        assert_eq!(stored.counts[0], [7, u64::MAX]);
        assert_eq!(stored.scores, [0.0, -1.5, 2.0, 0.5]);
    }

    #[test]
    fn lists_of_tokens_may_have_holes_and_repeat() {
        let mut lists = Lists::of([Some("a"), None, Some("b"), Some("a")].into_iter()).unwrap();
        let ids = [b"a", b"b", &b""[..]].map(|token| lists.id(token));
        assert_eq!(ids, [Some(3), Some(2), None]);
        lists.merges = MergeList::Triples(vec![(0, 2, 0)]);
        let filling = Filling {
            size: 5,
            reserved: HashMap::from([(1, "<x>")]),
            ..Filling::default()
        };
        let stored = lists.fill(&filling).unwrap();
        assert_eq!(texts(&stored), ["a", "<x>", "b", "a", ""]);
        assert_eq!(stored.merges, [(0, 2, 0)]);
    }

    #[test]
    fn reserved_tokens_are_as_they_are() {
        let text = r#"{"model":{"vocab":{"Ġ":0,"é":1}}}"#;
        let reserved = HashMap::from([(1, "é"), (2, "<x>")]);
        let filling = Filling {
            bytes: true,
            size: 3,
            reserved,
            ..Filling::default()
        };
        let stored = filled(text, &filling).unwrap();
        let tokens: Vec<&[u8]> = stored.tokens.iter().collect();
        assert_eq!(tokens, [b" ", "é".as_bytes(), b"<x>"]);
        let strange = r#"{"model":{"vocab":{"Ġ世 ":0,"é":1}}}"#;
        let unknown = filled(strange, &filling).unwrap_err();
        assert_eq!(unknown, Fault::NoByte(' '));
    }

    #[test]
    fn a_mark_is_dropped_from_the_right() {
        let text = r###"{"model":{"vocab":{"##b":0,"a":1,"##a":2,"aa":3,"ab":4},
            "tokctl":{"merges":[["a","##b"],["a","##a"]]}}}"###;
        let filling = Filling {
            mark: "##",
            size: 5,
            ..Filling::default()
        };
        assert_eq!(
            filled(text, &filling).unwrap().merges,
            [(1, 0, 4), (1, 2, 3)]
        );
        let without = Filling {
            size: 5,
            ..Filling::default()
        };
        let fault = Fault::NoToken {
            step: 1,
            spelled: "a##b".into(),
        };
        assert_eq!(filled(text, &without).unwrap_err(), fault);
    }

    #[test]
    fn pieces_have_scores_and_older_merges_are_lines() {
        let text = r#"{"model":{"vocab":[["<unk>",0],["▁a",-2.5]]}}"#;
        let filling = Filling {
            size: 2,
            ..Filling::default()
        };
        let stored = filled(text, &filling).unwrap();
        assert_eq!(
            (texts(&stored), &stored.scores[..]),
            (vec!["<unk>", "▁a"], &[0.0, -2.5][..])
        );
        let text = r#"{"model":{"vocab":{"a":0,"b":1,"ab":2},"merges":["a b","b a","a b"]}}"#;
        let mut lists = Lists::scan(text.as_bytes()).unwrap();
        assert!(lists.merges_go_on_with("") && !lists.merges_go_on_with("b"));
        lists.drop_repeated_merges();
        assert!(matches!(lists.merges, MergeList::Pairs(pairs) if pairs == [(1, 0), (0, 1)]));
    }

    #[test]
    fn anything_else_is_not_scanned() {
        for wrong in [
            "",
            "[]",
            "{",
            r#"{"model":1}"#,
            r#"{"model":{}}"#,
            r#"{"model":{"vocab":{"a":1}}}"#,
            r#"{"model":{"vocab":{"a":0.0}}}"#,
            r#"{"model":{"vocab":{"a":0,"a":1}}}"#,
            r#"{"model":{"vocab":["a"]}}"#,
            r#"{"model":{"vocab":{"a":0}}}{}"#,
            r#"{"model":{"vocab":{"a":0},"vocab":{"a":0}}}"#,
            r#"{"model":{"vocab":[["a"]]}}"#,
            r#"{"model":{"vocab":{"a":0}},"model":{"vocab":{"a":0}}}"#,
            r#"{"model":{"vocab":{"a":0},"merges":[["a","b"]]}}"#,
            r#"{"model":{"merges":[["a","a"]],"vocab":{"a":0}}}"#,
            r#"{"model":{"vocab":{"a":0},"merges":[],"tokctl":{"merges":[]}}}"#,
            r#"{"model":{"vocab":{"a":0},"merges":["a  a"]}}"#,
            r#"{"model":{"vocab":{"a":0},"merges":["a"]}}"#,
            r#"{"model":{"vocab":{"a":0},"merges":[["a","a","a"]]}}"#,
            r#"{"model":{"vocab":{"a":0},"tokctl":{"counts":[1],"counts":[1]}}}"#,
            r#"{"model":{"vocab":{"a":0},"tokctl":{"counts":[-1]}}}"#,
            r#"{"model":{"vocab":{"a":0},"tokctl":{"scores":["1"]}}}"#,
            r#"{"model":{"vocab":{"a":0,}}}"#,
            r#"{"model":{"vocab":{"a" 0}}}"#,
        ] {
            assert!(Lists::scan(wrong.as_bytes()).is_none(), "{wrong}");
        }
        let invalid = b"{\"model\":{\"vocab\":{\"\xFF\":0}}}";
        assert!(Lists::scan(invalid).is_none());
    }
}
