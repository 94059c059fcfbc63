//! The loops of tokctl that touch every byte or every pair.
//!
//! The folders are named after the places that text passes, in order:
//! [`normalize`], [`pretokenize`], [`count`], [`train`]; and for a finished model
//! [`encode`] and [`decode`]; [`measure`] counts what came out. [`model`] is what training fills
//! in and encoding reads. Nothing here knows Python, opens a file or prints.
//!
//! `train` and `encode` may use `model`, and never each other.

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

/// Does what would otherwise be done by whichever thread comes first, under a lock: a process that
/// forks at that moment would leave its child with it. To be called before there are threads.
pub fn prepare() {
    memory::recover();
    let _ = packed::Seeds::default();
}
