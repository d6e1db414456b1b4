//! `[laws]`, `[[layer]]` and `[vary]`: the laws that are compared, services that call services, and the values of one key.

use stagger_core::{Policy, Span};
use stagger_sim::{CallerLayer, Criticality, Equal, Law, Schedule};
use stagger_text::nearest;
use stagger_text::settings::{Flaw, Reader, Value, refused, shown};
use toml::de::DeValue;

/// Beyond some thousand attempts a call is a loop, and a slip of a digit would run for hours.
pub(super) const MAX_ATTEMPTS: u32 = 10_000;

/// The laws that are compared.
#[derive(Clone, Debug)]
pub(super) struct Laws {
    pub(super) laws: Vec<Law>,
    pub(super) schedule: Schedule,
    pub(super) timeout: Option<Span>,
    pub(super) equal: Equal,
    pub(super) criticality: Criticality,
}

/// Five laws of the default schedule, unless the table says otherwise.
pub(super) fn read(reader: &Reader<'_, '_>) -> Result<Laws, Flaw> {
    let usual = [Law::Fixed, Law::None, Law::Equal, Law::Full, Law::Decorrelated].to_vec();
    let Some(table) = reader.table("laws")? else {
        let (schedule, equal) = (Schedule::default(), Equal::default());
        let criticality = Criticality::default();
        return Ok(Laws { laws: usual, schedule, timeout: None, equal, criticality });
    };
    let laws = names(&table)?.unwrap_or(usual);
    let schedule = schedule(&table, Schedule::default())?;
    let timeout = table.above_zero("timeout")?;
    let equal = table.word("equal", &EQUAL)?.unwrap_or_default();
    let criticality = criticality(&table)?;
    table.done()?;
    Ok(Laws { laws, schedule, timeout, equal, criticality })
}

const EQUAL: [(&str, Equal); 2] = [("attempts", Equal::Attempts), ("mean-wait", Equal::MeanWait)];

const CRITICALITIES: [(&str, Criticality); 4] = [
    ("critical-plus", Criticality::CriticalPlus),
    ("critical", Criticality::Critical),
    ("sheddable-plus", Criticality::SheddablePlus),
    ("sheddable", Criticality::Sheddable),
];

/// The importance of the calls of a table.
pub(super) fn criticality(table: &Reader<'_, '_>) -> Result<Criticality, Flaw> {
    Ok(table.word("criticality", &CRITICALITIES)?.unwrap_or_default())
}

/// Base, cap and attempts of a table.
pub(super) fn schedule(table: &Reader<'_, '_>, default: Schedule) -> Result<Schedule, Flaw> {
    let base = table.span("base")?.unwrap_or(default.base);
    let cap = table.span("cap")?.unwrap_or(default.cap);
    let attempts = table.count("attempts", (1, MAX_ATTEMPTS))?.unwrap_or(default.attempts);
    if cap < base {
        return Err(table.wrong("cap", &format!("at least base ({base})")));
    }
    Ok(Schedule { base, cap, attempts })
}

fn names(table: &Reader<'_, '_>) -> Result<Option<Vec<Law>>, Flaw> {
    let Some(list) = table.list("names")? else { return Ok(None) };
    let law = |value: &Value<'_>| {
        let name = shown(value.get_ref());
        Law::named(&name).ok_or_else(|| {
            let all = Law::ALL.map(Law::name);
            let near = nearest(&name, all.into_iter());
            let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            refused(&table.name("names"), value, &format!("one of {}{near}", all.join(", ")))
        })
    };
    list.into_iter().map(law).collect::<Result<Vec<Law>, Flaw>>().map(Some)
}

/// Each multiplies the attempts of the one before it.
const MAX_LAYERS: usize = 8;

/// One service.
#[derive(Clone, Debug)]
pub(super) enum Layer {
    /// The one whose law or policy is compared.
    Compared,
    /// One that always retries in the same way.
    Settled(Box<CallerLayer>),
}

