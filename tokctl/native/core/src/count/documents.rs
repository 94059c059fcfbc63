//! Many small documents at once.

use std::borrow::Cow;
use std::ops::Range;

use super::counter::{Counter, Stretch, PIECE};
use super::pieces::in_threads;
use super::tally::Tally;
use crate::error::Result;
use crate::normalize::Edges;

/// A document of more bytes is shared out among the threads by itself.
const LARGE: usize = 4 * PIECE;

impl Counter {
    /// Counts documents, each whole: what feeding and ending them one by one comes to. With
    /// `weights`, an occurrence in a document counts that many times what it counts otherwise;
    /// a document of weight 0 is not counted.
    pub fn feed_documents(&mut self, texts: &[&[u8]], weights: Option<&[u64]>) -> Result<()> {
        if self.is_open() {
            self.end_document()?;
        }
        let weight = |at: usize| weights.map_or(1, |weights| weights[at]);
        let mut at = 0;
        while at < texts.len() {
            let large = texts[at..].iter().position(|text| text.len() > LARGE);
            let end = large.map_or(texts.len(), |further| at + further);
            self.feed_small(&texts[at..end], |small| weight(at + small))?;
            if end < texts.len() && weight(end) > 0 {
                let usual = self.weight;
                // A weight that 64 bits can't hold makes a count that is refused in the end.
                self.weight = usual.saturating_mul(weight(end));
                self.feed(texts[end])?;
                self.end_document()?;
                self.weight = usual;
            }
            at = end + 1;
        }
        Ok(())
    }

    fn feed_small(&mut self, texts: &[&[u8]], weight: impl Fn(usize) -> u64 + Sync) -> Result<()> {
        let groups = groups(texts);
        let (normalizers, pre_tokenizer) = (&self.normalizers, &self.pre_tokenizer);
        let mut threads = vec![(); self.tallies.len()];
        let normalize = |_: &mut (), group: usize| -> Result<Vec<Cow<[u8]>>> {
            let texts = texts[groups[group].clone()].iter();
            match normalizers.is_empty() {
                true => Ok(texts.map(|&text| Cow::Borrowed(text)).collect()),
                false => texts
                    .map(|text| normalizers.apply(text, Edges::WHOLE))
                    .collect(),
            }
        };
        let normalized = in_threads(&mut threads, groups.len(), normalize)?;
        // Where the documents stand in all text, as if they came one after the other.
        let mut starts = Vec::with_capacity(groups.len());
        let mut next = self.counted;
        for texts in &normalized {
            starts.push(next);
            next += texts.iter().map(|text| text.len() as u64).sum::<u64>();
        }
        let (room, usual) = (self.room(), self.weight);
        let count = |tally: &mut Tally, group: usize| -> Result<()> {
            let mut place = starts[group];
            for (text, at) in normalized[group].iter().zip(groups[group].clone()) {
                let weight = weight(at);
                if !text.is_empty() && weight > 0 {
                    let stretch = Stretch {
                        text,
                        first: place << room,
                        weight: usual.saturating_mul(weight),
                        opens: true,
                    };
                    stretch.count(pre_tokenizer, tally)?;
                }
                place += text.len() as u64;
            }
            Ok(())
        };
        in_threads(&mut self.tallies, groups.len(), count)?;
        self.counted = next;
        Ok(())
    }
}

/// Documents that follow one another, together about as long as a piece.
fn groups(texts: &[&[u8]]) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, text) in texts.iter().enumerate() {
        // An empty document takes a moment, too.
        bytes += text.len() + 1;
        if bytes >= PIECE {
            groups.push(start..at + 1);
            (start, bytes) = (at + 1, 0);
        }
    }
    if start < texts.len() {
        groups.push(start..texts.len());
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalize::Chain;
    use crate::pretokenize::Scanner;

    fn counter(threads: usize) -> Counter {
        Counter::new(Scanner::Gpt2.into(), Chain::default(), threads)
    }

    #[test]
    fn documents_at_once_are_documents_one_by_one() {
        let texts: Vec<String> = (0..20_000)
            .map(|n| match n % 1000 {
                0 => String::new(),
                7 => format!("{n} long ").repeat(LARGE / 5),
                _ => format!("n {n} to be{}", " or".repeat(n % 7)),
            })
            .collect();
        let weights: Vec<u64> = (0..20_000).map(|n| n % 3).collect();
        let mut one_by_one = counter(1);
        for (text, &weight) in texts.iter().zip(&weights) {
            one_by_one.set_weight(5 * weight);
            if weight > 0 {
                one_by_one.feed(text.as_bytes()).unwrap();
                one_by_one.end_document().unwrap();
            }
        }
        let expected = one_by_one.finish(1).unwrap();
        let expected: Vec<_> = expected.iter().collect();
        let texts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        for (threads, batch) in [(1, 20_000), (2, 20_000), (3, 999), (2, 1)] {
            let mut at_once = counter(threads);
            at_once.set_weight(5);
            for (texts, weights) in texts.chunks(batch).zip(weights.chunks(batch)) {
                at_once.feed_documents(texts, Some(weights)).unwrap();
            }
            let found = at_once.finish(1).unwrap();
            assert!(
                found.iter().eq(expected.iter().copied()),
                "{threads} {batch}"
            );
        }
    }
}
