//! Findings: the fault of a policy, its reason and its fix.

use core::fmt;
use core::str::FromStr;

/// One thing that is wrong.
///
/// ```
/// use stagger_core::{Backoff, Jitter, Policy, Span};
/// use stagger_explain::{Code, Setting, Severity, lint};
/// let rule = Backoff::constant(Span::from_secs(1)).with_jitter(Jitter::None)?;
/// let policy = Policy::builder().backoff(rule).attempt_timeout(Span::from_secs(5)).build()?;
/// let found = lint(&policy, &Setting::default());
/// assert_eq!((found[0].code, found[0].severity), (Code::NoJitter, Severity::Error));
/// assert_eq!(found[0].key, "backoff.jitter");
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFinding {
    /// The kind of the finding.
    pub code: Code,
    /// Whether it may ship.
    pub severity: Severity,
    /// The key that it lies in, as in `backoff.jitter`, whether or not it is written.
    pub key: &'static str,
    /// The fault, with its figure.
    pub message: String,
    /// The setting to write instead.
    pub fix: String,
}

impl PolicyFinding {
    pub(crate) fn error(
        code: Code,
        key: &'static str,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { code, severity: Severity::Error, key, message: message.into(), fix: fix.into() }
    }

    pub(crate) fn warning(
        code: Code,
        key: &'static str,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, key, message, fix) }
    }
}

/// Whether something may ship.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It works, and hurts on a bad day.
    Warning,
    /// It must not ship.
    Error,
}

impl fmt::Display for Severity {
    /// `warning` or `error`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// Writes the codes once: as variants, as their list, and by their names.
macro_rules! codes {
    ($(#[doc = $about:literal] $code:ident = $name:literal,)+) => {
        /// Kinds of findings. The names are stable: scripts and waivers rely on them.
        ///
        /// ```
        /// use stagger_explain::Code;
        /// assert_eq!(Code::NoJitter.to_string(), "no-jitter");
        /// assert_eq!("no-jitter".parse(), Ok(Code::NoJitter));
        /// assert_eq!(Code::NoJitter.about(), "Callers that fail together come back together.");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $about] $code,)+
        }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$code,)+];

            /// The name, in lower case with hyphens.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$code => $name,)+
                }
            }

            /// The fault in one sentence, whatever the policy.
            #[must_use]
            pub fn about(self) -> &'static str {
                match self {
                    $(Self::$code => $about.trim_start(),)+
                }
            }
        }
    };
}

