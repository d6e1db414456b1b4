//! Opinions about one outcome and the rule by which they merge.

use crate::outcome::{Cause, Outcome, Verdict};

/// The source of an opinion, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Authority {
    /// A built-in table: HTTP statuses, gRPC codes.
    Default,
    /// The transport: connect failed, stream refused, reset.
    Transport,
    /// A rule for one provider, such as a code in the body that tells an empty account from a limit.
    Provider,
    /// The caller's explicit word.
    Caller,
}

/// One source's opinion of an attempt's outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opinion {
    authority: Authority,
    verdict: Verdict,
    facts: Option<Outcome>,
}

impl Opinion {
    /// A full account: verdict, cause, hint, remedy and whether the request can be sent again.
    #[must_use]
    pub const fn new(authority: Authority, outcome: Outcome) -> Self {
        Self { authority, verdict: outcome.verdict, facts: Some(outcome) }
    }

    /// A verdict only; cause and hint are left to whoever saw them.
    #[must_use]
    pub const fn verdict(authority: Authority, verdict: Verdict) -> Self {
        Self { authority, verdict, facts: None }
    }
}

/// Merges opinions: the strongest authority decides, and of equals the first.
///
/// The verdict and the remedy are the strongest's. The cause and the hint come from the strongest
/// who knows one, so a caller's word does not lose a Retry-After. A request that anybody cannot
/// replay is not replayable. A cancelled attempt stays cancelled whatever anybody says, and an
/// error of which nobody has an opinion is permanent.
///
/// ```
/// use stagger_core::classify::{Authority, Opinion, merge};
/// use stagger_core::{Hint, Outcome, Span, Verdict};
/// let hint = Hint::AtLeast(Span::from_secs(3));
/// let table = Outcome::new(Verdict::Throttled).with_hint(hint);
/// let merged = merge(&[
///     Opinion::new(Authority::Default, table),
///     Opinion::verdict(Authority::Provider, Verdict::Permanent),
/// ]);
/// assert_eq!((merged.verdict, merged.hint), (Verdict::Permanent, Some(hint)));
/// assert_eq!(merge(&[]).verdict, Verdict::Permanent);
/// ```
#[must_use]
pub fn merge(opinions: &[Opinion]) -> Outcome {
    let Some(strongest) = strongest(opinions, |_| true) else {
        return Outcome::new(Verdict::Permanent).with_cause(Cause::Transport);
    };
    let seen = strongest_facts(opinions, |_| true);
    let mut merged = seen.unwrap_or(Outcome::new(strongest.verdict));
    merged.verdict = strongest.verdict;
    merged.remedy = strongest.facts.and_then(|facts| facts.remedy);
    merged.server_fault = opinions.iter().any(|o| o.facts.is_some_and(|facts| facts.server_fault));
    merged.hint = strongest_facts(opinions, |facts| facts.hint.is_some()).and_then(|f| f.hint);
    merged.replayable = opinions.iter().all(|o| o.facts.is_none_or(|facts| facts.replayable));
    if opinions.iter().any(|opinion| opinion.verdict == Verdict::Cancelled) {
        merged.verdict = Verdict::Cancelled;
        merged.remedy = None;
    }
    merged
}

/// The first of the strongest opinions that `counts`.
fn strongest(opinions: &[Opinion], counts: impl Fn(&Opinion) -> bool) -> Option<&Opinion> {
    opinions.iter().filter(|opinion| counts(opinion)).fold(None, |best: Option<&Opinion>, next| {
        match best {
            Some(best) if best.authority >= next.authority => Some(best),
            _ => Some(next),
        }
    })
}

/// The facts of the strongest opinion whose facts `count`.
fn strongest_facts(opinions: &[Opinion], count: impl Fn(&Outcome) -> bool) -> Option<Outcome> {
    strongest(opinions, |opinion| opinion.facts.as_ref().is_some_and(&count))
        .and_then(|opinion| opinion.facts)
}
