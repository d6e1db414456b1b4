//! A steady load that meets an outage, as the page's sliders have it: a plan for the lab, and the same as a
//! scenario file.

use std::fmt::Write;

use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::{BudgetPlan, WindowPlan};
use stagger_core::{Backoff, ConfigError, Instant, Jitter, Policy, Ratio, Span};
use stagger_sim::{
    ArrivalProcess, Backend, CallerLayer, Fault, FirstTriesRule, Fleet, Law, MeasurementPlan, Play,
    Recovery, RunPlan, Scenario, ScenarioCase, ScenarioEntry, Trouble, Workers,
};

/// The settings of one outage under a steady load; any numbers may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutageKnobs {
    /// The kind of trouble.
    pub trouble: OutageKind,
    /// The length of the trouble, in milliseconds.
    pub lasts_ms: u32,
    /// Calls a second; the server serves 1000.
    pub load: u32,
    /// The law by which callers come back; one of [`OutageKnobs::LAWS`].
    pub law: Law,
    /// The first ceiling, in milliseconds.
    pub base_ms: u32,
    /// Attempts a call may make in all.
    pub attempts: u32,
    /// The time that a caller waits for an answer, in milliseconds.
    pub timeout_ms: u32,
    /// Retries that the budget grants, in per cent of the calls; no budget at 0.
    pub budget_percent: u32,
    /// The first open time of the breaker, in milliseconds; no breaker at 0.
    pub breaker_ms: u32,
    /// Attempts that may wait; without bound at 0.
    pub queue: u32,
    /// The seed of the run.
    pub seed: u32,
}

/// The kinds of trouble on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutageKind {
    /// Calls are accepted, and none is served.
    Stall,
    /// Every call is refused.
    Down,
    /// Work takes four times as long.
    Slow,
    /// Half of the work fails.
    Failing,
}

/// The time before the trouble.
const HEALTHY: Span = Span::from_secs(2);
/// The time after the trouble for which calls come.
const WATCHED: Span = Span::from_secs(30);
/// The latest recovery that counts.
const WITHIN: Span = Span::from_secs(20);
/// The bound of every ceiling.
const CAP: Span = Span::from_secs(10);
/// Workers, and the time that each takes: 1000 calls a second.
const WORKERS: (u32, Span) = (10, Span::from_millis(10));
/// Processes, each with a budget and a breaker of its own.
const PROCESSES: u32 = 20;
/// A page is drawn while a slider moves: twice what the server serves is a storm already.
const MOST_LOAD: u32 = 2_000;
/// More attempts than this are no longer seen at once.
const MOST_ATTEMPTS: u32 = 10;
/// The longest trouble.
const LONGEST: u32 = 20_000;

impl OutageKind {
    /// All kinds, in the order of the page.
    pub const ALL: [Self; 4] = [Self::Stall, Self::Down, Self::Slow, Self::Failing];

    /// The kind as a scenario file names it, with its value.
    const fn text(self) -> &'static str {
        match self {
            Self::Stall => "kind = \"stall\"",
            Self::Down => "kind = \"refuse\"",
            Self::Slow => "kind = \"slow\"\nfactor = 4",
            Self::Failing => "kind = \"failing\"\nshare = 0.5",
        }
    }

    const fn trouble(self) -> Trouble {
        match self {
            Self::Stall => Trouble::Stall,
            Self::Down => Trouble::Refuse,
            Self::Slow => Trouble::Slow(Ratio::from_percent(400)),
            Self::Failing => Trouble::Failing(Ratio::from_percent(50)),
        }
    }
}

impl OutageKnobs {
    /// The laws of the page: those that a policy has by their name.
    pub const LAWS: [Law; 5] = [Law::Fixed, Law::None, Law::Equal, Law::Full, Law::Decorrelated];

