//! One process's exchange with the store: a request about the breaker, and the effect of the answer.

use stagger_core::breaker::StateKind;
use stagger_core::{Entropy, Instant, Ratio, Span};

use super::held_leases::Lease;
use super::replica::{KnownState, Replica};
use super::script::{BreakerAnswer, BreakerRequest, FleetState, Opening, ProbeResult, Token};
use super::transitions;
use crate::ledger::breaker::LocalBreaker;

/// For how many times the [patience](crate::SharedOptions::again) a lease is kept that no call uses:
/// then it is another process's turn.
const TURNS: u64 = 4;
/// The longest stretch of an open time, as the engine has it.
const SPREAD: Ratio = Ratio::from_percent(50);

/// A move of the fleet's breaker that this process has not caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RemoteMove {
    Opened,
    Closed,
}

/// A request, and its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct SyncRound<'a> {
    pub(super) request: &'a BreakerRequest,
    /// The time at which it was sent.
    pub(super) asked: Instant,
    pub(super) answer: &'a BreakerAnswer,
    /// The time at which it was answered.
    pub(super) now: Instant,
}

impl Replica {
    /// The time at which the store should be asked; `None` when there is nothing to ask. `asked` is when it was
    /// asked last, and `called` whether there were calls since.
    pub(super) fn due(
        &mut self,
        local: &LocalBreaker,
        asked: Instant,
        called: bool,
    ) -> Option<Instant> {
        let is_new = self.answered_at.is_none();
        if is_new || self.forgotten || !self.results.is_empty() || self.is_unreported(local) {
            return Some(asked);
        }
        let report = called.then(|| asked + self.again);
        let wanted_probe = match self.known {
            KnownState::Closed => None,
            _ if self.leases.free().is_some() || !(self.wanted || called) => None,
            KnownState::Open(until) => Some(until.max(self.ask_from)),
            KnownState::HalfOpen => Some(self.ask_from),
        };
        let turn = self.leases.free().map(|lease| lease.since + self.again.saturating_mul(TURNS));
        [report, wanted_probe, turn].into_iter().flatten().min()
    }

    /// The request to the store at `now`. It is sent again until it is answered: what the store has
    /// counted it does not count twice.
    pub(super) fn request(
        &mut self,
        local: &LocalBreaker,
        now: Instant,
        called: bool,
        chance: &mut impl Entropy,
    ) -> BreakerRequest {
        self.wanted |= called && self.known != KnownState::Closed;
        self.leases.lapse(now);
        let turn = self.again.saturating_mul(TURNS);
        if self.leases.free().is_some_and(|lease| now >= lease.since + turn) {
            self.return_lease();
            self.ask_from = now + self.again;
        }
        BreakerRequest {
            version: self.version,
            results: self.results.clone(),
            opening: self.opening(local, now),
            wanted_probe: self
                .wants_probe(now)
                .then(|| *self.wanted_probe.get_or_insert_with(|| token(chance))),
            // OK because the draw is at most a million.
            spread_ppm: u32::try_from(
                chance.draw(Span::ZERO, Span::from_nanos(1_000_000)).as_nanos(),
            )
            .unwrap_or(0),
        }
    }

    /// Decides alone from now on. The last request: what was found, and the lease that is not needed.
    pub(super) fn retire(&mut self) -> Option<BreakerRequest> {
        (self.alone, self.handed_over) = (true, true);
        self.return_lease();
        let results = std::mem::take(&mut self.results);
        (!results.is_empty()).then(|| BreakerRequest {
            version: self.version,
            results,
            ..BreakerRequest::default()
        })
    }

