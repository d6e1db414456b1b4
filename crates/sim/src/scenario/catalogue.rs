//! Every scenario that ships, by name.

use stagger_core::ConfigError;

use super::story::{Options, Scenario};
use super::{backlog, fleet, hedged, layers, restart, serverless, sharded, told, viewers};
use super::{contended, lockstep};

/// A scenario that ships.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// Its name on the command line.
    pub name: &'static str,
    /// The table of the reference that it reproduces: `L3`.
    pub table: Option<&'static str>,
    /// One line about it.
    pub about: &'static str,
    /// Makes it.
    build: fn(&Options) -> Result<Scenario, ConfigError>,
}

/// All of them, in the order of a list.
pub const CATALOGUE: &[Named] = &[
    Named {
        name: "contention",
        table: Some("L1"),
        about: "Writers contend for one row, as in the simulation that made full jitter known",
        build: contended::scenario,
    },
    Named {
        name: "lockstep",
        table: Some("L3"),
        about: "All callers fail at once, and the backend is up a little later",
        build: lockstep::scenario,
    },
    // Beyond the reference tables.
    Named {
        name: "layers",
        table: None,
        about: "Three services in a row that all retry: 27 attempts for a call, or 3 with the nested guard",
        build: layers::scenario,
    },
    Named {
        name: "retry-after",
        table: None,
        about: "10 000 clients are told to come back in 60 s, and the hint is true",
        build: told::scenario,
    },
    Named {
        name: "viewers",
        table: None,
        about: "25 million players, and an origin that is away for 100 ms",
        build: viewers::scenario,
    },
    Named {
        name: "webhooks",
        table: None,
        about: "300 000 deliveries have waited for an endpoint that is back",
        build: backlog::scenario,
    },
    Named {
        name: "shard",
        table: None,
        about: "One bad shard of 16: breakers by host refuse calls to the healthy ones",
        build: sharded::scenario,
    },
    Named {
        name: "hedge",
        table: None,
        about: "Second copies of slow calls, when the tail is slow and when everything is",
        build: hedged::scenario,
    },
    Named {
        name: "fleet",
        table: None,
        about: "1000 processes with 500 tokens each, or all with the same 500, in a stall",
        build: fleet::scenario,
    },
    Named {
        name: "restart",
        table: None,
        about: "10 000 clients wait for a service that starts cold",
        build: restart::scenario,
    },
    Named {
        name: "serverless",
        table: None,
        about: "A process for every call, so that no budget ever remembers anything",
        build: serverless::scenario,
    },
];

impl Named {
    /// The scenario of this name or of this table, whatever its case.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        let is = |own: &str| own.eq_ignore_ascii_case(name);
        CATALOGUE.iter().find(|named| is(named.name) || named.table.is_some_and(is))
    }

    /// The scenario, with what the user changed.
    ///
    /// # Errors
    /// A schedule that the engine refuses: a cap below the base, or no attempts.
    pub fn scenario(&self, options: &Options) -> Result<Scenario, ConfigError> {
        let mut scenario = (self.build)(options)?;
        scenario.name = self.name.to_owned();
        scenario.about = self.about.to_owned();
        scenario.seed = options.seed.unwrap_or(scenario.seed);
        scenario.runs = options.runs.unwrap_or(scenario.runs);
        Ok(scenario)
    }
}
