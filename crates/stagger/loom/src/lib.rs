//! The shipped files of the ledgers, compiled against loom's atomics and locks.
#![cfg(test)]
#![expect(dead_code, reason = "not everything that ships is a matter of order")]

#[path = "../../src/ledger/breaker.rs"]
mod breaker;
#[path = "../../src/ledger/interval.rs"]
mod interval;
#[path = "../../src/ledger/lanes.rs"]
mod lanes;
#[path = "../../src/ledger/shared/permits.rs"]
mod permits;
#[path = "../../src/ledger/tally.rs"]
mod tally;
#[path = "../../src/ledger/window.rs"]
mod window;
#[path = "../../src/ledger/word.rs"]
mod word;

mod breakers;
mod budgets;
mod leases;
mod sync;
