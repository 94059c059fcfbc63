//! Segmentation of one pre-token by any kind of model, and construction from a model's data.

use std::collections::{BTreeSet, HashSet};

use super::borders::Borders;
use super::unigram::UNKNOWN_PENALTY;
use super::{
    can_cut, Demolition, EventReplay, LongestMatch, MergeOrder, Merging, Precision, RemovalEvents,
    Superwords, Unigram, UnigramOptions, Unknown, Words,
};
use crate::error::{Error, Result};
use crate::memory;
use crate::model::{Alphabet, Marker, Merges, Units, NO_ID};
use crate::Interrupt;
use std::ops::Range;

/// A token and the number of pre-token bytes it covers.
///
/// The lengths of a pre-token's segments sum to the length of the pre-token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub id: u32,
    pub length: u32,
}

/// Segments a pre-token into tokens; one variant per kind of model.
pub enum Segmenter {
    Merges(Merging),
    LongestMatch(LongestMatch),
    Unigram(Unigram),
    Words(Words),
    Events(EventReplay),
    Demolition(Demolition),
}

impl Segmenter {
    /// Append the segments of one pre-token.
    pub fn segment(
        &self,
        pre_token: &[u8],
        out: &mut Vec<Segment>,
        interrupt: Interrupt,
    ) -> Result<()> {
        check_length(pre_token)?;
        match self {
            Segmenter::Merges(merging) => merging.segment(pre_token, out, interrupt),
            Segmenter::LongestMatch(matching) => matching.segment(pre_token, out, interrupt),
            Segmenter::Unigram(unigram) => unigram.segment(pre_token, out, interrupt),
            Segmenter::Words(words) => {
                words.segment(pre_token, out);
                Ok(())
            }
            Segmenter::Events(events) => events.segment(pre_token, out, interrupt),
            Segmenter::Demolition(merging) => merging.segment(pre_token, out, interrupt),
        }
    }

    /// Return the cut points inside words, if words can be segmented one by one.
    pub(crate) fn by_words(&self) -> Option<&Borders> {
        match self {
            Segmenter::Merges(merging) => merging.by_words.as_ref(),
            Segmenter::Unigram(unigram) => unigram.by_words(),
            _ => None,
        }
    }

    /// Return the merges across pre-tokens.
    pub fn superwords(&self) -> Option<&Superwords> {
        match self {
            Segmenter::Merges(merging) => merging.superwords.as_deref(),
            Segmenter::Events(events) => events.superwords(),
            _ => None,
        }
    }

    /// Return the byte ranges of the symbols that become tokens, or `None` if no symbol can be
    /// dropped.
    pub(crate) fn kept_symbols(&self, pre_token: &[u8]) -> Option<Vec<Range<usize>>> {
        match self {
            Segmenter::Merges(merging) => merging.kept_symbols(pre_token),
            Segmenter::Events(events) => events.kept_symbols(pre_token),
            _ => None,
        }
    }

    /// Append the ids of one pre-token's segments, with the marks of [`Superwords`].
    pub(crate) fn ids(
        &self,
        pre_token: &[u8],
        scratch: &mut Vec<Segment>,
        out: &mut Vec<u32>,
        interrupt: Interrupt,
    ) -> Result<()> {
        let first = out.len();
        self.unmarked_ids(pre_token, scratch, out, interrupt)?;
        if let Some(superwords) = self.superwords() {
            superwords.mark(&mut out[first..]);
        }
        Ok(())
    }

    fn unmarked_ids(
        &self,
        pre_token: &[u8],
        scratch: &mut Vec<Segment>,
        out: &mut Vec<u32>,
        interrupt: Interrupt,
    ) -> Result<()> {
        if let Segmenter::Merges(merging) = self {
            if merging.short_ids(pre_token, out) {
                return Ok(());
            }
        }
        scratch.clear();
        if let Segmenter::Merges(merging) = self {
            check_length(pre_token)?;
            if merging.long_ids(pre_token, out, interrupt)? {
                return Ok(());
            }
        }
        self.segment(pre_token, scratch, interrupt)?;
        memory::reserve(out, scratch.len())?;
        out.extend(scratch.iter().map(|segment| segment.id));
        Ok(())
    }
}

