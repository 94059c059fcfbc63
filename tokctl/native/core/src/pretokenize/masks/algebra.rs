//! Operations on masks that the patterns share.
//!
//! "Before" and "after" refer to the text: the character before is one bit lower.

use super::View;

/// Last bit of a mask, for the next block.
#[derive(Clone, Copy, Default)]
pub struct Carry(u64);

impl Carry {
    /// Return the positions one after the bits of `mask`, across the start of the block.
    #[inline(always)]
    pub fn behind(&mut self, mask: u64) -> u64 {
        let shifted = mask << 1 | self.0;
        self.0 = mask >> 63;
        shifted
    }

    /// Return bit 0, set if the last bit of the block before was set.
    #[inline(always)]
    pub fn first(self) -> u64 {
        self.0
    }
}

/// Return the positions one before the bits of a mask; `next` is the mask of the next block.
#[inline(always)]
pub fn ahead(mask: u64, next: u64) -> u64 {
    mask >> 1 | next << 63
}

/// Return the positions from each bit of `from` to the end of its run of `within`.
///
/// Each bit of `from` lies in a run of `within`. The sum clears a run from its first marked
/// position on, and sets the other marks again.
#[inline(always)]
pub fn follow(from: u64, within: u64) -> u64 {
    ((within.wrapping_add(from) ^ within) | from) & within
}

/// Return the first bytes of the characters whose last bytes are in `last`.
///
/// `next` and the second half of `rest` belong to the next block. A character may have at most
/// three bytes.
#[inline]
pub fn first_bytes(last: u64, next: u64, rest: (u64, u64)) -> u64 {
    let rest = u128::from(rest.0) | u128::from(rest.1) << 64;
    let mut places = u128::from(last) | u128::from(next) << 64;
    for _ in 0..2 {
        places |= (places & rest) >> 1;
    }
    (places & !rest) as u64
}

/// End of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// The run ends in this block or the next, at this bit of the two.
    Ends(u32),
    /// The run continues past both blocks.
    Open,
}

impl Run {
    /// Return the end of the run of `mask` that continues at bit `from`.
    #[inline(always)]
    pub fn from(from: u32, mask: u64, next: u64) -> Run {
        let length = (!(mask >> from)).trailing_zeros();
        if from + length < 64 {
            return Run::Ends(from + length);
        }
        match (!next).trailing_zeros() {
            64 => Run::Open,
            length => Run::Ends(64 + length),
        }
    }
}

/// Return whether bit `at` of two consecutive masks is set.
#[inline(always)]
pub fn bit(at: u32, mask: u64, next: u64) -> bool {
    let half = if at < 64 { mask } else { next };
    half >> (at & 63) & 1 != 0
}

/// Numbers in groups of at most three: `\p{N}{1,3}`.
#[derive(Clone, Copy, Default)]
pub struct Groups {
    before: Carry,
    /// Numbers at the end of the block before that belong to an open group.
    open: u32,
}

impl Groups {
    /// Return where groups start.
    #[inline(always)]
    pub fn starts(&mut self, numbers: u64, view: &View) -> u64 {
        let going_on = self.open > 0 && numbers & 1 != 0;
        let runs = numbers & !self.before.behind(numbers);
        let four = numbers & numbers << 1 & numbers << 2 & numbers << 3;
        if four == 0 && numbers & view.block.rest == 0 && !going_on {
            self.open = numbers.leading_ones();
            return runs;
        }
        self.count(numbers, runs, numbers & !view.block.rest)
    }

    /// Count number by number; `firsts` are the first bytes of the numbers.
    #[cold]
    fn count(&mut self, numbers: u64, runs: u64, firsts: u64) -> u64 {
        let (mut starts, mut left) = (0, firsts);
        while left != 0 {
            let place = left & left.wrapping_neg();
            left ^= place;
            if runs & place != 0 || self.open == 3 {
                starts |= place;
                self.open = 0;
            }
            self.open += 1;
        }
        if numbers >> 63 == 0 {
            self.open = 0;
        }
        starts
    }
}
