//! The n best segmentations: A* from the end of the text (SentencePiece's
//! `Lattice::NBest`). The best sum from the start to a node is known exactly, so paths
//! come out in the order of their scores.

use super::agenda::{Agenda, Item};
use super::emit::Emitter;
use super::lattice::Lattice;
use super::{check_length, Interrupt, Segment, Unigram};
use crate::error::{Error, Result};

/// More are never given, as in SentencePiece.
const MOST: usize = 1024;

/// SentencePiece's bounds on memory: an agenda of so many items, or one for which so many
/// hypotheses were made since the last time, is cut down to its best items (512, or 10
/// for each result asked for). From then on results may be missing. After ten cuts or so
/// many hypotheses in all, the best segmentation is all there is.
const MOST_WAITING: usize = 10_000;
const MOST_BETWEEN_CUTS: usize = 100_000;
const FEWEST_WAITING: usize = 512;
const MOST_CUTS: u32 = 10;
const MOST_HYPOTHESES: usize = 500_000;

const PATIENCE: usize = 1 << 12;

/// In place of a node: before the first, behind the last. In place of `next`: nothing.
const START: u32 = u32::MAX;
const END: u32 = u32::MAX - 1;
const NONE: u32 = u32::MAX;

/// The end of a path: a node and what comes behind it.
#[derive(Debug, Clone, Copy)]
struct Hypothesis {
    node: u32,
    next: u32,
    /// The sum from the end of the text to the start of `node`.
    sum: f64,
}

impl Unigram {
    /// The `n` best segmentations and their scores (at least one, at most 1024), best
    /// first.
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
        let lattice = Lattice::new(self, pre_token, interrupt)?;
        let mut results = Vec::new();
        let mut hypotheses = vec![Hypothesis {
            node: END,
            next: NONE,
            sum: 0.0,
        }];
        let mut agenda = Agenda::default();
        agenda.push(Item {
            priority: 0.0,
            hypothesis: 0,
        });
        let kept = FEWEST_WAITING.min(n * 10);
        let (mut most, mut made, mut cuts) = (MOST_BETWEEN_CUTS, 1usize, 0);
        let mut steps = 0usize;
        while let Some(top) = agenda.pop() {
            steps += 1;
            if steps.is_multiple_of(PATIENCE) && interrupt() {
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
                agenda.push(Item {
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
            if made >= MOST_HYPOTHESES {
                return Ok(vec![self.only(pre_token, &lattice)]);
            }
            let full = agenda.len() > kept && hypotheses.len() >= most;
            if full || agenda.len() >= MOST_WAITING {
                if cuts == MOST_CUTS {
                    return Ok(vec![self.only(pre_token, &lattice)]);
                }
                cuts += 1;
                shrink(&mut agenda, &mut hypotheses, kept);
                most = hypotheses.len() + MOST_BETWEEN_CUTS;
            }
        }
        Ok(results)
    }

    /// The lattice's best segmentation. (Where several are equal it need not be the one
    /// that [`Unigram::segment`] finds.)
    fn only(&self, text: &[u8], lattice: &Lattice) -> (Vec<Segment>, f64) {
        let (path, score) = lattice.best(self.precision);
        let mut segments = Vec::new();
        let mut emitter = Emitter::new(self, text, &mut segments);
        for &node in path.iter().rev() {
            emitter.push(lattice.node(node).entry);
        }
        emitter.finish();
        (segments, score)
    }

    /// The segments of the path that starts with the hypothesis `at`.
    fn path(
        &self,
        text: &[u8],
        lattice: &Lattice,
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

/// Keeps the best of the agenda, and of the hypotheses those on their paths.
fn shrink(agenda: &mut Agenda, hypotheses: &mut Vec<Hypothesis>, most: usize) {
    let mut kept = Agenda::default();
    let mut moved_to = vec![NONE; hypotheses.len()];
    let mut moved: Vec<Hypothesis> = Vec::new();
    for _ in 0..most {
        let Some(item) = agenda.pop() else { break };
        // Each hypothesis is followed by what comes behind it, until a path that is there.
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
    *agenda = kept;
    *hypotheses = moved;
}
