//! Counts of short pre-tokens: the packed bytes stand in the table itself. So a pre-token that
//! is known costs one look at memory.

use crate::packed::{Key, Seeds};

/// No pre-token's key.
const FREE: Key = Key { low: 0, high: 0 };

/// Slots at first.
const LEAST: usize = 1 << 10;

/// Two fit a cache line, and none lies across two.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub struct Slot {
    key: Key,
    pub count: u64,
    /// Place of the first occurrence.
    pub first: u64,
}

impl Slot {
    /// Writes the pre-token to the end of `text`.
    pub fn unpack(&self, text: &mut Vec<u8>) {
        let (bytes, length) = self.key.text();
        text.extend_from_slice(&bytes[..length]);
    }

    pub fn length(&self) -> usize {
        self.key.length()
    }

    /// The pre-token, and its length.
    pub fn text(&self) -> ([u8; 16], usize) {
        self.key.text()
    }

    /// Sorts as the bytes do: where one pre-token begins another, its length tells.
    fn order(&self) -> (u64, u64) {
        (self.key.low.swap_bytes(), self.key.high.swap_bytes())
    }
}

pub struct Short {
    /// A power of two of them; at most three quarters are used.
    slots: Vec<Slot>,
    used: usize,
    seeds: Seeds,
}

impl Short {
    pub fn new() -> Self {
        Short {
            slots: free(LEAST),
            used: 0,
            seeds: Seeds::default(),
        }
    }

    /// Where the search for a key begins.
    #[inline]
    pub fn home(&self, key: Key) -> usize {
        self.seeds.hash(key) as usize & (self.slots.len() - 1)
    }

    /// The key at a place of the table, for whoever wants it in the processor's cache.
    #[inline]
    pub fn key_at(&self, at: usize) -> Key {
        self.slots[at].key
    }

    /// Adds to the entry at a place where [`Self::key_at`] has given its key.
    #[inline]
    pub fn add_at(&mut self, at: usize, count: u64) {
        let slot = &mut self.slots[at];
        // A count that 64 bits can't hold is refused when the counting ends.
        slot.count = slot.count.saturating_add(count);
    }

    pub fn add(&mut self, key: Key, count: u64, first: u64) {
        let mut at = self.home(key);
        loop {
            let slot = &mut self.slots[at];
            if slot.key == key {
                slot.count = slot.count.saturating_add(count);
                slot.first = slot.first.min(first);
                return;
            }
            if slot.key == FREE {
                *slot = Slot { key, count, first };
                break;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.used += 1;
        if self.used * 4 > self.slots.len() * 3 {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        for slot in std::mem::replace(&mut self.slots, free(size)) {
            if slot.key != FREE {
                let mut at = self.home(slot.key);
                while self.slots[at].key != FREE {
                    at = (at + 1) & (size - 1);
                }
                self.slots[at] = slot;
            }
        }
    }

    pub fn len(&self) -> usize {
        self.used
    }

    /// Slots, free ones included: another number means that entries have other places.
    pub fn size(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of the table.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.slots[..])
    }

    /// The same; and where it will grow before long, of the old table and the new one.
    pub fn bytes_soon(&self) -> usize {
        match self.used * 8 > self.slots.len() * 5 {
            true => 3 * self.bytes(),
            false => self.bytes(),
        }
    }

    /// Bytes that a table grows to on its way to so many entries, with those of the one before.
    pub fn bytes_of(entries: usize) -> usize {
        let slots = (entries / 3 * 4).next_power_of_two().max(LEAST);
        slots * size_of::<Slot>() / 2 * 3
    }

    /// Sorts the entries by their bytes, for [`Self::sorted`]; nothing else can be done with
    /// them until the table is reset.
    pub fn sort(&mut self) {
        let mut used = 0;
        for at in 0..self.slots.len() {
            if self.slots[at].key != FREE {
                self.slots.swap(used, at);
                used += 1;
            }
        }
        self.slots[..used].sort_unstable_by_key(Slot::order);
    }

    pub fn sorted(&self) -> &[Slot] {
        &self.slots[..self.used]
    }

    /// Takes all entries out; a table of more than `most` bytes starts small again.
    pub fn reset(&mut self, most: usize) {
        if self.bytes() > most {
            self.slots = free(LEAST);
        } else {
            self.slots.fill(NONE);
        }
        self.used = 0;
    }

    pub fn slot(&self, at: usize) -> &Slot {
        &self.slots[at]
    }

    /// The entries and their places.
    pub fn slots(&self) -> impl Iterator<Item = (usize, &Slot)> {
        let slots = self.slots.iter().enumerate();
        slots.filter(|(_, slot)| slot.key != FREE)
    }

    /// Adds another table's counts.
    pub fn absorb(&mut self, other: &Short) {
        for (_, slot) in other.slots() {
            self.add(slot.key, slot.count, slot.first);
        }
    }
}

const NONE: Slot = Slot {
    key: FREE,
    count: 0,
    first: 0,
};

fn free(size: usize) -> Vec<Slot> {
    vec![NONE; size]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_grows_and_absorbs() {
        let (mut one, mut other) = (Short::new(), Short::new());
        let key = |n: u64| Key::of(&n.to_le_bytes());
        for n in 0..5000 {
            one.add(key(n), 1, n + 100);
            other.add(key(n + 2500), 2, n);
            one.add(key(n), 1, n + 200);
        }
        one.absorb(&other);
        assert_eq!(one.len(), 7500);
        let mut found: Vec<_> = one
            .slots()
            .map(|(_, s)| (s.key.text(), s.count, s.first))
            .collect();
        found.sort_unstable();
        let expected = (0..7500).map(|n| match n {
            0..2500 => (key(n).text(), 2, n + 100),
            2500..5000 => (key(n).text(), 4, n - 2500),
            _ => (key(n).text(), 2, n - 2500),
        });
        let mut expected: Vec<_> = expected.collect();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
