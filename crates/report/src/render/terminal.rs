//! Small versions in characters and dots of braille, without any colour, so that there is none to turn off.

use crate::chart::{Chart, ChartKind, Panel};
use crate::draw::{Scale, ticks};

const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Narrower than this nothing can be seen; wider than this nothing more.
const WIDTHS: (usize, usize) = (40, 200);

/// The chart in lines of at most `width` characters.
pub(crate) fn terminal(chart: &Chart, width: usize) -> String {
    let width = width.clamp(WIDTHS.0, WIDTHS.1);
    let mut lines = vec![chart.title.clone()];
    if chart.panels.is_empty() {
        lines.push("Nothing to draw.".into());
    }
    lines.extend(match chart.kind {
        ChartKind::Strips | ChartKind::Areas => bars(chart, width),
        ChartKind::Lines => chart.panels.iter().flat_map(|panel| letters(panel, width)).collect(),
        ChartKind::Cells => chart.panels.iter().flat_map(cells).collect(),
        ChartKind::Paths => chart.panels.iter().flat_map(|panel| way(panel, width)).collect(),
    });
    let mut text = String::new();
    for line in lines {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// One line of bars a panel: how much there is in each stretch of the axis.
fn bars(chart: &Chart, width: usize) -> Vec<String> {
    let Some(first) = chart.panels.first() else { return Vec::new() };
    let named = name_width(chart, width);
    let places = width - named - 1;
    let heights: Vec<_> = chart.panels.iter().map(|panel| heights(panel, places)).collect();
    let full = heights.iter().flatten().copied().fold(0.0, f64::max);
    let line = |(panel, heights): (&Panel, &Vec<f64>)| {
        let bars: String = heights.iter().map(|&height| bar(height, full)).collect();
        format!("{:named$} {bars}", shortened(&panel.title, named))
    };
    let mut lines: Vec<_> = chart.panels.iter().zip(&heights).map(line).collect();
    if !first.shades.is_empty() {
        lines.push(format!("{:named$} {}", "outage", shades(first, places)));
    }
    lines.push(format!("{:named$} {}", "", numbers(first, places)));
    lines.push(format!("{:named$} {}", "", first.x.title()));
    lines
}

/// The share of a panel in each of so many equal stretches of its axis.
fn heights(panel: &Panel, places: usize) -> Vec<f64> {
    let mut heights = vec![0.0; places];
    for series in panel.series.iter().filter(|series| series.shape == crate::chart::Shape::Dust) {
        for &(at, _) in &series.points {
            if let Some(place) = place(panel, at, places) {
                heights[place] += 1.0;
            }
        }
    }
    for band in panel.bands.iter().filter(|band| band.weight == crate::style::Weight::Light) {
        for &(at, _, high) in &band.points {
            if let Some(place) = place(panel, at, places) {
                heights[place] = f64::max(heights[place], high);
            }
        }
    }
    heights
}

// OK because a share from 0 to 1 of a width is a place in it, and casts saturate.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "columns of a screen"
)]
fn place(panel: &Panel, at: f64, places: usize) -> Option<usize> {
    let scale = Scale::new(&panel.x, 0.0, places as f64);
    (scale.holds(at) && at.is_finite()).then(|| (scale.at(at) as usize).min(places - 1))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..=8")]
fn bar(height: f64, full: f64) -> char {
    if height <= 0.0 || full <= 0.0 {
        return ' ';
    }
    // OK because of the clamp; what is there at all gets the lowest bar.
    BARS[libm::round(height / full * 8.0).clamp(1.0, 8.0) as usize]
}

fn shades(panel: &Panel, places: usize) -> String {
    let mut line = vec![' '; places];
    for &(from, to) in &panel.shades {
        let first = place(panel, from.max(panel.x.from), places);
        let last = place(panel, to.min(panel.x.to), places);
        if let (Some(first), Some(last)) = (first, last) {
            line[first..last.max(first + 1)].fill('▒');
        }
    }
    line.into_iter().collect()
}

/// The numbers of the axis under their places.
fn numbers(panel: &Panel, places: usize) -> String {
    let mut line = vec![' '; places];
    let mut free = 0;
    for (value, text) in ticks(&panel.x, 5.0) {
        let Some(start) = place(panel, value, places) else { continue };
        let length = text.chars().count();
        if start >= free && start + length <= places {
            line[start..start + length].copy_from_slice(&text.chars().collect::<Vec<_>>());
            free = start + length + 1;
        }
    }
    line.into_iter().collect()
}

/// A letter for each point, and which letter is whose.
fn letters(panel: &Panel, width: usize) -> Vec<String> {
    const ROWS: usize = 12;
    let room = ticks(&panel.y, 4.0).iter().map(|(_, text)| text.chars().count()).max();
    let room = room.unwrap_or(0).max(5);
    let places = width - room - 2;
    let mut plane = vec![vec![' '; places]; ROWS];
    let mut keys = Vec::new();
    for (series, letter) in panel.series.iter().zip('a'..='z') {
        for &(at, value) in &series.points {
            let (Some(column), row) = (place(panel, at, places), row(panel, value, ROWS)) else {
                continue;
            };
            let cell = &mut plane[row][column];
            *cell = if *cell == ' ' { letter } else { '*' };
        }
        keys.push(format!("{letter} {}", series.name));
    }
    let mut names = vec![String::new(); ROWS];
    for (value, text) in ticks(&panel.y, 4.0) {
        names[row(panel, value, ROWS)] = text;
    }
    if panel.y.never {
        names[0] = "never".into();
    }
    let mut lines = vec![panel.y.title()];
    lines.extend(
        names
            .iter()
            .zip(plane)
            .map(|(name, row)| format!("{name:>room$} │{}", row.into_iter().collect::<String>())),
    );
    lines.push(format!("{:>room$}  {}", "", numbers(panel, places)));
    lines.push(format!("{:>room$}  {}", "", panel.x.title()));
    lines.extend(wrapped(&keys, width));
    lines.push("* several at one place".into());
    lines
}

// OK because a share from 0 to 1 of a height is a row in it, and casts saturate.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "rows of a screen"
)]
fn row(panel: &Panel, value: f64, rows: usize) -> usize {
    if !value.is_finite() {
        return 0;
    }
    let top = usize::from(panel.y.never);
    let axis = crate::chart::Axis { never: false, ..panel.y.clone() };
    let scale = Scale::new(&axis, (rows - 1) as f64, top as f64);
    libm::round(scale.at(value)) as usize
}

