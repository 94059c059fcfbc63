//! A pool of id vectors: the first touch of fresh memory costs more than computing the ids that are
//! written there.

use std::ops::Deref;
use std::sync::Arc;

use crate::large_pages;
use crate::lock_free::{Pool, Slot};

/// Capacity in ids above which an unused vector's memory is returned to the system lazily: 64 MB of
/// 32-bit ids.
const MAX_HELD: usize = 1 << 24;

/// Length in ids above which a vector is not kept, on systems that can't take back unused memory.
const MAX_IDS: Option<usize> = match cfg!(target_os = "linux") {
    true => None,
    false => Some(1 << 29),
};

/// Capacity in ids from which a vector counts as long.
const LONG: usize = 1 << 16;

/// An integer type that stores an id: 16 or 32 bits.
pub trait IdNumber: Copy + Into<u32> + Send + Sync + 'static {
    /// Append `ids` up to the first that does not fit, and return the index of that id as the
    /// error.
    fn append(ids: &[u32], out: &mut Vec<Self>) -> Result<(), usize>;

    /// Return the vector itself, if the encoder can write its 32-bit ids into it directly.
    fn as_encoded(out: &mut Vec<Self>) -> Option<&mut Vec<u32>>;

    /// Return the pool's slot for a long vector of this type.
    fn kept(buffers: &BufferPool) -> &Slot<Vec<Self>>;
}

impl IdNumber for u32 {
    fn append(ids: &[u32], out: &mut Vec<u32>) -> Result<(), usize> {
        out.extend_from_slice(ids);
        Ok(())
    }

    fn as_encoded(out: &mut Vec<u32>) -> Option<&mut Vec<u32>> {
        Some(out)
    }

    fn kept(buffers: &BufferPool) -> &Slot<Vec<u32>> {
        &buffers.long
    }
}

impl IdNumber for u16 {
    fn append(ids: &[u32], out: &mut Vec<u16>) -> Result<(), usize> {
        let first = out.len();
        out.extend(ids.iter().map(|&id| id as u16));
        let fits = |&id: &u32| id <= u16::MAX.into();
        // All ids are tested at once: no branch depends on a single id.
        if ids.iter().fold(true, |all, id| all & fits(id)) {
            return Ok(());
        }
        let place = ids.iter().take_while(|id| fits(id)).count();
        out.truncate(first + place);
        Err(place)
    }

    fn as_encoded(_: &mut Vec<u16>) -> Option<&mut Vec<u32>> {
        None
    }

    fn kept(buffers: &BufferPool) -> &Slot<Vec<u16>> {
        &buffers.long_16
    }
}

/// The ids of a text, in a buffer that returns to its pool when dropped.
#[derive(Debug)]
pub struct Ids<N: IdNumber = u32> {
    ids: Vec<N>,
    from: Option<Arc<BufferPool>>,
}

impl<N: IdNumber> Default for Ids<N> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<N: IdNumber> Ids<N> {
    /// Make an empty list of ids for a text of `bytes` bytes.
    pub fn new(buffers: &Arc<BufferPool>, bytes: usize) -> Self {
        Ids {
            ids: match bytes < LONG {
                true => Vec::new(),
                false => N::kept(buffers).take().map(|ids| *ids).unwrap_or_default(),
            },
            from: Some(Arc::clone(buffers)),
        }
    }

    pub fn as_mut_vec(&mut self) -> &mut Vec<N> {
        &mut self.ids
    }

    /// Return the ids with little unused memory, for callers that keep them long.
    pub fn trimmed(mut self) -> Self {
        let room = self.ids.capacity();
        if room < LONG {
            self.ids.shrink_to_fit();
        } else if room / 4 > self.ids.len() {
            return Ids {
                ids: self.ids.clone(),
                from: self.from.clone(),
            };
        }
        // Otherwise keep the buffer: pages that were never written take no memory.
        self
    }
}

impl<N: IdNumber> From<Vec<N>> for Ids<N> {
    fn from(ids: Vec<N>) -> Self {
        Ids { ids, from: None }
    }
}

