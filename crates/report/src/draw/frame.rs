//! The room of a picture, and the sizes that follow from it.

use crate::chart::ChartKind;

/// The room for a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    /// Width of the canvas, in points.
    pub(crate) width: f64,
    /// Whether title and caption are drawn, as a file of its own needs.
    pub(crate) titled: bool,
}

/// Size of the numbers on axes.
pub(super) const SMALL: f64 = 11.0;
/// Size of the names of panels and keys.
pub(super) const NORMAL: f64 = 12.0;
/// Room to the right of the panels, for half a number.
pub(super) const RIGHT: f64 = 14.0;

impl Frame {
    /// A column of text on a screen.
    pub(crate) const WIDE: Self = Self { width: 760.0, titled: false };
    /// A telephone of 360 points with its margins.
    pub(crate) const NARROW: Self = Self { width: 328.0, titled: false };
    /// A file of its own.
    pub(crate) const FILE: Self = Self { width: 800.0, titled: true };

    pub(super) const fn is_narrow(&self) -> bool {
        self.width < 500.0
    }

    /// Panels side by side.
    pub(super) fn columns(&self, kind: ChartKind, panels: usize) -> usize {
        let most = match (kind, self.is_narrow()) {
            (ChartKind::Strips | ChartKind::Lines, _) => 1,
            (_, false) => 3,
            (ChartKind::Cells, true) => 1,
            (_, true) => 2,
        };
        most.min(panels.max(1))
    }

    /// Height of a panel's plane.
    pub(super) fn height(&self, kind: ChartKind, panels: usize) -> f64 {
        match (kind, self.is_narrow()) {
            (ChartKind::Strips, false) => 26.0,
            (ChartKind::Strips, true) => 22.0,
            (ChartKind::Areas, _) if panels == 1 => 200.0,
            (ChartKind::Areas, false) => 92.0,
            (ChartKind::Areas, true) => 76.0,
            (ChartKind::Lines, _) if panels > 1 => 190.0,
            (ChartKind::Lines, false) => 330.0,
            (ChartKind::Lines, true) => 270.0,
            (ChartKind::Cells, _) => 160.0,
            (ChartKind::Paths, false) => 160.0,
            (ChartKind::Paths, true) => 120.0,
        }
    }
}
