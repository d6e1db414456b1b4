//! The task that tells the store what this process's breaker sees, and hears what the others saw.

use std::sync::Arc;

use stagger_core::breaker::BreakerPlan;
use stagger_core::{Instant, Span};
use tokio::time::timeout;

use super::gate::Gate;
use super::script::{Answer, Request, Rule, SCRIPT, key};
use super::sync::{Heard, SyncRound};
use crate::clock::{Clock, TokioTime};
use crate::ledger::shared::SharedStore;
use crate::observe::{breaker_closed, breaker_opened, store_away, store_back};

/// The time for which a process that ends waits for its last answer.
const LAST: Span = Span::from_secs(1);

/// One process's watcher of one breaker.
pub(in crate::ledger::shared) struct Watcher {
    gate: Arc<Gate>,
    store: SharedStore,
    name: String,
    rule: Rule,
    key: String,
    asked_at: Instant,
    /// Whether it is told here that the store is away: else whoever leases permits tells it.
    tells: bool,
    told_away: bool,
}

impl Watcher {
    /// The watcher of the breaker of this name. With `tells`, it also tells when the store goes away.
    pub(in crate::ledger::shared) fn new(
        gate: Arc<Gate>,
        store: SharedStore,
        name: &str,
        plan: &BreakerPlan,
        tells: bool,
    ) -> Self {
        let key = key(store.options().prefix(), name);
        Self {
            gate,
            store,
            name: name.to_owned(),
            rule: Rule::of(plan),
            key,
            asked_at: Instant::ORIGIN,
            tells,
            told_away: false,
        }
    }

    /// Until the ledger is dropped.
    pub(in crate::ledger::shared) async fn run(mut self) {
        while !self.gate.is_closed() {
            match self.gate.due(self.asked_at) {
                None => self.gate.notify.notified().await,
                Some(due) if TokioTime.now() < due => self.pause(due).await,
                Some(_) => self.ask().await,
            }
        }
        let Some(request) = self.gate.last_request() else { return };
        // Nobody is left to be told.
        let _ = timeout(LAST.to_duration(), self.consult(&request)).await;
    }

    /// Asks once; after a failure, waits until the store may be asked again.
    async fn ask(&mut self) {
        let asked = TokioTime.now();
        self.asked_at = asked;
        let request = self.gate.request(asked);
        match self.consult(&request).await {
            Ok(answer) => {
                let (request, answer, now) = (&request, &answer, TokioTime.now());
                let heard = self.gate.adopt(&SyncRound { request, asked, answer, now });
                if std::mem::take(&mut self.told_away) {
                    store_back(&self.name, self.store.place());
                }
                match heard {
                    Some(Heard::Opened) => breaker_opened(&self.name, self.store.place()),
                    Some(Heard::Closed) => breaker_closed(&self.name, self.store.place()),
                    None => {}
                }
            }
            Err(until) => {
                self.gate.went_away(TokioTime.now());
                if self.tells && !std::mem::replace(&mut self.told_away, true) {
                    store_away(&self.name, self.store.place());
                }
                while !self.gate.is_closed() && TokioTime.now() < until {
                    self.pause(until).await;
                }
            }
        }
    }

    async fn consult(&self, request: &Request) -> Result<Answer, Instant> {
        let mut invocation = SCRIPT.key(&self.key);
        for argument in self.rule.arguments(request) {
            invocation.arg(argument);
        }
        self.store.invoke(&invocation).await.map(Answer::of)
    }

    /// Until then, or until a call wants it to look.
    async fn pause(&self, until: Instant) {
        let left = until - TokioTime.now();
        let _ = timeout(left.to_duration(), self.gate.notify.notified()).await;
    }
}
