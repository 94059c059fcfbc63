//! Asking the system for large pages, where much memory is about to be touched.
//!
//! The first touch of a page costs far more than what is written to it, and a table spread
//! over thousands of small pages costs a walk through the page tables at nearly every look-up.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// Makes room for `next` ids, and at once for those of the `rest` of a text, of which `done`
/// bytes gave `ids`: what is not used in the end is never touched.
#[cold]
pub(crate) fn reserve_projected<N>(
    out: &mut Vec<N>,
    next: usize,
    (done, rest): (usize, usize),
    ids: usize,
) {
    if done == 0 || rest == 0 {
        return out.reserve(next);
    }
    let more = (ids as u128 * rest as u128 / done as u128) as usize;
    // At least by half, and as for an id in two bytes, so that a text whose end is unlike its start
    // is not copied: a comment before code has half as many ids to the byte.
    let more = more.saturating_add(more / 2);
    let more = more.max(rest / 2).max(out.len());
    out.reserve_exact(next.saturating_add(more));
    advise_start(out.spare_capacity_mut());
}

/// As much memory as is written to once gets large pages.
const MOST_ONCE: usize = 16 << 20;

/// The same for memory that is written to once. Large pages are seldom memory that was used just
/// now; in a virtual machine the host may have to find it first, which takes longer than they save.
pub fn advise_start<T>(memory: &[MaybeUninit<T>]) {
    let most = MOST_ONCE / size_of::<T>().max(1);
    ask(&memory[..most.min(memory.len())]);
}

/// Less memory than this holds no large page for sure.
#[cfg(target_os = "linux")]
const LEAST: usize = 2 << 20;

/// Systems with larger pages refuse what does not start at one, which does no harm.
#[cfg(target_os = "linux")]
const PAGE: usize = 4096;

#[cfg(target_os = "linux")]
unsafe extern "C" {
    fn madvise(start: *mut std::ffi::c_void, length: usize, advice: i32) -> i32;
}

/// Says that all of `memory` is going to be used. What is not touched stays free.
pub fn ask<T>(memory: &[MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    {
        /// `MADV_HUGEPAGE` of <sys/mman.h>.
        const HUGE_PAGE: i32 = 14;
        let bytes = size_of_val(memory);
        if bytes < LEAST {
            return;
        }
        let start = memory.as_ptr().cast::<u8>().cast_mut();
        let before = start.addr() % PAGE;
        // SAFETY: the advice changes no contents, only how large the pages are that the system
        // makes at the first touch; every page passed holds at least a byte of `memory`. The
        // result is of no interest: without large pages everything is the same, but slower.
        unsafe {
            madvise(start.wrapping_sub(before).cast(), before + bytes, HUGE_PAGE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// Says that nobody needs what is in `memory`: the system takes the pages back when it needs them,
/// and until then they can be written to again without a first touch.
pub fn free_lazily<T>(memory: &mut [MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    {
        /// `MADV_FREE` of <sys/mman.h>.
        const FREE: i32 = 8;
        let start = memory.as_mut_ptr().cast::<u8>();
        let skipped = start.align_offset(PAGE);
        let length = size_of_val(memory).saturating_sub(skipped) / PAGE * PAGE;
        // SAFETY: only whole pages inside `memory` may lose their contents, which count as not
        // initialized anyway, and the exclusive reference says that no one else reads them.
        unsafe {
            madvise(start.wrapping_add(skipped).cast(), length, FREE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}
