//! Measure of work in steps, which is independent of clocks and of other processes.
//!
//! Only in a build with `--cfg count_work`, which `tests/growth/run` makes. The compiler then calls
//! `__sanitizer_cov_trace_pc` in every basic block of this workspace and of the crates it uses, and
//! each call counts one step. Sixteen bytes copied or filled also count as one step, because those
//! functions come from outside. Counts are only correct with a single thread.

#![allow(unsafe_code)]

use pyo3::prelude::*;

// Hidden symbols are bound inside this library, so that calls of other copies are not counted.
std::arch::global_asm!(
    ".text",
    ".hidden __sanitizer_cov_trace_pc",
    ".globl __sanitizer_cov_trace_pc",
    "__sanitizer_cov_trace_pc:",
    "incq TOKCTL_STEPS(%rip)",
    "ret",
    // memcpy(rdi: to, rsi: from, rdx: bytes)
    ".hidden memcpy",
    ".globl memcpy",
    "memcpy:",
    "movq %rdi, %rax",
    "movq %rdx, %rcx",
    "shrq $4, %rdx",
    "addq %rdx, TOKCTL_STEPS(%rip)",
    "rep movsb",
    "ret",
    // memmove: copies from the end if the target is after the source.
    ".hidden memmove",
    ".globl memmove",
    "memmove:",
    "movq %rdi, %rax",
    "movq %rdx, %rcx",
    "shrq $4, %rdx",
    "addq %rdx, TOKCTL_STEPS(%rip)",
    "cmpq %rsi, %rdi",
    "ja 2f",
    "rep movsb",
    "ret",
    "2:",
    "leaq -1(%rdi, %rcx), %rdi",
    "leaq -1(%rsi, %rcx), %rsi",
    "std",
    "rep movsb",
    "cld",
    "ret",
    // memset(rdi: to, esi: byte, rdx: bytes)
    ".hidden memset",
    ".globl memset",
    "memset:",
    "movq %rdi, %r8",
    "movl %esi, %eax",
    "movq %rdx, %rcx",
    "shrq $4, %rdx",
    "addq %rdx, TOKCTL_STEPS(%rip)",
    "rep stosb",
    "movq %r8, %rax",
    "ret",
    ".bss",
    ".hidden TOKCTL_STEPS",
    ".globl TOKCTL_STEPS",
    ".balign 8",
    "TOKCTL_STEPS:",
    ".quad 0",
    ".text",
    options(att_syntax)
);

extern "C" {
    static TOKCTL_STEPS: u64;
}

/// Return the number of steps counted since the module was loaded.
#[pyfunction]
pub fn steps() -> u64 {
    // SAFETY: the symbol is defined above, as eight aligned bytes that are never freed; the
    // compiler does not see its changes, hence the volatile read.
    unsafe { std::ptr::addr_of!(TOKCTL_STEPS).read_volatile() }
}
