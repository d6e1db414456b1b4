//! A process's copy of its fleet's breaker: its answers to calls, and its exchange with the store. Plain state
//! without a clock.

use std::sync::Arc;

use stagger::breaker::{BreakerPlan, Report, StateKind};
use stagger::engine::breaker::{Admission, Ticket};
use stagger::{Entropy, Instant, KeptLedger, LocalLedger, Ratio, Span};

use super::script::{
    BreakerAnswer, BreakerRequest, Epoch, FleetState, Opening, ProbeResult, Token,
};
use crate::events::RemoteMove;
use crate::options::{SharedOptions, StoreFallback};
use crate::stats::SharedStats;

/// The wait of a call that was refused for want of a lease: by then the store has answered.
const LOOK: Span = Span::from_millis(10);
/// The age at which an answer is out of date: as long as a registry remembers an idle breaker. So a
/// process without calls meanwhile, which asked nothing, probes by itself.
const WORTH: Span = Span::from_secs(600);
/// For how many times the [patience](crate::SharedOptions::again) a lease is kept that no call uses:
/// then it is another process's turn.
const TURNS: u64 = 4;
/// The longest stretch of an open time, as the engine has it.
const SPREAD: Ratio = Ratio::from_percent(50);

/// The fleet's breaker as the store reported it last.
///
/// While it is closed, the process's own breaker answers calls. While it is open or half-open, the own one
/// is left alone; it gets the fleet's state when it has to decide instead.
#[derive(Debug)]
pub(super) struct Replica {
    plan: BreakerPlan,
    local: Arc<LocalLedger>,
    again: Span,
    /// Whether the process probes by itself while the store is unreachable.
    decides_alone: bool,
    epoch: Epoch,
    known: KnownState,
    open_time: Span,
    answered_at: Option<Instant>,
    /// Since the store is unreachable: from when on the process may decide alone.
    alone_from: Option<Instant>,
    /// Whether the own breaker decides instead of a fleet's that was open.
    handed_over: bool,
    /// Whether the store does not know that the breaker is open.
    forgotten: bool,
    /// A probe that the store has granted, and that no call makes yet.
    lease: Option<Lease>,
    results: Vec<(Token, ProbeResult)>,
    /// Whether a call waits for a lease.
    pub(super) wanted: bool,
    wanted_probe: Option<Token>,
    ask_from: Instant,
    /// The number of times that the process's own breaker had opened when the store knew of it.
    pub(super) reported_opened: u64,
    /// The number of times that the fleet's opened without the own one.
    fleet_opened: u64,
    remote_moves: u64,
    probes_leased: u64,
}

/// The state of the fleet's breaker, in this process's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KnownState {
    /// Closed, or handed over: the process's own breaker decides.
    Local,
    Open(Instant),
    HalfOpen,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    token: Token,
    /// The time at which the process asked for it: the store's lease ends a little later.
    since: Instant,
    ends: Instant,
}

/// A request, and its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct SyncRound<'a> {
    pub(super) request: &'a BreakerRequest,
    /// The time at which it was sent.
    pub(super) asked: Instant,
    pub(super) answer: BreakerAnswer,
    /// The time at which it was answered.
    pub(super) now: Instant,
}

impl Replica {
    pub(super) fn new(
        plan: BreakerPlan,
        options: &SharedOptions,
        is_up: bool,
        local: Arc<LocalLedger>,
    ) -> Self {
        Self {
            plan,
            local,
            again: options.again(),
            decides_alone: matches!(options.fallback(), StoreFallback::Local { .. }),
            epoch: 0,
            known: KnownState::Local,
            open_time: plan.open_time(),
            answered_at: None,
            alone_from: if is_up { None } else { Some(Instant::ORIGIN) },
            handed_over: false,
            forgotten: false,
            lease: None,
            results: Vec::new(),
            wanted: false,
            wanted_probe: None,
            ask_from: Instant::ORIGIN,
            reported_opened: 0,
            fleet_opened: 0,
            remote_moves: 0,
            probes_leased: 0,
        }
    }

