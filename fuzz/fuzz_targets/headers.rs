//! Any bytes under the names that are read: no panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stagger_core::hint::{HintReader, WallTime};

const NAMES: [&str; 6] =
    ["date", "retry-after", "retry-after-ms", "ratelimit", "ratelimit-policy", "x-ratelimit-reset"];

fuzz_target!(|input: (i64, Vec<(u8, &[u8])>)| {
    let (now, lines) = input;
    let lines = lines.iter().map(|&(n, value)| (NAMES[usize::from(n) % NAMES.len()], value));
    let _any = HintReader::new().read(lines, Some(WallTime::from_unix_secs(now)));
});
