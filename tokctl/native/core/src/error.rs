//! Errors of the core, with messages that the caller can pass on.

use std::fmt;

pub type Result<T> = std::result::Result<T, Error>;

/// Error of the core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The caller's progress callback asked to stop (Ctrl-C).
    Interrupted,
    /// The requested vocabulary is smaller than the alphabet plus the special tokens.
    VocabularyTooSmall { requested: u64, least: u64 },
    /// A value does not fit its type.
    TooLarge(String),
    /// The system has no memory for this input.
    OutOfMemory,
    /// An id is not in the vocabulary. Positions count ids from 0.
    UnknownId { position: u64, id: u32 },
    /// An id in a text of ids is outside the vocabulary. Columns count bytes from 1.
    IdOutside { line: u64, column: u64, id: u32 },
    /// A word in a text of ids is not an id.
    NotAnId {
        line: u64,
        column: u64,
        word: String,
    },
    /// A character of the text with this number has no id, and its output form has no way to show a
    /// missing id.
    NoId(usize),
    /// A vocabulary, merge list or option contradicts itself.
    Invalid(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Interrupted => write!(f, "interrupted"),
            Error::OutOfMemory => write!(f, "out of memory"),
            Error::VocabularyTooSmall { requested, least } => write!(
                f,
                "a vocabulary of {requested} is too small: the alphabet and the special tokens need {least}"
            ),
            Error::NoId(text) => write!(f, "a character of text {text} has no id"),
            Error::TooLarge(what) | Error::Invalid(what) => write!(f, "{what}"),
            Error::IdOutside { line, column, id } => {
                write!(f, "line {line}, column {column}: id {id} is outside the vocabulary")
            }
            Error::NotAnId { line, column, word } => {
                write!(f, "line {line}, column {column}: {word:?} is not an id")
            }
            Error::UnknownId { position, id } => {
                write!(f, "id {id} (number {position}) is outside the vocabulary")
            }
        }
    }
}

impl std::error::Error for Error {}
