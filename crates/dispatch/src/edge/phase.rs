//! The phase of a client's connection: whose turn it is, and until when.

use std::sync::{Mutex, MutexGuard, PoisonError};

use stagger::{Clock, Instant, Span, TokioTime};

/// The time for the head of a request, from its first byte, or from the opening of the connection: a
/// mobile client with lost packets needs a few seconds.
const HEAD_TIME: Span = Span::from_secs(10);

/// The time between two requests: above the 60 s after which common load balancers close idle
/// connections to their backends, so that no request meets a connection that closes.
const IDLE_TIME: Span = Span::from_secs(75);

/// The time for a body, and the bytes that add a second to it.
const BODY_TIME: Span = Span::from_secs(20);

const BODY_RATE: u64 = 16 << 10;

/// The time in which a client has to take some bytes of a reply.
const WRITE_TIME: Span = Span::from_secs(20);

/// The phase of one connection, shared by its stream, its bodies and the task that watches it.
#[derive(Debug)]
pub(super) struct ConnectionPhase(Mutex<PhaseState>);

#[derive(Clone, Copy, Debug)]
struct PhaseState {
    phase: Phase,
    /// The time since which the client takes no byte of a reply.
    stalled: Option<Instant>,
    /// Whether a request was answered.
    served: bool,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The client sends a head.
    Head { since: Instant },
    /// The client sends a body.
    Body { since: Instant, bytes: u64 },
    /// The node works on the request or sends its reply.
    Reply,
    /// The client may send the next request.
    Idle { since: Instant },
}

impl ConnectionPhase {
    /// The phase of a connection that was just opened.
    pub(super) fn new() -> Self {
        let phase = Phase::Head { since: TokioTime.now() };
        Self(Mutex::new(PhaseState { phase, stalled: None, served: false }))
    }

    /// Bytes came from the client.
    pub(super) fn read(&self) {
        let mut state = self.lock();
        if matches!(state.phase, Phase::Idle { .. }) {
            state.phase = Phase::Head { since: TokioTime.now() };
        }
    }

    /// The client takes bytes, or none for now.
    pub(super) fn wrote(&self, some: bool) {
        let mut state = self.lock();
        if some {
            state.stalled = None;
        } else if state.stalled.is_none() {
            state.stalled = Some(TokioTime.now());
        }
    }

    /// A request has arrived but for its body.
    pub(super) fn body_begins(&self) {
        self.lock().phase = Phase::Body { since: TokioTime.now(), bytes: 0 };
    }

    /// A part of the body has arrived.
    pub(super) fn body_grows(&self, by: usize) {
        if let Phase::Body { bytes, .. } = &mut self.lock().phase {
            // OK because usize has at most 64 bits.
            *bytes = bytes.saturating_add(by as u64);
        }
    }

    /// The request is complete, or the rest of it does not matter.
    pub(super) fn reply_begins(&self) {
        self.lock().phase = Phase::Reply;
    }

    /// The reply was handed over.
    pub(super) fn reply_ends(&self) {
        let mut state = self.lock();
        state.phase = Phase::Idle { since: TokioTime.now() };
        state.served = true;
    }

    /// The time at which the connection is closed if the client does nothing until then.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let state = *self.lock();
        let turn = match state.phase {
            Phase::Head { since } => Some(since + HEAD_TIME),
            Phase::Body { since, bytes } => {
                Some(since + BODY_TIME + Span::from_secs(bytes / BODY_RATE))
            }
            Phase::Reply => None,
            Phase::Idle { since } => Some(since + IDLE_TIME),
        };
        let stalled = state.stalled.map(|since| since + WRITE_TIME);
        turn.into_iter().chain(stalled).min()
    }

    /// The rank of the connection among those that may be closed to make room: the lowest goes first. A
    /// connection that never brought a request goes before all others, then the one that waits for its client
    /// for the longest time. `None` while it is the node's turn.
    pub(super) fn expendable(&self) -> Option<(bool, Instant)> {
        let state = *self.lock();
        match state.phase {
            Phase::Head { since } | Phase::Body { since, .. } | Phase::Idle { since } => {
                Some((state.served, since))
            }
            Phase::Reply => state.stalled.map(|since| (state.served, since)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, PhaseState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use stagger::Sleep;

    use super::*;

    fn left(phase: &ConnectionPhase) -> Option<Span> {
        phase.deadline().map(|deadline| deadline.since(TokioTime.now()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_had_no_deadline_while_it_was_its_turn() {
        let phase = ConnectionPhase::new();
        assert_eq!(left(&phase), Some(HEAD_TIME));
        TokioTime.sleep(Span::from_secs(4)).await;
        phase.read();
        assert_eq!(left(&phase), Some(Span::from_secs(6)), "one byte is no new head");
        phase.body_begins();
        assert_eq!(left(&phase), Some(BODY_TIME));
        phase.body_grows(32 << 10);
        assert_eq!(left(&phase), Some(Span::from_secs(22)), "a large body may take longer");
        phase.reply_begins();
        assert_eq!(left(&phase), None, "the node's own work is not the client's delay");
        phase.wrote(false);
        assert_eq!(left(&phase), Some(WRITE_TIME));
        phase.wrote(true);
        phase.reply_ends();
        assert_eq!(left(&phase), Some(IDLE_TIME));
        phase.read();
        assert_eq!(left(&phase), Some(HEAD_TIME));
    }

    #[tokio::test(start_paused = true)]
    async fn a_working_client_went_before_a_silent_one() {
        let (served, silent) = (ConnectionPhase::new(), ConnectionPhase::new());
        served.body_begins();
        served.reply_begins();
        assert_eq!(served.expendable(), None);
        served.reply_ends();
        TokioTime.sleep(Span::from_secs(1)).await;
        let newer = ConnectionPhase::new();
        assert!(silent.expendable() < newer.expendable());
        assert!(newer.expendable() < served.expendable(), "the oldest, but it brought requests");
    }
}
