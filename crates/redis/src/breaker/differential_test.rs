//! The script against the engine's own breaker, on a real server: at `STAGGER_TEST_REDIS`, or not at all.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use redis::{Client, Connection};
use stagger::breaker::{BreakerPlan, Report, StateKind, Trip};
use stagger::engine::breaker::{Breaker, Ticket};
use stagger::{Instant, Ratio, Span};

use super::script::{
    BreakerAnswer, BreakerRequest, BreakerScriptPlan, Epoch, FleetState, Opening, ProbeResult,
    SCRIPT, Token, key,
};

/// A time as Redis has it: microseconds since 1970.
const START_US: u64 = 1_790_000_000_000_000;

/// The server for tests, if there is one.
fn connection() -> Option<Connection> {
    let Ok(url) = std::env::var("STAGGER_TEST_REDIS") else {
        eprintln!("skipped: STAGGER_TEST_REDIS is not set; see scripts/redis");
        return None;
    };
    let client = Client::open(url).expect("a valid URL");
    Some(client.get_connection().expect("a server at STAGGER_TEST_REDIS"))
}

/// BreakerTimes in microseconds.
#[derive(Clone, Copy, Debug)]
struct BreakerTimes {
    open: u64,
    cap: u64,
    lease: Option<u64>,
    ramp: Option<u64>,
    factor_ppm: u32,
    probes: u32,
}

impl BreakerTimes {
    /// The plan, with a microsecond as so many nanoseconds.
    fn plan(self, nanos: u64) -> BreakerPlan {
        let span = |micros: u64| Span::from_nanos(micros * nanos);
        let plan = BreakerPlan::builder().open_time(span(self.open)).open_cap(span(self.cap));
        let plan = plan.open_factor(Ratio::from_ppm(self.factor_ppm)).probes(self.probes);
        let plan = match self.lease {
            Some(lease) => plan.lease(span(lease)),
            None => plan,
        };
        let plan = match self.ramp {
            Some(ramp) => plan.ramp(Ratio::from_percent(10), span(ramp)),
            None => plan,
        };
        plan.build().expect("in bounds")
    }
}

fn times() -> impl Strategy<Value = BreakerTimes> {
    let second = 1_000_000_u64;
    let open = second..=10 * second;
    let factor = prop_oneof![Just(2_000_000_u32), 1_000_000..=3_700_001_u32];
    let lease = prop::option::of(second..=20 * second);
    let ramp = prop::option::of(second..=20 * second);
    (open, 0..=60 * second, lease, ramp, factor, 1..=4_u32).prop_map(
        |(open, more, lease, ramp, factor_ppm, probes)| BreakerTimes {
            open,
            cap: open + more,
            lease,
            ramp,
            factor_ppm,
            probes,
        },
    )
}

/// The next event.
#[derive(Clone, Copy, Debug)]
enum BreakerStep {
    Look,
    /// A rule is broken, as seen in the state of now, or in the one before.
    Trip {
        stale: bool,
    },
    Remembered {
        left: u64,
        open_time: u64,
    },
    /// A new probe is wanted, or one that was granted before.
    WantProbe {
        again: Option<usize>,
    },
    /// One of the probes has found something.
    Result {
        which: usize,
        result: ProbeResult,
    },
    /// A probe has ended and the next one is wanted, in one request.
    Both {
        which: usize,
        result: ProbeResult,
    },
}

