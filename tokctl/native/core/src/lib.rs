//! The loops of tokctl that touch every byte or every pair.
//!
//! The modules follow the path of a text: [`normalize`], [`pretokenize`], [`count`], [`train`]; and
//! for a finished model [`encode`] and [`decode`]. [`measure`] computes statistics of the results.
//! [`model`] holds what training fills in and encoding reads. This crate does not know Python, open
//! files or print.
//!
//! `train` and `encode` may use `model`, but never each other.

pub mod count;
pub mod decode;
pub mod encode;
pub mod error;
mod jobs;
mod key_batch;
pub mod large_pages;
mod lock_free;
pub mod measure;
pub mod memory;
pub mod model;
pub mod normalize;
mod packed;
pub mod pattern;
mod prefetch;
pub mod pretokenize;
mod random;
mod text_table;
pub mod train;
pub mod unicode;

pub use error::{Error, Result};
pub use jobs::Interrupt;

#[global_allocator]
static ALLOCATOR: large_pages::Allocator = large_pages::Allocator;

/// Initialize what the first thread would otherwise initialize under a lock. If a process forked at
/// that moment, the child would inherit the held lock. Call this before any threads exist.
pub fn prepare() {
    memory::recover();
    let _ = packed::Seeds::default();
}
