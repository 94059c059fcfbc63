//! Bootstrap over lines: sums of counts over lines that are drawn with replacement.
//!
//! Resample number r (from 0) has its own SplitMix64 generator. Its seed is number r of a
//! SplitMix64 with the given seed. Of n lines it draws n, each as the high 64 bits of the product
//! of n and the next number. So every column sees the same resamples, on any number of threads.

use crate::error::{Error, Result};
use crate::jobs::{Interrupt, Jobs, Worker};
use crate::random::SplitMix64;

/// Counts, one per line.
pub type Column = Vec<u32>;

/// Number of resamples made in one pass, so that columns are read once for all of them.
const TOGETHER: usize = 4;
/// Number of lines processed at a time: their counts and weights stay in the nearest cache.
const BLOCK: usize = 1024;

/// Return the sum of every column for each resample. All columns must have equal length.
pub fn resample(
    columns: &[&Column],
    resamples: usize,
    seed: u64,
    threads: usize,
    interrupt: Interrupt,
) -> Result<Vec<Vec<u64>>> {
    let lines = columns.first().map_or(0, |column| column.len());
    if columns.iter().any(|column| column.len() != lines) {
        return Err(Error::Invalid("columns of different lengths".into()));
    }
    let mut seeds = SplitMix64::new(seed);
    let seeds: Vec<u64> = (0..resamples).map(|_| seeds.next_u64()).collect();
    let groups: Vec<&[u64]> = seeds.chunks(TOGETHER).collect();
    let count = groups.len();
    let weights = || vec![vec![0; lines]; TOGETHER];
    let work = |worker: &mut Worker<Vec<Vec<u32>>>, number: usize| {
        let weights = &mut worker.state;
        let seeds = groups[number];
        for (&seed, weights) in seeds.iter().zip(&mut *weights) {
            if (worker.interrupt)() {
                return Err(Error::Interrupted);
            }
            draw(seed, weights);
        }
        Ok(weighted(columns, &weights[..seeds.len()]))
    };
    let made = Jobs { count, threads }.collect(interrupt, weights, work)?;
    Ok(made.concat())
}

/// Count how often each line is drawn.
fn draw(seed: u64, weights: &mut [u32]) {
    weights.fill(0);
    let mut numbers = SplitMix64::new(seed);
    let lines = weights.len() as u128;
    for _ in 0..weights.len() {
        let line = (u128::from(numbers.next_u64()) * lines) >> 64;
        weights[line as usize] += 1;
    }
}

fn weighted(columns: &[&Column], weights: &[Vec<u32>]) -> Vec<Vec<u64>> {
    let mut sums = vec![vec![0; columns.len()]; weights.len()];
    let lines = columns.first().map_or(0, |column| column.len());
    for from in (0..lines).step_by(BLOCK) {
        let to = lines.min(from + BLOCK);
        for (place, column) in columns.iter().enumerate() {
            for (sums, weights) in sums.iter_mut().zip(weights) {
                sums[place] += dot(&column[from..to], &weights[from..to]);
            }
        }
    }
    sums
}

fn dot(counts: &[u32], weights: &[u32]) -> u64 {
    let products = counts.iter().zip(weights);
    products.map(|(&a, &b)| u64::from(a) * u64::from(b)).sum()
}
