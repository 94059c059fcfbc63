//! What happens where the system has no more memory.
//!
//! Rust ends the process where an allocation fails, unless whoever allocates asks whether it did.
//! Where input decides how much is allocated at a time, [`reserve`] asks, and the work ends with
//! [`Error::OutOfMemory`]. All other allocations are many and small, or grow bit by bit. For them there
//! is an **overdraft**: address space that is kept and never touched. The allocator gives it back to
//! the system when an allocation fails for the first time, and tries again. From then on
//! [`is_exhausted`] says so to whoever polls for an interrupt, and the work ends in the same way before
//! the overdraft is used up; [`recover`] fills it up for the next.
//!
//! Where even that does not suffice, a process that is nothing but a command has [`last_words`].
#![allow(unsafe_code)]

use std::cell::Cell;
use std::hint::black_box;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::error::{Error, Result};

/// More than all threads allocate between two polls, but for what [`reserve`] asks for.
pub const OVERDRAFT: usize = 64 << 20;

/// Less than this is not asked for: the overdraft has it.
const LEAST: usize = 1 << 20;

static OVERDRAFT_AT: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static EXHAUSTED: AtomicBool = AtomicBool::new(false);
static EXHAUSTIONS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Does this thread ask whether its allocation failed?
    static ASKS: Cell<bool> = const { Cell::new(false) };
}

/// Has an allocation failed that nobody asked about? Then all work should end soon.
#[inline]
pub fn is_exhausted() -> bool {
    EXHAUSTED.load(Ordering::Relaxed)
}

/// How often that has happened: work that was stopped asks whether that was why.
pub fn exhaustions() -> usize {
    EXHAUSTIONS.load(Ordering::Relaxed)
}

/// Fills the overdraft up, before work and after it. False where there is no memory for it.
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

/// What an allocation gives, or gives when the overdraft has been given back.
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
    // Without an overdraft another thread may have given it back just now.
    let memory = attempt();
    if memory.is_null() {
        mapping::say_last_words();
    }
    memory
}

/// Makes room for so many values, in a vector that input makes long.
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
        // Less than twice as much, and yet a share of it: else it would be moved at each step.
        twice.or_else(|_| values.try_reserve_exact(more.max(values.len() / 8)))
    })
}

/// As [`reserve`], for exactly so many values.
pub fn reserve_exact<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    asking(|| values.try_reserve_exact(more))
}

/// An empty vector with room for so many values.
pub fn with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    reserve_exact(&mut values, count)?;
    Ok(values)
}

/// Can so many bytes be had? For what allocates in many places, by the size of its input.
pub fn check(bytes: usize) -> Result<()> {
    if bytes < LEAST {
        return Ok(());
    }
    black_box(with_capacity::<u8>(bytes)?);
    Ok(())
}

/// Allocates so many bytes and frees them: the system's allocator has them for the next that asks for
/// as many, which may be one that can't give the overdraft back.
pub fn make_room(bytes: usize) {
    drop(black_box(Vec::<u8>::with_capacity(bytes)));
}

fn asking<E>(allocate: impl FnOnce() -> std::result::Result<(), E>) -> Result<()> {
    let asked = ASKS.replace(true);
    let result = allocate();
    ASKS.set(asked);
    result.map_err(|_| Error::OutOfMemory)
}

/// From now on a process that can't go on at all says that memory has run out, deletes the files
/// `names` and ends with exit code 2; before, it aborts, as Rust does. Without names it takes no memory.
pub fn last_words(names: Vec<std::ffi::CString>) {
    mapping::set_last_words(names);
}

#[cfg(target_os = "linux")]
mod mapping {
    use std::ffi::CString;
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

    /// As `tokctl.core.errors.OutOfMemoryError` is reported.
    const MESSAGE: &str = "error: out of memory\nhint: give it less text at a time\n";

    /// The process that says the last words: a child that was forked has files of its own.
    static PROCESS: AtomicI32 = AtomicI32::new(0);
    static NAMES: AtomicPtr<Vec<CString>> = AtomicPtr::new(null_mut());

    /// Null where there is no more.
    pub fn new(size: usize) -> *mut u8 {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory, anywhere.
        let start = unsafe { libc::mmap(null_mut(), size, protection, flags, -1, 0) };
        match start == libc::MAP_FAILED {
            true => null_mut(),
            false => start.cast(),
        }
    }

    /// Takes back what [`new`] gave, which nobody ever used.
    pub fn free(start: *mut u8, size: usize) {
        // SAFETY: whoever swapped the pointer has it alone, and there is no reference into it.
        unsafe { libc::munmap(start.cast(), size) };
    }

    pub fn set_last_words(names: Vec<CString>) {
        // SAFETY: asks a number.
        PROCESS.store(unsafe { libc::getpid() }, Ordering::Release);
        let new = match names.is_empty() {
            true => null_mut(),
            false => Box::into_raw(Box::new(names)),
        };
        // The old ones stay: another thread may be at them. They are few, and small.
        NAMES.swap(new, Ordering::AcqRel);
    }

    pub fn say_last_words() {
        // SAFETY: calls that allocate nothing, with memory that is there; the names are null, or what
        // was made of a box and is never freed.
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

/// Elsewhere there is no overdraft.
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
