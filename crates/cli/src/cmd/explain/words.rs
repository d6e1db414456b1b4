//! Each figure in a sentence.

use stagger_core::adaptive::AdaptivePlan;
use stagger_core::budget::BudgetPlan;
use stagger_core::{LongHint, Span};
use stagger_explain::{Explanation, Extent, Method};

use super::account::{Account, brief, grouped, percent};
use super::budget::{budget, fleet};

/// The sentences, each under its heading.
pub(super) fn words(account: &Account) -> Vec<(&'static str, String)> {
    let figures = &account.figures;
    let said = [
        ("time line", Some(timeline(figures))),
        ("worst case", Some(worst_case(account))),
        ("SLO", slo(account)),
        ("outage", Some(outage(account))),
        ("load", Some(load(account))),
        ("layers", layers(account)),
        ("fleet", figures.fleet.map(|it| fleet(account, &it))),
        ("cap", Some(cap(figures))),
        ("hints", hints(account)),
        ("breaker", breaker(account)),
        ("hedging", hedging(account)),
        ("adaptive", adaptive(account)),
        ("concurrency", concurrency(account)),
        ("rate", rate(account)),
        ("calls", idempotent(account)),
    ];
    said.into_iter().filter_map(|(heading, text)| Some((heading, text?))).collect()
}

/// The method behind a figure, in words.
fn by(method: Method) -> String {
    match method {
        Method::Exact => "by arithmetic".to_owned(),
        Method::Sample { calls } => {
            format!("from {} calls under a fixed seed", grouped(f64::from(calls)))
        }
    }
}

fn timeline(figures: &Explanation) -> String {
    let rows = figures.attempts.len();
    let end = match figures.extent {
        Extent::Attempts if rows == 1 => "There is one attempt and no retry.".to_owned(),
        Extent::Attempts => format!("There are {rows} attempts at most."),
        Extent::Deadline => {
            format!("The deadline ends it: not one call in a thousand comes beyond attempt {rows}.")
        }
        Extent::Budget => format!(
            "The budget ends it: it refuses attempt {} to a call even when no other call fails.",
            rows + 1
        ),
        Extent::Rows => format!("The first {rows} attempts are shown; there may be more."),
    };
    let how = by(figures.method);
    format!("{end} Delays are {how}; starts are those of calls whose attempts fail at once.")
}

fn worst_case(account: &Account) -> String {
    let figures = &account.figures;
    let limits = account.policy.limits();
    let waits = brief(figures.worst_waits);
    let Some(worst) = figures.worst_case else {
        let why = match limits.attempt_timeout() {
            Some(_) if account.policy.adaptive() == Some(&AdaptivePlan::Cubic) => {
                "a call that waits for its turn under CUBIC has no deadline"
            }
            Some(_) => "a call that waits for its breaker has no deadline",
            None => "neither an attempt nor the call has a time limit",
        };
        return format!("Nothing bounds a call: {why}. Its delays add up to {waits} at most.");
    };
    let why = match (limits.deadline(), limits.max_attempts(), limits.attempt_timeout()) {
        (Some(deadline), ..) if deadline == worst => "its deadline".to_owned(),
        (_, Some(n), Some(each)) => {
            format!("{n} attempts of {} and delays of {waits} in all", brief(each))
        }
        _ => "its deadline".to_owned(),
    };
    format!("A call takes {} at most: {why}.", brief(worst))
}

fn slo(account: &Account) -> Option<String> {
    let (slo, check) = (account.setting.slo?, account.figures.slo?);
    let limit = brief(check.limit);
    let verdict = match (check.ok, account.figures.worst_case) {
        (true, _) => "the worst case stays within".to_owned(),
        (false, Some(worst)) => format!("the worst case of {} is more", brief(worst)),
        (false, None) => "the worst case has no bound".to_owned(),
    };
    let hinted = match account.figures.worst_case_hinted {
        Some(hinted) if !check.hinted_ok && Some(hinted) != account.figures.worst_case => {
            format!("; with the longest hints a call takes {}, above the SLO", brief(hinted))
        }
        _ => String::new(),
    };
    Some(format!("Of an SLO of {} a third is for retries, {limit}: {verdict}{hinted}.", brief(slo)))
}

fn outage(account: &Account) -> String {
    let out = account.figures.rides_out;
    if out.p50.is_zero() {
        return "A call rides out no outage: it does not wait.".to_owned();
    }
    format!(
        "Half of the calls that begin with an outage ride out {}, 95 of 100 ride out {}, if \
         attempts fail at once and the budget grants their retries ({}).",
        brief(out.p50),
        brief(out.p5),
        by(out.method)
    )
}

fn load(account: &Account) -> String {
    let plan = account.policy.budget();
    let by_rate = matches!(plan, BudgetPlan::Window(_) | BudgetPlan::Interval(_));
    let rate = match account.setting.rps {
        None if by_rate => " The figures are those of much traffic; --rps says how much there is.",
        _ => "",
    };
    let sampled = account.figures.load.iter().find(|factor| factor.method != Method::Exact);
    let how = sampled
        .map_or_else(String::new, |factor| format!(" With it, figures are {}.", by(factor.method)));
    format!("{}{rate}{how}", budget(plan))
}

