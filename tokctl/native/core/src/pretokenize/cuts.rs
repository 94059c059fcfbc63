//! Offsets where a text can be cut without changing its pre-tokens.
//!
//! A cut is before an ASCII space, tab or line break, or after a line feed. The bytes around a cut
//! alone decide whether it is allowed, so cuts do not affect one another.

use std::ops::Range;

use super::behaviour::Behaviour;
use super::characters::script_of;
use super::rewrite::Rewrite;
use super::scanner::Scanner;
use super::sequence::{PreTokenizer, Step};
use crate::unicode::{
    decode_before, scripts, well_formed, Classes, Scripts, LETTER, NUMBER, PUNCTUATION, SPACE,
};

/// Effect of a cut on the pieces of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CutEffect {
    /// No effect: the parts have the pieces of the whole.
    Same,
    /// At most, the piece that the cut runs through becomes two.
    Parts,
    /// Any other effect.
    Changes,
}

impl CutEffect {
    fn same_if(condition: bool, otherwise: CutEffect) -> CutEffect {
        if condition {
            CutEffect::Same
        } else {
            otherwise
        }
    }
}

/// Return the effect of a cut at `at`, which is before a blank or after a line feed.
fn scanner_cut(scanner: &Scanner, text: &[u8], at: usize) -> CutEffect {
    let byte = text[at];
    let before = Classes::get().before(text, at);
    match scanner {
        Scanner::None | Scanner::DigitCuts(_) => CutEffect::Parts,
        // These scanners join no word to the text after it. In a run of spaces, where GPT-2's
        // pattern looks ahead, no cut is allowed.
        Scanner::Whitespace
        | Scanner::WhitespacePunctuation
        | Scanner::Bert
        | Scanner::Gpt2Words
        | Scanner::Gpt2
        | Scanner::Gpt2Runs => CutEffect::same_if(before & SPACE == 0, CutEffect::Changes),
        // In these patterns, punctuation includes the line breaks after it.
        Scanner::Cl100k
        | Scanner::Llama3
        | Scanner::Qwen2
        | Scanner::O200k
        | Scanner::DeepseekV3 => {
            let after_word = before & (LETTER | NUMBER) != 0;
            let blank = matches!(byte, b' ' | b'\t') && before & SPACE == 0;
            CutEffect::same_if(after_word || blank, CutEffect::Changes)
        }
        // Like the patterns above, but words lie between the matches.
        Scanner::SuperBpe => {
            let after_word = before & (LETTER | NUMBER) != 0;
            match after_word {
                true => CutEffect::Parts,
                false => CutEffect::Changes,
            }
        }
        Scanner::Punctuation(behaviour) => {
            let ends_here = before & PUNCTUATION != 0 && *behaviour != Behaviour::MergedWithNext;
            CutEffect::same_if(ends_here, CutEffect::Parts)
        }
        Scanner::Digits { .. } | Scanner::DigitGroups(_) => {
            CutEffect::same_if(before & NUMBER != 0, CutEffect::Parts)
        }
        Scanner::Split(split) => match split.plain_literal() {
            Some(b" ") => {
                let starts = byte == b' ' && text[at - 1] != b' ';
                let joins = split.behaviour == Behaviour::MergedWithPrevious;
                CutEffect::same_if(starts && !joins, CutEffect::Changes)
            }
            // A line feed ends the piece that it is merged with, or starts it.
            Some(b"\n") => {
                let splits = match split.behaviour {
                    Behaviour::MergedWithNext => byte == b'\n',
                    Behaviour::Contiguous => false,
                    _ => text[at - 1] == b'\n',
                };
                CutEffect::same_if(splits, CutEffect::Parts)
            }
            Some(literal) if !literal.is_empty() && !literal.iter().any(is_blank) => {
                CutEffect::Parts
            }
            _ => CutEffect::Changes,
        },
        // A space at the start is dropped; a line break has the script Common.
        Scanner::Scripts if byte == b' ' => CutEffect::Changes,
        Scanner::Scripts => {
            let table = Scripts::get();
            let script = decode_before(text, at).map(|(code, _)| script_of(table, code));
            let other = script.is_some_and(|s| s != scripts::COMMON && s != scripts::UNKNOWN);
            CutEffect::same_if(other, CutEffect::Parts)
        }
        Scanner::Fixed(most) => CutEffect::same_if(most.get() == 1, CutEffect::Changes),
        // A cluster ends after any ASCII character (except CR before LF).
        Scanner::Graphemes => {
            let ends = text[at - 1].is_ascii() && text[at - 1] != b'\r';
            CutEffect::same_if(ends, CutEffect::Parts)
        }
        // The rules look for U+0020 after a word, and for the end of the text.
        Scanner::PennTreebank => {
            let ends = byte == b' ' && before & (LETTER | NUMBER) != 0;
            CutEffect::same_if(ends, CutEffect::Changes)
        }
    }
}

