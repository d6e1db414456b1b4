//! Runs against our own server at about 5 000 attempts a second, each beside the lab's: a line of JSON a run.
//!
//! `cargo run --release -p stagger-load --example peaks`

use std::error::Error;
use std::io::Write;

use stagger_core::budget::BudgetPlan;
use stagger_core::{Instant, Policy, Ratio, Span};
use stagger_load::{
    LoadBounds, LoadComparison, LoadForecast, LoadRow, LoadRun, LoadUrl, ScenarioServer,
    raise_open_files,
};
use stagger_sim::{
    ArrivalProcess, Backend, CallerLayer, Fault, Law, MeasurementPlan, RunPlan, Schedule, Trouble,
};
use tokio::runtime::Builder;

/// First attempts a second.
const LOAD: u32 = 1_200;
/// The trouble, in seconds from the start.
const TROUBLE: (u64, u64) = (3, 5);
/// The last first attempt, in seconds from the start.
const UNTIL: u64 = 10;
const SEED: u64 = 1;
/// Calls that begin later than half a bucket of the figures were delayed by the machine: such a run is repeated.
const LATE: Span = Span::from_millis(25);
/// Runs of a row at most.
const RUNS: u32 = 4;

fn main() -> Result<(), Box<dyn Error>> {
    // The server has a thread of its own, as a server has.
    let serving = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let calling = Builder::new_current_thread().enable_all().build()?;
    for (scenario, row) in rows()? {
        let forecast = LoadForecast::of(&row, SEED)?;
        LoadBounds::THIS_MACHINE.check(std::slice::from_ref(&forecast))?;
        // Both ends of every connection are files of this process.
        raise_open_files(2 * forecast.most_in_flight)?;
        let server = ScenarioServer::bind("127.0.0.1:0".parse()?, vec![row.clone()]);
        let server = serving.block_on(server)?;
        let url = LoadUrl::parse(&format!("http://{}/", server.address()), None)?;
        let task = serving.spawn(server.serve(std::future::pending()));
        let (runs, measured) = calling.block_on(async {
            let destination = url.resolve().await?;
            let run = LoadRun::new(&row, SEED, LoadBounds::THIS_MACHINE);
            let mut runs = 1;
            let mut measured = run.play(&destination, || false).await;
            while measured.latest_start > LATE && runs < RUNS {
                runs += 1;
                measured = run.play(&destination, || false).await;
            }
            Ok::<_, stagger_load::LoadError>((runs, measured))
        })?;
        task.abort();
        print(scenario, runs, &LoadComparison::of(&forecast, &measured))?;
    }
    Ok(())
}

fn print(scenario: &str, runs: u32, compared: &LoadComparison) -> Result<(), Box<dyn Error>> {
    let (model, measured) = (&compared.model, &compared.measured);
    let share = |value: Option<f64>| value.map_or("null".to_owned(), |value| format!("{value:.4}"));
    writeln!(
        std::io::stdout(),
        "{{\"scenario\":\"{scenario}\",\"row\":\"{}\",\"model_peak\":{:.0},\"measured_peak\":{:.0},\
         \"deviation\":{},\"model_attempts\":{},\"measured_attempts\":{},\"model_success\":{},\
         \"measured_success\":{},\"late_s\":{:.4},\"end\":\"{}\",\"runs\":{runs}}}",
        compared.name,
        model.peak,
        measured.peak,
        share(compared.peak_deviation()),
        model.attempts,
        measured.attempts,
        share(model.success),
        share(measured.success),
        compared.run.latest_start.as_secs_f64(),
        compared.run.end.word(),
    )?;
    Ok(())
}

fn rows() -> Result<Vec<(&'static str, LoadRow)>, stagger_core::ConfigError> {
    let schedule = Schedule { base: Span::from_millis(200), cap: Span::from_secs(2), attempts: 4 };
    let budget = Policy::builder()
        .backoff(Law::Full.backoff(&schedule)?)
        .max_attempts(schedule.attempts)
        .budget(BudgetPlan::default())
        .build()?;
    let callers = [
        ("none", Law::None.caller(&schedule)?),
        ("full", Law::Full.caller(&schedule)?),
        ("full with a budget", CallerLayer::new(budget)),
    ];
    let troubles = [
        ("stall", Trouble::Stall),
        ("down", Trouble::Refuse),
        ("failing", Trouble::Failing(Ratio::from_percent(60))),
        ("slow", Trouble::Slow(Ratio::from_percent(250))),
    ];
    let row = |trouble, name: &str, caller: &CallerLayer| LoadRow {
        name: name.to_owned(),
        plan: plan(trouble, caller.clone()),
    };
    let pairs = troubles.iter().flat_map(|(scenario, trouble)| {
        callers.iter().map(move |(name, caller)| (*scenario, row(*trouble, name, caller)))
    });
    Ok(pairs.collect())
}

fn plan(trouble: Trouble, caller: CallerLayer) -> RunPlan {
    let at = |seconds| Instant::ORIGIN + Span::from_secs(seconds);
    let caller = caller.with_timeout(Span::from_millis(500));
    let plan = RunPlan::new(ArrivalProcess::poisson(LOAD, at(UNTIL)), caller);
    RunPlan {
        backend: Backend::of_workers(30, Span::from_millis(10), None),
        faults: vec![Fault::new(trouble, at(TROUBLE.0), at(TROUBLE.1))],
        watch: MeasurementPlan {
            peak_from: Some(Instant::ORIGIN),
            ..MeasurementPlan::around(at(TROUBLE.1))
        },
        ..plan
    }
}
