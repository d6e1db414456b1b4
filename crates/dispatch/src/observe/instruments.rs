//! Figures for recorders of `metrics`.

use metrics::{
    Counter, Gauge, Histogram, Unit, counter, describe_counter, describe_gauge, describe_histogram,
    gauge, histogram,
};
use stagger::breaker::StateKind;
use stagger::{Span, Verdict};
use stagger_scheduler::model::{DeliveryAttempt, DeliveryState};

const ATTEMPTS: &str = "stagger.attempts";

const NOT_MADE: &str = "stagger.attempts.not_made";

const TOKEN_FAILURES: &str = "stagger.token.failures";

const LATENCY: &str = "stagger.attempt.latency";

const RETRIES: &str = "stagger.retries";

const DELAY: &str = "stagger.retry.delay";

const ENDED: &str = "stagger.deliveries.ended";

const DELIVERIES: &str = "stagger.deliveries";

const BREAKERS: &str = "stagger.breaker.state";

const DISABLED: &str = "stagger.endpoints.disabled";

const ACCEPTED: &str = "stagger.messages.accepted";

const ACCEPT_LATENCY: &str = "stagger.accept.latency";

const COMMIT_LATENCY: &str = "stagger.commit.latency";

const COMMITTED: &str = "stagger.settlements";

const COMMIT_FAILURES: &str = "stagger.commit.failures";

const UNSETTLED: &str = "stagger.settlements.unsettled";

const PAYLOAD_BYTES: &str = "stagger.payload.memory.bytes";

const EVENTS_DROPPED: &str = "stagger.operator.events.dropped";

const MEMBERS: &str = "stagger.nodes";

const SHARDS: &str = "stagger.shards";

const VERDICT: &str = "stagger.verdict";

const STATE: &str = "stagger.state";

/// The names of OpenTelemetry for the instruments of a node, of which the text for Prometheus shows a form without full
/// stops.
#[cfg(feature = "otel")]
pub(crate) const METRIC_NAMES: super::MetricNames = super::MetricNames {
    instrument: |shown| known(&NAMES, shown),
    attribute: |shown| known(&LABELS, shown),
};

/// The name that the text shows in this form.
#[cfg(feature = "otel")]
fn known(names: &[&str], shown: &str) -> String {
    let known = names.iter().find(|name| name.replace('.', "_") == shown);
    known.map_or_else(|| shown.to_owned(), |name| (*name).to_owned())
}

/// The names of all instruments.
#[cfg(feature = "otel")]
const NAMES: [&str; 22] = [
    ATTEMPTS,
    NOT_MADE,
    TOKEN_FAILURES,
    LATENCY,
    RETRIES,
    DELAY,
    ENDED,
    DELIVERIES,
    BREAKERS,
    DISABLED,
    ACCEPTED,
    ACCEPT_LATENCY,
    COMMIT_LATENCY,
    COMMITTED,
    COMMIT_FAILURES,
    UNSETTLED,
    PAYLOAD_BYTES,
    EVENTS_DROPPED,
    MEMBERS,
    SHARDS,
    crate::edge::REFUSED,
    crate::edge::WRONG,
];

/// The names of all labels.
#[cfg(feature = "otel")]
const LABELS: [&str; 4] = [VERDICT, STATE, BREAKERS, crate::edge::PLACE];

/// The states in which a delivery ends.
const ENDS: [DeliveryState; 3] =
    [DeliveryState::Delivered, DeliveryState::Dead, DeliveryState::Cancelled];

/// The figures of a node, each looked up once: an attempt only counts up. All labels are bounded, so
/// no series ever has to be forgotten.
pub(crate) struct Instruments {
    attempts: [Counter; Verdict::ALL.len()],
    not_made: Counter,
    token_failures: Counter,
    latency: Histogram,
    retries: [Counter; Verdict::ALL.len()],
    delay: Histogram,
    ended: [Counter; ENDS.len()],
    accepted: Counter,
    accept_latency: Histogram,
    commit_latency: Histogram,
    committed: Counter,
    commit_failures: Counter,
    events_dropped: Counter,
}

/// The state of a node at one moment: figures that are only counted when a recorder reads them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gauges {
    pub(crate) ready: usize,
    pub(crate) waiting: usize,
    pub(crate) in_flight: usize,
    pub(crate) closed: usize,
    pub(crate) open: usize,
    pub(crate) half_open: usize,
    pub(crate) ramp: usize,
    pub(crate) disabled: usize,
    pub(crate) unsettled: usize,
    pub(crate) payload_bytes: usize,
    pub(crate) members: usize,
    pub(crate) shards: usize,
}

