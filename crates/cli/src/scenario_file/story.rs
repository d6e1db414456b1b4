//! The whole file: its parts put together to a scenario, and `[watch]`, the stretch that its figures are of.

use stagger_core::{Instant, Policy, Ratio, Span};
use stagger_sim::{
    ArrivalProcess, Backend, Bystanders, CallerLayer, Equal, Fault, FirstTriesRule, Fleet, Hop,
    Law, LedgerModel, MeasurementPlan, Peak, Play, Propagation, Recovery, RunPlan, Scenario,
    ScenarioCase, ScenarioEntry, StormOptions, Stretch, Users,
};
use stagger_text::settings::{Document, Flaw, Reader, engine};

use super::arrivals::{self, instant};
use super::laws::{self, Laws, Layer};
use super::rows::{self, OwnRow};
use super::{server, users};

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
    let Some(varied) = laws::read_vary(&reader)? else {
        let (case, parameters) = case(document, given, (String::new(), 0.0))?;
        scenario.parameters = parameters;
        scenario.cases.push(case);
        return Ok(scenario);
    };
    for (number, value) in varied.values.iter().enumerate() {
        let changed = document.with(varied.key, (*value).clone());
        let changed = changed.map_err(|why| Flaw::new(value.span(), format!("vary.{why}")))?;
        let (label, place) = laws::place(value.get_ref(), number);
        let place = (format!("{} {label}", varied.key), place);
        let reader = changed.reader();
        frame(name, &reader, given)?;
        laws::read_vary(&reader)?;
        let (case, parameters) = case(&changed, given, place)?;
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
    propagation: Propagation,
    users: Users,
    laws: Laws,
    policies: Vec<(String, Policy)>,
    /// The names of policies that are no rows, because layers, bystanders or rows use them.
    used: Vec<String>,
}

const PROPAGATION: [(&str, Propagation); 2] =
    [("none", Propagation::None), ("deadline", Propagation::Deadline)];

type Parameters = Vec<(String, String)>;

fn case(
    document: &Document<'_>,
    given: &ScenarioOverrides,
    (label, value): (String, f64),
) -> Result<(ScenarioCase, Parameters), Flaw> {
    let reader = document.reader();
    let mut parts = parts(&reader, given)?;
    let own_rows = rows::read(&reader)?;
    let mut own_entries = Vec::new();
    for row in &own_rows {
        own_entries.push(own_entry(document, row, given, &mut parts.used)?);
    }
    // These are read for the whole file, and are no unknown keys here.
    for key in ["title", "about", "lesson", "seed", "runs", "peak", "vary", "policy"] {
        reader.value(key);
    }
    reader.done()?;
    let asked = compared(&parts, given).map_err(|error| Flaw::new(0..0, error.to_string()))?;
    let asked = asked.iter().map(|(name, caller)| entry(&parts, name, caller));
    let flags = given.options.policies.iter();
    let flags = flags.map(|(name, policy)| entry(&parts, name, &CallerLayer::new(*policy)));
    let entries = asked.chain(own_entries).chain(flags).collect();
    let case = ScenarioCase {
        outages: outages(&parts.faults),
        capacity: capacity(&parts.backend),
        ..ScenarioCase::new(label, value, entries)
    };
    let timeout = parts.laws.timeout.map(|timeout| ("timeout".to_owned(), timeout.to_string()));
    Ok((case, parts.laws.schedule.parameters().into_iter().chain(timeout).collect()))
}

fn parts(reader: &Reader<'_, '_>, given: &ScenarioOverrides) -> Result<Parts, Flaw> {
    let backend = server::read(reader)?;
    let faults = server::read_faults(reader, &backend)?;
    let policies = named_policies(reader)?;
    let laws = with_given(laws::read(reader)?, given);
    let defaults = (laws.schedule, laws.timeout);
    let (layers, mut used) = laws::read_layers(reader, &policies, defaults)?;
    let bystanders = arrivals::read_bystanders(reader, &policies, defaults, &mut used)?;
    Ok(Parts {
        arrivals: arrivals::read(reader)?,
        bystanders,
        hop: server::network(reader)?,
        watch: read_watch(reader, &faults)?,
        fleet: server::read_fleet(reader)?,
        backend,
        faults,
        layers,
        propagation: reader.word("propagation", &PROPAGATION)?.unwrap_or_default(),
        users: users::read(reader)?,
        laws,
        policies,
        used,
    })
}

