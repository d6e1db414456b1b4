//! A picture as plain data: what is drawn, not how.

use crate::style::{Style, Weight};

/// One picture: panels side by side that share their axes, and the words around them.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// The kind of picture, which decides how its panels are set.
    pub kind: ChartKind,
    /// Its heading.
    pub title: String,
    /// The subject, with the parameters, the seed and the number of runs.
    pub caption: String,
    /// The figures that matter in words, for people who do not see the picture.
    pub alt: String,
    /// A sentence on how to read it.
    pub reading: &'static str,
    /// The keys of its lines and areas.
    pub keys: Vec<LegendKey>,
    /// The panels, in reading order.
    pub panels: Vec<Panel>,
}

/// The sorts of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartKind {
    /// Single instants, one strip an entry.
    Strips,
    /// Levels over time, one small panel an entry.
    Areas,
    /// Lines over what the cases vary.
    Lines,
    /// Coloured cells, one panel an entry.
    Cells,
    /// The way of a run through a plane, one panel an entry.
    Paths,
}

/// One line of the legend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegendKey {
    /// The meaning.
    pub name: String,
    /// The swatch before the name.
    pub style: Style,
    /// As what.
    pub swatch: Swatch,
}

/// The swatch that a key shows before its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swatch {
    /// A piece of the line, with its dot if it has one.
    Line,
    /// A filled square.
    Area(Weight),
    /// A square in the shade of an outage.
    Shade,
    /// A cell of a heat map in which so many runs of a hundred healed.
    Cell(u8),
}

/// One plane with two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The entry's name; empty when the chart has only one.
    pub title: String,
    /// The style of its entry in the other pictures.
    pub style: Option<Style>,
    /// A figure beside the title: the peak.
    pub note: String,
    /// The axis along the bottom.
    pub x: Axis,
    /// The axis up the side.
    pub y: Axis,
    /// Shaded stretches of the x axis: outages.
    pub shades: Vec<(f64, f64)>,
    /// Areas, the lowest first.
    pub bands: Vec<Band>,
    /// Lines and dots.
    pub series: Vec<Series>,
    /// Straight lines right across.
    pub references: Vec<Reference>,
    /// Coloured cells.
    pub cells: Vec<HeatCell>,
}

/// One axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// The quantity; empty for an axis without numbers.
    pub label: String,
    /// The unit; empty for none.
    pub unit: String,
    /// The value at its start.
    pub from: f64,
    /// The value at its end; above `from`.
    pub to: f64,
    /// Whether equal steps are equal factors; both ends are above zero then.
    pub log: bool,
    /// Whether there is a place above the end for what never happened: for values without bound.
    pub never: bool,
    /// Names instead of numbers, one for each whole number from 0.
    pub names: Vec<String>,
}

/// An area between two values.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// The style.
    pub style: Style,
    /// The weight.
    pub weight: Weight,
    /// Whether a point holds until the next one, as a bucket does.
    pub steps: bool,
    /// Place, lower and upper value.
    pub points: Vec<(f64, f64, f64)>,
}

/// A line, or dots.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The name.
    pub name: String,
    /// The style.
    pub style: Style,
    /// The shape.
    pub shape: Shape,
    /// Place and value. A value without bound is "never".
    pub points: Vec<(f64, f64)>,
}

/// The shapes of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A line through all points, with a dot on each.
    Dotted,
    /// A line through all points.
    Line,
    /// A line on which a point holds until the next one.
    Steps,
    /// One dot a point, each at a height of its own so that many at one place are seen as many.
    Dust,
    /// A line with its beginning and its end marked.
    Way,
}

/// A straight line right across a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The words beside it; empty when a key says it.
    pub name: String,
    /// The value at which it stands.
    pub at: f64,
    /// The axis that it follows.
    pub along: Along,
    /// The style.
    pub style: Style,
}

/// The direction of a reference line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// Level, at a value of y.
    X,
    /// Upright, at a value of x.
    Y,
}

/// One cell of a heat map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeatCell {
    /// Its column, from 0.
    pub column: usize,
    /// Its row, from 0 at the bottom.
    pub row: usize,
    /// The share of runs that healed, from 0 to 1; `None` where nothing was played.
    pub healed: Option<f64>,
}

impl Axis {
    /// Numbers from `from` to `to`, evenly.
    #[must_use]
    pub fn linear(label: &str, unit: &str, from: f64, to: f64) -> Self {
        let to = if to > from { to } else { from + 1.0 };
        Self { label: label.into(), unit: unit.into(), from, to, ..Self::default() }
    }

    /// Numbers from `from` to `to` by equal factors; both are moved above zero.
    #[must_use]
    pub fn log(label: &str, unit: &str, from: f64, to: f64) -> Self {
        let from = from.max(LEAST_LOG);
        Self { log: true, ..Self::linear(label, unit, from, to.max(from * 2.0)) }
    }

    /// Names in a row.
    #[must_use]
    pub fn named(label: &str, names: Vec<String>) -> Self {
        // OK because an axis has far fewer than 2^53 names.
        #[expect(clippy::cast_precision_loss, reason = "a handful of names")]
        let to = names.len() as f64;
        Self { names, ..Self::linear(label, "", 0.0, to) }
    }

    /// Label and unit as one text: `recovery [s]`.
    #[must_use]
    pub fn title(&self) -> String {
        match (self.label.as_str(), self.unit.as_str()) {
            (label, "") => label.to_owned(),
            (label, unit) => format!("{label} [{unit}]"),
        }
    }
}

impl Panel {
    /// A plane without anything in it.
    #[must_use]
    pub fn new(x: Axis, y: Axis) -> Self {
        Self {
            title: String::new(),
            style: None,
            note: String::new(),
            x,
            y,
            shades: Vec::new(),
            bands: Vec::new(),
            series: Vec::new(),
            references: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// The same plane, as the one of this entry.
    #[must_use]
    pub fn of(mut self, title: &str, style: Style) -> Self {
        title.clone_into(&mut self.title);
        self.style = Some(style);
        self
    }
}

/// A logarithmic axis begins no lower: a nanosecond, where times are in seconds.
const LEAST_LOG: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_a_length_whatever_it_is_given() {
        let flat = Axis::linear("rate", "1/s", 3.0, 3.0);
        assert!(flat.to > flat.from);
        let nothing = Axis::log("recovery", "s", 0.0, 0.0);
        assert!(nothing.from > 0.0 && nothing.to > nothing.from);
        assert_eq!(nothing.title(), "recovery [s]");
    }
}
