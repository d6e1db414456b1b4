//! Whole backlogs, as the owner of an endpoint would see them. The figures are printed.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use stagger_core::{Instant, Span};
use stagger_scheduler::model::{AttemptAnswer, AttemptFailure, Delivery, Endpoint, Pace};
use stagger_scheduler::{Launch, NextLaunch, Scheduler, SettledAttempt};
use stagger_testkit::Mix;

use crate::fixture::{APP, answer, at, endpoint, endpoint_id, message, slots};

const SECOND: Span = Span::from_secs(1);

/// A scheduler whose attempts take as long as a function of the launch says.
struct Run<F> {
    scheduler: Scheduler,
    now: Instant,
    chance: Mix,
    server: F,
    answers: BTreeMap<(Instant, u64), (Launch, AttemptAnswer)>,
    launches: Vec<Launch>,
    /// Messages that are still to come, by time.
    arrivals: BTreeMap<(Instant, u128), u128>,
}

impl<F: FnMut(&Launch) -> AttemptAnswer> Run<F> {
    fn new(total: u32, endpoints: impl IntoIterator<Item = Endpoint>, server: F) -> Self {
        let mut scheduler = Scheduler::new(slots(total));
        for endpoint in endpoints {
            scheduler.put_endpoint(at(0), &endpoint, None);
        }
        Self {
            scheduler,
            now: at(0),
            chance: Mix::new(1),
            server,
            answers: BTreeMap::new(),
            launches: Vec::new(),
            arrivals: BTreeMap::new(),
        }
    }

    fn add(&mut self, endpoint: u128, n: u128) {
        let delivery = Delivery::new(message(n), endpoint_id(endpoint), APP, self.now);
        self.scheduler.add(self.now, &delivery);
    }

    /// Runs until `end`, or until nothing is left.
    fn run(&mut self, end: Instant, mut hear: impl FnMut(Instant, &SettledAttempt)) {
        loop {
            let wake = self.pump();
            let answer = self.answers.first_key_value().map(|((at, _), _)| *at);
            let arrival = self.arrivals.first_key_value().map(|((at, _), _)| *at);
            let Some(next) = [wake, answer, arrival].into_iter().flatten().min() else { return };
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
            if arrival == Some(next) {
                let ((_, n), endpoint) = self.arrivals.pop_first().expect("it is the next");
                self.add(endpoint, n);
            } else if answer == Some(next) {
                let (_, (launch, answer)) = self.answers.pop_first().expect("it is the next");
                let settled = self.scheduler.settle(next, launch, answer, &mut self.chance);
                hear(next, &settled.expect("its delivery is there"));
            }
        }
    }

    fn pump(&mut self) -> Option<Instant> {
        loop {
            match self.scheduler.next(self.now, &mut self.chance) {
                NextLaunch::Send(launch) => {
                    let answer = (self.server)(&launch);
                    let number = self.launches.len() as u64;
                    self.answers.insert((self.now + answer.latency, number), (launch, answer));
                    self.launches.push(launch);
                }
                NextLaunch::Until(until) => return Some(until),
                NextLaunch::Idle => return None,
            }
        }
    }

    /// Launches in each second after `since`.
    fn by_second(&self, since: Instant) -> Vec<u64> {
        let mut seconds = Vec::new();
        for launch in self.launches.iter().filter(|launch| launch.at >= since) {
            let second = usize::try_from((launch.at - since).as_nanos() / SECOND.as_nanos());
            let second = second.expect("a run is short");
            seconds.resize(seconds.len().max(second + 1), 0);
            seconds[second] += 1;
        }
        seconds
    }
}

fn after(millis: u64, result: Result<u16, AttemptFailure>) -> AttemptAnswer {
    AttemptAnswer { latency: Span::from_millis(millis), ..answer(result) }
}

/// The most attempts that a recovery with the default settings allows in its second number
/// `second`, rounded up.
fn allowed(second: u64) -> u64 {
    match second + 1 {
        end @ 0..=10 => 10 + 9 * end,
        end => {
            let doubled = 100 << ((end - 1) / 10 - 1).min(20);
            doubled + doubled * ((end - 1) % 10 + 1) / 10
        }
    }
}

