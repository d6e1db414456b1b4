//! Prints what Google's conformance suite for retries came to, as a JSON list of one suite.

use std::io::Write;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let suites = [stagger_contracts::gcs_retry().await];
    let text = serde_json::to_string(&suites).unwrap_or_default();
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
