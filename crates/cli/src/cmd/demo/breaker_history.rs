//! The states of the breaker over time, as the dispatcher reports them.

use std::fmt;

use stagger::breaker::StateKind;
use stagger::{Instant, Span};
use stagger_dispatch::scheduler::QueueView;

/// The states of the breaker, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct BreakerHistory {
    steps: Vec<(Span, BreakerChange)>,
    probe: Option<Instant>,
}

/// One change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BreakerChange {
    Opened,
    /// A probe failed; the next one is later.
    Probed,
    /// A probe was good: the backlog leaves slowly.
    Recovering,
    /// Nothing is left of it.
    Well,
}

impl BreakerHistory {
    /// Notes the state of the endpoint at `at`.
    pub(super) fn note(&mut self, at: Span, view: &QueueView) {
        let open = view.breaker != StateKind::Closed;
        let last = self.steps.last().map(|(_, step)| *step);
        let step = match last {
            None | Some(BreakerChange::Well) if open => Some(BreakerChange::Opened),
            Some(BreakerChange::Opened | BreakerChange::Probed) if open => {
                (view.next_probe.is_some() && view.next_probe != self.probe)
                    .then_some(BreakerChange::Probed)
            }
            Some(BreakerChange::Opened | BreakerChange::Probed) => Some(BreakerChange::Recovering),
            Some(BreakerChange::Recovering) if open => Some(BreakerChange::Opened),
            Some(BreakerChange::Recovering) => (view.endpoint_state.recovering_since.is_none()
                && is_empty(view))
            .then_some(BreakerChange::Well),
            _ => None,
        };
        self.probe = view.next_probe.or(self.probe);
        self.steps.extend(step.map(|step| (at, step)));
    }

    /// Whether it has opened and everything has been caught up with since.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.steps.last(), Some((_, BreakerChange::Well)))
    }

    /// The current state of the breaker.
    pub(super) fn now(&self) -> &'static str {
        match self.steps.last() {
            None => "closed",
            Some((_, step)) => step.name(),
        }
    }
}

impl BreakerChange {
    const fn name(self) -> &'static str {
        match self {
            Self::Opened => "open",
            Self::Probed => "open, a probe failed",
            Self::Recovering => "closed, on the ramp",
            Self::Well => "closed, all caught up",
        }
    }
}

impl fmt::Display for BreakerHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (at, step)) in self.steps.iter().enumerate() {
            let comma = if index == 0 { "" } else { "; " };
            write!(f, "{comma}{} at {:.1} s", step.name(), at.as_secs_f64())?;
        }
        if self.steps.is_empty() { f.write_str("never opened") } else { Ok(()) }
    }
}

fn is_empty(view: &QueueView) -> bool {
    view.ready + view.waiting + view.in_flight == 0
}

#[cfg(test)]
mod tests {
    use stagger_dispatch::model::EndpointState;

    use super::*;

    fn view(breaker: StateKind, probe: Option<u64>, waiting: usize) -> QueueView {
        QueueView {
            endpoint_state: EndpointState::default(),
            breaker,
            next_probe: probe.map(|secs| Instant::ORIGIN + Span::from_secs(secs)),
            ready: 0,
            waiting,
            in_flight: 0,
            rate: None,
        }
    }

    #[test]
    fn looking_twice_at_the_same_state_is_no_step() {
        let mut path = BreakerHistory::default();
        let views = [
            view(StateKind::Closed, None, 9),
            view(StateKind::Open, Some(1), 9),
            view(StateKind::Open, Some(1), 9),
            view(StateKind::HalfOpen, None, 9),
            view(StateKind::Open, Some(3), 9),
            view(StateKind::Closed, None, 9),
            view(StateKind::Closed, None, 9),
            view(StateKind::Closed, None, 0),
        ];
        for (at, view) in (0..).zip(&views) {
            path.note(Span::from_secs(at), view);
        }
        assert_eq!(
            path.to_string(),
            "open at 1.0 s; open, a probe failed at 4.0 s; \
             closed, on the ramp at 5.0 s; closed, all caught up at 7.0 s"
        );
    }
}
