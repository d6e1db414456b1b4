//! The cast of the crash test: the trouble of each endpoint, that of the dispatcher, and the flags that
//! choose them.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};
use stagger_core::Entropy;
use stagger_testkit::Mix;
use xtask_workbench::Format;

use super::checks::{Cap, HOLD};
use crate::rig::{Marker, Reaction, StoreKind};

/// Types of messages; the second is for the endpoints that want few.
const ALL_TYPES: &str = "load.test";

const SELDOM: &str = "load.seldom";

/// One message in so many is of the second type.
const ONE_IN: usize = 16;

/// Attempts a second at the endpoint with a cap: twice what it gets, so that it catches up after trouble.
const RATE: u32 = 50;

/// The burst that the dispatcher allows an endpoint with a cap: a tenth of a second's worth.
const SLACK: Duration = Duration::from_millis(100);

/// The role of an endpoint; its number is its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Always well.
    Steady,
    /// Fails now and then, or says nothing and closes.
    Flaky,
    /// Is slow now and then.
    Slow,
    /// Refuses some messages for good.
    Picky,
    /// Gets its messages in order, and has outages that open its breaker.
    Ordered,
    /// Has a cap on its rate.
    Capped,
    /// Is down until the end, so that its breaker is open.
    Down,
}

impl Role {
    pub(super) const ALL: [Self; 7] = [
        Self::Steady,
        Self::Flaky,
        Self::Slow,
        Self::Picky,
        Self::Ordered,
        Self::Capped,
        Self::Down,
    ];

    /// Those that one node is shown, and those that several are.
    pub(super) fn of(nodes: usize) -> &'static [Self] {
        if nodes > 1 { &Self::ALL } else { &Self::ALL[..5] }
    }

    /// The type of a message.
    pub(super) const fn event_type(Marker(marker): Marker) -> &'static str {
        if marker.is_multiple_of(ONE_IN) { SELDOM } else { ALL_TYPES }
    }

    /// Whether it gets a message.
    pub(super) const fn wants(self, Marker(marker): Marker) -> bool {
        !self.is_seldom() || marker.is_multiple_of(ONE_IN)
    }

    const fn is_seldom(self) -> bool {
        matches!(self, Self::Capped | Self::Down)
    }

    /// The cap that its endpoint has.
    pub(super) fn cap() -> Cap {
        let interval = Duration::from_secs(1) / RATE;
        Cap::new(interval, SLACK - interval)
    }

    /// Settings with delays so short that everything is finished soon.
    pub(super) fn settings(self, url: &str) -> Value {
        // Whoever is down is so as briefly as not, so that a second probe would meet the first.
        let open_cap = if self == Self::Down { "200ms" } else { "400ms" };
        let policy = json!({
            "backoff": { "base": "20ms", "cap": "300ms" },
            "limits": { "max_attempts": 1000, "attempt_timeout": "2s" },
            "budget": "unlimited",
            "breaker": { "consecutive": 5, "open_time": "100ms", "open_cap": open_cap },
        });
        let recovery = json!({ "from": 1, "rate": 5000, "over": "1s" });
        let mut settings =
            json!({ "url": url, "policy": policy, "timeout": "2s", "recovery": recovery });
        match self {
            Self::Picky => settings["permanent"] = json!([422]),
            Self::Ordered => settings["ordered"] = true.into(),
            Self::Capped => settings["rate"] = RATE.into(),
            _ => {}
        }
        if self.is_seldom() {
            settings["events"] = json!([SELDOM]);
        }
        settings
    }

    /// The reaction to an attempt, failing until it is healed at the end; the same for the same
    /// seed, message and attempt.
    pub(super) fn reaction(self, seed: u64, Marker(marker): Marker, attempt: u64) -> Reaction {
        let mut mix = Mix::new(seed ^ ((marker as u64) << 20) ^ (attempt << 4) ^ self as u64);
        let percent = mix.next_u64() % 100;
        match self {
            Self::Flaky if percent < 10 => Reaction::Answer(500),
            Self::Flaky if percent < 12 => Reaction::Close,
            Self::Slow if percent < 5 => Reaction::Late(Duration::from_millis(150), 200),
            // The message decides, not the attempt: a refusal must not depend on a crash.
            Self::Picky if marker % 50 == 7 => Reaction::Answer(422),
            // One stretch of 50 messages in eight fails at first, long enough for its breaker.
            Self::Down => Reaction::Late(HOLD, 500),
            Self::Ordered if marker % 400 < 50 && attempt == 1 => Reaction::Answer(503),
            _ => Reaction::Answer(200),
        }
    }
}

/// One kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Trouble {
    /// A node is killed (SIGKILL), and started anew.
    Kill,
    /// A node is told to end (SIGTERM), and started anew when it has.
    Drain,
    /// PostgreSQL ends in the midst of it, orderly or not, and starts again.
    Restart,
    /// Nothing gets through between a node and PostgreSQL, for longer than the lease.
    Cut,
    /// A node stands still (SIGSTOP) for longer than the lease, and goes on as if nothing had been.
    Pause,
    /// PostgreSQL is restored to the moment of a copy that was made a little earlier.
    Restore,
}

