//! The learned state of an endpoint, which survives a restart.

use stagger_core::{Instant, Span};

/// The state of an endpoint besides its settings; written whenever it changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointState {
    /// Why it is not attempted at all, if so.
    pub disabled: Option<Disabled>,
    /// Since when all its attempts have failed.
    pub failing_since: Option<Instant>,
    /// Until when it asked to be left alone.
    pub paused_until: Option<Instant>,
    /// Whether its breaker is open.
    pub open: Option<Opened>,
    /// Since when its backlog has been leaving slowly.
    pub recovering_since: Option<Instant>,
}

/// An open breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The time at which the next probe may be sent.
    pub until: Instant,
    /// The open time before jitter: the next one is longer.
    pub open_time: Span,
}

/// Why an endpoint is not attempted. Its deliveries wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Disabled {
    /// By an operator.
    ByHand,
    /// It answered 410.
    Gone,
    /// It had failed for too long.
    Failing,
}

impl Disabled {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::ByHand, Self::Gone, Self::Failing];

    /// Its name in the API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ByHand => "by_hand",
            Self::Gone => "gone",
            Self::Failing => "failing",
        }
    }

    /// The reason of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }
}
