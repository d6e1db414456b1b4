//! The settings of a breaker, checked once.

use super::report::Report;
use super::trip::{Slow, Trip, TripRules};
use super::window::{Call, Counts, WindowKind};
use crate::error::ConfigError;
use crate::ratio::Ratio;
use crate::time::Span;

/// Most calls in a window of calls: a byte pair each, so a full registry stays near 20 MB.
const MAX_WINDOW_CALLS: u32 = 1_000;
/// Shortest window of time: below it a slot is shorter than what timers can tell apart.
const MIN_WINDOW: Span = Span::from_millis(10);
/// Most probes: more than that is traffic, and what a ramp is for.
const MAX_PROBES: u32 = 100;
/// Shortest open time and lease: below it an open breaker protects nobody.
const MIN_OPEN_TIME: Span = Span::from_millis(1);

/// The plan of a breaker: its opening, its open time, and its closing; immutable and checked.
///
/// The default opens when 50 % of at least 20 calls in 10 s failed, for 5 s at first (doubling up
/// to 60 s while probes fail, each stretched by up to a half), and closes after one good probe.
///
/// ```
/// use stagger_core::breaker::BreakerPlan;
/// use stagger_core::{Ratio, Span};
/// let plan = BreakerPlan::builder()
///     .ratio(Ratio::from_percent(30))
///     .slow_calls(Span::from_secs(2), Ratio::from_percent(80))
///     .ramp(Ratio::from_percent(10), Span::from_secs(10))
///     .build()?;
/// assert_ne!(plan, BreakerPlan::default());
/// let error = BreakerPlan::builder().probes(0).build().unwrap_err();
/// assert_eq!(error.to_string(), "breaker.probes = 0: must be from 1 to 100");
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPlan {
    pub(super) window: WindowKind,
    pub(super) rules: TripRules,
    pub(super) throttled_fails: bool,
    pub(super) open_time: Span,
    pub(super) open_factor: Ratio,
    pub(super) open_cap: Span,
    pub(super) probes: u32,
    pub(super) lease: Option<Span>,
    pub(super) ramp: Option<RampPlan>,
}

/// The shape of a ramp: the share it starts with and the time until all are admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RampPlan {
    pub(super) from: Ratio,
    pub(super) over: Span,
}

impl BreakerPlan {
    /// A builder that starts from the default plan.
    pub const fn builder() -> BreakerPlanBuilder {
        BreakerPlanBuilder { plan: Self::DEFAULT }
    }

    /// A builder that holds the settings of this plan, to change some of them.
    ///
    /// ```
    /// use core::time::Duration;
    /// use stagger_core::breaker::{BreakerPlan, WindowKind};
    /// let minute = Duration::from_secs(60);
    /// let plan = BreakerPlan::default().to_builder().window(minute).lease(minute).build()?;
    /// assert_eq!(plan.lease(), Some(minute.into()));
    /// assert_eq!(plan.window(), WindowKind::Time(minute.into()));
    /// # Ok::<(), stagger_core::ConfigError>(())
    /// ```
    pub const fn to_builder(self) -> BreakerPlanBuilder {
        BreakerPlanBuilder { plan: self }
    }

    const DEFAULT: Self = Self {
        window: WindowKind::Time(Span::from_secs(10)),
        rules: TripRules {
            ratio: Some(Ratio::from_percent(50)),
            minimum_calls: 20,
            consecutive: None,
            slow: None,
        },
        throttled_fails: false,
        open_time: Span::from_secs(5),
        open_factor: Ratio::from_percent(200),
        open_cap: Span::from_secs(60),
        probes: 1,
        lease: None,
        ramp: None,
    };

    /// The calls it judges by.
    #[must_use]
    pub const fn window(&self) -> WindowKind {
        self.window
    }

    /// The share of failures that opens it, unless that rule is off.
    #[must_use]
    pub const fn ratio(&self) -> Option<Ratio> {
        self.rules.ratio
    }

    /// Below this many calls in the window no share opens it.
    #[must_use]
    pub const fn minimum_calls(&self) -> u32 {
        self.rules.minimum_calls
    }

    /// The failures in a row that open it, if that rule is on.
    #[must_use]
    pub const fn consecutive(&self) -> Option<u32> {
        self.rules.consecutive
    }

    /// From where on a call is slow, and the share of slow calls that opens it, if that rule is on.
    #[must_use]
    pub fn slow_calls(&self) -> Option<(Span, Ratio)> {
        self.rules.slow.map(|slow| (slow.after, slow.ratio))
    }

