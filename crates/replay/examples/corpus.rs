//! The corpus of logs whose truth is known, and how far a replay of each is off, as JSON.
//!
//! `cargo run --release -p stagger-replay --example corpus [NAME]...`
#![allow(clippy::print_stdout, reason = "an example")]

#[path = "../corpus/mod.rs"]
mod corpus;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let is_asked = |name: &str| asked.is_empty() || asked.iter().any(|asked| asked == name);
    let logs = corpus::logs().into_iter().filter(|log| is_asked(log.name));
    let rows: Vec<corpus::CorpusRow> = logs.map(|log| log.check()).collect();
    println!("{}", serde_json::to_string_pretty(&rows)?);
    Ok(())
}
