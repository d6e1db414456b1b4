//! Parts of servers and users, as scenario files that ship: what each does to a storm.

use super::shipped_scenario::ShippedScenario;

/// All of them; `docs/models.md` has their tables.
pub(super) const MODELS: [ShippedScenario; 9] = [
    ShippedScenario {
        name: "failover",
        about: "One server of eight is down, behind balancers that notice it or do not",
        text: include_str!("../../scenarios/models/failover.toml"),
    },
    ShippedScenario {
        name: "shedding",
        about: "More calls than a server can do: queues, CoDel, adaptive limits, criticality",
        text: include_str!("../../scenarios/models/shedding.toml"),
    },
    ShippedScenario {
        name: "crash-loop",
        about: "A server that falls over under its load, and meets the retries as it comes back",
        text: include_str!("../../scenarios/models/crash-loop.toml"),
    },
    ShippedScenario {
        name: "autoscaling",
        about: "The load doubles, and workers come after a delay",
        text: include_str!("../../scenarios/models/autoscaling.toml"),
    },
    ShippedScenario {
        name: "cold-cache",
        about: "Slack, February 2022: a database whose cache is emptied stays cold",
        text: include_str!("../../scenarios/models/cold-cache.toml"),
    },
    ShippedScenario {
        name: "reclicks",
        about: "Users who lose patience and click again: retries that no policy knows",
        text: include_str!("../../scenarios/models/reclicks.toml"),
    },
    ShippedScenario {
        name: "steps",
        about: "A peak of five seconds, and retries that make it last",
        text: include_str!("../../scenarios/models/steps.toml"),
    },
    ShippedScenario {
        name: "heavy-tail",
        about: "Work of the same mean with light and heavy tails, under one timeout",
        text: include_str!("../../scenarios/models/heavy-tail.toml"),
    },
    ShippedScenario {
        name: "order",
        about: "A stall, and the order in which a server takes what has waited",
        text: include_str!("../../scenarios/models/order.toml"),
    },
];
