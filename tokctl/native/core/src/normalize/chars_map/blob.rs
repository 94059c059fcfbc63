//! Reader of SentencePiece's `precompiled_charsmap`.
//!
//! The blob is the size of a double array in bytes, the array (Darts-clone), and the values, each
//! ended by a NUL. A damaged array finds no rule or a wrong one, but is never read past its end.

use std::collections::{HashMap, HashSet};

use crate::error::{Error, Result};

/// Most bytes of a key; the keys of SentencePiece's own rules are far shorter.
pub(super) const LONGEST_KEY: usize = 1024;

#[derive(Debug)]
pub(super) struct Blob {
    units: Vec<u32>,
    values: String,
}

/// Node of the double array: the child for a byte has the index `self.0 ^ byte`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ArrayNode(usize);

impl Blob {
    /// Read a blob; no bytes mean no rules, as in a model whose rules are named `identity`.
    ///
    /// Fails if the blob is cut off, if values are not UTF-8, or if a key is endless or longer than
    /// [`LONGEST_KEY`].
    pub fn new(bytes: &[u8]) -> Result<Self> {
        let damaged = |what: &str| Error::Invalid(format!("the precompiled_charsmap {what}"));
        let Some((size, rest)) = bytes.split_first_chunk::<4>() else {
            return match bytes {
                [] => Ok(Blob {
                    units: Vec::new(),
                    values: String::new(),
                }),
                _ => Err(damaged("is cut off")),
            };
        };
        let size = u32::from_le_bytes(*size) as usize;
        if !size.is_multiple_of(4) || size > rest.len() {
            return Err(damaged("is cut off, or is none"));
        }
        let (units, values) = rest.split_at(size);
        let values = String::from_utf8(values.to_vec());
        let blob = Blob {
            units: units
                .chunks_exact(4)
                .map(|unit| u32::from_le_bytes([unit[0], unit[1], unit[2], unit[3]]))
                .collect(),
            values: values.map_err(|_| damaged("holds text that is not UTF-8"))?,
        };
        match blob.longest_key() {
            Some(length) if length <= LONGEST_KEY => Ok(blob),
            Some(_) => Err(damaged("holds a rule for far too long a text")),
            None => Err(damaged("holds rules without an end")),
        }
    }

    /// Return the bytes of the longest key, with a value or without; None if a key never ends.
    ///
    /// A damaged array can hold an endless key, which would be compared with the text at every
    /// offset.
    fn longest_key(&self) -> Option<usize> {
        let Some(ArrayNode(root)) = self.root() else {
            return Some(0);
        };
        // (parent, child) of each edge, sorted by the parent.
        let mut steps: Vec<(usize, usize)> = Vec::new();
        for (place, &unit) in self.units.iter().enumerate() {
            let label = (unit & 0xFF) as usize;
            if label != 0 && unit >> 31 == 0 {
                steps.push((place ^ label, place ^ offset(unit)));
            }
        }
        steps.sort_unstable();
        let children = |node: usize| {
            let first = steps.partition_point(|&(parent, _)| parent < node);
            steps[first..]
                .iter()
                .take_while(move |&&(parent, _)| parent == node)
                .map(|&(_, child)| child)
        };
        // Depth first. Open nodes are on the path from the root: meeting one again is a cycle.
        let mut below: HashMap<usize, Option<usize>> = HashMap::from([(root, None)]);
        let mut open = vec![(root, children(root), 0)];
        while let Some((node, rest, deepest)) = open.last_mut() {
            let Some(child) = rest.next() else {
                let (node, deepest) = (*node, *deepest);
                below.insert(node, Some(deepest));
                open.pop();
                match open.last_mut() {
                    Some((_, _, above)) => *above = (*above).max(deepest + 1),
                    None => return Some(deepest),
                }
                continue;
            };
            match below.get(&child) {
                Some(None) => return None,
                Some(Some(depth)) => *deepest = (*deepest).max(depth + 1),
                None => {
                    below.insert(child, None);
                    open.push((child, children(child), 0));
                }
            }
        }
        None
    }

