//! A lower bound on the tokens of given pre-tokens, for every vocabulary of a given size.
//!
//! **The problem.** Symbols are free; `budget` strings of at least two symbols may be tokens. A
//! pre-token `w` that occurs `c` times costs `c` for each token of its shortest segmentation.
//! Choosing the strings is NP-hard; ConvexTok (arXiv 2605.22821) relaxes the choice to a linear
//! program.
//!
//! **The bound.** Give every string the same price `theta`, and let its occurrences in distinct
//! pre-tokens share the price: the share of an occurrence is `lambda`, and the shares of a string
//! add up to at most `theta`. A vocabulary `S` that needs `T` tokens pays `T + theta * |S|`. The
//! pre-tokens pay no more than this if each may use any string, in `S` or not, for `c + lambda`. So
//!
//! `T >= sum over w of shortest(w, c + lambda) - theta * budget`
//!
//! for all prices and shares: each choice is a feasible solution of the linear program's dual, and
//! the best one is its optimum. [`Candidates::ascend`] searches for good ones in floating point,
//! where nothing has to be exact. [`Candidates::certify`] computes the right side for the result in
//! whole numbers, so that the bound is proven whatever was rounded before.
//!
//! **Linear time.** Only strings that occur at two or more positions have shares of their own. A
//! string with one position has the whole price there, and so have all longer strings from that
//! position: they form one edge to any later position (`tail`). If too many strings have shares,
//! the shares of the rarest strings are fixed in proportion to the counts of the pre-tokens.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use hashbrown::HashMap;

use super::fewest::character;
use crate::error::{Error, Result};
use crate::jobs::{groups, Jobs};
use crate::memory;

/// Kind of symbol that a pre-token consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbols {
    Bytes,
    /// Characters; [`MARK`] is a symbol, too.
    Characters,
    /// Characters; [`MARK`] belongs to the character before or after it.
    Marked,
}

/// Byte that represents a word marker in pre-tokens of characters; it never occurs in UTF-8.
pub const MARK: u8 = 0xFF;

impl Symbols {
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "bytes" => Ok(Symbols::Bytes),
            "characters" => Ok(Symbols::Characters),
            "marked" => Ok(Symbols::Marked),
            _ => Err(Error::Invalid(format!("no symbols are called {name}"))),
        }
    }

    /// Return the length in bytes of the first symbol of a text, which must not be empty.
    fn first(self, text: &[u8]) -> usize {
        match self {
            Symbols::Bytes => 1,
            Symbols::Characters => character(text),
            Symbols::Marked if text[0] == MARK && text.len() > 1 => 1 + character(&text[1..]),
            Symbols::Marked => {
                let length = character(text);
                length + usize::from(text.len() == length + 1 && text[length] == MARK)
            }
        }
    }

    /// Return the number of symbols of a text.
    #[cfg(test)]
    fn count(self, mut text: &[u8]) -> usize {
        let mut symbols = 0;
        while !text.is_empty() {
            text = &text[self.first(text)..];
            symbols += 1;
        }
        symbols
    }
}

/// Options of the bound.
#[derive(Debug, Clone, Copy)]
pub struct BoundOptions {
    pub symbols: Symbols,
    /// Maximum number of strings of at least two symbols in a vocabulary.
    pub budget: u64,
    /// Number of steps of the ascent.
    pub rounds: usize,
    /// Maximum number of shares that may move: more shares take memory, and give a better bound. If
    /// all positions of strings together exceed [`FIXED`] times this number, the linear program is
    /// skipped.
    pub most_edges: usize,
    pub threads: usize,
}

/// Lower bounds on the tokens of all pre-tokens; the highest one counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VocabularyBound {
    /// Bound from counts alone: a pre-token takes one token, or two if it has at least two symbols
    /// and is not among the `budget` most frequent of such pre-tokens.
    pub frequent: u64,
    /// Whether some vocabulary surely reaches the highest bound; nothing more was computed then.
    pub is_reached: bool,
    /// Bound from the dual of the linear program; 0 if it says nothing, or was skipped.
    pub linear: u64,
    /// Number of positions of strings that occur at two or more positions; 0 if they were not
    /// needed, or too many.
    pub edges: u64,
}

