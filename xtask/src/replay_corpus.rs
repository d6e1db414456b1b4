//! The corpus of logs whose truth is known, and whether the replay tells it.

use std::error::Error;
use std::fmt;
use std::process::Stdio;

use serde::{Deserialize, Serialize};
use xtask_workbench::{Format, cargo};

/// Logs of the corpus.
const LOGS: usize = 30;
/// Those whose verdict must be within the tolerance; of the others none may be given.
const LEAST_WITHIN: usize = 27;

/// Replays the corpus; false when too few verdicts are right, or one is wrong.
pub(crate) fn run(format: Format) -> Result<bool, Box<dyn Error>> {
    let mut command = cargo();
    command.args(["run", "--quiet", "--release", "--package", "stagger-replay"]);
    let output = command.args(["--example", "corpus"]).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the corpus ended with {}", output.status).into());
    }
    let rows: Vec<CorpusRow> = serde_json::from_slice(&output.stdout)?;
    format.show(&rows, &CorpusPage(&rows))?;
    Ok(is_good(&rows))
}

fn is_good(rows: &[CorpusRow]) -> bool {
    let told = rows.iter().filter(|row| row.within && row.verdict == "given").count();
    rows.len() == LOGS && told >= LEAST_WITHIN && rows.iter().all(|row| row.within)
}

/// One log, and how far its replay is off.
#[derive(Debug, Deserialize, Serialize)]
struct CorpusRow {
    log: String,
    start_error_s: Option<f64>,
    end_error_s: Option<f64>,
    attempts_error: f64,
    no_retry_success_error: f64,
    verdict: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    within: bool,
}

struct CorpusPage<'r>(&'r [CorpusRow]);

impl fmt::Display for CorpusPage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["log", "start", "end", "attempts", "success", "verdict"];
        let [log, start, end, attempts, success, verdict] = head;
        writeln!(f, "{log:28} {start:>8} {end:>8} {attempts:>8} {success:>8} {verdict}")?;
        for row in self.0 {
            let seconds =
                |error: Option<f64>| error.map_or("-".to_owned(), |it| format!("{it:.2}"));
            let [start, end] = [row.start_error_s, row.end_error_s].map(seconds);
            let CorpusRow { log, attempts_error, no_retry_success_error, verdict, .. } = row;
            let mark = if row.within { "" } else { "  OUT" };
            writeln!(
                f,
                "{log:28} {start:>8} {end:>8} {attempts_error:>8.3} {no_retry_success_error:>8.3} \
                 {verdict}{mark}"
            )?;
        }
        let out = self.0.iter().filter(|row| !row.within).count();
        let none = self.0.iter().filter(|row| row.verdict == "none").count();
        writeln!(f, "{} logs, {none} without a verdict, {out} out", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(given: usize, none: usize, wrong: usize) -> Vec<CorpusRow> {
        let row = |verdict: &str, within| CorpusRow {
            log: "a".into(),
            start_error_s: None,
            end_error_s: None,
            attempts_error: 0.0,
            no_retry_success_error: if within { 0.0 } else { 0.2 },
            verdict: verdict.into(),
            reason: None,
            within,
        };
        let all = (0..given).map(|_| row("given", true));
        let all = all.chain((0..none).map(|_| row("none", true)));
        all.chain((0..wrong).map(|_| row("given", false))).collect()
    }

    #[test]
    fn a_wrong_verdict_or_a_fourth_one_missing_is_a_failure() {
        assert!(is_good(&rows(27, 3, 0)));
        assert!(!is_good(&rows(26, 4, 0)));
        assert!(!is_good(&rows(29, 0, 1)));
        assert!(!is_good(&rows(20, 0, 0)));
        assert!(CorpusPage(&rows(29, 0, 1)).to_string().contains("OUT"));
    }
}
