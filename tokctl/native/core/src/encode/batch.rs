//! Many texts at once, shared out among threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

use super::{Encoder, Interrupt, Matchers};
use crate::error::Result;
use crate::MOST_THREADS;

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
        let work = || -> Result<()> {
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
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads.min(texts.len()).min(MOST_THREADS))
                .map(|_| scope.spawn(work))
                .collect();
            let mut result = work();
            for other in others {
                result = result.and(other.join().unwrap_or_else(|panic| {
                    std::panic::resume_unwind(panic);
                }));
            }
            result
        })?;
        let mut done = done.into_inner().unwrap_or_default();
        done.sort_unstable_by_key(|&(number, _)| number);
        Ok(done.into_iter().map(|(_, ids)| ids).collect())
    }
}
