//! The whole file: its parts put together to a scenario.

use stagger_core::{Instant, Policy, Span};
use stagger_sim::{
    ArrivalProcess, Backend, Bystanders, CallerLayer, Equal, Fault, Fleet, Hop, Law, LedgerModel,
    MeasurementPlan, Peak, Play, RunPlan, Scenario, ScenarioCase, ScenarioEntry, StormOptions,
};

use super::laws::{self, Laws};
use super::layer::{self, Layer};
use super::{arrivals, bystanders, fault, fleet, server, vary, watch};
use crate::toml_file::{Document, Flaw, Reader, engine};

/// The sd of a mean falls with the root of the runs: a million of them give three digits more.
const MAX_RUNS: u32 = 1_000_000;
/// Runs of every entry unless the file or a flag sets them.
const RUNS: u32 = 20;

/// Settings of the command line, which win over the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScenarioOverrides {
    /// Seed, runs, schedule, laws and policies.
    pub(crate) options: StormOptions,
    /// The rule that makes laws comparable.
    pub(crate) equal: Option<Equal>,
}

/// The scenario of a document; `name` is what it is called without a title.
///
/// # Errors
/// The first key or value that is wrong.
pub(crate) fn read(
    name: &str,
    document: &Document<'_>,
    given: &ScenarioOverrides,
) -> Result<Scenario, Flaw> {
    let reader = document.reader();
    let mut scenario = frame(name, &reader, given)?;
    let Some(varied) = vary::read(&reader)? else {
        let (case, parameters) = case(&reader, given, (String::new(), 0.0))?;
        scenario.parameters = parameters;
        scenario.cases.push(case);
        return Ok(scenario);
    };
    for (number, value) in varied.values.iter().enumerate() {
        let changed = document.with(varied.key, (*value).clone());
        let changed = changed.map_err(|why| Flaw::new(value.span(), format!("vary.{why}")))?;
        let (label, place) = vary::place(value.get_ref(), number);
        let place = (format!("{} {label}", varied.key), place);
        let reader = changed.reader();
        frame(name, &reader, given)?;
        vary::read(&reader)?;
        let (case, parameters) = case(&reader, given, place)?;
        scenario.parameters = parameters;
        scenario.cases.push(case);
    }
    scenario.varied = Some(varied.name);
    Ok(scenario)
}

/// Settings of the file as a whole.
fn frame(name: &str, reader: &Reader<'_, '_>, given: &ScenarioOverrides) -> Result<Scenario, Flaw> {
    let peaks = [("attempts", Peak::Attempts), ("served", Peak::Served)];
    let seed = reader.count("seed", (0, u32::MAX))?.map_or(1, u64::from);
    let runs = reader.count("runs", (1, MAX_RUNS))?.unwrap_or(RUNS);
    Ok(Scenario {
        name: reader.text("title")?.unwrap_or(name).to_owned(),
        about: reader.text("about")?.unwrap_or("a scenario of your own").to_owned(),
        lesson: reader.text("lesson")?.unwrap_or_default().to_owned(),
        seed: given.options.seed.unwrap_or(seed),
        runs: given.options.runs.unwrap_or(runs),
        peak: reader.word("peak", &peaks)?.unwrap_or(Peak::Attempts),
        ..Scenario::default()
    })
}

/// Everything but the frame.
struct Parts {
    arrivals: Vec<ArrivalProcess>,
    bystanders: Vec<Bystanders>,
    hop: Hop,
    backend: Backend,
    faults: Vec<Fault>,
    fleet: Fleet,
    watch: MeasurementPlan,
    layers: Vec<Layer>,
}

type Parameters = Vec<(String, String)>;

fn case(
    reader: &Reader<'_, '_>,
    given: &ScenarioOverrides,
    (label, value): (String, f64),
) -> Result<(ScenarioCase, Parameters), Flaw> {
    let backend = server::read(reader)?;
    let faults = fault::read(reader, &backend)?;
    let policies = named_policies(reader)?;
    let laws = with_given(laws::read(reader)?, given);
    let defaults = (laws.schedule, laws.timeout);
    let (layers, mut used) = layer::read(reader, &policies, defaults)?;
    let bystanders = bystanders::read(reader, &policies, defaults, &mut used)?;
    let parts = Parts {
        arrivals: arrivals::read(reader)?,
        bystanders,
        hop: server::network(reader)?,
        watch: watch::read(reader, &faults)?,
        fleet: fleet::read(reader)?,
        backend,
        faults,
        layers,
    };
    // These are read for the whole file, and are no unknown keys here.
    for key in ["title", "about", "lesson", "seed", "runs", "peak", "vary", "policy"] {
        reader.value(key);
    }
    reader.done()?;
    let own = policies.into_iter().filter(|(name, _)| !used.contains(name));
    let compared = compared(&laws, given, own.collect())
        .map_err(|error| Flaw::new(0..0, error.to_string()))?;
    let case = ScenarioCase {
        outages: outages(&parts.faults),
        capacity: capacity(&parts.backend),
        entries: compared.iter().map(|(name, caller)| entry(&parts, name, caller)).collect(),
        ..ScenarioCase::new(label, value)
    };
    let timeout = laws.timeout.map(|timeout| ("timeout".to_owned(), timeout.to_string()));
    Ok((case, laws.schedule.parameters().into_iter().chain(timeout).collect()))
}

