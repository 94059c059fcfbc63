//! Where metaspace puts its space.

use crate::error::{Error, Result};

/// Where a character is put in front of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepend {
    /// In front of every piece.
    Always,
    /// In front of a piece that starts where the text starts.
    First,
    Never,
}

impl Prepend {
    pub fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "always" => Prepend::Always,
            "first" => Prepend::First,
            "never" => Prepend::Never,
            _ => {
                return Err(Error::Invalid(format!(
                    "no prepend scheme is called {name}"
                )))
            }
        })
    }
}