    /// The store has answered. A move that this process has not caused.
    pub(super) fn adopt(
        &mut self,
        local: &LocalBreaker,
        round: &SyncRound<'_>,
        entropy: &mut impl Entropy,
    ) -> Option<RemoteMove> {
        let SyncRound { request, answer, now, .. } = *round;
        self.results.drain(..request.results.len().min(self.results.len()));
        let knew_less = self.alone_from.take().is_some() || self.answered_at.is_none();
        let lost = answer.version.created != self.version.created
            || answer.version.epoch < self.version.epoch;
        self.answered_at = Some(now);
        let moved = match answer.state {
            FleetState::Closed | FleetState::Ramp(_) => {
                // Open wins: who knows of it reports_outage the store with the next request.
                self.forgotten = (knew_less || lost) && self.is_open_here(local, now);
                if self.forgotten { self.keep(round) } else { self.close(local, round) }
            }
            FleetState::Open(left) => {
                self.open(local, round, KnownState::Open(now + left), entropy)
            }
            FleetState::HalfOpen => {
                let moved = self.open(local, round, KnownState::HalfOpen, entropy);
                self.lease(round);
                moved
            }
        };
        moved.filter(|_| !request.may_move_breaker())
    }

    /// The store does not answer.
    pub(super) fn store_lost(&mut self, now: Instant, entropy: &mut impl Entropy) {
        if self.alone_from.is_some() {
            return;
        }
        // All processes notice it at once, and must not probe at once.
        let end = match self.known {
            KnownState::Open(until) => until.max(now),
            _ => now,
        };
        self.alone_from = Some(end + entropy.draw(Span::ZERO, SPREAD.of_span(self.open_time)));
    }

    /// Whether its own breaker has opened by itself, and the store does not know.
    fn is_unreported(&self, local: &LocalBreaker) -> bool {
        self.known == KnownState::Closed && local.opened() > self.reported_opened
    }

    fn opening(&mut self, local: &LocalBreaker, now: Instant) -> Option<Opening> {
        if std::mem::take(&mut self.forgotten) {
            return Some(self.remembered(local, now));
        }
        // Who has not moved the store for a while hears it first.
        if self.known != KnownState::Closed
            || self.alone_from.is_some()
            || self.answered_at.is_none()
        {
            return None;
        }
        if is_closed(local, now) {
            // It may have opened and closed again before it was reported.
            self.reported_opened = local.opened();
            return None;
        }
        Some(Opening::Trip)
    }

    fn remembered(&self, local: &LocalBreaker, now: Instant) -> Opening {
        let (until, open_time) = match self.known {
            KnownState::Open(until) if !self.handed_over => (Some(until), self.open_time),
            KnownState::HalfOpen if !self.handed_over => (None, self.open_time),
            _ => local.with_machine(now, |own| (own.open_until(now), own.open_time())),
        };
        Opening::Remembered { left: until.unwrap_or(now) - now, open_time }
    }

    /// Whether the breaker is open as far as this process knows.
    fn is_open_here(&self, local: &LocalBreaker, now: Instant) -> bool {
        let follows = self.known != KnownState::Closed && !self.handed_over;
        follows || !is_closed(local, now)
    }

    /// Keeps what the store has forgotten until it is reported.
    fn keep(&mut self, round: &SyncRound<'_>) -> Option<RemoteMove> {
        self.version = round.answer.version;
        self.leases.clear(round.now);
        None
    }

    fn close(&mut self, local: &LocalBreaker, round: &SyncRound<'_>) -> Option<RemoteMove> {
        let (answer, now) = (round.answer, round.now);
        let was_closed = self.known == KnownState::Closed;
        if (self.version != answer.version || !was_closed) && !is_closed(local, now) {
            self.reported_opened = transitions::close(local, now);
        }
        self.move_to(round, KnownState::Closed);
        self.wanted = false;
        (!was_closed).then_some(RemoteMove::Closed)
    }

    fn open(
        &mut self,
        local: &LocalBreaker,
        round: &SyncRound<'_>,
        known: KnownState,
        entropy: &mut impl Entropy,
    ) -> Option<RemoteMove> {
        let now = round.now;
        let (was_closed, has_opened) =
            (self.known == KnownState::Closed, round.request.opening.is_some());
        let reopened = !was_closed && !has_opened && self.is_reopened(round.answer);
        self.reported_opened = if is_closed(local, now) {
            transitions::open(local, now, entropy)
        } else if reopened {
            transitions::reopen(local, now, entropy)
        } else {
            local.opened()
        };
        self.move_to(round, known);
        // Whose own calls have failed has calls to make.
        self.wanted |= has_opened;
        (was_closed || reopened).then_some(RemoteMove::Opened)
    }