    /// One run of these settings: the run that `stagger storm` plays of [`file`](Self::file).
    ///
    /// # Errors
    /// What the engine refuses: a base of nothing or above the cap, no attempts, no timeout.
    pub fn scenario(&self) -> Result<Scenario, ConfigError> {
        let entry =
            ScenarioEntry { name: "yours".to_owned(), play: Play::Run(Box::new(self.plan()?)) };
        let case = ScenarioCase::new("", 0.0, vec![entry]);
        Ok(Scenario {
            seed: u64::from(self.seed),
            cases: vec![case.outage(self.trouble_in()).capacity(1_000.0)],
            ..Scenario::default()
        })
    }

    fn plan(&self) -> Result<RunPlan, ConfigError> {
        let (from, until) = self.trouble_in();
        let (count, service) = WORKERS;
        let queue = (self.queue > 0).then_some(self.queue);
        let arrivals = ArrivalProcess::poisson(self.load.min(MOST_LOAD), until + WATCHED);
        Ok(RunPlan {
            fleet: Fleet { processes: PROCESSES, ..Fleet::default() },
            backend: Backend {
                workers: Some(Workers::new(count, queue)),
                ..Backend::UNLIMITED.serving_in(service)
            },
            faults: vec![Fault::new(self.trouble.trouble(), from, until)],
            watch: MeasurementPlan {
                recovery: Recovery::FirstTries(FirstTriesRule {
                    bucket: Span::from_millis(500),
                    row: 10,
                    share: Ratio::from_percent(99),
                    within: WITHIN,
                }),
                ..MeasurementPlan::around(until)
            },
            ..RunPlan::new(arrivals, CallerLayer::new(self.policy()?))
        })
    }

    fn policy(&self) -> Result<Policy, ConfigError> {
        let base = millis(self.base_ms);
        let backoff = match self.law {
            Law::Fixed => Backoff::constant(base).with_jitter(Jitter::None)?,
            law => Backoff::exponential(base, CAP)?.with_jitter(jitter(law))?,
        };
        let budget = match self.budget_percent {
            0 => BudgetPlan::Unlimited,
            percent => WindowPlan::new(Ratio::from_percent(percent.min(100)))?.into(),
        };
        let policy = Policy::builder()
            .backoff(backoff)
            .max_attempts(self.attempts.min(MOST_ATTEMPTS))
            .attempt_timeout(millis(self.timeout_ms))
            .budget(budget);
        match self.breaker_ms {
            0 => policy.build(),
            open => policy.breaker(BreakerPlan::builder().open_time(millis(open)).build()?).build(),
        }
    }

    fn trouble_in(&self) -> (Instant, Instant) {
        let from = Instant::ORIGIN + HEALTHY;
        (from, from + millis(self.lasts_ms.min(LONGEST)))
    }

    /// The same run as a scenario file.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "writing into a string cannot fail")]
    pub fn file(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("writing into a string cannot fail");
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let (from, until) = self.trouble_in();
        let end = (until + WATCHED) - Instant::ORIGIN;
        writeln!(out, "title = \"outage\"\nseed = {}\nruns = 1\n", self.seed)?;
        writeln!(out, "[[arrivals]]\nkind = \"poisson\"")?;
        writeln!(out, "rate = {}\nuntil = \"{end}\"\n", self.load.min(MOST_LOAD))?;
        let (count, service) = WORKERS;
        writeln!(out, "[server]\nworkers = {count}\nservice = \"{service}\"")?;
        if self.queue > 0 {
            writeln!(out, "queue = {}", self.queue)?;
        }
        let kind = self.trouble.text();
        writeln!(out, "\n[[fault]]\n{kind}\nfrom = \"{HEALTHY}\"\nlasts = \"{}\"\n", until - from)?;
        writeln!(out, "[fleet]\nprocesses = {PROCESSES}\n\n[laws]\nnames = []\n")?;
        self.write_policy(out)?;
        writeln!(out, "\n[watch]\nrecovery = \"first-tries\"\nwithin = \"{WITHIN}\"")
    }

