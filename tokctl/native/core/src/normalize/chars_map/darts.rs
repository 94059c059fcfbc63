//! Double arrays as Darts-clone builds them, unit for unit, so that compiled rules equal
//! SentencePiece's byte for byte.
//!
//! The keys, in order, go into a graph that shares equal tails ("Details::DawgBuilder" of darts.h).
//! The graph is laid out depth first: each set of siblings goes to the first base where it fits
//! among the last 4,096 units ("Details::DoubleArrayBuilder"). A set that several nodes share is
//! laid out once where their units can point to it.

use super::tails::{Graph, Sibling};

/// Units that the layout may still use: the last 16 blocks of 256.
const OPEN: usize = 16 * BLOCK;
const BLOCK: usize = 256;

/// State of an open unit. The free units form a ring.
#[derive(Clone, Copy, Default)]
struct UnitSlot {
    before: usize,
    after: usize,
    taken: bool,
    /// Whether siblings begin here; no other set may.
    is_base: bool,
}

struct Layout<'g> {
    graph: &'g Graph,
    units: Vec<u32>,
    slots: Vec<UnitSlot>,
    /// First free unit, or the number of units if none is free.
    head: usize,
    /// Base of each shared set, by its number; 0 before it is laid out.
    bases: Vec<usize>,
}

/// Return the units of a double array for ascending keys with their values, which are below 2^31.
///
/// No key may be empty or hold a NUL.
pub(super) fn double_array<'k>(keys: impl Iterator<Item = (&'k [u8], u32)>) -> Vec<u32> {
    let (graph, top) = Graph::new(keys);
    let mut layout = Layout {
        units: Vec::new(),
        slots: vec![UnitSlot::default(); OPEN],
        head: 0,
        bases: vec![0; graph.sets.len()],
        graph: &graph,
    };
    layout.take(0);
    layout.slot(0).is_base = true;
    layout.set_offset(0, 1);
    if !graph.sets[top as usize].is_empty() {
        layout.place_all(top);
    }
    let blocks = layout.units.len() / BLOCK;
    for block in blocks.saturating_sub(OPEN / BLOCK)..blocks {
        layout.close_block(block);
    }
    layout.units
}

impl Layout<'_> {
    fn slot(&mut self, unit: usize) -> &mut UnitSlot {
        &mut self.slots[unit % OPEN]
    }

    fn is_taken(&self, unit: usize) -> bool {
        self.slots[unit % OPEN].taken
    }

    fn set_offset(&mut self, unit: usize, offset: usize) {
        let kept = self.units[unit] & (1 << 31 | 1 << 8 | 0xFF);
        let offset = offset as u32;
        self.units[unit] = kept
            | match offset < 1 << 21 {
                true => offset << 10,
                false => offset << 2 | 1 << 9,
            };
    }

    /// Lay out the graph from the top, depth first: every node's set before the sets below it.
    fn place_all(&mut self, top: u32) {
        let graph = self.graph;
        // The sets on the path from the top: siblings that are left to do, and the set's base.
        let mut open = Vec::new();
        if let Some(base) = self.place(top, 0) {
            open.push((graph.sets[top as usize].iter(), base));
        }
        while let Some((siblings, base)) = open.last_mut() {
            let Some(branch) = siblings.next() else {
                open.pop();
                continue;
            };
            if branch.label != 0 {
                let unit = *base ^ usize::from(branch.label);
                if let Some(base) = self.place(branch.below, unit) {
                    open.push((graph.sets[branch.below as usize].iter(), base));
                }
            }
        }
    }

    /// Lay out a set below a unit and return its base; None if the unit now points to an earlier
    /// copy.
    fn place(&mut self, number: u32, unit: usize) -> Option<usize> {
        let graph = self.graph;
        let (set, shared) = (&graph.sets[number as usize], graph.shared[number as usize]);
        let base = self.bases[number as usize];
        if shared && base != 0 && reaches(unit ^ base) {
            if set[0].label == 0 {
                self.units[unit] |= 1 << 8;
            }
            self.set_offset(unit, unit ^ base);
            return None;
        }
        let base = self.find_base(set, unit);
        self.set_offset(unit, unit ^ base);
        for branch in set {
            let child = base ^ usize::from(branch.label);
            self.take(child);
            if branch.label == 0 {
                self.units[unit] |= 1 << 8;
                self.units[child] = branch.below | 1 << 31;
            } else {
                self.units[child] = self.units[child] & !0xFF | u32::from(branch.label);
            }
        }
        self.slot(base).is_base = true;
        if shared {
            self.bases[number as usize] = base;
        }
        Some(base)
    }

    /// Return the first base at which all siblings of a set are free.
    fn find_base(&self, set: &[Sibling], unit: usize) -> usize {
        let behind = self.units.len() | (unit & 0xFF);
        if self.head >= self.units.len() {
            return behind;
        }
        let mut free = self.head;
        loop {
            let base = free ^ usize::from(set[0].label);
            let rest = &set[1..];
            if !self.slots[base % OPEN].is_base
                && reaches(unit ^ base)
                && rest
                    .iter()
                    .all(|branch| !self.is_taken(base ^ usize::from(branch.label)))
            {
                return base;
            }
            free = self.slots[free % OPEN].after;
            if free == self.head {
                return behind;
            }
        }
    }

    fn take(&mut self, unit: usize) {
        if unit >= self.units.len() {
            self.grow();
        }
        let UnitSlot { before, after, .. } = *self.slot(unit);
        if unit == self.head {
            self.head = match after == unit {
                true => self.units.len(),
                false => after,
            };
        }
        self.slot(before).after = after;
        self.slot(after).before = before;
        self.slot(unit).taken = true;
    }

    /// Add a block, and close the oldest open one.
    fn grow(&mut self) {
        let (start, end) = (self.units.len(), self.units.len() + BLOCK);
        if end > OPEN {
            self.close_block(end / BLOCK - 1 - OPEN / BLOCK);
        }
        self.units.resize(end, 0);
        for unit in start..end {
            *self.slot(unit) = UnitSlot {
                before: unit.wrapping_sub(1),
                after: unit + 1,
                ..UnitSlot::default()
            };
        }
        // The new units come last in the ring, before its head.
        let head = self.head;
        let (first, last) = match head == start {
            true => (end - 1, start),
            false => (self.slot(head).before, head),
        };
        self.slot(start).before = first;
        self.slot(end - 1).after = last;
        self.slot(first).after = start;
        self.slot(last).before = end - 1;
    }

    /// Give the free units of a block labels that no look-up matches.
    fn close_block(&mut self, block: usize) {
        let all = block * BLOCK..(block + 1) * BLOCK;
        let unused = all.clone().find(|&unit| !self.slot(unit).is_base);
        let unused = unused.unwrap_or(0);
        for unit in all {
            if !self.is_taken(unit) {
                self.take(unit);
                self.units[unit] = self.units[unit] & !0xFF | (unit ^ unused) as u32 & 0xFF;
            }
        }
    }
}

/// Return whether a unit can hold this offset; from 2^21 on, the low byte must be 0.
fn reaches(offset: usize) -> bool {
    offset & 0xFF == 0 || offset & 0xFF << 21 == 0
}
