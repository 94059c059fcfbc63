//! The word model: a pre-token is one token, or unknown.
//!
//! An unknown pre-token can become the tokens of its bytes. A run of unknown pre-tokens can become
//! one token: see `Encoder::fused`.

use crate::encode::Segment;
use crate::large_pages;
use crate::model::NO_ID;
use crate::packed::{Key, Seeds, LONGEST};
use crate::prefetch::prefetch;

/// A vocabulary of whole words.
#[derive(Debug, Clone)]
pub struct Words {
    ids: TokenTable,
    unknown_id: u32,
    /// Ids of the tokens of the 256 bytes; [`NO_ID`] for a byte without one.
    pub byte_ids: Option<Box<[u32; 256]>>,
    /// Whether a run of unknown words becomes one token.
    pub fuse_unknown: bool,
}

impl Words {
    /// Build a vocabulary.
    ///
    /// Of equal tokens, the last one counts.
    pub fn new<'t>(tokens: impl Iterator<Item = (&'t [u8], u32)>, unknown_id: Option<u32>) -> Self {
        Words {
            ids: TokenTable::new(tokens),
            unknown_id: unknown_id.unwrap_or(NO_ID),
            byte_ids: None,
            fuse_unknown: false,
        }
    }

    /// Return the id that a run of unknown words is fused into, if the model fuses them.
    pub fn fused(&self) -> Option<u32> {
        (self.fuse_unknown && self.unknown_id != NO_ID).then_some(self.unknown_id)
    }

    /// Return the id of a word, if the word is a token.
    #[inline]
    pub fn id(&self, word: &[u8]) -> Option<u32> {
        self.ids.get(word, self.ids.seeds.hash_any(word))
    }

    /// Like [`Self::id`], for a word of 16 to 128 bytes with its hash.
    #[inline]
    pub(crate) fn id_of_hashed(&self, word: &[u8], hash: u64) -> Option<u32> {
        self.ids.get(word, hash)
    }

    /// Like [`Self::id`], for a word of 1 to 15 bytes by its key.
    #[inline]
    pub(crate) fn id_of_key(&self, key: Key, hash: u64) -> Option<u32> {
        let slot = &self.ids.slots[self.ids.find_key(key, hash)];
        (slot.id != NO_ID).then_some(slot.id)
    }

    /// Prefetch the slot of a word with hash `hash`.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch(&self.ids.slots[self.ids.home(hash)]);
    }

    /// Append the segment of a pre-token, or of its bytes.
    pub fn segment(&self, pre_token: &[u8], out: &mut Vec<Segment>) {
        let id = self.id(pre_token);
        if let (None, Some(ids)) = (id, &self.byte_ids) {
            let id = |&byte: &u8| ids[usize::from(byte)];
            if pre_token.iter().all(|byte| id(byte) != NO_ID) {
                out.extend(pre_token.iter().map(|byte| Segment {
                    id: id(byte),
                    length: 1,
                }));
                return;
            }
        }
        out.push(Segment {
            id: id.unwrap_or(self.unknown_id),
            length: pre_token.len() as u32,
        });
    }
}

/// A hash table from the bytes of a token to its id: open addressing, two slots per cache line.
///
/// One memory access finds a token of up to 15 bytes, or that a word is not a token.
#[derive(Debug, Clone)]
struct TokenTable {
    /// A power of two of slots, at most three in four taken.
    slots: Vec<TokenSlot>,
    /// The tokens of over 15 bytes, one after another.
    texts: Vec<u8>,
    seeds: Seeds,
}

/// Number of tokens by which prefetching runs ahead of inserting.
const AHEAD: usize = 16;

/// A token and its id; a free slot has the id [`NO_ID`].
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct TokenSlot {
    /// Key of the token; for a token of over 15 bytes, its range in `texts`.
    key: Key,
    hash: u64,
    id: u32,
}

impl TokenSlot {
    const FREE: TokenSlot = TokenSlot {
        key: Key { low: 0, high: 0 },
        hash: 0,
        id: NO_ID,
    };
}

