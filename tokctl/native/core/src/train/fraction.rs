//! Exact comparison of scores.

use std::cmp::Ordering;

/// `count / (left * right)`, never turned into a float.
#[derive(Debug, Clone, Copy)]
pub struct Fraction {
    pub count: u64,
    /// A product of two 64-bit counts, which 128 bits always hold. Not 0.
    pub product: u128,
}

impl Fraction {
    pub fn new(count: u64, left: u64, right: u64) -> Self {
        Fraction {
            count,
            product: u128::from(left) * u128::from(right),
        }
    }
}

/// A 64-bit times a 128-bit number, as (high 128 bits, low 64 bits).
fn wide_product(a: u64, b: u128) -> (u128, u64) {
    let low = u128::from(a) * u128::from(b as u64);
    let high = u128::from(a) * (b >> 64);
    (high + (low >> 64), low as u64)
}

impl Ord for Fraction {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.product >> 64 == 0 && other.product >> 64 == 0 {
            let ours = u128::from(self.count) * other.product;
            let theirs = u128::from(other.count) * self.product;
            return ours.cmp(&theirs);
        }
        wide_product(self.count, other.product).cmp(&wide_product(other.count, self.product))
    }
}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Fraction {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Fraction {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_beyond_128_bits() {
        let max = u64::MAX;
        assert!(Fraction::new(max, max, max) < Fraction::new(max, max, max - 1));
        assert!(Fraction::new(max - 1, max, max) < Fraction::new(max, max, max));
        assert_eq!(Fraction::new(2, max, 2), Fraction::new(1, max, 1));
        assert_eq!(Fraction::new(3, 6, 5), Fraction::new(1, 2, 5));
        // As floats these two are equal.
        let near = 1 << 62;
        assert!(Fraction::new(near + 1, near, 3) > Fraction::new(near, near, 3));
        assert!(Fraction::new(1, 10, 10) > Fraction::new(1, max, max));
    }
}
