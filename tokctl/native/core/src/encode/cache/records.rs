//! A hash table from texts to short lists of numbers, such as ids: slots, and records one after
//! another.
//!
//! Memory is bounded: the records are in two generations, see [`Generations`]. Once a generation
//! was forgotten, a text is only marked as seen when it first comes, and stored when it comes
//! again, because most long pre-tokens never come again.

use super::generations::{Generations, Place};
use super::CacheStats;

/// Hash and position of a record.
///
/// An empty slot has length 0.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RecordSlot {
    /// Hash of the text; the low bits select the first slot to probe.
    hash: u32,
    place: Place,
    /// Bytes of the text.
    length: u16,
    /// How many numbers the record has.
    count: u16,
}

/// Used as the start of a record that is not stored: the text was seen once.
const SEEN: u32 = u32::MAX;

/// Size limits of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordLimits {
    /// Slots at first, a power of two.
    pub first: usize,
    /// Slots at most, a power of two.
    pub most: usize,
    /// Bytes of the records, at most.
    pub records: usize,
}

/// Slots probed before a text counts as new.
const PROBES: usize = 16;

#[derive(Debug)]
pub(crate) struct RecordTable {
    slots: Vec<RecordSlot>,
    entries: usize,
    /// Records: a text, then its numbers in four bytes each.
    records: Generations<u8>,
    /// Slots at most.
    most: usize,
}

impl RecordSlot {
    /// Return the size of the slot's record in bytes.
    fn size(self) -> usize {
        usize::from(self.length) + 4 * usize::from(self.count)
    }
}

impl RecordTable {
    pub fn new(limits: RecordLimits) -> Self {
        RecordTable {
            slots: vec![RecordSlot::default(); limits.first],
            entries: 0,
            records: Generations::new(limits.records),
            most: limits.most,
        }
    }

    pub fn stats(&self) -> CacheStats {
        CacheStats {
            entries: self.entries,
            bytes: self.slots.capacity() * size_of::<RecordSlot>() + self.records.bytes(),
        }
    }

    /// Iterate over the indices of the slots that a text with this hash can be in.
    #[inline]
    fn places(&self, hash: u32) -> impl Iterator<Item = usize> {
        let mask = self.slots.len() - 1;
        (0..PROBES).map(move |step| (hash as usize).wrapping_add(step) & mask)
    }

    pub fn slots(&self) -> &[RecordSlot] {
        &self.slots
    }

    /// Return the record of a slot: text and numbers.
    ///
    /// Empty if the text is only marked as seen.
    #[inline]
    fn record(&self, slot: RecordSlot) -> &[u8] {
        self.records
            .get(slot.place, slot.size())
            .unwrap_or_default()
    }

    /// Return the index of the slot of `text`, stored or marked as seen; if none, of a free slot.
    ///
    /// Returns `None` if all probed slots hold other texts.
    #[inline(always)]
    fn find_slot(&self, text: &[u8], hash: u32) -> Option<usize> {
        for place in self.places(hash) {
            let slot = self.slots[place];
            if slot.length == 0 {
                return Some(place);
            }
            if slot.hash == hash
                && usize::from(slot.length) == text.len()
                && (slot.place.start == SEEN || self.record(slot).starts_with(text))
            {
                return Some(place);
            }
        }
        None
    }

    /// Return the numbers of `text`, four bytes each.
    #[inline]
    pub fn find(&mut self, text: &[u8], hash: u64) -> Option<&[u8]> {
        let at = self.find_slot(text, hash as u32)?;
        let slot = &mut self.slots[at];
        if slot.length == 0 || slot.place.start == SEEN {
            return None;
        }
        let size = slot.size();
        self.records.renew(&mut slot.place, size);
        let slot = *slot;
        self.record(slot).get(usize::from(slot.length)..)
    }

    /// Add a text, or replace its numbers.
    ///
    /// An empty text is not stored, and neither is a text of more than 65,535 bytes or numbers.
    pub fn insert(&mut self, text: &[u8], hash: u64, numbers: &[u32]) {
        let size = text.len() + numbers.len() * 4;
        let (Ok(length @ 1..), Ok(count)) = (text.len().try_into(), numbers.len().try_into())
        else {
            return;
        };
        if !self.records.can_hold(size) {
            return;
        }
        let is_full = self.entries * 2 >= self.slots.len();
        if !self.records.has_room(size) || (is_full && self.slots.len() >= self.most) {
            self.forget_old();
        } else if is_full {
            self.rebuild(self.slots.len() * 2);
        }
        let hash = hash as u32;
        let found = self.find_slot(text, hash);
        // In the first generation, memory is not scarce yet and every text is stored.
        let is_new = found.is_none_or(|place| self.slots[place].length == 0);
        let is_scarce = self.records.number() > 0;
        let mut slot = RecordSlot {
            hash,
            place: Place {
                number: self.records.number(),
                start: SEEN,
            },
            length,
            count: 0,
        };
        if !(is_new && is_scarce) {
            slot.count = count;
            slot.place = self.records.add(size, |all| {
                all.extend_from_slice(text);
                all.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            });
        }
        self.put(slot, found);
    }