/// Parts of a token in the exact computation, which uses whole numbers.
const SCALE: u64 = 1 << 20;
/// Factor of fixed shares, so that their sum never exceeds 1: rounding to 32 bits adds less than a
/// tenth of the difference.
const BELOW: f64 = 1.0 - 1e-6;
/// Upper bound of a scaled share, so that sums can't overflow.
const MOST: f64 = (1u128 << 90) as f64;
/// See [`BoundOptions::most_edges`].
pub const FIXED: usize = 2;
/// Initial temperature of the smoothed shortest paths, in tokens.
const HOT: f64 = 0.4;
/// Logarithm of the factor by which the temperature falls, to 0.005 tokens.
const COOLING: f32 = -4.382;
/// Inverse of the share of rounds at the lowest temperature; these rounds come last.
const LAST: usize = 6;
/// Part of a step that would be right if no other string moved.
const STEP: f32 = 0.3;
/// Number of edges that a thread takes at a time.
const GROUP: usize = 1 << 15;
const NONE: u32 = u32::MAX;

/// Callback that receives the number of rounds done from time to time; false stops the work.
pub type Report<'r> = &'r mut dyn FnMut(u64) -> bool;

fn go_on(report: Report, rounds: usize) -> Result<()> {
    match report(rounds as u64) {
        true => Ok(()),
        false => Err(Error::Interrupted),
    }
}

/// Compute the lower bounds: see the module. `texts` must be distinct, and each has a count of at
/// least 1.
pub fn vocabulary_bound<T: AsRef<[u8]>>(
    texts: &[T],
    counts: &[u64],
    options: &BoundOptions,
    report: Report,
) -> Result<VocabularyBound> {
    let words = Words::new(texts, counts, options.symbols)?;
    let mut bound = VocabularyBound::default();
    let mut several: Vec<u64> = Vec::new();
    for (word, &count) in words.counts.iter().enumerate() {
        bound.frequent += count;
        match words.range(word).len() {
            0 => bound.frequent -= count,
            1 => {}
            _ => several.push(count),
        }
    }
    several.sort_unstable_by(|a, b| b.cmp(a));
    let budget = usize::try_from(options.budget).unwrap_or(usize::MAX);
    bound.frequent += several.iter().skip(budget).sum::<u64>();
    // Either each of them can be a token, or only symbols can.
    if several.len() <= budget {
        bound.is_reached = true;
        return Ok(bound);
    }
    if budget == 0 {
        let all = (0..words.counts.len()).map(|w| words.counts[w] * words.range(w).len() as u64);
        bound.linear = all.sum();
        bound.is_reached = true;
        return Ok(bound);
    }
    if let Some(candidates) = Candidates::of(&words, options.most_edges, report)? {
        let (theta, shares) = candidates.ascend(options, report)?;
        bound.linear = candidates.certify(options, theta, &shares, report)?;
        bound.edges = candidates.shares.len() as u64;
    }
    Ok(bound)
}

/// Distinct pre-tokens as numbered symbols.
struct Words {
    counts: Vec<u64>,
    symbols: Vec<u32>,
    /// Start of the symbols of each pre-token, and the end of the last one.
    starts: Vec<usize>,
}

impl Words {
    fn new<T: AsRef<[u8]>>(texts: &[T], counts: &[u64], symbols: Symbols) -> Result<Self> {
        let mut words = Words {
            counts: counts.to_vec(),
            symbols: Vec::new(),
            starts: vec![0],
        };
        let mut numbers: HashMap<&[u8], u32> = HashMap::new();
        let mut most = 0u64;
        for (text, &count) in texts.iter().zip(counts) {
            let mut rest = text.as_ref();
            while !rest.is_empty() {
                let (symbol, after) = rest.split_at(symbols.first(rest));
                let next = numbers.len() as u32;
                words.symbols.push(*numbers.entry(symbol).or_insert(next));
                rest = after;
            }
            words.starts.push(words.symbols.len());
            let length = text.as_ref().len() as u64;
            most = most.saturating_add(count.saturating_mul(length + 1));
        }
        // Sums of counts then fit 64 bits, and positions 32 bits.
        if most >= 1 << 62 || words.symbols.len() >= NONE as usize {
            let why = "the text is too large for a lower bound on its tokens";
            return Err(Error::TooLarge(why.into()));
        }
        Ok(words)
    }

    fn range(&self, word: usize) -> Range<usize> {
        self.starts[word]..self.starts[word + 1]
    }
}

