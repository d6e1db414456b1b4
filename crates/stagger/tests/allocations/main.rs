//! The allocations of a clean call, on every path of the library, stay what they are.
#![expect(unsafe_code, reason = "only an allocator sees allocations")]

mod counting;
mod paths;

#[global_allocator]
static COUNTING: counting::TallyAllocator = counting::TallyAllocator;

/// The most that each path may ask for.
const MOST: [(&str, i64); 15] = [
    ("closure, ready", 0),
    ("closure, pending", 0),
    ("closure, pending, with deadline and time limit", 0),
    ("closure, blocking", 0),
    ("closure with report", 0),
    ("closure, hedged, ready", 1),
    ("closure, hedged, pending", 1),
    ("tower", 0),
    ("tower http", 0),
    // The future, and what the attempts share; then the header that tells the server of the time.
    ("tonic", 2),
    ("tonic, service config with timeout", 3),
    // A copy of the URL, for further attempts.
    ("reqwest", 1),
    ("reqwest, with time limit", 1),
    // Then the reply around a body that has arrived: its body, its URL's place, and the mark that brings the URL there.
    ("reqwest, with deadline and time limit", 4),
    // The copy of the URL; and a chain boxes two futures.
    ("reqwest-middleware", 3),
];

#[test]
fn a_clean_call_allocates_no_more_than_it_did() -> Result<(), Box<dyn std::error::Error>> {
    let counted = paths::counted()?;
    assert_eq!(counted.len(), MOST.len());
    for (counted, (path, most)) in counted.iter().zip(MOST) {
        assert_eq!(counted.path, path);
        assert!(counted.allocations <= most, "{} above {most}", counted.to_json());
    }
    Ok(())
}
