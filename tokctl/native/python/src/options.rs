//! Names from Python to the core's enums.

use pyo3::prelude::*;
use tokctl_core::model::{Marker, Units};

use crate::errors::{invalid, to_python};

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
