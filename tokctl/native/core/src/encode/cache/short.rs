//! A hash table from short pre-tokens to ids: open addressing in buckets of one cache line.

use std::hint::select_unpredictable;
use std::mem::MaybeUninit;

#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::generations::{Generations, Place};
use super::CacheStats;
use crate::large_pages;
use crate::packed::{Key, Seeds};
#[cfg(target_arch = "x86_64")]
use crate::pretokenize::Level;

/// Number of ids that fit in a slot beside the key.
pub(crate) const INLINE: usize = 4;

/// Shift of the count of inline ids, 0 to [`INLINE`], in a slot's upper word.
///
/// The count takes three of the four bits that a [`Key`] leaves free in that word.
const COUNT_AT: u32 = 60;
/// Mask of the count of inline ids.
pub(super) const COUNT: u64 = 7 << COUNT_AT;
/// The fourth free bit: the ids are outside the slot, and `ids` holds generation, start and count.
///
/// No key that is looked up has this bit, so [`ShortTable::append_first_hits`] skips the slot.
const ELSEWHERE: u64 = 1 << 63;

/// A pre-token and its ids.
///
/// An empty slot has 0 in `high`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct KeySlot {
    low: u64,
    high: u64,
    pub ids: [u32; INLINE],
}

impl KeySlot {
    /// Return whether this slot holds `key`.
    fn is_of(&self, key: Key) -> bool {
        self.key() == key
    }

    /// Return whether this slot holds `key` and its ids are inline.
    #[inline(always)]
    fn has_ids_of(&self, key: Key) -> bool {
        (self.low ^ key.low) | (self.high ^ key.high) & !COUNT == 0
    }

    fn is_empty(&self) -> bool {
        self.high == 0
    }

    /// Return the number of inline ids; 0 if the ids are outside the slot.
    #[inline(always)]
    fn count(&self) -> usize {
        ((self.high & COUNT) >> COUNT_AT) as usize
    }

