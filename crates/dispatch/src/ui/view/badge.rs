//! States in one word, with a colour that says the same.

use std::fmt;

use askama::filters::HtmlSafe;
use stagger::breaker::StateKind;
use stagger::{Instant, Verdict};

use crate::model::{DeliveryState, Disabled};
use crate::scheduler::QueueView;

/// A state. Writes itself as an element; the word alone is enough to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ui) struct Badge {
    word: &'static str,
    tone: Tone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tone {
    Good,
    Plain,
    Warn,
    Bad,
}

impl fmt::Display for Badge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = match self.tone {
            Tone::Good => "good",
            Tone::Plain => "plain",
            Tone::Warn => "warn",
            Tone::Bad => "bad",
        };
        write!(f, "<span class=\"badge {class}\">{}</span>", self.word)
    }
}

/// Words of our own making only.
impl HtmlSafe for Badge {}

impl From<DeliveryState> for Badge {
    fn from(state: DeliveryState) -> Self {
        let tone = match state {
            DeliveryState::Delivered => Tone::Good,
            DeliveryState::Pending | DeliveryState::Cancelled => Tone::Plain,
            DeliveryState::Waiting => Tone::Warn,
            DeliveryState::Dead => Tone::Bad,
        };
        Self { word: state.name(), tone }
    }
}

impl From<Verdict> for Badge {
    fn from(verdict: Verdict) -> Self {
        let tone = match verdict {
            Verdict::Ok => Tone::Good,
            Verdict::Transient | Verdict::Throttled | Verdict::Unprocessed => Tone::Warn,
            Verdict::Permanent => Tone::Bad,
            _ => Tone::Plain,
        };
        Self { word: verdict.name(), tone }
    }
}

/// The status of an endpoint, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ui) enum EndpointStatus {
    Active,
    /// Active, but its last attempts have failed.
    Failing,
    Recovering,
    HalfOpen,
    Open,
    Paused(Instant),
    Disabled(Disabled),
}

impl EndpointStatus {
    /// The status that a queue shows at `now`: the strongest reason that holds it back.
    pub(in crate::ui) fn of(view: &QueueView, now: Instant) -> Self {
        let endpoint_state = &view.endpoint_state;
        if let Some(reason) = endpoint_state.disabled {
            return Self::Disabled(reason);
        }
        match (endpoint_state.paused_until.filter(|until| *until > now), view.breaker) {
            (Some(until), _) => Self::Paused(until),
            (None, StateKind::Open) => Self::Open,
            (None, StateKind::HalfOpen) => Self::HalfOpen,
            (None, StateKind::Ramp) => Self::Recovering,
            (None, StateKind::Closed) if endpoint_state.recovering_since.is_some() => {
                Self::Recovering
            }
            (None, StateKind::Closed) if endpoint_state.failing_since.is_some() => Self::Failing,
            (None, StateKind::Closed) => Self::Active,
        }
    }

    pub(in crate::ui) const fn is_disabled(self) -> bool {
        matches!(self, Self::Disabled(_))
    }

    /// The effect of the status on deliveries.
    pub(in crate::ui) const fn meaning(self) -> &'static str {
        match self {
            Self::Active => "Deliveries are attempted immediately.",
            Self::Failing => "Its last attempts failed. They are retried on schedule.",
            Self::Recovering => {
                "It has recovered. Its backlog is sent slowly at first, then faster."
            }
            Self::HalfOpen => "A probe is in flight to check whether it has recovered.",
            Self::Open => "It failed too often. No attempts are made until the next probe.",
            Self::Paused(_) => "It asked for a pause with Retry-After.",
            Self::Disabled(Disabled::ByHand) => "An operator disabled it. Its deliveries wait.",
            Self::Disabled(Disabled::Gone) => "It answered 410 Gone. Its deliveries wait.",
            Self::Disabled(Disabled::Failing) => "It failed for too long. Its deliveries wait.",
        }
    }
}

impl From<EndpointStatus> for Badge {
    fn from(state: EndpointStatus) -> Self {
        let (word, tone) = match state {
            EndpointStatus::Active => ("active", Tone::Good),
            EndpointStatus::Failing => ("failing", Tone::Warn),
            EndpointStatus::Recovering => ("recovering", Tone::Warn),
            EndpointStatus::HalfOpen => ("half-open", Tone::Warn),
            EndpointStatus::Open => ("open", Tone::Bad),
            EndpointStatus::Paused(_) => ("paused", Tone::Warn),
            EndpointStatus::Disabled(_) => ("disabled", Tone::Plain),
        };
        Self { word, tone }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::EndpointState;
    use stagger::Span;

    #[test]
    fn the_strongest_reason_is_shown() {
        let now = Instant::ORIGIN + Span::from_secs(100);
        let mut view = QueueView {
            endpoint_state: EndpointState::default(),
            breaker: StateKind::Closed,
            next_probe: None,
            ready: 0,
            waiting: 0,
            in_flight: 0,
            rate: None,
        };
        assert_eq!(EndpointStatus::of(&view, now), EndpointStatus::Active);
        view.endpoint_state.failing_since = Some(now);
        assert_eq!(EndpointStatus::of(&view, now), EndpointStatus::Failing);
        view.endpoint_state.recovering_since = Some(now);
        assert_eq!(EndpointStatus::of(&view, now), EndpointStatus::Recovering);
        view.breaker = StateKind::Open;
        assert_eq!(EndpointStatus::of(&view, now), EndpointStatus::Open);
        view.endpoint_state.paused_until = Some(now);
        assert_eq!(EndpointStatus::of(&view, now), EndpointStatus::Open, "the pause is over");
        view.endpoint_state.disabled = Some(Disabled::Gone);
        assert!(EndpointStatus::of(&view, now).is_disabled());
    }
}