impl TokenTable {
    /// Build a table.
    ///
    /// Of equal tokens, the last one counts.
    fn new<'t>(tokens: impl Iterator<Item = (&'t [u8], u32)>) -> Self {
        let tokens: Vec<(&[u8], u32)> = tokens.collect();
        let count = (tokens.len() + tokens.len() / 3 + 1).next_power_of_two();
        let mut table = TokenTable {
            slots: large_pages::table(count, TokenSlot::FREE),
            texts: Vec::new(),
            seeds: Seeds::default(),
        };
        // Prefetch the slots of tokens that are inserted soon.
        let mut hashes = [0; AHEAD];
        for at in 0..tokens.len() + AHEAD {
            if let Some((text, id)) = at.checked_sub(AHEAD).map(|before| tokens[before]) {
                table.insert(text, id, hashes[at % AHEAD]);
            }
            if let Some((text, _)) = tokens.get(at) {
                let hash = table.seeds.hash_any(text);
                hashes[at % AHEAD] = hash;
                prefetch(&table.slots[table.home(hash)]);
            }
        }
        table
    }

    fn insert(&mut self, text: &[u8], id: u32, hash: u64) {
        let at = self.find(text, hash);
        let slot = &mut self.slots[at];
        if slot.id == NO_ID {
            slot.hash = hash;
            slot.key = match Key::short(text) {
                Some(key) => key,
                None => Key::of_place(self.texts.len(), text.len()),
            };
            if text.len() > LONGEST {
                self.texts.extend_from_slice(text);
            }
        }
        slot.id = id;
    }

    /// Return the first slot that a hash selects.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    /// Return the slot of a token, or the free slot where it would be.
    ///
    /// At least one slot in four is free.
    #[inline]
    fn find(&self, text: &[u8], hash: u64) -> usize {
        match Key::short(text) {
            Some(key) => self.find_key(key, hash),
            None => self.probe(hash, |slot| {
                let place = slot.key.place();
                slot.hash == hash && place.is_some_and(|place| self.texts[place] == *text)
            }),
        }
    }

    #[inline]
    fn find_key(&self, key: Key, hash: u64) -> usize {
        self.probe(hash, |slot| slot.key == key)
    }

    #[inline(always)]
    fn probe(&self, hash: u64, found: impl Fn(&TokenSlot) -> bool) -> usize {
        let mut at = self.home(hash);
        loop {
            let slot = &self.slots[at];
            if found(slot) || slot.id == NO_ID {
                return at;
            }
            at = self.home(at as u64 + 1);
        }
    }

    #[inline]
    fn get(&self, text: &[u8], hash: u64) -> Option<u32> {
        let id = self.slots[self.find(text, hash)].id;
        (id != NO_ID).then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_found_and_nothing_else() {
        let token = |number: usize| {
            let length = number % 40;
            let digits = format!("{number:0length$}");
            digits.as_bytes()[digits.len() - length..].to_vec()
        };
        for count in [0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 95, 96, 97, 5000] {
            let tokens: Vec<Vec<u8>> = (0..count).map(token).collect();
            let entries = tokens.iter().zip(0..);
            let table = TokenTable::new(entries.map(|(token, id)| (&token[..], id)));
            let mut expected = std::collections::HashMap::new();
            expected.extend(tokens.iter().zip(0..));
            for number in 0..2 * count + 100 {
                let text = token(number);
                let found = table.get(&text, table.seeds.hash_any(&text));
                assert_eq!(found, expected.get(&text).copied(), "{count}: {text:?}");
            }
        }
    }

    #[test]
    fn a_pre_token_is_one_token_or_unknown() {
        let tokens = [(&b"a"[..], 4), (b"bc", 5)];
        for (unknown, expected) in [(Some(0), 0), (None, NO_ID)] {
            let words = Words::new(tokens.into_iter(), unknown);
            let mut out = Vec::new();
            for word in [&b"bc"[..], b"b", b"a"] {
                words.segment(word, &mut out);
            }
            let found: Vec<_> = out.iter().map(|s| (s.id, s.length)).collect();
            assert_eq!(found, [(5, 2), (expected, 1), (4, 1)]);
        }
    }

    #[test]
    fn an_unknown_word_is_its_bytes_where_all_have_tokens() {
        let mut words = Words::new([(&b"a"[..], 4)].into_iter(), Some(0));
        let mut ids = [NO_ID; 256];
        (ids[usize::from(b'b')], ids[usize::from(b'c')]) = (7, 8);
        words.byte_ids = Some(Box::new(ids));
        let mut out = Vec::new();
        for word in [&b"a"[..], b"bc", b"bd"] {
            words.segment(word, &mut out);
        }
        let found: Vec<_> = out.iter().map(|s| (s.id, s.length)).collect();
        assert_eq!(found, [(4, 1), (7, 1), (8, 1), (0, 2)]);
    }
}
