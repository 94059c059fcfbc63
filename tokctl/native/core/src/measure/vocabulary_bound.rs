//! A number of tokens that no vocabulary of a given size can go below, on given pre-tokens.
//!
//! **The problem.** Symbols are free; `budget` strings of two symbols or more may be tokens. A
//! pre-token `w` that occurs `c` times costs `c` for each token of its shortest segmentation. To choose
//! the strings is NP-hard; ConvexTok (arXiv 2605.22821) relaxes it to a linear program.
//!
//! **The bound.** Give every string the same price `theta`, and let its occurrences in distinct
//! pre-tokens share it: the share of an occurrence is `lambda`, and those of a string add up to `theta`
//! at most. A vocabulary `S` that needs `T` tokens pays `T + theta * |S|`. The pre-tokens pay no less if
//! each may use any string, whether it is in `S` or not, for `c + lambda`. So
//!
//! `T >= sum over w of shortest(w, c + lambda) - theta * budget`
//!
//! for all prices and shares: each is a feasible solution of the linear program's dual, and the best is
//! its optimum. [`Candidates::ascend`] looks for good ones in floating point, where nothing has to be
//! exact; [`Candidates::certify`] computes the right side for what was found, in whole numbers, so that
//! the result is proven whatever was rounded before.
//!
//! **What keeps it linear.** Only strings that occur at two places or more have shares of their own. A
//! string with one place has the whole price there, and all longer ones from there on, too: they are one
//! edge to anywhere (`tail`). Where too many strings have shares, those of the rarest strings do not move:
//! they are in proportion to the counts of the pre-tokens.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use hashbrown::HashMap;

use super::fewest::character;
use crate::error::{Error, Result};
use crate::jobs::{groups, Jobs};
use crate::memory;

/// What a symbol of a pre-token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbols {
    Bytes,
    /// [`MARK`] is one, too.
    Characters,
    /// [`MARK`] belongs to the character before or after it.
    Marked,
}

/// Represents a word marker in pre-tokens of characters: no UTF-8 has this byte.
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

    /// Bytes of the first symbol of what is not empty.
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

    /// How many symbols a text has.
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

#[derive(Debug, Clone, Copy)]
pub struct BoundOptions {
    pub symbols: Symbols,
    /// How many strings of two symbols or more a vocabulary may have.
    pub budget: u64,
    /// Steps of the ascent.
    pub rounds: usize,
    /// Shares that may move are at most so many: more take memory, and give a better bound. With
    /// [`FIXED`] times as many strings at all their places, the linear program is left out.
    pub most_edges: usize,
    pub threads: usize,
}

/// Lower bounds on the tokens of all pre-tokens; the highest counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VocabularyBound {
    /// A pre-token takes one token, or two if it has two symbols or more and is not among the `budget`
    /// most frequent ones of those.
    pub frequent: u64,
    /// Is there surely a vocabulary that reaches the highest? Then nothing more was computed.
    pub is_reached: bool,
    /// The dual of the linear program; 0 where it says nothing, or was left out.
    pub linear: u64,
    /// Strings that occur at two places or more, at all of them; 0 where they were not needed, or too
    /// many.
    pub edges: u64,
}

/// Fractions of a token, of which the exact computation has whole numbers.
const SCALE: u64 = 1 << 20;
/// Shares that do not move are rounded to a little less, so that they never add up to more than 1:
/// rounding to 32 bits adds less than a tenth of that.
const BELOW: f64 = 1.0 - 1e-6;
/// No share is more: sums of them fit.
const MOST: f64 = (1u128 << 90) as f64;
/// See [`BoundOptions::most_edges`].
pub const FIXED: usize = 2;
/// The temperature of the smoothed shortest paths, in tokens, at the beginning and the end.
const HOT: f64 = 0.4;
/// The logarithm of what it falls by: to 0.005.
const COOLING: f32 = -4.382;
/// The last rounds are all at the lowest temperature: one of so many.
const LAST: usize = 6;
/// A step goes so much of the way that would be right if no other string moved.
const STEP: f32 = 0.3;
/// Edges that a thread takes at a time.
const GROUP: usize = 1 << 15;
const NONE: u32 = u32::MAX;

