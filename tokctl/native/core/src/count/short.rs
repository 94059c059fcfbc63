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

fn free(size: usize) -> Vec<Slot> {
    let none = Slot {
        key: FREE,
        count: 0,
        first: 0,
    };
    vec![none; size]
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
