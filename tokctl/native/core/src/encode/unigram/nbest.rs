//! The n best segmentations, by A* search from the end of the text (SentencePiece's
//! `Lattice::NBest`).
//!
//! The best sum from the start to a node is known exactly, so paths come out in the order of their
//! scores.

use super::{character, Emitter, Precision, Unigram, UNKNOWN};
use crate::encode::segmenter::{check_length, Segment};
use crate::error::{Error, Result};
use crate::Interrupt;

/// Largest number of results, as in SentencePiece.
const MOST: usize = 1024;

/// SentencePiece's bounds on memory: a queue with this many items is cut down to its best items.
///
/// The queue is also cut down after [`MAX_BETWEEN_CUTS`] new hypotheses. The best 512 items stay,
/// or 10 for each requested result if that is fewer. After a cut, results may be missing. After
/// [`MAX_CUTS`] cuts or [`MAX_HYPOTHESES`] hypotheses in all, only the best segmentation is
/// returned.
const MAX_WAITING: usize = 10_000;
/// Hypotheses made between two cuts.
const MAX_BETWEEN_CUTS: usize = 100_000;
/// Items kept by a cut, at most.
const FEWEST_WAITING: usize = 512;
/// Cuts before the search gives up.
const MAX_CUTS: u32 = 10;
/// Hypotheses in all before the search gives up.
const MAX_HYPOTHESES: usize = 500_000;

/// Paths between two polls of the interrupt.
const POLL_EVERY: usize = 1 << 12;

/// Node number that stands for the start of the text, before the first node.
const START: u32 = u32::MAX;
/// Node number that stands for the end of the text, after the last node.
const END: u32 = u32::MAX - 1;
/// Hypothesis number that stands for none, as `next` of the last node.
const NONE: u32 = u32::MAX;

/// The end of a path: a node, and the hypothesis that follows it.
#[derive(Debug, Clone, Copy)]
struct Hypothesis {
    node: u32,
    next: u32,
    /// Sum from the end of the text to the start of `node`.
    sum: f64,
}

impl Unigram {
    /// Return the `n` best segmentations and their scores, best first.
    ///
    /// `n` is clamped to 1..=1024.
    pub fn nbest(
        &self,
        pre_token: &[u8],
        n: usize,
        interrupt: Interrupt,
    ) -> Result<Vec<(Vec<Segment>, f64)>> {
        check_length(pre_token)?;
        let n = n.clamp(1, MOST);
        if n == 1 || pre_token.is_empty() {
            let mut segments = Vec::new();
            let score = self.best(pre_token, &mut segments, interrupt)?;
            return Ok(vec![(segments, score)]);
        }
        let lattice = PieceLattice::new(self, pre_token, interrupt)?;
        let mut results = Vec::new();
        let mut hypotheses = vec![Hypothesis {
            node: END,
            next: NONE,
            sum: 0.0,
        }];
        let mut queue = PriorityQueue::default();
        queue.push(Item {
            priority: 0.0,
            hypothesis: 0,
        });
        let kept = FEWEST_WAITING.min(n * 10);
        let (mut most, mut made, mut cuts) = (MAX_BETWEEN_CUTS, 1usize, 0);
        let mut steps = 0usize;
        while let Some(top) = queue.pop() {
            steps += 1;
            if steps.is_multiple_of(POLL_EVERY) && interrupt() {
                return Err(Error::Interrupted);
            }
            let path = hypotheses[top.hypothesis as usize];
            let at = match path.node {
                START => {
                    let segments = self.path(pre_token, &lattice, &hypotheses, path.next);
                    results.push((segments, top.priority));
                    if results.len() == n {
                        break;
                    }
                    continue;
                }
                END => pre_token.len(),
                node => lattice.node(node).start as usize,
            };
            let before = hypotheses.len();
            let mut add = |node, score, best| {
                let hypothesis = hypotheses.len() as u32;
                hypotheses.push(Hypothesis {
                    node,
                    next: top.hypothesis,
                    sum: self.precision.round(score + path.sum),
                });
                queue.push(Item {
                    priority: self.precision.round(best + path.sum),
                    hypothesis,
                });
            };
            if at == 0 {
                add(START, 0.0, 0.0);
            }
            for number in lattice.ending_at(at) {
                let node = lattice.node(number);
                add(number, node.score, node.best);
            }
            made += hypotheses.len() - before;
            if made >= MAX_HYPOTHESES {
                return Ok(vec![self.only(pre_token, &lattice)]);
            }
            let full = queue.len() > kept && hypotheses.len() >= most;
            if full || queue.len() >= MAX_WAITING {
                if cuts == MAX_CUTS {
                    return Ok(vec![self.only(pre_token, &lattice)]);
                }
                cuts += 1;
                shrink(&mut queue, &mut hypotheses, kept);
                most = hypotheses.len() + MAX_BETWEEN_CUTS;
            }
        }
        Ok(results)
    }