/// How a recipe segments a pre-token; `docs/algorithms.md` defines each way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segmentation {
    Merges,
    Replay,
    Ranks,
    Symbols,
    LongestMatch,
    Viterbi,
    Lookup,
    Events,
    /// Like [`Segmentation::Events`], but a removed token splits into initial symbols.
    EventsToSymbols,
    Demolish,
    Remerge,
}

impl Segmentation {
    pub fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "merges" => Segmentation::Merges,
            "replay" => Segmentation::Replay,
            "ranks" => Segmentation::Ranks,
            "symbols" => Segmentation::Symbols,
            "longest-match" => Segmentation::LongestMatch,
            "viterbi" => Segmentation::Viterbi,
            "lookup" => Segmentation::Lookup,
            "events" => Segmentation::Events,
            "events-to-symbols" => Segmentation::EventsToSymbols,
            "demolish" => Segmentation::Demolish,
            "remerge" => Segmentation::Remerge,
            _ => return Err(invalid(format!("no segmentation is called {name}"))),
        })
    }
}

/// A recipe's options for segmenting.
///
/// Each kind of model reads the ones it uses.
#[derive(Debug, Clone)]
pub struct SegmenterOptions {
    pub segmentation: Segmentation,
    pub units: Units,
    pub marker: Marker,
    /// Id of the unknown token; `None` leaves [`NO_ID`](crate::model::NO_ID) in the output.
    pub unknown_id: Option<u32>,
    /// How much becomes unknown, for a word with an unmatchable rest and for a symbol without an
    /// id.
    pub unknown: Unknown,
    /// Whether a run of unknown characters, or words, becomes one token.
    pub fuse_unknown: bool,
    /// Whether a pre-token that is a token stays whole, regardless of the merges.
    pub whole_words: bool,
    /// Words of more characters become unknown as a whole.
    pub max_characters: Option<usize>,
    pub precision: Precision,
    /// Ids of tokens whose score follows from their length; see [`UnigramOptions`].
    pub user_defined: HashSet<u32>,
    /// The merges and removals of a model from which tokens were removed; replaces all other
    /// merges.
    pub events: Option<RemovalEvents>,
    /// Merges across pre-tokens, (left, right, token) in the order learned.
    ///
    /// Empty for most models.
    pub supermerges: Vec<(u32, u32, u32)>,
}

/// The data a model has learned.
pub struct Learned<T> {
    /// The ordinary tokens with their ids.
    pub tokens: Vec<(T, u32)>,
    /// (left, right, token) ids, in the order learned.
    pub merges: Vec<(u32, u32, u32)>,
    /// Natural log probabilities or negated ranks, by token id.
    pub scores: Vec<f64>,
    /// Ids of the tokens of the 256 bytes; [`NO_ID`](crate::model::NO_ID) for a byte without one.
    pub byte_ids: Option<Box<[u32; 256]>>,
}

impl Segmenter {
    pub fn new<T: AsRef<[u8]>>(options: &SegmenterOptions, learned: Learned<T>) -> Result<Self> {
        match options.segmentation {
            Segmentation::Merges
            | Segmentation::Replay
            | Segmentation::Ranks
            | Segmentation::Symbols => learned.merging(options).map(Segmenter::Merges),
            Segmentation::LongestMatch => {
                learned.longest_match(options).map(Segmenter::LongestMatch)
            }
            Segmentation::Viterbi => learned.unigram(options).map(Segmenter::Unigram),
            Segmentation::Lookup => {
                let mut words = learned.words(options.unknown_id);
                words.byte_ids = learned.byte_ids;
                words.fuse_unknown = options.fuse_unknown;
                Ok(Segmenter::Words(words))
            }
            Segmentation::Events | Segmentation::EventsToSymbols => {
                let events = options.events.clone().unwrap_or_default();
                let to_symbols = options.segmentation == Segmentation::EventsToSymbols;
                let replay = EventReplay::new(learned.merging(options)?, events, to_symbols);
                replay.map(Segmenter::Events)
            }
            Segmentation::Demolish | Segmentation::Remerge => {
                learned.demolition(options).map(Segmenter::Demolition)
            }
        }
    }
}

