//! Any bytes as RateLimit and RateLimit-Policy: no panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stagger_core::hint::{RateLimit, RateLimitPolicy, rate_limit_hint};

fuzz_target!(|input: (&[u8], &[u8])| {
    let limits = RateLimit::parse(input.0).unwrap_or_default();
    let policies = RateLimitPolicy::parse(input.1).unwrap_or_default();
    let _any = rate_limit_hint(&limits, &policies);
});
