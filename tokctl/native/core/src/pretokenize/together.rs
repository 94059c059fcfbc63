//! Splits of adjacent texts, as one text where the pattern allows it.
//!
//! A scanner works on blocks of 64 bytes: one that starts anew at each line fills a block for the
//! few bytes at the end of the line.

#[cfg(doc)]
use super::Scanner;
use super::{PreTokenSink, PreTokenizer};
use crate::error::Result;

/// Byte between texts that are split as one.
pub const TAB: u8 = b'\t';

/// Receiver of the pre-tokens of one text after the other.
pub trait TextsSink: PreTokenSink {
    /// Note that all pre-tokens of a text have come.
    fn end_text(&mut self);
}

impl PreTokenizer {
    /// Give `sink` the pre-tokens of the parts of a text, each split as a text of its own.
    ///
    /// A part ends at each offset of `ends`, which `sink` is told. The next part starts one byte
    /// later; with [`Scanner::splits_texts_as_one`], the byte between them must be a tab. The bytes
    /// after the last end are a part, too.
    pub fn split_each(&self, text: &[u8], ends: &[usize], sink: &mut impl TextsSink) -> Result<()> {
        let as_one = self.splits_texts_as_one();
        // `start` is the offset of the current part; `offset` and `first` are the offset and the
        // number of the first part in its scan.
        let (mut start, mut offset, mut first) = (0, 0, 0);
        for (number, &end) in ends.iter().enumerate() {
            let is_last = number + 1 == ends.len();
            if !as_one || is_last || !ends_like_any(&text[start..end]) {
                let places = PartPlaces {
                    sink: &mut *sink,
                    offset,
                    ends: &ends[first..number],
                };
                self.split(&text[offset..end], places)?;
                sink.end_text();
                (offset, first) = (end + 1, number + 1);
            }
            start = end + 1;
        }
        let rest = PartPlaces {
            sink,
            offset,
            ends: &[],
        };
        self.split(&text[offset..], rest)
    }
}

/// Return whether another text can follow this one after a tab.
fn ends_like_any(text: &[u8]) -> bool {
    let is_space = match text {
        [] | [.., b'\n' | b'\r'] => false,
        [.., 0xC2, 0x85 | 0xA0] | [.., 0xE1, 0x9A, 0x80] | [.., 0xE3, 0x80, 0x80] => true,
        [.., 0xE2, 0x80 | 0x81, _] => true,
        [.., last] => *last <= b' ',
    };
    if !is_space {
        return true;
    }
    // Look at the bytes at the end that may be white space.
    let mut last = text
        .iter()
        .rev()
        .take_while(|&&byte| byte <= b' ' || byte >= 0x80);
    !last.any(|&byte| byte == b'\n' || byte == b'\r')
}

/// Sink for adjacent parts that are scanned as one or alone.
struct PartPlaces<'p, S> {
    sink: &'p mut S,
    /// Offset in the text where the scan starts.
    offset: usize,
    /// Ends of the parts in the scan, except the last one, as offsets in the text.
    ends: &'p [usize],
}

impl<S: TextsSink> PreTokenSink for PartPlaces<'_, S> {
    #[inline(always)]
    fn take(&mut self, start: usize, end: usize) {
        let (mut start, end) = (self.offset + start, self.offset + end);
        while let [part_end, rest @ ..] = self.ends {
            if *part_end >= end {
                break;
            }
            if start < *part_end {
                self.sink.take(start, *part_end);
            }
            self.sink.end_text();
            start = part_end + 1;
            self.ends = rest;
        }
        if start < end {
            self.sink.take(start, end);
        }
    }

    #[inline(always)]
    fn take_adjoining(&mut self, base: usize, start: usize, ends: &[u16]) -> usize {
        let (base, mut start) = (self.offset + base, self.offset + start);
        let mut rest = ends;
        while let ([part_end, more @ ..], Some(&last)) = (self.ends, rest.last()) {
            if *part_end >= base + usize::from(last) {
                break;
            }
            // Fits 16 bits: below one of `ends`, or 0 if the part ends before `base`.
            let bound = part_end.saturating_sub(base) as u16;
            let (inside, others) = rest.split_at(count_below(rest, bound));
            start = self.sink.take_adjoining(base, start, inside);
            if start < *part_end {
                self.sink.take(start, *part_end);
            }
            self.sink.end_text();
            start = part_end + 1;
            self.ends = more;
            // Skip the ends up to the byte after the tab: the part and its tab cover these bytes.
            let passed = others
                .iter()
                .take_while(|&&end| base + usize::from(end) <= start);
            rest = &others[passed.count()..];
        }
        start = self.sink.take_adjoining(base, start, rest);
        start - self.offset
    }
}