impl Trouble {
    pub(super) const ALL: [Self; 6] =
        [Self::Kill, Self::Drain, Self::Restart, Self::Cut, Self::Pause, Self::Restore];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Drain => "drain",
            Self::Restart => "restart",
            Self::Cut => "cut",
            Self::Pause => "pause",
            Self::Restore => "restore",
        }
    }

    /// Whether it takes a database of its own to have it.
    pub(super) const fn is_of_the_database(self) -> bool {
        matches!(self, Self::Restart | Self::Cut | Self::Restore)
    }
}

/// Troubles in an order drawn by chance, each of them once before any comes again.
#[derive(Debug)]
pub(super) struct Deck {
    all: Vec<Trouble>,
    left: Vec<Trouble>,
}

impl Deck {
    /// Of at least one kind.
    pub(super) const fn new(all: Vec<Trouble>) -> Self {
        Self { all, left: Vec::new() }
    }

    pub(super) fn draw(&mut self, mix: &mut Mix) -> Option<Trouble> {
        if self.left.is_empty() {
            self.left.clone_from(&self.all);
        }
        let at = below(mix, self.left.len())?;
        Some(self.left.swap_remove(at))
    }
}

/// A number below `count`; none below zero.
pub(super) fn below(mix: &mut Mix, count: usize) -> Option<usize> {
    let word = mix.next_u64().checked_rem(count as u64)?;
    usize::try_from(word).ok()
}

/// The number of troubles, and the format of the result.
#[derive(Debug, Args)]
pub(crate) struct Crash {
    /// Troubles, one after the other.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) rounds: u32,
    /// The same seed makes the same troubles after the same times, and has the same endpoints fail.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// The store that it works on.
    #[arg(long, value_enum, default_value_t)]
    pub(super) store: StoreKind,
    /// Nodes on that store; more than one needs postgres.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    pub(super) nodes: u8,
    /// A Redis in which the nodes keep their budgets of retries, as `--redis` of the dispatcher.
    #[arg(long, value_name = "URL")]
    pub(super) redis: Option<String>,
    /// Troubles to make, each once before any is repeated [default: kill for one node, else all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "TROUBLES")]
    troubles: Vec<Trouble>,
    /// The binary to test, instead of building one.
    #[arg(long, value_name = "FILE")]
    pub(super) binary: Option<PathBuf>,
    /// Folder for the logs of each node's lives.
    #[arg(long, value_name = "FOLDER")]
    pub(super) logs: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}

impl Crash {
    /// The troubles of the nodes.
    pub(super) fn troubles(&self) -> Vec<Trouble> {
        match self.nodes {
            _ if !self.troubles.is_empty() => self.troubles.clone(),
            1 => vec![Trouble::Kill],
            _ => Trouble::ALL.to_vec(),
        }
    }

    pub(super) fn check(&self) -> Result<(), Box<dyn Error>> {
        if self.store == StoreKind::Postgres {
            return Ok(());
        }
        let needs = "needs --store postgres";
        if self.nodes > 1 {
            return Err(format!("--nodes {}: more than 1 {needs}", self.nodes).into());
        }
        match self.troubles.iter().find(|trouble| trouble.is_of_the_database()) {
            Some(trouble) => Err(format!("--troubles {}: {needs}", trouble.name()).into()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_the_same_for_the_same_seed_and_ends() {
        for role in Role::ALL {
            let reactions = |attempt| (0..500).map(move |m| role.reaction(1, Marker(m), attempt));
            assert!(reactions(1).eq(reactions(1)), "{role:?}");
            let troubled = reactions(1).any(|reaction| reaction != Reaction::Answer(200));
            let well = [Role::Steady, Role::Capped];
            assert_eq!(troubled, !well.contains(&role), "{role:?}");
        }
        let fates = (1..60).map(|attempt| Role::Flaky.reaction(1, Marker(3), attempt));
        assert!(fates.filter(|reaction| *reaction == Reaction::Answer(200)).count() > 40);
    }

    #[test]
    fn in_twelve_rounds_each_trouble_comes_twice_and_the_seed_says_when() {
        let rounds = |seed| {
            let (mut deck, mut mix) = (Deck::new(Trouble::ALL.to_vec()), Mix::new(seed));
            let mut drawn = [(); 12].map(|()| deck.draw(&mut mix).expect("the deck is full"));
            let order = drawn;
            drawn.sort();
            assert!(drawn.chunks(2).all(|two| two[0] == two[1]), "{drawn:?}");
            order
        };
        assert_eq!(rounds(1), rounds(1));
        assert_ne!(rounds(1), rounds(2));
    }
}
