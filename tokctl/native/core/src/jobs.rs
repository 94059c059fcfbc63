//! Numbered jobs for several threads, with results taken in the order of the numbers.
//!
//! Encoding, measuring, counting and Unigram training share a queue of job numbers and a reorder
//! buffer. The buffer passes a result on as soon as all earlier results were passed on.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::memory::{self, is_exhausted};

/// Callback polled regularly during long work; true stops the work with [`Error::Interrupted`].
pub type Interrupt<'i> = &'i (dyn Fn() -> bool + Sync);

/// Maximum time between two polls by the calling thread while it waits for other threads.
const POLL: Duration = Duration::from_millis(20);

/// The jobs `0..count`. Their division must not depend on `threads`; then results do not depend on
/// `threads` either, down to the rounding of sums.
#[derive(Clone, Copy)]
pub(crate) struct Jobs {
    pub count: usize,
    pub threads: usize,
}

/// State and interrupt of one thread.
pub(crate) struct Worker<'i, S> {
    /// State kept from job to job.
    pub state: S,
    pub interrupt: Interrupt<'i>,
}

impl Jobs {
    /// Do all jobs on up to `threads` threads, including the calling one, and pass the results to
    /// `take` in the order of the jobs.
    ///
    /// Each thread creates its own `state`. If several jobs fail, one of their errors is returned.
    /// No thread waits while another one takes results: the taking thread also takes results that
    /// arrive meanwhile.
    pub fn in_order<S, R: Send>(
        self,
        interrupt: Interrupt,
        state: impl Fn() -> S + Sync,
        work: impl Fn(&mut Worker<S>, usize) -> Result<R> + Sync,
        mut take: impl FnMut(&mut Worker<S>, R) -> Result<()> + Send,
    ) -> Result<()> {
        let threads = self.threads.min(self.count);
        if threads < 2 {
            let state = state();
            let mut worker = Worker { state, interrupt };
            return (0..self.count).try_for_each(|number| {
                let made = work(&mut worker, number)?;
                take(&mut worker, made)
            });
        }
        let (next, order) = (AtomicUsize::new(0), Reorder::new(take));
        let worker = |interrupt: Interrupt| {
            // A thread without a job needs no state.
            let Some(mut number) = self.claim(&next) else {
                return Ok(());
            };
            let state = state();
            let mut worker = Worker { state, interrupt };
            loop {
                let made = work(&mut worker, number)?;
                order.push(number, made, |take, made| take(&mut worker, made))?;
                match self.claim(&next) {
                    Some(other) => number = other,
                    None => return Ok(()),
                }
            }
        };
        let stop = AtomicBool::new(false);
        let poll = || {
            let stopped = stop.load(Ordering::Relaxed) || is_exhausted() || interrupt();
            if stopped {
                stop.store(true, Ordering::Relaxed);
            }
            stopped
        };
        let own = || worker(&poll);
        with_threads(threads - 1, &stop, &worker, own, &mut || {
            poll();
        })
    }

    /// Return the results of all jobs, in order; see [`Self::in_order`].
    pub fn collect<S, R: Send>(
        self,
        interrupt: Interrupt,
        state: impl Fn() -> S + Sync,
        work: impl Fn(&mut Worker<S>, usize) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let mut all = Vec::with_capacity(self.count);
        self.in_order(interrupt, state, work, |_, made| {
            all.push(made);
            Ok(())
        })?;
        Ok(all)
    }

    /// Like [`Self::in_order`], but the calling thread only reports progress.
    ///
    /// `progress` returns false to stop the work. It may be a function that other threads can't
    /// call, and it is called regularly however long a job takes.
    pub fn in_order_reporting<R: Send>(
        self,
        progress: &mut dyn FnMut() -> bool,
        work: impl Fn(usize, Interrupt) -> R + Sync,
        take: impl FnMut(R) + Send,
    ) -> Result<()> {
        let (next, order) = (AtomicUsize::new(0), Reorder::new(take));
        let worker = |interrupt: Interrupt| {
            while let Some(number) = self.claim(&next) {
                let made = work(number, interrupt);
                if interrupt() {
                    return Err(Error::Interrupted);
                }
                order.push(number, made, |take, made| {
                    take(made);
                    Ok(())
                })?;
            }
            Ok(())
        };
        let stop = AtomicBool::new(false);
        let mut poll = || {
            if !stop.load(Ordering::Relaxed) && !progress() {
                stop.store(true, Ordering::Relaxed);
            }
        };
        poll();
        let threads = self.threads.max(1).min(self.count);
        with_threads(threads, &stop, &worker, || Ok(()), &mut poll)?;
        poll();
        match stop.into_inner() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }

