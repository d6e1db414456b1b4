//! The functions that a page calls: plain numbers in, one text out of linear memory.
//!
//! `stagger_laws`, `stagger_play`, `stagger_outage` and `stagger_outage_file` make a text and return its length in
//! bytes; `stagger_text` returns its address, until the next call. Functions of numbers need no generator of
//! bindings, so the page can be built with a compiler alone.

use std::sync::{Mutex, PoisonError};

use stagger_sim::Law;

use crate::knobs::Knobs;
use crate::outage::{OutageKind, OutageKnobs};
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

/// Plays an outage under a steady load and makes its [`Picture`], as JSON; an object with an `error` if it cannot be.
#[expect(unsafe_code, reason = "the page finds it by its name, which nothing else here has")]
#[unsafe(no_mangle)]
pub extern "C" fn stagger_outage(
    trouble: u32,
    lasts_ms: u32,
    load: u32,
    law: u32,
    base_ms: u32,
    attempts: u32,
    timeout_ms: u32,
    budget_percent: u32,
    breaker_ms: u32,
    queue: u32,
    seed: u32,
) -> usize {
    let (trouble, law) = chosen(trouble, law);
    keep(Picture::outage_json(&OutageKnobs {
        trouble,
        lasts_ms,
        load,
        law,
        base_ms,
        attempts,
        timeout_ms,
        budget_percent,
        breaker_ms,
        queue,
        seed,
    }))
}

/// Makes the scenario file of the same outage, which `stagger storm FILE` plays.
#[expect(unsafe_code, reason = "the page finds it by its name, which nothing else here has")]
#[unsafe(no_mangle)]
pub extern "C" fn stagger_outage_file(
    trouble: u32,
    lasts_ms: u32,
    load: u32,
    law: u32,
    base_ms: u32,
    attempts: u32,
    timeout_ms: u32,
    budget_percent: u32,
    breaker_ms: u32,
    queue: u32,
    seed: u32,
) -> usize {
    let (trouble, law) = chosen(trouble, law);
    let knobs = OutageKnobs {
        trouble,
        lasts_ms,
        load,
        law,
        base_ms,
        attempts,
        timeout_ms,
        budget_percent,
        breaker_ms,
        queue,
        seed,
    };
    keep(knobs.file())
}

/// The trouble and the law at these places of their lists; the first trouble and full jitter beyond them.
fn chosen(trouble: u32, law: u32) -> (OutageKind, Law) {
    let trouble = usize::try_from(trouble).ok().and_then(|place| OutageKind::ALL.get(place));
    let law = usize::try_from(law).ok().and_then(|place| OutageKnobs::LAWS.get(place));
    (trouble.copied().unwrap_or(OutageKind::Stall), law.copied().unwrap_or(Law::Full))
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
