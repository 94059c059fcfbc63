//! From what a file spells to tokens and merges.

use hashbrown::HashMap;

use super::sections::Sections;
use super::Strings;

/// What the rest of a document says of the lists that were taken out of it.
#[derive(Debug, Default)]
pub struct Filling<'f> {
    /// Are tokens spelled in GPT-2's stand-ins for bytes?
    pub bytes: bool,
    /// The prefix that a merge drops from its right side; empty for none.
    pub mark: &'f str,
    /// How many tokens there are, those of the vocabulary first.
    pub size: usize,
    /// The tokens that are spelled as they are, by id: those behind the vocabulary among them.
    pub apart: HashMap<u32, &'f str>,
}

/// Tokens and merges of a model, and what a training counted.
#[derive(Debug, Default)]
pub struct Stored {
    /// Markers included, by id.
    pub tokens: Strings,
    /// (left, right, token), in the order learned.
    pub merges: Vec<(u32, u32, u32)>,
    /// By id, or none at all.
    pub scores: Vec<f64>,
    /// Counts of each merge, of its left side and its right side; or none at all.
    pub counts: [Vec<u64>; 3],
    /// How often each token was counted, by id; or none at all.
    pub token_counts: Vec<u64>,
}

impl Sections {
    /// The model; None where the file has to be read in another way.
    pub fn fill(self, filling: &Filling) -> Option<Stored> {
        let tokens = self.tokens(filling)?;
        let merges = self.triples(filling.mark)?;
        let [counts, left_counts, right_counts, token_counts] =
            self.columns.map(Option::unwrap_or_default);
        // None has both, so that it does not matter which of them would count.
        let scores = match (self.scores, self.own_scores) {
            (Some(_), Some(_)) => return None,
            // Tokens behind the vocabulary have no score.
            (Some(mut scores), None) => {
                scores.resize(filling.size, 0.0);
                scores
            }
            (None, own) => own.unwrap_or_default(),
        };
        Some(Stored {
            tokens,
            merges,
            scores,
            counts: [counts, left_counts, right_counts],
            token_counts,
        })
    }

    fn tokens(&self, filling: &Filling) -> Option<Strings> {
        let own = self.spelled.len();
        if !self.spelled.are_utf8() || filling.size < own {
            return None;
        }
        let mut tokens = Strings::with_capacity(filling.size, self.spelled.total());
        for (id, spelled) in (0u32..).zip(self.spelled.iter()) {
            match filling.apart.get(&id) {
                Some(text) => tokens.push(text.as_bytes()),
                None if filling.bytes => {
                    tokens.push_with(|bytes| unspell(std::str::from_utf8(spelled).ok()?, bytes))?
                }
                None => tokens.push(spelled),
            }
        }
        for id in own..filling.size {
            let id = u32::try_from(id).ok()?;
            tokens.push(filling.apart.get(&id)?.as_bytes());
        }
        Some(tokens)
    }

    /// The merges with the tokens that they make.
    fn triples(&self, mark: &str) -> Option<Vec<(u32, u32, u32)>> {
        let pairs = self.pairs.ids.as_deref().unwrap_or_default();
        let mut triples = Vec::with_capacity(pairs.len());
        let spelled = |id: u32| self.spelled.get(id as usize);
        let mut joined = Vec::new();
        let mut next = 0;
        for &(left, right) in pairs {
            let (start, end) = (spelled(left)?, spelled(right)?);
            let end = end.strip_prefix(mark.as_bytes()).unwrap_or(end);
            // A training numbers tokens as it makes them, so that most are the next one.
            let is_next = |token: &[u8]| token.strip_prefix(start) == Some(end);
            let token = if spelled(next).is_some_and(is_next) {
                next
            } else {
                joined.clear();
                joined.extend_from_slice(start);
                joined.extend_from_slice(end);
                self.id(&joined)?
            };
            triples.push((left, right, token));
            next = token + 1;
        }
        Some(triples)
    }

    /// Are two of the merges equal?
    pub fn has_equal_merges(&self) -> bool {
        let pairs = self.pairs.ids.as_deref().unwrap_or_default();
        let mut seen = hashbrown::HashSet::with_capacity(pairs.len());
        !pairs.iter().all(|pair| seen.insert(pair))
    }
}

/// Appends the bytes that GPT-2's stand-ins (`bytes_to_unicode` in its `encoder.py`) stand for.
fn unspell(text: &str, bytes: &mut Vec<u8>) -> Option<()> {
    for character in text.chars() {
        bytes.push(byte_of(character)?);
    }
    Some(())
}