    /// Return the lattice's best segmentation and its score.
    ///
    /// Among equal ones, it may differ from the one that [`Unigram::segment`] finds.
    fn only(&self, text: &[u8], lattice: &PieceLattice) -> (Vec<Segment>, f64) {
        let (path, score) = lattice.best(self.precision);
        let mut segments = Vec::new();
        let mut emitter = Emitter::new(self, text, &mut segments);
        for &node in path.iter().rev() {
            emitter.push(lattice.node(node).entry);
        }
        emitter.finish();
        (segments, score)
    }

    /// Return the segments of the path that starts with the hypothesis `at`.
    fn path(
        &self,
        text: &[u8],
        lattice: &PieceLattice,
        hypotheses: &[Hypothesis],
        mut at: u32,
    ) -> Vec<Segment> {
        let mut segments = Vec::new();
        let mut emitter = Emitter::new(self, text, &mut segments);
        loop {
            let here = hypotheses[at as usize];
            if here.node == END {
                break;
            }
            emitter.push(lattice.node(here.node).entry);
            at = here.next;
        }
        emitter.finish();
        segments
    }
}

/// Keep the best items of the queue, and the hypotheses on their paths.
fn shrink(queue: &mut PriorityQueue, hypotheses: &mut Vec<Hypothesis>, most: usize) {
    let mut kept = PriorityQueue::default();
    let mut moved_to = vec![NONE; hypotheses.len()];
    let mut moved: Vec<Hypothesis> = Vec::new();
    for _ in 0..most {
        let Some(item) = queue.pop() else { break };
        // Copy each hypothesis and its successors, up to one that was already copied.
        let mut at = item.hypothesis;
        while at != NONE && moved_to[at as usize] == NONE {
            moved_to[at as usize] = moved.len() as u32;
            moved.push(hypotheses[at as usize]);
            at = hypotheses[at as usize].next;
        }
        kept.push(Item {
            hypothesis: moved_to[item.hypothesis as usize],
            ..item
        });
    }
    for hypothesis in &mut moved {
        if hypothesis.next != NONE {
            hypothesis.next = moved_to[hypothesis.next as usize];
        }
    }
    *queue = kept;
    *hypotheses = moved;
}

/// A piece at an offset of the text.
#[derive(Debug, Clone, Copy)]
struct LatticeNode {
    pub entry: u32,
    pub start: u32,
    pub score: f64,
    /// Best sum from the start of the text to the end of this piece.
    pub best: f64,
}

/// A lattice: all pieces that occur in a text, as nodes.
struct PieceLattice {
    /// Sorted by end, then by start.
    nodes: Vec<LatticeNode>,
    /// `nodes[ends[e]..ends[e + 1]]` end at offset `e`.
    ends: Vec<u32>,
}

/// Nodes between two polls of the interrupt.
const POLL_NODES: usize = 1 << 18;

