//! Instruction sets of the processor that the scanners use.

use crate::lock_free::Lazy;

use super::lanes::{Lanes, Portable};
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use super::neon::Neon;
#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{BatchPlaces, MaskPattern, Scan};

/// Instruction set, slowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::HasAvx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::HasAvx512),
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Neon,
}

impl Level {
    /// Return the best level that this processor has.
    ///
    /// The environment variable `TOKCTL_SIMD` selects another one: `portable`, `avx2`, `avx512` or
    /// `neon`. It is read once; an unknown or missing level is ignored. All levels give equal
    /// results, so the variable is for tests and measurements only.
    pub fn get() -> Self {
        static LEVEL: Lazy<Level> =
            Lazy::new(|| Level::chosen(&std::env::var("TOKCTL_SIMD").unwrap_or_default()));
        *LEVEL
    }

    fn chosen(wanted: &str) -> Self {
        let all = Level::all();
        let found = all.iter().find(|level| level.name() == wanted);
        *found.unwrap_or(&all[all.len() - 1])
    }

    /// Return proof of AVX2, if this level uses it.
    #[cfg(target_arch = "x86_64")]
    pub fn avx2(self) -> Option<x86::HasAvx2> {
        match self {
            Level::Portable => None,
            Level::Avx2(has) => Some(has),
            Level::Avx512(_) => x86::HasAvx2::detect(),
        }
    }

    /// Return all levels that this processor has, the best one last.
    pub fn all() -> Vec<Self> {
        #[cfg_attr(
            not(any(target_arch = "x86_64", target_arch = "aarch64")),
            allow(unused_mut)
        )]
        let mut levels = vec![Level::Portable];
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        levels.push(Level::Neon);
        #[cfg(target_arch = "x86_64")]
        {
            levels.extend(x86::HasAvx2::detect().map(Level::Avx2));
            levels.extend(x86::HasAvx512::detect().map(Level::Avx512));
        }
        levels
    }

    fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => "avx512",
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Level::Neon => "neon",
        }
    }

    #[inline]
    pub(super) fn fill<P: MaskPattern>(
        self,
        scan: &mut Scan<P>,
        places: &mut BatchPlaces,
    ) -> usize {
        match self {
            Level::Portable => fill::<Portable, P>(scan, places),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(has) => x86::fill_avx2(has, scan, places),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(has) => x86::fill_avx512(has, scan, places),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Level::Neon => fill::<Neon, P>(scan, places),
        }
    }
}

/// Scan a batch, in a function of its own that callers share.
#[inline(never)]
fn fill<L: Lanes, P: MaskPattern>(scan: &mut Scan<P>, places: &mut BatchPlaces) -> usize {
    scan.fill::<L>(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_chosen_by_its_name() {
        let all = Level::all();
        for &level in &all {
            assert_eq!(Level::chosen(level.name()), level);
        }
        assert_eq!(Level::chosen("portable"), Level::Portable);
        assert_eq!(Level::chosen("avx1024"), all[all.len() - 1]);
        assert_eq!(Level::chosen(""), all[all.len() - 1]);
    }
}
