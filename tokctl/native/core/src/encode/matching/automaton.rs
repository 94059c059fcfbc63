//! The longest of many strings at every offset of a text, in linear time.
//!
//! An automaton of Aho and Corasick (1975) finds, at each offset, the longest string that *ends*
//! there. Built from reversed strings and run over the text backwards, it finds the longest string
//! that *starts* there, as leftmost-longest matching requires. (A forward matcher must read on for
//! a longer match, and go back if the longer match fails. With `a` and `aaa…b`, that takes as many
//! steps per byte as the longest string has bytes.)

use std::cmp::Reverse;
use std::collections::BTreeMap;

use memchr::{memrchr, memrchr2, memrchr3};

/// Number that stands for no string.
const NONE: u32 = u32::MAX;

/// Number of states, nearest to the root, that have a row of 256 transitions; a row takes 1 kB.
const ROWS: usize = 1024;

/// A state of the automaton; all data that a step needs is adjacent.
#[derive(Clone, Copy)]
struct State {
    /// Number of the first child.
    ///
    /// All children are neighbours.
    child: u32,
    /// Number of children.
    children: u16,
    /// The byte that leads to the first child.
    byte: u8,
    /// The state of this state's longest proper suffix that is a state.
    suffix: u32,
    /// Number of the longest string that this state ends with, or [`NONE`].
    string: u32,
}

/// An automaton that finds the longest string at each start.
///
/// States are numbered breadth first from the root, 0.
pub struct LongestStarts {
    states: Vec<State>,
    /// By state: the byte that leads to the state.
    bytes: Vec<u8>,
    /// Transitions of the first states, the ones nearest to the root, by byte.
    rows: Vec<[u32; 256]>,
    /// The last bytes of the strings; used if there are at most three.
    lasts: Vec<u8>,
    lengths: Vec<u32>,
    longest: usize,
}

impl LongestStarts {
    /// Build the automaton from strings in any order.
    ///
    /// Of equal strings, the first counts. Empty strings never match. Returns `None` if there would
    /// be 2^32 states or more.
    pub fn new(strings: &[&[u8]]) -> Option<Self> {
        let total = strings
            .iter()
            .map(|string| string.len() as u64)
            .sum::<u64>();
        if total >= u64::from(NONE) || strings.len() as u64 >= u64::from(NONE) {
            return None;
        }
        let sorted = Sorted::new(strings);
        let mut automaton = LongestStarts {
            states: Vec::new(),
            bytes: vec![0],
            rows: Vec::new(),
            lasts: Vec::new(),
            lengths: strings.iter().map(|string| string.len() as u32).collect(),
            longest: strings.iter().map(|string| string.len()).max().unwrap_or(0),
        };
        automaton.grow(&sorted);
        automaton.link();
        let root = automaton.states[0];
        let from = root.child as usize;
        automaton.lasts = automaton.bytes[from..from + usize::from(root.children)].to_vec();
        Some(automaton)
    }

    /// Build the trie level by level: a state is a range of the sorted strings.
    fn grow(&mut self, sorted: &Sorted) {
        let mut level = vec![(0, sorted.numbers.len())];
        let mut depth = 0;
        while !level.is_empty() {
            let mut below = Vec::new();
            for (mut from, to) in level {
                // The string that ends at this state is the first of its range.
                let ends = from < to && sorted.get(from).len() == depth;
                let child = self.bytes.len();
                let string = match ends {
                    true => sorted.numbers[from],
                    false => NONE,
                };
                from += usize::from(ends);
                while from < to {
                    let byte = sorted.get(from)[depth];
                    let same = (from..to).take_while(|&at| sorted.get(at)[depth] == byte);
                    let end = from + same.count();
                    self.bytes.push(byte);
                    below.push((from, end));
                    from = end;
                }
                self.states.push(State {
                    child: child as u32,
                    children: (self.bytes.len() - child) as u16,
                    byte: self.bytes.get(child).copied().unwrap_or(0),
                    suffix: 0,
                    string,
                });
            }
            level = below;
            depth += 1;
        }
    }

    /// Set suffixes breadth first: a state's suffix is nearer to the root than the state.
    fn link(&mut self) {
        for number in 0..self.states.len() {
            let state = self.states[number];
            let children = state.child..state.child + u32::from(state.children);
            for child in children.clone() {
                let suffix = match number {
                    0 => 0,
                    _ => self.next(state.suffix, self.bytes[child as usize]),
                };
                let longest = self.states[suffix as usize].string;
                let child = &mut self.states[child as usize];
                child.suffix = suffix;
                if child.string == NONE {
                    child.string = longest;
                }
            }
            if number < ROWS {
                let mut row = match number {
                    0 => [0; 256],
                    _ => self.rows[state.suffix as usize],
                };
                for child in children {
                    row[usize::from(self.bytes[child as usize])] = child;
                }
                self.rows.push(row);
            }
        }
    }

