//! The speed of the embedded store with durable writes: `cargo bench -p stagger-dispatch --bench
//! store [SECONDS]`.
//!
//! Messages have 1 KiB and go to one endpoint, unless a row says otherwise; 64 tasks send them one at
//! a time. The last rows are about a store with a million open deliveries.
#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![expect(clippy::print_stdout, reason = "the report of a bench target is what it prints")]
#![expect(clippy::unwrap_used, reason = "a bench that fails is to stop")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use stagger::{Span, StdTime, Verdict};
use stagger_dispatch::IdGenerator;
use stagger_scheduler::model::{
    ApplicationId, Delivery, DeliveryAttempt, DeliveryState, EndpointId, Message, MessageId,
    NewMessage,
};
use stagger_store::{
    Cursor, DeliveryFilter, DeliveryStore, Fence, PageRequest, Settlement, SqliteOptions,
    SqliteStore,
};
use uuid::Uuid;

const TASKS: usize = 64;
const MILLION: u64 = 1_000_000;

fn main() {
    let seconds = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(5);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let span = Duration::from_secs(seconds);
    runtime.block_on(async {
        load("accepts", span, 1, false).await;
        load("accepts, 100 endpoints", span, 100, false).await;
        load("accepted and settled", span, 1, true).await;
        a_million().await;
    });
}

/// Accepts messages for `span`, to this many endpoints, settled too or not.
async fn load(name: &str, span: Duration, endpoints: u64, settled: bool) {
    let bench = Bench::open(endpoints).await;
    let (begun, cpu) = (Instant::now(), cpu());
    let tasks: Vec<_> =
        (0..TASKS).map(|_| tokio::spawn(bench.clone().send(begun + span, settled))).collect();
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await.unwrap());
    }
    let (took, cpu) = (begun.elapsed(), self::cpu() - cpu);
    latencies.sort_unstable();
    let count = latencies.len();
    let at = |share: usize| latencies[(count - 1) * share / 100].as_secs_f64() * 1e3;
    let whole = f64::from(u32::try_from(count).unwrap());
    println!(
        "{name:>24}: {:>7.0}/s, {:>5.1} us of CPU each, p50 {:.2} ms, p99 {:.2} ms, log {} MiB",
        whole / took.as_secs_f64(),
        cpu.as_secs_f64() * 1e6 / whole,
        at(50),
        at(99),
        bench.log_size() >> 20,
    );
    bench.delete();
}

async fn a_million() {
    let bench = Bench::open(1).await;
    timed("a million accepted", async {
        for _ in 0..MILLION / 1000 {
            let batch = (0..1000).map(|_| bench.message()).collect();
            bench.store.accept(batch).await.unwrap();
        }
    })
    .await;
    timed("all of them loaded", async {
        let (mut loaded, mut after) = (0, None);
        loop {
            let page = bench.store.open_deliveries(after, 10_000).await.unwrap();
            let Some(last) = page.last() else { break };
            (loaded, after) = (loaded + page.len() as u64, Some(Cursor::of_delivery(last)));
        }
        assert_eq!(loaded, MILLION);
    })
    .await;
    timed("counted", async {
        let counts = bench.store.counts(None).await.unwrap();
        assert_eq!(counts.of(DeliveryState::Pending), MILLION);
    })
    .await;
    let page = PageRequest { after: None, limit: 50 };
    timed("a page of them", async {
        bench.store.deliveries(None, DeliveryFilter::default(), page).await.unwrap();
    })
    .await;
    timed("a page of the dead", async {
        let dead = DeliveryFilter { state: Some(DeliveryState::Dead), ..DeliveryFilter::default() };
        bench.store.deliveries(Some(APPLICATION), dead, page).await.unwrap();
    })
    .await;
    timed("pruned in vain", async {
        bench.store.prune(None, now(), 1000).await.unwrap();
    })
    .await;
    timed("pruned in vain again", async {
        bench.store.prune(None, now(), 1000).await.unwrap();
    })
    .await;
    timed("100 000 of them settled", async {
        for _ in 0..100 {
            let open = bench.store.open_deliveries(None, 1000).await.unwrap();
            let settled = open.iter().map(|delivery| bench.settled(delivery)).collect();
            bench.store.settle(bench.fence, settled).await.unwrap();
        }
    })
    .await;
    timed("those pruned", async {
        let mut pruned = 0;
        while pruned < 100_000 {
            pruned += bench.store.prune(None, now(), 1000).await.unwrap().messages;
        }
    })
    .await;
    bench.delete();
}

