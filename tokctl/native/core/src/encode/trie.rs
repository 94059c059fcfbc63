//! A trie over bytes: the longest token that a text starts with.

use hashbrown::HashMap;

use crate::model::NO_ID;

/// Nodes are numbers; the root is 0. Each look-up takes one step per byte.
#[derive(Default)]
pub struct Trie {
    children: HashMap<u64, u32>,
    ids: Vec<u32>,
}

impl Trie {
    pub fn insert(&mut self, token: &[u8], id: u32) {
        if self.ids.is_empty() {
            self.ids.push(NO_ID);
        }
        let mut node = 0;
        for &byte in token {
            let new = self.ids.len() as u32;
            node = *self.children.entry(key(node, byte)).or_insert(new);
            if node == new {
                self.ids.push(NO_ID);
            }
        }
        self.ids[node as usize] = id;
    }

    /// Id and length of the longest token that `text` starts with; none is empty.
    pub fn longest(&self, text: &[u8]) -> Option<(u32, usize)> {
        let mut node = 0;
        let mut best = None;
        for (at, &byte) in text.iter().enumerate() {
            match self.children.get(&key(node, byte)) {
                Some(&child) => node = child,
                None => break,
            }
            let id = self.ids[node as usize];
            if id != NO_ID {
                best = Some((id, at + 1));
            }
        }
        best
    }
}

fn key(node: u32, byte: u8) -> u64 {
    u64::from(node) << 8 | u64::from(byte)
}
