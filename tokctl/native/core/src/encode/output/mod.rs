//! Ids of texts that come block by block, as bytes or as arrays.

mod blocks;
mod sinks;

pub use blocks::{BlockEncoder, Context, Cuts, MissingId};
pub use sinks::{ByteSink, Form, IdSink, Sink};