    /// Answers a call at `now`; `None` where the process's own breaker does.
    pub(super) fn admit(&mut self, now: Instant) -> Option<Admission> {
        match self.known {
            KnownState::Local => return None,
            KnownState::Open(until) if now < until => return Some(Admission::Refused { until }),
            _ => {}
        }
        self.lapse(now);
        if let Some(lease) = self.lease.take() {
            self.wanted = false;
            return Some(Admission::Admitted(Ticket::of_probe(lease.token, now)));
        }
        self.wanted = true;
        let is_fresh = self.answered_at.is_some_and(|answered| now - answered < WORTH);
        let until = match self.alone_from {
            Some(_) if !self.decides_alone => now + self.again,
            Some(alone_from) if now < alone_from => alone_from,
            None if is_fresh => now.max(self.ask_from) + LOOK,
            _ => {
                self.hand_over(now);
                return None;
            }
        };
        Some(Admission::Refused { until })
    }

    /// The time to look again, where the own breaker must not probe: before the store has moved that it
    /// opened, or without the store where no process decides alone.
    pub(super) fn refuses_own_probe(&self, now: Instant) -> Option<Instant> {
        match self.alone_from {
            _ if self.handed_over => None,
            Some(_) if self.decides_alone => None,
            Some(_) => Some(now + self.again),
            None => Some(now + LOOK),
        }
    }

    /// The end of the time in which every call is refused, in nanoseconds; 0 where the own breaker answers.
    pub(super) fn refused_until(&self) -> u64 {
        match self.known {
            KnownState::Local => 0,
            KnownState::Open(until) => until.as_nanos().max(1),
            KnownState::HalfOpen => 1,
        }
    }

    /// Takes the result of a probe that the store has granted. The store counts it once, and only while the
    /// lease runs and the breaker has not moved.
    pub(super) fn report(&mut self, now: Instant, token: Token, admitted: Instant, report: Report) {
        let result = match self.plan.judge(report, now - admitted) {
            None => ProbeResult::Nothing,
            Some(call) if call.failed || call.slow => ProbeResult::Bad,
            Some(_) => ProbeResult::Good,
        };
        self.results.push((token, result));
    }

    /// The state of the breaker that the next call asks.
    pub(super) fn state(&self, now: Instant) -> StateKind {
        match self.known {
            KnownState::Local => self.local.breaker_state(now).unwrap_or(StateKind::Closed),
            KnownState::Open(until) if now < until => StateKind::Open,
            _ => StateKind::HalfOpen,
        }
    }

    /// Adds the fleet's breaker to the figures of this process's ledger.
    pub(super) fn fill(&self, stats: &mut SharedStats, now: Instant) {
        stats.ledger.breaker = Some(self.state(now));
        if self.known != KnownState::Local {
            stats.ledger.breaker_until = self.open_until().filter(|until| now < *until);
            stats.ledger.breaker_open_time = Some(self.open_time);
        }
        stats.ledger.breaker_opened += self.fleet_opened;
        stats.store_down |= self.alone_from.is_some();
        stats.breaker_remote_moves = self.remote_moves;
        stats.probes_leased = self.probes_leased;
    }

    /// The time at which the store should be asked; `None` when there is nothing to ask. `asked` is when it was
    /// asked last, and `called` whether there were calls since.
    pub(super) fn due(&self, asked: Instant, called: bool) -> Option<Instant> {
        let is_new = self.answered_at.is_none();
        let is_unreported =
            self.follows_local() && self.local.breaker_opened() > self.reported_opened;
        if is_new || self.forgotten || !self.results.is_empty() || is_unreported {
            return Some(asked);
        }
        let report = called.then(|| asked + self.again);
        let wanted_probe = match self.known {
            KnownState::Local => None,
            _ if self.lease.is_some() || !(self.wanted || called) => None,
            KnownState::Open(until) => Some(until.max(self.ask_from)),
            KnownState::HalfOpen => Some(self.ask_from),
        };
        let turn = self.lease.map(|lease| lease.since + self.again.saturating_mul(TURNS));
        [report, wanted_probe, turn].into_iter().flatten().min()
    }

