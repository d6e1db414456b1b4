//! What the engine costs. `cargo xtask bench core` runs this and prints one table.
//!
//! To add an operation, add one line to `rows`.

use std::hint::black_box;

use stagger_core::{Entropy, Span};

mod allocations;
mod ledger;

use ledger::Ledger;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

fn main() {
    let mut ledger = Ledger::new();
    rows(&mut ledger);
    ledger.close();
}

fn rows(ledger: &mut Ledger) {
    let ceiling = Span::from_millis(800);
    let mut rng = fastrand::Rng::with_seed(1);
    let mut words = || rng.u64(..);
    ledger.time("draw", || words.draw(Span::ZERO, black_box(ceiling)));

    let mut peer = fastrand::Rng::with_seed(1);
    ledger.time("reference fastrand full jitter", || peer.u64(0..=black_box(ceiling).as_nanos()));

    ledger.size("size of Span", size_of::<Span>());
}
