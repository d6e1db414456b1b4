//! Runs over real sockets beside the lab's: `cargo xtask against`, played by an example of the load crate.

use std::error::Error;
use std::fmt;
use std::process::Stdio;

use serde::{Deserialize, Serialize};
use xtask_workbench::{Format, cargo};

/// The deviation of a measured peak from the lab's at most, as a share.
const GOAL: f64 = 0.1;

/// Plays all runs on this machine; false when a peak is further from the lab's than the goal.
pub(crate) fn run(format: Format) -> Result<bool, Box<dyn Error>> {
    let mut command = cargo();
    command.args([
        "run",
        "--quiet",
        "--release",
        "--package",
        "stagger-load",
        "--example",
        "peaks",
    ]);
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the runs ended with {}", output.status).into());
    }
    let peaks = MeasuredPeaks::read(&String::from_utf8(output.stdout)?)?;
    format.show(&peaks.0, &peaks)?;
    Ok(peaks.are_near())
}

/// The peaks of all runs.
struct MeasuredPeaks(Vec<MeasuredPeak>);

/// The peaks of one run, in attempts a second.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct MeasuredPeak {
    scenario: String,
    row: String,
    model_peak: f64,
    measured_peak: f64,
    deviation: f64,
    /// The longest time by which a call began late: on a busy machine it explains a deviation.
    late_s: f64,
    /// The end of the run: `complete`, or the bound that ended it.
    end: String,
    /// Runs that were made: one in which calls begin late measures the machine, and is repeated.
    runs: u32,
}

impl MeasuredPeaks {
    fn read(text: &str) -> Result<Self, Box<dyn Error>> {
        let peaks = text.lines().map(serde_json::from_str).collect::<Result<Vec<_>, _>>()?;
        if peaks.is_empty() {
            return Err("no run was played".into());
        }
        Ok(Self(peaks))
    }

    fn are_near(&self) -> bool {
        let is_near = |peak: &MeasuredPeak| peak.deviation.abs() <= GOAL && peak.end == "complete";
        self.0.iter().all(is_near)
    }
}

impl fmt::Display for MeasuredPeaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:8}  {:20} {:>9} {:>9} {:>9} {:>8}  end",
            "scenario", "row", "lab", "measured", "deviation", "late"
        )?;
        for peak in &self.0 {
            let MeasuredPeak {
                scenario, row, model_peak, measured_peak, deviation, late_s, ..
            } = peak;
            writeln!(
                f,
                "{scenario:8}  {row:20} {model_peak:>7}/s {measured_peak:>7}/s {:>+7.1} % {:>5.0} ms  {}",
                deviation * 100.0,
                late_s * 1_000.0,
                peak.end
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(deviation: &str, end: &str) -> String {
        format!(
            "{{\"scenario\":\"stall\",\"row\":\"full\",\"model_peak\":5400,\"measured_peak\":5520,\
             \"deviation\":{deviation},\"model_attempts\":1,\"late_s\":0.0159,\"end\":\"{end}\",\"runs\":1}}\n"
        )
    }

    #[test]
    fn a_peak_far_from_the_labs_or_a_run_that_was_cut_passed() {
        let read = |text: &str| MeasuredPeaks::read(text).expect("lines of the example");
        assert!(read(&line("0.0222", "complete")).are_near());
        assert!(!read(&(line("0.0", "complete") + &line("-0.11", "complete"))).are_near());
        assert!(!read(&line("0.0", "rate-bound")).are_near());
    }

    #[test]
    fn runs_that_broke_off_were_a_result() {
        assert!(MeasuredPeaks::read("").is_err());
        assert!(MeasuredPeaks::read("{\"scenario\":\"stall\"").is_err());
    }
}
