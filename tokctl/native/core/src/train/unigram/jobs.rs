//! Work shared out among threads, its results taken in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::MOST_THREADS;

/// Progress is asked at least this often while threads work.
const ASK: Duration = Duration::from_millis(20);

/// Set once the caller wants to stop; long jobs look at it now and then.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs jobs `0..jobs` and gives their results to `take` in that order.
///
/// What the jobs are must not depend on `threads`: then neither does the result, down to
/// the rounding of sums. The calling thread only waits, so that it can ask `progress`
/// however long a job takes.
pub fn in_order<R: Send>(
    jobs: usize,
    threads: usize,
    progress: &mut dyn FnMut() -> bool,
    work: impl Fn(usize, &Stop) -> R + Sync,
    mut take: impl FnMut(R),
) -> Result<()> {
    let (stop, next) = (Stop::default(), AtomicUsize::new(0));
    thread::scope(|scope| {
        let (send, results) = channel();
        for _ in 0..threads.clamp(1, MOST_THREADS).min(jobs) {
            let send = send.clone();
            let (stop, next, work) = (&stop, &next, &work);
            scope.spawn(move || loop {
                let job = next.fetch_add(1, Ordering::Relaxed);
                if job >= jobs || stop.asked() || send.send((job, work(job, stop))).is_err() {
                    break;
                }
            });
        }
        drop(send);
        let (mut early, mut due) = (BTreeMap::new(), 0);
        loop {
            match results.recv_timeout(ASK) {
                Ok((job, result)) => {
                    early.insert(job, result);
                    while let Some(result) = early.remove(&due) {
                        take(result);
                        due += 1;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            if !progress() {
                stop.0.store(true, Ordering::Relaxed);
                return Err(Error::Interrupted);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        for threads in [1, 2, 5] {
            let mut taken = Vec::new();
            let take = |job| taken.push(job);
            in_order(20, threads, &mut || true, |job, _| job, take).unwrap();
            assert_eq!(taken, (0..20).collect::<Vec<_>>());
        }
        in_order(0, 1, &mut || true, |_, _| (), |()| panic!("no job")).unwrap();
    }

    #[test]
    fn a_job_that_only_ends_when_stopped_is_stopped() {
        let wait = |_, stop: &Stop| {
            while !stop.asked() {
                thread::sleep(Duration::from_millis(1));
            }
        };
        let mut asked = 0;
        let mut progress = || {
            asked += 1;
            asked < 3
        };
        let result = in_order(4, 2, &mut progress, wait, |()| {});
        assert_eq!(result, Err(Error::Interrupted));
    }
}
