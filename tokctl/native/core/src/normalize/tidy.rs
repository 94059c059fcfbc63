//! SentencePiece's treatment of spaces, in one pass.
//!
//! A chain spells it out in steps, each of which would read the text and write a copy; see
//! `formats/sentencepiece/spaces.py`. One pass gives the result of all steps for a whole text.

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::Normalizer;
use crate::pattern::Search;
#[cfg(target_arch = "x86_64")]
use crate::pretokenize::{HasAvx512, Level};

/// UTF-8 of `▁` (U+2581), which stands for a space.
const MARK: &[u8; 3] = b"\xE2\x96\x81";

/// White-space steps at the end of a chain.
#[derive(Debug, Clone, Copy)]
pub struct Tidy {
    /// Index of the first step in the chain.
    pub(super) from: usize,
    steps: TidySteps,
}

#[derive(Debug, Clone, Copy)]
enum TidySteps {
    /// Remove leading spaces, make one of each run, and with `lead` put one before a text that is
    /// left. Then take each `▁` for a space, remove trailing spaces, and write the other spaces as
    /// `▁`.
    Joined { lead: bool },
    /// Put a space before the text with `lead`, then write each space as `▁`.
    Marked { lead: bool },
}

impl Tidy {
    /// Return the steps at the end of a chain that one pass can replace; None for other steps.
    pub fn of(chain: &[Normalizer]) -> Option<Self> {
        let (last, rest) = chain.split_last()?;
        if !is_replace(last, " ", "\u{2581}") {
            return None;
        }
        let joined = |rest: &[Normalizer], lead| {
            let from = rest.len().checked_sub(2)?;
            let tidy = matches!(
                rest[from..],
                [
                    Normalizer::StripSpaces {
                        left: true,
                        right: false
                    },
                    Normalizer::CollapseSpaces
                ]
            );
            let steps = TidySteps::Joined { lead };
            tidy.then_some(Tidy { from, steps })
        };
        if let [rest @ .., replace, Normalizer::StripSpaces {
            left: false,
            right: true,
        }] = rest
        {
            if !is_replace(replace, "\u{2581}", " ") {
                return None;
            }
            return match rest {
                [rest @ .., lead] if is_lead(lead) => joined(rest, true),
                rest => joined(rest, false),
            };
        }
        let lead = rest.last().is_some_and(is_lead);
        Some(Tidy {
            from: rest.len() - usize::from(lead),
            steps: TidySteps::Marked { lead },
        })
    }

    /// Return the text that the steps make.
    pub fn run(self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() + text.len() / 2 + 16);
        let write = |text: &[u8], start, end| {
            rewrite(&text[start..end], &mut out);
            Ok::<(), std::convert::Infallible>(())
        };
        let mut words = SpacedWords::new(self.steps);
        let Ok(_) = words.feed(&mut Stops::new(text), 0..text.len(), true, write);
        out
    }

    pub fn words(self) -> SpacedWords {
        SpacedWords::new(self.steps)
    }
}

/// Append a word as the steps leave it, with `▁` for each leading space.
#[inline]
pub fn rewrite(word: &[u8], out: &mut Vec<u8>) {
    let spaces = spaces_at(word, 0);
    (0..spaces).for_each(|_| out.extend_from_slice(MARK));
    out.extend_from_slice(&word[spaces..]);
}

/// Splitter of a text into the words that [`Tidy`] would write, without a copy of the text.
///
/// A word begins with a U+0020 for each leading `▁`, and has no other space or `▁`.
pub struct SpacedWords {
    steps: TidySteps,
    /// Whether the text had a word already.
    started: bool,
    scratch: Vec<u8>,
}

impl SpacedWords {
    fn new(steps: TidySteps) -> Self {
        SpacedWords {
            steps,
            started: false,
            scratch: Vec::new(),
        }
    }

    /// Begin another text.
    pub fn restart(&mut self) {
        self.started = false;
    }

