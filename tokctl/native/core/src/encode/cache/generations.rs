//! Values in bounded memory, of which those that nobody asks for are forgotten.

/// Values of two generations. When the young ones fill their half of the memory they become the old
/// ones, and those that were old are forgotten, but for those that were asked for meanwhile.
#[derive(Debug)]
pub(super) struct Generations<T> {
    young: Vec<T>,
    old: Vec<T>,
    /// Number of the young generation.
    number: u32,
    /// Values of a generation, at most.
    most: usize,
}

/// Where values are: their generation, and the first one's place in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub number: u32,
    pub start: u32,
}

impl<T: Copy> Generations<T> {
    /// Of so many bytes together.
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

    /// Number of the young generation.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Can so many ever be remembered?
    pub fn can_hold(&self, count: usize) -> bool {
        count <= self.most
    }

    /// Is there room for so many more, before something is forgotten?
    pub fn has_room(&self, count: usize) -> bool {
        self.young.len() + count <= self.most
    }

    /// The young ones become the old ones.
    pub fn turn(&mut self) {
        std::mem::swap(&mut self.young, &mut self.old);
        self.young.clear();
        self.number = self.number.wrapping_add(1);
    }

    /// Makes room for so many more that belong together.
    fn reserve(&mut self, count: usize) {
        if self.young.capacity() - self.young.len() < count {
            // Twice as much as before, as a vector does, but never more than what may be used.
            let more = self.young.len().max(count).max(1 << 10);
            let most = self.most - self.young.len();
            self.young.reserve_exact(more.min(most).max(count));
        }
    }

    /// Adds values for which there is room: the `count` that `append` appends. Returns where they
    /// are.
    pub fn add(&mut self, count: usize, append: impl FnOnce(&mut Vec<T>)) -> Place {
        self.reserve(count);
        let start = self.young.len() as u32;
        append(&mut self.young);
        Place {
            number: self.number,
            start,
        }
    }

    /// So many values of a place, unless they are forgotten.
    #[inline]
    pub fn get(&self, place: Place, count: usize) -> Option<&[T]> {
        let generation = match self.number.wrapping_sub(place.number) {
            0 => &self.young,
            1 => &self.old,
            _ => return None,
        };
        generation.get(place.start as usize..)?.get(..count)
    }

    /// Makes old values young again, where there is room.
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
