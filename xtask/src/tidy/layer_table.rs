//! The layers of every crate: an order of its top modules, from the bottom to the top.

/// The layers of a crate, the lowest first. A layer lists places; modules of one place, separated by
/// blanks, may use each other, and different places of one layer never meet.
pub(super) type Layers = &'static [&'static [&'static str]];

/// The folders of the crates and their layers.
pub(super) const CRATES: [(&str, Layers); 18] = [
    (
        "crates/core/src/",
        &[
            &["time span_text entropy rate ratio error outcome slots"],
            &[
                "hint",
                "classify",
                "factor backoff jitter",
                "limits",
                "budget",
                "breaker",
                "hedge",
                "adaptive",
            ],
            &["policy"],
            &["retry"],
        ],
    ),
    ("crates/text/src/", &[&["duration", "figure", "name", "place", "size", "timestamp"]]),
    (
        "crates/stagger/src/",
        &[
            &["rng", "cancel"],
            &["clock"],
            // The ledgers report their events, and the figures show the ledgers.
            &["ledger observe"],
            &["run"],
            &["poll", "http"],
            &["tower"],
            &["reqwest", "tonic"],
        ],
    ),
    ("crates/stagger/loom/src/", &[&["sync"], &["budgets", "breakers", "leases"]]),
    (
        "crates/sim/src/",
        &[
            &["streams", "law", "queue", "stat", "thread_pool"],
            &["dist"],
            &["foreign"],
            &["plan", "waits"],
            &["probe", "ledgers", "server"],
            &["simulation"],
            // A scenario plays itself, and the report of a storm keeps the scenario's own numbers.
            &["scenario run_tally storm_report"],
        ],
    ),
    (
        "crates/replay/src/",
        &[
            &["logged_outcome", "unit", "outage", "unpacked"],
            &["decimal", "cells", "lines"],
            &["stamp", "slow"],
            &["logged_attempt", "failing"],
            &["format", "open_calls", "spread"],
            &["error"],
            &["access_log"],
            &["attempt_collector", "excerpt"],
            &["reading", "observed", "words"],
            &["replay"],
        ],
    ),
    (
        "crates/report/src/",
        &[
            &["style", "numbers", "grid"],
            &["chart"],
            &["draw", "pictures"],
            &["render"],
            &["picture"],
            &["figures"],
            &["page"],
        ],
    ),
    (
        "crates/explain/src/",
        &[
            &["finding", "figure", "chance"],
            &["explanation"],
            &["fleet", "delay", "choose"],
            &["lone_call"],
            &["calls"],
            &["budgeted", "cap_share", "timeline"],
            &["load", "worst_case"],
            &["lint"],
            &["explain"],
        ],
    ),
    (
        "crates/import/src/",
        &[
            &["error", "duration"],
            &["source", "tree"],
            &["imported"],
            &["table"],
            &["envoy", "grpc", "polly", "resilience4j"],
            &["import"],
        ],
    ),
    ("crates/playground/src/", &[&["knobs"], &["picture"], &["border"]]),
    (
        "crates/dispatch/src/",
        &[
            &["error", "store_backoff"],
            // A secret makes its own signatures' keys, and a signature is made with a secret.
            &["model sign", "egress"],
            &["store", "send"],
            // A node reports its events, and its figures are read from it.
            &["node observe"],
            &["config", "api", "ui"],
            &["server"],
        ],
    ),
    (
        "crates/scheduler/src/",
        &[
            &["model"],
            &["leadership", "classify", "rules", "queued_delivery", "queue_view", "launch"],
            &["health", "recovery", "pending_index", "transition", "fair_queue", "timers"],
            &["rate_limiter"],
            &["pacer"],
            &["endpoint_queue"],
            &["queues"],
        ],
    ),
    (
        "crates/cli/src/",
        &[
            &["stdout", "stderr", "terminal", "render"],
            &["command_error", "interrupt", "toml_file"],
            // The flags of a policy are clap's types of the policy file.
            &["flags policy_file", "scenario_file", "output_file"],
            &["cmd"],
        ],
    ),
    ("crates/testkit/src/", &[&["browser", "entropy"], &["server", "vectors"]]),
    (
        "crates/contracts/src/",
        &[
            &["call", "cell", "hyper"],
            &["integration"],
            &["asynch", "reqwest", "promise"],
            &["blocking", "tonic", "tower", "gcs", "promises", "defaults"],
            &["grid"],
        ],
    ),
    ("bench/harness/src/", &[&["rig"], &["bench", "crash", "fleet"], &["command"]]),
    (
        "xtask/src/",
        &[&["contracts", "features", "golden", "harness", "tidy", "vectors"], &["chore"]],
    ),
    ("xtask/workbench/src/", &[&["format", "workspace"]]),
];
