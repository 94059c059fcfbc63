//! Normalizers: what happens to a text before it is split.

use std::borrow::Cow;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalizer {
    /// Deletes every line feed and carriage return and puts nothing in their place,
    /// as the notebooks do after reading with universal newlines.
    DeleteNewlines,
}

impl Normalizer {
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "delete-newlines" => Some(Normalizer::DeleteNewlines),
            _ => None,
        }
    }

    /// The normalized text. Normalizing block by block gives the same as at once.
    pub fn apply<'t>(self, text: &'t [u8]) -> Cow<'t, [u8]> {
        match self {
            Normalizer::DeleteNewlines => {
                if memchr::memchr2(b'\n', b'\r', text).is_none() {
                    return Cow::Borrowed(text);
                }
                Cow::Owned(text.iter().copied().filter(|b| !is_newline(*b)).collect())
            }
        }
    }

    /// For every byte of the normalized text, where it stood in the original; one
    /// more entry for the end. None where nothing moved.
    pub fn origins(self, text: &[u8]) -> Option<Vec<usize>> {
        match self {
            Normalizer::DeleteNewlines => {
                memchr::memchr2(b'\n', b'\r', text)?;
                let kept = (0..text.len()).filter(|&at| !is_newline(text[at]));
                Some(kept.chain([text.len()]).collect())
            }
        }
    }
}

fn is_newline(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newlines_go_and_origins_point_at_what_stays() {
        let normalizer = Normalizer::DeleteNewlines;
        let text = b"a\r\nb\nc";
        assert_eq!(&*normalizer.apply(text), b"abc");
        assert_eq!(normalizer.origins(text), Some(vec![0, 3, 5, 6]));
        assert!(matches!(normalizer.apply(b"abc"), Cow::Borrowed(_)));
        assert_eq!(normalizer.origins(b"abc"), None);
    }
}
