//! Large pages for memory that is about to be touched.
//!
//! The first touch of a page costs far more than writing to it. A table spread over thousands of
//! small pages costs a walk through the page tables at nearly every look-up. Touching 250 small
//! pages takes 550 µs, one large page 50 µs.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::mem::MaybeUninit;

use crate::memory::allocated;

/// Bytes of a large page and of a small one on most systems. On other systems only the gain is
/// lost.
const LARGE: usize = 2 << 20;
const SMALL: usize = 4 << 10;

/// Maximum bytes of large pages for memory that is written only once. Large pages are seldom memory
/// that was in use just before; in a virtual machine the host may first have to find it, which
/// takes longer than they save.
const MOST_ONCE: usize = 16 << 20;

/// Minimum size in bytes that is worth a large page.
const LEAST: usize = LARGE / 2;

/// Return a capacity for `count` values: whole large pages, if they pay, minus a small page.
///
/// No vector that grows by itself reaches such a size, so the size tells [`Allocator`] to use large
/// pages.
fn whole_pages<T>(count: usize) -> usize {
    let bytes = count.saturating_mul(size_of::<T>());
    match bytes.saturating_add(SMALL).checked_next_multiple_of(LARGE) {
        Some(pages) if bytes >= LEAST => (pages - SMALL) / size_of::<T>(),
        _ => count,
    }
}

/// Return an empty vector with capacity for `count` values, all of which will be written.
pub fn with_room<T>(count: usize) -> Vec<T> {
    Vec::with_capacity(whole_pages::<T>(count))
}

/// Return a table of `size` values, all of which will be used.
pub(crate) fn table<T: Clone>(size: usize, value: T) -> Vec<T> {
    let mut table = with_room(size);
    ask(table.spare_capacity_mut());
    table.resize(size, value);
    table
}

/// Reserve space for `next` ids, and at once for the ids of the `rest` of a text, of which `done`
/// bytes gave `ids` ids. Memory that stays unused is never touched.
#[cold]
pub fn reserve_projected<N>(
    out: &mut Vec<N>,
    next: usize,
    (done, rest): (usize, usize),
    ids: usize,
) {
    if done == 0 || rest == 0 {
        return out.reserve(next);
    }
    let more = (ids as u128 * rest as u128 / done as u128) as usize;
    // Grow by at least half, and by an id per two bytes, so that a text whose end is unlike its
    // start is not copied: a comment before code has half as many ids per byte.
    let more = more.saturating_add(more / 2);
    let more = more.max(rest / 2).max(out.len());
    let mut room = out.len().saturating_add(next).saturating_add(more);
    // The ids of a short text should not keep a large page that is mostly empty.
    if room.saturating_mul(size_of::<N>()) >= LARGE / 4 * 3 {
        room = whole_pages::<N>(room);
    }
    out.reserve_exact(room - out.len());
}

/// Allocator of all native code of tokctl: the system's, except for sizes from [`whole_pages`].
///
/// Such an allocation is a mapping of its own that starts at a large page boundary. A normal
/// allocation starts anywhere in a large page, and the system makes no large pages at its two ends.
#[derive(Debug)]
pub struct Allocator;

fn is_mapped(layout: Layout) -> bool {
    cfg!(target_os = "linux") && layout.size() % LARGE == LARGE - SMALL && layout.align() <= SMALL
}

// SAFETY: whether memory is mapped or the system's depends only on its layout. Callers who free or
// resize memory must pass the layout with which it was allocated. The system's methods get the
// arguments of this method unchanged.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match is_mapped(layout) {
            true => allocated(|| mapping::new(layout.size() + SMALL)),
            // SAFETY: as the caller promises.
            false => allocated(|| unsafe { System.alloc(layout) }),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match is_mapped(layout) {
            true => allocated(|| mapping::new(layout.size() + SMALL)),
            // SAFETY: as the caller promises.
            false => allocated(|| unsafe { System.alloc_zeroed(layout) }),
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        match is_mapped(layout) {
            // SAFETY: memory of this size was mapped, and the caller no longer uses it.
            true => unsafe { mapping::free(memory, layout.size() + SMALL) },
            // SAFETY: as the caller promises.
            false => unsafe { System.dealloc(memory, layout) },
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees that `size` is not zero and not too large.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if !is_mapped(layout) && !is_mapped(wanted) {
            // SAFETY: as the caller promises; on failure, `memory` is unchanged.
            return allocated(|| unsafe { System.realloc(memory, layout, size) });
        }
        let grows = is_mapped(layout) && is_mapped(wanted) && size > layout.size();
        // SAFETY: both blocks are at least as large as what is moved or copied, and they do not
        // overlap.
        unsafe {
            let new = self.alloc(wanted);
            if new.is_null() {
                return new;
            }
            if grows {
                return mapping::move_pages(memory, new, layout.size() + SMALL, size + SMALL);
            }
            std::ptr::copy_nonoverlapping(memory, new, layout.size().min(size));
            self.dealloc(memory, layout);
            new
        }
    }
}

