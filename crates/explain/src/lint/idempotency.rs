//! `not-idempotent`: calls that may not be repeated are repeated.

use stagger_core::Policy;

use super::delays::retrying;
use crate::{Code, PolicyFinding, Setting};

pub(super) fn lint(policy: &Policy, setting: &Setting, found: &mut Vec<PolicyFinding>) {
    if setting.idempotent != Some(false) || !retrying(policy) {
        return;
    }
    let often = policy.limits().max_attempts().map_or_else(
        || "any number of times".to_owned(),
        |attempts| {
            if attempts == 2 { "twice".to_owned() } else { format!("up to {attempts} times") }
        },
    );
    let (key, how) = match policy.hedge() {
        Some(_) => ("hedge.copies", "sent again while the first is under way"),
        None => ("limits.max_attempts", "sent again after a failure that may have been a success"),
    };
    found.push(PolicyFinding::error(
        Code::NotIdempotent,
        key,
        format!("the calls may not be repeated, and are {how}: one may act {often}"),
        "max_attempts = 1, or give the calls an idempotency key",
    ));
}
