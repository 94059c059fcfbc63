//! Graph of keys that shares equal tails.

use std::collections::HashMap;

/// Branch of a node: its label, and the number of the set of siblings below it.
///
/// The label 0 ends a key; `below` is then the key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Sibling {
    pub label: u8,
    pub below: u32,
}

/// Sets of siblings by number, labels ascending.
#[derive(Default)]
pub(super) struct Graph {
    pub sets: Vec<Vec<Sibling>>,
    /// Whether each set is below several nodes.
    pub shared: Vec<bool>,
    numbers: HashMap<Vec<Sibling>, u32>,
}

impl Graph {
    /// Return the number of a set; equal sets share one.
    fn number(&mut self, set: Vec<Sibling>) -> u32 {
        if let Some(&number) = self.numbers.get(&set) {
            self.shared[number as usize] = true;
            return number;
        }
        let number = self.sets.len() as u32;
        self.sets.push(set.clone());
        self.shared.push(false);
        self.numbers.insert(set, number);
        number
    }

    /// Return the graph of ascending keys, and the number of its top set.
    ///
    /// No key may be empty or hold a NUL.
    pub fn new<'k>(keys: impl Iterator<Item = (&'k [u8], u32)>) -> (Self, u32) {
        let mut graph = Graph::default();
        // The sets on the path to the last key; the last branch of each is not closed yet.
        let mut open: Vec<Vec<Sibling>> = vec![Vec::new()];
        let mut last: &[u8] = &[];
        for (key, value) in keys {
            let common = last.iter().zip(key).take_while(|(a, b)| a == b).count();
            graph.close(&mut open, common + 1);
            for (depth, &label) in key.iter().enumerate().skip(common) {
                if let Some(set) = open.get_mut(depth) {
                    set.push(Sibling { label, below: 0 });
                }
                open.push(Vec::new());
            }
            if let Some(set) = open.last_mut() {
                set.push(Sibling {
                    label: 0,
                    below: value,
                });
            }
            last = key;
        }
        graph.close(&mut open, 1);
        let top = graph.number(open.pop().unwrap_or_default());
        (graph, top)
    }

    /// Close the sets below the first `keep`, the deepest first.
    fn close(&mut self, open: &mut Vec<Vec<Sibling>>, keep: usize) {
        while open.len() > keep {
            let below = self.number(open.pop().unwrap_or_default());
            if let Some(branch) = open.last_mut().and_then(|set| set.last_mut()) {
                branch.below = below;
            }
        }
    }
}