#[test]
fn three_hundred_thousand_waiting_messages_do_not_stampede() {
    const CAP: u64 = 2_000;
    let pace = Pace {
        concurrency: slots(100),
        rate: NonZeroU32::new(u32::try_from(CAP).unwrap()),
        ..Pace::default()
    };
    let well_from = at(600_000);
    let now = std::cell::Cell::new(at(0));
    let server = |launch: &Launch| {
        now.set(launch.at);
        if launch.at < well_from {
            after(20, Err(AttemptFailure::Connect))
        } else {
            after(20, Ok(200))
        }
    };
    let mut run = Run::new(1_000, [Endpoint { pace, ..endpoint(1) }], server);
    for n in 0..300_000 {
        run.add(1, n);
    }
    run.run(well_from, |_, _| {});
    let wasted = run.launches.len();
    let mut closed = None;
    run.run(at(86_400_000), |now, settled| {
        let endpoint_state =
            settled.change.endpoint_state.map(|(_, endpoint_state)| endpoint_state);
        if endpoint_state.is_some_and(|endpoint_state| endpoint_state.recovering_since.is_some()) {
            closed = closed.or(Some(now));
        }
    });
    assert!(run.scheduler.is_empty());
    let closed = closed.expect("a probe has closed the breaker");
    let curve = run.by_second(closed);
    println!("{wasted} attempts during 10 min of outage; probe after {}", closed - well_from);
    println!("attempts a second from then on: {:?}", &curve[..80]);
    println!("steady at {}; empty after {} s", curve[100], curve.len());
    assert!(wasted < 230, "the outage cost {wasted} attempts");
    assert!(closed - well_from < Span::from_secs(450), "the end of the outage goes unnoticed");
    for (second, count) in (0..).zip(&curve) {
        let most = allowed(second).min(CAP + CAP / 10);
        // A twentieth above: the burst that the slack of a tick allows.
        assert!(*count <= most + most / 20 + 1, "{count} attempts in second {second}");
    }
    for second in [5, 15, 25, 35, 100] {
        let least = allowed(second as u64 - 1).min(CAP) * 9 / 10;
        assert!(curve[second] >= least, "{} attempts in second {second}", curve[second]);
    }
}

/// The longest time from a message's arrival to its first attempt, at all endpoints except those
/// below `ill`.
fn longest_delay<F>(run: &Run<F>, ill: u128, arrived: impl Fn(u128) -> Instant) -> Span {
    let healthy = run.launches.iter().filter(|launch| launch.endpoint >= endpoint_id(ill));
    let delay = |launch: &Launch| launch.at - arrived(launch.message.as_uuid().as_u128());
    healthy.filter(|launch| launch.number == 1).map(delay).max().expect("they had traffic")
}

/// One message a second to each of 100 endpoints of one application for a minute; the first `ill`
/// hang until their time is over.
fn hundred_endpoints(ill: u128, room: u32) -> Span {
    let server = |launch: &Launch| {
        let hangs = launch.endpoint < endpoint_id(ill);
        if hangs { after(30_000, Err(AttemptFailure::Timeout)) } else { after(50, Ok(200)) }
    };
    let mut run = Run::new(1_024, (0..100).map(endpoint), server);
    run.scheduler.put_application(APP, slots(room));
    for second in 0..60 {
        for n in 0..100 {
            run.arrivals.insert((at(second * 1_000), u128::from(second) * 100 + n), n);
        }
    }
    run.run(at(120_000), |_, _| {});
    let arrived = |n: u128| at(u64::try_from(n / 100).expect("a minute is short") * 1_000);
    let healthy = run.launches.iter().filter(|launch| launch.endpoint >= endpoint_id(ill)).count();
    assert_eq!(healthy as u128, 60 * (100 - ill), "each of them was attempted");
    longest_delay(&run, ill, arrived)
}

#[test]
fn an_endpoint_that_hangs_delays_no_other() {
    for (ill, room) in [(1, 64), (10, 256), (1, 16), (4, 32)] {
        let delay = hundred_endpoints(ill, room);
        println!("{ill} of 100 endpoints hang, {room} slots: others wait {delay} at most");
        assert!(delay < SECOND, "the others waited {delay}");
    }
}

