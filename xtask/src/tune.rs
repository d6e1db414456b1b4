//! The goals of `stagger tune` over random models, played by an example of its crate.

use std::error::Error;
use std::fmt;
use std::process::Stdio;

use serde::Serialize;
use xtask_workbench::{Format, cargo};

/// The share of models in which the recommended policy must be better than a vendor's defaults.
const GOAL: f64 = 0.9;

/// Plays so many models; false when a goal is missed.
pub(crate) fn run(format: Format, worlds: u32, seed: u64) -> Result<bool, Box<dyn Error>> {
    let mut command = cargo();
    command.args([
        "run",
        "--quiet",
        "--release",
        "--package",
        "stagger-tune",
        "--example",
        "goals",
    ]);
    command.arg("--").arg(worlds.to_string()).arg(seed.to_string());
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the search ended with {}", output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let goals = TuneGoals::read(&text)?;
    if goals.models.is_empty() {
        return Err("no model was played".into());
    }
    format.show(&goals, &goals)?;
    Ok(goals.are_reached())
}

/// The result over all models.
#[derive(Debug, PartialEq, Serialize)]
struct TuneGoals {
    /// Models in which the recommended policy is worse than the answer of `choose` beyond noise.
    worse_than_choose: usize,
    /// The share of models in which it is better than both defaults of the AWS SDKs beyond noise.
    better_than_aws: f64,
    /// The same for both defaults of Envoy.
    better_than_envoy: f64,
    /// The time of all searches.
    seconds: f64,
    #[serde(skip)]
    models: Vec<TunedModel>,
}

/// The line of one model.
#[derive(Debug, PartialEq)]
struct TunedModel {
    kind: String,
    worse: bool,
    /// Better, worse, equal or noise.
    aws: String,
    envoy: String,
}

impl TuneGoals {
    /// A line a model, and the seconds as the last one.
    fn read(text: &str) -> Result<Self, Box<dyn Error>> {
        let mut lines: Vec<&str> = text.lines().collect();
        let last = lines.pop().and_then(|line| line.strip_prefix("seconds\t"));
        let seconds = last.ok_or("the last line is not the time")?.parse()?;
        let models: Vec<TunedModel> =
            lines.into_iter().map(TunedModel::read).collect::<Result<_, _>>()?;
        let share = |better: &dyn Fn(&TunedModel) -> bool| {
            let count = models.iter().filter(|model| better(model)).count();
            // OK because there are at most ten thousand models.
            #[expect(clippy::cast_precision_loss, reason = "at most ten thousand")]
            let share = count as f64 / models.len().max(1) as f64;
            share
        };
        Ok(Self {
            worse_than_choose: models.iter().filter(|model| model.worse).count(),
            better_than_aws: share(&|model| model.aws == "better"),
            better_than_envoy: share(&|model| model.envoy == "better"),
            seconds,
            models,
        })
    }

    fn are_reached(&self) -> bool {
        self.worse_than_choose == 0
            && self.better_than_aws >= GOAL
            && self.better_than_envoy >= GOAL
    }
}

impl TunedModel {
    fn read(line: &str) -> Result<Self, Box<dyn Error>> {
        let [_, kind, worse, aws, envoy, _, _, _] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("not a model: {line:?}").into());
        };
        let [kind, aws, envoy] = [kind, aws, envoy].map(str::to_owned);
        Ok(Self { kind, worse: worse.parse()?, aws, envoy })
    }
}

/// The verdicts, in the order of the columns.
const VERDICTS: [&str; 4] = ["better", "noise", "equal", "worse"];

impl fmt::Display for TuneGoals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kinds: Vec<&str> = self.models.iter().map(|model| model.kind.as_str()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        writeln!(
            f,
            "{:9} {:>6}  {:31}  {:31}",
            "outage", "models", "against AWS", "against Envoy"
        )?;
        let heads = VERDICTS.map(|verdict| format!("{verdict:>7}")).concat();
        writeln!(f, "{:9} {:>6}  {heads:31}  {heads:31}", "", "")?;
        for kind in kinds {
            let of = |model: &&TunedModel| model.kind == kind;
            let counts = |of_vendor: fn(&TunedModel) -> &str| {
                VERDICTS
                    .map(|verdict| {
                        let mine = self.models.iter().filter(of);
                        format!("{:>7}", mine.filter(|model| of_vendor(model) == verdict).count())
                    })
                    .concat()
            };
            let models = self.models.iter().filter(of).count();
            let (aws, envoy) = (counts(|model| &model.aws), counts(|model| &model.envoy));
            writeln!(f, "{kind:9} {models:>6}  {aws:31}  {envoy:31}")?;
        }
        writeln!(
            f,
            "worse than choose: {}; better than AWS: {:.1} %, than Envoy: {:.1} %; {:.0} s",
            self.worse_than_choose,
            self.better_than_aws * 100.0,
            self.better_than_envoy * 100.0,
            self.seconds
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "0\tdown\tfalse\tbetter\tbetter\t-5.0\t-2.0\tcandidate-9\n\
                        1\tstall\tfalse\tequal\tnoise\t-1.0\t0.0\tdefault\nseconds\t12.5\n";

    #[test]
    fn programs_get_exactly_four_keys() {
        let goals = TuneGoals::read(TEXT).expect("two models and the time");
        let json = serde_json::to_string(&goals).expect("plain data");
        let want = r#"{"worse_than_choose":0,"better_than_aws":0.5,"better_than_envoy":0.5,"seconds":12.5}"#;
        assert_eq!(json, want);
    }

    #[test]
    fn half_of_the_models_was_enough_and_one_worse_than_choose_was_no_failure() {
        let goals = TuneGoals::read(TEXT).expect("two models and the time");
        assert!(!goals.are_reached(), "half is below nine in ten");
        let good = TuneGoals { better_than_aws: 0.9, better_than_envoy: 0.95, ..goals };
        assert!(good.are_reached());
        assert!(!TuneGoals { worse_than_choose: 1, ..good }.are_reached());
    }

    #[test]
    fn a_search_that_broke_off_was_a_result() {
        assert!(TuneGoals::read("0\tdown\tfalse\tbetter\tbetter\t1\t1\tx\n").is_err());
        assert!(TuneGoals::read("0\tdown\nseconds\t1\n").is_err());
    }
}