    /// Return the number of a job that no thread has claimed yet.
    fn claim(self, next: &AtomicUsize) -> Option<usize> {
        let number = next.fetch_add(1, Ordering::Relaxed);
        (number < self.count).then_some(number)
    }
}

/// Size of a thread's handle in bytes. Rust's library allocates handles with the system's allocator
/// and not with ours (since 1.93), and aborts the process on failure.
const HANDLE: usize = 48;

/// Run `worker` on up to `threads` new threads and `own` on the calling thread, and wait for all.
///
/// If the system has no threads left, the calling thread also runs `worker`. Only the calling
/// thread may see a signal (Python's handlers run in its main thread), so it keeps polling while it
/// waits, and `stop` stops the others.
fn with_threads(
    threads: usize,
    stop: &AtomicBool,
    worker: &(dyn Fn(Interrupt) -> Result<()> + Sync),
    own: impl FnOnce() -> Result<()>,
    poll: &mut dyn FnMut(),
) -> Result<()> {
    thread::scope(|scope| {
        let (end, ended) = channel::<()>();
        let others: Vec<_> = (0..threads)
            .map_while(|_| {
                let end = end.clone();
                let work = move || {
                    let result = worker(&|| stop.load(Ordering::Relaxed) || is_exhausted());
                    drop(end);
                    result
                };
                memory::make_room(HANDLE);
                thread::Builder::new().spawn_scoped(scope, work).ok()
            })
            .collect();
        drop(end);
        let mut result = own();
        if others.is_empty() && result.is_ok() {
            poll();
            result = worker(&|| stop.load(Ordering::Relaxed) || is_exhausted());
        }
        while ended.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
            poll();
        }
        for other in others {
            let joined = other.join();
            result = result.and(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        result
    })
}

/// Buffer that takes results in any order and passes them on in the order of their numbers.
struct Reorder<T, S> {
    waiting: Mutex<Waiting<T>>,
    /// Receiver of the results.
    sink: Mutex<S>,
}

struct Waiting<T> {
    /// Number of the result that is passed on next.
    next: usize,
    early: BTreeMap<usize, T>,
}

impl<T, S> Reorder<T, S> {
    fn new(sink: S) -> Self {
        Reorder {
            waiting: Mutex::new(Waiting {
                next: 0,
                early: BTreeMap::new(),
            }),
            sink: Mutex::new(sink),
        }
    }

    /// Store a result, and pass on all results that are next in order.
    fn push(
        &self,
        number: usize,
        made: T,
        mut pass: impl FnMut(&mut S, T) -> Result<()>,
    ) -> Result<()> {
        let waiting = || self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting().early.insert(number, made);
        loop {
            let mut sink = match self.sink.try_lock() {
                Ok(sink) => sink,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return Ok(()),
            };
            loop {
                let next = waiting().next();
                let Some(made) = next else { break };
                pass(&mut sink, made)?;
            }
            drop(sink);
            // A result may have arrived between the last check and the release of the lock, and its
            // thread did not wait.
            if !waiting().is_ready() {
                return Ok(());
            }
        }
    }
}

impl<T> Waiting<T> {
    fn is_ready(&self) -> bool {
        self.early.contains_key(&self.next)
    }

    fn next(&mut self) -> Option<T> {
        let made = self.early.remove(&self.next);
        self.next += usize::from(made.is_some());
        made
    }
}

/// Group adjacent texts into jobs of `size` bytes or slightly more. Return ranges of text numbers.
pub(crate) fn groups(
    lengths: impl ExactSizeIterator<Item = usize>,
    size: usize,
) -> Vec<Range<usize>> {
    let count = lengths.len();
    let mut groups = Vec::new();
    let (mut from, mut bytes) = (0, 0);
    for (at, length) in lengths.enumerate() {
        // An empty text takes time, too.
        bytes += length + 64;
        if bytes >= size || at + 1 == count {
            groups.push(from..at + 1);
            (from, bytes) = (at + 1, 0);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(count: usize, threads: usize) -> Jobs {
        Jobs { count, threads }
    }

    #[test]
    fn what_is_early_waits_for_its_turn() {
        let order = Reorder::new(Vec::new());
        let pass = |taken: &mut Vec<usize>, made| {
            taken.push(made);
            Ok(())
        };
        for (number, expected) in [(2, 0), (1, 0), (0, 3), (4, 3), (3, 5)] {
            order.push(number, 10 * number, pass).unwrap();
            assert_eq!(order.sink.lock().unwrap().len(), expected);
        }
        assert_eq!(order.sink.into_inner().unwrap(), [0, 10, 20, 30, 40]);
    }

    #[test]
    fn results_are_in_order_and_each_thread_has_a_state() {
        for (count, threads) in [(0, 2), (1, 4), (20, 1), (5000, 4), (300, 200)] {
            let states = AtomicUsize::new(0);
            let state = || states.fetch_add(1, Ordering::Relaxed);
            let work = |_: &mut Worker<usize>, number: usize| Ok(number * number);
            let made = jobs(count, threads)
                .collect(&|| false, state, work)
                .unwrap();
            assert_eq!(made, (0..count).map(|n| n * n).collect::<Vec<_>>());
            assert!(states.into_inner() <= threads);
            let mut taken = Vec::new();
            let work = |number: usize, _: Interrupt| number;
            let take = |number| taken.push(number);
            let result = jobs(count, threads).in_order_reporting(&mut || true, work, take);
            assert_eq!((result, taken), (Ok(()), (0..count).collect()));
        }
    }

    #[test]
    fn an_error_comes_out() {
        let work = |_: &mut Worker<()>, number| match number {
            7 => Err(Error::Interrupted),
            _ => Ok(()),
        };
        for threads in [1, 3] {
            let result = jobs(20, threads).collect(&|| false, || (), work);
            assert_eq!(result, Err(Error::Interrupted));
        }
    }

    #[test]
    fn jobs_that_only_end_when_they_are_stopped_are_stopped() {
        let caller = thread::current().id();
        let polls = AtomicUsize::new(0);
        let interrupt = || polls.fetch_add(1, Ordering::Relaxed) > 2;
        let wait = |interrupt: Interrupt| {
            while !interrupt() {
                thread::yield_now();
            }
            Error::Interrupted
        };
        let work = |worker: &mut Worker<()>, _| match thread::current().id() == caller {
            true => Ok(()),
            false => Err(wait(worker.interrupt)),
        };
        // The calling thread may do all jobs before another thread starts.
        let result = jobs(3, 3).collect(&interrupt, || (), work);
        assert!(result.is_ok() || result == Err(Error::Interrupted));
        assert!(result.is_ok() || polls.load(Ordering::Relaxed) > 2);

        let mut polls = 0;
        let mut progress = || {
            polls += 1;
            polls < 3
        };
        let work = |_, interrupt: Interrupt| drop(wait(interrupt));
        let result = jobs(4, 2).in_order_reporting(&mut progress, work, |()| {});
        assert_eq!(result, Err(Error::Interrupted));
    }

    #[test]
    fn every_text_is_in_one_group() {
        let texts = || (0..1000usize).map(|length| length % 70);
        for size in [1, 100, 5000, 1 << 30] {
            let groups = groups(texts(), size);
            let numbers: Vec<usize> = groups.into_iter().flatten().collect();
            assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
        }
        assert_eq!(groups(texts(), 1).len(), 1000);
        assert!(groups([].into_iter(), 10).is_empty());
    }
}
