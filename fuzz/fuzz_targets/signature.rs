//! Any text in the headers of a signed message: no panic, and nothing passes that was not signed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stagger_core::{Instant, Span};
use stagger_sender::{Received, Rejection, TOLERANCE, Verifier};

const KEYS: [&str; 2] =
    ["whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFg==", "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="];

fuzz_target!(|input: (&str, &str, &str, &[u8])| {
    let (id, timestamp, signature, body) = input;
    let verifier = Verifier::parse(KEYS).expect("two keys");
    let now = Instant::ORIGIN + Span::from_secs(1_700_000_000);
    let ours = verifier.verify(&Received { id, timestamp, signature, body }, now, TOLERANCE);
    assert!(ours.is_err());
    let fresh = Received { id, timestamp: "1700000000", signature, body };
    assert_eq!(verifier.verify(&fresh, now, TOLERANCE), Err(Rejection::Signature));
});
