//! `stagger storm --against` and `--serve`: the callers or the server of a scenario over real sockets.

use std::future::Future;

use stagger_core::Span;
use stagger_load::{
    LoadBounds, LoadComparison, LoadError, LoadForecast, LoadRow, LoadRows, LoadRun, LoadTarget,
    LoadUrl, ScenarioServer, raise_open_files,
};
use stagger_sim::Scenario;
use stagger_text::brief;

use super::pages::load_page;
use crate::command_error::CommandError;
use crate::flags::StormFlags;
use crate::interrupt::Interrupt;
use crate::render::LoadReport;
use crate::streams;

/// The time that a run may take beyond twice its time in the lab, where its server is slower than the model.
const OVERTIME: Span = Span::from_secs(10);
/// Connections that a server of ours has open at most: those of one run.
const SERVED: u64 = 4_096;

/// Plays the scenario over sockets, if that is asked for; `None` if it is not.
///
/// # Errors
/// A scenario that cannot be played so, a URL or a host that may not be called, or a bound that is exceeded.
pub(super) fn played(
    flags: &StormFlags,
    scenario: &Scenario,
) -> Result<Option<String>, CommandError> {
    if let Some(url) = &flags.load.against {
        return against(flags, scenario, url).map(Some);
    }
    match flags.load.serve {
        Some(_) => serve(flags, scenario).map(Some),
        None => Ok(None),
    }
}

fn against(flags: &StormFlags, scenario: &Scenario, url: &str) -> Result<String, CommandError> {
    let url = LoadUrl::parse(url, flags.load.yes_really.as_deref()).map_err(refused)?;
    let most = match url.is_this_machine() {
        true => LoadBounds::THIS_MACHINE,
        false => LoadBounds::ELSEWHERE,
    };
    let own = &flags.load;
    let bounds = most.lowered(own.most_rate, own.most_time, own.most_connections);
    let rows = LoadRows::of(scenario).map_err(refused)?;
    let forecasts = rows.rows.iter().map(|row| LoadForecast::of(row, rows.seed));
    let forecasts = forecasts.collect::<Result<Vec<_>, _>>().map_err(refused)?;
    bounds.check(&forecasts).map_err(refused)?;
    let in_flight = forecasts.iter().map(|forecast| forecast.most_in_flight).max().unwrap_or(0);
    let files = raise_open_files(in_flight).map_err(refused)?;
    let connections = u32::try_from(files).unwrap_or(u32::MAX);
    let bounds = bounds.lowered(None, None, Some(connections));
    let mut report = LoadReport::new(&rows, own.against.as_deref().unwrap_or_default(), bounds);
    let interrupt = Interrupt::watch();
    block_on(async {
        let destination = url.resolve().await.map_err(refused)?;
        let mut left = bounds.time;
        for (row, forecast) in rows.rows.iter().zip(&forecasts) {
            if interrupt.came() || left == Span::ZERO {
                break;
            }
            tell(flags, forecast);
            let run = RowRun { row, forecast, seed: rows.seed };
            let compared = run.play(&destination, bounds, &mut left, &interrupt).await;
            report.rows.push(compared);
        }
        Ok(())
    })??;
    Ok(load_page(flags.format, &report))
}

/// One row that is due.
struct RowRun<'r> {
    row: &'r LoadRow,
    forecast: &'r LoadForecast,
    seed: u64,
}

impl RowRun<'_> {
    /// Plays the row within the time that is left, and takes its own from that.
    async fn play(
        &self,
        destination: &LoadTarget,
        bounds: LoadBounds,
        left: &mut Span,
        interrupt: &Interrupt,
    ) -> LoadComparison {
        let most = self.forecast.length().saturating_mul(2) + OVERTIME;
        let bounds = bounds.lowered(None, Some(most.min(*left)), None);
        let run = LoadRun::new(self.row, self.seed, bounds);
        let measured = run.play(destination, || interrupt.came()).await;
        *left = *left - measured.played.length;
        LoadComparison::of(self.forecast, &measured)
    }
}

fn tell(flags: &StormFlags, forecast: &LoadForecast) {
    if !flags.quiet {
        let LoadForecast { name, busiest_second, .. } = forecast;
        streams::note(&format!(
            "{name}: about {}, at most {busiest_second} attempts in a second",
            brief(forecast.length())
        ));
    }
}

fn serve(flags: &StormFlags, scenario: &Scenario) -> Result<String, CommandError> {
    let Some(address) = flags.load.serve else { return Ok(String::new()) };
    let rows = LoadRows::of(scenario).map_err(refused)?;
    // A limit below this serves smaller runs.
    let _ = raise_open_files(SERVED);
    block_on(async {
        // Before the line, so that a signal after it is heard.
        let ctrl_c = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
        let mut ctrl_c = ctrl_c.map_err(|error| {
            CommandError::bad_value(&format!("cannot listen for Ctrl-C: {error}"))
        })?;
        let server = ScenarioServer::bind(address, rows.rows).await.map_err(refused)?;
        streams::note(&format!(
            "serving '{}' on http://{}/, until Ctrl-C",
            rows.scenario,
            server.address()
        ));
        let counts = server
            .serve(async {
                ctrl_c.recv().await;
            })
            .await;
        Ok(format!(
            "{} runs, {} attempts, {} of them without an answer, {} of no run\n",
            counts.runs, counts.attempts, counts.abandoned, counts.refused
        ))
    })?
}

fn block_on<T>(future: impl Future<Output = T>) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CommandError::bad_value(&format!("no runtime: {error}")))?;
    Ok(runtime.block_on(future))
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` takes it")]
fn refused(error: LoadError) -> CommandError {
    CommandError::bad_value(&error.to_string())
}