    /// The request to the store at `now`. It is sent again until it is answered: what the store has
    /// counted it does not count twice.
    pub(super) fn request(
        &mut self,
        now: Instant,
        called: bool,
        entropy: &mut impl Entropy,
    ) -> BreakerRequest {
        self.wanted |= called && self.known != KnownState::Local;
        self.lapse(now);
        let turn = self.again.saturating_mul(TURNS);
        if self.lease.is_some_and(|lease| now >= lease.since + turn) {
            self.return_lease();
            self.ask_from = now + self.again;
        }
        let wants_probe = self.wants_probe(now);
        let draw = entropy.draw(Span::ZERO, Span::from_nanos(1_000_000)).as_nanos();
        BreakerRequest {
            epoch: self.epoch,
            results: self.results.clone(),
            opening: self.opening(now),
            wanted_probe: wants_probe
                .then(|| *self.wanted_probe.get_or_insert_with(|| token(entropy))),
            // OK because the draw is at most a million.
            spread_ppm: u32::try_from(draw).unwrap_or(0),
        }
    }

    /// Decides alone from now on. The last request: what was found, and the lease that is not needed.
    pub(super) fn retire(&mut self, now: Instant) -> Option<BreakerRequest> {
        self.return_lease();
        self.hand_over(now);
        self.decides_alone = true;
        let (epoch, results) = (self.epoch, std::mem::take(&mut self.results));
        let request = BreakerRequest { epoch, results, ..BreakerRequest::default() };
        (!request.results.is_empty()).then_some(request)
    }

    /// The store has answered. A move that this process has not caused.
    pub(super) fn adopt(&mut self, round: &SyncRound<'_>) -> Option<RemoteMove> {
        let SyncRound { request, answer, now, asked } = *round;
        self.results.drain(..request.results.len().min(self.results.len()));
        let knew_less = self.alone_from.take().is_some() || self.answered_at.is_none();
        let lost = answer.epoch < self.epoch;
        self.answered_at = Some(now);
        let was_open = self.is_open_here(now);
        let moved = match answer.state {
            FleetState::Closed | FleetState::Ramp(_) if (knew_less || lost) && was_open => {
                // Open wins: a process that knows of it tells the store with the next request.
                self.forgotten = true;
                self.lease = None;
                self.epoch = answer.epoch;
                None
            }
            FleetState::Closed | FleetState::Ramp(_) => self.close(round),
            FleetState::Open(left) => self.open(round, KnownState::Open(now + left)),
            FleetState::HalfOpen => {
                let moved = self.open(round, KnownState::HalfOpen);
                if let Some(token) = request.wanted_probe {
                    self.wanted_probe = None;
                    match answer.lease {
                        // From when it was asked for: so it ends here before it ends there.
                        Some(lease) => {
                            self.lease = Some(Lease { token, since: asked, ends: asked + lease });
                        }
                        None => self.ask_from = asked + self.again,
                    }
                }
                moved
            }
        };
        let moved = moved.filter(|_| !request.may_move_breaker());
        self.remote_moves += u64::from(moved.is_some());
        self.probes_leased += u64::from(answer.lease.is_some());
        moved
    }

    /// The store does not answer.
    pub(super) fn store_lost(&mut self, now: Instant, entropy: &mut impl Entropy) {
        if self.alone_from.is_some() {
            return;
        }
        // All processes notice it at one moment, and must not probe at one moment.
        let end = self.open_until().unwrap_or(now).max(now);
        self.alone_from = Some(end + entropy.draw(Span::ZERO, SPREAD.of_span(self.open_time)));
    }

    /// Whether the own breaker's openings are the fleet's too.
    fn follows_local(&self) -> bool {
        self.known == KnownState::Local && !self.handed_over
    }

