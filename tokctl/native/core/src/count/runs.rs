//! Sorted runs: pre-tokens with their counts and first places, one behind the other, outside
//! of memory.
//!
//! A record is the length of the pre-token, its count, its first place, each in groups of
//! seven bits (LEB128), and its bytes.

use crate::error::{Error, Result};

/// Room outside of memory, a temporary file, say: bytes are put at its end, and read from
/// anywhere.
pub trait Scratch: Send + Sync {
    fn append(&mut self, bytes: &[u8]) -> Result<()>;
    /// Fills the buffer with what lies at `at`.
    fn read(&self, at: u64, buffer: &mut [u8]) -> Result<()>;
}

/// Where such room comes from. What is dropped is given back.
pub trait Store: Send + Sync {
    fn scratch(&self) -> Result<Box<dyn Scratch>>;
}

/// A pre-token, how often it was counted, and where it was seen first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'t> {
    pub text: &'t [u8],
    pub count: u64,
    pub first: u64,
}

/// Bytes of three numbers, at most.
const LONGEST_HEAD: usize = 30;

/// Bytes that are written at a time.
const WRITTEN: usize = 1 << 18;

fn put_number(buffer: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        buffer.push(number as u8 | 0x80);
        number >>= 7;
    }
    buffer.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or_else(damaged)?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(damaged())
}

fn damaged() -> Error {
    Error::Invalid("a temporary file is not as it was written".into())
}

/// Some runs, and the room that they lie in.
pub struct Shelf {
    scratch: Box<dyn Scratch>,
    length: u64,
    /// Where the runs end.
    ends: Vec<u64>,
}

impl Shelf {
    pub fn new(store: &dyn Store) -> Result<Self> {
        Ok(Shelf {
            scratch: store.scratch()?,
            length: 0,
            ends: Vec::new(),
        })
    }

    /// Bytes of all runs.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Adds a run of what `write` puts into it.
    pub fn add(&mut self, write: impl FnOnce(&mut RunWriter) -> Result<()>) -> Result<()> {
        let mut writer = RunWriter {
            shelf: self,
            buffer: Vec::with_capacity(WRITTEN / 4),
        };
        write(&mut writer)?;
        writer.flush()?;
        self.ends.push(self.length);
        Ok(())
    }

    /// The runs, to be read with buffers of so many bytes.
    pub fn readers(&self, size: usize) -> impl Iterator<Item = Reader<'_>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(move |(start, &end)| Reader {
            scratch: self.scratch.as_ref(),
            at: start,
            end,
            size,
            buffer: Vec::new(),
            from: 0,
            length: 0,
            count: 0,
            first: 0,
        })
    }
}

/// Writes one run.
pub struct RunWriter<'s> {
    shelf: &'s mut Shelf,
    buffer: Vec<u8>,
}

impl RunWriter<'_> {
    pub fn put(&mut self, record: Record) -> Result<()> {
        put_number(&mut self.buffer, record.text.len() as u64);
        put_number(&mut self.buffer, record.count);
        put_number(&mut self.buffer, record.first);
        self.buffer.extend_from_slice(record.text);
        if self.buffer.len() >= WRITTEN {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.shelf.scratch.append(&self.buffer)?;
            self.shelf.length += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }
}

/// Reads one run, record by record.
pub struct Reader<'s> {
    scratch: &'s dyn Scratch,
    /// What is read next, and where the run ends.
    at: u64,
    end: u64,
    /// Bytes to be read at a time.
    size: usize,
    buffer: Vec<u8>,
    /// Where the record at hand ends in the buffer.
    from: usize,
    length: usize,
    count: u64,
    first: u64,
}

