//! Any text as a secret: no panic, a key that is accepted has a length, and is written as it was read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stagger_sender::{Verifier, parse_secret, secret_text};

fuzz_target!(|text: &str| {
    let _any = Verifier::parse([text]);
    if let Ok(secret) = parse_secret(text) {
        assert!((16..=64).contains(&secret.key.len()));
        assert_eq!(parse_secret(&secret_text(&secret)), Ok(secret));
    }
});
