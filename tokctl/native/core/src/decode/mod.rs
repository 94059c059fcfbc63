//! From ids back to text.

mod lines;

use crate::error::{Error, Result};
use crate::model::Marker;

/// Turns ids into bytes; what the marker shows becomes spaces again.
pub struct Decoder {
    marker: Marker,
    tokens: Vec<Vec<u8>>,
    special: Vec<bool>,
}

impl Decoder {
    /// `tokens` in id order; `special` tells which of them are special tokens.
    pub fn new(marker: Marker, tokens: Vec<Vec<u8>>, special: Vec<bool>) -> Self {
        Decoder {
            marker,
            tokens,
            special,
        }
    }

    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<Vec<u8>> {
        let mut words = Words::new(&self.marker);
        for (position, &id) in (0u64..).zip(ids) {
            let token = self
                .tokens
                .get(id as usize)
                .ok_or(Error::UnknownId { position, id })?;
            if !(skip_special && self.special[id as usize]) {
                words.push(token);
            }
        }
        Ok(words.text)
    }

    /// Decodes token strings, which need not be in the vocabulary.
    pub fn decode_tokens<'t>(&self, tokens: impl Iterator<Item = &'t [u8]>) -> Vec<u8> {
        let mut words = Words::new(&self.marker);
        tokens.for_each(|token| words.push(token));
        words.text
    }
}

/// Joins tokens to words, and words with spaces.
struct Words<'m> {
    marker: &'m Marker,
    text: Vec<u8>,
    started: bool,
    /// A word has ended: a space is due before the next token.
    ended: bool,
}

impl<'m> Words<'m> {
    fn new(marker: &'m Marker) -> Self {
        Words {
            marker,
            text: Vec::new(),
            started: false,
            ended: false,
        }
    }

    fn push(&mut self, token: &[u8]) {
        if std::mem::take(&mut self.ended) {
            self.text.push(b' ');
        }
        let mut rest = token;
        match self.marker {
            Marker::None => {}
            Marker::End(mark) | Marker::EndFused(mark) => {
                if let Some(stripped) = token.strip_suffix(mark.as_bytes()) {
                    rest = stripped;
                    self.ended = true;
                }
            }
            Marker::Start(mark) => {
                if let Some(stripped) = token.strip_prefix(mark.as_bytes()) {
                    rest = stripped;
                    if self.started {
                        self.text.push(b' ');
                    }
                }
            }
            Marker::Continuation(mark) => {
                if self.started {
                    match token.strip_prefix(mark.as_bytes()) {
                        Some(stripped) => rest = stripped,
                        None => self.text.push(b' '),
                    }
                }
            }
        }
        self.text.extend_from_slice(rest);
        self.started = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(kind: &str, mark: &str, tokens: &[&str]) -> String {
        let marker = Marker::new(kind, mark).unwrap();
        let decoder = Decoder::new(marker, Vec::new(), Vec::new());
        let bytes = decoder.decode_tokens(tokens.iter().map(|token| token.as_bytes()));
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn each_marker_gives_the_spaces_back() {
        assert_eq!(decoded("none", "", &["a", " b", "c"]), "a bc");
        assert_eq!(
            decoded("end", "_", &["new", "e", "r", "_", "low_"]),
            "newer low"
        );
        assert_eq!(
            decoded("end-fused", "</w>", &["lo", "w</w>", "er</w>"]),
            "low er"
        );
        assert_eq!(decoded("start", "Ġ", &["Ġ", "lo", "w", "Ġer"]), "low er");
        assert_eq!(
            decoded("continuation", "##", &["lo", "##w", "er"]),
            "low er"
        );
        assert_eq!(decoded("continuation", "##", &["##w", "er"]), "##w er");
    }

    #[test]
    fn an_id_outside_the_vocabulary_is_an_error() {
        let decoder = Decoder::new(Marker::None, vec![b"a".to_vec()], vec![false]);
        assert_eq!(decoder.decode(&[0, 0], false), Ok(b"aa".to_vec()));
        let error = Err(Error::UnknownId { position: 1, id: 7 });
        assert_eq!(decoder.decode(&[0, 7], false), error);
    }
}
