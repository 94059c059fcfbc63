//! Work that several threads share out among them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use super::Interrupt;
use crate::error::Result;
use crate::MOST_THREADS;

/// The interrupt is asked at least this often while other threads work.
const ASK: Duration = Duration::from_millis(20);

/// Numbered jobs, of which a thread takes one after the other.
pub(crate) struct Jobs<T> {
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
pub(crate) fn in_order<T: Send>(
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

/// What threads hand over in any order, and is taken in that of its numbers. No thread waits
/// for another one that takes: that one takes what has come meanwhile, too.
pub(crate) struct Order<T, S> {
    waiting: Mutex<Waiting<T>>,
    taken: Mutex<S>,
}

struct Waiting<T> {
    /// The number whose turn it is.
    next: usize,
    early: BTreeMap<usize, T>,
}

impl<T, S> Order<T, S> {
    pub fn new(taken: S) -> Self {
        Order {
            waiting: Mutex::new(Waiting {
                next: 0,
                early: BTreeMap::new(),
            }),
            taken: Mutex::new(taken),
        }
    }

    /// Takes what was made of a job if it is its turn, and what it kept waiting.
    pub fn hand_over(
        &self,
        number: usize,
        made: T,
        mut take: impl FnMut(&mut S, T) -> Result<()>,
    ) -> Result<()> {
        let waiting = || self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting().early.insert(number, made);
        loop {
            let mut taken = match self.taken.try_lock() {
                Ok(taken) => taken,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return Ok(()),
            };
            loop {
                let next = waiting().next();
                let Some(made) = next else { break };
                take(&mut taken, made)?;
            }
            drop(taken);
            // Whoever came since the last look has gone on.
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
    fn what_is_early_waits_for_its_turn() {
        let order = Order::new(Vec::new());
        let take = |taken: &mut Vec<usize>, made| {
            taken.push(made);
            Ok(())
        };
        for (number, expected) in [(2, 0), (1, 0), (0, 3), (4, 3), (3, 5)] {
            order.hand_over(number, 10 * number, take).unwrap();
            assert_eq!(order.taken.lock().unwrap().len(), expected);
        }
        assert_eq!(order.taken.into_inner().unwrap(), [0, 10, 20, 30, 40]);
    }

    #[test]
    fn all_is_taken_in_order_whoever_takes_it() {
        let order = Order::new(Vec::new());
        let made = in_order::<()>(5000, 4, &|| false, |jobs, _| {
            while let Some(number) = jobs.take() {
                order.hand_over(number, number, |taken, made| {
                    taken.push(made);
                    Ok(())
                })?;
            }
            Ok(())
        });
        assert_eq!(made, Ok(Vec::new()));
        let taken = order.taken.into_inner().unwrap();
        assert_eq!(taken, (0..5000).collect::<Vec<_>>());
    }

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
