//! The fleet in words.

use stagger_core::Span;
use stagger_explain::FleetBudget;

use super::account::Account;
use super::glued::{BLANK, brief};

/// The fleet's load in a total outage, against the capacity of the destination.
pub(super) fn fleet(account: &Account, fleet: &FleetBudget) -> String {
    let processes = account.setting.fleet.unwrap_or(1);
    let mut said = format!(
        "{processes} processes make {} first attempts a second; in a total outage their budgets let \
         {} retries a second through",
        count(fleet.firsts_per_s),
        count(fleet.retries_per_s)
    );
    said += &match fleet.burst.is_finite() {
        true => format!(", and {} at once when it begins.", count(fleet.burst)),
        false => ", and as many at once as there are calls when it begins.".to_owned(),
    };
    match fleet.capacity_per_s {
        Some(capacity) => said + " " + &against(fleet, capacity),
        None => said,
    }
}

fn against(fleet: &FleetBudget, capacity: f64) -> String {
    let all = fleet.firsts_per_s + fleet.retries_per_s;
    let served = format!("The destination serves {} a second", count(capacity));
    if fleet.firsts_per_s >= capacity {
        return format!("{served}: the first attempts alone are more than that.");
    }
    if all > capacity {
        return format!(
            "{served}, and gets {}: its queue grows for as long as the failures last.",
            count(all)
        );
    }
    let spare = capacity - fleet.firsts_per_s;
    match fleet.burst.is_finite() {
        true => format!(
            "{served}, and gets {} at most: the first burst is worked off in {}.",
            count(all),
            brief(seconds(fleet.burst / spare))
        ),
        false => format!("{served}, and gets {} at most.", count(all)),
    }
}

fn count(value: f64) -> String {
    match value {
        value if !value.is_finite() => "any number of".to_owned(),
        value => stagger_text::number(value, BLANK),
    }
}

fn seconds(seconds: f64) -> Span {
    // OK because a float is cut to the bounds of the integer.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let nanos = (seconds * 1e9) as u64;
    Span::from_nanos(nanos)
}
