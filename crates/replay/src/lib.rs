//! Access logs in the storm lab of stagger: what was observed, and what other policies would have
//! done.
//!
//! [`Reading`] reads a log of nginx, Apache or Envoy, CSV or JSON lines in one pass and bounded
//! memory, tells first attempts from retries, and finds the outages in it. [`Replay`] plays the
//! same calls and outages under other policies, and puts what was observed beside it.
//!
//! ```
//! use stagger_replay::{Reading, Replay};
//! use stagger_sim::{ThreadPool, Law, StormOptions};
//! let mut csv = String::from("time,status,id\n");
//! for call in 0..2_000_u64 {
//!     // A call every 10 ms; those of two seconds fail, and come again once after 100 ms.
//!     let at = 1_700_000_000_000 + 10 * call;
//!     let is_down = (400..600).contains(&call);
//!     csv += &format!("{at},{},{call}\n", if is_down { 503 } else { 200 });
//!     if is_down {
//!         csv += &format!("{},{},{call}\n", at + 100, if call < 590 { 503 } else { 200 });
//!     }
//! }
//! let log = Reading::default().read(csv.as_bytes())?;
//! let options = StormOptions { laws: vec![Law::Full], runs: Some(3), ..StormOptions::default() };
//! let report = Replay::new(&log, &options, None)?.run(&ThreadPool::single());
//! let [observed, no_retry, full] = &report.cases[0].rows[..] else { panic!("three rows") };
//! assert!((observed.amplification - 1.1).abs() < 0.001);
//! assert!(no_retry.success < observed.success && observed.success < full.success);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod access_log;
mod attempt_collector;
mod cells;
mod decimal;
mod error;
mod excerpt;
mod failing;
mod format;
mod lines;
mod logged_attempt;
mod logged_outcome;
mod observed;
mod open_calls;
mod outage;
mod reading;
mod replay;
mod slow;
mod spread;
mod stamp;
mod unit;
mod unpacked;
mod words;

pub use access_log::{AccessLog, MemoryPeak};
pub use error::{BadLine, ReadError};
pub use format::{AccessLogFormat, LogMap};
pub use logged_attempt::{CallerIdentity, LoggedAttempt};
pub use logged_outcome::LoggedOutcome;
pub use observed::OBSERVED;
pub use open_calls::RetryEvidence;
pub use outage::{InferredOutage, OutageKind};
pub use reading::Reading;
pub use replay::Replay;
pub use stamp::Stamp;
