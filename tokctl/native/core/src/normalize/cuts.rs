//! Where a text may be cut so that its parts can be normalized apart.
//!
//! A cut is made before a U+0020 or a line feed that follows a letter, a number or
//! punctuation. Each normalizer needs something of the cut and leaves something of it to
//! the next one; what is not known to hold is taken not to.

use super::Normalizer;
use crate::pattern::Search;

/// What is known of the text on both sides of a cut.
#[derive(Clone, Copy)]
struct Cut {
    left: Left,
    /// The right part begins with a U+0020 or a line feed, or it is empty.
    right: bool,
}

/// How the left part ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Left {
    Unknown,
    /// With a character that is no white space.
    Solid,
    /// With a letter, a number or punctuation.
    Word,
}

pub(super) fn before_space(normalizers: &[Normalizer]) -> bool {
    let mut cut = Cut {
        left: Left::Word,
        right: true,
    };
    normalizers.iter().all(|normalizer| {
        let allowed = allows(normalizer, cut);
        cut = after(normalizer, cut);
        allowed
    })
}

/// Does normalizing the parts give what normalizing the whole does?
fn allows(normalizer: &Normalizer, cut: Cut) -> bool {
    match normalizer {
        // One character at a time.
        Normalizer::DeleteNewlines
        | Normalizer::Lowercase
        | Normalizer::StripAccents
        | Normalizer::Nmt => true,
        // A space and a line feed are starters that nothing is put together with.
        Normalizer::Nfc | Normalizer::Nfd | Normalizer::Nfkc | Normalizer::Nfkd => cut.right,
        Normalizer::Bert { strip_accents, .. } => cut.right || !strip_accents,
        // A grapheme ends before a space, and before a line feed but after a return.
        Normalizer::CharsMap(map) => {
            cut.right && cut.left >= Left::Solid && map.cuts_before_space()
        }
        // The ends that stay must not come to stand at a cut.
        Normalizer::CollapseSpaces
        | Normalizer::Strip { .. }
        | Normalizer::StripSpaces { .. }
        | Normalizer::Prepend(_)
        | Normalizer::DummySpace { behind: false } => cut.left >= Left::Solid,
        // The last part may be nothing but spaces, and the text not.
        Normalizer::DummySpace { behind: true } => false,
        Normalizer::Replace { pattern, .. } => match pattern {
            Search::Literal(literal) => cut.right && !reaches_over_a_space(literal),
            Search::Pattern(_) => false,
        },
    }
}

/// An empty literal is found on both sides of a cut.
fn reaches_over_a_space(literal: &str) -> bool {
    let behind_the_first = literal.chars().skip(1);
    literal.is_empty() || behind_the_first.into_iter().any(|c| c == ' ' || c == '\n')
}

/// What is known of the cut when the normalizer has done its work.
fn after(normalizer: &Normalizer, cut: Cut) -> Cut {
    // A letter, number or punctuation becomes something that does not end in white
    // space, and not nothing. (Tested for every code point.)
    let from_a_word = match cut.left {
        Left::Word => Left::Solid,
        _ => Left::Unknown,
    };
    let solid = cut.left.min(Left::Solid);
    match normalizer {
        Normalizer::DeleteNewlines => Cut {
            left: cut.left,
            right: false,
        },
        Normalizer::Nfc
        | Normalizer::Nfd
        | Normalizer::Nfkc
        | Normalizer::Nfkd
        | Normalizer::Lowercase => Cut { left: solid, ..cut },
        Normalizer::StripAccents | Normalizer::Nmt => Cut {
            left: from_a_word,
            ..cut
        },
        &Normalizer::Bert { cjk_spacing, .. } => Cut {
            left: match cjk_spacing {
                true => Left::Unknown,
                false => from_a_word,
            },
            ..cut
        },
        Normalizer::CharsMap(map) if map.is_builtin() => Cut {
            left: from_a_word,
            ..cut
        },
        Normalizer::CharsMap(_) => Cut {
            left: Left::Unknown,
            right: false,
        },
        Normalizer::CollapseSpaces
        | Normalizer::Strip { .. }
        | Normalizer::StripSpaces { .. }
        | Normalizer::Prepend(_)
        | Normalizer::DummySpace { .. } => Cut { left: solid, ..cut },
        Normalizer::Replace { pattern, content } => match pattern {
            Search::Literal(literal) => after_literal(literal, content, cut),
            Search::Pattern(_) => Cut {
                left: Left::Unknown,
                right: false,
            },
        },
    }
}

fn after_literal(literal: &str, content: &str, cut: Cut) -> Cut {
    let is_solid = |text: &str| text.chars().next_back().is_some_and(|c| !c.is_whitespace());
    Cut {
        left: match is_solid(content) {
            true => cut.left.min(Left::Solid),
            false => Left::Unknown,
        },
        right: cut.right && !literal.starts_with([' ', '\n']),
    }
}
