//! What threads share without locks.
//!
//! A process may fork while another of its threads works. Of a lock that is held at that moment the
//! child gets a copy that no thread releases, and would wait for it forever. So what an encoder
//! remembers from call to call lies in places that are swapped as one pointer: in the child there
//! is what was there, or nothing, never something half done.
#![allow(unsafe_code)]

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;

/// A place for one value.
pub struct Slot<T> {
    /// Null, or what `Box::into_raw` gave; the thread that swaps it out owns it.
    place: AtomicPtr<T>,
    /// As safe to send and to share as the value.
    owned: PhantomData<Box<T>>,
}

impl<T: Send> Slot<T> {
    /// The value, unless another thread took it first.
    pub fn take(&self) -> Option<Box<T>> {
        // A look first: a swap would take the cache line from other threads.
        if self.place.load(Ordering::Relaxed).is_null() {
            return None;
        }
        let taken = self.place.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: a pointer that is not null came from a box (`put`), and the swap has made sure
        // that no other thread gets it.
        (!taken.is_null()).then(|| unsafe { Box::from_raw(taken) })
    }

    /// Puts it here, or gives it back where something is already.
    pub fn put(&self, value: Box<T>) -> Option<Box<T>> {
        let new = Box::into_raw(value);
        let (free, done) = (ptr::null_mut(), Ordering::Release);
        let put = (self.place).compare_exchange(free, new, done, Ordering::Relaxed);
        // SAFETY: `new` came from a box, and did not get into the place.
        put.is_err().then(|| unsafe { Box::from_raw(new) })
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Slot {
            place: AtomicPtr::new(ptr::null_mut()),
            owned: PhantomData,
        }
    }
}

impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        let last = *self.place.get_mut();
        if !last.is_null() {
            // SAFETY: it came from a box, and no other thread can reach the place any more.
            drop(unsafe { Box::from_raw(last) });
        }
    }
}

impl<T> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slot")
    }
}

/// How many values a [`Pool`] keeps: one for each processor, and more for threads that wait.
pub(crate) fn kept() -> usize {
    static KEPT: Lazy<usize> = Lazy::new(|| {
        thread::available_parallelism()
            .map_or(1, usize::from)
            .max(64)
    });
    *KEPT
}

/// Values that are not in use at the moment: as many as threads have at hand.
#[derive(Debug)]
pub(crate) struct Pool<T>(Box<[Slot<T>]>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool((0..kept()).map(|_| Slot::default()).collect())
    }
}

impl<T: Send> Pool<T> {
    pub fn take(&self) -> Option<Box<T>> {
        self.0.iter().find_map(Slot::take)
    }

    /// Keeps it, or drops it where there are enough.
    pub fn put(&self, mut value: Box<T>) {
        for slot in &*self.0 {
            match slot.put(value) {
                None => return,
                Some(back) => value = back,
            }
        }
    }

    /// Looks at each value. One that is looked at is not there for others meanwhile.
    pub fn each(&self, mut look: impl FnMut(&T)) {
        for slot in &*self.0 {
            if let Some(value) = slot.take() {
                look(&value);
                if let Some(back) = slot.put(value) {
                    self.put(back);
                }
            }
        }
    }
}

impl<T: Send> Pool<T> {
    /// One of the values, or a new one, which comes back when it is dropped.
    pub fn acquire(&self, new: impl FnOnce() -> T) -> PoolGuard<'_, T> {
        PoolGuard {
            value: ManuallyDrop::new(self.take().unwrap_or_else(|| Box::new(new()))),
            pool: self,
        }
    }
}

/// See [`Pool::acquire`].
pub(crate) struct PoolGuard<'p, T: Send> {
    value: ManuallyDrop<Box<T>>,
    pool: &'p Pool<T>,
}

impl<T: Send> Deref for PoolGuard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Send> DerefMut for PoolGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Send> Drop for PoolGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: it is taken here alone, and what is dropped is not used afterwards.
        self.pool
            .put(unsafe { ManuallyDrop::take(&mut self.value) });
    }
}

/// A value that is made on its first use. Threads that ask at the same time may each make
/// it; one of the values, which are alike, stays.
pub(crate) struct Once<T>(Slot<T>);

impl<T: Send + Sync> Once<T> {
    pub const fn new() -> Self {
        Once(Slot {
            place: AtomicPtr::new(ptr::null_mut()),
            owned: PhantomData,
        })
    }

    #[inline]
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        match self.get_or_try_init(|| Ok::<T, Infallible>(make())) {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    /// The same; where `make` fails, the next call makes it.
    #[inline]
    pub fn get_or_try_init<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        let place = self.0.place.load(Ordering::Acquire);
        // SAFETY: what is not null came from a box and is never taken out again before the place
        // itself is dropped, which borrows from it outlast as little as they do its owner.
        match unsafe { place.as_ref() } {
            Some(value) => Ok(value),
            None => Ok(self.init(Box::new(make()?))),
        }
    }

    #[cold]
    fn init(&self, value: Box<T>) -> &T {
        drop(self.0.put(value));
        // SAFETY: as above; now one is there, this or that of a faster thread.
        unsafe { &*self.0.place.load(Ordering::Acquire) }
    }
}

/// The copy makes its own value on first use.
impl<T> Clone for Once<T> {
    fn clone(&self) -> Self {
        Once::default()
    }
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Once(Slot::default())
    }
}

impl<T> fmt::Debug for Once<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Once")
    }
}

/// The same for a static, with how it is made.
pub(crate) struct Lazy<T> {
    once: Once<T>,
    make: fn() -> T,
}

impl<T: Send + Sync> Lazy<T> {
    pub const fn new(make: fn() -> T) -> Self {
        Lazy {
            once: Once::new(),
            make,
        }
    }
}

impl<T: Send + Sync> Deref for Lazy<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.once.get_or_init(self.make)
    }
}

#[cfg(test)]
#[path = "lock_free_tests.rs"]
mod tests;