/// Strings that can be tokens, with their positions in pre-tokens. A position is an index in
/// `words.symbols`.
struct Candidates<'w> {
    words: &'w Words,
    /// First edge of each position, and the end of the last position's edges. The edges of a
    /// position are the repeated strings that start there: of two symbols, of three, and so on.
    first: Vec<usize>,
    /// Count of the shortest string without an edge, for each position where a string can start;
    /// 0 if the pre-token ends before.
    tails: Vec<u64>,
    /// Share of each edge, as a fraction of the price.
    shares: Vec<Number>,
    /// Index of each edge in `places`; [`NONE`] for an edge whose share is fixed.
    place_of: Vec<u32>,
    /// Start in `places` of the edges of each string with moving shares.
    strings: Vec<usize>,
    /// (edge, count of the pre-token), grouped by string.
    places: Vec<(u32, f32)>,
    /// Copies of the shares in the order of `places`, and the part of the pre-token's flow that
    /// takes each edge. The copies avoid scattered reads.
    own: Vec<Number>,
    parts: Vec<Number>,
    /// Counts of all strings.
    counts: Vec<u64>,
}

/// 32-bit float that threads may share.
#[derive(Default)]
struct Number(AtomicU32);

impl Number {
    fn get(&self) -> f32 {
        f32::from_bits(self.0.load(Ordering::Relaxed))
    }

    fn set(&self, number: f32) {
        self.0.store(number.to_bits(), Ordering::Relaxed);
    }

    /// Return `count` zeros.
    fn zeros(count: usize) -> Result<Vec<Self>> {
        let mut zeros = Vec::new();
        memory::reserve(&mut zeros, count)?;
        zeros.resize_with(count, Number::default);
        Ok(zeros)
    }
}

/// String that is extended symbol by symbol: number of positions, count, and number once assigned.
#[derive(Default)]
struct Level {
    places: u32,
    count: u64,
    number: Option<u32>,
}

impl<'w> Candidates<'w> {
    /// Collect the repeated strings, or return None if they have too many positions.
    fn of(words: &'w Words, most: usize, report: Report) -> Result<Option<Self>> {
        let size = words.symbols.len();
        let mut word_of = Vec::new();
        memory::reserve(&mut word_of, size)?;
        for word in 0..words.counts.len() {
            word_of.resize(words.starts[word + 1], word as u32);
        }
        let mut tails = vec![0; size];
        let mut lengths = vec![0u32; size];
        // (position, string), in the order of the strings' lengths.
        let mut found: Vec<(u32, u32)> = Vec::new();
        // Number of positions and count of each string.
        let (mut sizes, mut counts): (Vec<u32>, Vec<u64>) = Default::default();
        // A string can only continue where it occurs without its last symbol.
        let mut active: Vec<(u32, u32)> = (0..).zip(words.symbols.iter().copied()).collect();
        let mut length = 1;
        while !active.is_empty() {
            go_on(report, 0)?;
            let key = |&(place, string): &(u32, u32)| {
                let next = place as usize + length;
                let inside = next < words.starts[word_of[place as usize] as usize + 1];
                inside.then(|| (string, words.symbols[next]))
            };
            let mut level: HashMap<(u32, u32), Level> = HashMap::new();
            for at in &active {
                if let Some(key) = key(at) {
                    let entry = level.entry(key).or_default();
                    entry.places += 1;
                    entry.count += words.counts[word_of[at.0 as usize] as usize];
                }
            }
            let mut next = Vec::new();
            for at in &active {
                let Some(entry) = key(at).and_then(|key| level.get_mut(&key)) else {
                    continue;
                };
                if entry.places < 2 {
                    tails[at.0 as usize] = entry.count;
                    continue;
                }
                let number = *entry.number.get_or_insert_with(|| {
                    sizes.push(entry.places);
                    counts.push(entry.count);
                    sizes.len() as u32 - 1
                });
                lengths[at.0 as usize] += 1;
                next.push((at.0, number));
            }
            if found.len() + next.len() > most.saturating_mul(FIXED) {
                return Ok(None);
            }
            memory::reserve(&mut found, next.len())?;
            found.extend_from_slice(&next);
            active = next;
            length += 1;
        }
        let mut first = Vec::new();
        memory::reserve(&mut first, size + 1)?;
        first.push(0);
        for length in &lengths {
            first.push(first[first.len() - 1] + *length as usize);
        }
        // Shares move for strings with at least `least` positions.
        let mut by_places: Vec<u32> = sizes.clone();
        by_places.sort_unstable_by(|a, b| b.cmp(a));
        let (mut moving, mut least) = (0, 2);
        for &places in &by_places {
            moving += places as usize;
            if moving > most {
                least = places + 1;
                break;
            }
        }
        // Numbers of the strings with moving shares; all others lose their number.
        let mut strings = vec![0];
        for size in &mut sizes {
            let places = std::mem::replace(size, NONE);
            if places >= least {
                *size = strings.len() as u32 - 1;
                strings.push(strings[strings.len() - 1] + places as usize);
            }
        }
        let moving = strings[strings.len() - 1];
        let mut places = Vec::new();
        memory::reserve(&mut places, moving)?;
        places.resize(moving, (0, 0.0));
        let mut place_of = Vec::new();
        memory::reserve(&mut place_of, found.len())?;
        place_of.resize(found.len(), NONE);
        let (shares, own) = (Number::zeros(found.len())?, Number::zeros(moving)?);
        let mut filled = strings.clone();
        // Edges of one position come in the order of their lengths.
        let mut next = first.clone();
        for &(place, string) in &found {
            let edge = &mut next[place as usize];
            let count = words.counts[word_of[place as usize] as usize];
            let share = (count as f64 / counts[string as usize] as f64 * BELOW) as f32;
            shares[*edge].set(share);
            let number = sizes[string as usize];
            if number != NONE {
                let to = &mut filled[number as usize];
                places[*to] = (*edge as u32, count as f32);
                place_of[*edge] = *to as u32;
                own[*to].set(share);
                *to += 1;
            }
            *edge += 1;
        }
        Ok(Some(Candidates {
            words,
            first,
            tails,
            shares,
            place_of,
            strings,
            places,
            own,
            parts: Number::zeros(moving)?,
            counts,
        }))
    }

