//! The segmenter that a recipe describes.

use std::collections::HashSet;

use pyo3::prelude::*;
use pyo3::FromPyObject;
use tokctl_core::encode::{
    can_cut, LongestMatch, MergeOrder, Merging, Precision, Segmenter, Unigram, UnigramOptions,
    Unknown, Words,
};
use tokctl_core::model::{Alphabet, Marker, Merges, Units};
use tokctl_core::Error;

use crate::errors::to_python;

type Result<T> = std::result::Result<T, Error>;

/// How a recipe segments, and with which ends.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    segmentation: String,
    pub units: String,
    marker: (String, String),
    /// The ids of tokens whose score follows from their length; see [`UnigramOptions`].
    user_defined: HashSet<u32>,
    fuse_unknown: bool,
    whole_words: bool,
    precision: String,
    unknown_id: Option<u32>,
    unknown: String,
    max_input_chars: Option<usize>,
}

/// What a model has learned, from Python or from its file.
pub struct Learned<T = Vec<u8>> {
    /// The ordinary tokens with their ids.
    pub tokens: Vec<(T, u32)>,
    /// (left, right, token), in the order learned.
    pub merges: Vec<(u32, u32, u32)>,
    /// Natural log probabilities, or ranks turned round: by id.
    pub scores: Vec<f64>,
    /// Of `<0x00>` to `<0xFF>`.
    pub byte_ids: Option<Box<[u32; 256]>>,
}

pub fn byte_table(ids: Vec<u32>) -> pyo3::PyResult<Box<[u32; 256]>> {
    <[u32; 256]>::try_from(ids).map(Box::new).map_err(|_| {
        to_python(invalid(
            "there is not one id for each of the 256 bytes".into(),
        ))
    })
}

pub fn segmenter<T: AsRef<[u8]>>(
    how: &Settings,
    units: Units,
    learned: Learned<T>,
) -> Result<Segmenter> {
    let (kind, text) = &how.marker;
    let marker = Marker::new(kind, text)?;
    match how.segmentation.as_str() {
        "merges" | "replay" | "symbols" | "ranks" => {
            merging(how, units, &marker, learned).map(Segmenter::Merges)
        }
        "longest-match" => longest_match(how, &marker, learned).map(Segmenter::LongestMatch),
        "viterbi" => unigram(how, learned).map(Segmenter::Unigram),
        "lookup" => {
            let mut words = words(&learned, how.unknown_id);
            words.byte_ids = learned.byte_ids;
            words.fuse_unknown = how.fuse_unknown;
            Ok(Segmenter::Words(words))
        }
        name => Err(invalid(format!("no segmentation is called {name}"))),
    }
}

fn invalid(message: String) -> Error {
    Error::Invalid(message)
}

fn words<T: AsRef<[u8]>>(learned: &Learned<T>, unknown_id: Option<u32>) -> Words {
    let tokens = learned.tokens.iter();
    Words::new(tokens.map(|(text, id)| (text.as_ref(), *id)), unknown_id)
}

fn merging<T: AsRef<[u8]>>(
    how: &Settings,
    units: Units,
    marker: &Marker,
    learned: Learned<T>,
) -> Result<Merging> {
    let name = how.segmentation.as_str();
    let by_words = match (name, units, marker) {
        ("merges", Units::Characters, Marker::None) => {
            can_cut(&learned.tokens, Some(&learned.merges))
        }
        ("ranks", Units::Characters, Marker::None) => can_cut(&learned.tokens, None),
        _ => false,
    };
    // Its text says nothing of what it stands for.
    let unknown_is_ordinary = learned
        .tokens
        .iter()
        .any(|&(_, id)| Some(id) == how.unknown_id);
    let merges = match name {
        "symbols" => Merges::default(),
        "ranks" => by_rank(&learned)?,
        _ => Merges::new(learned.merges.iter().copied()),
    };
    Ok(Merging {
        alphabet: alphabet(units, marker, &learned.tokens),
        merges,
        order: match name {
            "replay" => MergeOrder::Replay,
            _ => MergeOrder::ByRank,
        },
        unknown: how.unknown_id,
        fuse_unknown: how.fuse_unknown,
        whole: how.whole_words.then(|| words(&learned, None)),
        byte_ids: learned.byte_ids,
        by_words: by_words && !how.whole_words && !unknown_is_ordinary,
    })
}

