//! The task that leases permits in the background and reports the events to the store.

use std::sync::Arc;

use stagger_core::budget::BudgetPlan;
use stagger_core::{Instant, Span};
use tokio::time::timeout;

use super::SharedStore;
use super::leased::Leased;
use super::script::{BudgetRequest, BudgetScriptPlan};
use crate::clock::{Clock, TokioTime};
use crate::observe::{store_reachable, store_unreachable};
use crate::rng::os_bits;

/// The time for which a process waits for its last answer.
const LAST: Span = Span::from_secs(1);

/// The task that leases the permits of one budget for this process.
pub(super) struct LeaseClient {
    leased: Arc<Leased>,
    store: SharedStore,
    name: String,
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
    /// Whether the outage was logged.
    outage_reported: bool,
}

impl LeaseClient {
    /// The lease client of the budget of this name; `None` where there is nothing to lease.
    pub(super) fn new(
        leased: Arc<Leased>,
        store: SharedStore,
        name: &str,
        plan: &BudgetPlan,
    ) -> Option<Self> {
        let rule = BudgetScriptPlan::of(plan)?;
        let keys = rule.keys(store.options().prefix(), name, os_bits());
        let fresh = match plan {
            BudgetPlan::Window(plan) => plan.slot(),
            _ => Span::MAX,
        };
        Some(Self {
            leased,
            store,
            name: name.to_owned(),
            rule,
            keys,
            fresh,
            number: 0,
            last: (0, 0),
            asked_at: Instant::ORIGIN,
            refused_until: Instant::ORIGIN,
            outage_reported: false,
        })
    }

    /// Until the ledger is dropped.
    pub(super) async fn run(mut self) {
        while !self.leased.is_closed() {
            // A call during the last request counts, though this task did not wait for it.
            if !self.leased.is_called() {
                self.leased.woken().await;
            }
            self.until_due().await;
            self.leased.looked();
            let wanted = self.leased.wanted();
            if !self.leased.is_closed() && (wanted > 0 || self.leased.has_events()) {
                self.lease(wanted).await;
            }
        }
        self.give_back().await;
    }

    /// BudgetEvents has time; a lease has not, unless the store has just refused one.
    async fn until_due(&self) {
        while !self.leased.is_closed() {
            let again = self.store.options().again();
            let wants = self.leased.wanted() > 0;
            let due = if wants { self.refused_until } else { self.asked_at + again };
            let now = TokioTime.now();
            if now >= due {
                return;
            }
            // Woken or not, it is looked at again.
            let _ = timeout((due - now).to_duration(), self.leased.woken()).await;
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
            match self.store.ask(&self.keys, &self.rule, &request).await {
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
                    if std::mem::take(&mut self.outage_reported) {
                        store_reachable(&self.name, self.store.place());
                    }
                    return;
                }
                Err(until) => {
                    self.leased.store_lost();
                    if !std::mem::replace(&mut self.outage_reported, true) {
                        store_unreachable(&self.name, self.store.place());
                    }
                    self.pause(until).await;
                }
            }
            if self.leased.is_closed() {
                return;
            }
            // A share of first attempts of a while ago is no share of those of now.
            if TokioTime.now() - begun > self.fresh {
                request.events.firsts = 0;
            }
        }
    }

    /// Until then, or until the ledger is dropped.
    async fn pause(&self, until: Instant) {
        loop {
            let now = TokioTime.now();
            if self.leased.is_closed() || now >= until {
                return;
            }
            let _ = timeout((until - now).to_duration(), self.leased.woken()).await;
        }
    }

    /// The last events, and what is left of the last lease. Asked once: a store that is unreachable keeps the
    /// permits, which then are lost.
    async fn give_back(self) {
        let (granted, mark) = self.last;
        let returned = self.leased.take_permits().min(granted);
        let events = self.leased.take_events();
        let number = self.number + 1;
        let request = BudgetRequest { number, wanted: 0, returned, mark, events };
        let once = self.store.ask(&self.keys, &self.rule, &request);
        // The ledger is gone, so the answer has no use.
        let _ = timeout(LAST.to_duration(), once).await;
    }
}