fn with_given(laws: Laws, given: &ScenarioOverrides) -> Laws {
    let options = &given.options;
    Laws {
        laws: if options.laws.is_empty() { laws.laws } else { options.laws.clone() },
        schedule: options.schedule(laws.schedule),
        timeout: laws.timeout,
        equal: given.equal.unwrap_or(laws.equal),
    }
}

/// Never to retry, the laws, the policies of the file and those of the command line.
fn compared(
    laws: &Laws,
    given: &ScenarioOverrides,
    own: Vec<(String, Policy)>,
) -> Result<Vec<(String, CallerLayer)>, stagger_core::ConfigError> {
    let policies = own.into_iter().chain(given.options.policies.iter().cloned()).collect();
    let options = StormOptions {
        laws: Vec::new(),
        policies: Vec::new(),
        equal: laws.equal,
        ..given.options.clone()
    };
    let mut all = options.callers(&laws.laws, &laws.schedule)?;
    if let Some(timeout) = laws.timeout {
        for (_, caller) in &mut all {
            *caller = caller.clone().with_timeout(timeout);
        }
    }
    let own: Vec<(String, Policy)> = policies;
    all.extend(own.into_iter().map(|(name, policy)| (name, CallerLayer::new(policy))));
    Ok(all)
}

fn entry(parts: &Parts, name: &str, caller: &CallerLayer) -> ScenarioEntry {
    // The row that shows what happens without retries has none in any layer.
    let never = name == Law::NoRetry.name();
    let layer = |layer: &Layer| match layer {
        Layer::Compared => caller.clone(),
        Layer::Settled(settled) if never => single_attempt(settled),
        Layer::Settled(settled) => (**settled).clone(),
    };
    let callers = parts.layers.iter().map(layer).map(|caller| asking(caller, parts.fleet.ledger));
    let other = |other: &Bystanders| Bystanders {
        caller: asking(other.caller.clone(), parts.fleet.ledger),
        ..other.clone()
    };
    let plan = RunPlan {
        arrivals: parts.arrivals.clone(),
        hop: parts.hop,
        callers: callers.collect(),
        fleet: parts.fleet,
        backend: parts.backend,
        faults: parts.faults.clone(),
        bystanders: parts.bystanders.iter().map(other).collect(),
        watch: parts.watch,
    };
    ScenarioEntry { name: name.to_owned(), play: Play::Run(Box::new(plan)) }
}

/// The same caller with one attempt a call.
fn single_attempt(caller: &CallerLayer) -> CallerLayer {
    let policy = caller.policy.to_builder().max_attempts(1).build();
    CallerLayer { policy: policy.expect("one attempt breaks no other bound"), ..caller.clone() }
}

/// The engine asks a ledger for a retry only when the policy has a budget, so one of another kind
/// needs some budget in the policy.
fn asking(caller: CallerLayer, ledger: LedgerModel) -> CallerLayer {
    let free = *caller.policy.budget() == stagger_core::budget::BudgetPlan::Unlimited;
    if ledger == LedgerModel::Engine || !free {
        return caller;
    }
    let policy = caller.policy.to_builder().budget(*Policy::default().budget()).build();
    CallerLayer { policy: policy.expect("a budget breaks no other bound"), ..caller }
}

fn outages(faults: &[Fault]) -> Vec<(Instant, Instant)> {
    let ends = faults.iter().filter(|fault| fault.until < Instant::FAR);
    ends.map(|fault| (fault.from, fault.until)).collect()
}

/// Workers over their mean time, of all shards.
fn capacity(backend: &Backend) -> Option<f64> {
    let (workers, mean) = (backend.workers?, backend.service.mean());
    let each = f64::from(workers.count) / mean.as_secs_f64();
    (mean > Span::ZERO).then_some(each * f64::from(backend.shards))
}

/// The tables `[policy.NAME]` below this one.
fn named_policies(reader: &Reader<'_, '_>) -> Result<Vec<(String, Policy)>, Flaw> {
    let Some(tables) = reader.table("policy")? else { return Ok(Vec::new()) };
    let read = |(name, value)| Ok((str::to_owned(name), engine(&tables.name(name), value)?));
    tables.names().map(read).collect()
}