/// Called now and then, with the number of rounds done; false stops the work.
pub type Report<'r> = &'r mut dyn FnMut(u64) -> bool;

fn go_on(report: Report, rounds: usize) -> Result<()> {
    match report(rounds as u64) {
        true => Ok(()),
        false => Err(Error::Interrupted),
    }
}

/// See the module. `texts` are distinct, and each counts as often as `counts` says: from 1 up.
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
    // Then each may be a token of its own, or nothing may be but symbols.
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
    /// Where the symbols of each begin, and the last ones end.
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
        // Sums of counts then fit 64 bits, and places 32.
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

/// The strings that can be tokens, at the places where pre-tokens have them.
struct Candidates<'w> {
    words: &'w Words,
    /// Where the edges of each place begin: strings that begin there, of two symbols, three, and so on.
    first: Vec<usize>,
    /// Of each place the count of the shortest string that has no edge there; 0 where the pre-token
    /// ends before.
    tails: Vec<u64>,
    /// The share of each edge, as a part of the price.
    shares: Vec<Number>,
    /// Where each edge is among `places`; [`NONE`] for one whose share does not move.
    place_of: Vec<u32>,
    /// Where the edges of each string whose shares move begin in `places`.
    strings: Vec<usize>,
    /// The edges of each string, and the counts of their pre-tokens.
    places: Vec<(u32, f32)>,
    /// The shares of these edges once more, and how much of the pre-token's flow takes each: so nothing
    /// is read here and there in memory.
    own: Vec<Number>,
    parts: Vec<Number>,
    /// Of all strings.
    counts: Vec<u64>,
}

/// A number of 32 bits that threads may share.
#[derive(Default)]
struct Number(AtomicU32);

impl Number {
    fn get(&self) -> f32 {
        f32::from_bits(self.0.load(Ordering::Relaxed))
    }

    fn set(&self, number: f32) {
        self.0.store(number.to_bits(), Ordering::Relaxed);
    }

    /// So many zeros.
    fn zeros(count: usize) -> Result<Vec<Self>> {
        let mut zeros = Vec::new();
        memory::reserve(&mut zeros, count)?;
        zeros.resize_with(count, Number::default);
        Ok(zeros)
    }
}

/// One string on its way from level to level: its number of places, its count, its number.
#[derive(Default)]
struct Level {
    places: u32,
    count: u64,
    number: Option<u32>,
}

impl<'w> Candidates<'w> {
    /// None if there are too many.
    fn of(words: &'w Words, most: usize, report: Report) -> Result<Option<Self>> {
        let size = words.symbols.len();
        let mut word_of = Vec::new();
        memory::reserve(&mut word_of, size)?;
        for word in 0..words.counts.len() {
            word_of.resize(words.starts[word + 1], word as u32);
        }
        let mut tails = vec![0; size];
        let mut lengths = vec![0u32; size];
        // (place, string) by length.
        let mut found: Vec<(u32, u32)> = Vec::new();
        // Of each string its places and its count.
        let (mut sizes, mut counts): (Vec<u32>, Vec<u64>) = Default::default();
        // Strings go on from places where they are one symbol shorter.
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
        // Strings with so many places, or more, have shares that move.
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
        // Their numbers; from here on, no others have one.
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
        // Those of a place come by length.
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

    /// A price and shares whose bound is good. The dual is smoothed: a pre-token's flow takes all its
    /// segmentations, each with `exp(-cost / temperature)` as its weight. If a string alone moved, its
    /// best shares would be those with the same odds of being taken at all places, or with a share of
    /// 0 and lower odds. Every string goes part of that way, all at once, while it gets colder; the
    /// price follows the number of strings that the flow takes.
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

    /// A first guess: what is saved by the string that takes the last place of the budget, by count,
    /// if half of those before it are parts of others.
    fn first_price(&self, budget: u64) -> f64 {
        let mut counts = self.counts.clone();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let place = usize::try_from(budget.saturating_mul(2)).unwrap_or(usize::MAX);
        let last = counts.len().saturating_sub(1);
        counts
            .get(place.min(last))
            .map_or(1.0, |&count| count as f64)
    }

    /// The flow of a pre-token, where none has been yet. Returns its cost, not smoothed, and how many strings its flow takes.
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
        // From the end: what the rest costs from each place, or from the best later place.
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
            // The best place from here on is here, or further on.
            let best = smooth[at].min(from_here[at + 1]);
            let here = exp((best - smooth[at]) as f32 * cold);
            let later = exp((best - from_here[at + 1]) as f32 * cold);
            stays[at] = here / (here + later);
            from_here[at] = best - temperature * f64::from(ln(here + later));
            hard_from_here[at] = cost.min(hard_from_here[at + 1]);
        }
        // From the start: how much of the flow comes to each place, or to one from there on.
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

