//! The ids of longer pre-tokens: a table of slots, and records one behind the other.
//!
//! Memory is bounded. The records are of two generations: when the young ones fill their half,
//! they become the old ones, and the old ones are forgotten, but for those that were asked for
//! meanwhile. From then on a pre-token is only marked when it comes first, and remembered when it
//! comes again: most long ones never do.

/// Where a record is. An empty slot has the length 0, as no pre-token has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RecordSlot {
    /// Its low bits lead to the slot.
    hash: u32,
    place: u32,
    /// Bytes of the pre-token.
    length: u16,
    /// How many ids.
    count: u16,
    /// Number of its generation.
    generation: u32,
}

/// In place of a record's: the pre-token came by once.
const SEEN: u32 = u32::MAX;

/// How large a table may become.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LongLimits {
    /// Slots at first and at most, powers of two.
    pub first: usize,
    pub most: usize,
    /// Bytes of the records of a generation, at most.
    pub records: usize,
}

const PROBES: usize = 16;

#[derive(Debug)]
pub(crate) struct LongTable {
    slots: Vec<RecordSlot>,
    entries: usize,
    /// The text of a pre-token and its ids, four bytes each.
    young: Vec<u8>,
    old: Vec<u8>,
    /// Number of the young generation.
    generation: u32,
    limits: LongLimits,
}

impl LongTable {
    pub fn new(limits: LongLimits) -> Self {
        LongTable {
            slots: vec![RecordSlot::default(); limits.first],
            entries: 0,
            young: Vec::new(),
            old: Vec::new(),
            generation: 0,
            limits,
        }
    }

    pub fn entries(&self) -> usize {
        self.entries
    }

    pub fn bytes(&self) -> usize {
        let records = self.young.capacity() + self.old.capacity();
        self.slots.capacity() * size_of::<RecordSlot>() + records
    }

    /// The slots that a text of this hash may stand in.
    #[inline]
    fn places(&self, hash: u32) -> impl Iterator<Item = usize> {
        let mask = self.slots.len() - 1;
        (0..PROBES).map(move |step| (hash as usize).wrapping_add(step) & mask)
    }

    pub fn slots(&self) -> &[RecordSlot] {
        &self.slots
    }

    fn record(&self, slot: RecordSlot) -> &[u8] {
        let records = match slot.generation == self.generation {
            true => &self.young,
            false => &self.old,
        };
        let length = usize::from(slot.length) + 4 * usize::from(slot.count);
        &records[slot.place as usize..][..length]
    }

    /// The slot of `text`; else, where it was seen, the slot that says so; else a free one, if
    /// there is one.
    #[inline(always)]
    fn find_slot(&self, text: &[u8], hash: u32) -> Option<usize> {
        for place in self.places(hash) {
            let slot = self.slots[place];
            if slot.length == 0 {
                return Some(place);
            }
            if slot.hash == hash
                && usize::from(slot.length) == text.len()
                && (slot.place == SEEN || self.record(slot).starts_with(text))
            {
                return Some(place);
            }
        }
        None
    }

    /// The ids of `text`, four bytes each.
    #[inline]
    pub fn find(&mut self, text: &[u8], hash: u64) -> Option<&[u8]> {
        let place = self.find_slot(text, hash as u32)?;
        let mut slot = self.slots[place];
        if slot.length == 0 || slot.place == SEEN {
            return None;
        }
        let length = usize::from(slot.length) + 4 * usize::from(slot.count);
        if slot.generation != self.generation && self.young.len() + length <= self.limits.records {
            let start = slot.place as usize;
            slot.place = self.young.len() as u32;
            slot.generation = self.generation;
            self.young.extend_from_slice(&self.old[start..][..length]);
            self.slots[place] = slot;
        }
        Some(&self.record(slot)[usize::from(slot.length)..])
    }

