//! A replay as a scenario file: the calls as they were recorded, the backend, the faults and the laws.

use std::fmt;
use std::fmt::Write;

use stagger_core::{Instant, Span};
use stagger_replay::Replay;
use stagger_sim::{
    ArrivalProcess, Fault, Law, Play, Recovery, RunPlan, Schedule, StormOptions, Trouble,
};

use crate::command_error::CommandError;

/// Calls of a file at most: some 30 MB of text.
const MOST_CALLS: usize = 2_000_000;
/// Calls on one line.
const ON_A_LINE: usize = 10;

/// The text of the file.
///
/// # Errors
/// More calls than a file is written of.
pub(super) fn scenario_file(
    replay: &Replay,
    options: &StormOptions,
) -> Result<String, CommandError> {
    let Some(plan) = plan(replay) else { return Ok(String::new()) };
    let times = match &plan.arrivals[..] {
        [ArrivalProcess::Recorded(times)] => times.as_ref(),
        _ => &[],
    };
    if times.len() > MOST_CALLS {
        let text =
            format!("--export: at most {MOST_CALLS} calls: take a part by --from and --until");
        return Err(CommandError::bad_value(&text));
    }
    let file = ScenarioFile { replay, plan, times, options };
    let mut text = String::new();
    file.write(&mut text).expect("writing into a string cannot fail");
    Ok(text)
}

fn plan(replay: &Replay) -> Option<&RunPlan> {
    let case = replay.scenario.cases.first()?;
    match &case.entries.first()?.play {
        Play::Run(plan) => Some(plan),
        Play::Contention(_) => None,
    }
}

struct ScenarioFile<'r> {
    replay: &'r Replay,
    plan: &'r RunPlan,
    times: &'r [Instant],
    options: &'r StormOptions,
}

impl ScenarioFile<'_> {
    fn write(&self, out: &mut String) -> fmt::Result {
        let (from, until) = self.replay.stretch;
        writeln!(out, "title = \"replay\"")?;
        writeln!(out, "about = \"the calls of an access log from {from} until {until}\"")?;
        writeln!(out, "seed = {}", self.replay.scenario.seed)?;
        writeln!(out, "runs = {}", self.replay.scenario.runs)?;
        self.server(out)?;
        self.plan.faults.iter().try_for_each(|fault| write_fault(out, fault))?;
        self.laws(out)?;
        self.watch(out)?;
        writeln!(out, "\n[[arrivals]]\nkind = \"recorded\"\nat = [")?;
        for line in self.times.chunks(ON_A_LINE) {
            let times: Vec<String> = line.iter().map(|at| format!("\"{}\"", after(*at))).collect();
            writeln!(out, "  {},", times.join(", "))?;
        }
        writeln!(out, "]")
    }

    fn server(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "\n[server]\nservice = \"{}\"", self.plan.backend.service.mean())?;
        match self.plan.backend.workers {
            Some(workers) => writeln!(out, "workers = {}", workers.count),
            None => Ok(()),
        }
    }

    fn laws(&self, out: &mut String) -> fmt::Result {
        let laws = if self.options.laws.is_empty() { &Law::ALL[..] } else { &self.options.laws };
        let retrying = laws.iter().filter(|&&law| law != Law::NoRetry);
        let names: Vec<String> = retrying.map(|law| format!("\"{law}\"")).collect();
        let schedule = self.options.schedule(Schedule::default());
        writeln!(out, "\n[laws]\nnames = [{}]", names.join(", "))?;
        writeln!(out, "base = \"{}\"\ncap = \"{}\"", schedule.base, schedule.cap)?;
        writeln!(out, "attempts = {}", schedule.attempts)?;
        let timeout = self.plan.callers[0].policy.limits().attempt_timeout();
        timeout.map_or(Ok(()), |timeout| writeln!(out, "timeout = \"{timeout}\""))
    }

    fn watch(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "\n[watch]\nedge = \"{}\"", after(self.plan.watch.edge))?;
        let Recovery::FirstTries(rule) = self.plan.watch.recovery else { return Ok(()) };
        writeln!(out, "recovery = \"first-tries\"\nbucket = \"{}\"", rule.bucket)?;
        writeln!(out, "row = {}\nshare = {}", rule.row, rule.share.as_f64())?;
        writeln!(out, "within = \"{}\"", rule.within)
    }
}

fn write_fault(out: &mut String, fault: &Fault) -> fmt::Result {
    let (kind, more) = match fault.trouble {
        Trouble::Silence => ("silence", String::new()),
        Trouble::Stall => ("stall", String::new()),
        Trouble::Failing(share) => ("failing", format!("share = {}\n", share.as_f64())),
        Trouble::Slow(factor) => ("slow", format!("factor = {}\n", factor.as_f64())),
        // A replay has no other kinds.
        _ => ("refuse", String::new()),
    };
    write!(out, "\n[[fault]]\nkind = \"{kind}\"\n{more}from = \"{}\"\n", after(fault.from))?;
    match fault.until {
        Instant::FAR => Ok(()),
        until => writeln!(out, "until = \"{}\"", after(until)),
    }
}

fn after(at: Instant) -> Span {
    at - Instant::ORIGIN
}
