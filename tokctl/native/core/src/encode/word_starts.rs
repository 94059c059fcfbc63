//! Where a long pre-token may be segmented part by part.
//!
//! Models in SentencePiece's way take a whole sentence for one pre-token, yet their tokens
//! seldom join two words: `▁` stands at a token's start, or behind another one. Where no merge
//! can join `▁` to something else before it, what lies on its two sides never meets, so that
//! words can be segmented one by one, and cached.

use memchr::memchr;

/// What stands for a space.
pub(crate) const MARK: &[u8] = "\u{2581}".as_bytes();
pub(crate) const MARK_CHARACTER: u32 = 0x2581;

/// May pre-tokens be cut before every mark that follows something else, for merging by rank?
///
/// `tokens` are all ordinary ones, and every unknown character is none of them. `merges` are
/// (left, right, token); None: any two neighbours that spell a token merge.
pub fn can_cut<T: AsRef<[u8]>>(tokens: &[(T, u32)], merges: Option<&[(u32, u32, u32)]>) -> bool {
    // A mark without an id would be unknown, and could be one with what is unknown before it.
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
        // A token that is not spelled as its sides could stand for any text.
        let (Some(left), Some(right), Some(token)) = (text(left), text(right), text(token)) else {
            return false;
        };
        let spelled = token.strip_prefix(left) == Some(right);
        spelled && (!right.starts_with(MARK) || left.ends_with(MARK))
    })
}

/// The places of a pre-token where a mark follows something else.
pub struct WordStarts<'t> {
    text: &'t [u8],
    /// Up to here it was looked through.
    at: usize,
    /// Where the last mark ended.
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

    /// Calls `part(start, end)` for every part, in order, until one fails.
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
            // Words are short: a search for three bytes would take longer to begin.
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
