//! Pieces of a text, which threads share out among themselves.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

use crate::error::Result;
use crate::pretokenize::safe_cut;

/// Where a text can be cut into pieces of about `size` bytes before it is normalized.
pub fn ends_of_pieces(text: &[u8], size: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut start = 0;
    while let Some(end) = safe_cut(text, start + size) {
        ends.push(end);
        start = end;
    }
    ends.push(text.len());
    ends
}

/// Runs `work` for all of `0..pieces`, each piece in one of as many threads as there are
/// `states`, with that thread's state. A thread takes ascending pieces. The results come in
/// the order of the pieces; of several errors one comes.
pub fn in_threads<S: Send, R: Send>(
    states: &mut [S],
    pieces: usize,
    work: impl Fn(&mut S, usize) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let busy = states.len().min(pieces);
    let Some((own, others)) = states[..busy].split_first_mut() else {
        return Ok(Vec::new());
    };
    if others.is_empty() {
        return (0..pieces).map(|piece| work(own, piece)).collect();
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(pieces));
    let run = |state: &mut S| -> Result<()> {
        loop {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            if piece >= pieces {
                return Ok(());
            }
            let result = work(state, piece)?;
            match done.lock() {
                Ok(mut done) => done.push((piece, result)),
                // Another thread has panicked, which is passed on below.
                Err(_) => return Ok(()),
            }
        }
    };
    thread::scope(|scope| {
        let others: Vec<_> = others
            .iter_mut()
            .map(|state| scope.spawn(|| run(state)))
            .collect();
        let result = run(own);
        others.into_iter().fold(result, |result, other| {
            let joined = other.join();
            result.and(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    })?;
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_unstable_by_key(|&(piece, _)| piece);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn results_are_in_order_and_states_are_used() {
        for threads in [1, 2, 5] {
            let mut sums = vec![0; threads];
            let work = |sum: &mut usize, piece: usize| {
                *sum += piece;
                Ok(piece * piece)
            };
            let found = in_threads(&mut sums, 100, work).unwrap();
            assert_eq!(found, (0..100).map(|n| n * n).collect::<Vec<_>>());
            assert_eq!(sums.iter().sum::<usize>(), 4950);
        }
        let none = in_threads(&mut [(); 2], 0, |_, _| Ok(()));
        assert!(none.unwrap().is_empty());
    }

    #[test]
    fn an_error_comes_out() {
        let work = |_: &mut (), piece| match piece {
            7 => Err(Error::Interrupted),
            _ => Ok(()),
        };
        for threads in [1, 3] {
            let result = in_threads(&mut vec![(); threads], 20, work);
            assert_eq!(result, Err(Error::Interrupted));
        }
    }

    #[test]
    fn pieces_end_before_spaces() {
        let text = "one two, three\n four ".repeat(50);
        let ends = ends_of_pieces(text.as_bytes(), 30);
        assert!(ends.len() > 20 && ends.is_sorted());
        assert_eq!(ends.last(), Some(&text.len()));
        for &end in &ends[..ends.len() - 1] {
            assert!(matches!(text.as_bytes()[end], b' ' | b'\n'));
        }
        assert_eq!(ends_of_pieces(b"", 30), [0]);
    }
}
