//! Words of the Penn Treebank, by Robert MacIntyre's rules (`tokenizer.sed`, 1995) in the order and
//! form of NLTK's `TreebankWordTokenizer`.
//!
//! Every rule inserts spaces, which later rules see. In the end the text is split at white space.
//! Nothing is rewritten: where the treebank has ``` `` ``` and `''`, the pre-token is the quotation
//! mark of the text.
//!
//! Differences from NLTK: `(?i)` covers ASCII only, and U+001C to U+001F are not white space.

use super::runs::code_at;
use crate::unicode::{decode_before, Categories, Category, Classes, LETTER, NUMBER, SPACE};

/// Offset of an inserted character.
const INSERTED: usize = usize::MAX;

/// Text with the spaces inserted so far, and the offset of every byte in the original.
struct Padded {
    text: Vec<u8>,
    places: Vec<usize>,
}

/// Match of a rule: its end, and the offsets before which it inserts a space.
struct Match {
    end: usize,
    spaces: [Option<usize>; 3],
}

fn padded(start: usize, end: usize) -> Option<Match> {
    Some(Match {
        end,
        spaces: [Some(start), Some(end), None],
    })
}

impl Padded {
    fn new(text: &[u8]) -> Self {
        Padded {
            text: text.to_vec(),
            places: (0..text.len()).collect(),
        }
    }

    /// Apply `rule` to its matches, leftmost first and without overlap.
    fn replace(&mut self, rule: impl Fn(&[u8], usize) -> Option<Match>) {
        let first = (0..self.text.len()).find(|&at| rule(&self.text, at).is_some());
        let Some(mut at) = first else {
            return;
        };
        let mut out = Padded {
            text: self.text[..at].to_vec(),
            places: self.places[..at].to_vec(),
        };
        while at < self.text.len() {
            let (end, spaces) = match rule(&self.text, at) {
                Some(Match { end, spaces }) => (end, spaces),
                None => (at + 1, [None; 3]),
            };
            for from in at..end {
                if spaces.contains(&Some(from)) {
                    out.space();
                }
                out.text.push(self.text[from]);
                out.places.push(self.places[from]);
            }
            if spaces.contains(&Some(end)) {
                out.space();
            }
            at = end;
        }
        *self = out;
    }

    fn space(&mut self) {
        self.text.push(b' ');
        self.places.push(INSERTED);
    }
}

/// Return whether the character at `at` is a decimal digit, `\d`.
fn is_decimal(categories: Categories, text: &[u8], at: usize) -> bool {
    categories.of(code_at(text, at).0) == Category::Nd
}

/// Match `[:,]` before anything but a digit: `spent, 1,000`.
fn colon_or_comma(categories: Categories, text: &[u8], at: usize) -> Option<Match> {
    let next = at + 1;
    if !matches!(text[at], b':' | b',') {
        return None;
    }
    if next == text.len() {
        return padded(at, next);
    }
    if is_decimal(categories, text, next) {
        return None;
    }
    Some(Match {
        end: next + code_at(text, next).1,
        spaces: [Some(at), Some(next), None],
    })
}

/// Return the offset of the period that ends the text, and the end of the closing brackets and
/// quotes after it.
fn final_period(classes: Classes, text: &[u8]) -> Option<(usize, usize)> {
    let mut closed = text.len();
    while let Some(space) = white_space_before(classes, text, closed) {
        closed = space;
    }
    let mut end = closed;
    while end > 0 && matches!(text[end - 1], b']' | b')' | b'}' | b'>' | b'"' | b'\'') {
        end -= 1;
    }
    (end >= 2 && text[end - 1] == b'.' && text[end - 2] != b'.').then(|| (end - 1, closed))
}

fn is_white_space(classes: Classes, text: &[u8], at: usize) -> (bool, usize) {
    let (class, length) = classes.at(text, at);
    (class & SPACE != 0, length)
}