    fn opening(&mut self, now: Instant) -> Option<Opening> {
        if std::mem::take(&mut self.forgotten) {
            return Some(self.remembered(now));
        }
        // A process that has not been answered for a while learns the fleet's state first.
        if !self.follows_local() || self.alone_from.is_some() || self.answered_at.is_none() {
            return None;
        }
        if self.is_locally_open(now) {
            return Some(Opening::Trip);
        }
        // It may have opened and closed again before it was reported.
        self.reported_opened = self.local.breaker_opened();
        None
    }

    fn remembered(&self, now: Instant) -> Opening {
        let (until, open_time) = match self.known {
            KnownState::Local => {
                let stats = self.local.stats(now);
                (stats.breaker_until, stats.breaker_open_time.unwrap_or(self.open_time))
            }
            _ => (self.open_until(), self.open_time),
        };
        Opening::Remembered { left: until.unwrap_or(now) - now, open_time }
    }

    fn close(&mut self, round: &SyncRound<'_>) -> Option<RemoteMove> {
        let (answer, now) = (round.answer, round.now);
        let was_open = self.is_open_here(now) && !self.follows_local();
        if self.known != KnownState::Local {
            // With the fleet's open time, which a trip during a ramp lengthens.
            self.local.reopen_breaker(now, now, answer.open_time);
        }
        if was_open || (self.epoch != answer.epoch && self.is_locally_open(now)) {
            self.local.reclose_breaker(now);
            self.reported_opened = self.local.breaker_opened();
        }
        self.move_to(round, KnownState::Local);
        self.wanted = false;
        was_open.then_some(RemoteMove::Closed)
    }

    fn open(&mut self, round: &SyncRound<'_>, known: KnownState) -> Option<RemoteMove> {
        let (answer, has_opened) = (round.answer, round.request.opening.is_some());
        let was_open = self.is_open_here(round.now);
        let follows_local = self.follows_local();
        // Whether a probe has failed since the last answer: time alone makes one move, to half-open.
        let moves = answer.epoch.saturating_sub(self.epoch);
        let failed = moves > u64::from(answer.state == FleetState::HalfOpen);
        let reopened = was_open && !follows_local && !has_opened && failed;
        self.fleet_opened += u64::from(!was_open || reopened);
        if !was_open {
            // Calls that the own breaker has admitted report in vain from here on.
            self.local.reopen_breaker(round.now, round.now, answer.open_time);
        }
        self.reported_opened = self.local.breaker_opened();
        self.move_to(round, known);
        // A process whose own calls have failed has calls to make.
        self.wanted |= has_opened;
        (!was_open || follows_local || reopened).then_some(RemoteMove::Opened)
    }

    fn move_to(&mut self, round: &SyncRound<'_>, known: KnownState) {
        if self.epoch != round.answer.epoch || self.known != known {
            self.lease = None;
        }
        self.epoch = round.answer.epoch;
        self.open_time = round.answer.open_time;
        self.known = known;
        self.handed_over = false;
    }

    /// Lets the own breaker decide from now on, from the fleet's last state.
    fn hand_over(&mut self, now: Instant) {
        if self.known != KnownState::Local {
            let until = self.open_until().unwrap_or(now);
            self.local.reopen_breaker(now, until, self.open_time);
            self.known = KnownState::Local;
        }
        self.handed_over = true;
    }

    /// The end of the fleet's open time.
    const fn open_until(&self) -> Option<Instant> {
        match self.known {
            KnownState::Open(until) => Some(until),
            _ => None,
        }
    }

    /// Whether the breaker is open as far as this process knows.
    fn is_open_here(&self, now: Instant) -> bool {
        self.known != KnownState::Local || self.is_locally_open(now)
    }

    fn is_locally_open(&self, now: Instant) -> bool {
        matches!(self.local.breaker_state(now), Some(StateKind::Open | StateKind::HalfOpen))
    }

