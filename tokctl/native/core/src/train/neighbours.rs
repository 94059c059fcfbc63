//! What stands on one side of a pair that is being merged, symbol by symbol.
//!
//! A merge changes two pairs for each neighbour at each place. The same few neighbours come
//! again and again: what they lose and gain is added up here first, so that each pair is
//! looked up once for a merge, and knows how many places it is going to have.

use super::corpus::Place;

pub struct Neighbour {
    pub symbol: u32,
    /// Occurrences beside it, weighted.
    pub weight: u64,
    pub places: usize,
}

#[derive(Default)]
pub struct Neighbours {
    /// By symbol: 1 + its index among `found`, or 0.
    index: Vec<u32>,
    found: Vec<Neighbour>,
    /// (index among `found`, place of the pair that is gained)
    places: Vec<(u32, Place)>,
}

impl Neighbours {
    /// Forgets all, and makes room for `symbols`.
    pub fn clear(&mut self, symbols: usize) {
        for neighbour in self.found.drain(..) {
            self.index[neighbour.symbol as usize] = 0;
        }
        self.places.clear();
        if self.index.len() < symbols {
            self.index.resize(symbols, 0);
        }
    }

    #[inline]
    pub fn add(&mut self, symbol: u32, place: Place, weight: u64) {
        let index = &mut self.index[symbol as usize];
        if *index == 0 {
            self.found.push(Neighbour {
                symbol,
                weight: 0,
                places: 0,
            });
            *index = self.found.len() as u32;
        }
        let neighbour = &mut self.found[*index as usize - 1];
        neighbour.weight += weight;
        neighbour.places += 1;
        self.places.push((*index - 1, place));
    }

    pub fn found(&self) -> &[Neighbour] {
        &self.found
    }

    /// (index among the neighbours that are found, place), as they were added.
    pub fn places(&self) -> &[(u32, Place)] {
        &self.places
    }
}
