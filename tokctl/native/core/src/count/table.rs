//! What one thread has counted: short pre-tokens and long ones apart.

use hashbrown::DefaultHashBuilder;

use super::counts::Counts;
use super::long::Long;
use super::runs::Record;
use super::short::Short;
use super::tally::Tally;
use crate::error::{Error, Result};
use crate::packed::{Key, LONGEST};

/// Order of insertion is not kept: entries are sorted by their first places in the end. So
/// the hashers' random seeds can't show.
pub struct Table {
    short: Short,
    long: Long,
}

impl Table {
    /// Tables that will be merged share a hasher for long pre-tokens.
    pub fn with_hasher(hasher: DefaultHashBuilder) -> Self {
        Table {
            short: Short::new(),
            long: Long::with_hasher(hasher),
        }
    }

    pub fn add(&mut self, pre_token: &[u8], count: u64, first: u64) {
        match Key::short(pre_token) {
            Some(key) => self.short.add(key, count, first),
            None => self.long.add(pre_token, count, first),
        }
    }

    pub fn absorb(&mut self, other: &Table) {
        self.short.absorb(&other.short);
        self.long.absorb(&other.long);
    }

    pub fn is_empty(&self) -> bool {
        self.short.len() == 0 && self.long.entries().is_empty()
    }

    /// Does the table take more than `most` bytes, or will it soon, when it grows?
    pub fn is_full(&self, most: usize) -> bool {
        self.short.bytes_soon() + self.long.bytes() > most
    }

    /// Bytes that it takes to join such tables, about.
    pub fn bytes_together<'t>(tables: impl Iterator<Item = &'t Table> + Clone) -> usize {
        let bytes = tables.clone().map(|t| t.short.bytes() + t.long.bytes());
        let entries = tables.clone().map(|t| t.short.len()).sum();
        let long = tables.map(|t| t.long.bytes());
        bytes.sum::<usize>() + Short::bytes_of(entries) + long.sum::<usize>()
    }

    /// Sorts the entries by the bytes of the pre-tokens, for [`Self::sorted`]; nothing else can
    /// be done with them until the table is reset.
    pub fn sort(&mut self) {
        self.short.sort();
        self.long.sort();
    }

    /// Gives all entries, sorted by the bytes of the pre-tokens.
    pub fn sorted(&self, mut each: impl FnMut(Record) -> Result<()>) -> Result<()> {
        let mut long = self.long.entries().iter().peekable();
        let mut give_long_before = |bound: Option<&[u8]>, each: &mut dyn FnMut(Record) -> _| {
            while let Some(entry) =
                long.next_if(|entry| bound.is_none_or(|bound| self.long.text(entry) < bound))
            {
                each(Record {
                    text: self.long.text(entry),
                    count: entry.count,
                    first: entry.first,
                })?;
            }
            Ok::<_, Error>(())
        };
        for slot in self.short.sorted() {
            let (bytes, length) = slot.text();
            let text = &bytes[..length];
            give_long_before(Some(text), &mut each)?;
            let (count, first) = (slot.count, slot.first);
            each(Record { text, count, first })?;
        }
        give_long_before(None, &mut each)
    }

    /// Takes all entries out; room of more than `most` bytes is given back.
    pub fn reset(&mut self, most: usize) {
        self.short.reset(most);
        self.long.reset();
    }

    /// All counts of at least `min_count`, by first places.
    pub fn into_counts(self, min_count: u64) -> Counts {
        let Table { short, long } = self;
        let mut order = Vec::with_capacity(short.len() + long.entries().len());
        let mut length = 0;
        // Which table an entry is in and where it stands there are one number.
        for (at, slot) in short.slots() {
            if slot.count >= min_count {
                order.push((slot.first, 2 * at));
                length += slot.length();
            }
        }
        for (at, entry) in long.entries().iter().enumerate() {
            if entry.count >= min_count {
                order.push((entry.first, 2 * at + 1));
                length += long.text(entry).len();
            }
        }
        order.sort_unstable();
        let mut counts = Counts::with_capacity(order.len(), length);
        for (_, at) in order {
            if at % 2 == 0 {
                let slot = short.slot(at / 2);
                counts.push_with(slot.count, |text| slot.unpack(text));
            } else {
                let entry = &long.entries()[at / 2];
                counts.push(long.text(entry), entry.count);
            }
        }
        counts
    }
}

/// So many pre-tokens are looked up together.
const TOGETHER: usize = 32;

/// A table is looked at after so many rounds of these: is it full?
const ROUNDS: u32 = 512;

/// Adds the pre-tokens of a text, several at a time: the table is far larger than the
/// processor's cache, and looks at memory that don't wait for one another take the time of one.
pub struct Adder<'t> {
    tally: &'t mut Tally,
    text: &'t [u8],
    /// The place of the text.
    base: u64,
    /// What one occurrence counts.
    weight: u64,
    /// Short pre-tokens that are not yet added: their keys and where they start.
    waiting: [(Key, usize); TOGETHER],
    length: usize,
    /// Where each of them belongs, and the key that stands there.
    found: [(Key, usize); TOGETHER],
    /// Rounds until the table is looked at, and what went wrong then.
    rounds: u32,
    failed: Result<()>,
}

impl<'t> Adder<'t> {
    pub fn new(tally: &'t mut Tally, text: &'t [u8], base: u64, weight: u64) -> Self {
        Adder {
            tally,
            text,
            base,
            weight,
            waiting: [(Key::default(), 0); TOGETHER],
            length: 0,
            found: [(Key::default(), 0); TOGETHER],
            rounds: ROUNDS,
            failed: Ok(()),
        }
    }

    /// Adds `text[start..end]`. Places ascend: an entry that is there has an earlier one.
    #[inline]
    pub fn add(&mut self, start: usize, end: usize) {
        if !(1..=LONGEST).contains(&(end - start)) {
            let first = self.base + start as u64;
            let pre_token = &self.text[start..end];
            return self.tally.table.long.add(pre_token, self.weight, first);
        }
        self.waiting[self.length] = (Key::of_range(self.text, start, end), start);
        self.length += 1;
        if self.length == TOGETHER {
            self.flush();
            self.rounds -= 1;
            if self.rounds == 0 {
                self.rounds = ROUNDS;
                if self.failed.is_ok() {
                    self.failed = self.tally.check();
                }
            }
        }
    }

    /// Adds what waits. Within a limit of memory the table may be written to a run.
    pub fn finish(mut self) -> Result<()> {
        self.flush();
        self.failed?;
        self.tally.check()
    }

    fn flush(&mut self) {
        let waiting = &self.waiting[..std::mem::take(&mut self.length)];
        let short = &mut self.tally.table.short;
        for (found, &(key, _)) in self.found.iter_mut().zip(waiting) {
            let home = short.home(key);
            *found = (short.key_at(home), home);
        }
        let size = short.size();
        for (&(there, home), &(key, start)) in self.found.iter().zip(waiting) {
            // The table may have grown since.
            if there == key && short.size() == size {
                short.add_at(home, self.weight);
            } else {
                short.add(key, self.weight, self.base + start as u64);
            }
        }
    }
}
