//! The places of panels, axes, keys and words.

use super::axes::{self, Plane};
use super::canvas::{self, Anchor, Canvas, Frame, Item, NORMAL, Paint, RIGHT, SMALL};
use super::series;
use crate::chart::{Chart, ChartKind, LegendKey, Panel, Swatch};
use crate::style::{Dot, Ink, Weight};

/// Bold letters are so much wider.
const BOLD: f64 = 1.12;
/// Room between the name of a panel and its figure.
const APART: f64 = 10.0;
/// Room above a panel for its name.
const NAME: f64 = 18.0;
/// Room below a panel for the numbers of its axis, and below the last one for its label too.
const NUMBERS: f64 = 17.0;
const LABEL: f64 = 17.0;

/// The shapes of a chart.
pub(crate) fn canvas(chart: &Chart, frame: &Frame) -> Canvas {
    let mut canvas = Canvas::new(frame.width);
    let mut top = 0.0;
    if frame.titled {
        top += heading(&mut canvas, &chart.title);
    }
    top += draw(&mut canvas, &chart.keys, top);
    top = panels(&mut canvas, chart, frame, top);
    if frame.titled {
        top += words(&mut canvas, &chart.caption, top + 22.0);
    }
    canvas.height = libm::ceil(top + 4.0);
    canvas
}

fn heading(canvas: &mut Canvas, title: &str) -> f64 {
    canvas.text((0.0, 18.0), title, 17.0, Anchor::Start, Paint::Ink(Ink::Text), true);
    32.0
}

fn words(canvas: &mut Canvas, text: &str, top: f64) -> f64 {
    let lines = canvas::wrapped(text, NORMAL, canvas.width);
    let mut y = top;
    for line in &lines {
        canvas.soft((0.0, y), line, NORMAL, Anchor::Start);
        y += 17.0;
    }
    y - top + 12.0
}

/// Sets all panels from `top` on and gives where they end.
fn panels(canvas: &mut Canvas, chart: &Chart, frame: &Frame, top: f64) -> f64 {
    let Some(first) = chart.panels.first() else {
        canvas.soft((0.0, top + 16.0), "Nothing to draw.", NORMAL, Anchor::Start);
        return top + 24.0;
    };
    let grid = PanelGrid::new(chart, frame, top);
    if !first.y.label.is_empty() && grid.shares_y(chart) {
        canvas.soft((0.0, top + 10.0), &first.y.title(), SMALL, Anchor::Start);
    }
    for (index, panel) in chart.panels.iter().enumerate() {
        let below = chart.panels.get(index + grid.columns);
        let plane = grid.plane(index);
        if !grid.shares_y(chart) {
            let above = plane.top - grid.name + 10.0;
            canvas.soft((0.0, above), &panel.y.title(), SMALL, Anchor::Start);
        }
        let numbered = below.is_none() || chart.kind == ChartKind::Cells;
        series::beneath(canvas, panel, &plane);
        axes::draw(
            canvas,
            panel,
            &plane,
            axes::Numbers { x: numbered, y: index % grid.columns == 0 },
        );
        series::draw(canvas, panel, &plane);
        name(canvas, panel, &plane, &grid);
    }
    let end = grid.end(chart.panels.len());
    let middle = grid.left + (frame.width - RIGHT - grid.left) / 2.0;
    canvas.soft((middle, end + NUMBERS + 13.0), &first.x.title(), SMALL, Anchor::Middle);
    let labelled = if first.x.label.is_empty() { 0.0 } else { LABEL };
    end + NUMBERS + labelled
}

fn name(canvas: &mut Canvas, panel: &Panel, plane: &Plane, grid: &PanelGrid) {
    if grid.beside {
        let y = plane.top + plane.height / 2.0 + 4.0;
        axes::swatch(canvas, panel, (5.0, y - 4.0));
        let paint = Paint::Ink(Ink::Text);
        let title = canvas::shortened(&panel.title, NORMAL, plane.left - 24.0);
        canvas.text((16.0, y), &title, NORMAL, Anchor::Start, paint, false);
        return;
    }
    if panel.title.is_empty() {
        return;
    }
    let y = plane.top - 6.0;
    axes::swatch(canvas, panel, (plane.left + 5.0, y - 4.0));
    let paint = Paint::Ink(Ink::Text);
    let room = plane.width - 14.0;
    let fits =
        canvas::width(&panel.title, NORMAL) * BOLD + canvas::width(&panel.note, SMALL) + APART
            < room;
    let title = canvas::shortened(&panel.title, NORMAL * BOLD, room);
    canvas.text((plane.left + 14.0, y), &title, NORMAL, Anchor::Start, paint, true);
    if fits {
        canvas.soft((plane.left + plane.width, y), &panel.note, SMALL, Anchor::End);
    }
}

/// The rows and columns in which panels stand.
struct PanelGrid {
    columns: usize,
    left: f64,
    top: f64,
    /// Room for the name above each panel.
    name: f64,
    /// Whether names stand to the left instead.
    beside: bool,
    width: f64,
    height: f64,
    gap: (f64, f64),
}

