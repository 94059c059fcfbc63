//! A short pre-token packed in two machine words, and a fast hash of it: the keys of counting
//! tables and caches.

use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::OnceLock;

use hashbrown::DefaultHashBuilder;

/// Maximum length of a pre-token in a key, in bytes.
pub(crate) const LONGEST: usize = 15;

/// Packed pre-token of 1 to 15 bytes: its bytes, padded with zeros, and its length in the last
/// byte.
///
/// No two pre-tokens have equal keys. The four highest bits are always 0, so that a table can use
/// them. The key of all zeros belongs to no pre-token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(C)]
pub(crate) struct Key {
    pub low: u64,
    pub high: u64,
}

/// Bit offset of the length in the upper word.
const LENGTH_AT: u32 = 56;

/// Masks that keep the first n bytes of a window of 16, indexed by n.
static MASKS: [(u64, u64); 16] = masks();

const fn masks() -> [(u64, u64); 16] {
    let mut masks = [(0, 0); 16];
    let mut length = 1;
    while length < 16 {
        let ones = (1u128 << (8 * length)) - 1;
        masks[length] = (ones as u64, (ones >> 64) as u64);
        length += 1;
    }
    masks
}

impl Key {
    /// Pack the first `length` bytes of a window, at most 15.
    #[inline(always)]
    fn of_window(window: &[u8; 16], length: usize) -> Self {
        let (low, high) = halves(window);
        let (keep_low, keep_high) = MASKS[length & LONGEST];
        Key {
            low: low & keep_low,
            high: high & keep_high | (length as u64) << LENGTH_AT,
        }
    }

    /// Return the key of `text[start..end]`, or None if the span does not have 1 to 15 bytes or
    /// starts less than 16 bytes before the end of the text.
    ///
    /// Sixteen bytes are read at once, and the bytes after the span are masked out.
    #[inline(always)]
    pub fn in_window(text: &[u8], start: usize, end: usize) -> Option<Self> {
        let length = end.wrapping_sub(start);
        if length.wrapping_sub(1) >= LONGEST {
            return None;
        }
        let window = text.get(start..)?.first_chunk()?;
        Some(Key::of_window(window, length))
    }

    /// Return the key of `text[start..end]`, which must be 1 to 15 bytes long.
    #[inline(always)]
    pub fn of_range(text: &[u8], start: usize, end: usize) -> Self {
        Key::in_window(text, start, end).unwrap_or_else(|| Key::of(&text[start..end]))
    }

    /// Return the key of a text of 1 to 15 bytes, or a key of all zeros for any other length.
    #[inline]
    pub fn of(text: &[u8]) -> Self {
        Key::short(text).unwrap_or_default()
    }

    /// Return the key of a text, or None if the text does not have 1 to 15 bytes.
    ///
    /// Reads the first and the last bytes, which overlap: copying a variable number of bytes takes
    /// longer.
    #[inline]
    pub fn short(text: &[u8]) -> Option<Self> {
        let four = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
        let length = text.len();
        let (low, high) = match length {
            8..=LONGEST => {
                let last = u64::from_le_bytes(*text.last_chunk()?);
                let low = u64::from_le_bytes(*text.first_chunk()?);
                (low, (last >> 8) >> (8 * (LONGEST - length)))
            }
            4..=7 => (
                four(text.first_chunk()?) | four(text.last_chunk()?) << (8 * (length - 4)),
                0,
            ),
            1..=3 => {
                let [first, middle, last] = [0, length / 2, length - 1];
                let put = |at: usize| u64::from(text[at]) << (8 * at);
                (put(first) | put(middle) | put(last), 0)
            }
            _ => return None,
        };
        Some(Key {
            low,
            high: high | (length as u64) << LENGTH_AT,
        })
    }

    /// Key of no text: its length is 1, but its second byte is not zero.
    pub const NONE: Self = Key {
        low: u64::MAX,
        high: 1 << LENGTH_AT,
    };

    /// Return the span of a longer (or empty) pre-token in place of a key.
    #[inline]
    pub fn of_place(start: usize, length: usize) -> Self {
        Key {
            low: start as u64,
            high: length as u64,
        }
    }

    /// Return the span, if this is a span in place of a key.
    #[inline(always)]
    pub fn place(self) -> Option<Range<usize>> {
        let (start, length) = (self.low as usize, self.high as usize);
        (self.high >> LENGTH_AT == 0).then_some(start..start.wrapping_add(length))
    }

    /// Return the length of the pre-token in bytes.
    #[inline]
    pub fn length(self) -> usize {
        (self.high >> LENGTH_AT) as usize & LONGEST
    }

