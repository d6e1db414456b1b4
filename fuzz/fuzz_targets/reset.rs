//! Any bytes as a reset header, at any time: no panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stagger_core::hint::{ResetMeaning, WallTime, rate_limit_reset};

fuzz_target!(|input: (i64, &[u8])| {
    let (now, bytes) = input;
    let now = Some(WallTime::from_unix_secs(now));
    let auto = rate_limit_reset(bytes, ResetMeaning::Auto, now);
    assert_eq!(auto.is_some(), rate_limit_reset(bytes, ResetMeaning::EpochMillis, now).is_some());
});
