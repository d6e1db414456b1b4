//! The people behind the outermost calls: they give up after a while, and click again.

use stagger_core::{Ratio, Span};

/// The behaviour of users; by default they wait for as long as their policy does, and accept a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Users {
    /// The time after which a user gives a call up; never when `None`.
    pub patience: Option<Abandonment>,
    /// The calls that users make again; none when `None`.
    pub clicks: Option<Clicks>,
}

/// The time that a user waits for a call with all its attempts, drawn for every call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abandonment {
    /// Always the same.
    Fixed(Span),
    /// Exponentially distributed around this mean.
    Exponential(Span),
    /// Lognormally distributed around this mean.
    Lognormal {
        /// The mean.
        mean: Span,
        /// The standard deviation of the logarithm.
        sigma: Ratio,
    },
}

/// Users who make a call again that failed, or that they gave up. Each is a new call, in every figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clicks {
    /// The probability that a user clicks again.
    pub share: Ratio,
    /// The time until then, in the mean; exponentially distributed.
    pub after: Span,
    /// The most times that a user clicks again.
    pub most: u32,
}