/// Printable Latin-1 stands for itself; the other bytes are U+0100 onwards, in order.
#[inline]
fn byte_of(character: char) -> Option<u8> {
    Some(match u32::from(character) {
        code @ (0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF) => code as u8,
        code @ 0x100..=0x120 => (code - 0x100) as u8,
        code @ 0x121..=0x142 => (code - 0x121 + 0x7F) as u8,
        0x143 => 0xAD,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table as GPT-2's `bytes_to_unicode` makes it.
    #[test]
    fn stand_ins_are_those_of_gpt2() {
        let mut next = 0x100;
        for byte in 0..=255u8 {
            let printable = matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
            let code = if printable { byte.into() } else { next };
            next += u32::from(!printable);
            assert_eq!(byte_of(char::from_u32(code).unwrap()), Some(byte));
        }
        assert_eq!(next, 0x144);
        let known = (0..0x3000).filter_map(char::from_u32).filter_map(byte_of);
        assert_eq!(known.count(), 256);
    }

    fn filled(text: &str, filling: &Filling) -> Option<Stored> {
        Sections::of(text.as_bytes())?.fill(filling)
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
        let sections = Sections::of(BPE.as_bytes()).unwrap();
        assert_eq!(
            std::str::from_utf8(&sections.rest).unwrap(),
            r#" {"a": [1, {"model": 2}], "model": {"type": "BPE",
        "vocab": null,
        "merges": null,
        "tokctl": {"x": "]", "counts": null, "scores": null}},
        "z": 1} "#
        );
        assert_eq!((sections.id(b"ab"), sections.id(b"ba")), (Some(2), None));
        assert!(!sections.merges_are_lines() && !sections.has_equal_merges());
        let filling = Filling {
            size: 4,
            ..Filling::default()
        };
        let stored = sections.fill(&filling).unwrap();
        assert_eq!(texts(&stored), ["a", "b", "ab", "aab"]);
        assert_eq!(stored.merges, [(0, 1, 2), (0, 2, 3)]);
        assert_eq!(stored.counts[0], [7, u64::MAX]);
        assert_eq!(stored.scores, [0.0, -1.5, 2.0, 0.5]);
    }

    #[test]
    fn tokens_apart_are_as_they_are() {
        let text = r#"{"model":{"vocab":{"Ġ":0,"é":1}}}"#;
        let apart = HashMap::from([(1, "é"), (2, "<x>")]);
        let filling = Filling {
            bytes: true,
            size: 3,
            apart,
            ..Filling::default()
        };
        let stored = filled(text, &filling).unwrap();
        let tokens: Vec<&[u8]> = stored.tokens.iter().collect();
        assert_eq!(tokens, [b" ", "é".as_bytes(), b"<x>"]);
        let hole = Filling { size: 4, ..filling };
        assert!(filled(text, &hole).is_none());
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
        assert!(filled(text, &without).is_none());
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
        let text = r#"{"model":{"vocab":{"a":0,"b":1,"ab":2},"merges":["a b","a b"]}}"#;
        let sections = Sections::of(text.as_bytes()).unwrap();
        assert!(sections.merges_are_lines() && sections.has_equal_merges());
    }

    #[test]
    fn anything_else_is_read_in_another_way() {
        let filling = Filling {
            size: 1,
            ..Filling::default()
        };
        for wrong in [
            "",
            "[]",
            "{",
            "{}",
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
            r#"{"model":{"vocab":{"a":0},"merges":[["a","a"]]}}"#,
            r#"{"model":{"vocab":{"a":0},"merges":[["a","a","a"]]}}"#,
            r#"{"model":{"vocab":{"a":0},"tokctl":{"counts":[1],"counts":[1]}}}"#,
            r#"{"model":{"vocab":{"a":0},"tokctl":{"counts":[-1]}}}"#,
            r#"{"model":{"vocab":{"a":0},"tokctl":{"scores":["1"]}}}"#,
            r#"{"model":{"vocab":[["a",1]],"tokctl":{"scores":[1]}}}"#,
            r#"{"model":{"vocab":{"a":0,}}}"#,
            r#"{"model":{"vocab":{"a" 0}}}"#,
        ] {
            assert!(filled(wrong, &filling).is_none(), "{wrong}");
        }
        let invalid = b"{\"model\":{\"vocab\":{\"\xFF\":0}}}";
        assert!(Sections::of(invalid).unwrap().fill(&filling).is_none());
    }
}
