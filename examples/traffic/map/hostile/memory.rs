//! How much memory a call takes at its peak, by an allocator that counts for each thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread has taken and not given back. What it gives back for others makes it
    /// negative.
    static TAKEN: Cell<i64> = const { Cell::new(0) };
    static MOST: Cell<i64> = const { Cell::new(0) };
}

/// The most bytes that `call` had at once on this thread.
pub fn peak<R>(call: impl FnOnce() -> R) -> (R, u64) {
    let before = TAKEN.get();
    MOST.set(before);
    let result = call();
    (result, (MOST.get() - before).max(0) as u64)
}

/// The system's allocator, with a count of the bytes.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(bytes: i64) {
    // Threads that end may allocate after their counters are gone.
    let _ = TAKEN.try_with(|taken| {
        taken.set(taken.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(taken.get())));
    });
}

// SAFETY: hands everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }

    /// Counts the old and the new piece together, as when it cannot grow where it is.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64);
        count(-(layout.size() as i64));
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[test]
fn the_peak_is_seen_after_it_is_over() {
    let ((), peak) = peak(|| {
        let first = vec![0_u8; 1 << 20];
        drop(first);
        drop(vec![0_u8; 1 << 10]);
    });
    assert!((1 << 20..(1 << 20) + 4_096).contains(&peak), "{peak}");
}