    fn wants_probe(&self, now: Instant) -> bool {
        let over = match self.known {
            KnownState::Local => false,
            KnownState::Open(until) => now >= until,
            KnownState::HalfOpen => true,
        };
        over && self.wanted && self.lease.is_none() && now >= self.ask_from
    }

    fn lapse(&mut self, now: Instant) {
        self.lease = self.lease.filter(|lease| now < lease.ends);
    }

    fn return_lease(&mut self) {
        if let Some(lease) = self.lease.take() {
            self.results.push((lease.token, ProbeResult::Nothing));
        }
    }
}

/// One of 2^52, zero left out: the script's numbers are exact up to there.
fn token(chance: &mut impl Entropy) -> Token {
    (chance.next_u64() >> 12).max(1)
}

#[cfg(test)]
mod tests {
    use stagger::engine::Ledger;
    use stagger::{Policy, Rng};

    use super::*;

    /// Opens after one failure, for 5 s at first and for 60 s at most.
    struct Process {
        replica: Replica,
        own: Arc<LocalLedger>,
        chance: Rng,
    }

    impl Process {
        fn new(seed: u64) -> Self {
            let plan = BreakerPlan::builder().consecutive(1).probes(2).build().expect("in bounds");
            let options = SharedOptions::new(2).expect("two nodes");
            let policy = Policy::builder().breaker(plan).build().expect("in bounds");
            let own = Arc::new(LocalLedger::new(&policy));
            let replica = Replica::new(plan, &options, true, Arc::clone(&own));
            Self { replica, own, chance: Rng::with_seed(seed) }
        }

        /// Asks at `asked`, and is answered at once.
        fn ask(
            &mut self,
            asked: Instant,
            answer: &BreakerAnswer,
        ) -> (BreakerRequest, Option<RemoteMove>) {
            let request = self.replica.request(asked, true, &mut self.chance);
            let round = SyncRound { request: &request, asked, answer: *answer, now: asked };
            let moved = self.replica.adopt(&round);
            (request, moved)
        }

        fn admit(&mut self, now: Instant) -> Option<Ticket> {
            match self.replica.admit(now) {
                None => (&*self.own).admit(now).ticket(),
                Some(Admission::Admitted(ticket)) => Some(ticket),
                Some(Admission::Refused { until }) => {
                    assert!(until > now, "a refused call has an instant to wait for");
                    None
                }
            }
        }

        fn call(&mut self, now: Instant, report: Report) -> bool {
            let ticket = self.admit(now);
            if let Some(ticket) = ticket {
                (&*self.own).report(now, ticket, report, &mut self.chance);
            }
            ticket.is_some()
        }

        fn state(&self, now: Instant) -> StateKind {
            self.replica.state(now)
        }
    }

    fn at(second: u64) -> Instant {
        Instant::ORIGIN + Span::from_secs(second)
    }

    /// Of the first memory of the store.
    fn answer(epoch: u64, state: FleetState) -> BreakerAnswer {
        BreakerAnswer { epoch, state, open_time: Span::from_secs(5), lease: None }
    }

    fn open(epoch: u64) -> BreakerAnswer {
        answer(epoch, FleetState::Open(Span::from_secs(5)))
    }

    const CLOSED: BreakerAnswer = BreakerAnswer {
        epoch: 0,
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
            (request.opening, request.epoch, moved),
            (Some(Opening::Trip), CLOSED.epoch, None)
        );
        assert_eq!(process.ask(at(1), &open(1)).0.opening, None);
        assert_eq!(process.own.breaker_opened(), 1);
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
    fn a_process_that_is_left_alone_goes_on_with_the_open_time_of_the_fleet() {
        let mut process = Process::new(1);
        for (epoch, moment, seconds) in [(1, 0, 5), (3, 10, 10), (5, 30, 20)] {
            let open_time = Span::from_secs(seconds);
            let (_, moved) = process.ask(at(moment), &BreakerAnswer { open_time, ..open(epoch) });
            assert_eq!(moved, Some(RemoteMove::Opened));
        }
        process.replica.store_lost(at(31), &mut process.chance);
        assert!(process.call(at(60), Report::Failure), "its own probe");
        let stats = process.own.stats(at(60));
        assert_eq!(stats.breaker_open_time, Some(Span::from_secs(40)));
        assert!(stats.breaker_until >= Some(at(100)), "{stats:?}");
    }