    /// Whether a probe has failed since the last answer: time alone makes one move, to half-open.
    fn is_reopened(&self, answer: &BreakerAnswer) -> bool {
        let remembers = answer.version.created == self.version.created;
        let moves = answer.version.epoch.saturating_sub(self.version.epoch);
        remembers && moves > u64::from(answer.state == FleetState::HalfOpen)
    }

    fn move_to(&mut self, round: &SyncRound<'_>, known: KnownState) {
        let answer = round.answer;
        if self.version != answer.version || self.known != known {
            self.leases.clear(round.now);
        }
        self.version = answer.version;
        self.open_time = answer.open_time;
        self.known = known;
        self.handed_over = false;
    }

    fn lease(&mut self, round: &SyncRound<'_>) {
        let Some(token) = round.request.wanted_probe else { return };
        let asked = round.asked;
        self.wanted_probe = None;
        match round.answer.lease {
            // From when it was asked for: so it ends here before it ends there.
            Some(lease) => self.leases.hold(Lease { token, since: asked, ends: asked + lease }),
            None => self.ask_from = asked + self.again,
        }
    }

    fn wants_probe(&self, now: Instant) -> bool {
        let over = match self.known {
            KnownState::Closed => false,
            KnownState::Open(until) => now >= until,
            KnownState::HalfOpen => true,
        };
        over && self.wanted && self.leases.free().is_none() && now >= self.ask_from
    }

    fn return_lease(&mut self) {
        if let Some(lease) = self.leases.take_free() {
            self.results.push((lease.token, ProbeResult::Nothing));
        }
    }
}

fn is_closed(local: &LocalBreaker, now: Instant) -> bool {
    matches!(local.state(now), StateKind::Closed | StateKind::Ramp)
}

/// One of 2^52, zero left out: the script's numbers are exact up to there.
fn token(chance: &mut impl Entropy) -> Token {
    (chance.next_u64() >> 12).max(1)
}

#[cfg(test)]
mod tests {
    use stagger_core::breaker::{BreakerPlan, Report, Ticket};

    use super::super::replica::FleetAdmission;
    use super::super::script::BreakerVersion;
    use super::*;
    use crate::{Rng, SharedOptions};

    /// Opens after one failure, for 5 s at first and for 60 s at most.
    struct Process {
        replica: Replica,
        own: LocalBreaker,
        chance: Rng,
    }

    impl Process {
        fn new(seed: u64) -> Self {
            let plan = BreakerPlan::builder().consecutive(1).probes(2).build().expect("in bounds");
            let options = SharedOptions::new(2).expect("two nodes");
            Self {
                replica: Replica::new(plan, &options, true),
                own: LocalBreaker::new(plan),
                chance: Rng::with_seed(seed),
            }
        }

        /// Asks at `asked`, and is answered at once.
        fn ask(
            &mut self,
            asked: Instant,
            answer: &BreakerAnswer,
        ) -> (BreakerRequest, Option<RemoteMove>) {
            let Self { replica, own, chance } = self;
            let request = replica.request(own, asked, true, chance);
            let round = SyncRound { request: &request, asked, answer, now: asked };
            let moved = replica.adopt(own, &round, chance);
            (request, moved)
        }

        fn admit(&mut self, now: Instant) -> Option<Ticket> {
            match self.replica.admit(now) {
                FleetAdmission::OwnBreaker => self.own.admit(now).ticket(),
                FleetAdmission::Admitted(ticket) => Some(ticket),
                FleetAdmission::Refused(until) => {
                    assert!(until > now, "a refused call has an instant to wait for");
                    None
                }
            }
        }

        fn call(&mut self, now: Instant, report: Report) -> bool {
            let ticket = self.admit(now);
            if let Some(ticket) = ticket {
                self.own.report(now, ticket, report, &mut self.chance);
            }
            ticket.is_some()
        }

        fn state(&self, now: Instant) -> StateKind {
            self.replica.state(&self.own, now)
        }
    }

    fn at(second: u64) -> Instant {
        Instant::ORIGIN + Span::from_secs(second)
    }

