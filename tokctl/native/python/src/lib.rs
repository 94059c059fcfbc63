//! `tokctl._native`: the core for Python. Conversions only; what is computed, and why,
//! is in `tokctl-core`.

mod counter;
mod decoder;
mod encoder;
mod errors;
mod interrupt;
mod options;
mod text;
mod trainer;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CoreError", module.py().get_type::<errors::CoreError>())?;
    module.add("NO_ID", tokctl_core::model::NO_ID)?;
    module.add("REGEX_RELEASE", tokctl_core::unicode::tables::REGEX_RELEASE)?;
    module.add_class::<counter::Counter>()?;
    module.add_class::<counter::Counts>()?;
    module.add_class::<trainer::Training>()?;
    module.add_class::<encoder::Encoder>()?;
    module.add_class::<encoder::SpecialTokens>()?;
    module.add_class::<decoder::Decoder>()?;
    module.add_function(wrap_pyfunction!(trainer::train, module)?)?;
    module.add_function(wrap_pyfunction!(text::normalize, module)?)?;
    module.add_function(wrap_pyfunction!(text::last_cut, module)?)?;
    module.add_function(wrap_pyfunction!(text::pre_tokens, module)?)?;
    Ok(())
}