    /// Return the state after `byte`: the state of the longest suffix of the bytes read.
    #[inline]
    fn next(&self, mut number: u32, byte: u8) -> u32 {
        loop {
            if let Some(row) = self.rows.get(number as usize) {
                return row[usize::from(byte)];
            }
            let state = &self.states[number as usize];
            match state.children {
                0 => {}
                1 if state.byte == byte => return state.child,
                1 => {}
                children => {
                    let from = state.child as usize;
                    let labels = &self.bytes[from..from + usize::from(children)];
                    if let Some(at) = position(labels, byte) {
                        return (from + at) as u32;
                    }
                }
            }
            number = state.suffix;
        }
    }

    /// Return the offset after the last byte of `text` that may be the last byte of a string, or 0.
    fn last_byte(&self, text: &[u8]) -> usize {
        let at = match self.lasts[..] {
            [] => None,
            [a] => memrchr(a, text),
            [a, b] => memrchr2(a, b, text),
            [a, b, c] => memrchr3(a, b, c, text),
            _ => return text.len(),
        };
        at.map_or(0, |at| at + 1)
    }

    /// Find matches leftmost first, longest first, without overlap: start, end and number of each
    /// match.
    pub fn find<'t>(&'t self, text: &'t [u8]) -> Matches<'t> {
        Matches {
            automaton: self,
            text,
            starts: Vec::new(),
            scanned: 0,
            at: 0,
        }
    }

    /// Return, for each string, the number of the longest other string that is a prefix of it, or
    /// [`NONE`].
    pub fn beginnings(&self, strings: &[&[u8]]) -> Vec<u32> {
        let mut order: Vec<u32> = (0..strings.len() as u32).collect();
        order.sort_by_key(|&number| strings[number as usize]);
        let mut found = vec![NONE; strings.len()];
        let mut open: Vec<u32> = Vec::new();
        for number in order {
            let text = strings[number as usize];
            while let Some(&last) = open.last() {
                let before = strings[last as usize];
                if text.starts_with(before) && text.len() > before.len() {
                    break;
                }
                open.pop();
            }
            if let Some(&last) = open.last() {
                found[number as usize] = last;
            }
            if !text.is_empty() {
                open.push(number);
            }
        }
        found
    }

    /// Find the longest matches first, wherever they are; of equally long ones, the leftmost.
    ///
    /// Matches don't overlap, and come in text order. `beginnings` is the result of
    /// [`LongestStarts::beginnings`].
    pub fn find_longest<'t>(&'t self, text: &'t [u8], beginnings: &'t [u32]) -> Longest<'t> {
        Longest {
            all: self.find(text),
            beginnings,
            next: None,
            ready: Vec::new(),
        }
    }

    /// Return the length of the longest string in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Return the length of a string in bytes.
    pub(crate) fn length(&self, number: u32) -> usize {
        self.lengths[number as usize] as usize
    }

    /// Append every offset in `from..to` where a string starts, with the longest string's number,
    /// last offset first.
    pub(crate) fn starts(
        &self,
        text: &[u8],
        from: usize,
        to: usize,
        found: &mut Vec<(usize, u32)>,
    ) {
        let mut state = 0;
        let mut at = text.len().min(to.saturating_add(self.longest));
        while at > from {
            if state == 0 {
                at = from + self.last_byte(&text[from..at]);
                if at == from {
                    break;
                }
            }
            at -= 1;
            state = self.next(state, text[at]);
            let string = self.states[state as usize].string;
            if string != NONE && at < to {
                found.push((at, string));
            }
        }
    }
}

/// The reversed strings, sorted and concatenated, without duplicates.
struct Sorted {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    numbers: Vec<u32>,
}

impl Sorted {
    fn new(strings: &[&[u8]]) -> Self {
        // Most pairs of strings differ in the last eight bytes.
        let key = |string: &[u8]| {
            let last = string.iter().rev().copied().chain(std::iter::repeat(0));
            last.take(8).fold(0, |key, byte| key << 8 | u64::from(byte))
        };
        let backwards = |number: u32| strings[number as usize].iter().rev();
        let mut order: Vec<(u64, u32)> = (0..).zip(strings).map(|(n, s)| (key(s), n)).collect();
        order.sort_unstable_by(|a, b| {
            let whole = || backwards(a.1).cmp(backwards(b.1));
            a.0.cmp(&b.0).then_with(whole).then(a.1.cmp(&b.1))
        });
        let text = |entry: &(u64, u32)| strings[entry.1 as usize];
        order.dedup_by(|later, first| text(later) == text(first));
        order.retain(|entry| !text(entry).is_empty());
        let mut sorted = Sorted {
            bytes: Vec::new(),
            ends: vec![0],
            numbers: order.iter().map(|entry| entry.1).collect(),
        };
        for entry in &order {
            sorted.bytes.extend(text(entry).iter().rev());
            sorted.ends.push(sorted.bytes.len());
        }
        sorted
    }