    /// Of the first memory of the store.
    fn answer(epoch: u64, state: FleetState) -> BreakerAnswer {
        let version = BreakerVersion { created: if epoch == 0 { 0 } else { 7 }, epoch };
        BreakerAnswer { version, state, open_time: Span::from_secs(5), lease: None }
    }

    fn open(epoch: u64) -> BreakerAnswer {
        answer(epoch, FleetState::Open(Span::from_secs(5)))
    }

    const CLOSED: BreakerAnswer = BreakerAnswer {
        version: BreakerVersion { created: 0, epoch: 0 },
        state: FleetState::Closed,
        open_time: Span::from_secs(5),
        lease: None,
    };

    #[test]
    fn what_is_broken_here_is_reported_once_and_where_it_was_seen() {
        let mut process = Process::new(1);
        assert_eq!(process.ask(at(0), &CLOSED).0.opening, None);
        assert!(process.call(at(1), Report::Failure) && !process.call(at(1), Report::Failure));
        let (request, moved) = process.ask(at(1), &open(1));
        assert_eq!(
            (request.opening, request.version, moved),
            (Some(Opening::Trip), CLOSED.version, None)
        );
        assert_eq!(process.ask(at(1), &open(1)).0.opening, None);
        assert_eq!(process.own.opened(), 1);
    }

    #[test]
    fn a_trip_of_a_state_before_opens_nothing_here_either() {
        let mut process = Process::new(1);
        process.ask(at(0), &answer(3, FleetState::Closed));
        process.call(at(1), Report::Failure);
        // Meanwhile the others have opened it, probed, and closed it.
        let (_, moved) = process.ask(at(1), &answer(6, FleetState::Closed));
        assert_eq!((moved, process.state(at(1))), (None, StateKind::Closed));
        assert!(process.call(at(1), Report::Success));
    }

    #[test]
    fn the_own_breaker_is_opened_for_as_long_as_the_fleets() {
        let mut process = Process::new(1);
        for (epoch, moment, seconds) in [(1, 0, 5), (3, 10, 10), (5, 30, 20), (7, 60, 40)] {
            assert_eq!(process.ask(at(moment), &open(epoch)).1, Some(RemoteMove::Opened));
            let time = process.own.with_machine(at(moment), |own| own.open_time());
            assert_eq!(time, Span::from_secs(seconds));
        }
        let (_, moved) = process.ask(at(70), &answer(9, FleetState::Closed));
        assert_eq!((moved, process.state(at(70))), (Some(RemoteMove::Closed), StateKind::Closed));
        let time = process.own.with_machine(at(70), |own| own.open_time());
        assert_eq!(time, Span::from_secs(5));
    }

    #[test]
    fn an_own_breaker_with_probes_under_way_closes_all_the_same() {
        let process = Process::new(1);
        let mut chance = Rng::with_seed(1);
        transitions::open(&process.own, at(0), &mut chance);
        let probes = [0; 2].map(|_| process.own.admit(at(10)).ticket().expect("half-open"));
        transitions::close(&process.own, at(10));
        assert_eq!(process.own.state(at(10)), StateKind::Closed);
        for probe in probes {
            process.own.report(at(10), probe, Report::Failure, &mut chance);
        }
        assert_eq!(process.own.state(at(10)), StateKind::Closed, "they are stale");
    }

    #[test]
    fn a_probe_is_made_on_a_lease_and_found_out_once() {
        let mut process = Process::new(1);
        process.ask(at(0), &open(1));
        assert_eq!(process.admit(at(6)), None, "over, but without a lease");
        let granted =
            BreakerAnswer { lease: Some(Span::from_secs(5)), ..answer(2, FleetState::HalfOpen) };
        let (request, _) = process.ask(at(6), &granted);
        let token = request.wanted_probe.expect("a call was refused");
        let probe = process.admit(at(7)).expect("leased");
        assert_eq!(process.admit(at(7)), None, "one lease, one probe");
        process.replica.report(at(8), probe, Report::Success);
        process.replica.report(at(8), probe, Report::Failure);
        // Told until there is an answer.
        let results = vec![(token, ProbeResult::Good)];
        let Process { replica, own, chance } = &mut process;
        assert_eq!(replica.request(own, at(8), false, chance).results, results);
        let (request, _) = process.ask(at(9), &answer(2, FleetState::HalfOpen));
        assert_eq!(request.results, results);
        let (request, _) = process.ask(at(9), &answer(3, FleetState::Closed));
        assert_eq!(request.results, []);
        assert!(process.call(at(9), Report::Success));
    }

