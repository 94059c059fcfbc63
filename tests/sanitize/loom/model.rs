//! Every order in which two or three threads can meet in `lock_free.rs`, and every value that the
//! memory model lets them read; built and run by `orders`, beside this folder.

mod lock_free;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use lock_free::{Once, Pool, Slot};

/// Loom's pointer, with what `lock_free.rs` asks of the standard library's beside it.
pub mod atomic {
    pub use loom::sync::atomic::Ordering;

    pub struct AtomicPtr<T>(loom::sync::atomic::AtomicPtr<T>);

    impl<T> AtomicPtr<T> {
        pub fn new(place: *mut T) -> Self {
            AtomicPtr(loom::sync::atomic::AtomicPtr::new(place))
        }

        pub fn get_mut(&mut self) -> Box<*mut T> {
            Box::new(self.0.with_mut(|place| *place))
        }
    }

    impl<T> std::ops::Deref for AtomicPtr<T> {
        type Target = loom::sync::atomic::AtomicPtr<T>;

        fn deref(&self) -> &Self::Target {
            &self.0
        }
    }
}

/// A value whose every access loom sees: two at a time, or one that does not know of the other,
/// end the program. Loom also tells of one that is never dropped.
struct Value(UnsafeCell<usize>, Arc<()>);

// A test's: who has the value has it alone.
unsafe impl Send for Value {}
unsafe impl Sync for Value {}

impl Value {
    fn new(number: usize) -> Self {
        Value(UnsafeCell::new(number), Arc::new(()))
    }

    fn add(&mut self) -> usize {
        self.0.with_mut(|number| unsafe {
            *number += 1;
            *number
        })
    }

    fn get(&self) -> usize {
        self.0.with(|number| unsafe { *number })
    }
}

fn all_orders(model: impl Fn() + Send + Sync + 'static) -> usize {
    let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&count);
    loom::model(move || {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        model();
    });
    count.load(std::sync::atomic::Ordering::Relaxed)
}

/// One value, which threads take, change and give back.
fn a_slot() {
    let slot = Arc::new(Slot::default());
    assert!(slot.put(Box::new(Value::new(0))).is_none());
    let use_it = |slot: &Slot<Value>| {
        if let Some(mut value) = slot.take() {
            value.add();
            assert!(slot.put(value).is_none());
        }
    };
    let other = Arc::clone(&slot);
    let thread = thread::spawn(move || use_it(&other));
    use_it(&slot);
    thread.join().unwrap();
    assert!((1..=2).contains(&slot.take().unwrap().get()));
}

/// Threads that put values into one place: one stays, the others come back whole.
fn two_into_a_slot() {
    let slot = Arc::new(Slot::default());
    let other = Arc::clone(&slot);
    let thread = thread::spawn(move || other.put(Box::new(Value::new(1))).map(|back| back.get()));
    let back = slot.put(Box::new(Value::new(2))).map(|back| back.get());
    let theirs = thread.join().unwrap();
    let stays = slot.take().unwrap().get();
    assert!(matches!((back, theirs, stays), (None, Some(1), 2) | (Some(2), None, 1)));
}

/// Values that are lent, and looked at meanwhile.
fn a_pool() {
    let pool = Arc::new(Pool::default());
    let threads: Vec<_> = (0..2)
        .map(|number| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                pool.acquire(|| Value::new(10 * number)).add();
            })
        })
        .collect();
    pool.each(|value: &Value| assert!(value.get() % 10 > 0));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let mut uses = 0;
    pool.each(|value| uses += value.get() % 10);
    // Whoever found the place taken made a value of its own; none of the uses is lost.
    assert_eq!(uses, 2);
}

/// All get the same value, and see all of it.
fn once() {
    let once = Arc::new(Once::new());
    let ask = |once: &Once<Value>, number| {
        let value = once.get_or_init(|| Value::new(number));
        (std::ptr::from_ref(value).addr(), value.get())
    };
    let threads: Vec<_> = (1..3)
        .map(|number| {
            let once = Arc::clone(&once);
            thread::spawn(move || ask(&once, number))
        })
        .collect();
    let mine = ask(&once, 0);
    for thread in threads {
        assert_eq!(thread.join().unwrap(), mine);
    }
}

fn main() {
    for (name, model) in [
        ("a slot", a_slot as fn()),
        ("two into a slot", two_into_a_slot),
        ("a pool", a_pool),
        ("once", once),
    ] {
        println!("{name}: {} orders", all_orders(model));
    }
}
