//! Selector of the pair with the highest count, ties by text: the rule `highest-text`.
//!
//! A tie key of [`super::ties`] is two numbers, and two numbers can't represent the order of texts
//! while new texts are added. So pairs with the highest counts are grouped by count, and each group
//! is a heap ordered by text. All other pairs are in one heap that is ordered by count alone.

use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

use super::corpus::Corpus;
use super::pairs::{PairId, Pairs};
use super::{Options, Selector};
use crate::model::{Marker, Merge, Units, Vocabulary};

/// (text of the left side, text of the right side), compared in this order.
type PairText = (Rc<[u8]>, Rc<[u8]>);

/// Selector by count, then text: see the module.
pub struct ByText {
    /// Pairs with a count below `level`. A pair whose count has fallen since it was pushed is
    /// pushed again when it surfaces.
    waiting: BinaryHeap<(u64, PairId)>,
    level: u64,
    /// Pairs that had a count of at least `level` when they were pushed, grouped by count.
    groups: BTreeMap<u64, BinaryHeap<(PairText, PairId)>>,
    /// Texts by token id, as [`Spelling`] writes them; None if the corpus never had the token.
    texts: Vec<Option<Rc<[u8]>>>,
    marker: Marker,
}

impl ByText {
    pub fn new(pairs: &Pairs, vocabulary: &Vocabulary, options: &Options) -> Self {
        let spell = Spelling::of(options);
        let texts = vocabulary.tokens().iter();
        let mut selector = ByText {
            waiting: BinaryHeap::new(),
            level: u64::MAX,
            groups: BTreeMap::new(),
            texts: texts.map(|text| Some(spell.spell(text))).collect(),
            marker: options.marker.clone(),
        };
        for pair in 0..pairs.len() as PairId {
            selector.push(pair, pairs);
        }
        selector
    }

    /// Insert the pair with its current count if it may be merged.
    fn push(&mut self, pair: PairId, pairs: &Pairs) {
        if !pairs.is_candidate(pair) {
            return;
        }
        let count = pairs.count(pair);
        if count < self.level {
            return self.waiting.push((count, pair));
        }
        let (left, right) = pairs.symbols(pair);
        let key = (self.text(left), self.text(right));
        self.groups.entry(count).or_default().push((key, pair));
    }

    fn text(&self, token: u32) -> Rc<[u8]> {
        let text = self.texts.get(token as usize).cloned().flatten();
        text.expect("a pair is made of tokens that were merged here, or of initial symbols")
    }

    /// Open a group with the highest count among the waiting pairs. Return false if none is left.
    fn descend(&mut self, pairs: &Pairs) -> bool {
        while let Some((count, pair)) = self.waiting.pop() {
            if !pairs.is_candidate(pair) {
                continue;
            }
            if pairs.count(pair) < count {
                self.waiting.push((pairs.count(pair), pair));
                continue;
            }
            self.level = count;
            self.push(pair, pairs);
            while self.waiting.peek().is_some_and(|next| next.0 == count) {
                let (_, pair) = self.waiting.pop().expect("there is one");
                self.push(pair, pairs);
            }
            return true;
        }
        false
    }
}

impl Selector for ByText {
    fn next(&mut self, pairs: &mut Pairs, _: &Corpus) -> Option<PairId> {
        loop {
            let Some(mut group) = self.groups.last_entry() else {
                match self.descend(pairs) {
                    true => continue,
                    false => return None,
                }
            };
            let count = *group.key();
            match group.get_mut().pop() {
                None => drop(group.remove()),
                Some((_, pair)) if !pairs.is_candidate(pair) => {}
                Some((_, pair)) if pairs.count(pair) == count => return Some(pair),
                Some((_, pair)) => self.push(pair, pairs),
            }
        }
    }

    fn refused(&mut self, _: PairId, _: &Pairs, _: &Corpus) {}

    fn merged(&mut self, merge: &Merge, gained: &[PairId], pairs: &mut Pairs, _: &Corpus) {
        let token = merge.token as usize;
        if self.texts.len() <= token {
            self.texts.resize(token + 1, None);
        }
        if self.texts[token].is_none() {
            let (left, right) = (self.text(merge.left), self.text(merge.right));
            self.texts[token] = Some(self.marker.join(&left, &right).into());
        }
        for &pair in gained {
            self.push(pair, pairs);
        }
    }
}

/// Map from bytes to sort keys, so that texts compare as files spell them.
///
/// Where symbols are characters, bytes stay as they are, since UTF-8 keeps the order of code
/// points. Where symbols are bytes, each byte becomes its index in the byte alphabet, which is in
/// the order of GPT-2's stand-in characters.
pub struct Spelling([u8; 256]);

impl Spelling {
    pub fn of(options: &Options) -> Self {
        let mut places: [u8; 256] = std::array::from_fn(|byte| byte as u8);
        if options.units == Units::Bytes {
            for (place, symbol) in (0..=u8::MAX).zip(&options.initial_alphabet) {
                if let [byte] = symbol[..] {
                    places[usize::from(byte)] = place;
                }
            }
        }
        Spelling(places)
    }

    pub fn spell(&self, text: &[u8]) -> Rc<[u8]> {
        text.iter().map(|&byte| self.0[usize::from(byte)]).collect()
    }
}
