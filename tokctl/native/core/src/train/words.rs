//! Which word a slot of the corpus lies in: a bit for each word's end, and their number
//! before every 64 slots. Two words of memory for 64 slots stay in the processor's cache
//! where a number for each slot would not.

/// 64 slots.
#[derive(Clone, Copy, Default)]
struct Block {
    /// The slots that end a word.
    ends: u64,
    /// Words that end before this block.
    before: u32,
}

#[derive(Default)]
pub struct Words {
    blocks: Vec<Block>,
    ended: u32,
}

impl Words {
    /// Ends a word at a slot; slots ascend.
    pub fn end_at(&mut self, slot: usize) {
        self.reach(slot);
        self.blocks[slot / 64].ends |= 1 << (slot % 64);
        self.ended += 1;
    }

    fn reach(&mut self, slot: usize) {
        let block = Block {
            ends: 0,
            before: self.ended,
        };
        if self.blocks.len() <= slot / 64 {
            self.blocks.resize(slot / 64 + 1, block);
        }
    }

    /// The word of a slot, its end among them. There is an end at the slot or after it.
    #[inline]
    pub fn at(&self, slot: u32) -> u32 {
        let block = self.blocks[slot as usize / 64];
        let earlier = block.ends & ((1 << (slot % 64)) - 1);
        block.before + earlier.count_ones()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_its_word() {
        let lengths = [1, 2, 3, 64, 1, 1, 200, 63, 65, 128, 1];
        let (mut words, mut expected) = (Words::default(), Vec::new());
        for (word, length) in (0u32..).zip(lengths) {
            expected.resize(expected.len() + length, word);
            words.end_at(expected.len() - 1);
        }
        let found: Vec<u32> = (0..expected.len() as u32).map(|at| words.at(at)).collect();
        assert_eq!(found, expected);
    }
}
