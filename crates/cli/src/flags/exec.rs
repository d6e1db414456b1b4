//! The flags of `stagger exec`, and those of the policy of one call, which `http` shares.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, ValueHint};
use stagger_core::{ConfigError, Jitter, Span};
use stagger_exec::{Check, ExitCodes, ExitHint, LinePattern, OutputMode, SignalNames};
use stagger_text::parse_size;

use super::completions::{Offers, preset, text};
use crate::policy_file::PolicyArgument;

/// The end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  stagger exec -- rsync -a data/ host:data/     three attempts, the waits between them at random
  stagger exec --attempts 5 --attempt-timeout 30s --deadline 2m -- make fetch
  stagger exec --policy policy.toml#nightly --budget-file /run/lock/mirror.budget -- ./mirror
  stagger exec --output buffer -- bash -o pipefail -c 'curl -fsS https://example.com/ | jq .version'
  stagger exec --attempts unlimited --base 1s --deadline 1m --until tcp://db:5432 && ./serve
  stagger exec --before-retry 'rm -rf build' --on-failure ./notify.sh -- make test
Exit codes:
  that of the last attempt, unchanged; 128+N when signal N ended it or stagger; 124 out of time;
  126 and 127 not started; 125 stagger itself failed; 75 a cool-off allows no attempt;
  2 refused flags or files";

/// The limit of `--stdin buffer` without a size: more than scripts feed to a command.
const STDIN_LIMIT: u64 = 64 << 20;

/// The flags of `stagger exec`.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)] // so that -1 is refused as a value and not as a flag
#[command(override_usage = "stagger exec [OPTIONS] -- <CMD>...\n       \
    stagger exec [OPTIONS] --until <CHECK> [-- <CMD>...]")]
pub(crate) struct ExecFlags {
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,

    /// The longest time that one attempt may take [no limit]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) attempt_timeout: Option<Span>,

    /// The longest time that attempts and waits may take together [no limit]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) deadline: Option<Span>,

    /// With less time left than this no attempt is begun [0s]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) min_attempt_time: Option<Span>,

    /// The exit codes that are retried, as in 1,3-9 [all but 0, 126, 127 and 130]
    #[arg(long, value_name = "CODES")]
    pub(crate) retry_on_exit: Option<ExitCodes>,

    /// Retry after no exit code at all: only after timeouts and signals
    #[arg(long, conflicts_with = "retry_on_exit")]
    pub(crate) no_retry_on_exit: bool,

    /// Retry when a signal ended the command: all but INT, QUIT, HUP, TERM and PIPE, or those named,
    /// as in =KILL,SEGV
    #[arg(long, value_name = "SIGNALS", num_args = 0..=1, require_equals = true,
        default_missing_value = "any")]
    pub(crate) retry_on_signal: Option<SignalNames>,

    /// Whether an attempt that ran out of its time is retried; it has no exit code
    #[arg(long, value_name = "YES|NO", default_value = "yes",
        value_parser = Offers::of(&["yes", "no"], text(yes_or_no)), hide_possible_values = true,
        action = ArgAction::Set)]
    pub(crate) retry_on_timeout: bool,

    /// Retry when a line of the output matches, whatever the exit code; needs --output buffer or last
    #[arg(long, value_name = "REGEX", value_parser = pattern, conflicts_with = "until")]
    pub(crate) retry_on_output: Option<LinePattern>,

    /// Repeat until this check holds after an attempt, whatever the exit code: a command for `sh`,
    /// tcp://HOST:PORT, or a URL that is answered below 400. Several must all hold. Without CMD the
    /// checks are the attempt
    #[arg(long, value_name = "CHECK", value_parser = OsStringValueParser::new().try_map(check),
        conflicts_with_all = ["retry_on_exit", "no_retry_on_exit", "retry_on_signal"])]
    pub(crate) until: Vec<Check>,

    /// Run this command with `sh` before each retry, after the delay
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString)]
    pub(crate) before_retry: Option<OsString>,

    /// Run this command with `sh` once when the last attempt has failed
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString)]
    pub(crate) on_failure: Option<OsString>,

    /// The longest time for each check, and for each of the commands before a retry and on failure
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time,
        allow_hyphen_values = true)]
    pub(crate) hook_timeout: Span,

    /// Leave the destination alone for this time after these exit codes, as in 75=5m
    #[arg(long, value_name = "CODES=TIME")]
    pub(crate) hint_on_exit: Vec<ExitHint>,

    /// Obey the Retry-After in a line of the output: that of a printed header, or group 1 of a regular
    /// expression; needs --output buffer or last
    #[arg(long, value_name = "REGEX", num_args = 0..=1, require_equals = true,
        default_missing_value = LinePattern::RETRY_AFTER, value_parser = pattern)]
    pub(crate) hint_on_output: Option<LinePattern>,

    /// Keep hints in this file, so that later runs leave the destination alone too
    #[arg(long, value_name = "FILE")]
    pub(crate) cool_off_file: Option<PathBuf>,

    /// Share the policy's budget with other processes of this host, in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) budget_file: Option<PathBuf>,

    /// The time that a command has to end by itself before it is killed
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time,
        allow_hyphen_values = true)]
    pub(crate) grace: Span,

    /// The command's input: this standard input, nothing, or the same bytes at every attempt
    #[arg(long, value_name = "inherit|null|buffer[:SIZE]", default_value = "inherit",
        value_parser = Offers::of(&["inherit", "null", "buffer"], text(stdin)), hide_possible_values = true)]
    pub(crate) stdin: StdinMode,

    /// Let output out as it comes; only that of a success, with nothing on standard output when
    /// all attempts fail; or that of the last attempt in any case
    #[arg(long, default_value = "stream", value_parser = output_mode())]
    pub(crate) output: OutputMode,

    /// Append one line of JSON for each attempt to this file; `-` is standard error
    #[arg(long, value_name = "FILE|-")]
    pub(crate) log: Option<PathBuf>,

    /// Say nothing but what is wrong with the flags, or with stagger itself
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Also say when an attempt begins, with which process id
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Retry also inside another `stagger exec`; without it one attempt is made there, because
    /// layers multiply
    #[arg(long)]
    pub(crate) nested: bool,

    /// Hand one string to `sh -c` instead of running a program with its arguments
    #[arg(long)]
    pub(crate) shell: bool,

    /// The command and its arguments, behind `--`, passed on byte for byte
    #[arg(last = true, required_unless_present = "until", value_name = "CMD",
        value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// The command's standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StdinMode {
    /// The standard input of stagger itself, which reads nothing of it.
    Inherit,
    Null,
    /// All of the standard input, read first, up to so many bytes.
    Buffer(u64),
}

