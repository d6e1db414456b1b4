//! The memory that a storm will take, compared with the memory that is free before it begins.

use std::fs;
use std::num::NonZeroUsize;

use stagger_sim::{Play, Scenario};

use crate::command_error::CommandError;

const MIB: u64 = 1 << 20;

/// Refuses a scenario whose callers do not fit into the memory that is free.
///
/// # Errors
/// The memory that it needs, and the memory that there is.
pub(super) fn check(scenario: &Scenario, threads: NonZeroUsize) -> Result<(), CommandError> {
    match free() {
        Some(free) => check_within(scenario, threads, free),
        None => Ok(()),
    }
}

fn check_within(scenario: &Scenario, threads: NonZeroUsize, free: u64) -> Result<(), CommandError> {
    let plays = scenario.cases.iter().flat_map(|case| &case.entries).map(|entry| &entry.play);
    let each = plays.map(|play| match play {
        Play::Run(plan) => plan.least_memory(),
        Play::Contention(_) => 0,
    });
    let most = each.max().unwrap_or(0);
    // Each thread plays one run at a time.
    let at_once = u64::try_from(threads.get()).unwrap_or(u64::MAX).min(scenario.jobs()).max(1);
    let needed = most.saturating_mul(at_once);
    if needed <= free {
        return Ok(());
    }
    let (one, needed, free) = (most.div_ceil(MIB), needed.div_ceil(MIB), free / MIB);
    Err(CommandError::bad_value(&format!(
        "this needs at least {needed} MiB of memory, and {free} MiB are free: a run takes {one} MiB, and \
         {at_once} are played at once; take fewer callers, or --threads 1"
    )))
}

/// The bytes that are free, where the system tells: `MemAvailable` of Linux, within the bound of the
/// control group.
fn free() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    let group = |file: &str| -> Option<u64> {
        fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok()?.trim().parse().ok()
    };
    let bound = group("memory.max").zip(group("memory.current"));
    let left = bound.map_or(u64::MAX, |(most, used)| most.saturating_sub(used));
    Some((kib * 1024).min(left))
}

#[cfg(test)]
mod tests {
    use stagger_sim::{Named, StormOptions};

    use super::*;

    #[test]
    fn fifty_million_callers_were_begun_in_memory_that_was_not_there() {
        let callers = Some(50_000_000);
        let options = StormOptions { callers, runs: Some(1), ..StormOptions::default() };
        let scenario = Named::find("herd").unwrap().scenario(&options).unwrap();
        let two = NonZeroUsize::new(2).unwrap();
        let gib = 1 << 30;
        let CommandError::Flag(_, why) = check_within(&scenario, two, gib).unwrap_err() else {
            panic!("a refusal of flags")
        };
        assert!(why.contains("at least 41199 MiB of memory, and 1024 MiB are free"), "{why}");
        assert!(check_within(&scenario, two, 64 * gib).is_ok());
    }
}
