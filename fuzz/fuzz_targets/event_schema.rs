//! Any JSON as the schema of an event type, and any payload: no panic, no endless work, and a violation that is bounded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use stagger_scheduler::model::{EventSchema, SchemaViolation};

fuzz_target!(|input: (&str, &[u8])| {
    let (schema, payload) = input;
    let Ok(document) = serde_json::from_str::<Value>(schema) else { return };
    let Ok(schema) = EventSchema::parse(&document) else { return };
    match schema.check(payload) {
        Ok(()) => assert!(serde_json::from_slice::<Value>(payload).is_ok()),
        Err(violation @ SchemaViolation::Keyword { .. }) => {
            assert!(violation.to_string().len() <= 2_000);
            assert_eq!(schema.check(payload), Err(violation));
        }
        Err(_) => {}
    }
});