impl Instruments {
    /// The instruments of the recorder that is installed now.
    pub(crate) fn new() -> Self {
        let of = |name: &'static str| {
            Verdict::ALL.map(|verdict| counter!(name, VERDICT => verdict.name()))
        };
        Self {
            attempts: of(ATTEMPTS),
            not_made: counter!(NOT_MADE),
            token_failures: counter!(TOKEN_FAILURES),
            latency: histogram!(LATENCY),
            retries: of(RETRIES),
            delay: histogram!(DELAY),
            ended: ENDS.map(|state| counter!(ENDED, STATE => state.name())),
            accepted: counter!(ACCEPTED),
            accept_latency: histogram!(ACCEPT_LATENCY),
            commit_latency: histogram!(COMMIT_LATENCY),
            committed: counter!(COMMITTED),
            commit_failures: counter!(COMMIT_FAILURES),
            events_dropped: counter!(EVENTS_DROPPED),
        }
    }

    pub(crate) fn attempted(&self, attempt: &DeliveryAttempt) {
        let at = Verdict::ALL.iter().position(|verdict| *verdict == attempt.verdict);
        if let Some(attempts) = at.and_then(|at| self.attempts.get(at)) {
            attempts.increment(1);
        }
        self.latency.record(attempt.latency.as_secs_f64());
    }

    /// An attempt could not be made, because this node lacks resources.
    pub(crate) fn not_made(&self) {
        self.not_made.increment(1);
    }

    /// An attempt was not sent, because an authorization server gave no token.
    pub(crate) fn token_failed(&self) {
        self.token_failures.increment(1);
    }

    /// A retry was decided; it is due after `delay`.
    pub(crate) fn retried(&self, verdict: Verdict, delay: Span) {
        let at = Verdict::ALL.iter().position(|other| *other == verdict);
        if let Some(retries) = at.and_then(|at| self.retries.get(at)) {
            retries.increment(1);
        }
        self.delay.record(delay.as_secs_f64());
    }

    pub(crate) fn ended(&self, state: DeliveryState) {
        let at = ENDS.iter().position(|end| *end == state);
        if let Some(ended) = at.and_then(|at| self.ended.get(at)) {
            ended.increment(1);
        }
    }

    pub(crate) fn accepted(&self, messages: usize, latency: Span) {
        self.accepted.increment(count(messages));
        self.accept_latency.record(latency.as_secs_f64());
    }

    pub(crate) fn committed(&self, settlements: usize, latency: Span) {
        self.committed.increment(count(settlements));
        self.commit_latency.record(latency.as_secs_f64());
    }

    /// The operator could not be told of an event.
    pub(crate) fn event_dropped(&self) {
        self.events_dropped.increment(1);
    }

    pub(crate) fn commit_failed(&self) {
        self.commit_failures.increment(1);
    }
}

impl std::fmt::Debug for Instruments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Figures(..)")
    }
}

impl Gauges {
    pub(crate) const fn count_breaker(&mut self, state: StateKind) {
        *match state {
            StateKind::Closed => &mut self.closed,
            StateKind::Open => &mut self.open,
            StateKind::HalfOpen => &mut self.half_open,
            StateKind::Ramp => &mut self.ramp,
        } += 1;
    }

    pub(crate) fn report(&self) {
        set(&gauge!(DELIVERIES, STATE => "ready"), self.ready);
        set(&gauge!(DELIVERIES, STATE => "waiting"), self.waiting);
        set(&gauge!(DELIVERIES, STATE => "in_flight"), self.in_flight);
        let breakers = [
            ("closed", self.closed),
            ("open", self.open),
            ("half_open", self.half_open),
            ("ramp", self.ramp),
        ];
        for (state, endpoints) in breakers {
            set(&gauge!(BREAKERS, BREAKERS => state), endpoints);
        }
        set(&gauge!(DISABLED), self.disabled);
        set(&gauge!(UNSETTLED), self.unsettled);
        set(&gauge!(PAYLOAD_BYTES), self.payload_bytes);
        set(&gauge!(MEMBERS), self.members);
        set(&gauge!(SHARDS), self.shards);
    }
}

/// Describes each instrument to the recorder.
pub(super) fn describe() {
    describe_counter!(ATTEMPTS, "Attempts that are over");
    describe_counter!(NOT_MADE, "Attempts that this node had no descriptor, port or turn for");
    describe_counter!(
        TOKEN_FAILURES,
        "Attempts not sent, because an authorization server gave no access token"
    );
    describe_histogram!(LATENCY, Unit::Seconds, "From an attempt's beginning to its verdict");
    describe_counter!(RETRIES, "Retries decided");
    describe_histogram!(DELAY, Unit::Seconds, "Delays before retries");
    describe_counter!(ENDED, "Deliveries that ended, by how");
    describe_gauge!(DELIVERIES, "Open deliveries, and attempts in flight");
    describe_gauge!(BREAKERS, "Endpoints by the state of their breaker");
    describe_gauge!(DISABLED, "Endpoints that are disabled");
    describe_counter!(ACCEPTED, "Messages accepted, repeated ones included");
    describe_histogram!(
        ACCEPT_LATENCY,
        Unit::Seconds,
        "From a message's arrival to its durability"
    );
    describe_histogram!(COMMIT_LATENCY, Unit::Seconds, "Of storing a batch of settlements");
    describe_counter!(COMMITTED, "Settlements stored");
    describe_counter!(
        COMMIT_FAILURES,
        "Writes of messages or settlements that the store failed at"
    );
    describe_counter!(EVENTS_DROPPED, "Events that the operator's application had no room for");
    describe_gauge!(UNSETTLED, "Settlements that are not durable yet");
    describe_gauge!(PAYLOAD_BYTES, Unit::Bytes, "Payloads kept in memory for their first attempts");
    describe_gauge!(MEMBERS, "Nodes that work on the store, as this one last heard");
    describe_gauge!(SHARDS, "Shards that this node leads, of 256");
}

fn count(n: usize) -> u64 {
    // OK because usize has at most 64 bits.
    n as u64
}

fn set(gauge: &Gauge, n: usize) {
    // OK because the rounding of a figure above 2^53 does not matter to its reader.
    #[expect(clippy::cast_precision_loss, reason = "a figure for people, rounded at 2^53")]
    gauge.set(n as f64);
}
