//! The queue of the search for the n best: a binary heap, highest priority first.
//!
//! Which of equal priorities comes first is part of the result, so this heap is written
//! out rather than borrowed: it moves its items as the one under SentencePiece does
//! (`std::priority_queue` of GNU's library). Taking the first lets the hole sink to the
//! bottom along the greater children, the right one of equals; then the last item rises
//! from there.

#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub priority: f64,
    pub hypothesis: u32,
}

#[derive(Default)]
pub(super) struct Agenda(Vec<Item>);

impl Agenda {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn push(&mut self, item: Item) {
        self.0.push(item);
        self.rise(self.0.len() - 1, item);
    }

    pub(super) fn pop(&mut self) -> Option<Item> {
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

    #[test]
    fn items_come_out_by_priority() {
        let mut agenda = Agenda::default();
        let mut state = 7u32;
        for hypothesis in 0..500 {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            let priority = f64::from(state >> 26);
            agenda.push(Item {
                priority,
                hypothesis,
            });
        }
        let mut seen = [false; 500];
        let mut before = f64::INFINITY;
        while let Some(item) = agenda.pop() {
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
