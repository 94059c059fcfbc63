//! The segmenter that a recipe describes.

use std::collections::HashSet;

use tokctl_core::encode::{
    can_cut, LongestMatch, MergeOrder, Merging, Precision, Segmenter, Unigram, UnigramOptions,
    Unknown, Words,
};
use tokctl_core::model::{Alphabet, Marker, Merges, Units};
use tokctl_core::Error;

type Result<T> = std::result::Result<T, Error>;

/// What Python says of a model, or a file of it.
pub struct Given<'g, T = Vec<u8>> {
    pub units: Units,
    pub marker: Marker,
    /// The ordinary tokens with their ids.
    pub tokens: Vec<(T, u32)>,
    /// (left, right, token), in the order learned.
    pub merges: Vec<(u32, u32, u32)>,
    /// Natural log probabilities, or ranks turned round: by id.
    pub scores: Vec<f64>,
    /// The ids of tokens whose score follows from their length; see [`UnigramOptions`].
    pub user_defined: HashSet<u32>,
    pub byte_ids: Option<Box<[u32; 256]>>,
    pub fuse_unknown: bool,
    pub whole_words: bool,
    pub precision: &'g str,
    pub unknown_id: Option<u32>,
    pub unknown: &'g str,
    pub max_input_chars: Option<usize>,
}

pub fn byte_table(ids: Vec<u32>) -> pyo3::PyResult<Box<[u32; 256]>> {
    <[u32; 256]>::try_from(ids)
        .map(Box::new)
        .map_err(|_| crate::errors::invalid("there is not one id for each of the 256 bytes".into()))
}

pub fn segmenter<T: AsRef<[u8]>>(name: &str, given: Given<T>) -> Result<Segmenter> {
    match name {
        "merges" | "replay" | "symbols" | "ranks" => merging(name, given).map(Segmenter::Merges),
        "longest-match" => longest_match(given).map(Segmenter::LongestMatch),
        "viterbi" => unigram(given).map(Segmenter::Unigram),
        "lookup" => {
            let mut words = words(&given, given.unknown_id);
            words.byte_ids = given.byte_ids;
            words.fuse_unknown = given.fuse_unknown;
            Ok(Segmenter::Words(words))
        }
        _ => Err(invalid(format!("no segmentation is called {name}"))),
    }
}

fn invalid(message: String) -> Error {
    Error::Invalid(message)
}

fn words<T: AsRef<[u8]>>(given: &Given<T>, unknown_id: Option<u32>) -> Words {
    let tokens = given.tokens.iter();
    Words::new(tokens.map(|(text, id)| (text.as_ref(), *id)), unknown_id)
}

fn merging<T: AsRef<[u8]>>(name: &str, given: Given<T>) -> Result<Merging> {
    let in_parts = match (name, given.units, &given.marker) {
        ("merges", Units::Characters, Marker::None) => can_cut(&given.tokens, Some(&given.merges)),
        ("ranks", Units::Characters, Marker::None) => can_cut(&given.tokens, None),
        _ => false,
    };
    // Its text says nothing of what it stands for.
    let unknown_is_ordinary = given
        .tokens
        .iter()
        .any(|&(_, id)| Some(id) == given.unknown_id);
    let merges = match name {
        "symbols" => Merges::default(),
        "ranks" => by_rank(&given)?,
        _ => Merges::new(given.merges.iter().copied()),
    };
    Ok(Merging {
        alphabet: alphabet(given.units, &given.marker, &given.tokens),
        merges,
        order: match name {
            "replay" => MergeOrder::Replay,
            _ => MergeOrder::ByRank,
        },
        unknown: given.unknown_id,
        fuse_unknown: given.fuse_unknown,
        whole: given.whole_words.then(|| words(&given, None)),
        byte_ids: given.byte_ids,
        in_parts: in_parts && !given.whole_words && !unknown_is_ordinary,
    })
}

/// Any two neighbours that spell a token merge: that of the highest score first, or, in a
/// model without scores, that of the lowest id.
fn by_rank<T: AsRef<[u8]>>(given: &Given<T>) -> Result<Merges> {
    let mut ranked: Vec<(&[u8], u32, u32)> = given
        .tokens
        .iter()
        .map(|(text, id)| (text.as_ref(), *id, *id))
        .collect();
    if !given.scores.is_empty() {
        let score = |id: u32| given.scores.get(id as usize).copied().unwrap_or(0.0);
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

fn longest_match<T: AsRef<[u8]>>(given: Given<T>) -> Result<LongestMatch> {
    let prefix = match &given.marker {
        Marker::Continuation(prefix) => prefix.as_bytes(),
        _ => return Err(invalid("longest match needs a continuation marker".into())),
    };
    let unknown = match given.unknown {
        "word" => Unknown::Word,
        "char" => Unknown::Character,
        other => return Err(invalid(format!("unknown can't be {other}"))),
    };
    LongestMatch::new(
        given.tokens.iter().map(|(token, id)| (token.as_ref(), *id)),
        prefix,
        unknown,
        given.unknown_id,
        given.max_input_chars,
    )
}

fn unigram<T: AsRef<[u8]>>(given: Given<T>) -> Result<Unigram> {
    let precision = match given.precision {
        "single" => Precision::Single,
        "double" => Precision::Double,
        other => return Err(invalid(format!("no precision is called {other}"))),
    };
    if let Some((_, id)) = given
        .tokens
        .iter()
        .find(|(_, id)| *id as usize >= given.scores.len())
    {
        return Err(invalid(format!("the token with the id {id} has no score")));
    }
    let scores = &given.scores;
    let (user_defined, pieces): (Vec<_>, Vec<_>) = given
        .tokens
        .into_iter()
        .partition(|(_, id)| given.user_defined.contains(id));
    Unigram::new(
        pieces
            .iter()
            .map(|(text, id)| (text.as_ref(), *id, scores[*id as usize])),
        UnigramOptions {
            unknown_id: given.unknown_id,
            unknown_score: None,
            byte_ids: given.byte_ids,
            fuse_unknown: given.fuse_unknown,
            user_defined: (user_defined.into_iter())
                .map(|(text, id)| (text.as_ref().to_vec(), id))
                .collect(),
            precision,
        },
    )
}
