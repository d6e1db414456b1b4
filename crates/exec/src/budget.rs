//! A budget in a file that the processes of one host share.
//!
//! The decisions are the engine's `Budget`.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use serde::{Deserialize, Serialize};
use stagger::adaptive::{AdaptiveReport, Pacing};
use stagger::breaker::Report;
use stagger::engine::breaker::{Admission, Ticket};
use stagger::engine::budget::{Charge, Paid, Settled};
use stagger::engine::{Entrance, Ledger, LimitPermit};
use stagger::{LocalLedger, StdTime};
use stagger_core::budget::{Budget, BudgetPlan, SavedBudget};
use stagger_core::{Entropy, Instant, Policy, Span};

use crate::host_file::{self, HostFile, padded};

/// The version of the record.
const VERSION: u32 = 1;

/// The budget of a host, by the name of its file.
#[derive(Debug)]
pub struct BudgetFile {
    file: HostFile,
    plan: BudgetPlan,
    trouble: Mutex<Option<String>>,
}

/// The content of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BudgetRecord {
    stagger_budget: u32,
    plan: BudgetPlan,
    state: Vec<u64>,
    /// Of everything before it, so that half a record is known to be one.
    check: u64,
}

impl BudgetFile {
    /// The budget in `path` under `plan`, made if there is no such file. Its lock is waited for 5 s, or until
    /// `deadline` if that is shorter.
    ///
    /// # Errors
    /// A file that is a link, is none of ours, is damaged, or holds a budget under another plan.
    pub fn open(path: &Path, plan: BudgetPlan, deadline: Option<Span>) -> Result<Self, String> {
        let file = HostFile::open(path, deadline, &record(&Budget::new(plan))?)?;
        let file = Self { file, plan, trouble: Mutex::new(None) };
        file.change(|_, _| ())?;
        Ok(file)
    }

    /// Why it could not be asked, if it could not.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.troubles().as_ref().map(|why| format!("{}: {why}", self.file.name()))
    }

    pub(crate) fn on_first(&self) {
        self.tell(|budget, now| budget.on_first(now));
    }

    /// A file that cannot be asked grants nothing.
    pub(crate) fn ask(&self, charge: Charge) -> Option<Paid> {
        self.tell(|budget, now| budget.ask(now, charge)).flatten()
    }

    pub(crate) fn refund(&self, paid: Paid) {
        self.tell(|budget, now| budget.refund(now, paid));
    }

    pub(crate) fn on_settled(&self, settled: Settled) {
        self.tell(|budget, now| budget.on_settled(now, settled));
    }

    fn tell<T>(&self, change: impl FnOnce(&mut Budget, Instant) -> T) -> Option<T> {
        match self.change(change) {
            Ok(answer) => Some(answer),
            Err(why) => {
                self.troubles().get_or_insert(why);
                None
            }
        }
    }

    fn troubles(&self) -> MutexGuard<'_, Option<String>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the budget under the lock.
    fn change<T>(&self, change: impl FnOnce(&mut Budget, Instant) -> T) -> Result<T, String> {
        let file = self.file.lock()?;
        let mut budget = self.read(&file)?;
        let answer = change(&mut budget, StdTime::of_host());
        host_file::write(&file, &record(&budget)?)?;
        Ok(answer)
    }

    fn read(&self, file: &File) -> Result<Budget, String> {
        let damaged = "damaged, or no budget file; no retry is granted from it. Remove it to begin \
                       with a fresh budget";
        let damaged = || damaged.to_owned();
        let Some(bytes) = host_file::read(file).map_err(|()| damaged())? else {
            return Ok(Budget::new(self.plan));
        };
        let record: BudgetRecord = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
        if record.stagger_budget != VERSION {
            let found = record.stagger_budget;
            return Err(format!(
                "written by version {found} of the format; this one knows {VERSION}"
            ));
        }
        if record.check != check(&record.plan, &record.state) {
            return Err(damaged());
        }
        if record.plan != self.plan {
            let (held, asked) = (text(&record.plan), text(&self.plan));
            return Err(format!("holds the budget {held}; the policy's is {asked}"));
        }
        let words = record.state.try_into().map_err(|_| damaged())?;
        Budget::restore(self.plan, &SavedBudget::from_words(words)).map_err(|_| damaged())
    }
}

/// The record of a budget, filled up with blanks.
fn record(budget: &Budget) -> Result<Vec<u8>, String> {
    let (plan, state) = (*budget.plan(), budget.save().words().to_vec());
    let check = check(&plan, &state);
    let record = BudgetRecord { stagger_budget: VERSION, plan, state, check };
    serde_json::to_vec(&record).map(padded).map_err(|error| error.to_string())
}

fn text(plan: &BudgetPlan) -> String {
    serde_json::to_string(plan).unwrap_or_default()
}

/// Of the text of the plan and the words.
fn check(plan: &BudgetPlan, state: &[u64]) -> u64 {
    let words = state.iter().flat_map(|word| word.to_le_bytes());
    host_file::check(text(plan).into_bytes().into_iter().chain(words))
}

/// A ledger whose budget may be a file. Breakers and limits are kept for this process only.
#[derive(Debug)]
pub(crate) struct HostLedger {
    shared: Option<BudgetFile>,
    local: LocalLedger,
    refused: AtomicBool,
}

impl HostLedger {
    pub(crate) fn new(policy: &Policy, shared: Option<BudgetFile>) -> Self {
        Self { shared, local: LocalLedger::new(policy), refused: AtomicBool::new(false) }
    }

    /// Whether the budget has refused a retry, which ends the call.
    pub(crate) fn has_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// Why the file could not be asked, if it could not.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.shared.as_ref().and_then(BudgetFile::trouble)
    }
}

impl Ledger for &HostLedger {
    fn on_first(&mut self, now: Instant) {
        match &self.shared {
            Some(file) => file.on_first(),
            None => (&self.local).on_first(now),
        }
    }

    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        let paid = match &self.shared {
            Some(file) => file.ask(charge),
            None => (&self.local).ask(now, charge),
        };
        self.refused.store(paid.is_none(), Ordering::Relaxed);
        paid
    }

    fn refund(&mut self, now: Instant, paid: Paid) {
        match &self.shared {
            Some(file) if paid != Paid::FREE => file.refund(paid),
            Some(_) => {}
            None => (&self.local).refund(now, paid),
        }
    }

    fn on_settled(&mut self, now: Instant, settled: Settled) {
        match &self.shared {
            Some(file) => file.on_settled(settled),
            None => (&self.local).on_settled(now, settled),
        }
    }

    fn admit(&mut self, now: Instant) -> Admission {
        (&self.local).admit(now)
    }

    fn pace(&mut self, now: Instant) -> Pacing {
        (&self.local).pace(now)
    }

    fn on_paced(&mut self, now: Instant, report: AdaptiveReport) {
        (&self.local).on_paced(now, report);
    }

    fn enter(&mut self, now: Instant, permit: &mut LimitPermit, longest: Span) -> Entrance {
        (&self.local).enter(now, permit, longest)
    }

    fn leave(&mut self, now: Instant, permit: LimitPermit) {
        (&self.local).leave(now, permit);
    }

    fn watch(&mut self, permit: &LimitPermit, waker: &Waker) -> bool {
        (&self.local).watch(permit, waker)
    }

    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, entropy: &mut dyn Entropy) {
        (&self.local).report(now, ticket, report, entropy);
    }
}