fn events() -> impl Strategy<Value = Vec<(u64, BreakerStep, u32)>> {
    let result = || {
        prop_oneof![
            1 => Just(ProbeResult::Nothing),
            3 => Just(ProbeResult::Good),
            2 => Just(ProbeResult::Bad),
        ]
    };
    let result = || (0..5_usize, result());
    let event = prop_oneof![
        2 => Just(BreakerStep::Look),
        4 => any::<bool>().prop_map(|stale| BreakerStep::Trip { stale }),
        1 => (0..100_000_000_u64, 0..200_000_000_u64)
            .prop_map(|(left, open_time)| BreakerStep::Remembered { left, open_time }),
        6 => prop::option::weighted(0.2, 0..5_usize).prop_map(|again| BreakerStep::WantProbe { again }),
        6 => result().prop_map(|(which, result)| BreakerStep::Result { which, result }),
        2 => result().prop_map(|(which, result)| BreakerStep::Both { which, result }),
    ];
    // In thousandths of the open time.
    let pass = prop_oneof![
        4 => Just(0_u64),
        6 => 0..800_u64,
        3 => 800..3_000_u64,
        // What ends, ends at this very moment.
        3 => Just(1_000_u64),
    ];
    let spread = prop_oneof![4 => 0..=1_000_000_u32, 1 => Just(0), 1 => Just(1_000_000)];
    prop::collection::vec((pass, event, spread), 1..60)
}

/// The engine's breaker, whose nanosecond is the script's microsecond: so both round alike.
struct Model {
    plan: BreakerPlan,
    breaker: Breaker,
    /// The epoch of the breaker's first generation; 0 until the first move.
    first_epoch: u64,
    probes: BTreeMap<Token, Probe>,
}

#[derive(Clone, Copy)]
struct Probe {
    ticket: Ticket,
    epoch: Epoch,
    ends: Instant,
}

impl Model {
    fn epoch(&self) -> Epoch {
        self.first_epoch + self.breaker.generation()
    }

    /// The epochs begin with the time of the first move.
    fn count_from(&mut self, now: Instant) {
        if self.first_epoch == 0 && self.breaker.generation() > 0 {
            self.first_epoch = now.as_nanos() - 1;
        }
    }

    fn is_closed(&self, now: Instant) -> bool {
        matches!(self.breaker.state(now), StateKind::Closed | StateKind::Ramp)
    }

    /// The word that stretches the next open time as far as the script does.
    fn word(&self, spread_ppm: u32, grows: bool) -> u64 {
        let time = self.breaker.open_time();
        let grown = self.plan.open_factor().of_span(time).min(self.plan.open_cap());
        let half = Ratio::from_percent(50).of_span(if grows { grown } else { time });
        let offset = u128::from(Ratio::from_ppm(spread_ppm).of_span(half).as_nanos());
        let word = (offset << 64).div_ceil(u128::from(half.as_nanos()) + 1);
        u64::try_from(word).expect("the offset is at most the half")
    }

    fn trip(&mut self, now: Instant, epoch: Epoch, spread_ppm: u32) {
        let Some(generation) = epoch.checked_sub(self.first_epoch) else { return };
        let word = self.word(spread_ppm, self.breaker.state(now) == StateKind::Ramp);
        let _ = self.breaker.trip(now, generation, Trip::FailureRatio, &mut || word);
    }

    fn remember(&mut self, now: Instant, left: u64, open_time: u64) {
        if !self.is_closed(now) {
            return;
        }
        self.first_epoch = if self.epoch() == 0 { now.as_nanos() } else { self.epoch() + 1 };
        let time = Span::from_nanos(open_time).clamp(self.plan.open_time(), self.plan.open_cap());
        let longest = time + Ratio::from_percent(50).of_span(time);
        let until = now + Span::from_nanos(left).min(longest);
        self.breaker = Breaker::reopened(self.plan, until, time);
        self.breaker.wake(now);
    }

    /// The lease of the probe, if it may be made.
    fn want_probe(&mut self, now: Instant, token: Token) -> Option<Span> {
        let epoch = self.epoch();
        if let Some(probe) = self.probes.get(&token)
            && probe.epoch == epoch
            && now < probe.ends
        {
            return Some(probe.ends - now);
        }
        if self.breaker.state(now) != StateKind::HalfOpen {
            return None;
        }
        let ticket = self.breaker.admit(now).ticket()?;
        let lease = self.plan.lease().unwrap_or(self.breaker.open_time());
        let probe = Probe { ticket, epoch, ends: now + lease };
        self.probes.insert(token, probe);
        Some(lease)
    }