    fn string_count(&self) -> usize {
        self.strings.len() - 1
    }

    fn range(&self, string: usize) -> Range<usize> {
        self.strings[string]..self.strings[string + 1]
    }

    fn places_of(&self, string: usize) -> &[(u32, f32)] {
        &self.places[self.range(string)]
    }

    /// Return a price and shares that give a good bound.
    ///
    /// The dual is smoothed: a pre-token's flow takes all its segmentations, each with the weight
    /// `exp(-cost / temperature)`. If a single string moved, its best shares would give equal odds
    /// of being taken at all positions, or a share of 0 with lower odds. In each round every string
    /// goes part of that way, and the temperature falls. The price follows the number of strings
    /// that the flow takes.
    fn ascend(&self, options: &BoundOptions, report: Report) -> Result<(f64, Vec<f32>)> {
        let lengths = |word| self.words.range(word);
        let by_edges = (0..self.words.counts.len()).map(|word| {
            let range = lengths(word);
            range.len() + self.first[range.end] - self.first[range.start]
        });
        let words = groups(by_edges, GROUP);
        let strings = groups(
            (0..self.string_count()).map(|string| self.places_of(string).len()),
            GROUP,
        );
        let budget = options.budget as f64;
        let mut theta = self.first_price(options.budget);
        let mut best = (f64::MIN, theta, Vec::new());
        let cooling = (options.rounds - options.rounds / LAST).max(1) as f64;
        for round in 0..=options.rounds {
            go_on(report, round)?;
            let cooled = (round as f64 / cooling).min(1.0);
            let temperature = HOT * f64::from(exp(COOLING * cooled as f32));
            let jobs = Jobs {
                count: words.len(),
                threads: options.threads,
            };
            let (mut cost, mut taken) = (0.0, 0.0);
            let flow = |flow: &mut Flow, words: Range<usize>| {
                let mut sums = (0.0, 0.0);
                for word in words {
                    let (cost, taken) = self.flow(word, theta, temperature, flow);
                    sums = (sums.0 + cost, sums.1 + taken);
                }
                sums
            };
            jobs.in_order(
                &|| false,
                Flow::default,
                |worker, number| Ok(flow(&mut worker.state, words[number].clone())),
                |_, sums| {
                    cost += sums.0;
                    taken += sums.1;
                    Ok(())
                },
            )?;
            let value = cost - theta * budget;
            if value > best.0 && (2 * round >= options.rounds) {
                best.0 = value;
                best.1 = theta;
                best.2.clear();
                memory::reserve(&mut best.2, self.shares.len())?;
                best.2.extend(self.shares.iter().map(Number::get));
            }
            if round == options.rounds {
                break;
            }
            let caution = 0.5 * (1.0 - cooled) + 0.02;
            let excess = f64::from(ln((taken / budget).max(1e-9) as f32));
            let change = (caution * excess).clamp(-1.0, 1.0) as f32;
            let change = if change < 0.0 {
                exp(change)
            } else {
                1.0 / exp(-change)
            };
            let next = (theta * f64::from(change)).max(1e-6);
            let jobs = Jobs {
                count: strings.len(),
                threads: options.threads,
            };
            let step = STEP * (temperature / next) as f32;
            jobs.in_order(
                &|| false,
                Vec::new,
                |worker, number| {
                    for string in strings[number].clone() {
                        self.share(string, step, &mut worker.state);
                    }
                    Ok(())
                },
                |_, ()| Ok(()),
            )?;
            theta = next;
        }
        Ok((best.1, best.2))
    }