impl<T: AsRef<[u8]>> Learned<T> {
    fn tokens(&self) -> impl Iterator<Item = (&[u8], u32)> + Clone {
        self.tokens.iter().map(|(text, id)| (text.as_ref(), *id))
    }

    fn words(&self, unknown_id: Option<u32>) -> Words {
        Words::new(self.tokens(), unknown_id)
    }

    fn merging(self, options: &SegmenterOptions) -> Result<Merging> {
        let superwords = match &options.supermerges[..] {
            [] => None,
            merges => Some(Box::new(Superwords::new(merges, &self.tokens)?)),
        };
        let by_words = match (options.segmentation, options.units, &options.marker) {
            (Segmentation::Merges, Units::Characters, Marker::None) => {
                can_cut(&self.tokens, Some(&self.merges))
            }
            (Segmentation::Ranks, Units::Characters, Marker::None) => can_cut(&self.tokens, None),
            _ => false,
        };
        // The unknown token's text says nothing about the text it stands for, so words can't be
        // cut.
        let unknown_is_ordinary = self.tokens().any(|(_, id)| Some(id) == options.unknown_id);
        let drop_unknown = options.unknown == Unknown::Drop;
        let by_words = (by_words && !options.whole_words && !unknown_is_ordinary && !drop_unknown)
            .then(|| Borders::of(self.tokens().map(|(text, _)| text)));
        let stand_ins = match (options.segmentation, options.units, &options.marker) {
            (Segmentation::Ranks, Units::Characters, Marker::None) => self.stand_ins(),
            _ => Vec::new(),
        };
        let merges = match options.segmentation {
            Segmentation::Symbols => Merges::default(),
            Segmentation::Ranks => self.by_rank(&stand_ins),
            _ => Merges::new(self.merges.iter().copied()),
        };
        let base = Merging::new(self.alphabet(options, &stand_ins), merges);
        Ok(Merging {
            order: match options.segmentation {
                Segmentation::Replay => MergeOrder::Replay,
                _ => MergeOrder::ByRank,
            },
            unknown: options.unknown_id,
            drop_unknown,
            fuse_unknown: options.fuse_unknown,
            whole: options.whole_words.then(|| self.words(None)),
            by_words,
            byte_ids: self.byte_ids,
            superwords,
            first_stand_in: stand_ins.first().map(|&(_, id)| id),
            ..base
        })
    }

    fn demolition(mut self, options: &SegmenterOptions) -> Result<Demolition> {
        let events = options.events.clone().unwrap_or_default();
        let lengths = self
            .tokens()
            .map(|(text, id)| (id, text.len() as u32))
            .collect();
        self.merges = events.merges.clone();
        let merges_again = options.segmentation == Segmentation::Remerge;
        Demolition::new(self.merging(options)?, &events, lengths, merges_again)
    }

    /// Return the characters that have no token but occur in longer tokens, with ids after all
    /// token ids.
    ///
    /// In SentencePiece's BPE, any two neighbours whose text together is a token merge, whether
    /// they are tokens or single characters.
    fn stand_ins(&self) -> Vec<(String, u32)> {
        let texts = || {
            let texts = self.tokens().map(|(text, _)| std::str::from_utf8(text));
            texts.filter_map(|text| text.ok())
        };
        let is_one = |text: &&str| text.chars().nth(1).is_none();
        let known: HashSet<char> = texts().filter(is_one).flat_map(str::chars).collect();
        let characters = texts().filter(|text| !is_one(text)).flat_map(str::chars);
        let missing: BTreeSet<char> = characters.filter(|one| !known.contains(one)).collect();
        let first = self.tokens().map(|(_, id)| id.saturating_add(1)).max();
        let ids = first.unwrap_or_default()..NO_ID;
        missing.into_iter().map(String::from).zip(ids).collect()
    }

