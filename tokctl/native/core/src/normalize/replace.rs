//! Replacement of the matches of a literal or a pattern.

use super::aligned::TextSink;
use crate::error::Result;
use crate::pattern::Search;

/// Replace every match by `content`, leftmost first and without overlap.
///
/// The new text takes the source span of the match's last byte. An empty text has no matches, as in
/// Hugging Face's `Replace`.
pub(super) fn run(
    search: &Search,
    content: &str,
    text: &[u8],
    sink: &mut impl TextSink,
) -> Result<()> {
    let mut kept = 0;
    let mut replace = |start: usize, end: usize, sink: &mut _| {
        swap(text, (kept, start, end), content, sink)?;
        kept = end;
        Ok(())
    };
    match search {
        _ if text.is_empty() => {}
        Search::Literal(literal) if literal.is_empty() => {
            let mut at = 0;
            while at < text.len() {
                replace(at, at, sink)?;
                at += crate::unicode::decode(text, at).map_or(1, |(_, length)| length);
            }
            replace(at, at, sink)?;
        }
        Search::Literal(literal) => {
            for at in memchr::memmem::find_iter(text, literal) {
                replace(at, at + literal.len(), sink)?;
            }
        }
        Search::Pattern(pattern) => {
            for (start, end) in pattern.matches(text)? {
                replace(start, end, sink)?;
            }
        }
    }
    sink.keep(&text[kept..]);
    Ok(())
}

fn swap(
    text: &[u8],
    (kept, start, end): (usize, usize, usize),
    content: &str,
    sink: &mut impl TextSink,
) -> Result<()> {
    sink.keep(&text[kept..start]);
    sink.skip(end - start);
    sink.reserve(content.len())?;
    for character in content.chars() {
        sink.put(character, 1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::normalize::aligned::TextOnly;
    use crate::pattern::Pattern;

    #[derive(Debug)]
    struct Fixed(Vec<(usize, usize)>);

    impl Pattern for Fixed {
        fn find(&self, _: &[u8]) -> Result<Vec<(usize, usize)>> {
            Ok(self.0.clone())
        }
    }

    fn replaced(matches: &[(usize, usize)], text: &str) -> Vec<u8> {
        let search = Search::Pattern(Arc::new(Fixed(matches.to_vec())));
        let mut sink = TextOnly::new(text.as_bytes(), 100);
        run(&search, "x", text.as_bytes(), &mut sink).expect("this pattern does not fail");
        sink.finish().expect("it is short").into_owned()
    }

    #[test]
    fn matches_are_replaced() {
        assert_eq!(replaced(&[(0, 1), (2, 2), (3, 3)], "abc"), b"xbxcx");
        assert_eq!(replaced(&[(0, 1), (1, 2)], "abc"), b"xxc");
        assert_eq!(replaced(&[(0, 0)], ""), b"");
    }
}