    /// Call `emit(bytes, start, end)` for every complete word of `text[part]`, until a call fails.
    ///
    /// The word is `bytes[start..end]`; `bytes` is the text or a buffer. Returns the offset in the
    /// text where the last word ends. If `end` is false, the rest belongs in front of the next
    /// part. A U+0020 before the part may serve as the space that is put before the first word.
    #[inline]
    pub fn feed<E>(
        &mut self,
        stops: &mut Stops,
        part: Range<usize>,
        end: bool,
        mut emit: impl FnMut(&[u8], usize, usize) -> Result<(), E>,
    ) -> Result<usize, E> {
        let (joins, lead) = match self.steps {
            TidySteps::Joined { lead } => (true, lead),
            TidySteps::Marked { lead } => (false, lead),
        };
        // Words are ranges of the whole text.
        let all = stops.text;
        let text = &all[..part.end];
        let mut at = part.start;
        if joins && !self.started {
            at += spaces_at(text, at);
        }
        while at < text.len() {
            let start = at;
            // The form of nearly all words: one space, then other bytes.
            if let (true, [b' ', next, ..]) = (self.started, &text[at..]) {
                if *next != b' ' && *next != MARK[0] {
                    at = stops.next(at + 2, part.end);
                    if at == text.len() && !end {
                        return Ok(start);
                    }
                    emit(all, start, at)?;
                    continue;
                }
            }
            let mut spaces = usize::from(lead && !self.started);
            while at < text.len() {
                if text[at] == b' ' {
                    spaces += 1;
                    at += 1;
                    if joins {
                        at += spaces_at(text, at);
                    }
                } else if text[at..].starts_with(MARK) {
                    spaces += 1;
                    at += MARK.len();
                } else {
                    break;
                }
            }
            let content = at;
            at = stops.next(at, part.end);
            if at == text.len() && !end {
                return Ok(start);
            }
            if content == at && joins {
                break;
            }
            if spaces == 1 && content > 0 && text[content - 1] == b' ' {
                emit(all, content - 1, at)?;
            } else {
                self.scratch.clear();
                self.scratch.resize(spaces, b' ');
                self.scratch.extend_from_slice(&text[content..at]);
                emit(&self.scratch, 0, self.scratch.len())?;
            }
            self.started = true;
        }
        Ok(text.len())
    }
}

fn is_lead(normalizer: &Normalizer) -> bool {
    matches!(normalizer, Normalizer::Prepend(text) if text == " ")
}

fn is_replace(normalizer: &Normalizer, from: &str, to: &str) -> bool {
    match normalizer {
        Normalizer::Replace {
            pattern: Search::Literal(literal),
            content,
        } => literal == from && content == to,
        _ => false,
    }
}

fn spaces_at(text: &[u8], at: usize) -> usize {
    text[at..].iter().take_while(|&&byte| byte == b' ').count()
}

/// Cursor over the spaces and `▁` of a text, from its start to its end.
pub struct Stops<'t> {
    text: &'t [u8],
    /// Offset of the block searched last, with a bit for each byte where a space or `▁` begins.
    #[cfg(target_arch = "x86_64")]
    block: Option<(HasAvx512, usize, u64)>,
}

impl<'t> Stops<'t> {
    pub fn new(text: &'t [u8]) -> Self {
        Stops {
            text,
            #[cfg(target_arch = "x86_64")]
            block: match Level::get() {
                Level::Avx512(has) => avx512::stops(has, text, 0).map(|stops| (has, 0, stops)),
                _ => None,
            },
        }
    }

    /// Return the first offset from `at` on of a space or `▁` that ends by `end`; `end` if none
    /// does.
    #[inline(always)]
    fn next(&mut self, at: usize, end: usize) -> usize {
        #[cfg(target_arch = "x86_64")]
        if let Some(block) = self.block {
            return self.next_by_blocks(block, at, end);
        }
        self.next_one_by_one(at, end)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn next_by_blocks(
        &mut self,
        (has, mut start, mut stops): (HasAvx512, usize, u64),
        mut at: usize,
        end: usize,
    ) -> usize {
        loop {
            let inside = at.wrapping_sub(start);
            if inside < avx512::BLOCK {
                let behind = stops >> inside;
                if behind != 0 {
                    let found = at + behind.trailing_zeros() as usize;
                    let whole =
                        found + MARK.len() <= end || found < end && self.text[found] == b' ';
                    return if whole { found } else { end };
                }
                at = start + avx512::BLOCK;
            }
            if at >= end {
                return end;
            }
            let Some(found) = avx512::stops(has, self.text, at) else {
                return self.next_one_by_one(at, end);
            };
            (start, stops) = (at, found);
            self.block = Some((has, start, stops));
        }
    }

    /// Return the result of [`Self::next`] without vectors.
    #[inline]
    fn next_one_by_one(&self, mut at: usize, end: usize) -> usize {
        // The search takes sixteen bytes at a time. It may run past `end` if a space follows there:
        // it cannot pass that space.
        let searched = match self.text.get(end) {
            Some(b' ') => self.text,
            _ => &self.text[..end],
        };
        while at < end {
            at += before_stop(&searched[at..]);
            match searched.get(at) {
                None | Some(b' ') => break,
                Some(_) if searched[at..].starts_with(MARK) => break,
                Some(_) => at += 1,
            }
        }
        at.min(end)
    }
}

/// Return how many bytes come before the first space or first byte of `▁`.
#[inline]
fn before_stop(text: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    // The lowest set bit marks the first byte that is 0; higher bits may be wrong.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    let stops = |bytes: &[u8; 8]| {
        let word = u64::from_le_bytes(*bytes);
        zeros(word ^ (ONES * u64::from(b' '))) | zeros(word ^ (ONES * u64::from(MARK[0])))
    };
    let mut at = 0;
    while let Some((first, second)) = pair(text, at) {
        let (first, second) = (stops(first), stops(second));
        if first | second != 0 {
            // Without a branch; a word without a stop gives 8.
            let [first, second] = [first, second].map(|stops| stops.trailing_zeros() as usize / 8);
            let behind = if first == 8 { second } else { 0 };
            return at + first + behind;
        }
        at += 16;
    }
    let rest = &text[at..];
    let found = rest
        .iter()
        .position(|&byte| byte == b' ' || byte == MARK[0]);
    at + found.unwrap_or(rest.len())
}

