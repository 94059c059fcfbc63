//! Ids of texts that come in blocks, as bytes or as arrays.

mod blocks;
mod decimal;
mod names;
mod sinks;

pub use blocks::{BlockEncoder, Context, Cuts, MissingId};
pub use names::TokenNames;
pub use sinks::{ByteSink, Form, IdSink, Sink};