    /// Return a first guess of the price: the count of string number `2 * budget`, from the most
    /// frequent down, as if half of the strings before it were parts of others.
    fn first_price(&self, budget: u64) -> f64 {
        let mut counts = self.counts.clone();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let place = usize::try_from(budget.saturating_mul(2)).unwrap_or(usize::MAX);
        let last = counts.len().saturating_sub(1);
        counts
            .get(place.min(last))
            .map_or(1.0, |&count| count as f64)
    }

    /// Compute the flow of a pre-token, and store the part of each moving edge, which must be 0
    /// before. Return the cost without smoothing, and the number of strings that the flow takes.
    fn flow(&self, word: usize, theta: f64, temperature: f64, flow: &mut Flow) -> (f64, f64) {
        let range = self.words.range(word);
        let (start, length) = (range.start, range.len());
        let count = self.words.counts[word] as f64;
        let (per_count, cold) = (theta / count, (1.0 / temperature) as f32);
        flow.clear(length);
        let Flow {
            smooth,
            hard,
            from_here,
            hard_from_here,
            odds,
            stays,
            costs,
            weights,
            ..
        } = flow;
        let edges = self.first[start];
        weights.clear();
        weights.resize(self.first[range.end] - edges, 0.0);
        // Backward: cost of the rest from each position, or from the best later position.
        (smooth[length], hard[length]) = (0.0, 0.0);
        (from_here[length], hard_from_here[length]) = (0.0, 0.0);
        stays[length] = 1.0;
        for at in (0..length).rev() {
            let own = self.first[start + at]..self.first[start + at + 1];
            let tail = self.tail(start + at, theta);
            let after = at + own.len() + 2;
            let mut least = 1.0 + smooth[at + 1];
            let mut cost = 1.0 + hard[at + 1];
            costs.clear();
            for (edge, to) in own.clone().zip(at + 2..) {
                let price = 1.0 + f64::from(self.shares[edge].get()) * per_count;
                costs.push(price + smooth[to]);
                least = least.min(price + smooth[to]);
                cost = cost.min(price + hard[to]);
            }
            if let Some(price) = tail {
                least = least.min(1.0 + price + from_here[after]);
                cost = cost.min(1.0 + price + hard_from_here[after]);
            }
            let weight = |cost: f64| exp((least - cost) as f32 * cold);
            let mut sum = weight(1.0 + smooth[at + 1]);
            odds[at] = (sum, 0.0);
            for (edge, &cost) in own.zip(costs.iter()) {
                let one = weight(cost);
                weights[edge - edges] = one;
                sum += one;
            }
            if let Some(price) = tail {
                odds[at].1 = weight(1.0 + price + from_here[after]);
                sum += odds[at].1;
            }
            odds[at] = (odds[at].0 / sum, odds[at].1 / sum);
            flow.sums[at] = 1.0 / sum;
            smooth[at] = least - temperature * f64::from(ln(sum));
            hard[at] = cost;
            // The best position from `at` on is `at` or a later one.
            let best = smooth[at].min(from_here[at + 1]);
            let here = exp((best - smooth[at]) as f32 * cold);
            let later = exp((best - from_here[at + 1]) as f32 * cold);
            stays[at] = here / (here + later);
            from_here[at] = best - temperature * f64::from(ln(here + later));
            hard_from_here[at] = cost.min(hard_from_here[at + 1]);
        }
        // Forward: part of the flow that comes to each position, or to any position from it on.
        let (comes, jumps) = (&mut flow.comes, &mut flow.jumps);
        let mut taken = 0.0;
        comes[0] = 1.0;
        for at in 0..length {
            comes[at] += jumps[at] * stays[at];
            jumps[at + 1] += jumps[at] * (1.0 - stays[at]);
            let own = self.first[start + at]..self.first[start + at + 1];
            let after = at + own.len() + 2;
            comes[at + 1] += comes[at] * odds[at].0;
            let here = comes[at] * flow.sums[at];
            for (edge, to) in own.zip(at + 2..) {
                let one = flow.weights[edge - edges];
                if one > 0.0 {
                    let part = here * one;
                    comes[to] += part;
                    taken += f64::from(self.shares[edge].get() * part);
                    let place = self.place_of[edge];
                    if place != NONE {
                        self.parts[place as usize].set(part);
                    }
                }
            }
            if let Some(price) = self.tail(start + at, theta) {
                let part = comes[at] * odds[at].1;
                jumps[after] += part;
                taken += price * count / theta * f64::from(part);
            }
        }
        (hard[0] * count, taken)
    }