/// Return how many of the ascending `numbers` are below `bound`.
#[inline(always)]
fn count_below(numbers: &[u16], bound: u16) -> usize {
    let (chunks, rest) = numbers.as_chunks::<16>();
    let below = |some: &[u16]| {
        some.iter()
            .map(|&number| u16::from(number < bound))
            .sum::<u16>()
    };
    let mut count = 0;
    for chunk in chunks {
        let some = below(chunk);
        count += usize::from(some);
        if some < 16 {
            return count;
        }
    }
    count + usize::from(below(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pretokenize::{Scanner, Step};
    use crate::random::random_below;

    #[derive(Default)]
    struct Ranges(Vec<Option<(usize, usize)>>);

    impl PreTokenSink for Ranges {
        fn take(&mut self, start: usize, end: usize) {
            self.0.push(Some((start, end)));
        }
    }

    impl TextsSink for Ranges {
        fn end_text(&mut self) {
            self.0.push(None);
        }
    }

    /// Mostly white space of all kinds, on which the split at the end of a text depends.
    const PIECES: [&[u8]; 40] = [
        b" ",
        b" ",
        b"  ",
        b"\t",
        b"\n",
        b"\n",
        b"\r",
        b"\r\n",
        b"\x0B",
        b"\x1C",
        b"\xC2\x85",
        b"\xC2\xA0",
        b"\xE1\x9A\x80",
        b"\xE2\x80\xA8",
        b"\xE2\x81\x9F",
        b"\xE3\x80\x80",
        b"a",
        b"word",
        b"AB",
        b"Cd",
        b"'",
        b"'s",
        b"'LL",
        b"re",
        b"1",
        b"2345",
        b".",
        b"!?",
        b"/",
        b"//",
        b"_",
        b"\xC3\xA9",
        b"\xE6\x9D\xB1\xE4\xBA\xAC",
        b"\xCC\x81",
        b"\xF0\x9F\x98\x80",
        b"\xFF",
        b"\x80",
        b"\xC3",
        b"\xE2\x80",
        b"a longer piece of text, of over sixty-four bytes, so that a block lies within it",
    ];

    fn scanners() -> impl Iterator<Item = PreTokenizer> {
        let names = [
            "gpt2",
            "cl100k",
            "llama3",
            "qwen2",
            "o200k",
            "bert",
            "whitespace",
            "none",
        ];
        let named = |name| Scanner::named(name).unwrap();
        let unnamed = [Scanner::Gpt2Runs, Scanner::SuperBpe];
        names.map(named).into_iter().chain(unnamed).map(|scanner| {
            PreTokenizer::new(vec![Step {
                rewrite: None,
                scanner,
            }])
        })
    }

    #[test]
    fn each_text_is_split_as_if_it_were_alone() {
        let mut below = random_below(1);
        let count = if cfg!(debug_assertions) { 3000 } else { 60_000 };
        for round in 0..count {
            let (mut text, mut ends) = (Vec::new(), Vec::new());
            for _ in 0..below(12) {
                let most = [2, 5, 40][round % 3];
                for _ in 0..below(most) {
                    text.extend_from_slice(PIECES[below(PIECES.len())]);
                }
                ends.push(text.len());
                text.push(TAB);
            }
            if round % 2 == 0 {
                text.extend_from_slice(b"the last one \r");
            }
            for splitting in scanners() {
                let mut expected = Ranges::default();
                let mut start = 0;
                for &end in &ends {
                    splitting
                        .split(&text[start..end], |a, b| {
                            expected.take(start + a, start + b)
                        })
                        .unwrap();
                    expected.end_text();
                    start = end + 1;
                }
                splitting
                    .split(&text[start..], |a, b| expected.take(start + a, start + b))
                    .unwrap();
                let mut found = Ranges::default();
                splitting.split_each(&text, &ends, &mut found).unwrap();
                assert_eq!(
                    found.0,
                    expected.0,
                    "{:?} {:?}",
                    splitting,
                    String::from_utf8_lossy(&text)
                );
            }
        }
    }

    #[test]
    fn numbers_below_a_bound_are_counted() {
        let numbers: Vec<u16> = (0..100).map(|number| 3 * number).collect();
        for bound in 0..310 {
            let expected = numbers.iter().filter(|&&number| number < bound).count();
            assert_eq!(count_below(&numbers, bound), expected);
            assert_eq!(count_below(&numbers[..40], bound), expected.min(40));
        }
    }
}
