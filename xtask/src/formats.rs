//! The formats of other products: `cargo xtask formats`.

use std::error::Error;
use std::fmt;

use stagger_testkit::formats::{FormatReport, report};
use xtask_workbench::Format;

/// Imports and exports every settings file; false when a format drops something.
pub(crate) fn run(format: Format) -> Result<bool, Box<dyn Error>> {
    let rows = report();
    format.show(&rows, &FormatTable(&rows))?;
    Ok(!rows.is_empty() && rows.iter().all(FormatReport::is_good))
}

struct FormatTable<'a>(&'a [FormatReport]);

impl fmt::Display for FormatTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:14} {:>5} {:>8} {:>15} {:>10}",
            "format", "files", "imported", "left out listed", "round trip"
        )?;
        for row in self.0 {
            let trip = row.round_trip.map_or("-", |good| if good { "yes" } else { "NO" });
            let listed = if row.left_out_listed { "yes" } else { "NO" };
            writeln!(
                f,
                "{:14} {:>5} {:>8} {listed:>15} {trip:>10}",
                row.format, row.files, row.imported
            )?;
            row.flaws.iter().try_for_each(|flaw| writeln!(f, "    {flaw}"))?;
        }
        Ok(())
    }
}