impl Reader<'_> {
    /// Goes to the next record, the first one at first: its bytes in the run, or None where
    /// there is none.
    pub fn advance(&mut self) -> Result<Option<usize>> {
        self.fill(LONGEST_HEAD)?;
        let mut head = &self.buffer[self.from..];
        let before = head.len();
        if before == 0 {
            return Ok(None);
        }
        let length = take_number(&mut head)?;
        self.length = usize::try_from(length).map_err(|_| damaged())?;
        self.count = take_number(&mut head)?;
        self.first = take_number(&mut head)?;
        let taken = before - head.len();
        self.from += taken;
        self.fill(self.length)?;
        if self.buffer.len() - self.from < self.length {
            return Err(damaged());
        }
        self.from += self.length;
        Ok(Some(taken + self.length))
    }

    /// The record at hand.
    pub fn record(&self) -> Record<'_> {
        Record {
            text: &self.buffer[self.from - self.length..self.from],
            count: self.count,
            first: self.first,
        }
    }

    /// Makes so many bytes come next in the buffer, if the run has them.
    fn fill(&mut self, wanted: usize) -> Result<()> {
        let there = self.buffer.len() - self.from;
        if there >= wanted || self.at == self.end {
            return Ok(());
        }
        self.buffer.drain(..self.from);
        self.from = 0;
        let more = (wanted - there).max(self.size) as u64;
        let more = more.min(self.end - self.at) as usize;
        self.buffer.resize(there + more, 0);
        self.scratch.read(self.at, &mut self.buffer[there..])?;
        self.at += more as u64;
        Ok(())
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Room in memory.
    pub struct Remembered;

    impl Store for Remembered {
        fn scratch(&self) -> Result<Box<dyn Scratch>> {
            Ok(Box::new(Bytes(Vec::new())))
        }
    }

    struct Bytes(Vec<u8>);

    impl Scratch for Bytes {
        fn append(&mut self, bytes: &[u8]) -> Result<()> {
            self.0.extend_from_slice(bytes);
            Ok(())
        }

        fn read(&self, at: u64, buffer: &mut [u8]) -> Result<()> {
            let at = at as usize;
            buffer.copy_from_slice(&self.0[at..at + buffer.len()]);
            Ok(())
        }
    }

    #[test]
    fn records_come_back_whatever_is_read_at_a_time() {
        let long = vec![b'x'; 3 * WRITTEN];
        let numbers = [0, 1, 127, 128, 1 << 14, u64::MAX >> 1, u64::MAX];
        let mut shelf = Shelf::new(&Remembered).unwrap();
        for text in [&b""[..], b"a", &long, b"\xFF\0"] {
            let put = |run: &mut RunWriter| {
                numbers.iter().try_for_each(|&number| {
                    let (count, first) = (number, u64::MAX - number);
                    run.put(Record { text, count, first })
                })
            };
            shelf.add(put).unwrap();
        }
        for size in [1, 7, 100, 1 << 20] {
            let mut found = 0;
            let mut taken = 0;
            for (mut reader, length) in shelf.readers(size).zip([0, 1, long.len(), 2]) {
                for number in numbers {
                    taken += reader.advance().unwrap().unwrap() as u64;
                    let record = reader.record();
                    assert_eq!((record.count, record.first), (number, u64::MAX - number));
                    assert_eq!(record.text.len(), length);
                    found += 1;
                }
                assert_eq!(reader.advance(), Ok(None));
                assert_eq!(reader.advance(), Ok(None));
            }
            assert_eq!((found, taken), (28, shelf.length()));
        }
    }

    #[test]
    fn what_was_changed_is_an_error_or_other_records() {
        for bytes in [&b"\x05\x01\x01abc"[..], b"\x80", &[0xFF; 40], b"\x05\x01"] {
            let shelf = Shelf {
                scratch: Box::new(Bytes(bytes.to_vec())),
                length: bytes.len() as u64,
                ends: vec![bytes.len() as u64],
            };
            let mut reader = shelf.readers(16).next().unwrap();
            assert!(reader.advance().is_err(), "{bytes:?}");
        }
    }
}
