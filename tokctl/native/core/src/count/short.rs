//! Counts of short pre-tokens: the bytes and their number are one number of 128 bits, which
//! stands in the table itself. So a pre-token that is known costs one look at memory.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

/// Pre-tokens of up to so many bytes are packed; the 16th byte holds their number.
pub const LONGEST: usize = 15;

/// A pre-token's bytes from the lowest up, its length plus 1 above them; 0 is none.
pub type Key = u128;

const FREE: Key = 0;

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

/// The key of `text[start..end]`, unless it is too long.
#[inline]
pub fn pack(text: &[u8], start: usize, end: usize) -> Option<Key> {
    let length = end - start;
    if length > LONGEST {
        return None;
    }
    // Sixteen bytes are read at once where there are so many, and those behind cut off.
    let bytes = match text[start..].first_chunk() {
        Some(bytes) => u128::from_le_bytes(*bytes) & BYTES[length],
        None => {
            let mut bytes = [0; 16];
            bytes[..length].copy_from_slice(&text[start..end]);
            u128::from_le_bytes(bytes)
        }
    };
    Some(bytes | LENGTHS[length])
}

/// By the length: the bytes of a key, and what stands above them. (Shifts by any number of
/// bits take longer than a look.)
const BYTES: [Key; LONGEST + 1] = by_length(false);
const LENGTHS: [Key; LONGEST + 1] = by_length(true);

const fn by_length(above: bool) -> [Key; LONGEST + 1] {
    let mut all = [0; LONGEST + 1];
    let mut length = 0;
    while length <= LONGEST {
        all[length] = match above {
            true => (length as Key + 1) << (8 * LONGEST),
            false => (1 << (8 * length)) - 1,
        };
        length += 1;
    }
    all
}

impl Slot {
    /// Writes the pre-token to the end of `text`.
    pub fn unpack(&self, text: &mut Vec<u8>) {
        let bytes = self.key.to_le_bytes();
        text.extend_from_slice(&bytes[..usize::from(bytes[LONGEST]) - 1]);
    }

    pub fn length(&self) -> usize {
        (self.key >> (8 * LONGEST)) as usize - 1
    }
}

pub struct Short {
    /// A power of two of them; at most three quarters are used.
    slots: Vec<Slot>,
    used: usize,
    /// Differs from process to process: no text is slow on purpose.
    seed: (u64, u64),
}

impl Short {
    pub fn new(hasher: &DefaultHashBuilder) -> Self {
        Short {
            slots: free(LEAST),
            used: 0,
            seed: (hasher.hash_one(1u64), hasher.hash_one(2u64)),
        }
    }

    /// Where the search for a key begins.
    #[inline]
    pub fn home(&self, key: Key) -> usize {
        // A folded product, as in `wyhash`: each bit of it depends on all of the key.
        let (low, high) = (key as u64 ^ self.seed.0, (key >> 64) as u64 ^ self.seed.1);
        let product = u128::from(low) * u128::from(high);
        (product as u64 ^ (product >> 64) as u64) as usize & (self.slots.len() - 1)
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
    fn what_is_packed_comes_back_wherever_it_stands() {
        let text: Vec<u8> = (0..40u8).map(|byte| byte.wrapping_mul(37)).collect();
        for start in 0..text.len() {
            for end in start..=text.len() {
                let Some(key) = pack(&text, start, end) else {
                    assert!(end - start > LONGEST);
                    continue;
                };
                let mut found = Vec::new();
                let (count, first) = (1, 2);
                Slot { key, count, first }.unpack(&mut found);
                assert_eq!(found, &text[start..end]);
                assert_eq!(Some(key), pack(&text[start..end], 0, end - start));
            }
        }
        assert_ne!(pack(b"", 0, 0), Some(FREE));
        assert_ne!(pack(b"\0", 0, 1), pack(b"\0\0", 0, 2));
    }

    #[test]
    fn a_table_grows_and_absorbs() {
        let hasher = DefaultHashBuilder::default();
        let (mut one, mut other) = (Short::new(&hasher), Short::new(&hasher));
        let key = |n: u64| pack(&n.to_le_bytes(), 0, 8).unwrap();
        for n in 0..5000 {
            one.add(key(n), 1, n + 100);
            other.add(key(n + 2500), 2, n);
            one.add(key(n), 1, n + 200);
        }
        one.absorb(&other);
        assert_eq!(one.len(), 7500);
        let mut found: Vec<_> = one
            .slots()
            .map(|(_, s)| (s.key, s.count, s.first))
            .collect();
        found.sort_unstable();
        let expected = (0..7500).map(|n| match n {
            0..2500 => (key(n), 2, n + 100),
            2500..5000 => (key(n), 4, n - 2500),
            _ => (key(n), 2, n - 2500),
        });
        let mut expected: Vec<_> = expected.collect();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
