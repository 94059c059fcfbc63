//! The ids of longer pre-tokens: a table of slots, and records one behind the other.

use crate::packed::Seeds;

/// Where a record is. An empty slot has the length 0, as no pre-token has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RecordSlot {
    tag: u32,
    place: u32,
    /// Bytes of the pre-token.
    length: u32,
    /// How many ids.
    count: u32,
}

/// How large a table may become.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LongLimits {
    /// Slots at first and at most, powers of two.
    pub first: usize,
    pub most: usize,
    /// Bytes of records, at most.
    pub records: usize,
}

const PROBES: usize = 16;

#[derive(Debug)]
pub(crate) struct LongTable {
    slots: Vec<RecordSlot>,
    entries: usize,
    /// The text of a pre-token and its ids, four bytes each.
    records: Vec<u8>,
    limits: LongLimits,
}

fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

impl LongTable {
    pub fn new(limits: LongLimits) -> Self {
        LongTable {
            slots: vec![RecordSlot::default(); limits.first],
            entries: 0,
            records: Vec::new(),
            limits,
        }
    }

    pub fn entries(&self) -> usize {
        self.entries
    }

    pub fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<RecordSlot>() + self.records.capacity()
    }

    /// The slots that a text of this hash may stand in.
    #[inline]
    fn places(&self, hash: u64) -> impl Iterator<Item = usize> {
        let mask = self.slots.len() - 1;
        (0..PROBES).map(move |step| (hash as usize).wrapping_add(step) & mask)
    }

    pub fn slots(&self) -> &[RecordSlot] {
        &self.slots
    }

    /// The ids of `text`, four bytes each.
    #[inline]
    pub fn find(&self, text: &[u8], hash: u64) -> Option<&[u8]> {
        for place in self.places(hash) {
            let slot = &self.slots[place];
            if slot.tag == tag(hash) && slot.length as usize == text.len() {
                let record = &self.records[slot.place as usize..];
                let (found, rest) = record.split_at(text.len());
                if found == text {
                    return Some(&rest[..slot.count as usize * 4]);
                }
            }
            if slot.length == 0 {
                return None;
            }
        }
        None
    }

    /// Adds a text that is not here, nor is empty.
    pub fn insert(&mut self, text: &[u8], hash: u64, ids: &[u32], seeds: Seeds) {
        let record = text.len() + ids.len() * 4;
        if record > self.limits.records {
            return;
        }
        if self.records.len() + record > self.limits.records {
            self.slots.fill(RecordSlot::default());
            self.records.clear();
            self.entries = 0;
        }
        let slot = RecordSlot {
            tag: tag(hash),
            place: self.records.len() as u32,
            length: text.len() as u32,
            count: ids.len() as u32,
        };
        self.records.extend_from_slice(text);
        self.records
            .extend(ids.iter().flat_map(|id| id.to_le_bytes()));
        if self.entries * 2 >= self.slots.len() && self.slots.len() < self.limits.most {
            self.grow(seeds);
        }
        self.place(slot, hash);
    }

    /// Puts a slot into the first free place; where there is none, in place of another, whose
    /// record stays until all go.
    fn place(&mut self, slot: RecordSlot, hash: u64) {
        let free = self
            .places(hash)
            .find(|&place| self.slots[place].length == 0);
        self.entries += usize::from(free.is_some());
        let other = (hash as usize).wrapping_add((hash >> 61) as usize) & (self.slots.len() - 1);
        self.slots[free.unwrap_or(other)] = slot;
    }

    fn grow(&mut self, seeds: Seeds) {
        let larger = self.slots.len() * 2;
        let old = std::mem::replace(&mut self.slots, vec![RecordSlot::default(); larger]);
        self.entries = 0;
        for slot in old {
            if slot.length > 0 {
                let text = &self.records[slot.place as usize..][..slot.length as usize];
                self.place(slot, seeds.hash_long(text));
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

    const SMALL: LongLimits = LongLimits {
        first: 2,
        most: 1 << 13,
        records: 1 << 20,
    };

    fn text(number: u32) -> Vec<u8> {
        format!("{number:0width$}", width = 16 + number as usize % 9).into_bytes()
    }

    fn found(table: &LongTable, text: &[u8], hash: u64) -> Option<Vec<u32>> {
        table.find(text, hash).map(|bytes| ids(bytes).collect())
    }

    #[test]
    fn growing_loses_next_to_nothing() {
        let (seeds, mut table) = (Seeds::default(), LongTable::new(SMALL));
        for number in 0..3000 {
            let (text, ids) = (text(number), vec![number; number as usize % 7]);
            let hash = seeds.hash_long(&text);
            assert_eq!(found(&table, &text, hash), None);
            table.insert(&text, hash, &ids, seeds);
        }
        let mut kept = 0;
        for number in 0..3000 {
            let (text, ids) = (text(number), vec![number; number as usize % 7]);
            if let Some(found) = found(&table, &text, seeds.hash_long(&text)) {
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
            records: 2000,
            ..SMALL
        };
        let (seeds, mut table) = (Seeds::default(), LongTable::new(limits));
        for number in 0..5000 {
            let hash = u64::from(number) << 61;
            table.insert(&text(number), hash, &[number], seeds);
            assert_eq!(found(&table, &text(number), hash), Some(vec![number]));
            assert!(table.entries() <= 16 && table.records.len() <= 2000);
        }
        table.insert(&[b'a'; 3000], 5, &[1], seeds);
        assert_eq!(found(&table, &[b'a'; 3000], 5), None);
    }
}
