//! Names from Python to the core's enums.

use pyo3::prelude::*;
use tokctl_core::model::{Marker, Units};
use tokctl_core::normalize::Normalizer;
use tokctl_core::pretokenize::PreTokenizer;

use crate::errors::{invalid, to_python};

pub fn pre_tokenizer(name: &str) -> PyResult<PreTokenizer> {
    PreTokenizer::named(name).ok_or_else(|| invalid(format!("no pre-tokenizer is called {name}")))
}

pub fn normalizers(names: Vec<String>) -> PyResult<Vec<Normalizer>> {
    names
        .iter()
        .map(|name| {
            Normalizer::named(name)
                .ok_or_else(|| invalid(format!("no normalizer is called {name}")))
        })
        .collect()
}

pub fn marker((kind, text): (String, String)) -> PyResult<Marker> {
    Marker::new(&kind, &text).map_err(to_python)
}

pub fn units(name: &str) -> PyResult<Units> {
    match name {
        "bytes" => Ok(Units::Bytes),
        "characters" => Ok(Units::Characters),
        _ => Err(invalid(format!("no units are called {name}"))),
    }
}
