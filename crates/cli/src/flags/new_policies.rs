//! The flags of the commands that make and convert policies: `choose`, `import` and `export`. The bounds of an answer are
//! checked where the answers are used.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use stagger_explain::QuestionKey;
use stagger_import::ImportSource;

use crate::policy_file::PolicySource;

/// The end of its help.
pub(super) const CHOOSE_EXAMPLES: &str = "\
Examples:
  stagger choose                                questions on a terminal, a policy at the end
  stagger choose --callers 5000 --idempotent --slo 2s --format toml | stagger lint -
  stagger choose --idempotent=key --background --rate-limited --format rust
  stagger choose --explain-only                 the decision tree";

/// The flags of `stagger choose`. What is not said is asked on a terminal; elsewhere the answer in
/// brackets is taken, and the policy says so.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)] // so that -1 is refused as a value and not as a flag
pub(crate) struct ChooseFlags {
    /// Do failures of these calls heal by themselves? yes or no [yes]
    #[arg(long, value_name = "YES|NO", num_args = 0..=1, require_equals = true, default_missing_value = "yes")]
    retryable: Option<String>,

    /// May a call be sent twice? yes, no, or key: it carries an idempotency key [no]
    #[arg(long, value_name = "YES|NO|KEY", num_args = 0..=1, require_equals = true, default_missing_value = "yes")]
    idempotent: Option<String>,

    /// Processes that call the same destination [100]
    #[arg(long, value_name = "N")]
    callers: Option<String>,

    /// Calls a second of one of them, first attempts only [unknown]
    #[arg(long, value_name = "N")]
    rps: Option<String>,

    /// The shortest wait before a retry, which the destination asks for [none]
    #[arg(long, value_name = "TIME")]
    minimum_wait: Option<String>,

    /// Does nobody wait for the answer? yes or no [no]
    #[arg(long, value_name = "YES|NO", num_args = 0..=1, require_equals = true, default_missing_value = "yes")]
    background: Option<String>,

    /// The longest time that a call may take, retries included [none]
    #[arg(long, value_name = "TIME")]
    slo: Option<String>,

    /// The time within which 99 of 100 healthy attempts are answered [unknown]
    #[arg(long, value_name = "TIME")]
    p99: Option<String>,

    /// Does the destination limit its callers (429, Retry-After)? yes or no [no]
    #[arg(long, value_name = "YES|NO", num_args = 0..=1, require_equals = true, default_missing_value = "yes")]
    rate_limited: Option<String>,

    /// Services one behind the other, this one included [1]
    #[arg(long, value_name = "N")]
    layers: Option<String>,

    /// Ask nothing, also on a terminal: take the answers in brackets
    #[arg(long)]
    pub(crate) defaults: bool,

    /// Print the decision tree, and choose nothing
    #[arg(long)]
    pub(crate) explain_only: bool,

    /// The form of the policy [both on a terminal, toml elsewhere]
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) format: Option<ChooseFormat>,
}

/// The form of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChooseFormat {
    /// A policy file
    Toml,
    /// A function that builds the policy
    Rust,
    /// One object with policy, reasons, notes and answers
    Json,
    /// The policy file, then the function
    Both,
}

impl ChooseFlags {
    /// The answer that was given to a question.
    pub(crate) fn given(&self, key: QuestionKey) -> Option<&str> {
        let given = match key {
            QuestionKey::Retryable => &self.retryable,
            QuestionKey::Idempotent => &self.idempotent,
            QuestionKey::Callers => &self.callers,
            QuestionKey::Rps => &self.rps,
            QuestionKey::MinimumWait => &self.minimum_wait,
            QuestionKey::Background => &self.background,
            QuestionKey::Slo => &self.slo,
            QuestionKey::P99 => &self.p99,
            QuestionKey::RateLimited => &self.rate_limited,
            QuestionKey::Layers => &self.layers,
        };
        given.as_deref()
    }
}

/// The end of its help.
pub(super) const IMPORT_EXAMPLES: &str = "\
Examples:
  stagger import service-config.json            a policy of ours, and what could not be mapped
  stagger import application.yml > policy.toml  the policies of resilience4j's instances
  stagger import manifests/ > policy.toml       every file of a folder
  stagger import envoy.yaml --to routes         routes.toml of the proxy
  stagger import - --from envoy < route.yaml    from standard input, as Envoy's";

/// The flags of `stagger import`.
#[derive(Debug, Args)]
pub(crate) struct ImportFlags {
    /// Settings files, folders of them, or - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// The format of the settings [told by their keys]: grpc, envoy, istio, gateway-api,
    /// envoy-gateway, linkerd, kuma, dapr, resilience4j, spring-retry, polly, aws, temporal, nginx,
    /// haproxy
    #[arg(long, value_name = "FORMAT", value_parser = names(ImportSource::all()), hide_possible_values = true)]
    pub(crate) from: Option<ImportSource>,

    /// The file to make of them
    #[arg(long, value_enum, value_name = "KIND", default_value_t = ImportTarget::Policies)]
    pub(crate) to: ImportTarget,

    /// The form of the output
    #[arg(long, value_enum, value_name = "FORM", default_value_t = ImportFormat::Toml)]
    pub(crate) format: ImportFormat,
}

/// The file that an import writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportTarget {
    /// A policy file
    Policies,
    /// The routes of `stagger proxy`, from Envoy and Istio
    Routes,
}

/// The end of its help.
pub(super) const EXPORT_EXAMPLES: &str = "\
Examples:
  stagger export policy.toml --to istio         a route for each policy, and what is lost
  stagger export policy.toml#api --to polly     one of them
  stagger export route.yaml --to gateway-api    from one product to another
  stagger export --preset grpc --to grpc        a ready policy

What the format cannot say stands above the settings as comments, and on standard error.";

/// The flags of `stagger export`.
#[derive(Debug, Args)]
pub(crate) struct ExportFlags {
    #[command(flatten)]
    pub(crate) source: PolicySource,

    /// The format to write
    #[arg(long, value_name = "FORMAT", value_parser = names(ImportSource::exported()))]
    pub(crate) to: ImportSource,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// A file in TOML, with what was left out as comments
    Toml,
    /// One object with policies or routes, left_out and notes
    Json,
}

fn names(
    formats: impl Iterator<Item = ImportSource>,
) -> impl TypedValueParser<Value = ImportSource> {
    let names = PossibleValuesParser::new(formats.map(ImportSource::name));
    names.try_map(|name| name.parse::<ImportSource>())
}
