//! The flags of `stagger import`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use stagger_import::ImportSource;

/// The end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  stagger import service-config.json            a policy of ours, and what could not be mapped
  stagger import application.yml > policy.toml  the policies of resilience4j's instances
  stagger import - --from envoy < route.yaml    from standard input, as Envoy's";

/// The flags of `stagger import`.
#[derive(Debug, Args)]
pub(crate) struct ImportFlags {
    /// The settings file, or - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The product that the settings are of [told by their keys]
    #[arg(long, value_name = "PRODUCT", value_parser = product())]
    pub(crate) from: Option<ImportSource>,

    /// The form of the output
    #[arg(long, value_enum, value_name = "FORM", default_value_t = ImportFormat::Toml)]
    pub(crate) format: ImportFormat,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// A policy file, with what was left out as comments
    Toml,
    /// One object with policies, left_out and notes
    Json,
}

fn product() -> impl TypedValueParser<Value = ImportSource> {
    let names = PossibleValuesParser::new(ImportSource::ALL.map(ImportSource::name));
    names.try_map(|name| name.parse::<ImportSource>())
}
