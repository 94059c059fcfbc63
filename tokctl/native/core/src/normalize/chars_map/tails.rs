//! Keys as a graph in which equal tails are one.

use std::collections::HashMap;

/// One of the siblings below a node: its label, and the set of siblings below it. The label 0
/// ends a key, and comes with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Sibling {
    pub label: u8,
    pub below: u32,
}

/// Sets of siblings by number, labels ascending.
#[derive(Default)]
pub(super) struct Graph {
    pub sets: Vec<Vec<Sibling>>,
    /// Is it below several nodes?
    pub shared: Vec<bool>,
    numbers: HashMap<Vec<Sibling>, u32>,
}

impl Graph {
    /// The number of a set, which is kept once.
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

    /// The graph of keys in ascending order, none empty or with a NUL, and its top set.
    pub fn new<'k>(keys: impl Iterator<Item = (&'k [u8], u32)>) -> (Self, u32) {
        let mut graph = Graph::default();
        // The sets on the way to the last key; the last branch of each is not closed yet.
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

    /// Closes the sets below the first `keep`, the deepest first.
    fn close(&mut self, open: &mut Vec<Vec<Sibling>>, keep: usize) {
        while open.len() > keep {
            let below = self.number(open.pop().unwrap_or_default());
            if let Some(branch) = open.last_mut().and_then(|set| set.last_mut()) {
                branch.below = below;
            }
        }
    }
}
