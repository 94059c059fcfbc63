//! Work that several threads share out among them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::Interrupt;
use crate::error::Result;
use crate::MOST_THREADS;

/// The interrupt is asked at least this often while other threads work.
const ASK: Duration = Duration::from_millis(20);

/// Numbered jobs, of which a thread takes one after the other.
pub(super) struct Jobs<T> {
    count: usize,
    next: AtomicUsize,
    done: Mutex<Vec<(usize, T)>>,
}

impl<T> Jobs<T> {
    /// The number of a job that nobody has taken.
    pub fn take(&self) -> Option<usize> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.count).then_some(number)
    }

    pub fn done(&self, number: usize, made: T) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.push((number, made));
    }
}

/// What was made of so many jobs, in their order. Each thread runs `work` once, which takes
/// jobs as long as there are any.
pub(super) fn in_order<T: Send>(
    count: usize,
    threads: usize,
    interrupt: Interrupt,
    work: impl Fn(&Jobs<T>, Interrupt) -> Result<()> + Sync,
) -> Result<Vec<T>> {
    let jobs = Jobs {
        count,
        next: AtomicUsize::new(0),
        done: Mutex::new(Vec::with_capacity(count)),
    };
    let run = |interrupt: Interrupt| work(&jobs, interrupt);
    shared_out(threads.min(count), interrupt, &run)?;
    let mut done = jobs
        .done
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|&(number, _)| number);
    Ok(done.into_iter().map(|(_, made)| made).collect())
}

/// Runs `work` on so many threads, the calling one among them, and waits for all.
///
/// Only the calling thread may know of a signal (Python's handlers run in its main thread), so
/// it goes on asking while it waits, and tells the others.
fn shared_out(
    threads: usize,
    interrupt: Interrupt,
    work: &(dyn Fn(Interrupt) -> Result<()> + Sync),
) -> Result<()> {
    if threads < 2 {
        return work(interrupt);
    }
    let stop = AtomicBool::new(false);
    let told = || stop.load(Ordering::Relaxed);
    let asking = || {
        let wanted = told() || interrupt();
        if wanted {
            stop.store(true, Ordering::Relaxed);
        }
        wanted
    };
    thread::scope(|scope| {
        let (end, ended) = channel::<()>();
        let others: Vec<_> = (1..threads.min(MOST_THREADS))
            .map(|_| {
                let end = end.clone();
                scope.spawn(move || {
                    let result = work(&told);
                    drop(end);
                    result
                })
            })
            .collect();
        drop(end);
        let mut result = work(&asking);
        while ended.recv_timeout(ASK) == Err(RecvTimeoutError::Timeout) {
            asking();
        }
        for other in others {
            let joined = other.join();
            result = result.and(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn a_thread_that_only_ends_when_told_is_told() {
        let caller = thread::current().id();
        let asked = AtomicUsize::new(0);
        let interrupt = || asked.fetch_add(1, Ordering::Relaxed) > 2;
        let work = |interrupt: Interrupt| {
            if thread::current().id() == caller {
                return Ok(());
            }
            while !interrupt() {
                thread::yield_now();
            }
            Err(Error::Interrupted)
        };
        assert_eq!(shared_out(3, &interrupt, &work), Err(Error::Interrupted));
        assert!(asked.load(Ordering::Relaxed) > 2);
    }
}
