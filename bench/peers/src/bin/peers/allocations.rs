//! An allocator that counts for each thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator with a tally of what was asked of it.
pub(crate) struct Counting;

#[expect(unsafe_code, reason = "counting allocations needs a global allocator; it only forwards")]
// SAFETY: every call is forwarded to the system's allocator with the layout it came with.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `block` came from `alloc` above with this layout.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Counts the allocations of `work`.
pub(crate) fn of(work: impl FnOnce()) -> u64 {
    let before = CALLS.get();
    work();
    CALLS.get() - before
}