    #[test]
    fn a_fleet_that_loses_its_store_does_not_probe_at_one_moment() {
        let lost_at = at(10);
        let mut first_probes: Vec<Instant> = (0..200)
            .map(|seed| {
                let mut process = Process::new(seed);
                process.ask(at(0), &open(1));
                process.ask(at(8), &answer(2, FleetState::HalfOpen));
                process.replica.store_lost(lost_at, &mut process.chance);
                let tenths = (0..100).map(|tenth| lost_at + Span::from_millis(100 * tenth));
                let mut moments = tenths.filter(|now| process.admit(*now).is_some());
                moments.next().expect("each probes by itself")
            })
            .collect();
        first_probes.sort();
        // Half of the open time is 2.5 s.
        let (early, late) = (first_probes[20], first_probes[180]);
        assert!(late - early > Span::from_millis(1_500), "{early:?} {late:?}");
        assert!(first_probes[199] <= lost_at + Span::from_millis(2_600));
    }

    #[test]
    fn what_is_open_here_is_open_for_all_when_the_store_is_back() {
        let mut process = Process::new(1);
        process.ask(at(0), &CLOSED);
        process.replica.store_lost(at(1), &mut process.chance);
        assert!(process.call(at(2), Report::Failure));
        let (request, _) = process.ask(at(3), &CLOSED);
        assert_eq!(request.opening, None, "it hears first");
        let until = process.own.with_machine(at(3), |own| own.open_until(at(3))).expect("open");
        let open_time = Span::from_secs(5);
        let remembered = Opening::Remembered { left: until - at(3), open_time };
        let (request, moved) = process.ask(at(3), &open(1));
        assert_eq!((request.opening, moved), (Some(remembered), None));
        assert_eq!(process.own.opened(), 1);
    }

    #[test]
    fn a_store_that_knows_less_than_before_is_reminded_and_one_that_knows_more_is_followed() {
        for (epoch, created) in [(0, 7), (0, 0), (4, 9)] {
            let mut process = Process::new(1);
            process.ask(at(0), &open(1));
            let version = BreakerVersion { created, epoch };
            process.ask(at(2), &BreakerAnswer { version, ..CLOSED });
            assert_eq!(process.state(at(2)), StateKind::Open, "{version:?}");
            let (request, _) = process.ask(at(2), &open(5));
            let remembered =
                Opening::Remembered { left: Span::from_secs(3), open_time: Span::from_secs(5) };
            assert_eq!((request.opening, request.version), (Some(remembered), version));
        }
        let mut process = Process::new(1);
        process.ask(at(0), &open(1));
        process.ask(at(2), &answer(3, FleetState::Closed));
        assert_eq!(process.state(at(2)), StateKind::Closed);
        assert_eq!(process.ask(at(2), &answer(3, FleetState::Closed)).0.opening, None);
    }

    #[test]
    fn what_was_good_here_while_the_store_was_away_is_not_opened_by_an_old_memory_of_it() {
        let mut process = Process::new(1);
        process.ask(at(0), &open(1));
        process.replica.store_lost(at(1), &mut process.chance);
        // Two good probes close it here.
        assert!(process.call(at(20), Report::Success) && process.call(at(20), Report::Success));
        assert_eq!(process.state(at(20)), StateKind::Closed);
        process.ask(at(21), &CLOSED);
        assert_eq!(process.state(at(21)), StateKind::Closed);
        assert_eq!(process.ask(at(21), &CLOSED).0.opening, None);
    }

    #[test]
    fn whoever_calls_once_in_a_quarter_of_an_hour_is_not_refused_for_ever() {
        let mut process = Process::new(1);
        process.ask(at(0), &open(1));
        assert!(!process.call(at(599), Report::Success), "what is known counts");
        assert!(process.call(at(900), Report::Success), "what is so old does not");
    }
}