/// Return the effect of a cut at the start of a line, before a character that is not blank.
fn line_cut(step: &Step, text: &[u8], at: usize) -> CutEffect {
    match (&step.rewrite, &step.scanner) {
        (
            None,
            Scanner::None
            | Scanner::Digits { .. }
            | Scanner::DigitGroups(_)
            | Scanner::DigitCuts(_),
        ) => CutEffect::Parts,
        (None, Scanner::Split(split)) if split.plain_literal() == Some(b"\n") => {
            scanner_cut(&step.scanner, text, at)
        }
        _ => CutEffect::Changes,
    }
}

fn step_cut(step: &Step, text: &[u8], at: usize) -> CutEffect {
    // Nothing is put in front of a piece that starts with a space.
    let space = text[at] == b' ';
    match (&step.rewrite, &step.scanner) {
        (None, scanner) => scanner_cut(scanner, text, at),
        (Some(Rewrite::PrefixSpace), scanner) if space => scanner_cut(scanner, text, at),
        (Some(Rewrite::Metaspace { replacement, .. }), Scanner::Split(split)) if space => {
            let literal = split.plain_literal() == Some(replacement.as_bytes());
            let starts = literal && split.behaviour == Behaviour::MergedWithNext;
            CutEffect::same_if(starts, CutEffect::Changes)
        }
        _ => CutEffect::Changes,
    }
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}

/// Return whether `text` may be cut at `at`.
///
/// Each step splits every piece of the step before on its own. So if the pieces of one step do not
/// change, the pieces of later steps do not either. An earlier step does no harm if it only parts a
/// piece in two where the later step parts it anyway.
fn is_cut(pre_tokenizer: &PreTokenizer, text: &[u8], at: usize) -> bool {
    if at == 0
        || !(is_blank(&text[at]) || text[at - 1] == b'\n')
        || pre_tokenizer.has_runs() && !ends_run(pre_tokenizer, text, at)
    {
        return false;
    }
    let effect = match is_blank(&text[at]) {
        true => step_cut,
        false => line_cut,
    };
    for step in pre_tokenizer.steps() {
        match effect(step, text, at) {
            CutEffect::Same => return true,
            CutEffect::Parts => {}
            CutEffect::Changes => return false,
        }
    }
    false
}

/// Return whether a pre-token is a word, which can be part of a superword.
///
/// A word is well-formed text with a letter (`\p{L}`) and without a line break.
pub fn is_word(pre_token: &[u8]) -> bool {
    let classes = Classes::get();
    let mut has_letter = false;
    let mut at = 0;
    while at < pre_token.len() {
        let (class, length) = classes.at(pre_token, at);
        if matches!(pre_token[at], b'\n' | b'\r') {
            return false;
        }
        has_letter |= class & LETTER != 0;
        at += length;
    }
    has_letter && well_formed(pre_token).is_some()
}

/// Return whether the pre-token before a cut, or the one after it, is not a word.
///
/// A pre-token that starts with a line break is not a word. Some scanners keep letters apart from
/// digits and from the punctuation after them: their pre-tokens that end in ASCII digits or
/// punctuation have no letter.
fn ends_run(pre_tokenizer: &PreTokenizer, text: &[u8], at: usize) -> bool {
    let keeps_letters_apart = matches!(
        pre_tokenizer.steps().last().map(|step| &step.scanner),
        Some(
            Scanner::Gpt2
                | Scanner::Gpt2Runs
                | Scanner::Cl100k
                | Scanner::Llama3
                | Scanner::Qwen2
                | Scanner::O200k
                | Scanner::DeepseekV3
        )
    );
    let before = text[at - 1];
    matches!(text[at], b'\n' | b'\r')
        || keeps_letters_apart && (before.is_ascii_punctuation() || before.is_ascii_digit())
}

impl PreTokenizer {
    /// Return whether any text can be cut without changing its pre-tokens.
    ///
    /// (A part other than the first is not at the start of the document: see [`Self::run`].)
    pub fn cuts_before_space(&self) -> bool {
        // The rules look only at the byte at the cut and the kind of character before it.
        let before = [b'a', b'1', b'!', b'\n'];
        let after = [b' ', b'\n', b'\t', b'\r', b'a'];
        before
            .iter()
            .any(|&first| after.iter().any(|&next| is_cut(self, &[first, next], 1)))
    }
}

/// Return the last cut in `text` at or after `from`, if any.
pub fn last_cut(pre_tokenizer: &PreTokenizer, text: &[u8], from: usize) -> Option<usize> {
    if !pre_tokenizer.cuts_before_space() {
        return None;
    }
    (from..text.len())
        .rev()
        .find(|&at| is_cut(pre_tokenizer, text, at))
}

