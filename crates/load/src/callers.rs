//! The callers of a row over sockets: arrivals by the plan, and every decision by the library's own retrier.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::Empty;
use stagger::http::HttpReplies;
use stagger::{AttemptInfo, CallReport, Retrier, Sleep, StdTime, TokioTime};
use stagger_core::retry::Stop;
use stagger_core::{Entropy, Instant, Span};
use stagger_sim::{ArrivalTimes, Draw, Purpose, RandomStream, RunPlan};
use tokio::task::JoinSet;

use crate::attempt_tag::{AttemptTag, TAG_HEADER};
use crate::bounds::LoadBounds;
use crate::connections::{BoundedConnections, ExchangeError};
use crate::destination::LoadTarget;
use crate::gauge::{Gauge, LoadMeasurement, RunEnd};
use crate::load_row::LoadRow;

/// The time before the first call, in which everything is set up.
const LEAD: Span = Span::from_millis(50);
/// The time between two looks at what may end a run early.
const TICK: Span = Span::from_millis(20);

/// A run of one row against a server.
///
/// Budgets, breakers and delays are decided by [`stagger::Retrier`], one for each process of the plan. Delays draw the
/// words that they draw in the lab under the same seed.
#[derive(Clone, Debug)]
pub struct LoadRun<'r> {
    row: &'r LoadRow,
    seed: u64,
    bounds: LoadBounds,
}

impl<'r> LoadRun<'r> {
    /// A run of this row, within these bounds.
    #[must_use]
    pub const fn new(row: &'r LoadRow, seed: u64, bounds: LoadBounds) -> Self {
        Self { row, seed, bounds }
    }

    /// Plays the callers until all calls are over, a bound is reached or `interrupted` says so, and measures them.
    ///
    /// It needs a tokio runtime with time and sockets. What is under way at an early end is given up, and its
    /// connections are closed.
    pub async fn play(
        &self,
        destination: &LoadTarget,
        interrupted: impl Fn() -> bool,
    ) -> LoadMeasurement {
        let plan = &self.row.plan;
        let callers = Arc::new(Callers::new(self, destination));
        let mut arrivals = Arrivals::new(plan, self.seed);
        let mut calls = JoinSet::new();
        let mut tick = std::pin::pin!(TokioTime.sleep(TICK));
        while arrivals.next().is_some() || !calls.is_empty() {
            let due = arrivals.next().map(|(at, _)| callers.gauge.until(at));
            tokio::select! {
                biased;
                () = &mut tick => {
                    tick.set(TokioTime.sleep(TICK));
                    if interrupted() {
                        callers.gauge.stop(RunEnd::Interrupted);
                    } else if callers.gauge.now() >= Instant::ORIGIN + self.bounds.time {
                        callers.gauge.stop(RunEnd::TimeBound);
                    }
                    if callers.gauge.stopped().is_some() {
                        break;
                    }
                }
                () = TokioTime.sleep(due.unwrap_or(Span::ZERO)), if due.is_some() => {
                    while let Some(call) = arrivals.due(callers.gauge.now()) {
                        calls.spawn(Arc::clone(&callers).play(call));
                    }
                }
                Some(_) = calls.join_next() => {}
            }
        }
        calls.shutdown().await;
        callers.gauge.measurement()
    }
}

/// What the calls of a run share.
#[derive(Debug)]
struct Callers {
    plan: RunPlan,
    row: String,
    run: u64,
    seed: u64,
    delays: RandomStream,
    authority: String,
    path: String,
    connections: BoundedConnections,
    gauge: Gauge,
    /// The retriers of all processes, by the number of their caller and their own.
    retriers: Mutex<BTreeMap<(usize, u32), Retrier>>,
    /// Calls so far; the next one's number.
    calls: AtomicU32,
}

/// One call that is due.
#[derive(Clone, Copy, Debug)]
struct DueCall {
    at: Instant,
    source: usize,
    /// The client that makes it, where clients make many.
    client: Option<u32>,
}

impl Callers {
    fn new(run: &LoadRun<'_>, destination: &LoadTarget) -> Self {
        let plan = run.row.plan.clone();
        let most = usize::try_from(run.bounds.connections).unwrap_or(usize::MAX);
        Self {
            row: run.row.name.clone(),
            // Two runs that begin in one nanosecond on one machine would have one number.
            run: StdTime::of_host().as_nanos(),
            seed: run.seed,
            delays: RandomStream::new(run.seed, Purpose::Delay),
            authority: destination.authority.clone(),
            path: destination.path.clone(),
            connections: BoundedConnections::new(destination.address, most),
            gauge: Gauge::new(&plan, LEAD, run.bounds.rate),
            retriers: Mutex::default(),
            calls: AtomicU32::new(0),
            plan,
        }
    }

    /// Plays a call, and those that its client makes after it.
    async fn play(self: Arc<Self>, first: DueCall) {
        let mut due = first;
        loop {
            let id = self.calls.fetch_add(1, Ordering::Relaxed);
            let client = *due.client.get_or_insert(id);
            let ended = self.call(id, client, &due).await;
            let source = self.source(due.source);
            let Some(at) = source.and_then(|source| source.next_call(self.seed, id, ended)) else {
                return;
            };
            TokioTime.sleep(self.gauge.until(at)).await;
            due.at = at;
        }
    }

