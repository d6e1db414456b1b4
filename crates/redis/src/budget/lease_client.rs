//! The task that leases permits in the background and reports the events to the store.

use std::sync::Arc;

use stagger::budget::BudgetPlan;
use stagger::{Clock, Entropy, Instant, OsEntropy, Span, TokioTime};
use tokio::time::timeout;

use super::leased::Leased;
use super::script::{BudgetAnswer, BudgetRequest, BudgetScriptPlan, SCRIPT};
use crate::events::EventLog;
use crate::store::SharedStore;

/// The time for which a process waits for its last answer.
const LAST: Span = Span::from_secs(1);

/// The task that leases the permits of one budget for this process.
pub(crate) struct LeaseClient {
    leased: Arc<Leased>,
    store: SharedStore,
    log: Arc<EventLog>,
    rule: BudgetScriptPlan,
    keys: [String; 2],
    /// The age up to which first attempts are still reported.
    fresh: Span,
    /// The number of the last request.
    number: u64,
    /// The store's last grant, and the place where it noted that.
    last: (u64, u64),
    asked_at: Instant,
    refused_until: Instant,
}

impl LeaseClient {
    /// The lease client of the budget of this name; `None` where there is nothing to lease.
    pub(crate) fn new(
        leased: Arc<Leased>,
        store: SharedStore,
        log: Arc<EventLog>,
        name: &str,
        plan: &BudgetPlan,
    ) -> Option<Self> {
        let rule = BudgetScriptPlan::of(plan)?;
        // The seed of a process has 64 bits: a million of them share one once in thirty million fleets.
        let process = u128::from(OsEntropy.next_u64()) << 64 | u128::from(OsEntropy.next_u64());
        let keys = rule.keys(store.options().prefix(), name, process);
        let fresh = match plan {
            BudgetPlan::Window(plan) => plan.slot(),
            _ => Span::MAX,
        };
        let (asked_at, refused_until) = (Instant::ORIGIN, Instant::ORIGIN);
        let (number, last) = (0, (0, 0));
        Some(Self { leased, store, log, rule, keys, fresh, number, last, asked_at, refused_until })
    }

    /// Until the ledger is dropped.
    pub(crate) async fn run(mut self) {
        let leased = Arc::clone(&self.leased);
        while !leased.wake.is_closed() {
            // A call during the last request counts, though this task did not wait for it.
            if !leased.wake.is_called() {
                leased.wake.woken().await;
            }
            self.until_due().await;
            leased.wake.looked();
            let wanted = leased.wanted();
            if !leased.wake.is_closed() && (wanted > 0 || leased.has_events()) {
                self.lease(wanted).await;
            }
        }
        self.give_back().await;
    }

    /// Events have time; a lease has not, unless the store has just refused one.
    async fn until_due(&self) {
        while !self.leased.wake.is_closed() {
            let again = self.store.options().again();
            let wants = self.leased.wanted() > 0;
            let due = if wants { self.refused_until } else { self.asked_at + again };
            if TokioTime.now() >= due {
                return;
            }
            self.leased.wake.woken_or_at(due).await;
        }
    }

    /// Asks until there is an answer: the same request under the same number, so that the store
    /// hears it once.
    async fn lease(&mut self, wanted: u64) {
        let begun = TokioTime.now();
        self.number += 1;
        let events = self.leased.take_events();
        let mut request =
            BudgetRequest { number: self.number, wanted, events, ..BudgetRequest::default() };
        loop {
            self.asked_at = TokioTime.now();
            match self.ask(&request).await {
                Ok(answer) => {
                    if answer.granted > 0 {
                        self.last = (answer.granted, answer.mark);
                    }
                    if answer.granted < wanted {
                        self.refused_until = TokioTime.now() + self.store.options().again();
                    }
                    if TokioTime.now() - begun > self.fresh {
                        self.leased.forget_firsts();
                    }
                    self.leased.answered(wanted, &answer);
                    self.log.reachable();
                    return;
                }
                Err(until) => {
                    self.leased.store_lost();
                    self.log.unreachable();
                    self.leased.wake.closed_or_at(until).await;
                }
            }
            if self.leased.wake.is_closed() {
                return;
            }
            // A share of first attempts of a while ago is no share of those of now.
            if TokioTime.now() - begun > self.fresh {
                request.events.firsts = 0;
            }
        }
    }

    async fn ask(&self, request: &BudgetRequest) -> Result<BudgetAnswer, Instant> {
        let arguments = self.rule.arguments(request);
        self.store.run(&SCRIPT, &self.keys, &arguments).await.map(BudgetAnswer::of)
    }

    /// The last events, and what is left of the last lease. Asked once: a store that is unreachable keeps the
    /// permits, which then are lost.
    async fn give_back(self) {
        let (granted, mark) = self.last;
        let returned = self.leased.take_permits().min(granted);
        let events = self.leased.take_events();
        let number = self.number + 1;
        let request = BudgetRequest { number, wanted: 0, returned, mark, events };
        // The ledger is gone, so the answer has no use.
        let _ = timeout(LAST.to_duration(), self.ask(&request)).await;
    }
}
