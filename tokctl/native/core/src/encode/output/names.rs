//! Tokens written by name: words separated by spaces, or JSON objects.

use super::decimal::append_lines;
use crate::error::Result;
use crate::text_table::{TextTable, WINDOW};

/// The name of each token, followed by its separator.
pub struct TokenNames {
    names: TextTable,
    /// Whether names are JSON strings.
    json: bool,
}

impl TokenNames {
    /// Make a table of names by id, as they are written: with `json`, in quotes; else without
    /// spaces.
    pub fn new<N: AsRef<[u8]>>(names: impl IntoIterator<Item = N>, json: bool) -> Self {
        let separator = if json { b',' } else { b' ' };
        let mut table = TextTable::default();
        let mut followed = Vec::new();
        for name in names {
            followed.clear();
            followed.extend_from_slice(name.as_ref());
            followed.push(separator);
            table.push(&followed);
        }
        TokenNames { names: table, json }
    }

    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Append the names of `ids`, each followed by its separator.
    pub fn append(&self, ids: &[u32], out: &mut Vec<u8>) -> Result<()> {
        let size = self.names.size(ids, |_| false)?;
        let first = out.len();
        // With room after the last name, all names are copied by the fast path.
        out.resize(first + size + WINDOW, 0);
        self.names.fill(ids, |_| false, &mut out[first..]);
        out.truncate(first + size);
        Ok(())
    }

    /// Append `{"ids":[…],"tokens":[…]}`.
    pub fn append_object(&self, ids: &[u32], out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(b"{\"ids\":[");
        // [`NO_ID`] is an error in `append` below, because it has no name.
        append_lines(ids, b',', &mut false, out);
        out.extend_from_slice(b"],\"tokens\":[");
        self.append(ids, out)?;
        if !ids.is_empty() {
            out.pop();
        }
        out.extend_from_slice(b"]}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(names: &TokenNames, ids: &[u32]) -> String {
        let mut out = b"before ".to_vec();
        names.append_object(ids, &mut out).unwrap();
        String::from_utf8(out.split_off(7)).unwrap()
    }

    #[test]
    fn objects_have_ids_and_names() {
        let names = TokenNames::new(["\"a\"", "\"\\n\"", "\"longer than 16 bytes\""], true);
        assert_eq!(object(&names, &[]), r#"{"ids":[],"tokens":[]}"#);
        assert_eq!(object(&names, &[1]), r#"{"ids":[1],"tokens":["\n"]}"#);
        let expected =
            r#"{"ids":[2,0,2],"tokens":["longer than 16 bytes","a","longer than 16 bytes"]}"#;
        assert_eq!(object(&names, &[2, 0, 2]), expected);
        assert!(names.append_object(&[3], &mut Vec::new()).is_err());
    }

    #[test]
    fn words_are_followed_by_spaces() {
        let names = TokenNames::new(["a", "", "bc"], false);
        let mut out = b"x".to_vec();
        names.append(&[0, 1, 2], &mut out).unwrap();
        assert_eq!(out, b"xa  bc ");
    }
}
