//! Any bytes as Retry-After and its kin in ms: no panic, and digits are never shortened.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stagger_core::Span;
use stagger_core::hint::{WallTime, retry_after, retry_after_ms};

fuzz_target!(|bytes: &[u8]| {
    let _any = retry_after_ms(bytes);
    let hint = retry_after(bytes, Some(WallTime::from_unix_secs(1_795_824_000)));
    if let Some(secs) = core::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()) {
        if bytes.iter().all(u8::is_ascii_digit) {
            assert_eq!(hint, Some(Span::from_secs(secs)));
        }
    }
});
