//! A pool of vectors of ids. The first touch of fresh memory costs more than computing the ids that
//! are written to it.

use std::ops::Deref;
use std::sync::Arc;

use crate::large_pages;
use crate::lock_free::{Pool, Slot};

/// A vector with room for more ids is not kept; 2 GB.
const MAX_IDS: usize = 1 << 29;

/// The memory of a vector with room for more ids is the system's while it is not in use; 64 MB.
const MAX_HELD: usize = 1 << 24;

/// With room for at least so many, a vector is a long one.
const LONG: usize = 1 << 16;

/// The ids of a text, in memory that goes back to where it came from.
#[derive(Debug, Default)]
pub struct Ids {
    ids: Vec<u32>,
    from: Option<Arc<BufferPool>>,
}

impl Ids {
    /// None yet, of a text of so many bytes.
    pub fn new(buffers: &Arc<BufferPool>, bytes: usize) -> Self {
        Ids {
            ids: match bytes < LONG {
                true => Vec::new(),
                false => buffers.long.take().map(|ids| *ids).unwrap_or_default(),
            },
            from: Some(Arc::clone(buffers)),
        }
    }

    pub fn as_mut_vec(&mut self) -> &mut Vec<u32> {
        &mut self.ids
    }

    /// The same without much memory behind them, for whoever keeps them long.
    pub fn trimmed(mut self) -> Self {
        let room = self.ids.capacity();
        if room < LONG {
            self.ids.shrink_to_fit();
        } else if room / 2 > self.ids.len() {
            return Ids {
                ids: self.ids.clone(),
                from: self.from.clone(),
            };
        }
        // Else: room that was never written to takes no memory.
        self
    }
}

impl From<Vec<u32>> for Ids {
    fn from(ids: Vec<u32>) -> Self {
        Ids { ids, from: None }
    }
}

impl Deref for Ids {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.ids
    }
}

impl Drop for Ids {
    fn drop(&mut self) {
        if let Some(buffers) = self.from.take() {
            buffers.put_long(std::mem::take(&mut self.ids));
        }
    }
}

/// Vectors that are not in use.
#[derive(Debug, Default)]
pub struct BufferPool {
    /// Of a whole text.
    long: Slot<Vec<u32>>,
    /// Of chunks.
    short: Pool<Vec<u32>>,
}

impl BufferPool {
    fn put_long(&self, mut ids: Vec<u32>) {
        let room = ids.capacity();
        if !(LONG..=MAX_IDS).contains(&room) {
            return;
        }
        ids.clear();
        if room > MAX_HELD {
            large_pages::free_lazily(ids.spare_capacity_mut());
        }
        let longer = match self.long.take() {
            Some(kept) if kept.capacity() >= room => kept,
            _ => Box::new(ids),
        };
        // Where another thread's has come meanwhile, that one stays.
        drop(self.long.put(longer));
    }

    /// An empty vector for the ids of a chunk.
    pub(crate) fn take_chunk(&self) -> Vec<u32> {
        self.short.take().map(|ids| *ids).unwrap_or_default()
    }

    /// Takes the vector of a chunk back.
    pub(crate) fn put_chunk(&self, mut ids: Vec<u32>) {
        if ids.capacity() > LONG {
            return;
        }
        ids.clear();
        self.short.put(Box::new(ids));
    }

    /// The memory that is kept, in bytes.
    pub fn bytes(&self) -> usize {
        let mut room = 0;
        self.short.each(|ids| room += ids.capacity());
        if let Some(ids) = self.long.take() {
            room += ids.capacity();
            drop(self.long.put(ids));
        }
        room * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock_free::kept;

    #[test]
    fn a_long_vector_comes_back_and_a_short_text_does_not_get_it() {
        let buffers = Arc::<BufferPool>::default();
        for (room, kept) in [
            (LONG - 1, 0),
            (MAX_IDS + 1, 0),
            (2 * LONG, 2 * LONG),
            (LONG, 2 * LONG),
        ] {
            let mut ids = Ids::new(&buffers, 0);
            ids.as_mut_vec().reserve_exact(room);
            ids.as_mut_vec().push(7);
            drop(ids);
            assert_eq!(buffers.bytes(), 4 * kept);
        }
        assert_eq!(Ids::new(&buffers, LONG - 1).ids.capacity(), 0);
        let again = Ids::new(&buffers, LONG);
        assert_eq!((again.len(), again.ids.capacity()), (0, 2 * LONG));
        assert_eq!(Ids::new(&buffers, LONG).ids.capacity(), 0);
        drop(Ids::from(vec![7; 3 * LONG]));
        assert_eq!(buffers.bytes(), 0);
    }

    #[test]
    fn nobody_keeps_much_more_room_than_ids() {
        let buffers = Arc::<BufferPool>::default();
        for (room, count, kept) in [
            (100, 10, 10),
            (4 * LONG, 10, 10),
            (4 * LONG, 3 * LONG, 4 * LONG),
        ] {
            let mut ids = Ids::new(&buffers, 0);
            ids.as_mut_vec().reserve_exact(room);
            ids.as_mut_vec().extend(0..count as u32);
            let ids = ids.trimmed();
            assert_eq!((ids.len(), ids.ids.capacity()), (count, kept));
        }
    }

    #[test]
    fn short_ones_are_few() {
        let buffers = BufferPool::default();
        for _ in 0..2 * kept() {
            buffers.put_chunk(Vec::with_capacity(100));
        }
        assert_eq!(buffers.bytes(), kept() * 400);
        assert_eq!(buffers.take_chunk().capacity(), 100);
        buffers.put_chunk(Vec::with_capacity(LONG + 1));
        assert_eq!(buffers.bytes(), (kept() - 1) * 400);
    }
}
