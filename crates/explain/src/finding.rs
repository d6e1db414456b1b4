//! What is wrong with a policy, why, and how it is mended.

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What kind of thing.
    pub code: Code,
    /// Whether it may ship.
    pub severity: Severity,
    /// The key that it lies in, as in `backoff.jitter`, whether or not it is written.
    pub key: &'static str,
    /// What is wrong, with its figure.
    pub message: String,
    /// What to write instead.
    pub fix: String,
}

/// Whether something may ship.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It works, and hurts on a bad day.
    Warning,
    /// It must not ship.
    Error,
}

/// Kinds of findings. The names are stable: scripts and waivers rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Code {
    /// `no-jitter`: callers that fail together come back together.
    NoJitter,
}
