//! Parts of servers and users, as scenario files that ship: what each does to a storm.

/// Their names, lines for the list and texts; `docs/models.md` has their tables.
pub(super) const MODELS: [(&str, &str, &str); 9] = [
    (
        "failover",
        "One server of eight is down, behind balancers that notice it or do not",
        include_str!("../../scenarios/models/failover.toml"),
    ),
    (
        "shedding",
        "More calls than a server can do: queues, CoDel, adaptive limits, criticality",
        include_str!("../../scenarios/models/shedding.toml"),
    ),
    (
        "crash-loop",
        "A server that falls over under its load, and meets the retries as it comes back",
        include_str!("../../scenarios/models/crash-loop.toml"),
    ),
    (
        "autoscaling",
        "The load doubles, and workers come after a delay",
        include_str!("../../scenarios/models/autoscaling.toml"),
    ),
    (
        "cold-cache",
        "Slack, February 2022: a database whose cache is emptied stays cold",
        include_str!("../../scenarios/models/cold-cache.toml"),
    ),
    (
        "reclicks",
        "Users who lose patience and click again: retries that no policy knows",
        include_str!("../../scenarios/models/reclicks.toml"),
    ),
    (
        "steps",
        "A peak of five seconds, and retries that make it last",
        include_str!("../../scenarios/models/steps.toml"),
    ),
    (
        "heavy-tail",
        "Work of the same mean with light and heavy tails, under one timeout",
        include_str!("../../scenarios/models/heavy-tail.toml"),
    ),
    (
        "order",
        "A stall, and the order in which a server takes what has waited",
        include_str!("../../scenarios/models/order.toml"),
    ),
];
