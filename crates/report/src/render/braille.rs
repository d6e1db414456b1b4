//! A canvas of braille: two dots wide and four dots high in every character.

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
