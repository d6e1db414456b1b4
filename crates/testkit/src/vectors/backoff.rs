//! Delay tables of other projects, and measured distributions of jitter laws.

use serde::Deserialize;
use stagger_core::{Backoff, Jitter, Span};

use super::Suite;
use crate::entropy::Mix;

const TABLES: &str = include_str!("../../../../vectors/backoff/tables.json");

/// The runs, the retry and the cap in units of the base of the distributions in the file.
const RUNS: u32 = 200_000;
const RETRY: u32 = 12;
const CAP: u64 = 60;
/// The largest distance of two such measurements: five deviations of a share near one third.
const TOLERANCE: f64 = 0.005;

/// Runs the vectors of this file.
pub(super) fn run() -> Vec<Suite> {
    let file: BackoffFile = serde_json::from_str(TABLES).expect("the file is as it was copied");
    let mut suite = Suite::new("backoff/tables.json");
    for case in &file.cases {
        match case {
            BackoffCase::Distributions { name, rows } => {
                rows.iter().for_each(|row| distribution(&mut suite, name, row));
            }
            BackoffCase::Medians { name, median } => {
                for k in 1..=median.len() {
                    let why = "no such law here: its longest delays pass every ceiling by a third";
                    suite.leave_out(format!("{name}, retry {k}"), why);
                }
            }
            BackoffCase::Millis { name, base_ms, cap_ms, uppers } => {
                let rule = rule(Span::from_millis(*base_ms), Span::from_millis(*cap_ms), None);
                let want = uppers.iter().map(|ms| Span::from_millis(*ms));
                ceilings(&mut suite, name, &rule, want);
            }
            BackoffCase::Seconds { name, base, cap, multiplier, delays } => {
                let rule = rule(span(*base), span(*cap), *multiplier);
                ceilings(&mut suite, name, &rule, delays.iter().map(|delay| span(*delay)));
            }
        }
    }
    vec![suite]
}

#[derive(Deserialize)]
struct BackoffFile {
    cases: Vec<BackoffCase>,
}

/// A table in any of the file's spellings.
#[derive(Deserialize)]
#[serde(untagged)]
enum BackoffCase {
    Distributions {
        name: String,
        rows: Vec<Distribution>,
    },
    Medians {
        name: String,
        median: Vec<f64>,
    },
    Millis {
        name: String,
        base_ms: u64,
        cap_ms: u64,
        #[serde(rename = "retry_1_based_exclusive_upper_ms")]
        uppers: Vec<u64>,
    },
    Seconds {
        name: String,
        #[serde(alias = "initial")]
        base: f64,
        #[serde(alias = "max")]
        cap: f64,
        multiplier: Option<f64>,
        #[serde(rename = "retry_1_based", alias = "attempt_1_based")]
        delays: Vec<f64>,
    },
}

#[derive(Deserialize)]
struct Distribution {
    formula: String,
    mass_at_cap: f64,
    mean_over_cap: f64,
}

impl Distribution {
    fn law(&self) -> Option<Jitter> {
        match &*self.formula {
            "min(cap,U(base,3*prev))" => Some(Jitter::DecorrelatedClamped),
            "U(base,min(cap,3*prev))" => Some(Jitter::Decorrelated),
            "full jitter" => Some(Jitter::Full),
            _ => None,
        }
    }
}

fn rule(base: Span, cap: Span, multiplier: Option<f64>) -> Backoff {
    let rule = Backoff::exponential(base, cap).expect("the file's settings are valid");
    rule.with_factor(multiplier.unwrap_or(2.0)).expect("the file's factor is valid")
}

/// The tables fix the random factor, so they are our ceilings. An upper bound that a draw of whole
/// milliseconds excludes is the supremum of those draws, which ours includes.
fn ceilings(suite: &mut Suite, name: &str, rule: &Backoff, want: impl Iterator<Item = Span>) {
    for (k, want) in (1..).zip(want) {
        suite.check(format!("{name}, retry {k}"), &rule.ceiling(k), &want);
    }
}

fn distribution(suite: &mut Suite, name: &str, row: &Distribution) {
    let name = format!("{name}: {}", row.formula);
    let Some(law) = row.law() else {
        return suite.leave_out(name, "no such law here: nearly all its delays end at the cap");
    };
    let (mass, mean) = measure(law);
    let near = |got: f64, want: f64| if (got - want).abs() < TOLERANCE { want } else { got };
    let got = (near(mass, row.mass_at_cap), near(mean, row.mean_over_cap));
    suite.check(name, &got, &(row.mass_at_cap, row.mean_over_cap));
}

/// The share of delays exactly at the cap, and the mean delay as a share of the cap.
fn measure(law: Jitter) -> (f64, f64) {
    let cap = Span::from_secs(CAP);
    let rule = rule(Span::from_secs(1), cap, None).with_jitter(law).expect("a law without ratio");
    let mut entropy = Mix::new(12);
    let (mut at_cap, mut sum) = (0_u32, 0.0);
    for _ in 0..RUNS {
        let last = (1..=RETRY).fold(rule.base(), |prev, k| rule.delay(k, prev, &mut entropy));
        at_cap += u32::from(last == cap);
        sum += last.as_secs_f64();
    }
    (f64::from(at_cap) / f64::from(RUNS), sum / f64::from(RUNS) / cap.as_secs_f64())
}

/// Whole nanoseconds, rounded down as the engine does where a table has more digits.
fn span(seconds: f64) -> Span {
    // OK because the tables end below a minute, and a thousandth of a nanosecond only mends what
    // the decimal lost on its way into a float.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked by the tables' size"
    )]
    let nanos = seconds.mul_add(1e9, 1e-3) as u64;
    Span::from_nanos(nanos)
}
