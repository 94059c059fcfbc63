//! Hugging Face's `UnicodeScripts`: split where the script changes, as SentencePiece does.
//!
//! Hiragana, Katakana and U+30FC count as Han; a space and an unassigned code point go
//! with whatever is before them. That library starts its first piece at the first
//! character that has a script, so spaces at the very start are dropped.

use super::runs::code_at;
use crate::unicode::{scripts, Scripts};

/// Goes with any script.
const ANY: u8 = scripts::UNKNOWN;

/// The script that a character counts as here.
pub fn script_of(table: Scripts, code: u32) -> u8 {
    match (code, table.of(code)) {
        (0x20, _) => ANY,
        (0x30FC, _) | (_, scripts::HIRAGANA | scripts::KATAKANA) => scripts::HAN,
        (_, script) => script,
    }
}

pub fn split(text: &[u8], mut emit: impl FnMut(usize, usize)) {
    let table = Scripts::get();
    let (mut at, mut start, mut last) = (0, 0, ANY);
    while at < text.len() {
        let (code, length) = code_at(text, at);
        let script = script_of(table, code);
        if script != ANY {
            if last == ANY {
                start = at;
            } else if script != last {
                emit(start, at);
                start = at;
            }
            last = script;
        }
        at += length;
    }
    if last != ANY {
        emit(start, at);
    }
}
