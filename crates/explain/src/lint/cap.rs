//! `mass-at-cap`: a herd that waits for exactly the cap.

use stagger_core::{Jitter, Policy};

use super::delays::retrying;
use super::figure::percent;
use crate::cap_share::cap_share;
use crate::{Code, PolicyFinding, Setting};

/// More on one point than this, and the point is a herd.
const MOST: f64 = 0.1;
/// A law without any spread is `no-jitter`'s, and no other one has a share there.
pub(super) fn lint(policy: &Policy, _: &Setting, found: &mut Vec<PolicyFinding>) {
    if !retrying(policy) || policy.backoff().jitter() != Jitter::DecorrelatedClamped {
        return;
    }
    let share = cap_share(policy);
    if share.of_all <= MOST {
        return;
    }
    found.push(PolicyFinding::warning(
        Code::MassAtCap,
        "backoff.cap",
        format!(
            "{} of the delays of a call that goes on failing are exactly {}, and {} of those before \
             its last attempt",
            percent(share.of_all),
            policy.backoff().cap(),
            percent(share.of_last)
        ),
        "jitter = \"decorrelated\" or \"full\", or a higher cap",
    ));
}
