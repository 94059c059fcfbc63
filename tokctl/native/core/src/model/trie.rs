//! A static trie over bytes, as a double array (Aoe 1989): a child is found by one exclusive or and
//! one comparison, so a look-up reads one node of eight bytes per byte.
//!
//! The child of a node under byte `b` is node `base ^ b`, if that node carries the label `b`. No
//! two nodes have the same base, so comparing the label suffices. All children of a node are in one
//! block of 256 nodes. The children of the root are in a block that was empty, so they form a
//! table.

use crate::error::{Error, Result};

// Allocation of nodes for the children of each node.

/// Bitmap of the 256 nodes of a block.
type Bits = [u64; 4];

struct NodeBlock {
    /// Number of the block's first node.
    start: u32,
    free: Bits,
    /// Bases that no node uses yet.
    bases: Bits,
}

/// Blocks that still accept children. Searching more blocks packs the nodes more densely, but takes
/// longer.
#[derive(Default)]
pub(super) struct NodeBlocks {
    open: Vec<NodeBlock>,
}

const MOST_OPEN: usize = 16;

impl NodeBlocks {
    /// Return an unused base under which all `labels` are free, and mark them as used.
    pub(super) fn place(&mut self, labels: &[u8], nodes: &mut Vec<TrieNode>) -> Result<u32> {
        let found = self
            .open
            .iter()
            .enumerate()
            .find_map(|(number, block)| Some((number, block.base_for(labels)?)));
        let (number, base) = match found {
            Some(found) => found,
            None => (self.add(nodes)?, 0),
        };
        let block = &mut self.open[number];
        clear(&mut block.bases, base);
        for label in labels {
            clear(&mut block.free, base ^ label);
        }
        let start = block.start;
        if block.free == [0; 4] {
            self.open.remove(number);
        }
        Ok(start | u32::from(base))
    }

    fn add(&mut self, nodes: &mut Vec<TrieNode>) -> Result<usize> {
        let start = u32::try_from(nodes.len())
            .ok()
            .filter(|&start| start <= u32::MAX - 256)
            .ok_or_else(|| Error::TooLarge("the vocabulary is too large for a trie".into()))?;
        nodes.resize(nodes.len() + 256, TrieNode::UNUSED);
        if self.open.len() == MOST_OPEN {
            self.open.remove(0);
        }
        self.open.push(NodeBlock {
            start,
            free: [u64::MAX; 4],
            bases: [u64::MAX; 4],
        });
        Ok(self.open.len() - 1)
    }
}

impl NodeBlock {
    fn base_for(&self, labels: &[u8]) -> Option<u8> {
        let mut fitting = self.bases;
        for &label in labels {
            let free = moved(&self.free, label);
            for (fitting, free) in fitting.iter_mut().zip(free) {
                *fitting &= free;
            }
            if fitting == [0; 4] {
                return None;
            }
        }
        let word = fitting.iter().position(|&word| word != 0)?;
        Some((word as u32 * 64 + fitting[word].trailing_zeros()) as u8)
    }
}

fn clear(bits: &mut Bits, at: u8) {
    bits[usize::from(at >> 6)] &= !(1 << (at & 63));
}

/// Return bits in which bit `b` is bit `b ^ label` of `bits`. Within a word, each set bit of
/// `label` swaps neighbouring groups of bits.
fn moved(bits: &Bits, label: u8) -> Bits {
    const GROUPS: [u64; 6] = [
        0x5555_5555_5555_5555,
        0x3333_3333_3333_3333,
        0x0F0F_0F0F_0F0F_0F0F,
        0x00FF_00FF_00FF_00FF,
        0x0000_FFFF_0000_FFFF,
        0x0000_0000_FFFF_FFFF,
    ];
    let mut result = [0; 4];
    for (at, word) in result.iter_mut().enumerate() {
        *word = bits[at ^ usize::from(label >> 6)];
        for (power, group) in GROUPS.iter().enumerate() {
            if label >> power & 1 == 1 {
                let width = 1 << power;
                *word = (*word & group) << width | *word >> width & group;
            }
        }
    }
    result
}

/// Label of an unused node; no byte equals it.
pub(super) const EMPTY: u32 = (1 << LABEL_BITS) - 1;
/// Label that no node carries.
pub(super) const NO_LABEL: u16 = (1 << LABEL_BITS) - 2;
const LABEL_BITS: u32 = 9;
/// Entry number of a node where no entry ends. Entry numbers take the bits that the label leaves.
const NO_ENTRY: u32 = (1 << (32 - LABEL_BITS)) - 1;

/// Base of nodes without children. The first block holds only the root.
const NO_CHILDREN: u32 = 0;

/// Node of the double array.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrieNode {
    base: u32,
    /// Label in the low bits; above it, the number of the entry that ends at this node.
    tag: u32,
}

