//! Any bytes as pushback: no panic, and a hint in every case.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stagger_core::hint::pushback;

fuzz_target!(|bytes: &[u8]| assert!(pushback([bytes]).is_some()));