/// Reads the treatment of the command's output.
fn output_mode() -> impl TypedValueParser<Value = OutputMode> {
    let named = |name, help| PossibleValue::new(name).help(help);
    let names = [
        named("stream", "As it comes, that of failed attempts too"),
        named("buffer", "Kept back; standard output of a successful attempt only"),
        named("last", "Kept back; that of the last attempt, whether it succeeded or not"),
    ];
    PossibleValuesParser::new(names).map(|name| match name.as_str() {
        "buffer" => OutputMode::Buffer,
        "last" => OutputMode::Last,
        _ => OutputMode::Stream,
    })
}

fn check(text: OsString) -> Result<Check, String> {
    Check::parse(&text)
}

fn pattern(text: &str) -> Result<LinePattern, String> {
    text.parse()
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("must be yes or no".to_owned()),
    }
}

fn stdin(text: &str) -> Result<StdinMode, String> {
    match text.split_once(':') {
        None if text == "inherit" => Ok(StdinMode::Inherit),
        None if text == "null" => Ok(StdinMode::Null),
        None if text == "buffer" => Ok(StdinMode::Buffer(STDIN_LIMIT)),
        Some(("buffer", size)) => bytes(size).map(StdinMode::Buffer),
        _ => Err("must be inherit, null, buffer or buffer:SIZE".to_owned()),
    }
}

/// A size such as 512, 64KiB, 10MiB or 1GiB.
fn bytes(text: &str) -> Result<u64, String> {
    let size = parse_size(text).filter(|bytes| *bytes > 0);
    size.ok_or_else(|| "must be a size such as 64KiB, 10MiB or 1GiB".to_owned())
}

/// Beyond some thousand attempts a call is a loop, and a slip of a digit would run for hours.
const MAX_ATTEMPTS: u32 = 10_000;

/// The policy of a call: from a file or a preset, with single settings on top.
#[derive(Debug, Args)]
pub(crate) struct PolicyFlags {
    /// A policy of your own: a file, or one of several in it
    #[arg(long, value_name = "FILE[#NAME]", conflicts_with = "preset")]
    pub(crate) policy: Option<PolicyArgument>,

    /// A policy that ships: aws-standard, aws-dynamodb, grpc, google-cloud, webhook, interactive, batch
    #[arg(long, value_name = "NAME", value_parser = preset(), hide_possible_values = true)]
    pub(crate) preset: Option<String>,

    /// Attempts in all, the first included, or `unlimited` with a deadline [3]
    #[arg(long, value_name = "N", value_parser = attempts, allow_hyphen_values = true)]
    pub(crate) attempts: Option<Attempts>,

    /// The ceiling of the first delay [100ms]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) base: Option<Span>,

    /// The bound of every ceiling, at least the base [10s, or the base if that is longer]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) cap: Option<Span>,

    /// The growth of the ceiling from delay to delay [2]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) factor: Option<f64>,

    /// The law that draws a delay below its ceiling: none, full, equal, decorrelated,
    /// decorrelated-clamped, proportional:R or symmetric:R [full]
    #[arg(long, value_name = "LAW", value_parser = Offers::of(&Jitter::SHARELESS.map(Jitter::name), text(jitter)),
        hide_possible_values = true)]
    pub(crate) jitter: Option<Jitter>,
}

/// The number of attempts at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempts {
    AtMost(u32),
    Unlimited,
}

pub(super) fn time(text: &str) -> Result<Span, String> {
    text.parse().map_err(|error| format!("must be {error}"))
}

fn attempts(text: &str) -> Result<Attempts, String> {
    match text.parse::<u32>() {
        Ok(n) if (1..=MAX_ATTEMPTS).contains(&n) => Ok(Attempts::AtMost(n)),
        _ if text == "unlimited" => Ok(Attempts::Unlimited),
        _ => Err(format!("must be from 1 to {MAX_ATTEMPTS}, or unlimited")),
    }
}

fn jitter(text: &str) -> Result<Jitter, String> {
    text.parse().map_err(|error: ConfigError| format!("must be {}", error.bound()))
}
