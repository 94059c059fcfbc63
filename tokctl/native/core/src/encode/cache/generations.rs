//! Values in bounded memory: values that are not used for long are forgotten.

/// Values in two generations, young and old.
///
/// When the young values fill their half of the memory, they become the old generation. The
/// previous old generation is forgotten, except values that were used meanwhile.
#[derive(Debug)]
pub(super) struct Generations<T> {
    young: Vec<T>,
    old: Vec<T>,
    /// Number of the young generation, modulo 2^32.
    number: u32,
    /// Values per generation, at most.
    most: usize,
}

/// Position of a run of values: the generation's number, and the index of the first value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub number: u32,
    pub start: u32,
}

impl<T: Copy> Generations<T> {
    /// Make an empty store for `bytes` bytes in both generations together.
    pub fn new(bytes: usize) -> Self {
        Generations {
            young: Vec::new(),
            old: Vec::new(),
            number: 0,
            most: (bytes / 2 / size_of::<T>()).min(u32::MAX as usize),
        }
    }

    pub fn bytes(&self) -> usize {
        (self.young.capacity() + self.old.capacity()) * size_of::<T>()
    }

    /// Return the number of the young generation.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Return whether a run of `count` values can fit a generation at all.
    pub fn can_hold(&self, count: usize) -> bool {
        count <= self.most
    }

    /// Return whether `count` more values fit before a generation must be forgotten.
    pub fn has_room(&self, count: usize) -> bool {
        self.young.len() + count <= self.most
    }

    /// Forget the old generation, make the young one the old one, and start a new young one.
    pub fn turn(&mut self) {
        std::mem::swap(&mut self.young, &mut self.old);
        self.young.clear();
        self.number = self.number.wrapping_add(1);
    }

    /// Make room for a run of `count` more values.
    fn reserve(&mut self, count: usize) {
        if self.young.capacity() - self.young.len() < count {
            // Double the capacity, as a vector does, but never beyond the limit.
            let more = self.young.len().max(count).max(1 << 10);
            let most = self.most - self.young.len();
            self.young.reserve_exact(more.min(most).max(count));
        }
    }

    /// Add the `count` values that `append` appends, and return their position.
    ///
    /// The caller must know that they fit; see [`Self::has_room`].
    pub fn add(&mut self, count: usize, append: impl FnOnce(&mut Vec<T>)) -> Place {
        self.reserve(count);
        let start = self.young.len() as u32;
        append(&mut self.young);
        Place {
            number: self.number,
            start,
        }
    }

    /// Return the `count` values at a position, or `None` if they were forgotten.
    #[inline]
    pub fn get(&self, place: Place, count: usize) -> Option<&[T]> {
        let generation = match self.number.wrapping_sub(place.number) {
            0 => &self.young,
            1 => &self.old,
            _ => return None,
        };
        generation.get(place.start as usize..)?.get(..count)
    }

    /// Move old values to the young generation and update `place`, if they fit.
    #[inline]
    pub fn renew(&mut self, place: &mut Place, count: usize) {
        let is_old = place.number == self.number.wrapping_sub(1);
        if is_old && self.has_room(count) {
            self.reserve(count);
            let start = self.young.len() as u32;
            let old = place.start as usize;
            self.young.extend_from_slice(&self.old[old..][..count]);
            *place = Place {
                number: self.number,
                start,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_outlives_its_generation() {
        let mut values = Generations::<u32>::new(800);
        assert!(values.can_hold(100) && !values.can_hold(101));
        let mut kept = values.add(2, |values| values.extend([7, 8]));
        let other = values.add(1, |values| values.push(9));
        for turn in 0..10 {
            assert_eq!(values.get(kept, 2), Some(&[7, 8][..]));
            values.renew(&mut kept, 2);
            let expected = (turn < 2).then_some(&[9][..]);
            assert_eq!(values.get(other, 1), expected);
            values.turn();
        }
        assert_eq!(values.bytes(), 800.min(values.bytes()));
    }

    #[test]
    fn memory_is_bounded() {
        let mut values = Generations::<u8>::new(3000);
        for number in 0..10_000 {
            let count = number % 200;
            if !values.has_room(count) {
                values.turn();
            }
            let place = values.add(count, |values| values.resize(values.len() + count, 7));
            assert_eq!(values.get(place, count).map(<[u8]>::len), Some(count));
            assert!(values.bytes() <= 3000);
        }
    }
}
