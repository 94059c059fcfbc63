//! Room for the children of a trie's nodes.

use super::trie::Node;
use crate::error::{Error, Result};

/// One bit for each of the 256 nodes of a block.
type Bits = [u64; 4];

struct Block {
    /// Number of its first node.
    start: u32,
    free: Bits,
    /// Bases that no node has yet.
    bases: Bits,
}

/// The blocks that still take children. Searching more of them packs the nodes closer
/// and takes longer.
#[derive(Default)]
pub(super) struct Blocks {
    open: Vec<Block>,
}

const MOST_OPEN: usize = 16;

impl Blocks {
    /// A base that nobody has and under which all `labels` are free; takes them.
    pub(super) fn place(&mut self, labels: &[u8], nodes: &mut Vec<Node>) -> Result<u32> {
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

    fn add(&mut self, nodes: &mut Vec<Node>) -> Result<usize> {
        let start = u32::try_from(nodes.len())
            .ok()
            .filter(|&start| start <= u32::MAX - 256)
            .ok_or_else(|| Error::TooLarge("the vocabulary is too large for a trie".into()))?;
        nodes.resize(nodes.len() + 256, Node::UNUSED);
        if self.open.len() == MOST_OPEN {
            self.open.remove(0);
        }
        self.open.push(Block {
            start,
            free: [u64::MAX; 4],
            bases: [u64::MAX; 4],
        });
        Ok(self.open.len() - 1)
    }
}

impl Block {
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

/// Bit `b` of the result is bit `b ^ label` of `bits`: inside a word, each bit of `label`
/// that is set swaps neighbouring groups of bits.
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

#[cfg(test)]
mod tests {
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
