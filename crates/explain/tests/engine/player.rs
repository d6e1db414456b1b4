//! Calls that fail at once, each attempt, played by the engine.

use stagger_core::budget::BudgetPlan;
use stagger_core::retry::{Action, Call, PlainLedger, Session, Wait};
use stagger_core::{Entropy, Instant, Outcome, Policy, Span, Verdict};

/// What was seen of many calls.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The delays before retry k, at k - 1.
    pub(crate) delays: Vec<Vec<Span>>,
    /// The starts of attempt n, at n - 1.
    pub(crate) starts: Vec<Vec<Span>>,
    /// The starts of the last attempts.
    pub(crate) lasts: Vec<Span>,
    pub(crate) attempts: u64,
}

/// Plays so many calls; nothing refuses their retries.
pub(crate) fn play(policy: &Policy, calls: u32, entropy: &mut impl Entropy) -> Seen {
    let free =
        policy.to_builder().budget(BudgetPlan::Unlimited).build().expect("as valid as before");
    let mut seen = Seen::default();
    for _ in 0..calls {
        one(&free, &mut seen, entropy);
    }
    seen
}

fn one(policy: &Policy, seen: &mut Seen, entropy: &mut impl Entropy) {
    let (mut ledger, mut now) = (PlainLedger::new(policy), Instant::ORIGIN);
    let (mut call, mut act) = Session::start(policy, &mut ledger, Call::idempotent(), now);
    let (mut last, mut made) = (Span::ZERO, 0);
    loop {
        act = match act {
            Action::Attempt(launched) => {
                last = now.since(Instant::ORIGIN);
                put(&mut seen.starts, made, last);
                made += 1;
                let failed = Outcome::new(Verdict::Transient);
                call.on_outcome(&mut ledger, now, launched, &failed, entropy)
            }
            Action::Wait(Wait::Until(at)) => {
                put(&mut seen.delays, made - 1, at.since(now));
                now = at;
                call.on_wake(&mut ledger, now)
            }
            Action::Done(_) => break,
            Action::Hedge(_) | Action::Wait(Wait::Copies { .. }) => {
                unreachable!("nothing hedges here")
            }
        };
    }
    seen.lasts.push(last);
    seen.attempts += made as u64;
}

fn put(lists: &mut Vec<Vec<Span>>, index: usize, span: Span) {
    if lists.len() <= index {
        lists.resize(index + 1, Vec::new());
    }
    lists[index].push(span);
}
