//! The task that reports_outage the store what this process's breaker sees, and hears what the others saw.

use std::sync::Arc;

use stagger_core::breaker::BreakerPlan;
use stagger_core::{Instant, Span};
use tokio::time::timeout;

use super::fleet_breaker::FleetBreaker;
use super::script::{BreakerAnswer, BreakerRequest, BreakerScriptPlan, SCRIPT, key};
use super::sync::{RemoteMove, SyncRound};
use crate::clock::{Clock, TokioTime};
use crate::ledger::shared::SharedStore;
use crate::observe::{breaker_closed, breaker_opened, store_reachable, store_unreachable};

/// The time for which a process that ends waits for its last answer.
const LAST: Span = Span::from_secs(1);

/// One process's watcher of one breaker.
pub(in crate::ledger::shared) struct Watcher {
    breaker: Arc<FleetBreaker>,
    store: SharedStore,
    name: String,
    rule: BreakerScriptPlan,
    key: String,
    asked_at: Instant,
    /// Whether this task logs an outage of the store; otherwise the lease client does.
    reports_outage: bool,
    outage_reported: bool,
}

impl Watcher {
    /// The watcher of the breaker of this name. With `reports_outage`, it also logs outages of the store.
    pub(in crate::ledger::shared) fn new(
        breaker: Arc<FleetBreaker>,
        store: SharedStore,
        name: &str,
        plan: &BreakerPlan,
        reports_outage: bool,
    ) -> Self {
        let key = key(store.options().prefix(), name);
        Self {
            breaker,
            store,
            name: name.to_owned(),
            rule: BreakerScriptPlan::of(plan),
            key,
            asked_at: Instant::ORIGIN,
            reports_outage,
            outage_reported: false,
        }
    }

    /// Until the ledger is dropped.
    pub(in crate::ledger::shared) async fn run(mut self) {
        while !self.breaker.is_closed() {
            match self.breaker.due(self.asked_at) {
                None => self.breaker.notify.notified().await,
                Some(due) if TokioTime.now() < due => self.pause(due).await,
                Some(_) => self.ask().await,
            }
        }
        let Some(request) = self.breaker.last_request() else { return };
        // The ledger is gone, so the answer has no use.
        let _ = timeout(LAST.to_duration(), self.consult(&request)).await;
    }

    /// Asks once; after a failure, waits until the store may be asked again.
    async fn ask(&mut self) {
        let asked = TokioTime.now();
        self.asked_at = asked;
        let request = self.breaker.request(asked);
        match self.consult(&request).await {
            Ok(answer) => {
                let (request, answer, now) = (&request, &answer, TokioTime.now());
                let moved = self.breaker.adopt(&SyncRound { request, asked, answer, now });
                if std::mem::take(&mut self.outage_reported) {
                    store_reachable(&self.name, self.store.place());
                }
                match moved {
                    Some(RemoteMove::Opened) => breaker_opened(&self.name, self.store.place()),
                    Some(RemoteMove::Closed) => breaker_closed(&self.name, self.store.place()),
                    None => {}
                }
            }
            Err(until) => {
                self.breaker.store_lost(TokioTime.now());
                if self.reports_outage && !std::mem::replace(&mut self.outage_reported, true) {
                    store_unreachable(&self.name, self.store.place());
                }
                while !self.breaker.is_closed() && TokioTime.now() < until {
                    self.pause(until).await;
                }
            }
        }
    }

    async fn consult(&self, request: &BreakerRequest) -> Result<BreakerAnswer, Instant> {
        let mut invocation = SCRIPT.key(&self.key);
        for argument in self.rule.arguments(request) {
            invocation.arg(argument);
        }
        self.store.invoke(&invocation).await.map(BreakerAnswer::of)
    }

    /// Until then, or until a call wants it to look.
    async fn pause(&self, until: Instant) {
        let left = until - TokioTime.now();
        let _ = timeout(left.to_duration(), self.breaker.notify.notified()).await;
    }
}