    fn root(&self) -> Option<ArrayNode> {
        self.units.first().map(|&unit| ArrayNode(offset(unit)))
    }

    /// Return the child of `node` for `label`, and the value of the key that ends at the child.
    #[inline]
    fn step(&self, node: ArrayNode, label: u8) -> Option<(ArrayNode, Option<&str>)> {
        // No key holds a NUL.
        if label == 0 {
            return None;
        }
        let place = node.0 ^ usize::from(label);
        let unit = *self.units.get(place)?;
        if unit & (1 << 31 | 0xFF) != u32::from(label) {
            return None;
        }
        let next = ArrayNode(place ^ offset(unit));
        let value = match unit >> 8 & 1 {
            1 => self.units.get(next.0).and_then(|&leaf| self.value(leaf)),
            _ => None,
        };
        Some((next, value))
    }

    fn value(&self, leaf: u32) -> Option<&str> {
        let text = self.values.get((leaf & !(1 << 31)) as usize..)?;
        Some(text.split('\0').next().unwrap_or_default())
    }

    /// Return the length and the value of each key that begins `text`, shortest first.
    pub fn prefixes<'s>(&'s self, text: &'s str) -> impl Iterator<Item = (usize, &'s str)> {
        let mut node = self.root();
        let labels = text.bytes().enumerate();
        labels
            .map_while(move |(at, label)| {
                let (next, value) = self.step(node?, label)?;
                node = Some(next);
                Some(value.map(|value| (at + 1, value)))
            })
            .flatten()
            .filter(|&(length, _)| text.is_char_boundary(length))
    }

    /// Return whether a key begins with this byte and ends there or continues with ASCII.
    pub fn touches_ascii(&self, byte: u8) -> bool {
        let Some((next, value)) = self.root().and_then(|root| self.step(root, byte)) else {
            return false;
        };
        value.is_some() || (1..0x80).any(|label| self.step(next, label).is_some())
    }

    /// Call `found(code)` for each character of two or three bytes that a key may begin with.
    pub fn each_beginning(&self, mut found: impl FnMut(u32)) {
        let low = |byte: u8| u32::from(byte & 0x3F);
        let step = |node: ArrayNode, label| self.step(node, label).map(|(next, _)| next);
        let goes_on = || 0x80..0xC0u8;
        let Some(root) = self.root() else { return };
        for a in 0xC0..0xF0 {
            let Some(first) = step(root, a) else { continue };
            for b in goes_on() {
                let Some(second) = step(first, b) else {
                    continue;
                };
                if a < 0xE0 {
                    found(u32::from(a & 0x1F) << 6 | low(b));
                    continue;
                }
                let third = goes_on().filter(|&c| step(second, c).is_some());
                third.for_each(|c| found(u32::from(a & 0x0F) << 12 | low(b) << 6 | low(c)));
            }
        }
    }

    /// Return the ASCII character that replaces this byte.
    ///
    /// None if the byte is not a key, its value is not one ASCII character, or a longer key begins
    /// with it.
    pub fn alone(&self, byte: u8) -> Option<u8> {
        let (next, value) = self.step(self.root()?, byte)?;
        match value?.as_bytes() {
            &[value @ ..0x80] if (1..=255).all(|label| self.step(next, label).is_none()) => {
                Some(value)
            }
            _ => None,
        }
    }

    /// Return whether a key holds a space or a line feed after its first byte.
    pub fn reaches_over_a_space(&self) -> bool {
        let mut seen = HashSet::new();
        let mut open: Vec<ArrayNode> = Vec::new();
        let children = |node: ArrayNode| (1..=255).filter_map(move |label| self.step(node, label));
        open.extend(
            self.root()
                .into_iter()
                .flat_map(children)
                .map(|child| child.0),
        );
        while let Some(node) = open.pop() {
            if !seen.insert(node) {
                continue;
            }
            if [b' ', b'\n']
                .iter()
                .any(|&label| self.step(node, label).is_some())
            {
                return true;
            }
            open.extend(children(node).map(|child| child.0));
        }
        false
    }
}

/// Return the offset from a unit to its children, combined with the unit's index by XOR.
fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & (1 << 9)) >> 6)) as usize
}