    /// Whether a throttled call counts as a failure.
    #[must_use]
    pub const fn throttled_fails(&self) -> bool {
        self.throttled_fails
    }

    /// The first open time, before the upward spread.
    #[must_use]
    pub const fn open_time(&self) -> Span {
        self.open_time
    }

    /// The factor by which a failed probe multiplies the open time.
    #[must_use]
    pub const fn open_factor(&self) -> Ratio {
        self.open_factor
    }

    /// The longest open time, before the upward spread.
    #[must_use]
    pub const fn open_cap(&self) -> Span {
        self.open_cap
    }

    /// Probes admitted when half-open.
    #[must_use]
    pub const fn probes(&self) -> u32 {
        self.probes
    }

    /// The longest time for which a probe holds its place; the current open time when `None`.
    #[must_use]
    pub const fn lease(&self) -> Option<Span> {
        self.lease
    }

    /// The share that is admitted right after closing and the time until all are, if there is a ramp.
    #[must_use]
    pub fn ramp(&self) -> Option<(Ratio, Span)> {
        self.ramp.map(|ramp| (ramp.from, ramp.over))
    }

    /// The rule that a window with these counts breaks, after `consecutive` failures in a row.
    #[must_use]
    #[inline]
    pub fn broken_by(&self, counts: Counts, consecutive: u32) -> Option<Trip> {
        self.rules.broken_by(counts, consecutive)
    }

    /// Returns the call that a report counts as; `None` if it says nothing about the server.
    #[must_use]
    #[inline]
    pub fn judge(&self, report: Report, latency: Span) -> Option<Call> {
        let failed = match report {
            Report::Success => false,
            Report::Failure => true,
            Report::Throttled if self.throttled_fails => true,
            Report::Throttled | Report::Neutral => return None,
        };
        Some(Call { failed, slow: self.rules.is_slow(latency) })
    }
}

impl Default for BreakerPlan {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A [`BreakerPlan`] in the making; nothing is checked before [`build`](Self::build).
#[derive(Clone, Copy, Debug)]
#[must_use = "a builder does nothing before `build`"]
pub struct BreakerPlanBuilder {
    plan: BreakerPlan,
}

impl BreakerPlanBuilder {
    /// The calls it judges by: default those of the last 10 s.
    pub fn window(mut self, window: impl Into<WindowKind>) -> Self {
        self.plan.window = window.into();
        self
    }

    /// The share of failures that opens it, from above 0 to 100 %: default 50 %; `None` is off.
    pub fn ratio(mut self, ratio: impl Into<Option<Ratio>>) -> Self {
        self.plan.rules.ratio = ratio.into();
        self
    }

    /// Below this many calls in the window no share opens it: at least 1, default 20.
    pub const fn minimum_calls(mut self, calls: u32) -> Self {
        self.plan.rules.minimum_calls = calls;
        self
    }

    /// The failures in a row that open it, at least 1, whatever the window: off by default.
    pub fn consecutive(mut self, failures: impl Into<Option<u32>>) -> Self {
        self.plan.rules.consecutive = failures.into();
        self
    }

    /// Calls longer than `after` are slow, and this share of them opens it: off by default.
    ///
    /// A slow probe is a bad one, or a breaker that opened for slowness would never stay open.
    pub fn slow_calls(mut self, after: impl Into<Span>, ratio: Ratio) -> Self {
        let after = after.into();
        self.plan.rules.slow = Some(Slow { after, ratio });
        self
    }

    /// Whether a throttled call counts as a failure: default no, it counts as nothing.
    pub const fn throttled_fails(mut self, yes: bool) -> Self {
        self.plan.throttled_fails = yes;
        self
    }

    /// Sets the first open time, at least 1 ms, before the upward spread: default 5 s.
    pub fn open_time(mut self, first: impl Into<Span>) -> Self {
        self.plan.open_time = first.into();
        self
    }

    /// Sets the factor by which a failed probe multiplies the open time, at least 1: default 2.
    pub const fn open_factor(mut self, factor: Ratio) -> Self {
        self.plan.open_factor = factor;
        self
    }

    /// Sets the longest open time, before the upward spread: default 60 s.
    pub fn open_cap(mut self, cap: impl Into<Span>) -> Self {
        self.plan.open_cap = cap.into();
        self
    }

