//! The ids of short pre-tokens: open addressing in buckets of one cache line.

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

/// Ids that lie beside their key.
pub(crate) const INLINE: usize = 4;

/// How many ids there are, up to [`INLINE`]: three of the four bits of a key's upper word that are
/// free.
const COUNT_AT: u32 = 60;
pub(super) const COUNT: u64 = 7 << COUNT_AT;
/// The fourth: the ids lie elsewhere; `ids` are the two numbers of their place, and their count. No key that is
/// looked up has it, so that [`ShortTable::append_first_hits`] passes such a slot over.
const ELSEWHERE: u64 = 1 << 63;

/// A pre-token and its ids. An empty slot has a key of length 0, as no pre-token has.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct KeySlot {
    low: u64,
    high: u64,
    pub ids: [u32; INLINE],
}

impl KeySlot {
    /// Is this the slot of `key`?
    fn is_of(&self, key: Key) -> bool {
        self.key() == key
    }

    /// The same, and do its ids lie here?
    #[inline(always)]
    fn has_ids_of(&self, key: Key) -> bool {
        (self.low ^ key.low) | (self.high ^ key.high) & !COUNT == 0
    }

    fn is_empty(&self) -> bool {
        self.high == 0
    }

    /// The number of ids, if they lie here.
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

/// How large a table may become.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShortLimits {
    /// Buckets at first and at most, powers of two.
    pub first: usize,
    pub most: usize,
    /// Bytes of the ids that lie elsewhere, at most.
    pub elsewhere: usize,
}

/// Buckets that are probed before a pre-token counts as new.
const PROBES: usize = 8;
/// The same for a place to put it in, when the table is full and may not grow: more would make
/// looking for what is not here slow.
const PROBES_WHEN_FULL: usize = 2;

#[derive(Debug)]
pub(crate) struct ShortTable {
    buckets: Vec<Bucket>,
    entries: usize,
    elsewhere: Generations<u32>,
    /// Buckets at most.
    most: usize,
}

/// Where a hash leads to, among a power of two of places.
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

    /// Appends the ids of one key after the other, and returns of how many keys. It stops where a
    /// key isn't in its first bucket, or has more than four ids, or there is no room for four.
    #[inline(always)]
    pub fn append_first_hits(&self, keys: &[Key], hashes: &[u64], out: &mut Vec<u32>) -> usize {
        #[cfg(target_arch = "x86_64")]
        if let Level::Avx512(has) = Level::get() {
            return avx512::append_first_hits(has, self, keys, hashes, out);
        }
        let mut found = 0;
        // The slice itself, so that its length and its start stay in registers.
        let buckets = self.buckets.as_slice();
        let fours = keys.iter().zip(hashes).map_while(|(&key, &hash)| {
            let Bucket([first, second]) = slot_of(buckets, hash);
            // A branch on which of the two it is would be mispredicted every other time.
            let slot = select_unpredictable(first.has_ids_of(key), first, second);
            slot.has_ids_of(key).then(|| {
                found += 1;
                (&slot.ids, slot.count())
            })
        });
        append_inline(out, fours);
        found
    }

    /// The ids of a key in its first bucket, where they lie elsewhere and are young.
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

    /// The ids of a key, wherever they are. A key that is found outside its first bucket changes
    /// places with one there, if that one can be found where it goes to: so those that are asked for
    /// often come to stand where [`Self::append_first_hits`] finds them.
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
            // It would have been put here: nothing is ever taken out.
            if slots[1].is_empty() {
                break;
            }
        }
        let (mut at, mut number) = found?;
        if at != home {
            let Bucket(slots) = self.buckets[home];
            let lives_here = |slot: &KeySlot| seeds.hash(slot.key()) as usize & mask == home;
            // The last one came last, and may be the one that is asked for less.
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

    /// Adds a key, or replaces its ids. `seeds` are those that it was hashed with.
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

    /// Fuller, a key stands too often outside its first bucket.
    fn is_full(&self) -> bool {
        self.entries * 2 >= self.buckets.len() * 3
    }

    /// Puts a slot into the first free place, or where its key stands with ids that are forgotten;
    /// where there is none, in place of another.
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

    /// To four times the size while it is small, then to twice: new memory costs more than what
    /// is done with it.
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

/// Appends the first ids of each four, as many as the number beside it says: all four are copied,
/// which is quicker than a branch on their number. It takes no further four from the iterator when
/// there is no room for one.
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
        // Those that do not count are overwritten by the next four.
        place.copy_from_slice(&ids.map(MaybeUninit::new));
        filled += count.min(INLINE);
    }
    // SAFETY: `filled` only goes over ids just written, which lie in the spare capacity.
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

    /// A key that was inserted as if its hash were 1.
    fn at_one(table: &mut ShortTable, key: Key) -> Option<Vec<u32>> {
        table.find(key, 1, Seeds::default()).map(<[u32]>::to_vec)
    }

    /// As many ids as the number says, none to some that lie elsewhere.
    fn ids(number: u32) -> Vec<u32> {
        (0..number % 9).map(|at| number ^ at).collect()
    }

    #[test]
    fn growing_loses_next_to_nothing() {
        // Seeds that stay the same: how many are lost depends on them.
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
        // A few could lose their place where many hashes lie close together.
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
            // The one put in last is there.
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
