//! Compiler from rules to a `precompiled_charsmap`, as in SentencePiece (`Builder::CompileCharsMap`
//! of builder.cc).

use std::collections::BTreeMap;

use super::blob::LONGEST_KEY;
use super::darts::double_array;
use super::expand::rules_of;
use super::NAMES;
use crate::error::{Error, Result};

/// Most rules that may match at one offset; SentencePiece looks at no more.
const MOST_PREFIXES: usize = 31;

/// Rules: keys and their replacements.
pub type CharsMapRules = BTreeMap<String, String>;

/// Return the `precompiled_charsmap` of `rules`; no bytes for no rules.
///
/// Fails if a key is empty or longer than 1,024 bytes, if a key or value holds a NUL, if a key has
/// more than 30 others as prefixes, or if the values take 2 GiB or more.
pub fn compile(rules: &CharsMapRules) -> Result<Vec<u8>> {
    let invalid = |what: &str| Err(Error::Invalid(format!("a rule {what}")));
    if rules.is_empty() {
        return Ok(Vec::new());
    }
    let mut places: BTreeMap<&str, u32> = rules.values().map(|value| (&value[..], 0)).collect();
    let mut values = Vec::new();
    for (value, place) in &mut places {
        *place = values.len() as u32;
        values.extend_from_slice(value.as_bytes());
        values.push(0);
    }
    if values.len() >= 1 << 31 {
        return invalid("has a replacement of 2 GiB or more");
    }
    // The keys that the current key begins with. In key order they come before it.
    let mut prefixes: Vec<&str> = Vec::new();
    for (key, value) in rules {
        if key.is_empty() || key.len() > LONGEST_KEY {
            return invalid("replaces an empty text, or one of more than 1,024 bytes");
        }
        if key.contains('\0') || value.contains('\0') {
            return invalid("holds a NUL");
        }
        while prefixes
            .last()
            .is_some_and(|&prefix| !key.starts_with(prefix))
        {
            prefixes.pop();
        }
        prefixes.push(key);
        if prefixes.len() > MOST_PREFIXES {
            return invalid("begins with too many others");
        }
    }
    let keys = rules
        .iter()
        .map(|(key, value)| (key.as_bytes(), places.get(&value[..]).copied().unwrap_or(0)));
    let units = double_array(keys);
    let mut blob = (units.len() as u32 * 4).to_le_bytes().to_vec();
    blob.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    blob.extend(values);
    Ok(blob)
}

/// Return the `precompiled_charsmap` of SentencePiece's rules named `name`; None if the name is
/// unknown.
pub fn compile_named(name: &str) -> Option<Result<Vec<u8>>> {
    let &(_, nmt, cf) = NAMES.iter().find(|known| known.0 == name)?;
    Some(compile(&rules_of(nmt, cf)))
}