async fn timed(name: &str, work: impl Future<Output = ()>) {
    let begun = Instant::now();
    work.await;
    println!("{name:>24}: {:?}", begun.elapsed());
}

const APPLICATION: ApplicationId = ApplicationId::from_uuid(Uuid::from_u128(1));

/// A store in a folder of its own.
#[derive(Clone)]
struct Bench {
    folder: PathBuf,
    store: Arc<SqliteStore>,
    fence: Fence,
    endpoints: Vec<EndpointId>,
    payload: Bytes,
    id_generator: Arc<IdGenerator>,
}

impl Bench {
    async fn open(endpoints: u64) -> Self {
        let folder = std::env::temp_dir().join(format!("stagger-bench-{}", std::process::id()));
        let store = SqliteStore::open(&folder, SqliteOptions::default()).unwrap();
        let fence = store.begin_run().await.unwrap();
        let endpoint = |n| EndpointId::from_uuid(Uuid::from_u128(u128::from(n)));
        let mut word = 1_u64;
        let payload: Vec<u8> = (0..1024)
            .map(|_| {
                word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                word.to_be_bytes()[0]
            })
            .collect();
        Self {
            folder,
            store: Arc::new(store),
            fence,
            endpoints: (1..=endpoints).map(endpoint).collect(),
            payload: payload.into(),
            id_generator: Arc::default(),
        }
    }

    async fn send(self, until: Instant, settled: bool) -> Vec<Duration> {
        let mut latencies = Vec::new();
        while Instant::now() < until {
            let begun = Instant::now();
            let new = self.message();
            let message = new.message.clone();
            self.store.accept(vec![new]).await.unwrap();
            if settled {
                let now = message.created_at;
                let new = Delivery::new(message.id, self.endpoints[0], APPLICATION, now);
                self.store.settle(self.fence, vec![self.settled(&new)]).await.unwrap();
            }
            latencies.push(begun.elapsed());
        }
        latencies
    }

    fn message(&self) -> NewMessage {
        let now = now();
        let id = MessageId::from_uuid(self.id_generator.make(now).unwrap());
        let message = Message {
            id,
            application: APPLICATION,
            event_type: "invoice.paid".parse().unwrap(),
            key: None,
            content_type: "application/json".into(),
            size: self.payload.len(),
            created_at: now,
            channels: Vec::new(),
            trace: None,
            attributes: Default::default(),
        };
        NewMessage { message, payload: self.payload.clone(), endpoints: self.endpoints.clone() }
    }

    fn settled(&self, delivery: &Delivery) -> Settlement {
        let attempt = DeliveryAttempt {
            message: delivery.message,
            endpoint: delivery.endpoint,
            number: 1,
            started_at: delivery.due,
            latency: Span::from_millis(3),
            status: Some(200),
            failure: None,
            detail: None,
            reply: Bytes::from_static(b"ok"),
            verdict: Verdict::Ok,
            hint: None,
            next: None,
        };
        let state = DeliveryState::Delivered;
        let delivery = Delivery { state, attempts: 1, ..*delivery };
        Settlement { delivery: Some(delivery), attempt: Some(attempt), ..Settlement::default() }
    }

    fn log_size(&self) -> u64 {
        std::fs::metadata(self.folder.join("stagger.db-wal")).map_or(0, |file| file.len())
    }

    fn delete(self) {
        let folder = self.folder.clone();
        drop(self);
        std::fs::remove_dir_all(folder).ok();
    }
}

fn now() -> stagger::Instant {
    let since = StdTime::wall().duration_since(std::time::UNIX_EPOCH).unwrap();
    stagger::Instant::ORIGIN + Span::from(since)
}

/// The time of all cores that this process has used, in the kernel's ticks of 10 ms.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<_> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}
