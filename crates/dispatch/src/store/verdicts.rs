//! Verdicts by the names under which they are kept.

use stagger::Verdict;

use super::unreadable::Unreadable;

/// The verdict of this name.
pub(super) fn verdict(name: &str) -> Result<Verdict, Unreadable> {
    let known = Verdict::ALL.into_iter().find(|known| known.name() == name);
    known.ok_or_else(|| Unreadable::unknown("verdict", name))
}