/// Return the first cut in `text` at or after `from`, if any.
pub fn first_cut(pre_tokenizer: &PreTokenizer, text: &[u8], from: usize) -> Option<usize> {
    let mut places = from..text.len();
    (pre_tokenizer.cuts_before_space())
        .then(|| places.find(|&at| is_cut(pre_tokenizer, text, at)))
        .flatten()
}

/// Return the first offset at or after `from` where a text may be cut before it is normalized.
///
/// The cut is before a plain space or line feed that follows a letter, a number or punctuation.
pub fn safe_cut(text: &[u8], from: usize) -> Option<usize> {
    (from.max(1)..text.len()).find(|&at| is_safe_cut(text, at))
}

/// Return blocks of about `size` bytes that end at safe cuts (see [`safe_cut`]).
pub fn safe_blocks(text: &[u8], size: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = 0;
    std::iter::from_fn(move || {
        (start < text.len()).then(|| {
            let end = safe_cut(text, start + size).unwrap_or(text.len());
            std::mem::replace(&mut start, end)..end
        })
    })
}

/// Return the last safe cut at or after `from` (see [`safe_cut`]).
pub fn last_safe_cut(text: &[u8], from: usize) -> Option<usize> {
    (from.max(1)..text.len())
        .rev()
        .find(|&at| is_safe_cut(text, at))
}

fn is_safe_cut(text: &[u8], at: usize) -> bool {
    matches!(text[at], b' ' | b'\n')
        && Classes::get().before(text, at) & (LETTER | NUMBER | PUNCTUATION) != 0
}