impl<N: IdNumber> Deref for Ids<N> {
    type Target = [N];

    fn deref(&self) -> &[N] {
        &self.ids
    }
}

impl<N: IdNumber> Drop for Ids<N> {
    fn drop(&mut self) {
        if let Some(buffers) = self.from.take() {
            buffers.put_long(std::mem::take(&mut self.ids));
        }
    }
}

/// Id vectors that are not in use.
#[derive(Debug, Default)]
pub struct BufferPool {
    /// A vector for the ids of a whole text.
    long: Slot<Vec<u32>>,
    /// A vector for the 16-bit ids of a whole text.
    long_16: Slot<Vec<u16>>,
    /// Vectors for the ids of chunks.
    short: Pool<Vec<u32>>,
}

impl BufferPool {
    fn put_long<N: IdNumber>(&self, mut ids: Vec<N>) {
        let room = ids.capacity();
        // Pages that were never written take no memory, so the length is limited, not the capacity.
        if room < LONG || MAX_IDS.is_some_and(|most| ids.len() > most) {
            return;
        }
        ids.clear();
        if room > MAX_HELD {
            large_pages::free_lazily(ids.spare_capacity_mut());
        }
        let kept = N::kept(self);
        let longer = match kept.take() {
            Some(kept) if kept.capacity() >= room => kept,
            _ => Box::new(ids),
        };
        // If another thread put a vector here meanwhile, that vector stays.
        drop(kept.put(longer));
    }

    /// Take an empty vector for the ids of a chunk.
    pub(crate) fn take_chunk(&self) -> Vec<u32> {
        self.short.take().map(|ids| *ids).unwrap_or_default()
    }

    /// Take back the vector of a chunk.
    pub(crate) fn put_chunk(&self, mut ids: Vec<u32>) {
        if ids.capacity() > LONG {
            return;
        }
        ids.clear();
        self.short.put(Box::new(ids));
    }

    /// Return the size of the kept vectors in bytes.
    pub fn bytes(&self) -> usize {
        let mut room = 0;
        self.short.each(|ids| room += ids.capacity());
        room * size_of::<u32>() + self.long_bytes::<u32>() + self.long_bytes::<u16>()
    }

    fn long_bytes<N: IdNumber>(&self) -> usize {
        let Some(ids) = N::kept(self).take() else {
            return 0;
        };
        let bytes = ids.capacity() * size_of::<N>();
        drop(N::kept(self).put(ids));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock_free::kept;

    #[test]
    fn a_long_vector_comes_back_and_a_short_text_does_not_get_it() {
        comes_back::<u32>();
        comes_back::<u16>();
    }

    fn comes_back<N: IdNumber>() {
        let buffers = Arc::<BufferPool>::default();
        for (room, kept) in [(LONG - 1, 0), (2 * LONG, 2 * LONG), (LONG, 2 * LONG)] {
            let mut ids = Ids::<N>::new(&buffers, 0);
            ids.as_mut_vec().reserve_exact(room);
            N::append(&[7], ids.as_mut_vec()).unwrap();
            drop(ids);
            assert_eq!(buffers.bytes(), size_of::<N>() * kept);
        }
        assert_eq!(Ids::<N>::new(&buffers, LONG - 1).ids.capacity(), 0);
        let again = Ids::<N>::new(&buffers, LONG);
        assert_eq!((again.len(), again.ids.capacity()), (0, 2 * LONG));
        assert_eq!(Ids::<N>::new(&buffers, LONG).ids.capacity(), 0);
        drop(Ids::from(Vec::<N>::with_capacity(3 * LONG)));
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
    fn what_does_not_fit_is_not_appended() {
        let mut ids = vec![9u16];
        assert_eq!(u16::append(&[1, 65_535], &mut ids), Ok(()));
        assert_eq!(u16::append(&[2, 65_536, 3], &mut ids), Err(1));
        assert_eq!(u16::append(&[u32::MAX], &mut ids), Err(0));
        assert_eq!(ids, [9, 1, 65_535, 2]);
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