    /// Return merges for all pairs of neighbours whose text together is a token.
    ///
    /// The token with the highest score merges first; in a model without scores, the one with the
    /// lowest id.
    fn by_rank(&self, stand_ins: &[(String, u32)]) -> Merges {
        let mut ranked: Vec<(&[u8], u32, u32)> =
            self.tokens().map(|(text, id)| (text, id, id)).collect();
        if !self.scores.is_empty() {
            let score = |id: u32| self.scores.get(id as usize).copied().unwrap_or(0.0);
            ranked.sort_by(|a, b| score(b.1).total_cmp(&score(a.1)).then(a.1.cmp(&b.1)));
            let mut rank = 0;
            for place in 0..ranked.len() {
                if place > 0 && score(ranked[place - 1].1) != score(ranked[place].1) {
                    rank += 1;
                }
                ranked[place].2 = rank;
            }
        }
        // No merge makes a single character, so the rank of a stand-in has no effect.
        ranked.extend(stand_ins.iter().map(|(text, id)| (text.as_bytes(), *id, 0)));
        Merges::by_vocabulary(&ranked)
    }

    fn alphabet(&self, options: &SegmenterOptions, stand_ins: &[(String, u32)]) -> Alphabet {
        match options.units {
            Units::Bytes => {
                let mut ids = [None; 256];
                for (token, id) in self.tokens() {
                    if let [byte] = *token {
                        ids[byte as usize] = Some(id);
                    }
                }
                Alphabet::bytes(|byte| ids[byte[0] as usize])
            }
            Units::Characters => {
                let stand_ins = stand_ins.iter().map(|(text, id)| (text.as_bytes(), *id));
                Alphabet::characters(&options.marker, self.tokens().chain(stand_ins))
            }
        }
    }

    fn longest_match(self, options: &SegmenterOptions) -> Result<LongestMatch> {
        let Marker::Continuation(prefix) = &options.marker else {
            return Err(invalid("longest match needs a continuation marker".into()));
        };
        LongestMatch::new(
            self.tokens(),
            prefix.as_bytes(),
            options.unknown,
            options.unknown_id,
            options.max_characters,
        )
    }

    fn unigram(self, options: &SegmenterOptions) -> Result<Unigram> {
        let scores = &self.scores;
        if let Some((_, id)) = self.tokens().find(|(_, id)| *id as usize >= scores.len()) {
            return Err(invalid(format!("the token with the id {id} has no score")));
        }
        let (user_defined, pieces): (Vec<_>, Vec<_>) = self
            .tokens()
            .partition(|(_, id)| options.user_defined.contains(id));
        let user_defined = user_defined.into_iter();
        let user_defined = user_defined.map(|(text, id)| (text.to_vec(), id)).collect();
        let pieces = pieces.into_iter();
        // Hugging Face takes the minimum over all pieces, even those that no text becomes
        // (Pegasus's `<unk_2>`).
        let unknown_score = match options.precision {
            Precision::Single => None,
            Precision::Double => {
                Some(scores.iter().copied().fold(f64::MAX, f64::min) - UNKNOWN_PENALTY)
            }
        };
        Unigram::new(
            pieces.map(|(text, id)| (text, id, scores[id as usize])),
            UnigramOptions {
                unknown_id: options.unknown_id,
                unknown_score,
                byte_ids: self.byte_ids.clone(),
                fuse_unknown: options.fuse_unknown,
                user_defined,
                precision: options.precision,
            },
        )
    }
}

fn invalid(message: String) -> Error {
    Error::Invalid(message)
}

/// Fail if a pre-token is too long: lengths and offsets inside a pre-token are 32-bit numbers.
pub(crate) fn check_length(pre_token: &[u8]) -> Result<()> {
    if pre_token.len() >= u32::MAX as usize - 1 {
        return Err(Error::TooLarge(
            "a pre-token of over 4 GB can't be segmented".into(),
        ));
    }
    Ok(())
}