    /// Probes admitted when half-open, all of which must be good: 1 to 100, default 1.
    pub const fn probes(mut self, probes: u32) -> Self {
        self.plan.probes = probes;
        self
    }

    /// Limits the time for which a probe holds its place without a report, at least 1 ms: default, the open time of
    /// the moment. Should be longer than an attempt's time limit.
    pub fn lease(mut self, lease: impl Into<Span>) -> Self {
        self.plan.lease = Some(lease.into());
        self
    }

    /// After closing, admits a share that grows from `from` to all `over` this time: off by default.
    pub fn ramp(mut self, from: Ratio, over: impl Into<Span>) -> Self {
        let over = over.into();
        self.plan.ramp = Some(RampPlan { from, over });
        self
    }

    /// Admits everybody once it has closed: the default.
    pub const fn no_ramp(mut self) -> Self {
        self.plan.ramp = None;
        self
    }

    /// The plan.
    ///
    /// # Errors
    /// The first setting that is out of its bounds, or, as `breaker.ratio`, no trip rule at all.
    pub fn build(self) -> Result<BreakerPlan, ConfigError> {
        self.check_window()?;
        self.check_rules()?;
        self.check_open_time()?;
        self.check_probes()?;
        Ok(self.plan)
    }

    fn check_window(&self) -> Result<(), ConfigError> {
        match self.plan.window {
            WindowKind::Calls(calls) if !(1..=MAX_WINDOW_CALLS).contains(&calls) => {
                Err(ConfigError::new("breaker.window", calls, "from 1 to 1000 calls"))
            }
            WindowKind::Time(span) if span < MIN_WINDOW => {
                Err(ConfigError::new("breaker.window", span, "at least 10ms"))
            }
            _ => Ok(()),
        }
    }

    fn check_rules(&self) -> Result<(), ConfigError> {
        let TripRules { ratio, minimum_calls, consecutive, slow } = self.plan.rules;
        if let Some(ratio) = ratio {
            check_share("breaker.ratio", ratio)?;
        }
        if let Some(slow) = slow {
            check_share("breaker.slow_ratio", slow.ratio)?;
        }
        if consecutive == Some(0) {
            return Err(ConfigError::new("breaker.consecutive", 0, "at least 1"));
        }
        if ratio.is_none() && slow.is_none() && consecutive.is_none() {
            return Err(ConfigError::new("breaker.ratio", "none", "set, as no other rule is"));
        }
        if minimum_calls == 0 {
            return Err(ConfigError::new("breaker.minimum_calls", 0, "at least 1"));
        }
        match self.plan.window {
            WindowKind::Calls(calls) if minimum_calls > calls => Err(ConfigError::new(
                "breaker.minimum_calls",
                minimum_calls,
                alloc::format!("at most breaker.window ({calls} calls)"),
            )),
            _ => Ok(()),
        }
    }

    fn check_open_time(&self) -> Result<(), ConfigError> {
        let BreakerPlan { open_time, open_factor, open_cap, .. } = self.plan;
        if open_time < MIN_OPEN_TIME {
            return Err(ConfigError::new("breaker.open_time", open_time, "at least 1ms"));
        }
        if open_factor < Ratio::ONE {
            return Err(ConfigError::new("breaker.open_factor", open_factor, "at least 100%"));
        }
        if open_cap < open_time {
            let bound = alloc::format!("at least breaker.open_time ({open_time})");
            return Err(ConfigError::new("breaker.open_cap", open_cap, bound));
        }
        Ok(())
    }

    fn check_probes(&self) -> Result<(), ConfigError> {
        let BreakerPlan { probes, lease, ramp, .. } = self.plan;
        if !(1..=MAX_PROBES).contains(&probes) {
            return Err(ConfigError::new("breaker.probes", probes, "from 1 to 100"));
        }
        if let Some(lease) = lease.filter(|lease| *lease < MIN_OPEN_TIME) {
            return Err(ConfigError::new("breaker.lease", lease, "at least 1ms"));
        }
        let Some(ramp) = ramp else { return Ok(()) };
        check_share("breaker.ramp_from", ramp.from)?;
        if ramp.over.is_zero() {
            return Err(ConfigError::new("breaker.ramp_time", ramp.over, "above 0s"));
        }
        Ok(())
    }
}

fn check_share(field: &'static str, share: Ratio) -> Result<(), ConfigError> {
    if share == Ratio::ZERO || share > Ratio::ONE {
        return Err(ConfigError::new(field, share, "above 0% and at most 100%"));
    }
    Ok(())
}
