//! The error of a run that does not begin, or of a server that cannot listen.

use std::fmt;

/// A refusal before the first attempt: nothing has been sent.
///
/// ```
/// use stagger_load::LoadUrl;
/// let refused = LoadUrl::parse("http://shop.example/", None).unwrap_err();
/// assert!(refused.is_host());
/// assert!(refused.to_string().contains("--yes-really shop.example"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    kind: ErrorKind,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ErrorKind {
    Url,
    Host,
    Bound,
    Scenario,
    System,
}

impl LoadError {
    pub(crate) fn url(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Url, message: message.into() }
    }

    pub(crate) fn host(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Host, message: message.into() }
    }

    pub(crate) fn bound(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Bound, message: message.into() }
    }

    pub(crate) fn scenario(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Scenario, message: message.into() }
    }

    pub(crate) fn system(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::System, message: message.into() }
    }

    /// Whether the URL is not one that can be called.
    #[must_use]
    pub fn is_url(&self) -> bool {
        self.kind == ErrorKind::Url
    }

    /// Whether the host may not be called, because it is not this machine and was not named.
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.kind == ErrorKind::Host
    }

    /// Whether the scenario exceeds a bound of rate, time, connections or calls.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.kind == ErrorKind::Bound
    }

    /// Whether the scenario has a part that cannot be played over sockets.
    #[must_use]
    pub fn is_scenario(&self) -> bool {
        self.kind == ErrorKind::Scenario
    }

    /// Whether the system refused: a name that does not resolve, an address in use, too few open files.
    #[must_use]
    pub fn is_system(&self) -> bool {
        self.kind == ErrorKind::System
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LoadError {}
