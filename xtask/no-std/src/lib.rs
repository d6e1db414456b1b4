//! A program without the standard library that uses the engine.
//!
//! It brings its own panic handler. If the standard library were anywhere among the dependencies,
//! there would be two of them, and the compiler would refuse this crate (E0152, `panic_impl`).

#![no_std]

extern crate alloc;

use alloc::string::ToString;
use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;
use core::ptr::null_mut;

use stagger_core::{Entropy, Span};

/// Never called: the proof is that this compiles.
#[unsafe(no_mangle)]
pub extern "C" fn stagger_no_std() -> usize {
    let mut highest = || u64::MAX;
    highest.draw(Span::ZERO, Span::from_secs(1)).to_string().len()
}

#[panic_handler]
fn halt(_: &PanicInfo<'_>) -> ! {
    loop {}
}

struct NoMemory;

// SAFETY: a null pointer is the contract's way to say that there is no memory.
unsafe impl GlobalAlloc for NoMemory {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ALLOCATOR: NoMemory = NoMemory;
