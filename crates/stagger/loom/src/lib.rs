//! The shipped files of the ledgers, compiled against loom's atomics and locks.
#![cfg(test)]
#![expect(dead_code, reason = "not everything that ships is a matter of order")]

#[path = "../../src/ledger/atomic_budgets.rs"]
mod atomic_budgets;
#[path = "../../src/ledger/breaker.rs"]
mod breaker;
#[path = "../../src/ledger/interval_budget.rs"]
mod interval_budget;
#[path = "../../../redis/src/budget/permits.rs"]
mod permits;
#[path = "../../src/ledger/result_window.rs"]
mod result_window;
#[path = "../../src/ledger/striped_counter.rs"]
mod striped_counter;
#[path = "../../src/ledger/window_budget.rs"]
mod window_budget;

mod breakers;
mod budgets;
mod leases;
mod sync;