fn layers(account: &Account) -> Option<String> {
    let (unguarded, guarded) = account.figures.amplification?;
    let layers = account.setting.layers?;
    Some(format!(
        "Through {layers} layers that all retry, one call becomes {unguarded} attempts at the lowest \
         when all fail; {guarded} under the nested guard."
    ))
}

fn cap(figures: &Explanation) -> String {
    let share = figures.cap_share;
    if share.of_all < 1e-4 {
        return "No delay is likely to sit exactly on the cap.".to_owned();
    }
    format!(
        "{} of the delays sit exactly on the cap, and {} of the last ones.",
        percent(share.of_all),
        percent(share.of_last)
    )
}

fn hints(account: &Account) -> Option<String> {
    let rule = account.policy.hints();
    if account.figures.attempts.len() < 2 {
        return None;
    }
    let how = match rule.long() {
        LongHint::OwnDelayPlus(more) => {
            format!("A server may lengthen each delay by {} at most", brief(more))
        }
        LongHint::Shorten => {
            format!("A server may ask for {}, and longer hints are cut to that", brief(rule.max()))
        }
        _ => format!("A server may ask for {}, and longer hints end the call", brief(rule.max())),
    };
    let hinted =
        account.figures.worst_case_hinted.filter(|&it| Some(it) != account.figures.worst_case);
    let worst = hinted.map_or_else(String::new, |worst| {
        format!("; with the longest before each retry a call takes {}", brief(worst))
    });
    let scope = if rule.is_shared() { "; it holds all calls to the destination" } else { "" };
    Some(format!("{how}{worst}{scope}."))
}

fn breaker(account: &Account) -> Option<String> {
    account.policy.breaker()?;
    let then = match account.policy.waits_for_breaker() {
        true => "calls wait for it as far as their deadline allows",
        false => "calls end at once, so an outage is ridden out by fewer of them",
    };
    Some(format!("The figures are those of a closed breaker; while it is open, {then}."))
}

fn hedging(account: &Account) -> Option<String> {
    let plan = account.policy.hedge()?;
    Some(format!(
        "A call that has no answer after {} gets further copies, {} in all; they count as attempts, \
         and come on top of the load shown.",
        brief(plan.delay(None)),
        plan.copies()
    ))
}

/// The limit that covers first attempts too, and the load that it lets through in a total outage.
fn adaptive(account: &Account) -> Option<String> {
    Some(match account.policy.adaptive()? {
        AdaptivePlan::Throttle(plan) => {
            let window = brief(plan.window());
            format!(
                "Client-side throttling refuses attempts, first ones too, while requests are more than {} \
                 times those accepted in the last {window}: in a total outage about one attempt in \
                 {window} is made. The figures are those of a throttle that refuses none.",
                plan.multiplier().as_f64()
            )
        }
        AdaptivePlan::Cubic => {
            "After a throttled reply CUBIC has attempts, first ones too, wait in turn: \
             at 70 % of the rate before and never below one in 2s, then faster until the next \
             throttled reply. The waits come on top of the delays shown."
                .to_owned()
        }
    })
}

/// The places of a process, and what an attempt does that finds none.
fn concurrency(account: &Account) -> Option<String> {
    let plan = account.policy.concurrency_limit()?;
    let most = plan.max_concurrent();
    let full = match plan.max_queued() {
        0 => "An attempt that finds no place ends its call.".to_owned(),
        queued => format!(
            "Up to {queued} attempts wait for a place, each for {} at most, and then end their calls.",
            brief(plan.max_wait())
        ),
    };
    let rate = account.policy.limits().attempt_timeout().map(|each| {
        let least = f64::from(most) / each.as_secs_f64();
        format!(
            " Attempts that all take their {} leave {} a second.",
            brief(each),
            stagger_text::rough_count(least)
        )
    });
    let rate = rate.unwrap_or_default();
    Some(format!(
        "At most {most} attempts are in flight from one process; calls that wait for their next attempt \
         hold no place. {full}{rate}"
    ))
}

/// The starts of a process, and what an attempt does that is given none.
fn rate(account: &Account) -> Option<String> {
    let plan = account.policy.rate_limit()?;
    let wait = match plan.max_wait() {
        wait if wait.is_zero() => "without a wait".to_owned(),
        wait => format!("within {}", brief(wait)),
    };
    Some(format!(
        "At most {} attempts start, first ones and retries alike, and {} at once after a quiet time. One \
         that cannot start {wait} ends its call.",
        plan.rate(),
        plan.burst()
    ))
}

fn idempotent(account: &Account) -> Option<String> {
    (account.setting.idempotent == Some(false)).then(|| {
        "Calls that must not be repeated are retried only where the server cannot have acted on \
         them; the figures are those of such failures."
            .to_owned()
    })
}

/// A span that may be nothing.
pub(super) fn shown(span: Span) -> String {
    if span.is_zero() { "0".to_owned() } else { stagger_text::brief(span) }
}
