//! The policy as a function that builds it, each setting below its reasons.

use std::fmt::Write;

use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::{BudgetPlan, WindowPlan};
use stagger_core::{Backoff, Envelope, Jitter, LongHint, Policy, Rate, Ratio, Span};
use stagger_explain::Choice;

use super::answers::GivenAnswers;
use crate::render::wrapped;
use crate::streams::USUAL_WIDTH;

/// The modules of the names that the function uses.
const NAMES: [(&str, &[&str]); 3] = [
    ("stagger::breaker", &["BreakerPlan"]),
    ("stagger::budget", &["FloorRate", "IntervalPlan", "WindowPlan"]),
    (
        "stagger",
        &[
            "Backoff",
            "ConfigError",
            "HintRule",
            "Jitter",
            "LongHint",
            "Policy",
            "Rate",
            "Ratio",
            "Span",
        ],
    ),
];

/// Columns of a line of documentation.
const DOCUMENTATION: usize = USUAL_WIDTH - "/// ".len();
/// Columns of a comment above a call of the builder.
const COMMENT: usize = USUAL_WIDTH - "        // ".len();

/// The function. What has no reason is as usual, and left out.
pub(super) fn page(answers: &GivenAnswers, choice: &Choice, policy: &Policy) -> String {
    let function = function(choice, policy);
    let mut page = String::new();
    for (path, names) in NAMES {
        let used =
            |name: &&&str| function.split(|c: char| !c.is_alphanumeric()).any(|w| w == **name);
        let used: Vec<&str> = names.iter().filter(used).copied().collect();
        match used.as_slice() {
            [] => {}
            [name] => drop(writeln!(page, "use {path}::{name};")),
            names => drop(writeln!(page, "use {path}::{{{}}};", names.join(", "))),
        }
    }
    let _ = writeln!(page, "\n/// Chosen by `stagger choose`.\n///");
    let paragraphs: Vec<String> = answers.lines().into_iter().chain(choice.notes.clone()).collect();
    for (number, paragraph) in paragraphs.iter().enumerate() {
        if number > 0 {
            page.push_str("///\n");
        }
        for line in wrapped(paragraph, DOCUMENTATION) {
            let _ = writeln!(page, "/// {line}");
        }
    }
    page.push_str("///\n/// # Errors\n/// None: the settings are constants.\n");
    page + &function
}

fn function(choice: &Choice, policy: &Policy) -> String {
    let limits = policy.limits();
    let mut body = Body { choice, text: String::new() };
    body.set("backoff", || backoff("backoff", policy.backoff()));
    body.set("throttled_backoff", || backoff("throttled_backoff", policy.throttled_backoff()));
    body.set("limits.max_attempts", || {
        let attempts = limits.max_attempts().map(|n| format!(".max_attempts({n})"));
        attempts.unwrap_or_else(|| ".unlimited_attempts()".to_owned())
    });
    let limit = |set: &str, limit: Option<Span>| {
        limit.map_or_else(String::new, |limit| format!(".{set}({})", span(limit)))
    };
    body.set("limits.deadline", || limit("deadline", limits.deadline()));
    body.set("limits.attempt_timeout", || limit("attempt_timeout", limits.attempt_timeout()));
    body.set("hints", || hints(policy));
    body.set("budget", || budget(policy.budget()));
    body.set("breaker", || policy.breaker().map_or_else(String::new, breaker));
    body.set("on_refusal.wait_for_breaker", || {
        format!(".wait_for_breaker({})", policy.waits_for_breaker())
    });
    body.set("on_refusal.pause_when_empty", || {
        format!(".pause_when_empty({})", policy.pauses_when_empty())
    });
    format!(
        "pub fn policy() -> Result<Policy, ConfigError> {{\n    Policy::builder()\n{}        .build()\n}}\n",
        body.text
    )
}

/// The calls of the builder.
struct Body<'c> {
    choice: &'c Choice,
    text: String,
}

