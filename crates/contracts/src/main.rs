//! Prints the grid: Markdown, or JSON with `--json`. Exit 1 on a failed or an empty cell.

use std::io::Write;
use std::process::ExitCode;

use stagger_contracts::grid;

#[tokio::main]
async fn main() -> ExitCode {
    let grid = grid().await;
    let text = match std::env::args().any(|arg| arg == "--json") {
        true => serde_json::to_string_pretty(&grid).unwrap_or_default() + "\n",
        false => grid.to_string(),
    };
    let written = std::io::stdout().write_all(text.as_bytes());
    for failure in grid.failures() {
        _ = writeln!(std::io::stderr(), "FAILED {failure}");
    }
    if grid.is_good() && written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
