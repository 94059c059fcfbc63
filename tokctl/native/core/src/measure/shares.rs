//! Counts of parts of a text, and their sum.

use memchr::memchr_iter;

use super::boundaries::Boundaries;
use super::words::{align, MeasuredWord};
use super::{add, MeasureOptions, Measured, Row};
use super::{BYTES, CHARACTERS, SPACES, SPLIT, TOKENS, UNKNOWN, WHOLE, WORDS};
use crate::encode::Token;
use crate::model::NO_ID;
use crate::unicode::{Classes, SPACE};

/// Counts of a range of text that is cut before white space.
pub(super) struct RangeCounts {
    start: usize,
    end: usize,
    /// Rows of the lines: one more than there are line feeds. The first line may have begun in an
    /// earlier range; the last one may be empty, and may continue in the next range.
    lines: Vec<Row>,
    boundaries: Option<Boundaries>,
    /// Tokens of length 0 at the very start: they belong to a word that ends at the start.
    leading: u64,
    /// The word that ends with the range.
    last: Option<MeasuredWord>,
}

impl RangeCounts {
    /// Count the range `start..end` of `text`, whose tokens are `tokens`.
    pub fn of(
        text: &[u8],
        (start, end): (usize, usize),
        tokens: &[Token],
        options: &MeasureOptions,
    ) -> Self {
        let part = &text[start..end];
        let mut lines = Lines::of(part, start);
        for token in tokens {
            let row = lines.at(token.start);
            row[TOKENS] += 1;
            row[UNKNOWN] += u64::from(token.id == NO_ID || Some(token.id) == options.unknown);
        }
        let mut last = None;
        align(
            part,
            start,
            tokens,
            (options.words, options.unknown),
            |word| {
                let row = lines.at(word.start);
                row[WORDS] += 1;
                row[WHOLE] += u64::from(word.whole);
                row[SPLIT] += u64::from(word.tokens > 1);
                last = Some(word);
            },
        );
        let empty = |token: &&Token| (token.start, token.end) == (start, start);
        RangeCounts {
            start,
            end,
            boundaries: (options.boundaries).then(|| Boundaries::of_share(part, start, tokens)),
            leading: tokens.iter().take_while(empty).count() as u64,
            last: last.filter(|word| word.end == end),
            lines: lines.rows,
        }
    }
}

impl RangeCounts {
    pub fn take_boundaries(&mut self) -> Option<Boundaries> {
        self.boundaries.take()
    }
}

/// Counts of the lines of a part of a text.
struct Lines {
    rows: Vec<Row>,
    /// End offset of each line but the last.
    ends: Vec<usize>,
    /// Line that was accessed last.
    now: usize,
}

impl Lines {
    /// Count what does not depend on the model: bytes, characters and white space.
    fn of(text: &[u8], start: usize) -> Self {
        let ends: Vec<usize> = memchr_iter(b'\n', text).map(|at| at + 1).collect();
        let classes = Classes::get();
        let mut rows = Vec::with_capacity(ends.len() + 1);
        let mut at = 0;
        for end in ends.iter().copied().chain([text.len()]) {
            let mut row = Row::default();
            row[BYTES] = (end - at) as u64;
            while at < end {
                let (class, length) = classes.at(text, at);
                row[CHARACTERS] += 1;
                row[SPACES] += u64::from(class & SPACE != 0);
                at += length;
            }
            rows.push(row);
        }
        Lines {
            rows,
            ends: ends.into_iter().map(|end| start + end).collect(),
            now: 0,
        }
    }

    /// Return the row of the line at `place`. Offsets are mostly ascending, so the search starts at
    /// the last line.
    fn at(&mut self, place: usize) -> &mut Row {
        while self.ends.get(self.now).is_some_and(|&end| end <= place) {
            self.now += 1;
        }
        while self.now > 0 && self.ends[self.now - 1] > place {
            self.now -= 1;
        }
        &mut self.rows[self.now]
    }
}

/// Sum of the ranges so far.
pub(super) struct Shares {
    totals: Row,
    boundaries: Option<Boundaries>,
    lines: Option<Vec<Row>>,
    /// Counts of the line that continues.
    open: Row,
    last: Option<MeasuredWord>,
}

impl Shares {
    pub fn new(length: usize, options: &MeasureOptions) -> Self {
        Shares {
            totals: Row::default(),
            boundaries: options.boundaries.then(|| Boundaries::of_text(length)),
            lines: options.lines.then(Vec::new),
            open: Row::default(),
            last: None,
        }
    }

    /// Add the next range of the text.
    pub fn join(&mut self, share: RangeCounts) {
        if let (Some(all), Some(own)) = (&mut self.boundaries, &share.boundaries) {
            all.join(share.start, own);
        }
        if let Some(word) = self.last.take() {
            self.widen(word, share.leading);
        }
        self.last = share.last;
        debug_assert!(self.last.is_none_or(|word| word.end == share.end));
        let Some((open, ended)) = share.lines.split_last() else {
            return;
        };
        for row in ended {
            add(&mut self.open, row);
            self.end_line();
        }
        add(&mut self.open, open);
    }

    fn end_line(&mut self) {
        let row = std::mem::take(&mut self.open);
        add(&mut self.totals, &row);
        if let Some(lines) = &mut self.lines {
            lines.push(row);
        }
    }

    /// Update the counts of the open line, because `word` has `tokens` more tokens.
    fn widen(&mut self, word: MeasuredWord, tokens: u64) {
        if tokens > 0 {
            self.open[WHOLE] -= u64::from(word.whole);
            let split = word.tokens < 2 && word.tokens + tokens > 1;
            self.open[SPLIT] += u64::from(split);
        }
    }

    /// Return the sum of all ranges, with the given counts of ids.
    pub fn finish(mut self, ids: Vec<(u32, u64)>) -> Measured {
        if self.open[BYTES] > 0 {
            self.end_line();
        }
        // Tokens of length 0 after the last line end belong to the last line.
        add(&mut self.totals, &self.open);
        if let Some(line) = self.lines.as_mut().and_then(|lines| lines.last_mut()) {
            add(line, &self.open);
        }
        Measured {
            totals: self.totals,
            ids,
            boundaries: self.boundaries,
            lines: self.lines,
        }
    }
}