/// Split `text` at cuts into pieces of about `size` bytes.
///
/// Returns ascending end offsets, the last one `text.len()`. A piece without a cut grows past
/// `size`.
pub fn cut_into_pieces(pre_tokenizer: &PreTokenizer, text: &[u8], size: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    if pre_tokenizer.cuts_before_space() {
        let mut at = size;
        while at < text.len() {
            if is_cut(pre_tokenizer, text, at) {
                ends.push(at);
                at += size.max(1);
            } else {
                at += 1;
            }
        }
    }
    ends.push(text.len());
    ends
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::model::Prepend;
    use crate::pretokenize::Split;

    const NAMES: [&str; 15] = [
        "none",
        "whitespace",
        "whitespace-punctuation",
        "bert",
        "gpt2-words",
        "gpt2",
        "cl100k",
        "llama3",
        "qwen2",
        "o200k",
        "deepseek-v3",
        "scripts",
        "characters",
        "graphemes",
        "penn-treebank",
    ];

    const BEHAVIOURS: [Behaviour; 5] = [
        Behaviour::Removed,
        Behaviour::Isolated,
        Behaviour::MergedWithPrevious,
        Behaviour::MergedWithNext,
        Behaviour::Contiguous,
    ];

    fn named(name: &str) -> Scanner {
        Scanner::named(name).unwrap()
    }

    fn metaspace(prepend: Prepend, split: bool) -> Step {
        let literal = Split::literal("\u{2581}", Behaviour::MergedWithNext, false);
        Step {
            rewrite: Some(Rewrite::Metaspace {
                replacement: "\u{2581}".into(),
                prepend,
            }),
            scanner: match split {
                true => Scanner::Split(literal),
                false => Scanner::None,
            },
        }
    }

    fn every_step() -> Vec<Step> {
        let mut steps: Vec<Step> = NAMES.iter().map(|name| named(name).into()).collect();
        steps.extend([Scanner::Gpt2Runs, Scanner::SuperBpe].map(Step::from));
        for behaviour in BEHAVIOURS {
            steps.push(Scanner::Punctuation(behaviour).into());
            for literal in [" ", "e", "s\u{a0}", "", "\n", ". "] {
                for invert in [false, true] {
                    let split = Split::literal(literal, behaviour, invert);
                    steps.push(Scanner::Split(split).into());
                }
            }
        }
        for individual in [false, true] {
            steps.push(Scanner::Digits { individual }.into());
        }
        steps.push(Scanner::DigitGroups(NonZeroUsize::new(3).unwrap()).into());
        steps.push(Scanner::DigitCuts(NonZeroUsize::new(2).unwrap()).into());
        steps.push(Scanner::Fixed(NonZeroUsize::new(3).unwrap()).into());
        for prepend in [Prepend::Always, Prepend::First, Prepend::Never] {
            for split in [false, true] {
                steps.push(metaspace(prepend, split));
            }
        }
        for name in ["none", "gpt2", "whitespace"] {
            steps.push(Step {
                rewrite: Some(Rewrite::PrefixSpace),
                scanner: named(name),
            });
        }
        steps
    }

    fn pre_tokens(pre_tokenizer: &PreTokenizer, text: &[u8], at_start: bool) -> Vec<Vec<u8>> {
        let splits = pre_tokenizer.run(text, at_start.into()).unwrap();
        let slice = |&(start, end): &(usize, usize)| splits.text[start..end].to_vec();
        splits.ranges.iter().map(slice).collect()
    }

    /// Check every allowed cut, alone and all together, and return their number.
    fn check(steps: &[Step], text: &[u8]) -> usize {
        let pre_tokenizer = PreTokenizer::new(steps.to_vec());
        let whole = pre_tokens(&pre_tokenizer, text, true);
        let places: Vec<usize> = (1..text.len())
            .filter(|&at| is_cut(&pre_tokenizer, text, at))
            .collect();
        for &at in &places {
            let mut parts = pre_tokens(&pre_tokenizer, &text[..at], true);
            parts.extend(pre_tokens(&pre_tokenizer, &text[at..], false));
            assert_eq!(parts, whole, "{pre_tokenizer:?} at {at}");
        }
        let mut start = 0;
        let mut parts = Vec::new();
        for end in cut_into_pieces(&pre_tokenizer, text, 1) {
            parts.extend(pre_tokens(&pre_tokenizer, &text[start..end], start == 0));
            start = end;
        }
        assert_eq!(parts, whole, "{pre_tokenizer:?}");
        assert!(places.is_empty() || pre_tokenizer.cuts_before_space());
        places.len()
    }

    const TEXTS: [&str; 4] = [
        "  It's  1,000\u{a0} miles\r\n\r\n from\t\u{3000}here, 字 字'll  \u{85} x ",
        "!\n\n/\n \ta.\n b?! \r\nc'S \n\n  d \u{301} \u{301}\n x\u{301}\n y\t\tz\0 \0\n\0\tq 12\n3\t4 5",
        "\"Can't\" they'll\ncannot wanna\ngo 'tis. \nMr. X, e s\u{a0} \u{2581}a \u{2581} b \u{d4e} e",
        " \n \ne-e e\t\n\u{378} \u{378}\n字 \n e. e. \u{fffd}\r\n.\r\n",
    ];

    #[test]
    fn cutting_anywhere_allowed_changes_nothing() {
        let mut cuts = 0;
        for text in TEXTS {
            for first in every_step() {
                cuts += check(std::slice::from_ref(&first), text.as_bytes());
                for second in every_step() {
                    cuts += check(&[first.clone(), second], text.as_bytes());
                }
            }
        }
        assert!(cuts > 20_000, "{cuts}");
    }

    #[test]
    fn ill_formed_text_is_cut_too() {
        for first in every_step() {
            check(
                std::slice::from_ref(&first),
                b"\x80 a\xE2\x82 b\n\xFF\xE2\x82\xACc \xF0 \x9F\n d",
            );
        }
    }

    #[test]
    fn what_can_be_cut() {
        let can = |name: &str| PreTokenizer::from(named(name)).cuts_before_space();
        let never: Vec<_> = NAMES.into_iter().filter(|name| !can(name)).collect();
        assert_eq!(never, ["none"]);
        let many = PreTokenizer::new(vec![
            Scanner::Digits { individual: true }.into(),
            named("gpt2").into(),
        ]);
        assert_eq!(last_cut(&many, b"a b c", 0), Some(3));
        let lines = Split::literal("\n", Behaviour::MergedWithPrevious, false);
        let lines = PreTokenizer::from(Scanner::Split(lines));
        assert_eq!(last_cut(&lines, b"a\n b\n\nc d", 0), Some(6));
    }

    #[test]
    fn a_text_of_one_pre_token_is_never_cut() {
        let (none, gpt2) = (named("none").into(), named("gpt2").into());
        assert_eq!(cut_into_pieces(&none, b"a b c", 1), vec![5]);
        assert_eq!(last_cut(&none, b"a b c", 0), None);
        assert_eq!(last_cut(&gpt2, b"a b c", 0), Some(3));
        assert_eq!(last_cut(&gpt2, b"abc", 0), None);
        assert_eq!(first_cut(&none, b"a b c", 0), None);
        assert_eq!(first_cut(&gpt2, b"a b c", 0), Some(1));
        assert_eq!(first_cut(&gpt2, b"a b c", 2), Some(3));
    }

    #[test]
    fn blocks_end_before_spaces() {
        let text = "one two, three\n four ".repeat(50);
        let blocks: Vec<_> = safe_blocks(text.as_bytes(), 30).collect();
        assert!(blocks.len() > 20);
        assert!(blocks.iter().cloned().flatten().eq(0..text.len()));
        for block in &blocks[1..] {
            assert!(matches!(text.as_bytes()[block.start], b' ' | b'\n'));
        }
        assert_eq!(safe_blocks(b"", 30).count(), 0);
    }
}
