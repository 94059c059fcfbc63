//! Documents as one stream of bytes, for a digest of them.

/// Of each document its length and how often it counts, as numbers of eight bytes, the least
/// byte first, and then its bytes: no two lists of documents come to the same. One that counts
/// 0 times is left out; without `counts` each counts once.
pub fn framed(texts: &[&[u8]], counts: Option<&[u64]>) -> Vec<u8> {
    let bytes: usize = texts.iter().map(|text| text.len() + 16).sum();
    let mut stream = Vec::with_capacity(bytes);
    for (at, text) in texts.iter().enumerate() {
        let count = counts.map_or(1, |counts| counts[at]);
        if count > 0 {
            stream.extend_from_slice(&(text.len() as u64).to_le_bytes());
            stream.extend_from_slice(&count.to_le_bytes());
            stream.extend_from_slice(text);
        }
    }
    stream
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_counts_are_in_it() {
        let one = framed(&[b"ab"], None);
        assert_eq!(one, b"\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0ab");
        assert_eq!(framed(&[b"x", b"ab"], Some(&[0, 1])), one);
        assert_ne!(framed(&[b"a", b"b"], None)[..], one[..]);
        assert_ne!(framed(&[b"ab"], Some(&[2])), one);
    }
}