#[inline]
fn pair(text: &[u8], at: usize) -> Option<(&[u8; 8], &[u8; 8])> {
    let (first, rest) = text.get(at..)?.split_first_chunk::<8>()?;
    Some((first, rest.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalize::{Chain, Edges};
    use crate::random::random_below;

    fn literal(from: &str, to: &str) -> Normalizer {
        Normalizer::Replace {
            pattern: Search::Literal(from.into()),
            content: to.into(),
        }
    }

    fn chains() -> Vec<Vec<Normalizer>> {
        let lead = || Normalizer::Prepend(" ".into());
        let strip = |left| Normalizer::StripSpaces { left, right: !left };
        let mut chains = Vec::new();
        for joined in [true, false] {
            for leads in [true, false] {
                let mut chain = Vec::new();
                if joined {
                    chain.extend([strip(true), Normalizer::CollapseSpaces]);
                }
                chain.extend(leads.then(lead));
                if joined {
                    chain.extend([literal("\u{2581}", " "), strip(false)]);
                }
                chain.push(literal(" ", "\u{2581}"));
                chains.push(chain);
            }
        }
        chains
    }

    fn texts() -> Vec<Vec<u8>> {
        let pieces: [&[u8]; 10] = [
            b"and one that is so long that none of the bytes behind it lies in the same block",
            b" ",
            b" ",
            b"a",
            "\u{2581}".as_bytes(),
            "\u{201C}".as_bytes(),
            b"\xE2",
            b"\x96\x81",
            b"longer than eight",
            b"\n",
        ];
        let mut below = random_below(7);
        let mut text = || {
            let count = below(9);
            (0..count)
                .flat_map(|_| pieces[below(10)])
                .copied()
                .collect()
        };
        (0..3000).map(|_| text()).collect()
    }

    #[test]
    fn one_pass_does_what_the_steps_do() {
        for chain in chains() {
            let fused = Chain::new(chain.clone());
            let tidy = Tidy::of(&chain).unwrap();
            assert_eq!(tidy.from, 0);
            for text in texts() {
                let whole = fused.apply(&text, Edges::WHOLE).unwrap();
                // With source spans, every step is taken on its own.
                let steps = fused.apply_aligned(&text, Edges::WHOLE).unwrap();
                let expected = steps.map_or(text.clone(), |aligned| aligned.text);
                assert_eq!(*whole, expected, "{chain:?} {text:x?}");
            }
        }
    }

    #[test]
    fn words_do_not_depend_on_where_the_text_is_fed() {
        for chain in chains() {
            let tidy = Tidy::of(&chain).unwrap();
            for text in texts() {
                let whole = tidy.run(&text);
                for cut in 0..=text.len() {
                    let (mut words, mut out) = (tidy.words(), Vec::new());
                    let mut emit = |text: &[u8], start: usize, end: usize| {
                        let word = &text[start..end];
                        let spaces = spaces_at(word, 0);
                        assert!(!word[spaces..].contains(&b' '));
                        rewrite(word, &mut out);
                        Ok::<(), ()>(())
                    };
                    let stops = &mut Stops::new(&text);
                    let done = words.feed(stops, 0..cut, false, &mut emit).unwrap();
                    words
                        .feed(stops, done..text.len(), true, &mut emit)
                        .unwrap();
                    assert_eq!(out, whole, "{chain:?} {text:x?} {cut}");
                }
            }
        }
    }

    #[test]
    fn stops_are_those_that_are_found_one_by_one() {
        for text in texts() {
            let mut stops = Stops::new(&text);
            for end in 0..=text.len() {
                for at in [0, end / 2, end.saturating_sub(70), end] {
                    let whole = |&at: &usize| text[at] == b' ' || text[at..end].starts_with(MARK);
                    let expected = (at..end).find(whole).unwrap_or(end);
                    assert_eq!(stops.next(at, end), expected, "{text:x?} {at} {end}");
                    assert_eq!(
                        stops.next_one_by_one(at, end),
                        expected,
                        "{text:x?} {at} {end}"
                    );
                }
            }
        }
    }

    #[test]
    fn other_steps_are_left_alone() {
        let last = literal(" ", "\u{2581}");
        assert!(Tidy::of(&[]).is_none());
        assert!(Tidy::of(&[literal(" ", "_")]).is_none());
        assert!(Tidy::of(&[last.clone(), Normalizer::Nfc]).is_none());
        let strip = Normalizer::StripSpaces {
            left: false,
            right: true,
        };
        assert!(Tidy::of(&[Normalizer::CollapseSpaces, strip, last.clone()]).is_none());
        let tidy = Tidy::of(&[Normalizer::Nfc, last]).unwrap();
        assert_eq!(tidy.from, 1);
    }
}
