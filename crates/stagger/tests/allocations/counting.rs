//! An allocator that counts for each thread, and the cheapest of many runs.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use serde_json::{Value, json};

/// The system's allocator with a tally of what was asked of it.
pub(crate) struct TallyAllocator;

thread_local! {
    static ASKED: Cell<Allocated> = const { Cell::new(Allocated { calls: 0, bytes: 0 }) };
}

/// Calls to the allocator, and the bytes that they asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Allocated {
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
}

// SAFETY: every call is handed on unchanged to the system's allocator, which keeps the contract;
// the counter is plain thread-local data that never allocates.
unsafe impl GlobalAlloc for TallyAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Allocated { calls, bytes } = ASKED.get();
        // OK because no target has pointers of more than 64 bits.
        ASKED.set(Allocated { calls: calls + 1, bytes: bytes + layout.size() as u64 });
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

/// A path of a clean call, with what it asks for over the bare call.
#[derive(Debug)]
pub(crate) struct CountedPath {
    pub(crate) path: &'static str,
    pub(crate) allocations: i64,
    bytes: i64,
}

impl CountedPath {
    pub(crate) fn new(path: &'static str, bare: Allocated, call: Allocated) -> Self {
        let signed = |count: u64| i64::try_from(count).expect("far below 2^63");
        let over = |call: u64, bare: u64| signed(call) - signed(bare);
        let (allocations, bytes) = (over(call.calls, bare.calls), over(call.bytes, bare.bytes));
        Self { path, allocations, bytes }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({ "path": self.path, "allocations": self.allocations, "bytes": self.bytes })
    }
}

/// Runs before the counted ones: they make the ledgers, the connections and the buffers that later calls use again.
const WARM_UP: usize = 5;
/// Counted runs. A connection may grow a buffer in one of them.
const RUNS: usize = 30;

/// The cheapest of many runs.
pub(crate) fn cheapest(mut run: impl FnMut()) -> Allocated {
    (0..WARM_UP).for_each(|_| run());
    let counted = (0..RUNS).map(|_| {
        let before = ASKED.get();
        run();
        let after = ASKED.get();
        Allocated { calls: after.calls - before.calls, bytes: after.bytes - before.bytes }
    });
    counted.min().expect("there are runs")
}
