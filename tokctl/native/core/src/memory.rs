//! Behaviour when the system has no more memory.
//!
//! Rust aborts the process when an allocation fails, unless the caller checks for failure. Where
//! input decides how much is allocated at once, [`reserve`] checks, and the work ends with
//! [`Error::OutOfMemory`]. All other allocations are many and small, or grow bit by bit.
//!
//! For those there is an **overdraft**: reserved address space that is never touched. When an
//! allocation fails for the first time, the allocator returns the overdraft to the system and tries
//! again. From then on [`is_exhausted`] is true, which whoever polls for an interrupt sees. So the
//! work ends with the error before the overdraft is used up, and [`recover`] reserves a new
//! overdraft.
//!
//! If even that is not enough, a process that runs a single command has [`last_words`].
#![allow(unsafe_code)]

use std::cell::Cell;
use std::hint::black_box;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::error::{Error, Result};

/// Size of the overdraft in bytes: more than all threads allocate between two polls, apart from
/// what [`reserve`] checks.
pub const OVERDRAFT: usize = 64 << 20;

/// Minimum size in bytes that [`check`] tries to allocate. Less comes from the overdraft.
const LEAST: usize = 1 << 20;

static OVERDRAFT_AT: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static EXHAUSTED: AtomicBool = AtomicBool::new(false);
static EXHAUSTIONS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread checks for failure of its current allocation.
    static ASKS: Cell<bool> = const { Cell::new(false) };
}

/// Return whether an allocation failed without a check. All work should then end soon.
#[inline]
pub fn is_exhausted() -> bool {
    EXHAUSTED.load(Ordering::Relaxed)
}

/// Return the number of such failures. Stopped work compares it with an earlier value to learn why
/// it was stopped.
pub fn exhaustions() -> usize {
    EXHAUSTIONS.load(Ordering::Relaxed)
}

/// Reserve the overdraft again, before and after work. Return false if there is no memory for it.
pub fn recover() -> bool {
    if OVERDRAFT_AT.load(Ordering::Relaxed).is_null() && cfg!(target_os = "linux") {
        let new = mapping::new(OVERDRAFT);
        let empty =
            OVERDRAFT_AT.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Relaxed);
        if new.is_null() {
            return false;
        }
        if empty.is_err() {
            mapping::free(new, OVERDRAFT);
        }
    }
    EXHAUSTED.store(false, Ordering::Relaxed);
    true
}

/// Return the result of an allocation; if it fails, return the overdraft to the system and try
/// again.
#[inline(always)]
pub(crate) fn allocated(attempt: impl Fn() -> *mut u8) -> *mut u8 {
    let memory = attempt();
    match memory.is_null() {
        false => memory,
        true => failed(&attempt),
    }
}

#[cold]
fn failed(attempt: &dyn Fn() -> *mut u8) -> *mut u8 {
    if ASKS.get() {
        return null_mut();
    }
    let overdraft = OVERDRAFT_AT.swap(null_mut(), Ordering::AcqRel);
    EXHAUSTED.store(true, Ordering::Relaxed);
    EXHAUSTIONS.fetch_add(1, Ordering::Relaxed);
    if !overdraft.is_null() {
        mapping::free(overdraft, OVERDRAFT);
    }
    // Tried even without an overdraft, since another thread may have returned it just now.
    let memory = attempt();
    if memory.is_null() {
        mapping::say_last_words();
    }
    memory
}

/// Reserve space for `more` values, in a vector whose length depends on input. Return
/// [`Error::OutOfMemory`] if there is no memory.
#[inline]
pub fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    if values.capacity() - values.len() >= more {
        return Ok(());
    }
    reserve_slowly(values, more)
}

#[cold]
fn reserve_slowly<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    asking(|| {
        let twice = values.try_reserve(more);
        // Grow by less than twice, but by a share of the length: otherwise each step would move the
        // vector.
        twice.or_else(|_| values.try_reserve_exact(more.max(values.len() / 8)))
    })
}

/// Like [`reserve`], for exactly `more` values.
pub fn reserve_exact<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    asking(|| values.try_reserve_exact(more))
}

/// Return an empty vector with space for `count` values.
pub fn with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    reserve_exact(&mut values, count)?;
    Ok(values)
}