/// State of a walk: a copy of the current node.
pub(super) type TriePlace = TrieNode;

impl TrieNode {
    /// Return the number of the entry that ends at this node.
    #[inline(always)]
    pub(super) fn entry(self) -> Option<u32> {
        let entry = self.tag >> LABEL_BITS;
        (entry != NO_ENTRY).then_some(entry)
    }

    pub(super) const UNUSED: TrieNode = TrieNode {
        base: NO_CHILDREN,
        tag: NO_ENTRY << LABEL_BITS | EMPTY,
    };
}

/// Trie over bytes: see the module. Entries are numbered in input order.
#[derive(Debug, Clone)]
pub struct Trie {
    nodes: Vec<TrieNode>,
    root: u32,
    values: Vec<u32>,
    longest: usize,
}

/// Entries with a common prefix: `first..last` of the sorted entries share `depth` bytes, and their
/// node is `slot`.
struct SharedPrefix {
    first: usize,
    last: usize,
    depth: usize,
    slot: u32,
}

impl Trie {
    /// Build the trie from (bytes, value). Of entries with equal bytes the last one counts; an
    /// empty entry matches nothing.
    pub fn build<'t>(entries: impl Iterator<Item = (&'t [u8], u32)>) -> Result<Self> {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for (number, (key, value)) in (0u32..).zip(entries) {
            if number >= NO_ENTRY {
                let most = "a vocabulary can't have more than 8,388,607 entries";
                return Err(Error::TooLarge(most.into()));
            }
            values.push(value);
            if !key.is_empty() {
                keys.push((key, number));
            }
        }
        // Of equal keys the last entry comes first, and only the first is kept.
        keys.sort_unstable_by(|a, b| a.0.cmp(b.0).then(b.1.cmp(&a.1)));
        keys.dedup_by_key(|&mut (key, _)| key);
        let mut trie = Trie {
            nodes: vec![TrieNode::UNUSED; 256],
            root: NO_CHILDREN,
            values,
            longest: keys.iter().map(|(key, _)| key.len()).max().unwrap_or(0),
        };
        trie.fill(&keys)?;
        trie.root = trie.nodes[0].base;
        Ok(trie)
    }

    fn fill(&mut self, keys: &[(&[u8], u32)]) -> Result<()> {
        let mut blocks = NodeBlocks::default();
        let mut labels: Vec<u8> = Vec::new();
        let mut branches = vec![SharedPrefix {
            first: 0,
            last: keys.len(),
            depth: 0,
            slot: 0,
        }];
        while let Some(branch) = branches.pop() {
            let (mut first, depth) = (branch.first, branch.depth);
            if first < branch.last && keys[first].0.len() == depth {
                let tag = &mut self.nodes[branch.slot as usize].tag;
                *tag = keys[first].1 << LABEL_BITS | *tag & EMPTY;
                first += 1;
            }
            labels.clear();
            let children = branches.len();
            while first < branch.last {
                let label = keys[first].0[depth];
                let here = &keys[first..branch.last];
                let count = here.partition_point(|(key, _)| key[depth] == label);
                labels.push(label);
                branches.push(SharedPrefix {
                    first,
                    last: first + count,
                    depth: depth + 1,
                    slot: 0,
                });
                first += count;
            }
            if labels.is_empty() {
                continue;
            }
            let base = blocks.place(&labels, &mut self.nodes)?;
            self.nodes[branch.slot as usize].base = base;
            for (child, &label) in branches[children..].iter_mut().zip(&labels) {
                child.slot = base ^ u32::from(label);
                self.nodes[child.slot as usize].tag = NO_ENTRY << LABEL_BITS | u32::from(label);
            }
        }
        Ok(())
    }

    /// Return the state in which a walk begins.
    #[inline(always)]
    pub(super) fn start(&self) -> TriePlace {
        TriePlace {
            base: self.root,
            tag: TrieNode::UNUSED.tag,
        }
    }

    /// Advance by one label. If no child has the label, return false and leave `place` unchanged.
    #[inline(always)]
    pub(super) fn step(&self, place: &mut TriePlace, label: impl Into<u32>) -> bool {
        let label = label.into();
        match self.nodes.get((place.base ^ label) as usize) {
            Some(node) if node.tag & EMPTY == label => {
                *place = *node;
                true
            }
            _ => false,
        }
    }

    /// Return the id of the entry with this number.
    pub(super) fn id(&self, entry: u32) -> u32 {
        self.values[entry as usize]
    }

    /// Call `found(length, entry number)` for every entry that is a prefix of `text`, shortest
    /// first. Return the number of bytes read.
    #[inline]
    pub fn walk(&self, text: &[u8], mut found: impl FnMut(usize, u32)) -> usize {
        let mut place = self.start();
        for (at, &byte) in text.iter().enumerate() {
            if !self.step(&mut place, byte) {
                return at + 1;
            }
            if let Some(entry) = place.entry() {
                found(at + 1, entry);
            }
        }
        text.len()
    }

    /// Call `found(length, value)` for every entry that is a prefix of `text`, shortest first.
    #[inline]
    pub fn prefixes(&self, text: &[u8], mut found: impl FnMut(usize, u32)) {
        self.walk(text, |length, entry| {
            found(length, self.values[entry as usize]);
        });
    }

    /// Return value and length of the longest entry that is a prefix of `text`.
    #[inline]
    pub fn longest(&self, text: &[u8]) -> Option<(u32, usize)> {
        self.longest_counted(text).0
    }

    /// Like [`Self::longest`], and also return the number of bytes read.
    #[inline]
    pub fn longest_counted(&self, text: &[u8]) -> (Option<(u32, usize)>, usize) {
        let mut best = None;
        let steps = self.walk(text, |length, entry| best = Some((entry, length)));
        let found = best.map(|(entry, length)| (self.values[entry as usize], length));
        (found, steps)
    }

    /// Return the value of the entry that equals `text`.
    pub fn get(&self, text: &[u8]) -> Option<u32> {
        self.longest(text)
            .filter(|&(_, length)| length == text.len())
            .map(|(value, _)| value)
    }

    /// Return the length of the longest entry in bytes.
    pub fn longest_entry(&self) -> usize {
        self.longest
    }
}

