use super::*;
use std::sync::atomic::AtomicUsize;
use std::sync::Arc;
use std::thread;

/// Value that counts how many of its kind exist.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::SeqCst);
        Counted(Arc::clone(alive))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn a_slot_has_one_value_or_none() {
    let slot = Slot::default();
    assert!(slot.take().is_none());
    assert!(slot.put(Box::new(1)).is_none());
    assert_eq!(slot.put(Box::new(2)).as_deref(), Some(&2));
    assert_eq!(slot.take().as_deref(), Some(&1));
    assert!(slot.take().is_none());
}

#[test]
fn what_a_pool_has_no_room_for_is_dropped() {
    let alive = Arc::default();
    let pool = Pool::default();
    for _ in 0..2 * kept() {
        pool.put(Box::new(Counted::new(&alive)));
    }
    assert_eq!(alive.load(Ordering::SeqCst), kept());
    let mut seen = 0;
    pool.each(|_| seen += 1);
    assert_eq!(seen, kept());
    drop(pool.take());
    assert_eq!(alive.load(Ordering::SeqCst), kept() - 1);
    drop(pool);
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

#[test]
fn what_is_lent_does_not_come_back_from_a_panic() {
    let pool = Pool::<Vec<u32>>::default();
    let panics = std::panic::AssertUnwindSafe(|| {
        pool.acquire(Default::default).push(7);
        let _half_changed = pool.acquire(Default::default);
        panic!("as a test");
    });
    assert!(std::panic::catch_unwind(panics).is_err());
    assert!(pool.take().is_none());
}

#[test]
fn what_is_lent_comes_back() {
    let pool = Pool::<Vec<u32>>::default();
    pool.acquire(Default::default).push(7);
    let (mut one, two) = (
        pool.acquire(Default::default),
        pool.acquire(Default::default),
    );
    assert_eq!((one.as_slice(), two.as_slice()), (&[7][..], &[][..]));
    one.push(8);
    drop(one);
    drop(two);
    assert_eq!(pool.take().as_deref(), Some(&vec![7, 8]));
}

#[test]
fn threads_never_have_the_same_value() {
    let pool = Pool::<usize>::default();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    *pool.acquire(Default::default) += 1;
                    pool.each(|_| ());
                }
            });
        }
    });
    let mut sum = 0;
    pool.each(|count| sum += count);
    assert_eq!(sum, 80_000);
}

#[test]
fn all_threads_get_the_value_that_stays() {
    for _ in 0..50 {
        let alive = Arc::default();
        let once = Once::new();
        let places: Vec<usize> = thread::scope(|scope| {
            let ask = || ptr::from_ref(once.get_or_init(|| Counted::new(&alive))).addr();
            let asking: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
            asking
                .into_iter()
                .filter_map(|one| one.join().ok())
                .collect()
        });
        assert_eq!(places, [places[0]; 4]);
        assert_eq!(alive.load(Ordering::SeqCst), 1);
        drop(once);
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    }
}
