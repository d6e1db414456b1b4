//! The answers of the laws.

use stagger_core::Span;

use super::shape::Shape;
use crate::stat::Stat;

/// The figures of [`Shapes`](super::Shapes).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShapesReport {
    /// Laws whose delays do not depend on earlier ones.
    pub means: Vec<Mean>,
    /// The decorrelated laws, retry by retry.
    pub growth: Vec<Growth>,
    /// One wave of retries, law by law and bucket by bucket.
    pub waves: Vec<Wave>,
}

/// The delays of one law under one ceiling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The law.
    pub shape: Shape,
    /// Mean delay over ceiling.
    pub of_ceiling: f64,
    /// The share of delays of exactly nothing: retries at once.
    pub at_zero: f64,
}

/// The delays of one decorrelated law before one retry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The law.
    pub shape: Shape,
    /// The retry, from 1; `None` stands for the long run.
    pub retry: Option<u32>,
    /// Mean delay over base.
    pub of_base: f64,
    /// The share of delays that are exactly the cap.
    pub at_cap: f64,
}

/// The fullest bucket of one wave of retries after a common failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wave {
    /// The law.
    pub shape: Shape,
    /// The bucket width: a thousandth, a hundredth or a twentieth of the ceiling.
    pub bucket: Span,
    /// The fullest bucket over an even spread across the ceiling.
    pub over_flat: Stat,
}
