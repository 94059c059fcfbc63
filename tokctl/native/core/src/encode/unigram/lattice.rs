//! All pieces that a text can be made of.

use super::emit::UNKNOWN;
use super::{character, Interrupt, Precision, Unigram};
use crate::error::{Error, Result};

/// A piece at its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub entry: u32,
    pub start: u32,
    pub score: f64,
    /// The best sum from the start of the text to the end of this piece.
    pub best: f64,
}

pub(super) struct Lattice {
    /// By end, then by start.
    nodes: Vec<Node>,
    /// `nodes[ends[e]..ends[e + 1]]` end at the place `e`.
    ends: Vec<u32>,
}

const PATIENCE: usize = 1 << 18;

impl Lattice {
    pub(super) fn new(model: &Unigram, text: &[u8], interrupt: Interrupt) -> Result<Self> {
        let mut found: Vec<(u32, Node)> = Vec::new();
        let mut best = vec![f64::NEG_INFINITY; text.len() + 1];
        best[0] = 0.0;
        let (mut at, mut asked) = (0, 0);
        while at < text.len() {
            if found.len() - asked >= PATIENCE {
                asked = found.len();
                if interrupt() {
                    return Err(Error::Interrupted);
                }
                if asked >= u32::MAX as usize - 2 * PATIENCE {
                    let message = "a pre-token is too long for all its pieces to be listed";
                    return Err(Error::TooLarge(message.into()));
                }
            }
            let before = best[at];
            let mut add = |length: usize, entry: u32, score: f64| {
                let sum = model.precision.round(before + score);
                let end = at + length;
                best[end] = best[end].max(sum);
                let node = Node {
                    entry,
                    start: at as u32,
                    score,
                    best: sum,
                };
                found.push((end as u32, node));
            };
            let length = character(text, at);
            let mut is_piece = false;
            model.trie.walk(&text[at..], |found, entry| {
                add(found, entry, model.lattice_score(entry));
                is_piece |= found == length;
            });
            if !is_piece {
                add(length, UNKNOWN + length as u32, model.unknown_score);
            }
            at += length;
        }
        Ok(Lattice::sorted(&found, text.len()))
    }

    /// Sorts by end, keeping the order of starts: a counting sort.
    fn sorted(found: &[(u32, Node)], length: usize) -> Self {
        let mut ends = vec![0u32; length + 2];
        for &(end, _) in found {
            ends[end as usize + 1] += 1;
        }
        for at in 1..ends.len() {
            ends[at] += ends[at - 1];
        }
        let mut next = ends.clone();
        let mut nodes: Vec<Node> = found.iter().map(|&(_, node)| node).collect();
        for &(end, node) in found {
            let slot = &mut next[end as usize];
            nodes[*slot as usize] = node;
            *slot += 1;
        }
        Lattice { nodes, ends }
    }

    pub(super) fn node(&self, number: u32) -> &Node {
        &self.nodes[number as usize]
    }

    /// Numbers of the nodes that end at `at`.
    pub(super) fn ending_at(&self, at: usize) -> std::ops::Range<u32> {
        self.ends[at]..self.ends[at + 1]
    }

    /// The best path, last node first, and its score. Of equal ones, that whose last node
    /// starts first, and so on.
    pub(super) fn best(&self, precision: Precision) -> (Vec<u32>, f64) {
        let (mut path, mut score) = (Vec::new(), None);
        // The end of the text is a node without a score.
        let (mut at, mut ahead) = (self.ends.len() - 2, 0.0);
        while at > 0 {
            let mut best: Option<(u32, f64)> = None;
            for number in self.ending_at(at) {
                let sum = precision.round(self.node(number).best + ahead);
                if best.is_none_or(|(_, before)| sum > before) {
                    best = Some((number, sum));
                }
            }
            let Some((number, sum)) = best else { break };
            score.get_or_insert(sum);
            path.push(number);
            let node = self.node(number);
            (at, ahead) = (node.start as usize, node.score);
        }
        (path, score.unwrap_or(0.0))
    }
}
