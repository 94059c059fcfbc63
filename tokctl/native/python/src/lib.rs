//! `tokctl._native`: the core for Python. Only conversions; the algorithms and their reasons are in
//! `tokctl-core`.

mod blocks;
mod columns;
mod counter;
mod decoder;
mod encoder;
mod errors;
mod gap;
mod ids;
mod measuring;
mod normalizers;
mod pattern;
mod pretokenizers;
mod stepper;
mod stored;
mod texts;
mod tokens;
mod trainer;
#[cfg(count_work)]
mod work;

use pyo3::prelude::*;

// Works without a GIL. Every class is frozen, so that PyO3 hands out no `&mut` and requires `Sync`.
// Mutable state of objects is behind locks and atomics of the core. The only statics are those that
// `prepare` and `last_words` set, by atomics.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    tokctl_core::prepare();
    module.add("NO_ID", tokctl_core::model::NO_ID)?;
    module.add(
        "LEAST_CACHE_MEMORY",
        tokctl_core::encode::CacheMemory::LEAST,
    )?;
    module.add("REGEX_RELEASE", tokctl_core::unicode::tables::REGEX_RELEASE)?;
    module.add_function(wrap_pyfunction!(errors::last_words, module)?)?;
    module.add_class::<counter::Counter>()?;
    module.add_class::<counter::Counts>()?;
    module.add_class::<counter::RunWords>()?;
    module.add_class::<counter::CountLines>()?;
    module.add_class::<counter::LineSampler>()?;
    module.add_class::<counter::Utf8Check>()?;
    module.add_function(wrap_pyfunction!(counter::framed, module)?)?;
    module.add_function(wrap_pyfunction!(counter::collect_counts, module)?)?;
    module.add_function(wrap_pyfunction!(counter::merge_counts, module)?)?;
    module.add_class::<columns::TextColumn>()?;
    module.add_class::<trainer::Training>()?;
    module.add_class::<trainer::UnigramTraining>()?;
    module.add_class::<trainer::ParityTraining>()?;
    module.add_class::<stepper::Stepper>()?;
    module.add_function(wrap_pyfunction!(trainer::train_parity, module)?)?;
    module.add_function(wrap_pyfunction!(trainer::train_unigram, module)?)?;
    module.add_function(wrap_pyfunction!(trainer::train_superwords, module)?)?;
    module.add_class::<encoder::Encoder>()?;
    module.add_class::<encoder::Matchers>()?;
    module.add_class::<tokens::TextTokens>()?;
    module.add_function(wrap_pyfunction!(tokens::trim_offsets, module)?)?;
    module.add_class::<blocks::IdWriter>()?;
    module.add_class::<blocks::TokenNames>()?;
    module.add_class::<blocks::IdCollector>()?;
    module.add_class::<ids::IdArray>()?;
    module.add_function(wrap_pyfunction!(ids::ids_from_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(stored::read_as_serde_json, module)?)?;
    module.add_function(wrap_pyfunction!(stored::texts_for_serde_json, module)?)?;
    module.add_class::<stored::ModelFile>()?;
    module.add_class::<stored::StoredModel>()?;
    module.add_class::<stored::RankFile>()?;
    module.add_class::<measuring::Measured>()?;
    module.add_function(wrap_pyfunction!(measuring::resample_lines, module)?)?;
    module.add_class::<gap::FewestTokens>()?;
    module.add_function(wrap_pyfunction!(gap::vocabulary_bound, module)?)?;
    module.add_class::<decoder::DecodeStream>()?;
    module.add_class::<decoder::Decoder>()?;
    module.add_function(wrap_pyfunction!(trainer::train, module)?)?;
    module.add_function(wrap_pyfunction!(trainer::train_by_frequency, module)?)?;
    module.add_function(wrap_pyfunction!(trainer::alphabet_of, module)?)?;
    module.add_function(wrap_pyfunction!(normalizers::chars_map_named, module)?)?;
    module.add_function(wrap_pyfunction!(normalizers::compile_chars_map, module)?)?;
    module.add_function(wrap_pyfunction!(normalizers::normalize, module)?)?;
    module.add_function(wrap_pyfunction!(normalizers::normalize_aligned, module)?)?;
    module.add_function(wrap_pyfunction!(normalizers::scripts_of, module)?)?;
    module.add_function(wrap_pyfunction!(pretokenizers::pre_tokenize, module)?)?;
    module.add_function(wrap_pyfunction!(pretokenizers::pre_tokens, module)?)?;
    #[cfg(count_work)]
    module.add_function(wrap_pyfunction!(work::steps, module)?)?;
    Ok(())
}