    fn write_policy(&self, out: &mut String) -> std::fmt::Result {
        let base = millis(self.base_ms);
        let backoff = match self.law {
            Law::Fixed => format!("envelope = \"constant\", base = \"{base}\", jitter = \"none\""),
            law => format!("base = \"{base}\", cap = \"{CAP}\", jitter = \"{law}\""),
        };
        let (attempts, timeout) = (self.attempts.min(MOST_ATTEMPTS), millis(self.timeout_ms));
        writeln!(out, "[policy.yours]\nbackoff = {{ {backoff} }}")?;
        writeln!(out, "limits = {{ max_attempts = {attempts}, attempt_timeout = \"{timeout}\" }}")?;
        match self.budget_percent.min(100) {
            0 => writeln!(out, "budget = \"unlimited\"")?,
            percent => {
                writeln!(
                    out,
                    "budget.window = {{ ratio = {}.{:02} }}",
                    percent / 100,
                    percent % 100
                )?;
            }
        }
        match self.breaker_ms {
            0 => Ok(()),
            open => writeln!(out, "breaker = {{ open_time = \"{}\" }}", millis(open)),
        }
    }
}

const fn jitter(law: Law) -> Jitter {
    match law {
        Law::Equal => Jitter::Equal,
        Law::Full => Jitter::Full,
        Law::Decorrelated => Jitter::Decorrelated,
        _ => Jitter::None,
    }
}

fn millis(ms: u32) -> Span {
    Span::from_millis(u64::from(ms))
}

#[cfg(test)]
mod tests {
    use stagger_sim::{EntryReport, RecoveryVerdict, ThreadPool};

    use super::*;

    const STALL: OutageKnobs = OutageKnobs {
        trouble: OutageKind::Stall,
        lasts_ms: 5_000,
        load: 700,
        law: Law::Full,
        base_ms: 100,
        attempts: 4,
        timeout_ms: 500,
        budget_percent: 0,
        breaker_ms: 0,
        queue: 0,
        seed: 1,
    };

    fn row(knobs: &OutageKnobs) -> EntryReport {
        let mut report = knobs.scenario().unwrap().run(&ThreadPool::single());
        report.cases.remove(0).rows.remove(0)
    }

    #[test]
    fn a_stall_was_recovered_from_without_a_remedy_or_never_with_one() {
        assert_eq!(row(&STALL).verdict(), RecoveryVerdict::Never);
        for remedy in [
            OutageKnobs { attempts: 1, ..STALL },
            OutageKnobs { budget_percent: 10, ..STALL },
            OutageKnobs { queue: 200, ..STALL },
            OutageKnobs { load: 200, ..STALL },
        ] {
            assert_eq!(row(&remedy).verdict(), RecoveryVerdict::Recovered, "{remedy:?}");
        }
    }

    #[test]
    fn a_file_was_not_the_run_on_the_page() {
        // `stagger storm` plays the same file in its own tests, and reports this digest.
        let knobs = OutageKnobs { budget_percent: 10, breaker_ms: 2_000, queue: 200, ..STALL };
        assert_eq!(knobs.file(), include_str!("../tests/outage.toml"));
        assert_eq!(format!("{:016x}", row(&knobs).digest), "6ca3d582e1b17a48");
    }

    #[test]
    fn numbers_beyond_every_slider_took_minutes_or_ended_the_page() {
        let most = u32::MAX;
        let wild = OutageKnobs {
            trouble: OutageKind::Failing,
            lasts_ms: most,
            load: most,
            attempts: most,
            budget_percent: most,
            breaker_ms: 60_000,
            queue: most,
            seed: most,
            ..STALL
        };
        assert!(row(&wild).calls < 2.0 * 60.0 * 2_000.0);
        for refused in [
            OutageKnobs { base_ms: 20_000, ..STALL },
            OutageKnobs { attempts: 0, ..STALL },
            OutageKnobs { timeout_ms: 0, ..STALL },
        ] {
            assert!(refused.scenario().is_err(), "{refused:?}");
        }
    }
}