    fn result(&mut self, now: Instant, token: Token, result: ProbeResult, spread_ppm: u32) {
        let Some(probe) = self.probes.remove(&token) else { return };
        if probe.epoch < self.first_epoch {
            return;
        }
        let report = match result {
            ProbeResult::Nothing => Report::Neutral,
            ProbeResult::Good => Report::Success,
            ProbeResult::Bad => Report::Failure,
        };
        let word = self.word(spread_ppm, true);
        let _ = self.breaker.report(now, probe.ticket, report, &mut || word);
    }

    fn answer(&self, now: Instant, lease: Option<Span>) -> BreakerAnswer {
        let micros = |span: Span| Span::from_micros(span.as_nanos());
        let left = |until: Option<Instant>| micros(until.expect("it has an end") - now);
        let state = match self.breaker.state(now) {
            StateKind::Closed => FleetState::Closed,
            StateKind::Open => FleetState::Open(left(self.breaker.open_until(now))),
            StateKind::HalfOpen => FleetState::HalfOpen,
            StateKind::Ramp => FleetState::Ramp(left(self.breaker.ramp_until(now))),
        };
        BreakerAnswer {
            epoch: self.epoch(),
            state,
            open_time: micros(self.breaker.open_time()),
            lease: lease.map(micros),
        }
    }
}

/// The script on a server, at a time of the test's choice.
struct ScriptedBreaker<'a> {
    connection: &'a mut Connection,
    rule: BreakerScriptPlan,
    name: String,
}

impl ScriptedBreaker<'_> {
    fn serve(&mut self, now_us: u64, request: &BreakerRequest) -> BreakerAnswer {
        let mut invocation = SCRIPT.key(key("differential", &self.name));
        for argument in self.rule.arguments(request) {
            invocation.arg(argument);
        }
        invocation.arg(now_us);
        BreakerAnswer::of(invocation.invoke(self.connection).expect("the script runs"))
    }
}

fn agree(
    connection: &mut Connection,
    times: BreakerTimes,
    events: &[(u64, BreakerStep, u32)],
    name: String,
) {
    let rule = BreakerScriptPlan::of(&times.plan(1_000));
    let plan = times.plan(1);
    let mut store = ScriptedBreaker { connection, rule, name };
    let breaker = Breaker::new(plan);
    let mut model = Model { plan, breaker, first_epoch: 0, probes: BTreeMap::new() };
    let (mut now_us, mut epoch, mut before) = (START_US, 0, 0);
    for (number, &(pass, event, spread_ppm)) in (1..).zip(events) {
        now_us += pass * times.open / 1_000;
        let now = Instant::from_nanos(now_us);
        let mut request = BreakerRequest { epoch, spread_ppm, ..BreakerRequest::default() };
        model.breaker.wake(now);
        let nth = |which: usize| {
            let count = model.probes.len().max(1);
            model.probes.iter().nth(which % count).map(|(token, probe)| (*token, probe.epoch))
        };
        let mut lease = None;
        match event {
            BreakerStep::Look => {}
            BreakerStep::Trip { stale } => {
                request.opening = Some(Opening::Trip);
                request.epoch = if stale { before } else { epoch };
                model.trip(now, request.epoch, spread_ppm);
            }
            BreakerStep::Remembered { left, open_time } => {
                let micros = Span::from_micros;
                let (left_span, time) = (micros(left), micros(open_time));
                request.opening = Some(Opening::Remembered { left: left_span, open_time: time });
                model.remember(now, left, open_time);
            }
            BreakerStep::WantProbe { again } => {
                let known = again.and_then(nth).map(|(token, _)| token);
                let token = known.unwrap_or(number);
                request.wanted_probe = Some(token);
                lease = model.want_probe(now, token);
            }
            BreakerStep::Result { which, result } | BreakerStep::Both { which, result } => {
                if let Some((token, granted_in)) = nth(which) {
                    request.epoch = granted_in;
                    request.results = vec![(token, result)];
                    model.result(now, token, result, spread_ppm);
                }
                if matches!(event, BreakerStep::Both { .. }) {
                    request.wanted_probe = Some(number);
                    lease = model.want_probe(now, number);
                }
            }
        }
        let answer = store.serve(now_us, &request);
        model.count_from(now);
        assert_eq!(answer, model.answer(now, lease), "{times:?} {event:?} {request:?}");
        if answer.epoch != epoch {
            before = epoch;
        }
        epoch = answer.epoch;
    }
}