    /// Adds a text that is not here, nor is empty, of 128 bytes at most.
    pub fn insert(&mut self, text: &[u8], hash: u64, ids: &[u32]) {
        let record = text.len() + ids.len() * 4;
        let (Ok(length), Ok(count)) = (u16::try_from(text.len()), u16::try_from(ids.len())) else {
            return;
        };
        if record > self.limits.records {
            return;
        }
        let is_full = self.entries * 2 >= self.slots.len();
        if self.young.len() + record > self.limits.records
            || (is_full && self.slots.len() >= self.limits.most)
        {
            self.forget_old();
        } else if is_full {
            self.rebuild(self.slots.len() * 2);
        }
        let hash = hash as u32;
        let found = self.find_slot(text, hash);
        // The first generation lasts while there is memory for all that comes.
        let is_new = found.is_none_or(|place| self.slots[place].length == 0);
        let is_scarce = self.generation > 0;
        let mut slot = RecordSlot {
            hash,
            place: SEEN,
            length,
            count: 0,
            generation: self.generation,
        };
        if !(is_new && is_scarce) {
            slot.place = self.young.len() as u32;
            slot.count = count;
            self.young.extend_from_slice(text);
            self.young
                .extend(ids.iter().flat_map(|id| id.to_le_bytes()));
        }
        self.put(slot, found);
    }

    /// Puts a slot where it was found, or, where nothing is free, in place of another.
    fn put(&mut self, slot: RecordSlot, found: Option<usize>) {
        let mask = self.slots.len() - 1;
        let other = (slot.hash as usize).wrapping_add((slot.hash >> 28) as usize) & mask;
        let place = found.unwrap_or(other);
        self.entries += usize::from(self.slots[place].length == 0);
        self.slots[place] = slot;
    }

    /// The young become the old ones.
    fn forget_old(&mut self) {
        let before = self.generation;
        self.generation = before.wrapping_add(1);
        std::mem::swap(&mut self.young, &mut self.old);
        self.young.clear();
        for slot in &mut self.slots {
            if slot.generation != before {
                *slot = RecordSlot::default();
            }
        }
        self.rebuild(self.slots.len());
    }

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

/// The ids of a record.
#[inline]
pub(crate) fn ids(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(|id| match id.first_chunk() {
        Some(id) => u32::from_le_bytes(*id),
        None => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::Seeds;

    const SMALL: LongLimits = LongLimits {
        first: 2,
        most: 1 << 13,
        records: 1 << 20,
    };

    fn text(number: u32) -> Vec<u8> {
        format!("{number:0width$}", width = 16 + number as usize % 9).into_bytes()
    }

    fn found(table: &mut LongTable, text: &[u8], hash: u64) -> Option<Vec<u32>> {
        table.find(text, hash).map(|bytes| ids(bytes).collect())
    }

    #[test]
    fn growing_loses_next_to_nothing() {
        let (seeds, mut table) = (Seeds::default(), LongTable::new(SMALL));
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
        // A few could lose their place where many hashes lie close together.
        assert!(kept >= 2940 && kept == table.entries(), "{kept}");
    }

    #[test]
    fn equal_hashes_and_little_room() {
        let limits = LongLimits {
            most: 16,
            records: 1000,
            ..SMALL
        };
        let mut table = LongTable::new(limits);
        for number in 0..5000 {
            let hash = u64::from(number) << 61 | 5;
            for _ in 0..2 {
                table.insert(&text(number), hash, &[number]);
            }
            assert_eq!(found(&mut table, &text(number), hash), Some(vec![number]));
            assert!(table.entries() <= 16);
            assert!(table.young.len() <= 1000 && table.old.len() <= 1000);
        }
        table.insert(&[b'a'; 3000], 5, &[1]);
        assert_eq!(found(&mut table, &[b'a'; 3000], 5), None);
    }

    #[test]
    fn what_is_asked_for_stays_and_what_came_once_takes_no_memory() {
        let limits = LongLimits {
            records: 4000,
            ..SMALL
        };
        let (seeds, mut table) = (Seeds::default(), LongTable::new(limits));
        let mut hits = 0;
        for number in 0..20_000 {
            // Ten that come again and again, among others that come once.
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
            table.bytes() <= 16 * (1 << 13) + 3 * 4000,
            "{}",
            table.bytes()
        );
    }
}