/// Return an error if `bytes` bytes can't be allocated. For work that allocates in many places, by
/// the size of its input.
pub fn check(bytes: usize) -> Result<()> {
    if bytes < LEAST {
        return Ok(());
    }
    black_box(with_capacity::<u8>(bytes)?);
    Ok(())
}

/// Allocate `bytes` bytes and free them. The system's allocator then has memory for the next
/// request of this size, which may come from code that can't return the overdraft.
pub fn make_room(bytes: usize) {
    drop(black_box(Vec::<u8>::with_capacity(bytes)));
}

fn asking<E>(allocate: impl FnOnce() -> std::result::Result<(), E>) -> Result<()> {
    let asked = ASKS.replace(true);
    let result = allocate();
    ASKS.set(asked);
    result.map_err(|_| Error::OutOfMemory)
}

/// Define how a process ends that has no memory at all: it reports that memory has run out, deletes
/// the files `names` and exits with code 2.
///
/// Before this call it aborts, as Rust does. With no names the call allocates nothing.
pub fn last_words(names: Vec<std::ffi::CString>) {
    mapping::set_last_words(names);
}

#[cfg(target_os = "linux")]
mod mapping {
    use std::ffi::CString;
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

    /// Message in the form of `tokctl.core.errors.OutOfMemoryError`.
    const MESSAGE: &str = "error: out of memory\nhint: give less text at a time\n";

    /// Process that may end with the message: a forked child has files of its own.
    static PROCESS: AtomicI32 = AtomicI32::new(0);
    static NAMES: AtomicPtr<Vec<CString>> = AtomicPtr::new(null_mut());

    /// Map `size` bytes; null if the system has no more memory.
    pub fn new(size: usize) -> *mut u8 {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: maps new memory at any address.
        let start = unsafe { libc::mmap(null_mut(), size, protection, flags, -1, 0) };
        match start == libc::MAP_FAILED {
            true => null_mut(),
            false => start.cast(),
        }
    }

    /// Unmap memory from [`new`] that was never used.
    pub fn free(start: *mut u8, size: usize) {
        // SAFETY: the caller swapped the pointer out and owns it alone; no reference points into
        // the memory.
        unsafe { libc::munmap(start.cast(), size) };
    }

    pub fn set_last_words(names: Vec<CString>) {
        // SAFETY: only returns a number.
        PROCESS.store(unsafe { libc::getpid() }, Ordering::Release);
        let new = match names.is_empty() {
            true => null_mut(),
            false => Box::into_raw(Box::new(names)),
        };
        // The old names are never freed: another thread may be reading them. They are few and
        // small.
        NAMES.swap(new, Ordering::AcqRel);
    }

    /// Report that memory has run out and end the process, if [`super::last_words`] was called in
    /// it.
    pub fn say_last_words() {
        // SAFETY: the calls allocate nothing and use only memory that exists; the names are null,
        // or came from a box that is never freed.
        unsafe {
            if libc::getpid() != PROCESS.load(Ordering::Acquire) {
                return;
            }
            let names = NAMES.load(Ordering::Acquire).as_ref();
            for name in names.into_iter().flatten() {
                libc::unlink(name.as_ptr());
            }
            libc::write(2, MESSAGE.as_ptr().cast(), MESSAGE.len());
            libc::_exit(2);
        }
    }
}

/// Stand-in for other systems, which have no overdraft.
#[cfg(not(target_os = "linux"))]
mod mapping {
    pub fn new(_: usize) -> *mut u8 {
        std::ptr::null_mut()
    }

    pub fn free(_: *mut u8, _: usize) {}

    pub fn set_last_words(_: Vec<std::ffi::CString>) {}

    pub fn say_last_words() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_an_error() {
        let mut values: Vec<u64> = vec![1];
        for more in [usize::MAX, usize::MAX / 16, 1 << 50] {
            assert_eq!(reserve(&mut values, more), Err(Error::OutOfMemory));
            assert_eq!(reserve_exact(&mut values, more), Err(Error::OutOfMemory));
            assert_eq!(check(more), Err(Error::OutOfMemory));
            assert!(with_capacity::<u64>(more).is_err());
        }
        assert_eq!(reserve(&mut values, 1000), Ok(()));
        assert!(values == [1] && values.capacity() > 1000);
        assert_eq!((check(1 << 22), is_exhausted()), (Ok(()), false));
    }
}
