//! Every scenario that ships, by name.

use stagger_core::ConfigError;

use super::{
    Scenario, ScenarioCase, StormOptions, fleets, herd, hints, metastable, papers, published,
    pulse, ramps, services, spread,
};

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
    build: fn(&StormOptions) -> Result<Scenario, ConfigError>,
}

/// All of them, in the order of a list.
pub const CATALOGUE: &[Named] = &[
    Named {
        name: "contention",
        table: Some("L1"),
        about: "Writers contend for one row, as in the simulation that made full jitter known",
        build: published::contended,
    },
    Named {
        name: "tutorial",
        table: Some("L2"),
        about: "One caller every 2 ms or so, and an outage of 0.2 s: what a popular tutorial claims",
        build: published::tutorial,
    },
    Named {
        name: "lockstep",
        table: Some("L3"),
        about: "All callers fail at once, and the backend is up a little later",
        build: herd::lockstep,
    },
    Named {
        name: "noticed",
        table: Some("L4"),
        about: "1000 clients notice one failure, more or less at once",
        build: spread::noticed,
    },
    Named {
        name: "poisson",
        table: Some("L5"),
        about: "500 callers a second in a Poisson process, and outages from 0.2 to 30 s",
        build: spread::steady,
    },
    Named {
        name: "herd",
        table: Some("L6"),
        about: "Up to 10 000 clients fail at once and meet a backend that serves 1000 a second",
        build: herd::herd,
    },
    Named {
        name: "wave",
        table: Some("L7"),
        about: "503 for 5 s before a backend of 1000 a second: does the retry wave tip it?",
        build: metastable::refused,
    },
    Named {
        name: "stall",
        table: Some("L8"),
        about: "Nothing is served for 5 s, and the queue has no bound: who recovers?",
        build: metastable::stalled,
    },
    Named {
        name: "osdi22",
        table: Some("L9a"),
        about: "Most of the capacity is gone for a while, as in OSDI'22: who comes back?",
        build: papers::osdi22,
    },
    Named {
        name: "hotos25",
        table: Some("L9b"),
        about: "Queues bounded below and above capacity times timeout, as in HotOS'25",
        build: papers::hotos25,
    },
    Named {
        name: "failing",
        table: Some("L10"),
        about: "A share of all attempts fails: what retries, buckets and breakers gain and cost",
        build: papers::failing,
    },
    // Beyond the reference tables.
    Named {
        name: "layers",
        table: None,
        about: "Three services in a row that all retry: 27 attempts for a call, or 3 with the nested guard",
        build: services::layers,
    },
    Named {
        name: "retry-after",
        table: None,
        about: "10 000 clients are told to come back in 60 s, and the hint is true",
        build: hints::told,
    },
    Named {
        name: "viewers",
        table: None,
        about: "25 million players, and an origin that is away for 100 ms",
        build: hints::viewers,
    },
    Named {
        name: "webhooks",
        table: None,
        about: "300 000 deliveries have waited for an endpoint that is back",
        build: ramps::backlog,
    },
    Named {
        name: "shard",
        table: None,
        about: "One bad shard of 16: breakers by host refuse calls to the healthy ones",
        build: services::sharded,
    },
    Named {
        name: "hedge",
        table: None,
        about: "Second copies of slow calls, when the tail is slow and when everything is",
        build: herd::scenario,
    },
    Named {
        name: "fleet",
        table: None,
        about: "1000 processes with 500 tokens each, or all with the same 500, in a stall",
        build: fleets::fleet,
    },
    Named {
        name: "default-fleet",
        table: None,
        about: "1000 processes with the default budget in a stall: does the fleet recover?",
        build: fleets::default_fleet,
    },
    Named {
        name: "pulse",
        table: None,
        about: "1000 processes with the default budget in an outage that lasts: do their retries pulse?",
        build: pulse::scenario,
    },
    Named {
        name: "crash",
        table: None,
        about: "A crashed server's port refuses connections for 10 s: do refusals cost budget?",
        build: metastable::crashed,
    },
    Named {
        name: "restart",
        table: None,
        about: "10 000 clients wait for a service that starts cold",
        build: ramps::restart,
    },
    Named {
        name: "serverless",
        table: None,
        about: "A process for every call, so that no budget ever remembers anything",
        build: fleets::serverless,
    },
];

impl Named {
    /// The scenario of this name or of this table, whatever its case.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        let is = |own: &str| own.eq_ignore_ascii_case(name);
        CATALOGUE.iter().find(|named| is(named.name) || named.table.is_some_and(is))
    }

    /// Whether this scenario plays something else when an option does: `one` and `other` are two
    /// values of that option.
    ///
    /// For tests of what is declared about scenarios. Options that the scenario refuses are options
    /// that it reads.
    #[must_use]
    pub fn heeds(&self, one: &StormOptions, other: &StormOptions) -> bool {
        let cases = |options| self.scenario(options).map(|scenario| scenario.cases);
        match (cases(one), cases(other)) {
            (Ok(one), Ok(other)) => {
                let mut pairs = one.iter().zip(&other);
                one.len() != other.len() || pairs.any(|(one, other)| !one.is_same(other))
            }
            _ => true,
        }
    }

    /// The scenario, with what the user changed.
    ///
    /// # Errors
    /// A schedule that the engine refuses: a cap below the base, or no attempts.
    pub fn scenario(&self, options: &StormOptions) -> Result<Scenario, ConfigError> {
        let mut scenario = (self.build)(options)?;
        scenario.name = self.name.to_owned();
        scenario.about = self.about.to_owned();
        scenario.seed = options.seed.unwrap_or(scenario.seed);
        scenario.runs = options.runs.unwrap_or(scenario.runs);
        if !self.has_lesson(&scenario, options)? {
            scenario.lesson.clear();
        }
        Ok(scenario)
    }

    /// Whether the lesson is about this scenario: its figures are those of the cases that ship, so
    /// it would contradict the table of any other case.
    fn has_lesson(&self, scenario: &Scenario, asked: &StormOptions) -> Result<bool, ConfigError> {
        let shipped = StormOptions {
            laws: asked.laws.clone(),
            policies: asked.policies.clone(),
            ..StormOptions::default()
        };
        if *asked == (StormOptions { seed: asked.seed, runs: asked.runs, ..shipped.clone() }) {
            return Ok(true);
        }
        let shipped = (self.build)(&shipped)?.cases;
        let ships = |case: &ScenarioCase| shipped.iter().any(|other| case.is_same(other));
        Ok(scenario.cases.iter().all(ships))
    }
}

#[cfg(test)]
mod tests {
    use stagger_core::Span;

    use super::*;
    use crate::law::Law;

    #[test]
    fn an_option_that_changes_nothing_is_found_out() {
        let up_at =
            |ms| StormOptions { up_at: Some(Span::from_millis(ms)), ..StormOptions::default() };
        let heeds = |name, one: &StormOptions, other: &StormOptions| {
            Named::find(name).expect("it ships").heeds(one, other)
        };
        assert!(heeds("lockstep", &up_at(1), &up_at(2)));
        assert!(!heeds("contention", &up_at(1), &up_at(2)));
        let law = |law| StormOptions { laws: vec![law], ..StormOptions::default() };
        assert!(heeds("contention", &law(Law::Full), &law(Law::NoRetry)));
        assert!(!heeds("contention", &law(Law::Octave), &law(Law::NoRetry)));
    }
}