impl PieceLattice {
    pub(crate) fn new(model: &Unigram, text: &[u8], interrupt: Interrupt) -> Result<Self> {
        let mut found: Vec<(u32, LatticeNode)> = Vec::new();
        let mut best = vec![f64::NEG_INFINITY; text.len() + 1];
        best[0] = 0.0;
        let (mut at, mut polled) = (0, 0);
        while at < text.len() {
            if found.len() - polled >= POLL_NODES {
                polled = found.len();
                if interrupt() {
                    return Err(Error::Interrupted);
                }
                if polled >= u32::MAX as usize - 2 * POLL_NODES {
                    let message = "a pre-token is too long for all its pieces to be listed";
                    return Err(Error::TooLarge(message.into()));
                }
            }
            let before = best[at];
            let mut add = |length: usize, entry: u32, score: f64| {
                let sum = model.precision.round(before + score);
                let end = at + length;
                best[end] = best[end].max(sum);
                let node = LatticeNode {
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
        Ok(PieceLattice::sorted(&found, text.len()))
    }

    /// Sort by end with a counting sort, which keeps the order of starts.
    fn sorted(found: &[(u32, LatticeNode)], length: usize) -> Self {
        let mut ends = vec![0u32; length + 2];
        for &(end, _) in found {
            ends[end as usize + 1] += 1;
        }
        for at in 1..ends.len() {
            ends[at] += ends[at - 1];
        }
        let mut next = ends.clone();
        let mut nodes: Vec<LatticeNode> = found.iter().map(|&(_, node)| node).collect();
        for &(end, node) in found {
            let slot = &mut next[end as usize];
            nodes[*slot as usize] = node;
            *slot += 1;
        }
        PieceLattice { nodes, ends }
    }

    pub(crate) fn node(&self, number: u32) -> &LatticeNode {
        &self.nodes[number as usize]
    }

    /// Return the numbers of the nodes that end at offset `at`.
    pub(crate) fn ending_at(&self, at: usize) -> std::ops::Range<u32> {
        self.ends[at]..self.ends[at + 1]
    }

    /// Return the best path, last node first, and its score.
    ///
    /// Among equal paths, the one whose last node starts first wins, then the second to last, and
    /// so on.
    pub(crate) fn best(&self, precision: Precision) -> (Vec<u32>, f64) {
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

/// A hypothesis in the queue, with the score of the best path through it.
#[derive(Debug, Clone, Copy)]
struct Item {
    pub priority: f64,
    pub hypothesis: u32,
}

/// A binary heap, highest priority first.
///
/// The order of equal priorities is part of the result. So this heap is written out, and moves its
/// items as SentencePiece's does (`std::priority_queue` of GNU's library). After the first item is
/// taken, the hole sinks to the bottom along the greater children, the right one if they are equal.
/// The last item then rises from that position.
#[derive(Default)]
struct PriorityQueue(Vec<Item>);

impl PriorityQueue {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn push(&mut self, item: Item) {
        self.0.push(item);
        self.rise(self.0.len() - 1, item);
    }

    pub(crate) fn pop(&mut self) -> Option<Item> {
        let last = self.0.pop()?;
        let Some(&first) = self.0.first() else {
            return Some(last);
        };
        let items = &mut self.0;
        let mut hole = 0;
        loop {
            let (left, right) = (2 * hole + 1, 2 * hole + 2);
            let child = match (items.get(left), items.get(right)) {
                (Some(l), Some(r)) if r.priority < l.priority => left,
                (Some(_), Some(_)) => right,
                (Some(_), None) => left,
                (None, _) => break,
            };
            items[hole] = items[child];
            hole = child;
        }
        self.rise(hole, last);
        Some(first)
    }

    fn rise(&mut self, mut hole: usize, item: Item) {
        while hole > 0 {
            let parent = (hole - 1) / 2;
            if self.0[parent].priority >= item.priority {
                break;
            }
            self.0[hole] = self.0[parent];
            hole = parent;
        }
        self.0[hole] = item;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random_below;

    #[test]
    fn items_come_out_by_priority() {
        let mut queue = PriorityQueue::default();
        let mut below = random_below(7);
        for hypothesis in 0..500 {
            let priority = below(64) as f64;
            queue.push(Item {
                priority,
                hypothesis,
            });
        }
        let mut seen = [false; 500];
        let mut before = f64::INFINITY;
        while let Some(item) = queue.pop() {
            assert!(item.priority <= before);
            before = item.priority;
            assert!(!std::mem::replace(
                &mut seen[item.hypothesis as usize],
                true
            ));
        }
        assert_eq!(seen, [true; 500]);
    }
}
