//! The trust that the answers of a replay deserve: the self-check, and what stands against a verdict.

use stagger_core::{ConfigError, Ratio, Span};
use stagger_sim::{CallerLayer, EntryReport, Law, Schedule};

use crate::excerpt::Excerpt;
use crate::fault_length::{FaultLength, play, ratio, success};
use crate::open_calls::RetryEvidence;
use crate::outage::OutageKind;
use crate::separation::is_fault;

/// Shares of success without retries that differ by more are no answer.
const APART: f64 = 0.05;
/// The model reproduces a log whose success it meets within this,
const SUCCESS_OFF: f64 = 0.05;
/// and whose attempts a call within this part.
const ATTEMPTS_OFF: f64 = 0.2;
/// A guess that is wrong as often as this by chance says nothing about retries.
const TOO_MANY_BY_CHANCE: Ratio = Ratio::from_percent(20);
/// Trouble that outlasts a stated fault by this part of it came of something else.
const OUTLASTS: Ratio = Ratio::from_percent(20);
/// The delay of retries whose own delays are below the grain of the stamps.
const UNKNOWN_DELAY: Span = Span::from_millis(500);
/// Buckets a second.
const PER_SECOND: f64 = 20.0;

/// The judgement of a replay on its own answers.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayVerdict {
    /// The reason why no verdict is possible; `None` where the figures answer.
    pub none_because: Option<String>,
    /// The share of calls served without retries: least and most, over the faults that explain the log.
    pub no_retry_success: (f64, f64),
    /// The observed behaviour in the model, beside the log.
    pub self_check: SelfCheck,
}

/// The figures of the observed callers, played by the lab against the same fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelfCheck {
    /// The share of calls served in the model, and in the log.
    pub success: (f64, f64),
    /// Attempts a call.
    pub attempts: (f64, f64),
    /// Attempts a second in the fullest 50 ms from the end of the last fault on.
    pub peak: (f64, f64),
}

impl SelfCheck {
    /// Whether the model reproduces success within 0.05 and attempts a call within a fifth.
    #[must_use]
    pub fn is_met(&self) -> bool {
        let (model, log) = self.attempts;
        (self.success.0 - self.success.1).abs() <= SUCCESS_OFF
            && (model - log).abs() <= ATTEMPTS_OFF * log
    }
}

