//! `[laws]`: which laws are compared, and under which schedule.

use stagger_core::Span;
use stagger_sim::{Equal, Law, Schedule};
use stagger_text::nearest;

use crate::toml_file::{Flaw, Reader, Value, refused, shown};

/// Beyond some thousand attempts a call is a loop, and a slip of a digit would run for hours.
pub(super) const MAX_ATTEMPTS: u32 = 10_000;

/// The laws that are compared.
#[derive(Clone, Debug)]
pub(super) struct Laws {
    pub(super) laws: Vec<Law>,
    pub(super) schedule: Schedule,
    pub(super) timeout: Option<Span>,
    pub(super) equal: Equal,
}

/// Five laws of the default schedule, unless the table says otherwise.
pub(super) fn read(reader: &Reader<'_, '_>) -> Result<Laws, Flaw> {
    let usual = [Law::Fixed, Law::None, Law::Equal, Law::Full, Law::Decorrelated].to_vec();
    let Some(table) = reader.table("laws")? else {
        let (schedule, equal) = (Schedule::default(), Equal::default());
        return Ok(Laws { laws: usual, schedule, timeout: None, equal });
    };
    let laws = names(&table)?.unwrap_or(usual);
    let schedule = schedule(&table, Schedule::default())?;
    let timeout = table.above_zero("timeout")?;
    let equal = table.word("equal", &EQUAL)?.unwrap_or_default();
    table.done()?;
    Ok(Laws { laws, schedule, timeout, equal })
}

const EQUAL: [(&str, Equal); 2] = [("attempts", Equal::Attempts), ("mean-wait", Equal::MeanWait)];

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