    /// Write a slot to index `found`, or, if no slot was free, over another text's slot.
    fn put(&mut self, slot: RecordSlot, found: Option<usize>) {
        let mask = self.slots.len() - 1;
        let other = (slot.hash as usize).wrapping_add((slot.hash >> 28) as usize) & mask;
        let place = found.unwrap_or(other);
        self.entries += usize::from(self.slots[place].length == 0);
        self.slots[place] = slot;
    }

    /// Make the young records the old ones, and drop the slots of the forgotten records.
    fn forget_old(&mut self) {
        let before = self.records.number();
        self.records.turn();
        for slot in &mut self.slots {
            if slot.place.number != before {
                *slot = RecordSlot::default();
            }
        }
        self.rebuild(self.slots.len());
    }

    /// Move all slots to a new table of `count` slots.
    fn rebuild(&mut self, count: usize) {
        let old = std::mem::replace(&mut self.slots, vec![RecordSlot::default(); count]);
        self.entries = 0;
        for slot in old {
            if slot.length > 0 {
                let mut places = self.places(slot.hash);
                let free = places.find(|&place| self.slots[place].length == 0);
                self.put(slot, free);
            }
        }
    }
}

/// Iterate over the numbers in the bytes that [`RecordTable::find`] returns.
#[inline]
pub(crate) fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(|id| match id.first_chunk() {
        Some(id) => u32::from_le_bytes(*id),
        None => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::Seeds;

    const SMALL: RecordLimits = RecordLimits {
        first: 2,
        most: 1 << 13,
        records: 1 << 21,
    };

    fn text(number: u32) -> Vec<u8> {
        format!("{number:0width$}", width = 16 + number as usize % 9).into_bytes()
    }

    fn found(table: &mut RecordTable, text: &[u8], hash: u64) -> Option<Vec<u32>> {
        table.find(text, hash).map(|bytes| numbers(bytes).collect())
    }

    #[test]
    fn growing_loses_next_to_nothing() {
        let (seeds, mut table) = (Seeds::default(), RecordTable::new(SMALL));
        for number in 0..3000 {
            let (text, ids) = (text(number), vec![number; number as usize % 7]);
            let hash = seeds.hash_long(&text);
            assert_eq!(found(&mut table, &text, hash), None);
            table.insert(&text, hash, &ids);
        }
        let mut kept = 0;
        for number in 0..3000 {
            let (text, ids) = (text(number), vec![number; number as usize % 7]);
            if let Some(found) = found(&mut table, &text, seeds.hash_long(&text)) {
                assert_eq!(found, ids);
                kept += 1;
            }
        }
        // A few may be overwritten where many hashes are close together.
        assert!(kept >= 2940 && kept == table.stats().entries, "{kept}");
    }

    #[test]
    fn equal_hashes_and_little_room() {
        let limits = RecordLimits {
            most: 16,
            records: 2000,
            ..SMALL
        };
        let mut table = RecordTable::new(limits);
        for number in 0..5000 {
            let hash = u64::from(number) << 61 | 5;
            for _ in 0..2 {
                table.insert(&text(number), hash, &[number]);
            }
            assert_eq!(found(&mut table, &text(number), hash), Some(vec![number]));
            assert!(table.stats().entries <= 16);
            assert!(table.records.bytes() <= 2000);
        }
        table.insert(&[b'a'; 3000], 5, &[1]);
        assert_eq!(found(&mut table, &[b'a'; 3000], 5), None);
    }

    #[test]
    fn what_is_asked_for_stays_and_what_came_once_takes_no_memory() {
        let limits = RecordLimits {
            records: 8000,
            ..SMALL
        };
        let (seeds, mut table) = (Seeds::default(), RecordTable::new(limits));
        let mut hits = 0;
        for number in 0..20_000 {
            // Ten texts come again and again, among others that come once.
            for text in [text(number % 10), text(100 + number)] {
                let hash = seeds.hash_long(&text);
                match found(&mut table, &text, hash) {
                    Some(ids) => {
                        assert_eq!(ids, [u32::from(text[15])]);
                        hits += 1;
                    }
                    None => table.insert(&text, hash, &[text[15].into()]),
                }
            }
        }
        assert!(hits > 19_900, "{hits}");
        assert!(
            table.stats().bytes <= 16 * (1 << 13) + 8000,
            "{}",
            table.stats().bytes
        );
    }
}
