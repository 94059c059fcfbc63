//! Values shared by threads without locks.
//!
//! A process may fork while another of its threads works. The child gets a copy of every lock held
//! at that moment; no thread releases the copy, so the child would wait forever. An encoder
//! therefore keeps state between calls in slots that are swapped as one pointer. In the child, a
//! slot holds its old value or nothing, never something half done.
#![allow(unsafe_code)]

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;

/// Slot for one value.
pub struct Slot<T> {
    /// Null, or a pointer from `Box::into_raw`; the thread that swaps the pointer out owns the
    /// value.
    place: AtomicPtr<T>,
    /// Marker that makes the slot `Send` and `Sync` only if the boxed value is.
    owned: PhantomData<Box<T>>,
}

impl<T: Send> Slot<T> {
    /// Take the value out, unless the slot is empty or another thread took the value first.
    pub fn take(&self) -> Option<Box<T>> {
        // Loaded first: a swap would take the cache line from other threads.
        if self.place.load(Ordering::Relaxed).is_null() {
            return None;
        }
        let taken = self.place.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: a pointer that is not null came from a box (`put`), and the swap guarantees that
        // no other thread gets it.
        (!taken.is_null()).then(|| unsafe { Box::from_raw(taken) })
    }

    /// Put a value into the slot, or give it back if the slot is not empty.
    pub fn put(&self, value: Box<T>) -> Option<Box<T>> {
        let new = Box::into_raw(value);
        let (free, done) = (ptr::null_mut(), Ordering::Release);
        let put = (self.place).compare_exchange(free, new, done, Ordering::Relaxed);
        // SAFETY: `new` came from a box, and was not stored in the slot.
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
            // SAFETY: the pointer came from a box, and no other thread can reach the slot any more.
            drop(unsafe { Box::from_raw(last) });
        }
    }
}

impl<T> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slot")
    }
}

/// Return the number of values that a [`Pool`] keeps: one per processor, but at least 64 for
/// threads that wait.
pub(crate) fn kept() -> usize {
    static KEPT: Lazy<usize> = Lazy::new(|| {
        thread::available_parallelism()
            .map_or(1, usize::from)
            .max(64)
    });
    *KEPT
}

/// Values that no thread uses at the moment.
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

    /// Keep a value, or drop it if the pool is full.
    pub fn put(&self, mut value: Box<T>) {
        for slot in &*self.0 {
            match slot.put(value) {
                None => return,
                Some(back) => value = back,
            }
        }
    }

    /// Call `look` with each value in the pool. Other threads can't take a value during its call.
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
    /// Take a value, or create one. The value returns to the pool when the guard is dropped, unless
    /// the thread panics: the value may then be half changed.
    pub fn acquire(&self, new: impl FnOnce() -> T) -> PoolGuard<'_, T> {
        PoolGuard {
            value: ManuallyDrop::new(self.take().unwrap_or_else(|| Box::new(new()))),
            pool: self,
        }
    }
}

/// Value on loan from a pool: see [`Pool::acquire`].
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
        // SAFETY: the value is taken out only by this method, and is not used after the drop.
        let value = unsafe { ManuallyDrop::take(&mut self.value) };
        if !std::thread::panicking() {
            self.pool.put(value);
        }
    }
}

/// Value that is created on first use.
///
/// Threads that ask at the same time may each create one; the values must be alike, and one of them
/// stays.
pub(crate) struct Once<T>(Slot<T>);

impl<T: Send + Sync> Once<T> {
    pub const fn new() -> Self {
        Once(Slot {
            place: AtomicPtr::new(ptr::null_mut()),
            owned: PhantomData,
        })
    }

    /// Return the value, and create it with `make` on first use.
    #[inline]
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        match self.get_or_try_init(|| Ok::<T, Infallible>(make())) {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    /// Like [`Self::get_or_init`]; if `make` fails, the next call tries again.
    #[inline]
    pub fn get_or_try_init<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        let place = self.0.place.load(Ordering::Acquire);
        // SAFETY: a pointer that is not null came from a box, and is never taken out before the
        // slot is dropped. Borrows of the value borrow `self`, so they can't outlive the slot.
        match unsafe { place.as_ref() } {
            Some(value) => Ok(value),
            None => Ok(self.init(Box::new(make()?))),
        }
    }

    #[cold]
    fn init(&self, value: Box<T>) -> &T {
        drop(self.0.put(value));
        // SAFETY: as above; now the slot holds a value, this one or that of a faster thread.
        unsafe { &*self.0.place.load(Ordering::Acquire) }
    }
}

/// The copy creates its own value on first use.
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

/// Like [`Once`], for a static, with the function that creates the value.
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