impl Body<'_> {
    /// One call below the reasons of all keys that it sets, if there are any.
    fn set(&mut self, table: &str, code: impl FnOnce() -> String) {
        let within = |key: &str| {
            key.strip_prefix(table).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let lines: Vec<_> = self.choice.lines.iter().filter(|line| within(line.key)).collect();
        for line in &lines {
            let reason = format!("{}: {}", line.key, line.reason);
            for part in wrapped(&reason, COMMENT) {
                let _ = writeln!(self.text, "        // {part}");
            }
        }
        if !lines.is_empty() {
            let _ = writeln!(self.text, "        {}", code());
        }
    }
}

fn backoff(set: &str, rule: &Backoff) -> String {
    let (base, cap) = (span(rule.base()), span(rule.cap()));
    let rule_of = match rule.envelope() {
        Envelope::Constant => format!("Backoff::constant({base})"),
        Envelope::Linear => format!("Backoff::linear({base}, {cap})?"),
        _ => format!("Backoff::exponential({base}, {cap})?"),
    };
    let jitter = match rule.jitter() {
        Jitter::Equal => ".with_jitter(Jitter::Equal)?".to_owned(),
        Jitter::Proportional(r) => format!(".with_jitter(Jitter::Proportional({}))?", ratio(r)),
        _ => String::new(),
    };
    format!(".{set}({rule_of}{jitter})")
}

fn hints(policy: &Policy) -> String {
    let rule = policy.hints();
    let long = match rule.long() {
        LongHint::Shorten => "LongHint::Shorten",
        _ => "LongHint::Stop",
    };
    format!(".hints(HintRule::new({}, {}, {long})?)", span(rule.max()), ratio(rule.spread()))
}

fn budget(plan: &BudgetPlan) -> String {
    match plan {
        BudgetPlan::Interval(plan) => {
            format!(".budget(IntervalPlan::new({}, {})?)", plan.retries(), span(plan.interval()))
        }
        BudgetPlan::Window(plan) => {
            let (share, window) = (ratio(plan.ratio()), span(plan.window()));
            let floor = match plan.floor().rate() {
                rate if rate == WindowPlan::default().floor().rate() => String::new(),
                Rate::ZERO => ".with_floor(FloorRate::Add(Rate::ZERO))".to_owned(),
                rate => {
                    format!(".with_floor(FloorRate::Add(Rate::try_from({:?})?))", rate.as_f64())
                }
            };
            let burst = match plan.burst() {
                burst if burst <= WindowPlan::default().burst() => String::new(),
                burst => format!(".with_burst({burst})?"),
            };
            format!(".budget(WindowPlan::new({share})?.with_window({window})?{floor}{burst})")
        }
        _ => String::new(),
    }
}

/// Only what is not as usual; the reasons above speak of the rest too.
fn breaker(plan: &BreakerPlan) -> String {
    let mut calls = String::new();
    if plan.ratio().is_none() {
        calls.push_str(".ratio(None)");
    }
    if let Some(failures) = plan.consecutive() {
        let _ = write!(calls, ".consecutive({failures})");
    }
    if let Some((from, over)) = plan.ramp() {
        let _ = write!(calls, ".ramp({}, {})", ratio(from), span(over));
    }
    format!(".breaker(BreakerPlan::builder(){calls}.build()?)")
}

fn ratio(ratio: Ratio) -> String {
    match ratio.ppm() {
        ppm if ppm % 10_000 == 0 => format!("Ratio::from_percent({})", ppm / 10_000),
        ppm => format!("Ratio::from_ppm({ppm})"),
    }
}

fn span(span: Span) -> String {
    let units = [(1_000_000_000, "secs"), (1_000_000, "millis"), (1_000, "micros"), (1, "nanos")];
    let nanos = span.as_nanos();
    let (unit, name) =
        units.into_iter().find(|(n, _)| nanos.is_multiple_of(*n)).unwrap_or((1, "nanos"));
    format!("Span::from_{name}({})", nanos / unit)
}