    async fn call(self: &Arc<Self>, id: u32, client: u32, due: &DueCall) -> Instant {
        let bystander = due.source.checked_sub(self.plan.arrivals.len());
        let number = Arc::new(AtomicU32::new(1));
        let draws = CallDraws::new(self.delays, id, Arc::clone(&number));
        let caller = bystander.map_or(0, |other| other + 1);
        let process = client % self.plan.fleet.processes.max(1);
        let retrier = self.retrier(caller, process).with_entropy(draws);
        let began = self.gauge.begin_call(due.at, bystander.is_some());
        let mut report = CallReport::default();
        let attempt = |info: AttemptInfo| {
            let callers = Arc::clone(self);
            number.store(info.number, Ordering::Relaxed);
            async move { callers.attempt(id, info, bystander.is_some()).await }
        };
        let call = retrier.retry_with(attempt).classified_by(HttpReplies::default());
        let answer = call.report(&mut report).hedged().await;
        if bystander.is_some() {
            return self.gauge.now();
        }
        let served = answer.ok().filter(|_| report.stop() == Some(Stop::Succeeded));
        self.gauge.end_call(began, served.map(Response::into_body), report.elapsed())
    }

    /// Makes one attempt; the body of its answer is its own number.
    async fn attempt(
        &self,
        call: u32,
        info: AttemptInfo,
        bystander: bool,
    ) -> Result<Response<u32>, ExchangeError> {
        let Some(at) = self.gauge.begin_attempt(info.number, bystander) else {
            // The run is about to end, and this call with it.
            return pending().await;
        };
        let result = self.connections.exchange(self.request(call, &info, at)).await;
        match &result {
            Ok(answer) => self.gauge.answered(Some(answer.status().as_u16())),
            Err(ExchangeError::Full) => {
                self.gauge.stop(RunEnd::ConnectionBound);
                return pending().await;
            }
            Err(_) => self.gauge.answered(None),
        }
        result.map(|answer| answer.map(|()| info.number))
    }

    fn request(&self, call: u32, info: &AttemptInfo, at: Instant) -> Request<Empty<Bytes>> {
        let tag = AttemptTag {
            run: self.run,
            row: self.row.clone(),
            seed: self.seed,
            call,
            attempt: info.number,
            at,
            timeout: info.timeout,
        };
        Request::get(self.path.as_str())
            .header(header::HOST, self.authority.as_str())
            .header(header::USER_AGENT, concat!("stagger-load/", env!("CARGO_PKG_VERSION")))
            .header(TAG_HEADER, tag.to_text())
            .body(Empty::new())
            .expect("path and host are parts of a URL, and a tag is ASCII")
    }

    /// The retrier of a process, which keeps its budget and its breaker.
    fn retrier(&self, caller: usize, process: u32) -> Retrier {
        let policy = match caller.checked_sub(1) {
            None => &self.plan.callers[0].policy,
            Some(other) => &self.plan.bystanders[other].caller.policy,
        };
        let mut all = self.retriers.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry((caller, process)).or_insert_with(|| Retrier::of(*policy)).clone()
    }

    fn source(&self, number: usize) -> Option<&stagger_sim::ArrivalProcess> {
        let own = self.plan.arrivals.len();
        let other = || self.plan.bystanders.get(number - own).map(|others| &others.arrivals);
        self.plan.arrivals.get(number).or_else(other)
    }
}

/// The first calls of all sources, in order.
struct Arrivals {
    sources: Vec<(ArrivalTimes, Option<Instant>)>,
}

impl Arrivals {
    fn new(plan: &RunPlan, seed: u64) -> Self {
        let others = plan.bystanders.iter().map(|others| &others.arrivals);
        let all = plan.arrivals.iter().chain(others);
        let sources = (0..).zip(all).map(|(number, rule)| {
            let mut times = rule.times(seed, number);
            let first = times.next();
            (times, first)
        });
        Self { sources: sources.collect() }
    }

    /// The next call, with the number of its source.
    fn next(&self) -> Option<(Instant, usize)> {
        let firsts = (0..).zip(&self.sources);
        firsts.filter_map(|(number, (_, at))| Some(((*at)?, number))).min()
    }

    /// The next call, if it is due.
    fn due(&mut self, now: Instant) -> Option<DueCall> {
        let (at, source) = self.next().filter(|(at, _)| *at <= now)?;
        let (times, next) = &mut self.sources[source];
        let client = times.client();
        *next = times.next();
        Some(DueCall { at, source, client })
    }
}

/// The words of one call's delays: those of the lab, attempt by attempt.
#[derive(Debug)]
struct CallDraws {
    delays: RandomStream,
    call: u32,
    /// The attempt that was made last.
    number: Arc<AtomicU32>,
    drawing: (u32, Draw),
}

impl CallDraws {
    fn new(delays: RandomStream, call: u32, number: Arc<AtomicU32>) -> Self {
        Self { delays, call, number, drawing: (1, delays.at(call, 1)) }
    }
}

impl Entropy for CallDraws {
    fn next_u64(&mut self) -> u64 {
        let number = self.number.load(Ordering::Relaxed);
        if self.drawing.0 != number {
            self.drawing = (number, self.delays.at(self.call, number));
        }
        self.drawing.1.next_u64()
    }
}
