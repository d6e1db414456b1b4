//! The layers of every crate: an order of its top modules, from the bottom to the top.

/// The layers of a crate, the lowest first. A layer lists places; modules of one place, separated by
/// blanks, may use each other, and different places of one layer never meet.
pub(super) type Layers = &'static [&'static [&'static str]];

/// The folders of the crates and their layers.
pub(super) const CRATES: &[(&str, Layers)] = &[
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
                "concurrency",
                "rate_limit",
            ],
            &["policy"],
            &["retry"],
        ],
    ),
    (
        "crates/text/src/",
        &[&["duration", "figure", "name", "place", "size", "timestamp", "wrap"], &["settings"]],
    ),
    (
        "crates/stagger/src/",
        &[
            &["rng", "cancel", "redelivery", "engine"],
            &["clock"],
            &["ledger"],
            &["observe"],
            &["run"],
            &["poll", "http"],
            &["tower"],
            &["reqwest", "tonic"],
        ],
    ),
    (
        "crates/redis/src/",
        &[
            &["options", "stats", "wake", "link"],
            &["store", "metrics"],
            &["events"],
            &["budget", "breaker"],
            &["ledger"],
            &["ledgers"],
        ],
    ),
    ("crates/stagger/loom/src/", &[&["sync"], &["budgets", "breakers", "leases"]]),
    (
        "crates/sim/src/",
        &[
            &["streams", "queue", "stat", "thread_pool"],
            &["dist"],
            &["law"],
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
            &["stamp"],
            &["logged_attempt", "durations", "chance_matches", "retry_law"],
            &["cells", "line_order"],
            &["outage"],
            &["failing"],
            &["sustained"],
            &["format", "open_calls", "spread", "thresholds"],
            &["error"],
            // A log takes stated outages, and a stated outage is placed in a log.
            &["access_log stated_outage", "line_parser", "lines"],
            &["attempt_collector", "excerpt", "log_file"],
            &["reading", "fault_length", "separation"],
            &["verdict"],
            &["observed", "findings"],
            &["replay"],
        ],
    ),
    (
        "crates/tune/src/",
        &[
            &["dice", "objective", "paired"],
            &["outage", "world"],
            &["model"],
            &["source"],
            &["reference", "space", "trial"],
            &["search"],
            &["tuning"],
            &["words"],
        ],
    ),
    (
        "crates/load/src/",
        &[
            &["error", "attempt_tag"],
            &["load_row", "open_files", "destination", "connections", "gauge"],
            &["forecast"],
            &["bounds", "comparison"],
            &["callers", "server"],
        ],
    ),
    (
        "crates/report/src/",
        &[
            &["style", "numbers", "grid"],
            &["chart"],
            &["draw", "pictures"],
            &["render"],
            &["figures"],
            &["page"],
        ],
    ),
    (
        "crates/explain/src/",
        &[
            &["finding", "figure"],
            &["explanation"],
            &["delay", "choose", "granted"],
            &["calls"],
            &["budgeted", "timeline"],
            &["worst_case"],
            &["lint"],
            &["explain"],
        ],
    ),
    (
        "crates/import/src/",
        &[
            &["import_error", "key"],
            // A list of formats is theirs, and a format is what they are read from.
            &["document", "source"],
            &["imported", "spans"],
            &["routes", "table"],
            &["export"],
            &["formats"],
            &["import"],
            &["exported"],
        ],
    ),
    (
        "crates/watch/src/",
        &[
            &["exposition", "log_clock", "settings", "synchrony", "top_sources", "window_counts"],
            &["caller_table", "layers", "retry_estimate"],
            &["budget_advice"],
            &["verdict"],
            &["alarm"],
            &["counter_watch", "detector"],
        ],
    ),
    ("crates/macros/src/", &[&["settings"], &["expand"]]),
    ("crates/playground/src/", &[&["knobs", "outage"], &["picture"], &["border"]]),
    (
        "crates/dispatch/src/",
        &[
            &["random", "edge"],
            &["access"],
            // A node reports its events, and its figures are read from it.
            &["node observe"],
            &["config", "api"],
            &["oidc", "sources"],
            // The page changes settings as the API does.
            &["ui"],
            &["server"],
        ],
    ),
    (
        "crates/proxy/src/",
        &[
            &["config", "stats", "trace"],
            &["edge"],
            &["destination"],
            &["forward", "ops"],
            &["server"],
        ],
    ),
    (
        "crates/sender/src/",
        &[
            &[
                "secret",
                "ranges",
                "header",
                "send_failure",
                "connection",
                "signature_base",
                "key_id",
            ],
            &[
                "written",
                "signer",
                "guard",
                "pool",
                "resolver",
                "tcp",
                "tls",
                "token_cache",
                "reply",
            ],
            &["content_digest", "cloud_event", "address", "verifier", "message_signature"],
            &["egress_proxy", "message_verifier", "handshake"],
            &["message_verifier_test"],
            &["credentials"],
            &["dial"],
            &["token_fetch", "network"],
            &["broker_stream", "call", "destination"],
            &["request"],
            &["sender"],
        ],
    ),
    (
        "crates/brokers/src/",
        &[
            &["idle", "refusal", "source", "stream"],
            &["kafka", "nats", "pubsub", "sqs"],
            &["brokers"],
        ],
    ),
    (
        "crates/store/src/",
        &[
            &["error", "setting_document"],
            &["audit", "auth_document", "calls", "encoding", "fair_jobs", "rng"],
            &["encryption"],
            &["document", "walk"],
            // A store may have a cluster of its own, whose writes are those of a store.
            &["cluster contract"],
            &["sole_cluster", "memory", "sqlite", "postgres"],
            &["place"],
            &["copy"],
            &["testing"],
        ],
    ),
    (
        "crates/scheduler/src/",
        &[
            &["model"],
            &["alerts", "leadership", "classify", "rules", "launch"],
            &["transition"],
            &["health", "pacer", "pending_index", "fair_queue", "unsent_hold"],
            &["endpoint_queue"],
            &["queues"],
        ],
    ),
    (
        "crates/exec/src/",
        &[
            &["host_file", "output_rules", "self_stop", "engine_policy"],
            &["signals"],
            &["budget", "cool_off", "output", "process_group"],
            &["command", "outcome", "terminal"],
            &["reporter", "retry_rules"],
            &["context"],
            &["ending"],
            &["side_command"],
            &["check", "hooks"],
            &["supervisor"],
            &["call"],
        ],
    ),
    (
        "crates/cli/src/",
        &[
            &["streams", "shipped", "render"],
            &["command_error", "interrupt"],
            // The flags of a policy are clap's types of the policy file.
            &["flags policy_file", "scenario_file"],
            &["cmd"],
        ],
    ),
    ("crates/testkit/src/", &[&["browser", "entropy"], &["formats", "server", "vectors"]]),
    (
        "crates/contracts/src/",
        &[
            &["integration"],
            &["asynch", "promise"],
            &["blocking", "proxy", "reqwest", "tonic", "tower", "promises", "defaults"],
            &["grid"],
        ],
    ),
    (
        "bench/harness/src/",
        &[&["rig"], &["bench", "crash", "fleet", "hostile", "watch"], &["command"]],
    ),
    (
        "xtask/src/",
        &[
            &[
                "against",
                "checks",
                "clients",
                "dispatcher_contracts",
                "formats",
                "replay_corpus",
                "site",
                "tidy",
                "tune",
                "vectors",
            ],
            &["outages", "release"],
            &["chore"],
        ],
    ),
    ("xtask/workbench/src/", &[&["format", "script_server", "workspace"]]),
];
