//! The functions that a page calls: plain numbers in, one text out of linear memory.
//!
//! `stagger_laws` and `stagger_play` make a text and return its length in bytes; `stagger_text` returns
//! its address, until the next call. Three functions of numbers need no generator of bindings, so the
//! page can be built with a compiler alone.

use std::sync::{Mutex, PoisonError};

use stagger_sim::Law;

use crate::knobs::Knobs;
use crate::picture::{self, Picture};

/// The text that was made last. A page has one thread, so the lock never waits.
static TEXT: Mutex<String> = Mutex::new(String::new());

/// Makes the names of the laws, a JSON array; [`stagger_play`] takes a law by its place in it.
#[expect(unsafe_code, reason = "the page finds it by its name, which nothing else here has")]
#[unsafe(no_mangle)]
pub extern "C" fn stagger_laws() -> usize {
    keep(picture::laws())
}

/// Plays a herd and makes its [`Picture`], as JSON; an object with an `error` if it cannot be.
#[expect(unsafe_code, reason = "the page finds it by its name, which nothing else here has")]
#[unsafe(no_mangle)]
pub extern "C" fn stagger_play(
    law: u32,
    base_ms: u32,
    cap_ms: u32,
    attempts: u32,
    outage_ms: u32,
    callers: u32,
    beside: u32,
    seed: u32,
) -> usize {
    let law = picture::law(law).unwrap_or(Law::Full);
    keep(Picture::json(&Knobs { law, base_ms, cap_ms, attempts, outage_ms, callers, beside, seed }))
}

/// The address of the text.
#[expect(unsafe_code, reason = "the page finds it by its name, which nothing else here has")]
#[unsafe(no_mangle)]
pub extern "C" fn stagger_text() -> *const u8 {
    TEXT.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}

fn keep(made: String) -> usize {
    let mut text = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    *text = made;
    text.len()
}
