//! Turns at merging, compiled for AVX2: the best of sixteen candidates is found at once.
#![allow(unsafe_code)]

use super::merge_few::Turns;
use crate::model::Merges;
use crate::pretokenize::HasAvx2;

impl<const MOST: usize> Turns<MOST> {
    pub(super) fn merge_avx2(&mut self, _: HasAvx2, merges: &Merges) {
        // SAFETY: a value of HasAvx2 is made only where all of these were found.
        unsafe { avx2(self, merges) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn avx2<const MOST: usize>(turns: &mut Turns<MOST>, merges: &Merges) {
    turns.merge_all(merges);
}
