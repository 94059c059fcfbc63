//! Many texts at once, shared out among threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use super::{Encoder, Interrupt, Matchers};
use crate::error::Result;
use crate::MOST_THREADS;

/// The interrupt is asked at least this often while other threads work.
const ASK: Duration = Duration::from_millis(20);

impl Encoder {
    /// The ids of each text, in the order of the texts.
    pub fn batch(
        &self,
        texts: &[Vec<u8>],
        threads: usize,
        matchers: Option<&Matchers>,
        interrupt: Interrupt,
    ) -> Result<Vec<Vec<u32>>> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::with_capacity(texts.len()));
        let work = |interrupt: Interrupt| -> Result<()> {
            while let Some((number, text)) = {
                let number = next.fetch_add(1, Ordering::Relaxed);
                texts.get(number).map(|text| (number, text))
            } {
                let mut ids = Vec::new();
                self.ids(text, matchers, &mut ids, interrupt)?;
                if let Ok(mut done) = done.lock() {
                    done.push((number, ids));
                }
            }
            Ok(())
        };
        shared_out(threads.min(texts.len()), interrupt, &work)?;
        let mut done = done.into_inner().unwrap_or_default();
        done.sort_unstable_by_key(|&(number, _)| number);
        Ok(done.into_iter().map(|(_, ids)| ids).collect())
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