#[test]
fn the_script_moves_as_the_engine_does() {
    let Some(mut connection) = connection() else { return };
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let chance = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut run = 0;
    let mut runner = TestRunner::new_with_rng(config, chance);
    let connection = RefCell::new((&mut connection, &mut run));
    let outcome = runner.run(&(times(), events()), |(times, events)| {
        let (connection, run) = &mut *connection.borrow_mut();
        **run += 1;
        agree(connection, times, &events, format!("{}-breaker-{run}", std::process::id()));
        Ok(())
    });
    outcome.expect("they agree");
}

#[test]
fn a_clock_that_is_set_back_delays_nothing_by_more_than_it_could_have_taken() {
    let Some(mut connection) = connection() else { return };
    let second = 1_000_000_u64;
    let (open, cap, ramp) = (4 * second, 60 * second, Some(8 * second));
    let times = BreakerTimes { open, cap, lease: None, ramp, factor_ppm: 2_000_000, probes: 1 };
    let name = format!("{}-set-back", std::process::id());
    let rule = BreakerScriptPlan::of(&times.plan(1_000));
    let mut store = ScriptedBreaker { connection: &mut connection, rule, name };
    let mut now_us = START_US;
    let year = 365 * 24 * 3_600 * second;
    let trip = BreakerRequest { opening: Some(Opening::Trip), ..BreakerRequest::default() };
    let epoch = store.serve(now_us, &trip).epoch;
    // An open time of 4 s ends 6 s later at the latest.
    now_us -= year;
    let look = BreakerRequest { epoch, ..BreakerRequest::default() };
    assert_eq!(store.serve(now_us, &look).state, FleetState::Open(Span::from_secs(6)));
    now_us += 6 * second;
    let wanted_probe = BreakerRequest { epoch, wanted_probe: Some(9), ..BreakerRequest::default() };
    let answer = store.serve(now_us, &wanted_probe);
    assert_eq!((answer.state, answer.lease), (FleetState::HalfOpen, Some(Span::from_secs(4))));
    // The lease of a probe that is never reported.
    now_us -= year;
    let next =
        BreakerRequest { epoch: answer.epoch, wanted_probe: Some(10), ..BreakerRequest::default() };
    assert_eq!(store.serve(now_us, &next).lease, None);
    now_us += 4 * second;
    assert_eq!(store.serve(now_us, &next).lease, Some(Span::from_secs(4)));
    // The ramp.
    let good = vec![(10, ProbeResult::Good)];
    let good = BreakerRequest { epoch: answer.epoch, results: good, ..BreakerRequest::default() };
    let ramp = store.serve(now_us, &good);
    assert_eq!(ramp.state, FleetState::Ramp(Span::from_secs(8)));
    now_us -= year;
    let look = BreakerRequest { epoch: ramp.epoch, ..BreakerRequest::default() };
    assert_eq!(store.serve(now_us, &look).state, FleetState::Ramp(Span::from_secs(8)));
    assert_eq!(store.serve(now_us + 8 * second, &look).state, FleetState::Closed);
    // Set forward, all of it is over at once.
    let trip = BreakerRequest { epoch: ramp.epoch, ..trip };
    assert!(matches!(store.serve(now_us, &trip).state, FleetState::Open(_)));
    assert_eq!(store.serve(now_us + year, &look).state, FleetState::HalfOpen);
}