/// The layers, and the names of the policies that they use. One compared layer when none is written.
pub(super) fn read_layers(
    reader: &Reader<'_, '_>,
    policies: &[(String, Policy)],
    defaults: (Schedule, Option<Span>),
) -> Result<(Vec<Layer>, Vec<String>), Flaw> {
    let tables = reader.tables("layer")?;
    if tables.is_empty() {
        return Ok((vec![Layer::Compared], Vec::new()));
    }
    if tables.len() > MAX_LAYERS {
        return Err(reader.wrong("layer", &format!("at most {MAX_LAYERS} layers")));
    }
    let mut used = Vec::new();
    let mut layers = Vec::new();
    for table in &tables {
        layers.push(match settled(table, policies, defaults, &mut used)? {
            Some(caller) => Layer::Settled(Box::new(caller)),
            None => Layer::Compared,
        });
        table.done()?;
    }
    if !layers.iter().any(|layer| matches!(layer, Layer::Compared)) {
        return Err(
            reader.wrong("layer", "a list in which one has neither law nor policy: it is compared")
        );
    }
    Ok((layers, used))
}

/// The caller that a table names by its law, its policy or a preset; `None` where it names none. The
/// names of policies go to `used`.
pub(super) fn settled(
    table: &Reader<'_, '_>,
    policies: &[(String, Policy)],
    defaults: (Schedule, Option<Span>),
    used: &mut Vec<String>,
) -> Result<Option<CallerLayer>, Flaw> {
    let law = table.word("law", &Law::ALL.map(|law| (law.name(), law)))?;
    let policy = table.text("policy")?;
    let preset = table.text("preset")?;
    match (law, policy, preset) {
        (None, None, None) => Ok(None),
        (Some(law), None, None) => {
            let schedule = schedule(table, defaults.0)?;
            let caller = law.caller(&schedule).map_err(|error| table.flaw(&error.to_string()))?;
            timed(table, caller, defaults.1).map(Some)
        }
        (None, Some(name), None) => match policies.iter().find(|(known, _)| known == name) {
            Some((_, policy)) => {
                used.push(name.to_owned());
                Ok(Some(CallerLayer::new(*policy)))
            }
            None => Err(table.wrong("policy", "the name of a table [policy.NAME]")),
        },
        (None, None, Some(name)) => {
            let policy = Policy::preset(name);
            let policy = policy.map_err(|error| table.wrong("preset", error.bound()))?;
            timed(table, CallerLayer::new(policy), defaults.1).map(Some)
        }
        _ => Err(table.flaw("must have at most one of law, policy and preset")),
    }
}

/// The caller with the timeout of this table, or else with that of all laws.
fn timed(
    table: &Reader<'_, '_>,
    caller: CallerLayer,
    default: Option<Span>,
) -> Result<CallerLayer, Flaw> {
    Ok(match table.above_zero("timeout")?.or(default) {
        Some(timeout) => caller.with_timeout(timeout),
        None => caller,
    })
}

/// Cases beyond this are a sweep.
const MAX_VALUES: usize = 100;

/// A key and its values.
#[derive(Debug)]
pub(super) struct Vary<'r, 't> {
    pub(super) key: &'r str,
    /// The name of an axis.
    pub(super) name: String,
    pub(super) values: Vec<&'r Value<'t>>,
}

/// The setting that is varied, if one is.
pub(super) fn read_vary<'r, 't>(reader: &Reader<'r, 't>) -> Result<Option<Vary<'r, 't>>, Flaw> {
    let Some(table) = reader.table("vary")? else { return Ok(None) };
    let key = table.need("key", table.text("key")?)?;
    let values = table.need("values", table.list("values")?)?;
    let name = table.text("name")?;
    table.done()?;
    if values.is_empty() || values.len() > MAX_VALUES {
        return Err(table.wrong("values", &format!("a list of 1 to {MAX_VALUES} values")));
    }
    let spans = values.iter().any(|value| span(value.get_ref()).is_some());
    let unit = if spans { " [s]" } else { "" };
    let name = name.map_or_else(|| format!("{key}{unit}"), str::to_owned);
    Ok(Some(Vary { key, name, values }))
}

/// The name of a value, and its place on an axis: spans in seconds, words by their number.
pub(super) fn place(value: &DeValue<'_>, number: usize) -> (String, f64) {
    let label = shown(value);
    #[expect(clippy::cast_precision_loss, reason = "at most a hundred values")]
    let place = match span(value) {
        Some(span) => span.as_secs_f64(),
        None => label.parse().unwrap_or(number as f64),
    };
    (label, place)
}

fn span(value: &DeValue<'_>) -> Option<Span> {
    if let DeValue::String(text) = value { text.parse().ok() } else { None }
}