    /// Return the price of the longer strings from a position beyond one token, per occurrence of
    /// the pre-token; None if there are no such strings.
    fn tail(&self, place: usize, theta: f64) -> Option<f64> {
        let count = self.tails[place];
        (count > 0).then(|| theta / count as f64)
    }

    /// Move the shares of a string, so that they add up to 1 again, and reset its flow to 0.
    fn share(&self, string: usize, step: f32, moved: &mut Vec<(f32, f32)>) {
        let (places, own) = (self.places_of(string), &self.own[self.range(string)]);
        let parts = &self.parts[self.range(string)];
        // Without any flow, all odds are equal.
        if parts.iter().all(|part| part.get() == 0.0) {
            return;
        }
        moved.clear();
        let (mut shares, mut slopes) = (0.0, 0.0);
        for (place, (own, part)) in places.iter().zip(own.iter().zip(parts)) {
            let slope = place.1 * step;
            let share = own.get() + slope * log_odds(part.get());
            part.set(0.0);
            moved.push((share, slope));
            shares += f64::from(share);
            slopes += f64::from(slope);
        }
        // The level at which the parts above 0 add up to 1. It only rises.
        let mut level = (shares - 1.0) / slopes;
        loop {
            (shares, slopes) = (0.0, 0.0);
            for &(share, slope) in &*moved {
                if f64::from(share) > level * f64::from(slope) {
                    shares += f64::from(share);
                    slopes += f64::from(slope);
                }
            }
            let next = (shares - 1.0) / slopes;
            // If nothing is above 0, `next` is not a number, and the comparison is false.
            if next > level + 1e-9 * level.abs().max(1.0) {
                level = next;
            } else {
                break;
            }
        }
        for (place, (own, &(share, slope))) in places.iter().zip(own.iter().zip(&*moved)) {
            let share = (share - (level * f64::from(slope)) as f32).max(0.0);
            self.shares[place.0 as usize].set(share);
            own.set(share);
        }
    }

