//! The attacks: what each needs, and what it does.

use clap::ValueEnum;
use serde_json::json;
use tokio::task::JoinSet;

use super::flood::{Flood, Hold};
use super::site::{AttackSite, AttackerEndpoints};
use crate::rig::Reaction;

/// Connections of an attack that only holds them.
const HELD: usize = 1000;
/// Clients of an attack that asks as fast as it is answered.
const CLIENTS: usize = 16;

/// An attack by one client or one tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Attack {
    /// Connections that say nothing.
    SilentConnections,
    /// Heads of requests, a byte a second.
    SlowHeaders,
    /// Bodies of requests with a key, a byte a second.
    SlowBodies,
    /// Connections that ask once and stay.
    IdleFlood,
    /// Batches of messages to 500 disabled endpoints.
    GiantFanOut,
    /// Endpoints whose names no server resolves.
    HungNames,
    /// Endpoints that never answer.
    HungEndpoints,
    /// Endpoints that answer with a body without end.
    BigReplies,
    /// Wrong keys.
    KeyGuessing,
    /// Questions for the metrics.
    MetricsFlood,
    /// Questions for the readiness.
    ReadyzFlood,
    /// One tenant that posts as fast as it is answered.
    OtherTenant,
}

impl Attack {
    /// Its name on the command line and in the figures.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The endpoints of the attacker, if it has some.
    pub(super) fn endpoints(self) -> Option<AttackerEndpoints> {
        let plain = json!({});
        // Impatient retries, and a breaker that hardly opens.
        let lenient = json!({
            "timeout": "30s",
            "concurrency": 128,
            "policy": {
                "backoff": { "base": "1s", "cap": "1s" },
                "breaker": { "ratio": "off", "consecutive": 1_000_000 },
            },
        });
        let (count, reaction, settings) = match self {
            Self::GiantFanOut => Some((500, Reaction::Answer(200), plain)),
            Self::HungNames => Some((64, Reaction::Answer(200), lenient)),
            Self::HungEndpoints => Some((64, Reaction::Hang, lenient)),
            Self::BigReplies => Some((16, Reaction::Endless, lenient)),
            Self::OtherTenant => Some((1, Reaction::Answer(200), plain)),
            _ => None,
        }?;
        let (named, disabled) = (self == Self::HungNames, self == Self::GiantFanOut);
        Some(AttackerEndpoints { count, reaction, settings, named, disabled })
    }

    /// Begins on the attacker's thread; dropping the tasks ends it.
    pub(super) fn launch(self, site: &AttackSite) -> JoinSet<()> {
        let _there = site.attacker.enter();
        let mut tasks = JoinSet::new();
        let posts = format!("/v1/applications/{}/messages", site.application);
        let batch = format!("{posts}/batch");
        let holds = |first: String, drip| Hold { addr: site.addr, first, drip };
        let asks = |path: &str, key: &str, body: String| Flood::new(site.addr, path, key, body);
        match self {
            Self::SilentConnections => holds(String::new(), false).launch(&mut tasks, HELD),
            Self::SlowHeaders => {
                holds("GET / HTTP/1.1\r\nhost: a\r\nx: ".into(), true).launch(&mut tasks, HELD);
            }
            Self::SlowBodies => holds(Hold::post(&posts), true).launch(&mut tasks, HELD),
            Self::IdleFlood => {
                let whole = "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n".to_owned();
                holds(whole, false).launch(&mut tasks, HELD);
            }
            Self::GiantFanOut => {
                asks(&batch, Flood::ADMIN, Flood::batch(500)).launch(&mut tasks, 2);
            }
            Self::HungNames | Self::HungEndpoints | Self::BigReplies => {
                asks(&batch, Flood::ADMIN, Flood::batch(20)).launch(&mut tasks, 1);
            }
            Self::KeyGuessing => {
                asks("/v1/applications", "sk_wrong", String::new()).launch(&mut tasks, CLIENTS);
            }
            Self::MetricsFlood => asks("/metrics", "", String::new()).launch(&mut tasks, CLIENTS),
            Self::ReadyzFlood => asks("/readyz", "", String::new()).launch(&mut tasks, CLIENTS),
            Self::OtherTenant => {
                asks(&posts, Flood::ADMIN, Flood::one()).launch(&mut tasks, CLIENTS);
            }
        }
        tasks
    }
}
