//! The flags of `stagger storm` for runs over real sockets.

use std::net::SocketAddr;

use clap::{Args, ValueHint};
use stagger_core::Span;
use stagger_load::LoadBounds;

/// The bounds that flags can lower.
const BOUNDS: LoadBounds = LoadBounds::THIS_MACHINE;

/// A server to call, or to be, and the bounds of the calls.
#[derive(Debug, Args)]
pub(crate) struct LoadFlags {
    /// Play the callers in real time against a server of your own, and put the figures beside the lab's;
    /// plain HTTP, to this machine unless --yes-really names the host
    #[arg(
        long,
        value_name = "URL",
        value_hint = ValueHint::Url,
        conflicts_with_all = ["serve", "from_log", "sweep", "runs", "threads", "report", "pictures"],
    )]
    pub(crate) against: Option<String>,

    /// Allow --against to call exactly this host, which is not this machine and is yours
    #[arg(long, value_name = "HOST", requires = "against")]
    pub(crate) yes_really: Option<String>,

    /// Play the server of the scenario on a port of this machine, until Ctrl-C: its workers, its queue and
    /// its faults, from the first attempt of each run on
    #[arg(
        long,
        value_name = "ADDRESS",
        conflicts_with_all = ["from_log", "sweep", "runs", "threads", "report", "pictures", "format"],
    )]
    pub(crate) serve: Option<SocketAddr>,

    /// The most attempts in a second of --against [20000, and 1000 to another host]
    #[arg(long, value_name = "N", requires = "against",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(BOUNDS.rate)))]
    pub(crate) most_rate: Option<u32>,

    /// The most time of --against, all rows together [10m, and 2m to another host]
    #[arg(long, value_name = "TIME", requires = "against", value_parser = most_time)]
    pub(crate) most_time: Option<Span>,

    /// The most connections of --against at once [16384, and 1024 to another host]
    #[arg(long, value_name = "N", requires = "against",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(BOUNDS.connections)))]
    pub(crate) most_connections: Option<u32>,
}

impl LoadFlags {
    /// The flag that plays over sockets, if one is given.
    pub(crate) const fn given(&self) -> Option<&'static str> {
        match (&self.against, &self.serve) {
            (Some(_), _) => Some("--against"),
            (None, Some(_)) => Some("--serve"),
            (None, None) => None,
        }
    }
}

fn most_time(text: &str) -> Result<Span, String> {
    let time: Span = text.parse().map_err(|error| format!("must be {error}"))?;
    match time > Span::ZERO && time <= BOUNDS.time {
        true => Ok(time),
        false => Err(format!("must be above zero and at most {}", BOUNDS.time)),
    }
}
