//! The task that tells the store what this process's breaker sees, and learns what the others saw.

use std::sync::Arc;

use stagger::breaker::BreakerPlan;
use stagger::{Clock, Instant, OsEntropy, Span, TokioTime};
use tokio::time::timeout;

use super::fleet_breaker::FleetBreaker;
use super::replica::SyncRound;
use super::script::{BreakerAnswer, BreakerRequest, BreakerScriptPlan, SCRIPT, key};
use crate::events::EventLog;
use crate::store::SharedStore;

/// The time for which a process that ends waits for its last answer.
const LAST: Span = Span::from_secs(1);

/// One process's watcher of one breaker.
pub(crate) struct Watcher {
    breaker: Arc<FleetBreaker>,
    store: SharedStore,
    log: Arc<EventLog>,
    rule: BreakerScriptPlan,
    key: String,
    asked_at: Instant,
}

impl Watcher {
    /// The watcher of the breaker of this name.
    pub(crate) fn new(
        breaker: Arc<FleetBreaker>,
        store: SharedStore,
        log: Arc<EventLog>,
        name: &str,
        plan: &BreakerPlan,
    ) -> Self {
        let key = key(store.options().prefix(), name);
        let rule = BreakerScriptPlan::of(plan);
        Self { breaker, store, log, rule, key, asked_at: Instant::ORIGIN }
    }

    /// Until the ledger is dropped.
    pub(crate) async fn run(mut self) {
        let breaker = Arc::clone(&self.breaker);
        while !breaker.wake.is_closed() {
            let called = breaker.wake.is_called();
            match breaker.with_replica(|replica| replica.due(self.asked_at, called)) {
                None => breaker.wake.woken().await,
                Some(due) if TokioTime.now() < due => breaker.wake.woken_or_at(due).await,
                Some(_) => self.sync().await,
            }
        }
        let last = breaker.with_replica(|replica| replica.retire(TokioTime.now()));
        let Some(request) = last else { return };
        // The ledger is gone, so the answer has no use.
        let _ = timeout(LAST.to_duration(), self.ask(&request)).await;
    }

    /// Asks once; after a failure, waits until the store may be asked again.
    async fn sync(&mut self) {
        let (breaker, asked) = (&self.breaker, TokioTime.now());
        self.asked_at = asked;
        let called = breaker.wake.is_called();
        breaker.wake.looked();
        let request =
            breaker.with_replica(|replica| replica.request(asked, called, &mut OsEntropy));
        match self.ask(&request).await {
            Ok(answer) => {
                let round = SyncRound { request: &request, asked, answer, now: TokioTime.now() };
                let moved = breaker.with_replica(|replica| replica.adopt(&round));
                self.log.reachable();
                if let Some(to) = moved {
                    self.log.moved(to);
                }
            }
            Err(until) => {
                let now = TokioTime.now();
                breaker.with_replica(|replica| replica.store_lost(now, &mut OsEntropy));
                self.log.unreachable();
                breaker.wake.closed_or_at(until).await;
            }
        }
    }

    async fn ask(&self, request: &BreakerRequest) -> Result<BreakerAnswer, Instant> {
        let arguments = self.rule.arguments(request);
        let numbers = self.store.run(&SCRIPT, std::slice::from_ref(&self.key), &arguments);
        numbers.await.map(BreakerAnswer::of)
    }
}