#[test]
fn dead_endpoints_that_wait_hold_no_slot() {
    let server = |launch: &Launch| {
        let dead = launch.endpoint < endpoint_id(16);
        if dead { after(10, Err(AttemptFailure::Connect)) } else { after(10, Ok(200)) }
    };
    let mut run = Run::new(16, (0..17).map(endpoint), server);
    for endpoint in 0..16 {
        for n in 0..1_000 {
            run.add(endpoint, endpoint * 1_000 + n);
        }
    }
    run.run(at(3_600_000), |_, _| {});
    let arrived = at(3_600_000);
    run.arrivals.insert((arrived, 1_000_000), 16);
    run.run(at(3_700_000), |_, _| {});
    let delay = longest_delay(&run, 16, |_| arrived);
    println!("16 dead endpoints with 1000 messages each: the 17th waited {delay}");
    assert_eq!(delay, Span::ZERO);
}

#[test]
fn an_application_with_a_huge_backlog_has_its_turns_and_no_more() {
    let mut run = Run::new(100, [], |_: &Launch| after(50, Ok(200)));
    let application =
        |n| stagger_scheduler::model::ApplicationId::from_uuid(uuid::Uuid::from_u128(n));
    let pace = Pace { concurrency: slots(100), ..Pace::default() };
    for n in [1, 2] {
        let endpoint = Endpoint { application: application(n), pace, ..endpoint(n) };
        run.scheduler.put_endpoint(at(0), &endpoint, None);
    }
    for n in 0..50_000 {
        run.add(1, n);
    }
    for n in 0..100 {
        run.arrivals.insert((at(n * 100 + 7), 100_000 + u128::from(n)), 2);
    }
    run.run(at(20_000), |_, _| {});
    let other = |launch: &&Launch| launch.endpoint == endpoint_id(2);
    let delays = run.launches.iter().filter(other).map(|launch| {
        let n = u64::try_from(launch.message.as_uuid().as_u128() - 100_000).unwrap();
        launch.at - at(n * 100 + 7)
    });
    let longest = delays.max().expect("it had messages");
    println!("beside a backlog of 50 000 the other application waited {longest} at most");
    assert_eq!(longest, Span::ZERO, "a quarter of the slots is kept for those who hold none");
}

#[test]
#[ignore = "measures; run alone, in release"]
#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
fn measure_turns() {
    for (endpoints, each) in [(1, 1_000_000), (100, 10_000), (10_000, 100)] {
        let pace = Pace { concurrency: slots(16), ..Pace::default() };
        let all = (0..endpoints).map(|n| Endpoint { pace, ..endpoint(n) });
        let mut scheduler = Scheduler::new(slots(1_024));
        for endpoint in all {
            scheduler.put_endpoint(at(0), &endpoint, None);
        }
        let (begun, held) = (std::time::Instant::now(), resident());
        for n in 0..each {
            for endpoint in 0..endpoints {
                let name = message(n * endpoints + endpoint);
                let due = at(60_000 + u64::try_from(n % 1_000).unwrap());
                let fresh = Delivery::new(name, endpoint_id(endpoint), APP, at(0));
                scheduler.add(at(0), &Delivery { due, ..fresh });
            }
        }
        let count = endpoints * each;
        let (added, full) = (begun.elapsed(), resident());
        let mut chance = Mix::new(1);
        let start = std::time::Instant::now();
        let mut now = at(70_000);
        let mut made = 0_u128;
        while !scheduler.is_empty() {
            let mut batch = Vec::new();
            while let NextLaunch::Send(launch) = scheduler.next(now, &mut chance) {
                batch.push(launch);
            }
            now = now + Span::from_millis(1);
            for launch in batch {
                scheduler.settle(now, launch, after(1, Ok(200)), &mut chance);
                made += 1;
            }
        }
        let nanos = start.elapsed().as_nanos();
        println!(
            "{endpoints} endpoints, {count} deliveries: add {} ns, next and settle {} ns, {} bytes each",
            added.as_nanos() / count,
            nanos / made,
            (full - held) as u128 / count,
        );
    }
}

/// Bytes of memory that this process holds, as Linux counts them; zero elsewhere.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let resident = pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    resident.unwrap_or(0) * 4_096
}
