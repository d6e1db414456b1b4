//! `exec` and `http` against a server that fails first: each command is tried again and ends well.

use crate::fixture::{Fixture, Played, VERSION};

/// Judges a command that has succeeded by its requests and by its output.
pub(crate) fn judge(fixture: &Fixture, command: &str, played: &Played) -> Result<(), String> {
    let (output, requests) = (&played.output, &played.requests);
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if requests.len() != 2 {
        return Err(format!("makes {} requests: {errors}", requests.len()));
    }
    if command.starts_with("stagger exec ") {
        // Only the attempt that succeeded has anything to say.
        let is_single = printed.matches("1.2").count() == 1;
        return is_single.then_some(()).ok_or_else(|| format!("prints {printed}"));
    }
    let key = |attempt: usize| requests[attempt].headers.get("idempotency-key");
    let wrong = |what: &str| Err(format!("{what}: {requests:?}"));
    if requests[0].method != requests[1].method {
        return wrong("the method changes");
    }
    if key(0) != key(1) || key(0).is_some() != command.contains("--idempotency-key") {
        return wrong("the idempotency key is not the same on each attempt");
    }
    if command.contains("-o page.html") && fixture.read("page.html") != VERSION {
        return Err("page.html is not the body".to_owned());
    }
    let is_json = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
    match command.contains("--format json") && !errors.lines().all(is_json) {
        true => Err(format!("prints lines that are no JSON: {errors}")),
        false => Ok(()),
    }
}
