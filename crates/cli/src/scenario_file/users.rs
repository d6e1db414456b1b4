//! `[users]`: the patience of people, and their clicks after a failure.

use stagger_sim::{Abandonment, Clicks, Users};
use stagger_text::settings::{Flaw, Reader};

#[derive(Clone, Copy, PartialEq, Eq)]
enum PatienceLaw {
    Fixed,
    Exponential,
    Lognormal,
}

const LAWS: [(&str, PatienceLaw); 3] = [
    ("fixed", PatienceLaw::Fixed),
    ("exponential", PatienceLaw::Exponential),
    ("lognormal", PatienceLaw::Lognormal),
];

/// More clicks than this are a program, not a person.
const MAX_CLICKS: u32 = 1_000;

/// Users who wait for as long as their policy does, and accept a failure, unless the table says otherwise.
pub(super) fn read(reader: &Reader<'_, '_>) -> Result<Users, Flaw> {
    let Some(table) = reader.table("users")? else { return Ok(Users::default()) };
    let users = Users { patience: patience(&table)?, clicks: clicks(&table)? };
    table.done()?;
    Ok(users)
}

fn patience(table: &Reader<'_, '_>) -> Result<Option<Abandonment>, Flaw> {
    let mean = table.above_zero("patience")?;
    let law = table.word("patience_law", &LAWS)?;
    let sigma = table.ratio("sigma", (0.01, 5.0))?;
    if sigma.is_some() != (law == Some(PatienceLaw::Lognormal)) {
        return Err(table.wrong("sigma", "set where patience_law is lognormal alone"));
    }
    let Some(mean) = mean else {
        return match law {
            None => Ok(None),
            Some(_) => Err(table.wrong("patience_law", "set together with patience")),
        };
    };
    Ok(Some(match (law, sigma) {
        (Some(PatienceLaw::Exponential), _) => Abandonment::Exponential(mean),
        (_, Some(sigma)) => Abandonment::Lognormal { mean, sigma },
        _ => Abandonment::Fixed(mean),
    }))
}

fn clicks(users: &Reader<'_, '_>) -> Result<Option<Clicks>, Flaw> {
    let Some(table) = users.table("clicks")? else { return Ok(None) };
    let clicks = Clicks {
        share: table.need("share", table.ratio("share", (0.0, 1.0))?)?,
        after: table.need("after", table.span("after")?)?,
        most: table.count("most", (1, MAX_CLICKS))?.unwrap_or(10),
    };
    table.done()?;
    Ok(Some(clicks))
}