    /// Unpack the text; return the bytes, of which the first `length` count, and `length`.
    pub fn text(self) -> ([u8; 16], usize) {
        let all = u128::from(self.high) << 64 | u128::from(self.low);
        (all.to_le_bytes(), self.length())
    }
}

#[inline(always)]
fn halves(window: &[u8; 16]) -> (u64, u64) {
    let all = u128::from_le_bytes(*window);
    (all as u64, (all >> 64) as u64)
}

/// Random numbers of this process, so that no text can be crafted from colliding pre-tokens.
///
/// They are equal in the whole process, so that one hash serves every table in which a pre-token is
/// looked up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seeds(pub [u64; 2]);

impl Default for Seeds {
    fn default() -> Self {
        static SEEDS: OnceLock<[u64; 2]> = OnceLock::new();
        Seeds(*SEEDS.get_or_init(|| {
            let hasher = DefaultHashBuilder::default();
            [hasher.hash_one(0), hasher.hash_one(1)]
        }))
    }
}

impl Seeds {
    /// Return the hash of a key.
    #[inline(always)]
    pub fn hash(self, key: Key) -> u64 {
        fold(key.low ^ self.0[0], key.high ^ self.0[1])
    }

    /// Return the hash of a text of any length but 0.
    #[inline]
    pub fn hash_any(self, text: &[u8]) -> u64 {
        match text.len() > LONGEST {
            true => self.hash_long(text),
            false => self.hash(Key::of(text)),
        }
    }

    /// Return the hash of a text of over 15 bytes.
    #[inline]
    pub fn hash_long(self, text: &[u8]) -> u64 {
        let mut hash = self.0[0] ^ text.len() as u64;
        let mut parts = text.chunks_exact(16);
        for part in &mut parts {
            let all = part.first_chunk().map_or((0, 0), halves);
            hash = fold(all.0 ^ hash, all.1 ^ self.0[1]);
        }
        // The last sixteen bytes, which may overlap the chunks before.
        let last = text.last_chunk().map_or((0, 0), halves);
        fold(last.0 ^ hash, last.1 ^ self.0[1] ^ hash.rotate_left(32))
    }
}

/// Return the exclusive or of the two halves of a product: each of its bits depends on all bits of
/// `a` and `b`.
#[inline(always)]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Vec<Vec<u8>> {
        let mut words = Vec::new();
        for length in 1..=LONGEST {
            words.push(vec![b'a'; length]);
            words.push(vec![0; length]);
            for at in 0..length {
                for byte in [0, b'b', 0xFF] {
                    let mut word = vec![b'a'; length];
                    word[at] = byte;
                    words.push(word);
                }
            }
        }
        words
    }

    #[test]
    fn no_two_words_have_one_key() {
        let mut keys = hashbrown::HashMap::new();
        for word in words() {
            let key = Key::of(&word);
            let (text, length) = key.text();
            assert_eq!(text[..length], word);
            assert!(key.place().is_none() && key.high >> 60 == 0);
            assert_eq!((Key::short(&word), key.length()), (Some(key), length));
            let other = keys.insert((key.low, key.high), word.clone());
            assert!(other.is_none_or(|other| other == word));
        }
        let place = Key::of_place(usize::MAX >> 1, 1 << 40).place();
        assert_eq!(place, Some(usize::MAX >> 1..(usize::MAX >> 1) + (1 << 40)));
        assert_eq!(Key::of_place(0, 0).place(), Some(0..0));
        assert_eq!((Key::short(b""), Key::short(&[b'a'; 16])), (None, None));
        assert_eq!(Key::default().place(), Some(0..0));
    }

    #[test]
    fn a_key_is_the_same_wherever_its_word_stands() {
        for word in words() {
            for before in [0, 1, 15, 16, 17] {
                for after in [0, 1, 14, 15, 16, 40] {
                    let mut text = vec![0xAA; before];
                    text.extend_from_slice(&word);
                    text.resize(before + word.len() + after, 0x55);
                    let key = Key::of_range(&text, before, before + word.len());
                    assert_eq!(key, Key::of(&word));
                }
            }
        }
    }

    #[test]
    fn every_byte_counts_in_a_hash() {
        let seeds = Seeds::default();
        let mut hashes = std::collections::HashSet::new();
        let mut count = 0;
        for length in 16..=70 {
            for at in 0..length {
                let mut word = vec![b'a'; length];
                word[at] = b'b';
                hashes.insert(seeds.hash_long(&word));
                count += 1;
            }
        }
        // Hashes have 64 bits, so even one collision would be suspicious.
        assert!(hashes.len() >= count - 1, "{} of {count}", hashes.len());
    }
}
