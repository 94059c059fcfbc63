//! Encoding on several threads: many texts, one long text, the tokens of one text.

mod batch;
mod one_text;
mod tokens;

pub(super) use batch::does_not_fit;
pub use batch::RaggedIds;
pub use one_text::CHUNK;
pub(crate) use tokens::TextPart;