    /// What longer strings from a place on cost beyond a token, for each time that the pre-token
    /// occurs; None where it has none.
    fn tail(&self, place: usize, theta: f64) -> Option<f64> {
        let count = self.tails[place];
        (count > 0).then(|| theta / count as f64)
    }

    /// Moves the shares of a string, which add up to 1 again, and takes its flow away.
    fn share(&self, string: usize, step: f32, moved: &mut Vec<(f32, f32)>) {
        let (places, own) = (self.places_of(string), &self.own[self.range(string)]);
        let parts = &self.parts[self.range(string)];
        // Else all odds are the same.
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
        // The level at which what is above 0 adds up to 1; it only rises.
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
            // Where nothing is above 0, `next` is no number, and not greater.
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

    /// The bound that a price and shares prove, in whole numbers. Shares that add up to more than the
    /// price count against it.
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
        // A number of tokens is whole.
        let bound = sum.saturating_sub(against).div_ceil(SCALE.into());
        Ok(u64::try_from(bound).unwrap_or(u64::MAX))
    }
}

/// Working memory for the flow of a pre-token: a number for each place, and the end.
#[derive(Default)]
struct Flow {
    /// What the rest costs, smoothed and not.
    smooth: Vec<f64>,
    hard: Vec<f64>,
    /// The same from the best place from here on.
    from_here: Vec<f64>,
    hard_from_here: Vec<f64>,
    /// How much goes on by one symbol, and by the tail.
    odds: Vec<(f32, f32)>,
    /// What the weights of edges are to be multiplied by.
    sums: Vec<f32>,
    /// How much of what may go to any place from here on stays here.
    stays: Vec<f32>,
    /// What the edges of a place cost, each with the rest.
    costs: Vec<f64>,
    /// The weight of each edge of the pre-token.
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

// The system's `exp` and `ln` differ from machine to machine; these give the same bound on all, and
// faster. Their errors, about 1e-6, only make the ascent a little worse.

/// `exp` of what is not above 0.
fn exp(x: f32) -> f32 {
    // As little as `log_odds` can tell from nothing.
    if x < LEAST_ODDS {
        return 0.0;
    }
    // Rounds to a whole number: a number that large has no other places.
    const WHOLE: f32 = 12_582_912.0;
    let power = (x * std::f32::consts::LOG2_E + WHOLE) - WHOLE;
    let rest = x - power * std::f32::consts::LN_2;
    // A Taylor series for |rest| < 0.35.
    let series =
        1.0 + rest * (1.0 + rest * (0.5 + rest * (1.0 / 6.0 + rest * (1.0 / 24.0 + rest / 120.0))));
    series * f32::from_bits(((127 + power as i32) as u32) << 23)
}

/// The natural logarithm of a number above 0.
fn ln(x: f32) -> f32 {
    let bits = x.to_bits() as i32 - 0x3F35_04F3; // of the square root of 1/2
    let power = bits >> 23;
    let rest = f32::from_bits(((bits & 0x007F_FFFF) + 0x3F35_04F3) as u32);
    let s = (rest - 1.0) / (rest + 1.0);
    let square = s * s;
    let series = 2.0 * s * (1.0 + square * (1.0 / 3.0 + square * (0.2 + square / 7.0)));
    series + power as f32 * std::f32::consts::LN_2
}

/// Of one in a billion.
const LEAST_ODDS: f32 = -20.7;

/// The logarithm of `part / (1 - part)`, but not beyond what very small and very large parts give.
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
        // With three tokens the six pre-tokens of 15 symbols take 9 tokens.
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