    #[test]
    fn a_breaker_that_closes_for_all_starts_over_here_too() {
        let mut process = Process::new(1);
        let stale = process.admit(at(0)).expect("closed");
        let open_time = Span::from_secs(20);
        process.ask(at(0), &BreakerAnswer { open_time, ..open(5) });
        (&*process.own).report(at(1), stale, Report::Failure, &mut process.chance);
        assert_eq!(process.own.breaker_opened(), 0, "from before");
        let (_, moved) = process.ask(at(70), &answer(9, FleetState::Closed));
        assert_eq!((moved, process.state(at(70))), (Some(RemoteMove::Closed), StateKind::Closed));
        let stats = process.own.stats(at(70));
        assert_eq!(stats.breaker_open_time, Some(Span::from_secs(5)));
        assert!(process.call(at(71), Report::Success));
    }

    #[test]
    fn an_own_breaker_with_probes_under_way_closes_all_the_same() {
        let mut process = Process::new(1);
        process.ask(at(0), &open(1));
        // So late that what the store answered is out of date.
        let probes = [0; 2].map(|_| process.admit(at(900)).expect("half-open"));
        let (_, moved) = process.ask(at(900), &answer(3, FleetState::Closed));
        assert_eq!((moved, process.state(at(900))), (Some(RemoteMove::Closed), StateKind::Closed));
        for probe in probes {
            (&*process.own).report(at(900), probe, Report::Failure, &mut process.chance);
        }
        assert_eq!(process.state(at(900)), StateKind::Closed, "they are stale");
    }

    #[test]
    fn a_probe_is_made_on_a_lease_and_told_until_there_is_an_answer() {
        let mut process = Process::new(1);
        process.ask(at(0), &open(1));
        assert_eq!(process.admit(at(6)), None, "over, but without a lease");
        let granted =
            BreakerAnswer { lease: Some(Span::from_secs(5)), ..answer(2, FleetState::HalfOpen) };
        let (request, _) = process.ask(at(6), &granted);
        let token = request.wanted_probe.expect("a call was refused");
        let probe = process.admit(at(7)).expect("leased");
        assert_eq!(process.admit(at(7)), None, "one lease, one probe");
        assert_eq!(probe.foreign_probe(), Some(token));
        process.replica.report(at(8), token, probe.admitted_at(), Report::Success);
        // Told until there is an answer.
        let results = vec![(token, ProbeResult::Good)];
        let again = process.replica.request(at(8), false, &mut process.chance);
        assert_eq!(again.results, results);
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
        let until = process.own.stats(at(3)).breaker_until.expect("open");
        let open_time = Span::from_secs(5);
        let remembered = Opening::Remembered { left: until - at(3), open_time };
        let (request, moved) = process.ask(at(3), &open(1));
        assert_eq!((request.opening, moved), (Some(remembered), None));
        assert_eq!(process.own.breaker_opened(), 1);
    }

    #[test]
    fn a_store_that_knows_less_than_before_is_reminded_and_one_that_knows_more_is_followed() {
        for epoch in [0, 2] {
            let mut process = Process::new(1);
            process.ask(at(0), &open(3));
            process.ask(at(2), &BreakerAnswer { epoch, ..CLOSED });
            assert_eq!(process.state(at(2)), StateKind::Open, "{epoch}");
            let (request, _) = process.ask(at(2), &open(5));
            let remembered =
                Opening::Remembered { left: Span::from_secs(3), open_time: Span::from_secs(5) };
            assert_eq!((request.opening, request.epoch), (Some(remembered), epoch));
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