    fn get(&self, at: usize) -> &[u8] {
        &self.bytes[self.ends[at]..self.ends[at + 1]]
    }
}

/// Return the index of `byte` in sorted labels.
///
/// Halves the range down to 8 labels, then searches one by one: most states have few children.
#[inline]
fn position(mut sorted: &[u8], byte: u8) -> Option<usize> {
    let mut skipped = 0;
    while sorted.len() > 8 {
        let middle = sorted.len() / 2;
        if sorted[middle] <= byte {
            skipped += middle;
            sorted = &sorted[middle..];
        } else {
            sorted = &sorted[..middle];
        }
    }
    let at = sorted.iter().position(|&label| label == byte)?;
    Some(skipped + at)
}

/// Bytes of text scanned at once; more if strings are longer.
pub(crate) const BLOCK: usize = 1 << 16;

/// Iterator of [`LongestStarts::find`].
pub struct Matches<'t> {
    automaton: &'t LongestStarts,
    text: &'t [u8],
    /// Matches of the current block that are not returned yet, last first.
    starts: Vec<(usize, u32)>,
    /// Offset up to which the text has been scanned.
    scanned: usize,
    /// Offset after the last match.
    at: usize,
}

impl Matches<'_> {
    /// Return the next offset where a string starts, with the longest string's number.
    ///
    /// Such matches may overlap.
    fn next_start(&mut self) -> Option<(usize, u32)> {
        loop {
            if let Some(found) = self.starts.pop() {
                return Some(found);
            }
            if self.scanned >= self.text.len() || self.automaton.longest == 0 {
                return None;
            }
            let block = BLOCK.max(self.automaton.longest.saturating_mul(4));
            let from = self.scanned;
            self.scanned = self.text.len().min(from.saturating_add(block));
            self.automaton
                .starts(self.text, from, self.scanned, &mut self.starts);
        }
    }
}

/// Iterator of [`LongestStarts::find_longest`], which handles one stretch of overlapping strings at
/// a time.
pub struct Longest<'t> {
    all: Matches<'t>,
    beginnings: &'t [u32],
    /// First match of the next stretch.
    next: Option<(usize, u32)>,
    /// Chosen matches of the stretch that are not returned yet, last first.
    ready: Vec<(usize, usize, u32)>,
}

impl Longest<'_> {
    /// Choose among the strings of the next stretch.
    ///
    /// Returns false if no stretch is left.
    fn choose(&mut self) -> bool {
        let Some((mut start, mut number)) = self.next.take().or_else(|| self.all.next_start())
        else {
            return false;
        };
        let mut strings = Vec::new();
        let mut end = start;
        loop {
            end = end.max(start + self.all.automaton.length(number));
            let mut one = number;
            while one != NONE {
                strings.push((Reverse(self.all.automaton.length(one)), start, one));
                one = self.beginnings[one as usize];
            }
            match self.all.next_start() {
                Some(found) if found.0 < end => (start, number) = found,
                found => {
                    self.next = found;
                    break;
                }
            }
        }
        strings.sort_unstable();
        let mut taken: BTreeMap<usize, (usize, u32)> = BTreeMap::new();
        for (Reverse(length), start, number) in strings {
            let end = start + length;
            let before = taken.range(..end).next_back();
            if before.is_none_or(|(_, &(before, _))| before <= start) {
                taken.insert(start, (end, number));
            }
        }
        let taken = taken.into_iter().rev();
        self.ready = taken.map(|(start, (end, n))| (start, end, n)).collect();
        true
    }
}

impl Iterator for Longest<'_> {
    type Item = (usize, usize, u32);

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() {
            if !self.choose() {
                return None;
            }
        }
        self.ready.pop()
    }
}