    /// Return the bound that a price and shares prove, in whole numbers. Shares that add up to more
    /// than the price are subtracted.
    fn certify(
        &self,
        options: &BoundOptions,
        theta: f64,
        shares: &[f32],
        report: Report,
    ) -> Result<u64> {
        let scaled = |share: f64| (share * SCALE as f64).floor().clamp(0.0, MOST) as u128;
        let price = scaled(theta);
        let share = |edge: usize| scaled(theta * f64::from(shares[edge]));
        let mut against = price.saturating_mul(options.budget.into());
        for string in 0..self.string_count() {
            let places = self.places_of(string).iter();
            let all: u128 = places.map(|place| share(place.0 as usize)).sum();
            against = against.saturating_add(all.saturating_sub(price));
        }
        let mut sum = 0u128;
        let (mut least, mut from_here) = (Vec::new(), Vec::new());
        for (word, &count) in self.words.counts.iter().enumerate() {
            if (word + 1).is_multiple_of(1 << 14) {
                go_on(report, options.rounds)?;
            }
            let (range, count) = (self.words.range(word), u128::from(count));
            let length = range.len();
            let token = count * u128::from(SCALE);
            least.clear();
            least.resize(length + 1, 0u128);
            from_here.clear();
            from_here.resize(length + 1, 0u128);
            for at in (0..length).rev() {
                let place = range.start + at;
                let own = self.first[place]..self.first[place + 1];
                let after = at + own.len() + 2;
                let mut best = least[at + 1];
                for (edge, to) in own.zip(at + 2..) {
                    best = best.min(share(edge) + least[to]);
                }
                if self.tails[place] > 0 {
                    let part = count * price / u128::from(self.tails[place]);
                    best = best.min(part + from_here[after]);
                }
                least[at] = token + best;
                from_here[at] = least[at].min(from_here[at + 1]);
            }
            sum += least[0];
        }
        // The number of tokens is a whole number.
        let bound = sum.saturating_sub(against).div_ceil(SCALE.into());
        Ok(u64::try_from(bound).unwrap_or(u64::MAX))
    }
}

/// Working memory for the flow of a pre-token: a number for each position, and one for the end.
#[derive(Default)]
struct Flow {
    /// Cost of the rest, smoothed (`smooth`) and not (`hard`).
    smooth: Vec<f64>,
    hard: Vec<f64>,
    /// Cost from the best position from `at` on.
    from_here: Vec<f64>,
    hard_from_here: Vec<f64>,
    /// Parts of the flow that continue by one symbol, and by the tail.
    odds: Vec<(f32, f32)>,
    /// Factors of the edges' weights.
    sums: Vec<f32>,
    /// Part that stops at `at`, of the flow that may go to any position from `at` on.
    stays: Vec<f32>,
    /// Cost of each edge from a position, with the rest after it.
    costs: Vec<f64>,
    /// Weight of each edge of the pre-token.
    weights: Vec<f32>,
    comes: Vec<f32>,
    jumps: Vec<f32>,
}

impl Flow {
    fn clear(&mut self, length: usize) {
        let all = [
            &mut self.smooth,
            &mut self.hard,
            &mut self.from_here,
            &mut self.hard_from_here,
        ];
        for numbers in all {
            numbers.clear();
            numbers.resize(length + 1, 0.0);
        }
        self.odds.clear();
        self.odds.resize(length + 1, (0.0, 0.0));
        let all = [
            &mut self.sums,
            &mut self.stays,
            &mut self.comes,
            &mut self.jumps,
        ];
        for numbers in all {
            numbers.clear();
            numbers.resize(length + 2, 0.0);
        }
    }
}

// The system's `exp` and `ln` differ between machines; these functions give equal bounds
// everywhere, and are faster. Their errors, about 1e-6, only make the ascent slightly worse.

/// Return `exp(x)`; `x` must not be positive.
fn exp(x: f32) -> f32 {
    // Smaller results can't be distinguished by `log_odds`.
    if x < LEAST_ODDS {
        return 0.0;
    }
    // Adding this number rounds to a whole number: a float this large has no fraction bits.
    const WHOLE: f32 = 12_582_912.0;
    let power = (x * std::f32::consts::LOG2_E + WHOLE) - WHOLE;
    let rest = x - power * std::f32::consts::LN_2;
    // Taylor series for |rest| < 0.35.
    let series =
        1.0 + rest * (1.0 + rest * (0.5 + rest * (1.0 / 6.0 + rest * (1.0 / 24.0 + rest / 120.0))));
    series * f32::from_bits(((127 + power as i32) as u32) << 23)
}

/// Return the natural logarithm; `x` must be positive.
fn ln(x: f32) -> f32 {
    let bits = x.to_bits() as i32 - 0x3F35_04F3; // bits of the square root of 1/2
    let power = bits >> 23;
    let rest = f32::from_bits(((bits & 0x007F_FFFF) + 0x3F35_04F3) as u32);
    let s = (rest - 1.0) / (rest + 1.0);
    let square = s * s;
    let series = 2.0 * s * (1.0 + square * (1.0 / 3.0 + square * (0.2 + square / 7.0)));
    series + power as f32 * std::f32::consts::LN_2
}

