//! The store in memory is short and plain; every other one must answer the same to
//! everything.

use proptest::collection::vec;
use proptest::prelude::*;
use stagger::{Instant, Verdict};
use stagger_scheduler::model::DeliveryState;

use crate::testing::fixture::{
    app, application, at, attempt, endpoint, ep, furnish, keyed, message, msg, page, settled,
};
use crate::{
    Cursor, DeliveryFilter, DeliveryStore, Error, Fence, MemoryStore, MessageFilter, PageRequest,
    ReplayRequest, Settlement,
};

/// One call of a store.
#[derive(Clone, Debug)]
pub(crate) enum StoreStep {
    BeginRun,
    PutApplication(u64),
    PutEndpoint(u64),
    DeleteApplication(u64),
    DeleteEndpoint(u64),
    Accept(Vec<New>),
    Settle { stale: bool, of: (u64, u64), state: DeliveryState, number: u32, news: Option<New> },
    Replay { of: u64, one: Option<(u64, u64)>, filter: DeliveryFilter, limit: usize },
    Prune { of: Option<u64>, before: u64, limit: usize },
    DeletePayload(u64),
    Messages { of: u64, filter: MessageFilter, page: PageRequest },
    Deliveries { of: Option<u64>, filter: DeliveryFilter, page: PageRequest },
}

/// A message to come: its number, its time, its key, its endpoints.
pub(super) type New = (u64, u64, Option<u8>, bool, bool);

pub(super) const MESSAGES: u64 = 12;

/// Steps that a store may be taken through.
pub(crate) fn steps() -> impl Strategy<Value = Vec<StoreStep>> {
    let name = || (1..=MESSAGES, 1..=3_u64);
    let state = || proptest::sample::select(&DeliveryState::ALL[..]);
    let settle = (
        proptest::bool::weighted(0.05),
        name(),
        state(),
        1..4_u32,
        proptest::option::weighted(0.1, new()),
    );
    let replay = (1..=2_u64, proptest::option::of(name()), deliveries_filter(), 1..4_usize);
    let step = prop_oneof![
        1 => Just(StoreStep::BeginRun),
        1 => (1..=2_u64).prop_map(StoreStep::PutApplication),
        2 => (1..=3_u64).prop_map(StoreStep::PutEndpoint),
        1 => (1..=2_u64).prop_map(StoreStep::DeleteApplication),
        1 => (1..=3_u64).prop_map(StoreStep::DeleteEndpoint),
        12 => vec(new(), 1..4).prop_map(StoreStep::Accept),
        16 => settle.prop_map(|(stale, of, state, number, news)| {
            StoreStep::Settle { stale, of, state, number, news }
        }),
        4 => replay.prop_map(|(of, one, filter, limit)| StoreStep::Replay { of, one, filter, limit }),
        3 => (proptest::option::of(1..=2_u64), 1..=MESSAGES + 1, 1..4_usize)
            .prop_map(|(of, before, limit)| StoreStep::Prune { of, before, limit }),
        2 => (1..=MESSAGES).prop_map(StoreStep::DeletePayload),
        4 => (1..=2_u64, messages_filter(), request())
            .prop_map(|(of, filter, page)| StoreStep::Messages { of, filter, page }),
        6 => (proptest::option::of(1..=2_u64), deliveries_filter(), request())
            .prop_map(|(of, filter, page)| StoreStep::Deliveries { of, filter, page }),
    ];
    vec(step, 1..60)
}

pub(super) fn new() -> impl Strategy<Value = New> {
    let n = || 1..=MESSAGES;
    (n(), n(), proptest::option::weighted(0.3, 0..3_u8), any::<bool>(), any::<bool>())
}

fn time() -> impl Strategy<Value = Option<Instant>> {
    proptest::option::weighted(0.3, (1..=MESSAGES).prop_map(at))
}

fn messages_filter() -> impl Strategy<Value = MessageFilter> {
    let event_type = proptest::option::of(Just("even".parse().unwrap()));
    (event_type, time(), time()).prop_map(|(event_type, since, until)| MessageFilter {
        event_type,
        since,
        until,
    })
}

fn deliveries_filter() -> impl Strategy<Value = DeliveryFilter> {
    let endpoint = proptest::option::of((1..=3_u64).prop_map(ep));
    let state = proptest::option::of(proptest::sample::select(&DeliveryState::ALL[..]));
    let event_type = proptest::option::weighted(0.3, Just("even".parse().unwrap()));
    let status = proptest::option::weighted(0.1, Just(204));
    let facts = (event_type, status);
    (endpoint, state, facts, time(), time()).prop_map(
        |(endpoint, state, (event_type, status), since, until)| DeliveryFilter {
            endpoint,
            state,
            event_type,
            status,
            since,
            until,
        },
    )
}