fn wrapped(words: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() + 3 <= width => {
                line.push_str("   ");
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}

/// A block for what healed, a cross for what is stuck.
fn cells(panel: &Panel) -> Vec<String> {
    let (columns, rows) = (panel.x.names.len(), panel.y.names.len());
    let mut plane = vec![vec![' '; columns]; rows];
    for cell in &panel.cells {
        if let Some(place) = plane.get_mut(cell.row).and_then(|row| row.get_mut(cell.column)) {
            *place = match cell.healed {
                None => ' ',
                Some(share) if share <= 0.0 => '×',
                Some(share) if share >= 1.0 => '█',
                Some(share) if share < 0.5 => '░',
                Some(_) => '▒',
            };
        }
    }
    let mut lines = vec![String::new(), panel.title.clone()];
    for (name, row) in panel.y.names.iter().zip(plane).rev() {
        let cells: String = row.into_iter().flat_map(|cell| [cell, cell, ' ']).collect();
        lines.push(format!("{name:>8} │ {cells}"));
    }
    lines.push(format!("{:>8}   {}: {}", "", panel.x.title(), panel.x.names.join(", ")));
    lines
}

/// The way of a run in braille.
#[expect(clippy::cast_precision_loss, reason = "dots of a screen")]
fn way(panel: &Panel, width: usize) -> Vec<String> {
    // OK because a canvas has a few hundred dots.
    let mut canvas = Braille::new((width - 10).min(60), 6);
    let x = Scale::new(&panel.x, 0.0, canvas.width() as f64 - 1.0);
    let y = Scale::new(&panel.y, canvas.height() as f64 - 1.0, 0.0);
    for series in &panel.series {
        for pair in series.points.windows(2) {
            let ends = [pair[0], pair[1]].map(|(at, value)| (x.at(at), y.at(value)));
            canvas.line(ends[0], ends[1]);
        }
    }
    let axis = |axis: &crate::chart::Axis| format!("{} to {:.0}", axis.label, axis.to);
    let mut lines = vec![format!("{}: {} up", panel.title, axis(&panel.y))];
    lines.extend(canvas.lines().into_iter().map(|line| format!("  │{line}")));
    lines.push(format!("  └ {}", axis(&panel.x)));
    lines
}

fn name_width(chart: &Chart, width: usize) -> usize {
    let names = chart.panels.iter().map(|panel| panel.title.chars().count());
    names.max().unwrap_or(0).clamp(6, width / 3)
}

fn shortened(name: &str, most: usize) -> String {
    match name.chars().count() > most {
        true => name.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

/// Dots on a plane of characters.
pub(super) struct Braille {
    columns: usize,
    rows: usize,
    cells: Vec<u8>,
}

/// The bit of a dot in its character, by row and column (Unicode, block U+2800).
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

impl Braille {
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self { columns, rows, cells: vec![0; columns * rows] }
    }

    pub(super) const fn width(&self) -> usize {
        self.columns * 2
    }

    pub(super) const fn height(&self) -> usize {
        self.rows * 4
    }

    /// A line between two dots, x from the left and y from the top; what lies outside is left out.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let steps = libm::ceil(dx.abs().max(dy.abs())).clamp(1.0, MOST_STEPS);
        let mut step = 0.0;
        while step <= steps {
            self.dot(from.0 + dx * step / steps, from.1 + dy * step / steps);
            step += 1.0;
        }
    }

    /// The lines of text, from the top.
    pub(super) fn lines(&self) -> Vec<String> {
        let row = |row: &[u8]| -> String {
            let shown = row.iter().map(|&bits| char::from_u32(0x2800 + u32::from(bits)));
            shown.map(|c| c.filter(|&c| c != '\u{2800}').unwrap_or(' ')).collect()
        };
        self.cells.chunks(self.columns.max(1)).map(row).collect()
    }

    // OK because a negative place is refused before, and a cast from float to integer saturates.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
    fn dot(&mut self, x: f64, y: f64) {
        let (x, y) = (libm::round(x), libm::round(y));
        if x < 0.0 || y < 0.0 {
            return;
        }
        let (x, y) = (x as usize, y as usize);
        if x < self.width() && y < self.height() {
            self.cells[y / 4 * self.columns + x / 2] |= BITS[y % 4][x % 2];
        }
    }
}

/// No screen is wider than this in dots.
const MOST_STEPS: f64 = 4_096.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_goes_from_corner_to_corner() {
        let mut canvas = Braille::new(2, 1);
        canvas.line((0.0, 3.0), (3.0, 0.0));
        assert_eq!(canvas.lines(), ["⡠⠊"]);
        canvas.line((-5.0, -5.0), (-1.0, 99.0));
        assert_eq!(canvas.lines(), ["⡠⠊"], "what lies outside is left out");
    }
}