/// A row with settings of its own: the file with these settings, for its caller alone.
fn own_entry<'t>(
    document: &Document<'t>,
    row: &OwnRow<'_, 't>,
    given: &ScenarioOverrides,
    used: &mut Vec<String>,
) -> Result<ScenarioEntry, Flaw> {
    let changed = row.changed(document)?;
    let parts = parts(&changed.reader(), given)?;
    let defaults = (parts.laws.schedule, parts.laws.timeout);
    let caller = row.caller(&parts.policies, defaults, used)?;
    used.extend(parts.used.iter().cloned());
    Ok(entry(&parts, row.name, &caller))
}

fn with_given(laws: Laws, given: &ScenarioOverrides) -> Laws {
    let options = &given.options;
    Laws {
        laws: if options.laws.is_empty() { laws.laws } else { options.laws.clone() },
        schedule: options.schedule(laws.schedule),
        timeout: laws.timeout,
        equal: given.equal.unwrap_or(laws.equal),
        criticality: laws.criticality,
    }
}

/// Never to retry, the laws, and the policies of the file that nothing else uses.
fn compared(
    parts: &Parts,
    given: &ScenarioOverrides,
) -> Result<Vec<(String, CallerLayer)>, stagger_core::ConfigError> {
    let laws = &parts.laws;
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
    let own = parts.policies.iter().filter(|(name, _)| !parts.used.contains(name));
    all.extend(own.map(|(name, policy)| (name.clone(), CallerLayer::new(*policy))));
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
    let criticality = parts.laws.criticality;
    let callers = parts
        .layers
        .iter()
        .map(layer)
        .map(|caller| CallerLayer { criticality, ..asking(caller, parts.fleet.ledger) });
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
        propagation: parts.propagation,
        users: parts.users,
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

/// Some hours of buckets are more than anybody waits for.
const MAX_ROW: u32 = 10_000;

/// From the end of the last fault on, until the last call is served, unless the table says otherwise.
pub(super) fn read_watch(
    reader: &Reader<'_, '_>,
    faults: &[Fault],
) -> Result<MeasurementPlan, Flaw> {
    let ends = faults.iter().map(|fault| fault.until).filter(|&until| until < Instant::FAR);
    let last = ends.max().unwrap_or(Instant::ORIGIN);
    let Some(table) = reader.table("watch")? else {
        return Ok(watch(last, None, Recovery::Drained));
    };
    let edge = instant(&table, "edge")?.unwrap_or(last);
    let from = instant(&table, "peak_from")?;
    let recovery = recovery(&table)?;
    table.done()?;
    Ok(watch(edge, from, recovery))
}

fn watch(edge: Instant, from: Option<Instant>, recovery: Recovery) -> MeasurementPlan {
    let before = Stretch { from: Instant::ORIGIN, until: edge };
    MeasurementPlan {
        evenness_in: None,
        edge,
        peak_from: from,
        retries_in: if edge > Instant::ORIGIN { before } else { Stretch::ALWAYS },
        recovery,
    }
}

fn recovery(table: &Reader<'_, '_>) -> Result<Recovery, Flaw> {
    let first_tries = table.word("recovery", &[("drained", false), ("first-tries", true)])?;
    let bucket = table.above_zero("bucket")?;
    let row = table.count("row", (1, MAX_ROW))?;
    let share = table.ratio("share", (0.0, 1.0))?;
    let within = table.span("within")?;
    if first_tries == Some(true) {
        return Ok(Recovery::FirstTries(FirstTriesRule {
            bucket: bucket.unwrap_or(Span::from_millis(500)),
            row: row.unwrap_or(10),
            share: share.unwrap_or(Ratio::from_percent(99)),
            within: within.unwrap_or(Span::from_secs(70)),
        }));
    }
    for (key, given) in [
        ("bucket", bucket.is_some()),
        ("row", row.is_some()),
        ("share", share.is_some()),
        ("within", within.is_some()),
    ] {
        if given {
            return Err(table.wrong(key, "set together with recovery = \"first-tries\""));
        }
    }
    Ok(Recovery::Drained)
}