fn request() -> impl Strategy<Value = PageRequest> {
    let cursor = (1..=MESSAGES, 0..=3_u64)
        .prop_map(|(n, to)| Cursor { message: *msg(n).as_uuid(), endpoint: *ep(to).as_uuid() });
    (proptest::option::of(cursor), 1..5_usize)
        .prop_map(|(after, limit)| PageRequest { after, limit })
}

/// Takes the steps with both stores, and compares every answer, and all that is there at the end.
pub(crate) async fn compare(fast: &dyn DeliveryStore, steps: &[StoreStep]) {
    let plain = MemoryStore::default();
    let mut of_plain = vec![Fence(0), furnish(&plain).await];
    let mut of_fast = vec![Fence(0), furnish(fast).await];
    for (now, step) in (100..).zip(steps) {
        let expected = take(&plain, step, &mut of_plain, now).await;
        assert_eq!(take(fast, step, &mut of_fast, now).await, expected, "{step:?}");
    }
    assert_eq!(everything(fast).await, everything(&plain).await);
}

/// Takes a step, and writes down the answer. `runs` are those that have begun: their fences differ by
/// store, so that an answer has their places instead.
async fn take(
    store: &dyn DeliveryStore,
    step: &StoreStep,
    runs: &mut Vec<Fence>,
    now: u64,
) -> String {
    match step.clone() {
        StoreStep::BeginRun => {
            runs.extend(store.begin_run().await);
            format!("run {}", runs.len())
        }
        StoreStep::PutApplication(n) => answer(store.put_application(application(n)).await),
        StoreStep::PutEndpoint(n) => answer(store.put_endpoint(endpoint(n, n / 3 + 1)).await),
        StoreStep::DeleteApplication(n) => answer(store.delete_application(app(n)).await),
        StoreStep::DeleteEndpoint(n) => answer(store.delete_endpoint(ep(n), at(now)).await),
        StoreStep::Accept(news) => {
            answer(store.accept(news.into_iter().map(build).collect()).await)
        }
        StoreStep::Settle { stale, of: (n, to), state, number, news } => {
            let settlement = Settlement {
                attempt: Some(attempt(n, to, number, Verdict::Transient)),
                operational: news.map(build).into_iter().collect(),
                ..settled(n, to, to / 3 + 1, state, now)
            };
            let run = runs[runs.len() - 1 - usize::from(stale)];
            let text = answer(store.settle(run, vec![settlement]).await);
            text.replace(&format!("run {}", run.0), "the run")
        }
        StoreStep::Replay { of, one, filter, limit } => {
            let request = match one {
                Some((n, to)) => ReplayRequest::One(msg(n), ep(to)),
                None if filter.status.is_some() => {
                    ReplayRequest::Missing(ep(of), (1..=3).map(msg).collect())
                }
                None if filter.state == Some(DeliveryState::Waiting) => {
                    ReplayRequest::Waiting(app(of), filter)
                }
                None => ReplayRequest::Many(app(of), filter),
            };
            answer(store.replay(request, at(now), limit).await)
        }
        StoreStep::Prune { of, before, limit } => {
            answer(store.prune(of.map(app), at(before), limit).await)
        }
        StoreStep::DeletePayload(n) => answer(store.delete_payload(msg(n)).await),
        StoreStep::Messages { of, filter, page } => {
            answer(store.messages(app(of), filter, page).await)
        }
        StoreStep::Deliveries { of, filter, page } => {
            answer(store.deliveries(of.map(app), filter, page).await)
        }
    }
}

pub(super) fn answer(outcome: Result<impl std::fmt::Debug, Error>) -> String {
    format!("{outcome:?}")
}

/// The message of number n is of application 1 or 2, and its time is not always that of its id.
pub(super) fn build((n, time, key, first, second): New) -> stagger_scheduler::model::NewMessage {
    let of = n % 2 + 1;
    let endpoints: &[u64] = match (of, first, second) {
        (1, true, true) => &[2, 1],
        (1, true, false) => &[1],
        (2, true, _) => &[3],
        _ => &[],
    };
    let mut new = match key {
        Some(key) => keyed(n, of, endpoints, &key.to_string()),
        None => message(n, of, endpoints),
    };
    new.message.created_at = at(time);
    new
}

/// All that a store can be asked for.
pub(super) async fn everything(store: &dyn DeliveryStore) -> Vec<String> {
    let all = page(250);
    let mut found = vec![
        answer(store.applications().await),
        answer(store.endpoints().await),
        answer(store.open_deliveries(None, 999).await),
        answer(store.deliveries(None, DeliveryFilter::default(), all).await),
        answer(store.counts(None).await),
    ];
    for n in [1, 2] {
        found.push(answer(store.messages(app(n), MessageFilter::default(), all).await));
    }
    for to in 1..=3 {
        found.push(answer(store.counts(Some(ep(to))).await));
    }
    for n in 1..=MESSAGES {
        found.push(answer(store.payload(msg(n)).await));
        for to in 1..=3 {
            found.push(answer(store.attempts(msg(n), ep(to)).await));
        }
    }
    found
}