/// The verdict, and the part of each outage that is played as its fault.
pub(crate) fn judge(
    excerpt: &Excerpt<'_>,
    row: impl Fn(&Excerpt<'_>) -> EntryReport,
) -> Result<(ReplayVerdict, Ratio), ConfigError> {
    let observed = row(excerpt);
    let callers = observed_callers(excerpt)?;
    let never = Law::NoRetry.caller(&Schedule::default())?;
    let is_stated = excerpt.outages().any(|outage| outage.stated);
    let is_fitted = excerpt.capacity.is_some() && !is_stated && !excerpt.log.outages.is_empty();
    let fit = is_fitted.then(|| FaultLength::fit(excerpt, &callers, observed.success));
    let (least, most) = match fit {
        Some(Some(fit)) => (fit.least, fit.most),
        _ => (Ratio::ONE, Ratio::ONE),
    };
    let range = [most, least].map(|fault| success(&excerpt.with_fault(fault), &never));
    let is_apart = range[1] - range[0] > APART;
    // Where faults of all lengths explain the log, the shortest is the one that retries make worst.
    let fault = match fit.flatten() {
        Some(_) if is_apart => least,
        Some(fit) => fit.middle(),
        None => Ratio::ONE,
    };
    let played = excerpt.with_fault(fault);
    let self_check = check(&played, &callers, &row(&played));
    let none_because = data_doubt(excerpt)
        .or_else(|| fitted_doubt(fit, is_apart, range))
        .or_else(|| model_doubt(excerpt, is_stated, self_check))
        .or_else(|| fault_doubt(excerpt, is_fitted));
    let no_retry_success = (range[0], range[1]);
    Ok((ReplayVerdict { none_because, no_retry_success, self_check }, fault))
}

/// Callers that come back as those of the log did.
fn observed_callers(excerpt: &Excerpt<'_>) -> Result<CallerLayer, ConfigError> {
    match &excerpt.log.retries {
        Some(retries) => retries.policy(UNKNOWN_DELAY).map(CallerLayer::new),
        None => Law::NoRetry.caller(&Schedule::default()),
    }
}

fn check(excerpt: &Excerpt<'_>, callers: &CallerLayer, row: &EntryReport) -> SelfCheck {
    let played = play(excerpt, callers);
    #[expect(clippy::cast_precision_loss, reason = "a bucket holds fewer than 2^53 attempts")]
    let peak = played.attempts.peak as f64 * PER_SECOND;
    SelfCheck {
        success: (ratio(played.succeeded, played.calls), row.success),
        attempts: (ratio(played.attempts.total, played.calls), row.amplification),
        peak: (peak, row.peak.mean),
    }
}

/// The log does not say what would have to be known.
fn data_doubt(excerpt: &Excerpt<'_>) -> Option<String> {
    let log = excerpt.log;
    let silent = |kind| kind == OutageKind::Silent;
    if !log.outages.is_empty() && excerpt.outages().all(|outage| silent(outage.kind)) {
        return Some(
            "nothing was logged in the outage, so the calls of that time are unknown".into(),
        );
    }
    let chance = log.chance_match.filter(|rate| *rate > TOO_MANY_BY_CHANCE)?;
    let has_retries = log.retries.is_some() && excerpt.outages().any(|it| it.has_failures());
    (is_guessed(&log.evidence) && has_retries).then(|| {
        let rate = stagger_text::percent(chance.as_f64());
        format!(
            "retries were guessed, and in healthy time {rate} of served requests are followed by the \
             same client's same request within a minute without being retried; --retries none takes \
             every attempt for a first one"
        )
    })
}

pub(crate) const fn is_guessed(evidence: &RetryEvidence) -> bool {
    let RetryEvidence { number, id, guess, nothing, .. } = *evidence;
    guess >= number && guess >= id && guess >= nothing && guess > 0
}

/// Faults of very different lengths explain the log, or none does.
fn fitted_doubt(
    fit: Option<Option<FaultLength>>,
    is_apart: bool,
    range: [f64; 2],
) -> Option<String> {
    let [least, most] = range.map(stagger_text::percent);
    match fit? {
        None => Some(
            "no part of the outage as a fault makes the observed callers fare in the model as they did \
             in the log; the capacity may be wrong, or the fault of another kind"
                .into(),
        ),
        Some(_) if is_apart => Some(format!(
            "the observed retries keep the backend down after faults of very different lengths, with which \
             from {least} to {most} of calls would have been served without retries; state the fault \
             by --outage"
        )),
        Some(_) => None,
    }
}

/// The model with what was stated does not show what the log does.
fn model_doubt(excerpt: &Excerpt<'_>, is_stated: bool, check: SelfCheck) -> Option<String> {
    if excerpt.capacity.is_some() {
        let is_off = !excerpt.log.outages.is_empty() && !check.is_met();
        return is_off.then(|| {
            "the observed callers fare otherwise in the model than in the log (see the self-check), so the \
             model is not this backend"
                .into()
        });
    }
    let end = excerpt.outages().map(|outage| outage.until).max()?;
    let allowed = excerpt.outages().map(|outage| OUTLASTS.of_span(outage.length())).max()?;
    let lasted =
        excerpt.log.trouble.iter().filter(|it| it.has_failures()).map(|it| it.until).max()?;
    (is_stated && lasted > end + allowed.max(excerpt.log.bucket)).then(|| {
        format!(
            "failures went on for {} after the stated fault, and without --capacity the model has no \
             queue and no overload that could explain them",
            lasted - end
        )
    })
}

/// Fault and amplification coincide, and nothing separates them.
fn fault_doubt(excerpt: &Excerpt<'_>, is_fitted: bool) -> Option<String> {
    let unclear = excerpt.outages().find(|outage| !is_fault(excerpt.log, outage))?;
    (!is_fitted).then(|| {
        format!(
            "in the outage of {} retries came on top of the calls, and the log does not tell failures of \
             the backend from those that the retries caused; state the fault by --outage, and --capacity",
            excerpt.log.wall(unclear.from)
        )
    })
}
