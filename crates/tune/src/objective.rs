//! The objective of the calls: the share that must succeed, how soon, and the scalar by which policies are compared.

use stagger_core::{ConfigError, Ratio, Span};

/// Shortest deadline: below it no retry fits.
const MIN_DEADLINE: Span = Span::from_millis(10);
/// Longest deadline: a world is played until its last call is over.
const MAX_DEADLINE: Span = Span::from_secs(600);
/// The share that a bound on the 99th percentile asks for.
const P99: f64 = 0.99;

/// Cost of a whole share of calls that misses the objective.
const MISS: f64 = 1_000.0;
/// Cost of one attempt that is added to every call.
const LOAD: f64 = 1.0;
/// Cost of a 99th percentile as long as the deadline.
const LATENCY: f64 = 0.1;

/// A service level objective: the share of calls that must succeed within a deadline, and the latency
/// that 99 % of all calls must keep, if there is one.
///
/// ```
/// use stagger_core::{Ratio, Span};
/// use stagger_tune::CallObjective;
/// let objective = CallObjective::new(Ratio::from_ppm(999_000), Span::from_secs(2))?;
/// let objective = objective.with_p99(Span::from_millis(500))?;
/// assert_eq!(objective.deadline(), Span::from_secs(2));
/// let error = objective.with_p99(Span::from_secs(3)).unwrap_err();
/// assert_eq!(error.to_string(), "p99 = 3s: must be above 0s and at most the deadline (2s)");
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallObjective {
    success: Ratio,
    deadline: Span,
    p99: Option<Span>,
}

impl CallObjective {
    /// An objective of this share of calls within this deadline, which is also the deadline of every
    /// candidate.
    ///
    /// # Errors
    /// `success` not above 0 and at most 1; `deadline` outside 10 ms to 10 min.
    pub fn new(success: Ratio, deadline: Span) -> Result<Self, ConfigError> {
        if success == Ratio::ZERO || success > Ratio::ONE {
            return Err(ConfigError::new("success", success, "above 0% and at most 100%"));
        }
        if !(MIN_DEADLINE..=MAX_DEADLINE).contains(&deadline) {
            return Err(ConfigError::new("deadline", deadline, "from 10ms to 10m"));
        }
        Ok(Self { success, deadline, p99: None })
    }

    /// The same objective, in which 99 % of all calls must also succeed within `latency`.
    ///
    /// # Errors
    /// `p99` of zero or above the deadline.
    pub fn with_p99(self, latency: Span) -> Result<Self, ConfigError> {
        if latency.is_zero() || latency > self.deadline {
            let bound = format!("above 0s and at most the deadline ({})", self.deadline);
            return Err(ConfigError::new("p99", latency, bound));
        }
        Ok(Self { p99: Some(latency), ..self })
    }

    /// The share of calls that must succeed within the deadline.
    #[must_use]
    pub const fn success(&self) -> Ratio {
        self.success
    }

    /// The deadline of a call.
    #[must_use]
    pub const fn deadline(&self) -> Span {
        self.deadline
    }

    /// The latency that 99 % of the calls must keep, if there is one.
    #[must_use]
    pub const fn p99(&self) -> Option<Span> {
        self.p99
    }

    /// The share of calls by which the figures miss the objective: what is missing within the deadline,
    /// and what is missing within the latency.
    #[must_use]
    pub fn miss(&self, figures: &WorldFigures) -> f64 {
        let missing = |wanted: f64, served: f64| (wanted - served).max(0.0);
        let late = self.p99.map_or(0.0, |_| missing(P99, figures.prompt));
        missing(self.success.as_f64(), figures.success) + late
    }

    /// The scalar by which policies are compared; lower is better.
    ///
    /// `1000 * miss + added load + 0.1 * p99 / deadline`: the miss first, then load, then latency. A
    /// tenth of a per cent of the calls weighs as much as one attempt added to every call, and that as
    /// much as ten deadlines of latency.
    ///
    /// ```
    /// use stagger_core::{Ratio, Span};
    /// use stagger_tune::{CallObjective, WorldFigures};
    /// let objective = CallObjective::new(Ratio::from_percent(99), Span::from_secs(1))?;
    /// let serves = |success: f64, added_load: f64| {
    ///     let p99 = Some(Span::from_millis(100));
    ///     objective.cost(&WorldFigures { success, prompt: success, added_load, p99, events: 0 })
    /// };
    /// // One call in a hundred more is worth three attempts a call; above the objective, load decides.
    /// assert!(serves(0.98, 3.0) < serves(0.97, 0.0));
    /// assert!(serves(1.0, 0.1) > serves(0.99, 0.0));
    /// # Ok::<(), stagger_core::ConfigError>(())
    /// ```
    #[must_use]
    pub fn cost(&self, figures: &WorldFigures) -> f64 {
        let p99 = figures.p99.unwrap_or(self.deadline).min(self.deadline);
        let latency = p99.as_secs_f64() / self.deadline.as_secs_f64();
        MISS * self.miss(figures) + LOAD * figures.added_load + LATENCY * latency
    }
}

/// The figures of one policy in one world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorldFigures {
    /// The share of calls that succeeded within the deadline, from 0 to 1.
    pub success: f64,
    /// The share that succeeded within the latency of the objective; the same without one.
    pub prompt: f64,
    /// Attempts a call at the server beyond the first, on average. Below zero where a breaker refused
    /// calls.
    pub added_load: f64,
    /// The 99th percentile of the latency of the calls that succeeded; `None` when no call did.
    pub p99: Option<Span>,
    /// Simulated events.
    pub events: u64,
}