#[cfg(target_os = "linux")]
mod mapping {
    use super::{LARGE, MOST_ONCE};
    use std::ptr::null_mut;

    /// Map `size` bytes of zeros, a multiple of a large page. Return null if the system has no more
    /// memory.
    pub fn new(size: usize) -> *mut u8 {
        let mut start = map(size);
        // Linux before 6.7 may map at any address.
        if !start.is_null() && !start.addr().is_multiple_of(LARGE) {
            // SAFETY: just mapped, and nobody else has the address.
            unsafe { free(start, size) };
            start = map(size + LARGE);
            let before = start.addr().next_multiple_of(LARGE) - start.addr();
            if !start.is_null() {
                // SAFETY: the two ends of the new mapping, between which `size` bytes remain.
                unsafe {
                    free(start, before);
                    start = start.add(before);
                    free(start.add(size), LARGE - before);
                }
            }
        }
        if !start.is_null() {
            // SAFETY: the advice changes no contents; if it fails, access is only slower.
            unsafe { libc::madvise(start.cast(), size.min(MOST_ONCE), libc::MADV_HUGEPAGE) };
        }
        start
    }

    fn map(size: usize) -> *mut u8 {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: maps new memory at any address.
        let start = unsafe { libc::mmap(null_mut(), size, protection, flags, -1, 0) };
        match start == libc::MAP_FAILED {
            true => null_mut(),
            false => start.cast(),
        }
    }

    /// Move `size` bytes to a larger mapping of `room` bytes by remapping their pages, which is
    /// faster than copying bytes to untouched pages. Return where they are: `to`, or elsewhere if
    /// the system can't move them.
    ///
    /// # Safety
    /// `from` must be mapped for `size` bytes and `to` for `room`. Nobody else may use either, and
    /// nobody may use them again but through the result.
    pub unsafe fn move_pages(from: *mut u8, to: *mut u8, size: usize, room: usize) -> *mut u8 {
        // To the system, the part with large pages is a mapping of its own, and it moves one
        // mapping at a time.
        let first = size.min(MOST_ONCE);
        for (at, part) in [(0, first), (first, size - first)] {
            if part == 0 {
                continue;
            }
            let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            // SAFETY: as promised; if the pages can't be moved, they are unchanged.
            unsafe {
                let (old, new) = (from.add(at), to.add(at));
                let moved = libc::mremap(old.cast(), part, part, flags, new.cast::<u8>());
                if moved == libc::MAP_FAILED {
                    return copy_rest(from, to, at..at + part, size, room);
                }
            }
        }
        to
    }

    /// Copy bytes to a third mapping, after those before `failed` were moved from `from` to `to`.
    ///
    /// Linux may have unmapped the target of a move before the move failed. Another thread may have
    /// mapped something there since, so nobody uses or frees these addresses any more.
    ///
    /// # Safety
    /// As for [`move_pages`], whose call of the system failed for this range.
    pub unsafe fn copy_rest(
        from: *mut u8,
        to: *mut u8,
        failed: std::ops::Range<usize>,
        size: usize,
        room: usize,
    ) -> *mut u8 {
        let other = new(room);
        if other.is_null() {
            // The bytes are in two places and can't be brought together.
            std::process::abort();
        }
        let moved = failed.start;
        // SAFETY: the moved bytes are at `to`, the others still at `from`.
        unsafe {
            std::ptr::copy_nonoverlapping(to, other, moved);
            std::ptr::copy_nonoverlapping(from.add(moved), other.add(moved), size - moved);
            free(to, moved);
            free(from.add(moved), size - moved);
            free(to.add(failed.end), room - failed.end);
        }
        other
    }

    /// # Safety
    /// The bytes must be mapped, and nobody may use them any more.
    pub unsafe fn free(start: *mut u8, size: usize) {
        if size > 0 {
            // SAFETY: as promised.
            unsafe { libc::munmap(start.cast(), size) };
        }
    }
}

/// Stand-in that is never called: see [`is_mapped`].
#[cfg(not(target_os = "linux"))]
mod mapping {
    pub fn new(_: usize) -> *mut u8 {
        std::ptr::null_mut()
    }

    pub unsafe fn move_pages(_: *mut u8, to: *mut u8, _: usize, _: usize) -> *mut u8 {
        to
    }