#[cfg(test)]
mod trie_blocks_tests {
    use super::*;

    #[test]
    fn moving_is_exclusive_or_of_the_places() {
        for at in [0u8, 1, 63, 64, 130, 255] {
            let mut bits = [0; 4];
            bits[usize::from(at >> 6)] = 1 << (at & 63);
            for label in 0..=255u8 {
                let moved = moved(&bits, label);
                let to = at ^ label;
                assert_eq!(moved[usize::from(to >> 6)], 1 << (to & 63));
                assert_eq!(moved.iter().map(|word| word.count_ones()).sum::<u32>(), 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random_below;
    use std::collections::BTreeMap;

    fn all_prefixes(trie: &Trie, text: &[u8]) -> Vec<(usize, u32)> {
        let mut found = Vec::new();
        trie.prefixes(text, |length, value| found.push((length, value)));
        found
    }

    fn check(entries: &[(Vec<u8>, u32)], texts: &[Vec<u8>]) {
        let trie = Trie::build(entries.iter().map(|(key, value)| (&key[..], *value))).unwrap();
        let map: BTreeMap<&[u8], u32> = entries
            .iter()
            .map(|(key, value)| (&key[..], *value))
            .collect();
        for text in texts {
            let expected: Vec<(usize, u32)> = (1..=text.len())
                .filter_map(|length| Some((length, *map.get(&text[..length])?)))
                .collect();
            assert_eq!(all_prefixes(&trie, text), expected, "{text:x?}");
            let longest = expected.last().map(|&(length, value)| (value, length));
            assert_eq!(trie.longest(text), longest);
            let whole = map.get(&text[..]).copied().filter(|_| !text.is_empty());
            assert_eq!(trie.get(text), whole);
        }
    }

    #[test]
    fn an_empty_trie_and_an_empty_entry_match_nothing() {
        check(&[], &[b"".to_vec(), b"a".to_vec(), vec![0], vec![255]]);
        let trie = Trie::build([(&b""[..], 7)].into_iter()).unwrap();
        assert_eq!(all_prefixes(&trie, b"a"), []);
        assert_eq!(trie.get(b""), None);
    }

    #[test]
    fn the_last_of_equal_entries_counts() {
        let entries = [(b"ab".to_vec(), 1), (b"a".to_vec(), 2), (b"ab".to_vec(), 3)];
        check(&entries, &[b"abc".to_vec()]);
    }

    #[test]
    fn prefixes_agree_with_a_map() {
        let mut random = random_below(1);
        for (letters, count, longest) in
            [(2, 50u32, 9), (256, 3000, 4), (256, 20, 2), (5, 4000, 12)]
        {
            let mut word = |longest: usize| -> Vec<u8> {
                let length = random(longest + 1);
                (0..length).map(|_| random(letters) as u8).collect()
            };
            let entries: Vec<_> = (0..count).map(|n| (word(longest), n * 7)).collect();
            let texts: Vec<_> = (0..2000).map(|_| word(longest + 3)).collect();
            check(&entries, &texts);
        }
    }

    #[test]
    fn a_long_entry_needs_no_stack() {
        let long = vec![b'x'; 300_000];
        check(&[(long.clone(), 1), (b"x".to_vec(), 2)], &[long]);
    }
}