/// Return the start of the white-space character that ends at `end`.
fn white_space_before(classes: Classes, text: &[u8], end: usize) -> Option<usize> {
    let (code, length) = decode_before(text, end)?;
    (classes.of(code) & SPACE != 0).then_some(end - length)
}

/// Match `([^' ])('s|'m|'d|') `, or with `long` `([^' ])('ll|'re|'ve|n't) `.
fn ending(text: &[u8], at: usize, long: bool) -> Option<Match> {
    if matches!(text[at], b'\'' | b' ') {
        return None;
    }
    let rest = &text[at + 1..];
    let length = if long {
        let endings: [&[u8]; 8] = [
            b"'ll", b"'LL", b"'re", b"'RE", b"'ve", b"'VE", b"n't", b"N'T",
        ];
        endings
            .iter()
            .any(|ending| rest.starts_with(ending))
            .then_some(3)
    } else {
        match rest {
            [b'\'', b's' | b'S' | b'm' | b'M' | b'd' | b'D', ..] => Some(2),
            [b'\'', ..] => Some(1),
            _ => None,
        }
    }?;
    let end = at + 1 + length;
    (text.get(end) == Some(&b' ')).then_some(Match {
        end: end + 1,
        spaces: [Some(at + 1), Some(end), None],
    })
}

/// Words that the treebank writes as two: `can not`, `gim me`, `wan na`.
const DOUBLE: [(&[u8], &[u8]); 8] = [
    (b"can", b"not"),
    (b"d", b"'ye"),
    (b"gim", b"me"),
    (b"gon", b"na"),
    (b"got", b"ta"),
    (b"lem", b"me"),
    (b"more", b"'n"),
    (b"wan", b"na"),
];

fn starts_with_any_case(text: &[u8], start: &[u8]) -> bool {
    text.len() >= start.len() && text[..start.len()].eq_ignore_ascii_case(start)
}

/// Return whether the character at `at` is `\w` in Python's `re`.
fn is_word(classes: Classes, text: &[u8], at: usize) -> bool {
    classes.at(text, at).0 & (LETTER | NUMBER) != 0 || text[at] == b'_'
}

/// Match `\b(first)(second)\b`; `wanna` must precede white space.
fn double_word(
    classes: Classes,
    text: &[u8],
    at: usize,
    (first, second): (&[u8], &[u8]),
) -> Option<Match> {
    let rest = &text[at..];
    let (middle, end) = (first.len(), first.len() + second.len());
    if !starts_with_any_case(rest, first) || !starts_with_any_case(&rest[middle..], second) {
        return None;
    }
    if at > 0 && (classes.before(text, at) & (LETTER | NUMBER) != 0 || text[at - 1] == b'_') {
        return None;
    }
    let closed = match rest.get(end) {
        None => first != b"wan",
        Some(_) if first == b"wan" => is_white_space(classes, rest, end).0,
        Some(_) => !is_word(classes, rest, end),
    };
    closed.then_some(Match {
        end: at + end,
        spaces: [Some(at), Some(at + middle), Some(at + end)],
    })
}

/// Match ` ('t)(is)\b` and ` ('t)(was)\b`.
fn tis_or_twas(classes: Classes, text: &[u8], at: usize) -> Option<Match> {
    let rest = &text[at..];
    let end = [&b" 'tis"[..], b" 'twas"]
        .into_iter()
        .find(|word| starts_with_any_case(rest, word))
        .map(|word| word.len())?;
    let closed = rest.get(end).is_none_or(|_| !is_word(classes, rest, end));
    closed.then_some(Match {
        end: at + end,
        spaces: [Some(at + 1), Some(at + 3), Some(at + end)],
    })
}

/// Return a rule that pads each byte for which `is_one` is true.
fn around(is_one: impl Fn(u8) -> bool) -> impl Fn(&[u8], usize) -> Option<Match> {
    move |text, at| {
        if is_one(text[at]) {
            padded(at, at + 1)
        } else {
            None
        }
    }
}

