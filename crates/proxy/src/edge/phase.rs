//! The phase of a client's connection: whose turn it is, and until when.

use std::sync::{Mutex, MutexGuard, PoisonError};

use stagger::{Clock, Instant, Span, TokioTime};

/// Time limits of a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientTimes {
    pub(super) head: Span,
    pub(super) idle: Span,
    pub(super) stall: Span,
}

/// The phase of one connection, shared by its stream, its bodies and the task that watches it.
#[derive(Debug)]
pub(crate) struct ConnectionPhase {
    times: ClientTimes,
    state: Mutex<PhaseState>,
}

#[derive(Clone, Copy, Debug)]
struct PhaseState {
    /// Requests that are served.
    exchanges: usize,
    /// Request bodies that an upstream asks for and that do not come, and since when.
    awaited: usize,
    awaited_since: Instant,
    /// The time since which no request is served.
    idle_since: Instant,
    /// The first byte of the request that is being sent, while none is served.
    head_since: Option<Instant>,
    /// The time since which the client takes no byte of a reply.
    stalled: Option<Instant>,
    /// Replies of which the client has not taken what there is, and since when it has taken nothing of any.
    unread: usize,
    unread_since: Instant,
    /// Whether it speaks HTTP/2, whose bytes may be of no request.
    http2: bool,
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overdue {
    /// No request came: nothing is lost, and HTTP/2 can say so.
    Idle,
    /// The client began something and did not go on.
    Slow,
}

impl ConnectionPhase {
    /// A connection that was opened now. Its first request is due as if its first byte had come.
    pub(super) fn new(times: ClientTimes) -> Self {
        let now = TokioTime.now();
        let state = PhaseState {
            exchanges: 0,
            awaited: 0,
            awaited_since: now,
            idle_since: now,
            head_since: Some(now),
            stalled: None,
            unread: 0,
            unread_since: now,
            http2: false,
        };
        Self { times, state: Mutex::new(state) }
    }

    /// The client sent some bytes.
    pub(super) fn read(&self) {
        let mut state = self.lock();
        let now = TokioTime.now();
        if state.exchanges == 0 && state.head_since.is_none() && !state.http2 {
            state.head_since = Some(now);
        }
        if state.awaited > 0 {
            state.awaited_since = now;
        }
    }

    /// The client took some bytes, or did not.
    pub(super) fn wrote(&self, some: bool) {
        let mut state = self.lock();
        state.stalled = match state.stalled {
            _ if some => None,
            None => Some(TokioTime.now()),
            since => since,
        };
    }

    /// A request is served.
    pub(super) fn exchange_begins(&self, http2: bool) {
        let mut state = self.lock();
        state.http2 = http2;
        state.exchanges += 1;
        state.head_since = None;
    }

    /// A reply has ended.
    pub(super) fn exchange_ends(&self) {
        let mut state = self.lock();
        state.exchanges = state.exchanges.saturating_sub(1);
        if state.exchanges == 0 {
            state.idle_since = TokioTime.now();
        }
    }

    /// A body is asked for and does not come, or came.
    pub(super) fn body_awaited(&self, waits: bool) {
        let mut state = self.lock();
        if waits {
            if state.awaited == 0 {
                state.awaited_since = TokioTime.now();
            }
            state.awaited += 1;
        } else {
            state.awaited = state.awaited.saturating_sub(1);
        }
    }

    /// A part of a reply is there for the client, or was taken. On HTTP/2 a client that does not read stalls its stream
    /// and not its connection.
    pub(super) fn reply_unread(&self, unread: bool) {
        let mut state = self.lock();
        state.unread_since = TokioTime.now();
        state.unread = if unread { state.unread + 1 } else { state.unread.saturating_sub(1) };
    }

    /// The instant at which the connection is closed if the client does nothing until then, and why; `None` while it
    /// is not the client's turn.
    pub(super) fn deadline(&self) -> Option<(Instant, Overdue)> {
        let state = *self.lock();
        let ClientTimes { head, idle, stall } = self.times;
        let begun = state.head_since.filter(|_| state.exchanges == 0);
        let head = begun.map(|since| (since + head, Overdue::Slow));
        let idle = (state.exchanges == 0).then_some((state.idle_since + idle, Overdue::Idle));
        let body = (state.awaited > 0).then_some((state.awaited_since + stall, Overdue::Slow));
        let write = state.stalled.map(|since| (since + stall, Overdue::Slow));
        let reply = (state.unread > 0).then_some((state.unread_since + stall, Overdue::Slow));
        [head, idle, body, write, reply].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    fn lock(&self) -> MutexGuard<'_, PhaseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use stagger::Sleep;

    use super::*;

    const TIMES: ClientTimes = ClientTimes {
        head: Span::from_secs(10),
        idle: Span::from_secs(75),
        stall: Span::from_secs(30),
    };

    fn left(phase: &ConnectionPhase) -> Option<(u64, Overdue)> {
        let (at, why) = phase.deadline()?;
        Some(((at - TokioTime.now()).as_nanos() / 1_000_000_000, why))
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_had_no_deadline_while_it_was_its_turn() {
        let phase = ConnectionPhase::new(TIMES);
        TokioTime.sleep(Span::from_secs(4)).await;
        phase.read();
        assert_eq!(left(&phase), Some((6, Overdue::Slow)), "one byte is no new head");
        phase.exchange_begins(false);
        assert_eq!(left(&phase), None, "the upstream's time is not the client's delay");
        phase.body_awaited(true);
        TokioTime.sleep(Span::from_secs(20)).await;
        assert_eq!(left(&phase), Some((10, Overdue::Slow)));
        phase.read();
        assert_eq!(left(&phase), Some((30, Overdue::Slow)), "a slow body that grows is no stall");
        phase.body_awaited(false);
        phase.reply_unread(true);
        TokioTime.sleep(Span::from_secs(9)).await;
        assert_eq!(left(&phase), Some((21, Overdue::Slow)), "a client that reads nothing");
        phase.reply_unread(false);
        phase.wrote(false);
        TokioTime.sleep(Span::from_secs(1)).await;
        phase.wrote(false);
        assert_eq!(left(&phase), Some((29, Overdue::Slow)));
        phase.wrote(true);
        phase.exchange_ends();
        assert_eq!(left(&phase), Some((75, Overdue::Idle)));
        phase.read();
        assert_eq!(left(&phase), Some((10, Overdue::Slow)));
    }

    #[tokio::test(start_paused = true)]
    async fn pings_of_http_2_looked_like_a_slow_head() {
        let phase = ConnectionPhase::new(TIMES);
        phase.exchange_begins(true);
        phase.exchange_ends();
        TokioTime.sleep(Span::from_secs(60)).await;
        phase.read();
        assert_eq!(left(&phase), Some((15, Overdue::Idle)), "a ping is no request");
    }
}
