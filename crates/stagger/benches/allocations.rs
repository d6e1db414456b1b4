//! The allocations of a clean call over the bare call, as JSON: `cargo xtask bench allocations`.
#![expect(unsafe_code, reason = "only an allocator sees allocations")]
#![expect(clippy::print_stdout, reason = "the output of the program")]

#[path = "../tests/allocations/counting.rs"]
mod counting;
#[path = "../tests/allocations/paths.rs"]
mod paths;

#[global_allocator]
static COUNTING: counting::TallyAllocator = counting::TallyAllocator;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows: Vec<_> = paths::counted()?.iter().map(counting::CountedPath::to_json).collect();
    println!("{}", serde_json::to_string(&rows)?);
    Ok(())
}
