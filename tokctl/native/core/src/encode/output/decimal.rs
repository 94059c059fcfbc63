//! Numbers in decimal.

/// The most bytes that [`decimal`] writes.
pub const MAX_DIGITS: usize = 10;

/// Numbers below this have their digits looked up.
const LOOKED_UP: u32 = 1_000_000;

/// The digits of the numbers of three digits, the first one in the lowest byte.
static THREE: [u32; 1000] = three();

const fn three() -> [u32; 1000] {
    let mut digits = [0; 1000];
    let mut number = 0;
    while number < 1000 {
        let (first, second, third) = (number / 100, number / 10 % 10, number % 10);
        digits[number] = (first | second << 8 | third << 16) as u32;
        number += 1;
    }
    digits
}

/// Writes `number` in decimal at the start of `to`, which has at least [`MAX_DIGITS`] bytes, and
/// returns how many digits it has. What stands behind them is overwritten.
///
/// The six digits of nearly every id stand side by side in one machine word, from where the
/// leading zeros are shifted out: no branch depends on how many digits there are.
#[inline(always)]
pub fn decimal(number: u32, to: &mut [u8]) -> usize {
    if number >= LOOKED_UP {
        return decimal_of_many(number, to);
    }
    let (high, low) = (number / 1000, number % 1000);
    let digits = u64::from(THREE[high as usize]) | u64::from(THREE[low as usize]) << 24;
    // The last digit stays where all are zeros.
    let zeros = (digits | 1 << 40).trailing_zeros() / 8;
    let text = (digits | 0x3030_3030_3030) >> (8 * zeros);
    to[..8].copy_from_slice(&text.to_le_bytes());
    6 - zeros as usize
}

#[cold]
fn decimal_of_many(number: u32, to: &mut [u8]) -> usize {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(number).as_bytes();
    to[..text.len()].copy_from_slice(text);
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        let decimal = |number: u32| {
            let mut text = [b'x'; MAX_DIGITS];
            let length = decimal(number, &mut text);
            String::from_utf8(text[..length].to_vec()).unwrap()
        };
        let ends = (0..10).map(|power| 10u32.pow(power));
        let around = ends.flat_map(|end| [end - 1, end, end + 1]);
        let spread = (0..200_000u32).map(|step| step.wrapping_mul(2_654_435_761));
        // Every number of four digits in both halves.
        let halves = (0..10_000).flat_map(|four| [four, 10_000 * four, 10_001 * four]);
        for number in around.chain(spread).chain(halves).chain([u32::MAX]) {
            assert_eq!(decimal(number), number.to_string());
        }
    }
}