    fn key(&self) -> Key {
        Key {
            low: self.low,
            high: self.high & !(COUNT | ELSEWHERE),
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
pub(crate) struct Bucket([KeySlot; 2]);

/// Size limits of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShortLimits {
    /// Buckets at first, a power of two.
    pub first: usize,
    /// Buckets at most, a power of two.
    pub most: usize,
    /// Bytes of the ids outside slots, at most.
    pub elsewhere: usize,
}

/// Buckets probed before a pre-token counts as new.
const PROBES: usize = 8;
/// Buckets probed for a free slot when the table is full and can't grow.
///
/// More probes would put keys far from their first bucket, and slow down the search for keys that
/// are not in the table.
const PROBES_WHEN_FULL: usize = 2;

/// A table of short pre-tokens and their ids.
///
/// Entries are replaced, never removed.
#[derive(Debug)]
pub(crate) struct ShortTable {
    buckets: Vec<Bucket>,
    entries: usize,
    elsewhere: Generations<u32>,
    /// Buckets at most.
    most: usize,
}

/// Return the element that a hash selects; `places` has a power of two of elements.
#[inline(always)]
pub(crate) fn slot_of<T>(places: &[T], hash: u64) -> &T {
    &places[hash as usize & (places.len() - 1)]
}

impl ShortTable {
    pub fn new(limits: ShortLimits) -> Self {
        ShortTable {
            buckets: large_pages::table(limits.first, Bucket::default()),
            entries: 0,
            elsewhere: Generations::new(limits.elsewhere),
            most: limits.most,
        }
    }

    pub fn stats(&self) -> CacheStats {
        CacheStats {
            entries: self.entries,
            bytes: self.buckets.len() * size_of::<Bucket>() + self.elsewhere.bytes(),
        }
    }

    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// Append the ids of one key after another, and return the number of keys served.
    ///
    /// Stops at a key that is not in its first bucket or whose ids are outside the slot, and when
    /// `out` has no room for four ids.
    #[inline(always)]
    pub fn append_first_hits(&self, keys: &[Key], hashes: &[u64], out: &mut Vec<u32>) -> usize {
        #[cfg(target_arch = "x86_64")]
        if let Level::Avx512(has) = Level::get() {
            return avx512::append_first_hits(has, self, keys, hashes, out);
        }
        let mut found = 0;
        // A slice, not the vector, so that start and length stay in registers.
        let buckets = self.buckets.as_slice();
        let fours = keys.iter().zip(hashes).map_while(|(&key, &hash)| {
            let Bucket([first, second]) = slot_of(buckets, hash);
            // A branch on which slot matched would be mispredicted every other time.
            let slot = select_unpredictable(first.has_ids_of(key), first, second);
            slot.has_ids_of(key).then(|| {
                found += 1;
                (&slot.ids, slot.count())
            })
        });
        append_inline(out, fours);
        found
    }

    /// Return the ids of a key in its first bucket, if they are outside the slot and in the young
    /// generation.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn young_elsewhere(&self, Bucket(slots): &Bucket, key: Key) -> Option<&[u32]> {
        let high = key.high | ELSEWHERE;
        let slot = slots
            .iter()
            .find(|slot| (slot.low, slot.high) == (key.low, high))?;
        let [number, start, count, _] = slot.ids;
        let is_young = number == self.elsewhere.number();
        let place = Place { number, start };
        (self.elsewhere.get(place, count as usize)).filter(|_| is_young)
    }

    /// Return the ids of a key, inline or not.
    ///
    /// A key found outside its first bucket changes places with a key of that bucket that can still
    /// be found in the other one. So keys in frequent use move to where [`Self::append_first_hits`]
    /// finds them.
    pub fn find(&mut self, key: Key, hash: u64, seeds: Seeds) -> Option<&[u32]> {
        let mask = self.buckets.len() - 1;
        let home = hash as usize & mask;
        let mut found = None;
        for step in 0..PROBES {
            let at = (home + step) & mask;
            let Bucket(slots) = &self.buckets[at];
            if let Some(number) = slots.iter().position(|slot| slot.is_of(key)) {
                found = Some((at, number));
                break;
            }
            // An insertion would have used this free slot: slots are never freed.
            if slots[1].is_empty() {
                break;
            }
        }
        let (mut at, mut number) = found?;
        if at != home {
            let Bucket(slots) = self.buckets[home];
            let lives_here = |slot: &KeySlot| seeds.hash(slot.key()) as usize & mask == home;
            // The last slot was filled last, and its key may be the less frequent one.
            if let Some(other) = slots.iter().rposition(lives_here) {
                let Bucket(away) = &mut self.buckets[at];
                let slot = std::mem::replace(&mut away[number], slots[other]);
                self.buckets[home].0[other] = slot;
                (at, number) = (home, other);
            }
        }
        let slot = &mut self.buckets[at].0[number];
        if slot.high & ELSEWHERE == 0 {
            return Some(&slot.ids[..slot.count()]);
        }
        let [number, start, count, _] = &mut slot.ids;
        let mut place = Place {
            number: *number,
            start: *start,
        };
        self.elsewhere.renew(&mut place, *count as usize);
        (*number, *start) = (place.number, place.start);
        self.elsewhere.get(place, *count as usize)
    }

    /// Add a key, or replace its ids.
    ///
    /// `seeds` are the seeds that `hash` was made with.
    pub fn insert(&mut self, key: Key, hash: u64, ids: &[u32], seeds: Seeds) {
        if !self.elsewhere.can_hold(ids.len()) {
            return;
        }
        let mut slot = KeySlot {
            low: key.low,
            high: key.high,
            ids: [0; INLINE],
        };
        if let Some(inline) = slot.ids.get_mut(..ids.len()) {
            inline.copy_from_slice(ids);
            slot.high |= (ids.len() as u64) << COUNT_AT;
        } else {
            if !self.elsewhere.has_room(ids.len()) {
                self.elsewhere.turn();
            }
            let place = (self.elsewhere).add(ids.len(), |all| all.extend_from_slice(ids));
            slot.ids = [place.number, place.start, ids.len() as u32, 0];
            slot.high |= ELSEWHERE;
        }
        if self.is_full() && self.buckets.len() < self.most {
            self.grow(seeds);
        }
        self.place(slot, hash);
    }

    /// Return whether the table has reached its load limit: beyond it, too many keys are outside
    /// their first bucket.
    fn is_full(&self) -> bool {
        self.entries * 2 >= self.buckets.len() * 3
    }

    /// Write a slot to the first free slot or the old slot of its key.
    ///
    /// If none is probed, overwrite another key.
    fn place(&mut self, slot: KeySlot, hash: u64) {
        let mask = self.buckets.len() - 1;
        let probes = match self.is_full() {
            true => PROBES_WHEN_FULL,
            false => PROBES,
        };
        for step in 0..probes {
            let Bucket(slots) = &mut self.buckets[(hash as usize).wrapping_add(step) & mask];
            let free = |other: &&mut KeySlot| other.is_empty() || other.is_of(slot.key());
            if let Some(free) = slots.iter_mut().find(free) {
                self.entries += usize::from(free.is_empty());
                *free = slot;
                return;
            }
        }
        let Bucket(slots) = &mut self.buckets[hash as usize & mask];
        slots[(hash >> 63) as usize] = slot;
    }

    /// Grow fourfold while the table is small, then twofold: touching new memory costs more than
    /// rehashing.
    fn grow(&mut self, seeds: Seeds) {
        let length = self.buckets.len();
        let factor = if length < 1 << 16 { 4 } else { 2 };
        let larger = (length * factor).min(self.most);
        let old = std::mem::replace(
            &mut self.buckets,
            large_pages::table(larger, Bucket::default()),
        );
        self.entries = 0;
        for slot in old.iter().flat_map(|Bucket(slots)| slots) {
            if !slot.is_empty() {
                self.place(*slot, seeds.hash(slot.key()));
            }
        }
    }
}

/// Append from each four ids as many as its count says.
///
/// Copying all four is faster than a branch on the count. When `out` has no room for four ids, no
/// further item is taken from the iterator.
#[allow(unsafe_code)]
#[inline(always)]
fn append_inline<'i>(
    out: &mut Vec<u32>,
    mut fours: impl Iterator<Item = (&'i [u32; INLINE], usize)>,
) {
    let (length, mut filled) = (out.len(), 0);
    let spare = out.spare_capacity_mut();
    while let Some(place) = spare.get_mut(filled..filled + INLINE) {
        let Some((ids, count)) = fours.next() else {
            break;
        };
        // The next four overwrite the ids beyond the count.
        place.copy_from_slice(&ids.map(MaybeUninit::new));
        filled += count.min(INLINE);
    }
    // SAFETY: `filled` counts only ids just written, which are in the spare capacity.
    unsafe { out.set_len(length + filled) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: ShortLimits = ShortLimits {
        first: 2,
        most: 1 << 12,
        elsewhere: 1 << 19,
    };

    fn word(number: u32) -> Key {
        Key::of(format!("{number:x}").as_bytes())
    }

    fn found(table: &mut ShortTable, key: Key, seeds: Seeds) -> Option<Vec<u32>> {
        let found = table.find(key, seeds.hash(key), seeds);
        found.map(<[u32]>::to_vec)
    }

    /// Find a key that was inserted with hash 1.
    fn at_one(table: &mut ShortTable, key: Key) -> Option<Vec<u32>> {
        table.find(key, 1, Seeds::default()).map(<[u32]>::to_vec)
    }

    /// Return `number % 9` ids: from none to more than fit inline.
    fn ids(number: u32) -> Vec<u32> {
        (0..number % 9).map(|at| number ^ at).collect()
    }

    #[test]
    fn growing_loses_next_to_nothing() {
        // Fixed seeds: the number of lost keys depends on them.
        let (seeds, mut table) = (
            Seeds([0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344]),
            ShortTable::new(SMALL),
        );
        for number in 0..4000 {
            let key = word(number);
            assert_eq!(found(&mut table, key, seeds), None);
            table.insert(key, seeds.hash(key), &ids(number), seeds);
        }
        let mut kept = 0;
        for number in 0..4000 {
            let key = word(number);
            if let Some(found) = found(&mut table, key, seeds) {
                assert_eq!(found, ids(number));
                kept += 1;
            }
        }
        // A few may be overwritten where many hashes are close together.
        assert!(kept >= 3960 && kept == table.stats().entries, "{kept}");
    }

    #[test]
    fn of_equal_hashes_some_are_kept_and_none_is_mistaken() {
        let (seeds, mut table) = (
            Seeds::default(),
            ShortTable::new(ShortLimits { most: 2, ..SMALL }),
        );
        for number in 0..1000 {
            table.insert(word(number), 1, &ids(number), seeds);
            assert!(table.stats().entries <= 4);
            // The last inserted key is found.
            assert_eq!(at_one(&mut table, word(number)), Some(ids(number)));
        }
        let kept: Vec<_> = (0..1000)
            .filter_map(|number| at_one(&mut table, word(number)).map(|found| (number, found)))
            .collect();
        assert_eq!(kept.len(), 4);
        assert!(kept.iter().all(|(number, found)| *found == ids(*number)));
    }

    #[test]
    fn memory_is_bounded() {
        let limits = ShortLimits {
            elsewhere: 800,
            most: 8,
            ..SMALL
        };
        let (seeds, mut table) = (Seeds::default(), ShortTable::new(limits));
        for number in 0..10_000 {
            let key = word(number);
            table.insert(key, seeds.hash(key), &ids(number), seeds);
            assert_eq!(found(&mut table, key, seeds), Some(ids(number)));
        }
        assert!(table.stats().entries <= 16);
        assert!(
            table.stats().bytes <= 8 * 64 + 800,
            "{}",
            table.stats().bytes
        );
    }

    #[test]
    fn what_does_not_count_is_left_out_and_too_little_room_stops() {
        let fours = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]];
        let counts = [2, 0, 9];
        for (room, expected) in [
            (4, &[0][..]),
            (5, &[0, 1, 2]),
            (6, &[0, 1, 2]),
            (7, &[0, 1, 2, 9, 10, 11, 12]),
            (100, &[0, 1, 2, 9, 10, 11, 12]),
        ] {
            let mut out = Vec::with_capacity(room);
            out.push(0);
            append_inline(&mut out, fours.iter().zip(counts));
            assert!(out.capacity() != room || out == expected, "{room}: {out:?}");
        }
        let mut out = Vec::new();
        append_inline(&mut out, fours.iter().zip(counts));
        assert!(out.is_empty());
    }
}
