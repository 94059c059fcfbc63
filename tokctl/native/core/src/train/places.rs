//! Where a pair occurs: most pairs have very few places, which need no memory of their own.

use super::corpus::Place;

/// So many places stand in the list itself, beside its length.
const FEW: usize = 3;

#[derive(Debug)]
pub enum Places {
    Few { length: u8, at: [Place; FEW] },
    Many(Vec<Place>),
}

impl Default for Places {
    fn default() -> Self {
        Places::Few {
            length: 0,
            at: [0; FEW],
        }
    }
}

impl Places {
    pub fn as_slice(&self) -> &[Place] {
        match self {
            Places::Few { length, at } => &at[..usize::from(*length)],
            Places::Many(places) => places,
        }
    }

    /// Makes room for exactly so many more, for a list that will not grow again soon.
    pub fn reserve(&mut self, more: usize) {
        match self {
            Places::Few { length, at } => {
                let length = usize::from(*length);
                if length + more > FEW {
                    let mut places = Vec::with_capacity(length + more);
                    places.extend_from_slice(&at[..length]);
                    *self = Places::Many(places);
                }
            }
            // One that grows once more can do so again and again.
            Places::Many(places) => places.reserve(more),
        }
    }

    #[inline]
    pub fn push(&mut self, place: Place) {
        match self {
            Places::Few { length, at } if usize::from(*length) < FEW => {
                at[usize::from(*length)] = place;
                *length += 1;
            }
            Places::Few { .. } => {
                self.reserve(1);
                self.push(place);
            }
            Places::Many(places) => places.push(place),
        }
    }

    /// Takes out the first `head` places.
    pub fn forget(&mut self, head: usize) {
        match self {
            Places::Few { length, at } => {
                at.copy_within(head..usize::from(*length), 0);
                *length -= head as u8;
            }
            Places::Many(places) => drop(places.drain(..head)),
        }
    }

    pub fn retain(&mut self, keep: impl Fn(Place) -> bool) {
        match self {
            Places::Few { length, at } => {
                let mut kept = 0;
                for index in 0..usize::from(*length) {
                    at[kept] = at[index];
                    kept += usize::from(keep(at[index]));
                }
                *length = kept as u8;
            }
            Places::Many(places) => places.retain(|&place| keep(place)),
        }
    }

    /// Ascending, and each once.
    pub fn sort(&mut self) {
        let mut places = self.as_slice().to_vec();
        places.sort_unstable();
        places.dedup();
        *self = Places::Many(places);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_lists_are_alike() {
        assert_eq!(size_of::<Places>(), size_of::<Vec<Place>>());
        for length in 0..9u32 {
            let mut places = Places::default();
            places.reserve(length as usize / 2);
            (0..length).for_each(|at| places.push(at * 2));
            let all: Vec<_> = (0..length).map(|at| at * 2).collect();
            assert_eq!(places.as_slice(), all);
            places.forget(length as usize / 2);
            assert_eq!(places.as_slice(), &all[length as usize / 2..]);
            places.retain(|place| place % 4 == 0);
            places.push(1);
            places.push(1);
            places.sort();
            let left = all[length as usize / 2..].iter().copied();
            let left = left.filter(|place| place % 4 == 0);
            let expected: Vec<_> = std::iter::once(1).chain(left).collect();
            let mut sorted = expected.clone();
            sorted.sort_unstable();
            assert_eq!(places.as_slice(), sorted);
        }
    }
}
