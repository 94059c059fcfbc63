//! Threads that lend each other values; compiled and run by `threads`, beside it.

mod lock_free;

use std::thread;

use lock_free::{Once, Pool};

const THREADS: usize = 4;
const ROUNDS: usize = 20_000;

fn main() {
    let pool: &Pool<Vec<usize>> = Box::leak(Box::default());
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            thread::spawn(|| {
                for round in 0..ROUNDS {
                    let mut lent = pool.acquire(Vec::new);
                    lent.push(round);
                    if lent.len() == 100 {
                        lent.clear();
                    }
                    drop(lent);
                    pool.each(|values| assert!(values.len() < 100));
                    if round % 10 == 0 {
                        drop(pool.take());
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    for _ in 0..ROUNDS / 100 {
        let once: &Once<Vec<usize>> = Box::leak(Box::default());
        let threads: Vec<_> = (0..THREADS)
            .map(|_| thread::spawn(|| assert_eq!(once.get_or_init(|| vec![7; 3]), &[7; 3])))
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}
