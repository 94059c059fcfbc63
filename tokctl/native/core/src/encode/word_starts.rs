//! Cut points inside a pre-token that holds many words marked with `▁`.
//!
//! SentencePiece models take a whole sentence as one pre-token, yet few of their tokens cross from
//! one word into the next: `▁` mostly occurs at the start of a token, or after another `▁`. If no
//! merge joins a `▁` to another character before it, the text on either side of that point never
//! merges. Words can then be segmented one by one, and cached.

use memchr::memchr;

/// The character that stands for a space, U+2581, in UTF-8.
pub(crate) const MARK: &[u8] = "\u{2581}".as_bytes();
/// The code point of [`MARK`].
pub(crate) const MARK_CHARACTER: u32 = 0x2581;

/// Return whether BPE can cut pre-tokens before every `▁` that follows another character.
///
/// `tokens` are all ordinary tokens with their ids; no unknown character is among them. `merges`
/// are (left, right, token) ids; `None` means that any two neighbours whose text together is a
/// token merge.
pub fn can_cut<T: AsRef<[u8]>>(tokens: &[(T, u32)], merges: Option<&[(u32, u32, u32)]>) -> bool {
    // Without a token of its own, `▁` would be unknown, and could fuse with an unknown character
    // before it.
    if !tokens.iter().any(|(text, _)| text.as_ref() == MARK) {
        return false;
    }
    let Some(merges) = merges else {
        return tokens
            .iter()
            .all(|(text, _)| WordStarts::of(text.as_ref()).next().is_none());
    };
    let mut texts: Vec<Option<&[u8]>> = Vec::new();
    for (text, id) in tokens {
        let id = *id as usize;
        if id >= texts.len() {
            texts.resize(id + 1, None);
        }
        texts[id] = Some(text.as_ref());
    }
    let text = |id: u32| texts.get(id as usize).copied().flatten();
    merges.iter().all(|&(left, right, token)| {
        // A token whose text is not left + right could stand for any text.
        let (Some(left), Some(right), Some(token)) = (text(left), text(right), text(token)) else {
            return false;
        };
        let spelled = token.strip_prefix(left) == Some(right);
        spelled && (!right.starts_with(MARK) || left.ends_with(MARK))
    })
}

/// Iterator over the byte offsets of a pre-token where a `▁` follows another character.
pub struct WordStarts<'t> {
    text: &'t [u8],
    /// Offset up to which `text` has been searched.
    at: usize,
    /// Offset after the last `▁` found.
    end: usize,
}

impl<'t> WordStarts<'t> {
    pub fn of(text: &'t [u8]) -> Self {
        WordStarts {
            text,
            at: 0,
            end: 0,
        }
    }

    /// Call `part` with every part between two cuts, in order, until a call fails.
    pub fn parts<E>(self, mut part: impl FnMut(&'t [u8]) -> Result<(), E>) -> Result<(), E> {
        let text = self.text;
        let mut start = 0;
        for cut in self {
            part(&text[start..cut])?;
            start = cut;
        }
        part(&text[start..])
    }
}

impl Iterator for WordStarts<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        loop {
            // Words are short: setting up a search for all three bytes would cost more than it
            // saves.
            let rest = self.text.get(self.at..)?;
            let at = self.at + memchr(MARK[0], rest)?;
            self.at = at + 1;
            if !self.text[at..].starts_with(MARK) {
                continue;
            }
            self.at = at + MARK.len();
            let follows = at > self.end;
            self.end = self.at;
            if follows {
                return Some(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_behind_marks_are_no_cuts() {
        for (text, parts) in [
            ("", vec![""]),
            ("a", vec!["a"]),
            ("▁▁a▁b▁", vec!["▁▁a", "▁b", "▁"]),
            ("a▁▁▁b", vec!["a", "▁▁▁b"]),
        ] {
            let mut found = Vec::new();
            let part = |part: &[u8]| {
                found.push(String::from_utf8_lossy(part).into_owned());
                Ok::<(), ()>(())
            };
            WordStarts::of(text.as_bytes()).parts(part).unwrap();
            assert_eq!(found, parts, "{text}");
        }
    }

    fn tokens(texts: &[&str]) -> Vec<(Vec<u8>, u32)> {
        (0..)
            .zip(texts)
            .map(|(id, text)| (text.as_bytes().to_vec(), id))
            .collect()
    }

    #[test]
    fn tokens_and_merges_that_join_words_forbid_cuts() {
        let plain = tokens(&["▁", "a", "▁a", "▁▁", "▁▁a"]);
        assert!(can_cut(&plain, None));
        assert!(can_cut(
            &plain,
            Some(&[(0, 1, 2), (0, 0, 3), (3, 1, 4), (0, 2, 4)])
        ));
        assert!(!can_cut(&plain[1..], None), "the mark may be unknown");
        let joined = tokens(&["▁", "a", "▁a", "a▁", "a▁a"]);
        assert!(!can_cut(&joined, None));
        assert!(!can_cut(&joined, Some(&[(1, 0, 3)])));
        assert!(can_cut(&joined, Some(&[(0, 1, 2)])), "nothing makes them");
        assert!(
            !can_cut(&joined, Some(&[(1, 1, 2)])),
            "not spelled as its sides"
        );
        assert!(!can_cut(&joined, Some(&[(9, 1, 2)])), "no ordinary token");
    }
}
