//! An allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static CALLS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// The system's allocator with a tally of what was asked of it. Only one thread measures.
pub(crate) struct Counting;

// Growing in place is counted like a fresh allocation, by the trait's own `realloc`.
#[expect(unsafe_code, reason = "counting allocations needs a global allocator; it only forwards")]
// SAFETY: every call is forwarded to the system's allocator with the layout it came with.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Relaxed);
        BYTES.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: `ptr` came from `alloc` above with this layout.
        unsafe { System.dealloc(ptr, layout) }
    }
}

/// Allocations of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tally {
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
}

/// Runs `op` once and counts; dropping its answer is not counted.
pub(crate) fn of<T>(mut op: impl FnMut() -> T) -> Tally {
    let (calls, bytes) = (CALLS.load(Relaxed), BYTES.load(Relaxed));
    let answer = op();
    let tally = Tally { calls: CALLS.load(Relaxed) - calls, bytes: BYTES.load(Relaxed) - bytes };
    drop(answer);
    tally
}