/// Any two neighbours that spell a token merge: that of the highest score first, or, in a
/// model without scores, that of the lowest id.
fn by_rank<T: AsRef<[u8]>>(learned: &Learned<T>) -> Result<Merges> {
    let mut ranked: Vec<(&[u8], u32, u32)> = learned
        .tokens
        .iter()
        .map(|(text, id)| (text.as_ref(), *id, *id))
        .collect();
    if !learned.scores.is_empty() {
        let score = |id: u32| learned.scores.get(id as usize).copied().unwrap_or(0.0);
        ranked.sort_by(|a, b| score(b.1).total_cmp(&score(a.1)).then(a.1.cmp(&b.1)));
        let mut rank = 0;
        for place in 0..ranked.len() {
            if place > 0 && score(ranked[place - 1].1) != score(ranked[place].1) {
                rank += 1;
            }
            ranked[place].2 = rank;
        }
    }
    Merges::by_vocabulary(&ranked)
}

fn alphabet<T: AsRef<[u8]>>(units: Units, marker: &Marker, ordinary: &[(T, u32)]) -> Alphabet {
    match units {
        Units::Bytes => {
            let mut ids = [None; 256];
            for (token, id) in ordinary {
                if let [byte] = *token.as_ref() {
                    ids[byte as usize] = Some(*id);
                }
            }
            Alphabet::bytes(|byte| ids[byte[0] as usize])
        }
        Units::Characters => {
            let symbols = ordinary.iter().map(|(token, id)| (token.as_ref(), *id));
            Alphabet::characters(marker, symbols)
        }
    }
}

fn longest_match<T: AsRef<[u8]>>(
    how: &Settings,
    marker: &Marker,
    learned: Learned<T>,
) -> Result<LongestMatch> {
    let prefix = match marker {
        Marker::Continuation(prefix) => prefix.as_bytes(),
        _ => return Err(invalid("longest match needs a continuation marker".into())),
    };
    let unknown = match how.unknown.as_str() {
        "word" => Unknown::Word,
        "char" => Unknown::Character,
        other => return Err(invalid(format!("unknown can't be {other}"))),
    };
    LongestMatch::new(
        learned
            .tokens
            .iter()
            .map(|(token, id)| (token.as_ref(), *id)),
        prefix,
        unknown,
        how.unknown_id,
        how.max_input_chars,
    )
}

fn unigram<T: AsRef<[u8]>>(how: &Settings, learned: Learned<T>) -> Result<Unigram> {
    let precision = match how.precision.as_str() {
        "single" => Precision::Single,
        "double" => Precision::Double,
        other => return Err(invalid(format!("no precision is called {other}"))),
    };
    if let Some((_, id)) = learned
        .tokens
        .iter()
        .find(|(_, id)| *id as usize >= learned.scores.len())
    {
        return Err(invalid(format!("the token with the id {id} has no score")));
    }
    let scores = &learned.scores;
    let (user_defined, pieces): (Vec<_>, Vec<_>) = learned
        .tokens
        .into_iter()
        .partition(|(_, id)| how.user_defined.contains(id));
    Unigram::new(
        pieces
            .iter()
            .map(|(text, id)| (text.as_ref(), *id, scores[*id as usize])),
        UnigramOptions {
            unknown_id: how.unknown_id,
            unknown_score: None,
            byte_ids: learned.byte_ids,
            fuse_unknown: how.fuse_unknown,
            user_defined: (user_defined.into_iter())
                .map(|(text, id)| (text.as_ref().to_vec(), id))
                .collect(),
            precision,
        },
    )
}

pub fn marker((kind, text): (String, String)) -> PyResult<Marker> {
    Marker::new(&kind, &text).map_err(to_python)
}

pub fn units(name: &str) -> PyResult<Units> {
    match name {
        "bytes" => Ok(Units::Bytes),
        "characters" => Ok(Units::Characters),
        _ => Err(to_python(invalid(format!("no units are called {name}")))),
    }
}
