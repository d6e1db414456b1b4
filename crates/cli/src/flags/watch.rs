//! The flags of `stagger watch`.

use std::net::SocketAddr;

use clap::{Args, ValueEnum, ValueHint};
use stagger_core::Span;
use stagger_replay::{AccessLogFormat as LogFormat, LogMap};

use super::exec::time;
use super::storm::{log_format, log_map};

/// The end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  stagger watch /var/log/nginx/access.log       follow a log, rotation included
  stagger watch --once access.log               read what is there, and end
  zcat access.log.2.gz | stagger watch -        the same from standard input
  stagger watch http://127.0.0.1:9901/stats/prometheus   counters of Envoy, gRPC or stagger
  stagger watch --exit-on-storm --format json access.log   for a script

Exit codes:
  0 no storm    3 a storm was seen    130 Ctrl-C, when no storm was seen
  2 wrong flags, or a source that cannot be read";

/// The flags of `stagger watch`.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)] // so that -1 is refused as a value and not as a flag
pub(crate) struct WatchFlags {
    /// An access log, - for standard input, or the URL of a page of Prometheus counters
    #[arg(value_name = "LOG|-|URL", value_hint = ValueHint::FilePath)]
    pub(crate) source: String,

    /// Read the log from its start to its end, and end there
    #[arg(long)]
    pub(crate) once: bool,

    /// Read what is in the log already, and follow it from there [follow from its end]
    #[arg(long, conflicts_with = "once")]
    pub(crate) from_start: bool,

    /// End with code 3 as soon as a storm is on
    #[arg(long)]
    pub(crate) exit_on_storm: bool,

    /// The stretch that every verdict is about, in whole seconds up to 60s
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "5s")]
    pub(crate) window: Span,

    /// The attempts a call from which on a storm is reported, from 1.1 on
    #[arg(long, value_name = "N", default_value_t = 1.4)]
    pub(crate) attempts_a_call: f64,

    /// The fewest retries in the window that make a storm, at least 5
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) least_retries: u32,

    /// The format of the log [told by its first lines]
    #[arg(long, value_name = "FORMAT", value_parser = log_format())]
    pub(crate) log_format: Option<LogFormat>,

    /// Columns of CSV or JSON lines, as in time=ts,status=code,id=req,attempt=try
    #[arg(long, value_name = "MAP", value_parser = log_map)]
    pub(crate) log_map: Option<LogMap>,

    /// The time between two looks at a page of counters, from 100ms to 60s
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1s")]
    pub(crate) scrape_every: Span,

    /// The counter of attempts on the page [that of stagger, Envoy or gRPC]
    #[arg(long, value_name = "NAME")]
    pub(crate) attempts_counter: Option<String>,

    /// The counter of calls beside it
    #[arg(long, value_name = "NAME", requires = "attempts_counter")]
    pub(crate) calls_counter: Option<String>,

    /// The counter of retries beside it, where calls are not counted
    #[arg(
        long,
        value_name = "NAME",
        requires = "attempts_counter",
        conflicts_with = "calls_counter"
    )]
    pub(crate) retries_counter: Option<String>,

    /// The form of the reports
    #[arg(long, value_enum, default_value_t = WatchFormat::Text)]
    pub(crate) format: WatchFormat,

    /// Serve the figures to Prometheus at /metrics: a port of this machine, or an address with a port
    #[arg(long, value_name = "PORT|ADDR", value_parser = address)]
    pub(crate) metrics: Option<SocketAddr>,
}

/// The form of the reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WatchFormat {
    /// Lines for people
    Text,
    /// A line of JSON for each report
    Json,
}

/// A port alone is one of this machine: other machines are served only when their address is named.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    text.parse().map_err(|_| "must be a port, or an address with a port: 127.0.0.1:9464".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_of_this_machine() {
        assert_eq!(address("9464").unwrap(), SocketAddr::from(([127, 0, 0, 1], 9_464)));
        assert_eq!(address("0.0.0.0:1").unwrap(), SocketAddr::from(([0, 0, 0, 0], 1)));
        assert_eq!(address("[::1]:9464").unwrap().port(), 9_464);
        assert!(address("localhost").is_err() && address("65536").is_err());
    }
}
