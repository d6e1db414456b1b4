//! Verdicts by the names under which they are kept.

use stagger::Verdict;

use super::unreadable::Unreadable;

const VERDICTS: [Verdict; 6] = [
    Verdict::Ok,
    Verdict::Transient,
    Verdict::Throttled,
    Verdict::Unprocessed,
    Verdict::Permanent,
    Verdict::Cancelled,
];

/// The verdict of this name.
pub(super) fn verdict(name: &str) -> Result<Verdict, Unreadable> {
    let known = VERDICTS.into_iter().find(|known| known.name() == name);
    known.ok_or_else(|| Unreadable::unknown("verdict", name))
}