/// Logarithm of the odds of one in a billion.
const LEAST_ODDS: f32 = -20.7;

/// Return the logarithm of `part / (1 - part)`, limited for very small and very large parts.
fn log_odds(part: f32) -> f32 {
    if part == 0.0 {
        return LEAST_ODDS;
    }
    let part = part.min(1.0 - 1e-6);
    ln(part / (1.0 - part)).max(LEAST_ODDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(words: &[(&str, u64)], budget: u64) -> VocabularyBound {
        let texts: Vec<&[u8]> = words.iter().map(|word| word.0.as_bytes()).collect();
        let counts: Vec<u64> = words.iter().map(|word| word.1).collect();
        let options = BoundOptions {
            symbols: Symbols::Bytes,
            budget,
            rounds: 100,
            most_edges: 1 << 20,
            threads: 1,
        };
        let bound = vocabulary_bound(&texts, &counts, &options, &mut |_| true).unwrap();
        for threads in [2, 3] {
            let options = BoundOptions { threads, ..options };
            let other = vocabulary_bound(&texts, &counts, &options, &mut |_| true).unwrap();
            assert_eq!(bound, other);
        }
        bound
    }

    #[test]
    fn the_example_of_convextok_is_solved() {
        // With three tokens, the six pre-tokens of 15 symbols take 9 tokens.
        let words = ["abc", "abd", "abe", "bc", "bd", "be"].map(|word| (word, 1));
        assert_eq!(bound(&words, 3).linear, 9);
    }

    #[test]
    fn nothing_is_computed_where_it_is_known() {
        let words = [("ab", 5), ("c", 7), ("", 3)];
        let known = bound(&words, 1);
        assert_eq!((known.frequent, known.is_reached), (12, true));
        assert_eq!(bound(&words, 0).linear, 17);
        assert_eq!(bound(&[], 0).frequent, 0);
    }

    #[test]
    fn fewer_shares_that_move_prove_less() {
        let words: Vec<(String, u64)> = (0..200)
            .map(|n: u64| (format!("{:b}", n * n % 1009), n % 17 + 1))
            .collect();
        let mut words: Vec<(&str, u64)> = words.iter().map(|w| (w.0.as_str(), w.1)).collect();
        words.sort_unstable();
        words.dedup_by_key(|word| word.0);
        let texts: Vec<&[u8]> = words.iter().map(|word| word.0.as_bytes()).collect();
        let counts: Vec<u64> = words.iter().map(|word| word.1).collect();
        let all = bound(&words, 20);
        let mut last = all;
        for most_edges in [all.edges, all.edges / 2, all.edges / 3, 1] {
            let options = BoundOptions {
                symbols: Symbols::Bytes,
                budget: 20,
                rounds: 100,
                most_edges: most_edges as usize,
                threads: 2,
            };
            let fewer = vocabulary_bound(&texts, &counts, &options, &mut |_| true).unwrap();
            assert_eq!(
                fewer.edges,
                if most_edges * 2 < all.edges {
                    0
                } else {
                    all.edges
                }
            );
            assert!(fewer.linear <= last.linear);
            assert_eq!(fewer.frequent, all.frequent);
            last = fewer;
        }
    }

    #[test]
    fn markers_belong_to_characters_where_they_are_fused() {
        let text = "\u{e9}t".as_bytes();
        let starts = [&[MARK], text].concat();
        let ends = [text, &[MARK]].concat();
        for (symbols, counts) in [
            (Symbols::Bytes, [3, 4, 4]),
            (Symbols::Characters, [2, 3, 3]),
            (Symbols::Marked, [2, 2, 2]),
        ] {
            assert_eq!(
                [text, &starts, &ends].map(|text| symbols.count(text)),
                counts
            );
        }
        assert_eq!(Symbols::Marked.count(&[MARK]), 1);
    }

    #[test]
    fn exp_and_ln_are_close() {
        for step in 0..2000 {
            let x = -(step as f32) / 100.0;
            assert!((exp(x) - x.exp()).abs() <= 1e-5 * x.exp(), "{x}");
            let y = 1e-6 * 1.01f32.powi(step % 3000);
            assert!((ln(y) - y.ln()).abs() <= 1e-4, "{y}");
        }
    }
}
