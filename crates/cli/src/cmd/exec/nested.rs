//! Inside another `stagger exec`: what an attempt is told, and how its own retries know.

use std::env;

use stagger::AttemptInfo;
use tokio::process::Command;

/// The number of the attempt, from 1. That it is there says that somebody outside retries.
const ATTEMPT: &str = "STAGGER_ATTEMPT";
/// The time left of the deadline, in whole milliseconds.
const DEADLINE: &str = "STAGGER_DEADLINE_MS";

/// Whether this process is part of an attempt of another `stagger exec`. An empty variable is what
/// scripts have in place of one that is not set.
pub(super) fn is_inside() -> bool {
    env::var_os(ATTEMPT).is_some_and(|number| !number.is_empty())
}

/// Tells a command which attempt it is, unless there is one only, and how much time is left. A call
/// of one attempt retries nothing, so the command's own retries do not multiply with it; the mark of
/// a call around this one stays.
pub(super) fn mark(command: &mut Command, info: &AttemptInfo, retries: bool) {
    if retries {
        command.env(ATTEMPT, info.number.to_string());
    }
    match info.remaining {
        Some(left) => command.env(DEADLINE, left.to_duration().as_millis().to_string()),
        // An outer deadline is not this command's.
        None => command.env_remove(DEADLINE),
    };
}
