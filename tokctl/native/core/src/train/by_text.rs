//! The highest count next, ties by text: the rule `highest-text`.
//!
//! A tie key of [`super::ties`] is two numbers, and no two numbers hold the order of texts to
//! which new ones are added. So the pairs with the highest counts stand in groups, one for each
//! count, and a group is a heap of texts. All other pairs stand in one heap by their counts alone.

use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

use super::corpus::Corpus;
use super::pairs::{PairId, Pairs};
use super::{Options, Selector};
use crate::model::{Marker, Merge, Units, Vocabulary};

/// (text of the left side, of the right side), compared in this order.
type PairText = (Rc<[u8]>, Rc<[u8]>);

pub struct ByText {
    /// Pairs with a count below `level`. One whose count has fallen since is pushed again when
    /// it surfaces.
    waiting: BinaryHeap<(u64, PairId)>,
    level: u64,
    /// By count: pairs that had a count of `level` or more when they were pushed.
    groups: BTreeMap<u64, BinaryHeap<(PairText, PairId)>>,
    /// By token, as [`Spelling`] writes it; None where this text never had the token.
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

    /// Takes in the pair as things stand, if it may be merged.
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

    /// Opens the group of the highest count of those that wait. False: none is left.
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

/// How texts are written so that they compare as files spell them: as they are where symbols are
/// characters, since UTF-8 keeps the order of code points; and for each byte its place in the
/// alphabet of bytes, which is in the order of GPT-2's stand-ins.
struct Spelling([u8; 256]);

impl Spelling {
    fn of(options: &Options) -> Self {
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

    fn spell(&self, text: &[u8]) -> Rc<[u8]> {
        text.iter().map(|&byte| self.0[usize::from(byte)]).collect()
    }
}
