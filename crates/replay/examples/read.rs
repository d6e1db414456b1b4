//! Reads a log and says what is in it, and how fast that was.
//!
//! `cargo run --release -p stagger-replay --example read -- access.log.gz`

use std::error::Error;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::{env, fs};

use stagger_replay::Reading;

#[expect(clippy::disallowed_methods, reason = "it measures itself")]
fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("one argument: the file to read")?;
    let began = std::time::Instant::now();
    let log = Reading::default().read(BufReader::with_capacity(1 << 20, File::open(&path)?))?;
    let took = began.elapsed().as_secs_f64();
    let mut out = io::stdout();
    writeln!(out, "{} lines of the format {}, {} malformed", log.lines, log.format, log.malformed)?;
    writeln!(out, "{} attempts, {} calls", log.attempts(), log.calls())?;
    for outage in log.outages() {
        writeln!(out, "{:?} at {} for {}", outage.kind, log.wall(outage.from), outage.length())?;
    }
    let bytes = fs::metadata(&path)?.len();
    // OK because a file is smaller than 2^53 bytes.
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let megabytes = bytes as f64 / 1e6;
    writeln!(out, "{megabytes:.0} MB in {took:.1} s: {:.0} MB/s", megabytes / took)?;
    Ok(())
}
