//! Ready policies by their names.

use super::Policy;
use crate::error::ConfigError;

impl Policy {
    /// The names of the ready policies. `aws_standard` is the one that the SDKs follow today.
    pub const PRESETS: [&'static str; 8] = [
        "aws_standard",
        "aws_standard_2_0",
        "aws_standard_2_1",
        "grpc",
        "google_cloud",
        "webhook",
        "interactive",
        "batch",
    ];

    /// The ready policy of this name, written with underscores or hyphens.
    ///
    /// # Errors
    /// `preset`: a name that is none of [`PRESETS`](Self::PRESETS).
    ///
    /// ```
    /// use stagger_core::Policy;
    /// assert_eq!(Policy::preset("google-cloud")?, Policy::google_cloud()?);
    /// assert_eq!(Policy::preset("aws_standard")?, Policy::aws_standard_2_1()?);
    /// assert_eq!(Policy::preset("azure").unwrap_err().field(), "preset");
    /// # Ok::<(), stagger_core::ConfigError>(())
    /// ```
    pub fn preset(name: &str) -> Result<Self, ConfigError> {
        match name.replace('-', "_").as_str() {
            "aws_standard" | "aws_standard_2_1" => Self::aws_standard_2_1(),
            "aws_standard_2_0" => Self::aws_standard_2_0(),
            "grpc" => Self::grpc(),
            "google_cloud" => Self::google_cloud(),
            "webhook" => Self::webhook(),
            "interactive" => Self::interactive(),
            "batch" => Self::batch(),
            _ => {
                let bound = alloc::format!("one of {}", Self::PRESETS.join(", "));
                Err(ConfigError::new("preset", name, bound))
            }
        }
    }
}
