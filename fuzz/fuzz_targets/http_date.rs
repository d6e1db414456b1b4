//! Any bytes as an HTTP-date, at any time: no panic, and no date beyond year 9999.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stagger_core::hint::{WallTime, http_date};

fuzz_target!(|input: (i64, &[u8])| {
    let (now, bytes) = input;
    if let Some(date) = http_date(bytes, Some(WallTime::from_unix_secs(now))) {
        assert!(date.unix_secs() <= 253_402_300_800);
    }
});