/// Return a rule that pads a string.
fn around_all(string: &'static [u8]) -> impl Fn(&[u8], usize) -> Option<Match> {
    move |text, at| match text[at..].starts_with(string) {
        true => padded(at, at + string.len()),
        false => None,
    }
}

/// Match `([ (\[{<])("|'')`: opening quotes.
fn opening_quotes(text: &[u8], at: usize) -> Option<Match> {
    match text[at..] {
        [b' ' | b'(' | b'[' | b'{' | b'<', b'"', ..] => padded(at + 1, at + 2),
        [b' ' | b'(' | b'[' | b'{' | b'<', b'\'', b'\'', ..] => padded(at + 1, at + 3),
        _ => None,
    }
}

/// Match `([^'])' `.
fn lone_quote(text: &[u8], at: usize) -> Option<Match> {
    match text[at..] {
        [b'\'', ..] => None,
        [_, b'\'', b' ', ..] => Some(Match {
            end: at + 3,
            spaces: [Some(at + 1), Some(at + 2), None],
        }),
        _ => None,
    }
}

fn pad(classes: Classes, text: &[u8]) -> Padded {
    let categories = Categories::get();
    let mut padded_text = Padded::new(text);
    if text.first() == Some(&b'"') {
        padded_text.replace(|_, at| if at == 0 { padded(0, 1) } else { None });
    }
    padded_text.replace(around_all(b"``"));
    padded_text.replace(opening_quotes);
    padded_text.replace(|text, at| colon_or_comma(categories, text, at));
    padded_text.replace(around_all(b"..."));
    padded_text.replace(around(|byte| b";@#$%&".contains(&byte)));
    if let Some((period, closed)) = final_period(classes, &padded_text.text) {
        padded_text.replace(|_, at| match at == period {
            true => padded(period, closed),
            false => None,
        });
    }
    padded_text.replace(around(|byte| matches!(byte, b'?' | b'!')));
    padded_text.replace(lone_quote);
    padded_text.replace(around(|byte| b"[](){}<>".contains(&byte)));
    padded_text.replace(around_all(b"--"));
    padded_text.text.insert(0, b' ');
    padded_text.places.insert(0, INSERTED);
    padded_text.space();
    padded_text.replace(around_all(b"''"));
    padded_text.replace(around(|byte| byte == b'"'));
    padded_text.replace(|text, at| ending(text, at, false));
    padded_text.replace(|text, at| ending(text, at, true));
    for words in DOUBLE {
        padded_text.replace(|text, at| double_word(classes, text, at, words));
    }
    padded_text.replace(|text, at| tis_or_twas(classes, text, at));
    padded_text
}

pub fn split(classes: Classes, text: &[u8], mut emit: impl FnMut(usize, usize)) {
    let padded_text = pad(classes, text);
    let (mut at, mut start) = (0, None);
    while at < padded_text.text.len() {
        let (white, length) = is_white_space(classes, &padded_text.text, at);
        let place = padded_text.places[at];
        if !white {
            start.get_or_insert(place);
        } else if let Some(start) = start.take() {
            emit(start, padded_text.places[at - 1] + 1);
        }
        at += length;
    }
    if let Some(start) = start {
        emit(start, text.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        split(Classes::get(), text.as_bytes(), |a, b| {
            found.push(&text[a..b])
        });
        found
    }

    #[test]
    fn contractions_and_punctuation() {
        assert_eq!(
            words("They'll say \"don't\", I cannot."),
            ["They", "'ll", "say", "\"", "do", "n't", "\"", ",", "I", "can", "not", "."]
        );
        assert_eq!(
            words("I don't (really) wanna go, Mr. X's $3.88..."),
            [
                "I", "do", "n't", "(", "really", ")", "wan", "na", "go", ",", "Mr.", "X", "'s",
                "$", "3.88", "..."
            ]
        );
        assert!(words("").is_empty());
        assert_eq!(words("'Tis. "), ["'T", "is", "."]);
    }
}
