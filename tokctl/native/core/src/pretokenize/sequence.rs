//! Pre-tokenizer: a sequence of steps, each of which splits every piece of the step before.

use std::borrow::Cow;

use super::rewrite::{places, Rewrite, Rewritten};
use super::scanner::{PreTokenSink, Scanner};
use crate::error::{Error, Result};

/// Scanner, with a change to each piece before it is scanned.
#[derive(Debug, Clone)]
pub struct Step {
    pub rewrite: Option<Rewrite>,
    pub scanner: Scanner,
}

impl From<Scanner> for Step {
    fn from(scanner: Scanner) -> Self {
        Step {
            rewrite: None,
            scanner,
        }
    }
}

/// Sequence of steps; without steps, the whole text is one pre-token.
#[derive(Debug, Clone, Default)]
pub struct PreTokenizer {
    steps: Vec<Step>,
    /// Whether tokens can cover runs of words (see [`Self::with_runs`]).
    has_runs: bool,
}

impl From<Scanner> for PreTokenizer {
    fn from(scanner: Scanner) -> Self {
        PreTokenizer::new(vec![scanner.into()])
    }
}

/// Pre-tokens of a text that steps may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splits<'t> {
    /// Text that the ranges refer to.
    pub text: Cow<'t, [u8]>,
    pub ranges: Vec<(usize, usize)>,
    /// Source span in the input of every byte of `text`; None if `text` is the input.
    pub origins: Option<Vec<(u32, u32)>>,
}

impl Splits<'_> {
    /// Return the span in the input of a part of `text` that is not empty.
    pub fn place(&self, start: usize, end: usize) -> (usize, usize) {
        match &self.origins {
            Some(origins) => (origins[start].0 as usize, origins[end - 1].1 as usize),
            None => (start, end),
        }
    }
}

impl PreTokenizer {
    pub fn new(steps: Vec<Step>) -> Self {
        let has_runs = false;
        PreTokenizer { steps, has_runs }
    }

    /// Return the pre-tokenizer for a model of superwords, whose tokens cover runs of words
    /// ([`is_word`](super::is_word)).
    ///
    /// A text is then cut only where no run continues.
    pub fn with_runs(self) -> Self {
        PreTokenizer {
            has_runs: true,
            ..self
        }
    }

    pub fn has_runs(&self) -> bool {
        self.has_runs
    }

    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Return whether a step changes the text, so that [`Self::run`] is needed.
    pub fn rewrites(&self) -> bool {
        self.steps.iter().any(|step| step.rewrite.is_some())
    }

    /// Return whether the split of a text depends on being at the start of the document.
    pub fn asks_for_start(&self) -> bool {
        let rewrites = self.steps.iter().filter_map(|step| step.rewrite.as_ref());
        rewrites.into_iter().any(Rewrite::asks_for_start)
    }

    /// Give `sink` the start and the end of every pre-token, in order; none is empty.
    ///
    /// Fails if a step rewrites: the pre-tokens are then not ranges of `text`.
    pub fn split(&self, text: &[u8], mut sink: impl PreTokenSink) -> Result<()> {
        if self.rewrites() {
            let message = "this pre-tokenizer changes the text: its pre-tokens are no ranges of it";
            return Err(Error::Invalid(message.into()));
        }
        match &self.steps[..] {
            [] => Scanner::None.split(text, sink),
            [step] => step.scanner.split(text, sink),
            steps => split_in_steps(steps, text, &mut |start, end| sink.take(start, end)),
        }
    }

    /// Return whether texts can be joined and split as one; see [`Scanner::splits_texts_as_one`].
    pub fn splits_texts_as_one(&self) -> bool {
        match &self.steps[..] {
            [step] => step.rewrite.is_none() && step.scanner.splits_texts_as_one(),
            _ => false,
        }
    }

    /// Return the pre-tokens of `text`, which steps may rewrite.
    ///
    /// `first_char` is the number of bytes of `text` that the document's first character became; 0
    /// if the document does not start there.
    pub fn run<'t>(&self, text: &'t [u8], first_char: usize) -> Result<Splits<'t>> {
        let mut splits = Splits {
            text: Cow::Borrowed(text),
            ranges: Vec::new(),
            origins: None,
        };
        if !self.rewrites() {
            let ranges = &mut splits.ranges;
            self.split(text, |start, end| ranges.push((start, end)))?;
            return Ok(splits);
        }
        if !text.is_empty() {
            splits.ranges.push((0, text.len()));
        }
        for step in &self.steps {
            if let Some(rewrite) = &step.rewrite {
                apply(rewrite, &mut splits, first_char)?;
            }
            let mut ranges = Vec::new();
            for &(start, end) in &splits.ranges {
                let emit = |a, b| ranges.push((start + a, start + b));
                step.scanner.split(&splits.text[start..end], emit)?;
            }
            splits.ranges = ranges;
        }
        Ok(splits)
    }
}

/// Rewrite every piece; the new pieces lie one after the other in a text of their own.
fn apply(rewrite: &Rewrite, splits: &mut Splits, first_char: usize) -> Result<()> {
    let starts = |splits: &Splits, (start, end)| splits.place(start, end).0 < first_char;
    let changes = |&(start, end): &(usize, usize)| {
        rewrite.changes(&splits.text[start..end], starts(splits, (start, end)))
    };
    if !splits.ranges.iter().any(changes) {
        return Ok(());
    }
    let origins = match splits.origins.take() {
        Some(origins) => origins,
        None => places(&splits.text)?,
    };
    let mut out = Rewritten::default();
    let mut ranges = Vec::with_capacity(splits.ranges.len());
    for &(start, end) in &splits.ranges {
        let from = out.text.len();
        let first = (origins[start].0 as usize) < first_char;
        let piece = &splits.text[start..end];
        rewrite.apply(piece, first, |at| origins[start + at], &mut out);
        ranges.push((from, out.text.len()));
    }
    splits.text = Cow::Owned(out.text);
    splits.ranges = ranges;
    splits.origins = Some(out.origins);
    Ok(())
}

/// Apply all steps at once, piece by piece, so that no step's pieces are stored.
fn split_in_steps(steps: &[Step], text: &[u8], emit: &mut dyn FnMut(usize, usize)) -> Result<()> {
    let Some((step, rest)) = steps.split_first() else {
        emit(0, text.len());
        return Ok(());
    };
    let mut failure = Ok(());
    step.scanner.split(text, |start, end| {
        if failure.is_ok() {
            let piece = &text[start..end];
            failure = split_in_steps(rest, piece, &mut |a, b| emit(start + a, start + b));
        }
    })?;
    failure
}