impl Iterator for Matches<'_> {
    type Item = (usize, usize, u32);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            while let Some((start, number)) = self.starts.pop() {
                if start >= self.at {
                    self.at = start + self.automaton.lengths[number as usize] as usize;
                    return Some((start, self.at, number));
                }
            }
            // A match may have reached into the next block.
            let from = self.scanned.max(self.at);
            if from >= self.text.len() || self.automaton.longest == 0 {
                return None;
            }
            // At most a quarter is scanned twice: the length of the longest string behind each
            // block.
            let block = BLOCK.max(self.automaton.longest.saturating_mul(4));
            self.scanned = self.text.len().min(from.saturating_add(block));
            self.automaton
                .starts(self.text, from, self.scanned, &mut self.starts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random_below;

    /// Find matches by trying every string at every offset.
    fn slow(strings: &[&[u8]], text: &[u8]) -> Vec<(usize, usize, u32)> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let starts = |number: &usize| {
                !strings[*number].is_empty() && text[at..].starts_with(strings[*number])
            };
            // Of equal lengths `max_by_key` takes the last, so go backwards.
            let numbers = (0..strings.len()).rev().filter(starts);
            match numbers.max_by_key(|&number| strings[number].len()) {
                Some(number) => {
                    let end = at + strings[number].len();
                    found.push((at, end, number as u32));
                    at = end;
                }
                None => at += 1,
            }
        }
        found
    }

    #[test]
    fn matches_are_those_of_the_slow_search() {
        let mut below = random_below(3);
        for _ in 0..3000 {
            let letters = 1 + below(3);
            let mut word = |longest: usize| -> Vec<u8> {
                (0..below(longest))
                    .map(|_| b'a' + below(letters) as u8)
                    .collect()
            };
            let strings: Vec<Vec<u8>> = (0..12).map(|_| word(7)).collect();
            let text = word(40);
            let strings: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
            let automaton = LongestStarts::new(&strings).unwrap();
            let found: Vec<_> = automaton.find(&text).collect();
            assert_eq!(found, slow(&strings, &text), "{strings:?} in {text:?}");
        }
    }

    #[test]
    fn every_byte_can_follow_every_byte() {
        let pairs: Vec<[u8; 2]> = (0..=u16::MAX).map(u16::to_be_bytes).collect();
        let strings: Vec<&[u8]> = pairs.iter().map(|pair| pair.as_slice()).collect();
        let automaton = LongestStarts::new(&strings).unwrap();
        let text: Vec<u8> = pairs.concat();
        assert!(automaton.find(&text).map(|found| found.2).eq(0..=65_535));
    }

    #[test]
    fn blocks_do_not_show() {
        let long = vec![b'x'; 70_000];
        let strings: [&[u8]; 3] = [b"xy", &long, b"yx"];
        let automaton = LongestStarts::new(&strings).unwrap();
        let text = [&b"y"[..], &long, b"yx", &long[..69_999], b"y", &long, &long].concat();
        let numbers: Vec<u32> = automaton.find(&text).map(|found| found.2).collect();
        assert_eq!(numbers, [2, 0, 1, 2, 1]);
        let pairs = [b"xy".repeat(BLOCK), b"z".to_vec()].concat();
        assert_eq!(automaton.find(&pairs).count(), BLOCK);
    }

    #[test]
    fn the_longest_first_wherever_it_stands() {
        let mut below = random_below(7);
        for _ in 0..3000 {
            let count = 1 + below(6);
            let mut draw = |most: usize| -> Vec<u8> {
                (0..below(most)).map(|_| b'a' + below(3) as u8).collect()
            };
            let strings: Vec<Vec<u8>> = (0..count).map(|_| draw(6)).collect();
            let text = draw(40);
            let mut strings: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
            strings.sort();
            strings.dedup();
            // Place one string after another, each from the left, in the gaps that longer ones
            // left.
            let mut order: Vec<usize> = (0..strings.len()).collect();
            order.retain(|&number| !strings[number].is_empty());
            let mut free = vec![true; text.len()];
            let mut expected = Vec::new();
            let mut lengths: Vec<usize> = order.iter().map(|&n| strings[n].len()).collect();
            lengths.sort();
            lengths.dedup();
            for &length in lengths.iter().rev() {
                for start in 0..text.len().saturating_sub(length - 1) {
                    let of = |&&n: &&usize| strings[n] == &text[start..start + length];
                    let range = start..start + length;
                    if let Some(&n) = order.iter().find(of) {
                        if free[range.clone()].iter().all(|free| *free) {
                            free[range].fill(false);
                            expected.push((start, start + length, n as u32));
                        }
                    }
                }
            }
            expected.sort();
            let automaton = LongestStarts::new(&strings).unwrap();
            let beginnings = automaton.beginnings(&strings);
            let found: Vec<_> = automaton.find_longest(&text, &beginnings).collect();
            assert_eq!(found, expected, "{strings:?} in {text:?}");
        }
    }

    #[test]
    fn long_near_misses_take_linear_time() {
        let near = [vec![b'a'; 20_000], b"b".to_vec()].concat();
        let strings: [&[u8]; 2] = [b"a", &near];
        let automaton = LongestStarts::new(&strings).unwrap();
        // 2 * 10^10 steps if every offset were followed to its end.
        let text = vec![b'a'; 1_000_000];
        assert_eq!(automaton.find(&text).count(), text.len());
    }
}