    pub unsafe fn free(_: *mut u8, _: usize) {}
}

/// Advise the system that the start of `memory`, allocated elsewhere, will be written.
pub fn advise_start<T>(memory: &[MaybeUninit<T>]) {
    let most = MOST_ONCE / size_of::<T>().max(1);
    ask(&memory[..most.min(memory.len())]);
}

/// Advise the system that all of `memory` will be used. Untouched pages stay free.
fn ask<T>(memory: &[MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    {
        let bytes = size_of_val(memory);
        // Memory of this size may not contain a whole large page.
        if bytes < LARGE {
            return;
        }
        let start = memory.as_ptr().cast::<u8>().cast_mut();
        let before = start.addr() % SMALL;
        // SAFETY: the advice changes no contents, only the size of the pages that the system makes
        // at the first touch; every page passed holds at least a byte of `memory`. The result is
        // ignored: without large pages everything works the same, but slower. (Systems with larger
        // pages refuse an address that is not a page boundary.)
        unsafe {
            let first = start.wrapping_sub(before).cast();
            libc::madvise(first, before + bytes, libc::MADV_HUGEPAGE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// Advise the system that the contents of `memory` are no longer needed. The system takes the pages
/// back when it needs them; until then they can be written again without the cost of a first touch.
pub fn free_lazily<T>(memory: &mut [MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    {
        let start = memory.as_mut_ptr().cast::<u8>();
        let skipped = start.align_offset(SMALL);
        let length = size_of_val(memory).saturating_sub(skipped) / SMALL * SMALL;
        // SAFETY: only whole pages inside `memory` may lose their contents, which count as
        // uninitialized anyway, and the exclusive reference guarantees that nobody else reads them.
        unsafe {
            libc::madvise(start.wrapping_add(skipped).cast(), length, libc::MADV_FREE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_enough_and_large_where_it_pays() {
        for count in [0, 1, 1000, LARGE / 8 - 1] {
            assert_eq!(whole_pages::<u32>(count), count);
        }
        for (count, pages) in [
            (LEAST / 4, 1),
            (LARGE / 4 - SMALL / 4, 1),
            (LARGE / 4 - SMALL / 4 + 1, 2),
            (LARGE / 4, 2),
            (LARGE, 5),
        ] {
            let room = whole_pages::<u32>(count);
            assert_eq!(room * 4 + SMALL, pages * LARGE, "{count}");
            assert!(room >= count);
        }
        assert_eq!(whole_pages::<u32>(usize::MAX), usize::MAX);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn bytes_that_can_not_be_moved_are_copied() {
        let (size, room) = (2 * LARGE, 3 * LARGE);
        for moved in [0, LARGE] {
            let (from, to) = (mapping::new(size), mapping::new(room));
            // SAFETY: the mappings are new, and each byte is written before it is read. A part of
            // `to` stays mapped until the end, as after a failure.
            unsafe {
                to.write_bytes(1, moved);
                from.add(moved).write_bytes(2, size - moved);
                mapping::free(from, moved);
                let other = mapping::copy_rest(from, to, moved..size, size, room);
                let bytes = std::slice::from_raw_parts(other, room);
                assert!(bytes[..moved].iter().all(|&byte| byte == 1));
                assert!(bytes[moved..size].iter().all(|&byte| byte == 2));
                assert!(bytes[size..].iter().all(|&byte| byte == 0));
                mapping::free(other, room);
                mapping::free(to.add(moved), size - moved);
            }
        }
    }

    #[test]
    fn what_is_mapped_keeps_its_contents_as_it_grows_and_shrinks() {
        let grown = [3 * LARGE, 5 * LARGE, 8 * LARGE, 12 * LARGE];
        let sizes = [10, LEAST / 4, LARGE, 12_345].into_iter().chain(grown);
        let sizes = sizes.chain([LEAST / 4, 3]);
        let mut values: Vec<u32> = Vec::new();
        for size in sizes {
            let room = whole_pages::<u32>(size);
            values.truncate(size);
            values.shrink_to(room);
            values.reserve_exact(room.saturating_sub(values.len()));
            assert!(values.capacity() >= room);
            if cfg!(target_os = "linux") && room > size {
                assert_eq!(values.as_ptr().addr() % LARGE, 0, "{size}");
            }
            values.extend(values.len() as u32..size as u32);
            assert!((0u32..)
                .zip(&values)
                .all(|(number, &value)| number == value));
        }
        let zeros = vec![0u64; whole_pages::<u64>(LARGE)];
        assert!(zeros.iter().all(|&zero| zero == 0));
    }
}
