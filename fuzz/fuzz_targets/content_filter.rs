//! Any JSON as a filter on any payload: no panic, a filter is written as it was read, and the fields that one pass
//! finds are those of the payload read as a whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use stagger_scheduler::model::{ContentFilter, EventPattern, FieldPaths};

fuzz_target!(|input: (&str, &[u8], &str)| {
    let (filter, payload, pointer) = input;
    if let Ok(filter) = serde_json::from_str::<Value>(filter)
        && let Ok(filter) = ContentFilter::parse(&filter)
    {
        let paths = FieldPaths::of([&filter]);
        let passes = filter.passes(&paths.read(payload));
        let again = ContentFilter::parse(&filter.to_json()).expect("what was written");
        assert_eq!(again.passes(&FieldPaths::of([&again]).read(payload)), passes);
        assert!(filter.explain(&paths.read(payload)).len() <= 32);
    }
    if let Ok(filter) = ContentFilter::parse(&json!({"path": pointer, "exists": true}))
        && let Ok(whole) = serde_json::from_slice::<Value>(payload)
    {
        let paths = FieldPaths::of([&filter]);
        let fields = paths.read(payload);
        // A member that is named twice makes a difference: a whole value keeps the last one.
        if fields.is_readable() {
            assert_eq!(filter.passes(&fields), whole.pointer(pointer).is_some());
        }
    }
    if let Ok(pattern) = pointer.parse::<EventPattern>()
        && let Ok(event_type) = input.0.parse()
    {
        let _any = pattern.matches(&event_type);
    }
});
