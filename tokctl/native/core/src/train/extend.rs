//! Continuation of training from an existing model.

use hashbrown::HashSet;

use super::corpus::Corpus;
use super::pairs::Pairs;
use super::Progress;
use crate::error::{Error, Result};
use crate::model::{Marker, Units, Vocabulary};

/// Model to extend: its tokens keep their ids, and its merges come first.
#[derive(Debug, Clone, Default)]
pub struct Extend {
    /// Tokens by id.
    pub tokens: Vec<Vec<u8>>,
    /// (left id, right id, token id), in the order learned.
    pub merges: Vec<(u32, u32, u32)>,
}

impl Extend {
    /// Return the model's vocabulary, or an error if two tokens are equal or a merge has an unknown
    /// id.
    pub fn vocabulary(&self) -> Result<Vocabulary> {
        let mut vocabulary = Vocabulary::default();
        for (id, token) in self.tokens.iter().enumerate() {
            if vocabulary.intern(token) as usize != id {
                return Err(Error::Invalid(format!(
                    "two tokens of the model to extend are spelled {:?}",
                    String::from_utf8_lossy(token)
                )));
            }
        }
        let size = self.tokens.len();
        let outside = |&&(left, right, token): &&(u32, u32, u32)| {
            [left, right, token].iter().any(|&id| id as usize >= size)
        };
        match self.merges.iter().find(outside) {
            Some(_) => Err(Error::Invalid(
                "a merge of the model to extend names an id that it lacks".into(),
            )),
            None => Ok(vocabulary),
        }
    }

    /// Give each token that is not an initial symbol the length that its first merge gave it.
    pub fn set_lengths(&self, (marker, units): (&Marker, Units), pairs: &mut Pairs) {
        let mut made = HashSet::new();
        for &(left, right, token) in &self.merges {
            let string = &self.tokens[token as usize];
            if !is_initial(string, marker, units) && made.insert(token) {
                pairs.set_length(left, right, token);
            }
        }
    }

    /// Bring the corpus to the state in which the model's training stopped: apply every merge in
    /// the order learned, as training applied it.
    pub fn replay(
        &self,
        form: (&Marker, Units),
        corpus: &mut Corpus,
        pairs: &mut Pairs,
        progress: Progress,
    ) -> Result<()> {
        self.set_lengths(form, pairs);
        for &(left, right, token) in &self.merges {
            if !progress(0) {
                return Err(Error::Interrupted);
            }
            if let Some(pair) = pairs.id(left, right) {
                pairs.merge(pair, token, corpus, progress)?;
            }
        }
        Ok(())
    }
}

/// Return whether the token has the form of an initial symbol. Encoding treats every such token as
/// one.
fn is_initial(token: &[u8], marker: &Marker, units: Units) -> bool {
    if units == Units::Bytes {
        return token.len() == 1;
    }
    let one = |text: &[u8]| std::str::from_utf8(text).is_ok_and(|text| text.chars().count() == 1);
    let own_marker = match marker {
        Marker::Start(mark) | Marker::End(mark) => token == mark.as_bytes(),
        _ => false,
    };
    let carried = matches!(marker, Marker::Continuation(_) | Marker::EndFused(_));
    one(token) || own_marker || (carried && one(marker.strip(token)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tests/exact/test_symbols.py` checks the same cases against the symbols that encoding starts
    /// from.
    #[test]
    fn initial_symbols_of_every_marker() {
        let cases: [(&str, &str, &[&str], &[&str]); 8] = [
            ("none", "", &["a", "字"], &["ab", "字字", "##"]),
            // A marker that is a symbol of its own merges like any other character.
            ("start", "Ġ", &["a", "Ġ"], &["Ġa", "aĠ", "ĠĠ"]),
            ("end", "_", &["a", "_"], &["a_", "_a", "__"]),
            ("start", "<w>", &["a", "<w>", "<"], &["<w>a", "<w", "a<w>"]),
            ("end", "</w>", &["a", "</w>"], &["a</w>", "</w>a"]),
            // A fused marker is part of a symbol, and never a symbol by itself.
            (
                "end-fused",
                "</w>",
                &["a", "a</w>", "字</w>"],
                &["</w>", "ab</w>", "</w>a"],
            ),
            (
                "continuation",
                "##",
                &["a", "##a", "###"],
                &["##", "##ab", "a##"],
            ),
            (
                "continuation",
                "#",
                &["a", "#", "#a", "##"],
                &["###", "#ab", "a#"],
            ),
        ];
        for (kind, text, initial, others) in cases {
            let marker = Marker::new(kind, text).unwrap();
            let is = |token: &str| is_initial(token.as_bytes(), &marker, Units::Characters);
            for token in initial {
                assert!(is(token), "{kind} {text}: {token}");
            }
            for token in others {
                assert!(!is(token), "{kind} {text}: {token}");
            }
        }
        assert!(is_initial(b"\xFF", &Marker::None, Units::Bytes));
        assert!(!is_initial("é".as_bytes(), &Marker::None, Units::Bytes));
    }
}
