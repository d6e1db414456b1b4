//! Any text as a secret: no panic, a key that is accepted has a length, and is written as it was read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stagger_dispatch::model::Secret;
use stagger_dispatch::sign::Verifier;

fuzz_target!(|text: &str| {
    let _any = Verifier::parse([text]);
    if let Ok(secret) = Secret::parse(text) {
        assert!((16..=64).contains(&secret.key.len()));
        assert_eq!(Secret::parse(&secret.to_text()), Ok(secret));
    }
});