impl PanelGrid {
    fn new(chart: &Chart, frame: &Frame, top: f64) -> Self {
        let beside = chart.kind == ChartKind::Strips && !frame.is_narrow();
        let left = if beside { names_width(chart, frame) } else { numbers_width(chart, frame) };
        let gap = match chart.kind {
            ChartKind::Strips => (0.0, 5.0),
            ChartKind::Cells => (22.0, NUMBERS + 10.0),
            ChartKind::Lines => (16.0, 26.0),
            _ => (16.0, 12.0),
        };
        let named = chart.panels.iter().any(|panel| !panel.title.is_empty());
        let name = if beside || !(named || chart.kind == ChartKind::Lines) { 4.0 } else { NAME };
        let labelled = chart.panels.first().is_some_and(|panel| !panel.y.label.is_empty());
        // The label of the y axis stands above the first row, and beside no name.
        let top = if labelled && chart.kind != ChartKind::Lines { top + LABEL } else { top };
        let across = frame.width - RIGHT - left;
        let (columns, width) = columns(chart, frame, across, gap.0);
        let height = match chart.kind {
            ChartKind::Cells => cells_height(chart),
            kind => frame.height(kind, chart.panels.len()),
        };
        Self { columns, left, top, name, beside, width, height, gap }
    }

    /// Whether one label of y is enough for all panels.
    fn shares_y(&self, chart: &Chart) -> bool {
        let same = |pair: &[Panel]| pair[0].y.title() == pair[1].y.title();
        chart.kind != ChartKind::Lines && chart.panels.windows(2).all(same)
    }

    #[expect(clippy::cast_precision_loss, reason = "at most a few hundred panels")]
    fn plane(&self, index: usize) -> Plane {
        // OK because rows and columns are few.
        let (row, column) = ((index / self.columns) as f64, (index % self.columns) as f64);
        Plane {
            left: self.left + column * (self.width + self.gap.0),
            top: self.top + self.name + row * (self.name + self.height + self.gap.1),
            width: self.width,
            height: self.height,
        }
    }

    fn end(&self, panels: usize) -> f64 {
        let last = self.plane(panels.saturating_sub(1));
        last.top + last.height
    }
}

/// The height of a row of cells, and of all of them: so that few are no pillars and many are seen.
const ROW: f64 = 18.0;
const ROWS: (f64, f64) = (30.0, 280.0);

fn cells_height(chart: &Chart) -> f64 {
    let rows = chart.panels.first().map_or(0, |panel| panel.y.names.len());
    // OK because an axis has some forty values.
    #[expect(clippy::cast_precision_loss, reason = "some forty")]
    let rows = rows as f64;
    (rows * ROW).clamp(ROWS.0, ROWS.1)
}

/// As many columns as have room for the names above them, and their width.
fn columns(chart: &Chart, frame: &Frame, across: f64, gap: f64) -> (usize, f64) {
    let names = chart.panels.iter().map(|panel| canvas::width(&panel.title, NORMAL) * BOLD + 14.0);
    let widest = names.fold(0.0, f64::max);
    let mut columns = frame.columns(chart.kind, chart.panels.len());
    loop {
        // OK because there are a few columns.
        #[expect(clippy::cast_precision_loss, reason = "at most a few")]
        let count = columns as f64;
        let width = (across - gap * (count - 1.0)) / count;
        if columns == 1 || widest <= width {
            return (columns, width);
        }
        columns -= 1;
    }
}

/// Names beside panels take so much of the width at most; the rest is for what they name.
const NAMES: f64 = 0.3;

/// Room for the names of strips.
fn names_width(chart: &Chart, frame: &Frame) -> f64 {
    let widths = chart.panels.iter().map(|panel| canvas::width(&panel.title, NORMAL));
    widths.fold(60.0, f64::max).min(NAMES * frame.width) + 24.0
}

/// Room for the numbers of y.
fn numbers_width(chart: &Chart, frame: &Frame) -> f64 {
    let widths = chart.panels.iter().map(axes::numbers_width);
    widths.fold(0.0, f64::max).clamp(10.0, NAMES * frame.width)
}

const SWATCH: f64 = 24.0;
const GAP: f64 = 18.0;
const LINE: f64 = 19.0;

/// Draws the keys from `top` on and gives the height that they take.
pub(super) fn draw(canvas: &mut Canvas, keys: &[LegendKey], top: f64) -> f64 {
    if keys.is_empty() {
        return 0.0;
    }
    let (mut x, mut y) = (0.0, top + 12.0);
    for key in keys {
        let width = SWATCH + 6.0 + canvas::width(&key.name, NORMAL);
        if x > 0.0 && x + width > canvas.width {
            (x, y) = (0.0, y + LINE);
        }
        swatch(canvas, key, (x, y - 4.0));
        let at = (x + SWATCH + 6.0, y);
        canvas.text(at, &key.name, NORMAL, Anchor::Start, Paint::Ink(Ink::Text), false);
        x += width + GAP;
    }
    y - top + 12.0
}

fn swatch(canvas: &mut Canvas, key: &LegendKey, (x, y): (f64, f64)) {
    let style = key.style;
    let square = [x + 5.0, y - 6.0, 14.0, 12.0];
    match key.swatch {
        Swatch::Line => line(canvas, key, (x, y)),
        Swatch::Area(weight) => {
            canvas.items.push(Item::Rect { place: square, paint: Paint::Ink(style.ink), weight });
        }
        Swatch::Cell(percent) => {
            series::draw_healed(canvas, square, f64::from(percent) / 100.0);
        }
        Swatch::Shade => {
            let paint = Paint::Shade;
            canvas.items.push(Item::Rect { place: square, paint, weight: Weight::Full });
        }
    }
}

fn line(canvas: &mut Canvas, key: &LegendKey, (x, y): (f64, f64)) {
    let style = key.style;
    let (points, paint) = (vec![(x, y), (x + SWATCH, y)], Paint::Ink(style.ink));
    canvas.items.push(Item::Line { points, paint, width: 1.75, dash: style.dash });
    // A disc is what a line has that needs no dot to be told apart.
    if style.dot != Dot::Disc || matches!(style.ink, Ink::Entry(_)) {
        let at = (x + SWATCH / 2.0, y);
        canvas.items.push(Item::Dot { at, dot: style.dot, ink: style.ink });
    }
}