codes! {
    /// Callers that fail together come back together.
    NoJitter = "no-jitter",
    /// The random part is too small a share of the delay to spread a herd.
    ThinJitter = "thin-jitter",
    /// The cap is applied after the draw, so delays exceed it or pile up on it.
    ClampAfterJitter = "clamp-after-jitter",
    /// More than a tenth of the delays sit exactly on the cap.
    MassAtCap = "mass-at-cap",
    /// Retries follow at once.
    ZeroBase = "zero-base",
    /// Retries follow before the failure can pass.
    ShortBase = "short-base",
    /// A throttled call is retried sooner than a failed one.
    ThrottledSooner = "throttled-sooner",
    /// The worst case is longer than the SLO.
    OverSlo = "over-slo",
    /// The worst case takes more than a third of the SLO.
    OverSloThird = "over-slo-third",
    /// Hints that are obeyed take a call beyond its SLO.
    HintOverSlo = "hint-over-slo",
    /// Attempts that never, or almost never, start.
    AttemptsNeverStart = "attempts-never-start",
    /// The deadline ends some calls before their first retry.
    DeadlineBelowBase = "deadline-below-base",
    /// An attempt that times out leaves no time for another one.
    TimeoutFillsDeadline = "timeout-fills-deadline",
    /// Healthy attempts are cut off, and repeated while the server still works on them.
    TimeoutBelowP99 = "timeout-below-p99",
    /// An attempt that hangs takes all the time that there is.
    NoAttemptTimeout = "no-attempt-timeout",
    /// A failing call makes more attempts than help it.
    TooManyAttempts = "too-many-attempts",
    /// Nothing bounds the retries of a destination.
    NoBudget = "no-budget",
    /// The budget grants so much that it bounds little.
    LooseBudget = "loose-budget",
    /// A budget that is empty once stays empty.
    BudgetNeverRefills = "budget-never-refills",
    /// The budgets of all processes together are more than the destination can take.
    FleetBudget = "fleet-budget",
    /// Calls that may not be repeated are repeated.
    NotIdempotent = "not-idempotent",
    /// A hint is obeyed for a shorter time than the policy would wait by itself.
    HintBelowCap = "hint-below-cap",
    /// Callers that are given the same hint come back together.
    HintWithoutSpread = "hint-without-spread",
    /// Too few calls open the breaker.
    BreakerMinimum = "breaker-minimum",
    /// The breaker needs more calls than there are.
    BreakerNeverOpens = "breaker-never-opens",
    /// So few failures in a row open the breaker that chance does.
    BreakerConsecutive = "breaker-consecutive",
    /// No call can be slow: its attempt is cut off before.
    BreakerSlowUnreachable = "breaker-slow-unreachable",
    /// A server that asks for less load is not called at all.
    BreakerThrottled = "breaker-throttled",
    /// The breaker opens for too short or too long a time.
    BreakerOpenTime = "breaker-open-time",
    /// So many probes must succeed that the breaker hardly closes.
    BreakerProbes = "breaker-probes",
    /// A probe loses its place while it is under way.
    BreakerLease = "breaker-lease",
    /// A call waits for the breaker for as long as an outage lasts.
    BreakerWaitUnbounded = "breaker-wait-unbounded",
    /// Layers that retry multiply.
    NestedLayers = "nested-layers",
    /// Every call is sent several times.
    HedgeAtOnce = "hedge-at-once",
    /// Nothing bounds the copies of slow calls.
    HedgeWithoutBudget = "hedge-without-budget",
    /// Further copies that are never sent.
    HedgeNever = "hedge-never",
    /// A throttle whose window is too short for what it measures.
    ThrottleWindow = "throttle-window",
    /// A throttle that refuses calls that the server would accept.
    ThrottleMultiplier = "throttle-multiplier",
    /// Calls wait for their turn longer than they have time, or without a bound.
    CubicWait = "cubic-wait",
    /// Calls wait for a place or a start for as long as they have time.
    LimitWait = "limit-wait",
    /// There are too few places for the calls to a healthy server.
    ConcurrencyBelowLoad = "concurrency-below-load",
    /// First attempts alone are more than the rate limit lets start.
    RateBelowLoad = "rate-below-load",
    /// The burst of a rate limit is a pulse.
    RateBurst = "rate-burst",
    /// A route repeats requests that are not idempotent, without a key.
    RouteUnsafeMethods = "route-unsafe-methods",
    /// A route sends copies of requests that are not idempotent at the same time.
    RouteUnsafeHedge = "route-unsafe-hedge",
    /// A route keeps nothing of the bodies that it is to send again.
    RouteBodyNotKept = "route-body-not-kept",
    /// The bodies that a route keeps take more than 1 GiB.
    RouteReplayMemory = "route-replay-memory",
    /// The time for a connection of a route ends after its attempt.
    RouteConnectTimeout = "route-connect-timeout",
    /// A route names repeatable requests, and its policy makes one attempt.
    RouteRetryUnused = "route-retry-unused",
    /// Calls of a route may take longer than the proxy waits for them when it stops.
    RouteDrain = "route-drain",
    /// A tunnel has a policy without a breaker, and so nothing of it.
    RouteTunnelBreaker = "route-tunnel-breaker",
    /// A waiver of something that is not found.
    UnusedAllow = "unused-allow",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(name: &str) -> Result<Self, UnknownCode> {
        Self::ALL.iter().copied().find(|code| code.name() == name).ok_or(UnknownCode)
    }
}

/// A name that no code has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCode;

impl fmt::Display for UnknownCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no code of a finding")
    }
}

impl core::error::Error for UnknownCode {}
