//! The flags of `stagger http`: curl's where it has one, the policy's beside them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use stagger_core::Span;

use super::exec::{PolicyFlags, time};

/// The end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  stagger http https://example.com/             every attempt: status, verdict, hint, delay
  stagger http -d @order.json --idempotency-key https://example.com/orders   a POST, retried
  stagger http -I -v --attempts 5 --base 1s https://example.com/   headers of each attempt
  stagger http --policy policy.toml#api -o page.html https://example.com/   under your own policy
  stagger http --format json https://example.com/   the same as JSON lines

Exit codes:
  0 a reply below 400    22 a reply of 400 or more    2 wrong flags or files    130 Ctrl-C
  6 name not known    7 no connection    18 reply broke off    23 body not written
  28 out of time    56 anything else below HTTP";

/// The flags of `stagger http`.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)] // so that -1 is refused as a value and not as a flag
pub(crate) struct HttpFlags {
    /// The URL of the request, with its scheme: http or https
    pub(crate) url: String,

    /// The method [GET; POST with a body; HEAD with --head]
    #[arg(short = 'X', long, value_name = "METHOD", conflicts_with = "head")]
    pub(crate) request: Option<String>,

    /// A header, as in 'Accept: text/plain'
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,

    /// The body, or @FILE, or @- for standard input; byte for byte, several are joined by &
    #[arg(short, long, value_name = "DATA", conflicts_with_all = ["json", "head"],
        allow_hyphen_values = true)]
    pub(crate) data: Vec<OsString>,

    /// The body as JSON, with the headers that say so; @FILE and @- as for --data
    #[arg(long, value_name = "DATA", conflicts_with = "head")]
    pub(crate) json: Option<OsString>,

    /// Ask for the headers alone, and print them
    #[arg(short = 'I', long)]
    pub(crate) head: bool,

    /// Print status and headers before the body
    #[arg(short, long)]
    pub(crate) include: bool,

    /// Write the body into this file; it is left alone until all of it has come
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Print no body of a reply that says 400 or more
    #[arg(short, long)]
    pub(crate) fail: bool,

    /// Follow redirects, up to 10 of them, within an attempt
    #[arg(short = 'L', long)]
    pub(crate) location: bool,

    /// Name and password of HTTP's basic authentication
    #[arg(short, long, value_name = "USER:PASSWORD")]
    pub(crate) user: Option<String>,

    /// Certificates (PEM) to trust besides the usual ones
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,

    /// Send a key by which the server knows the call again, so that any method may be retried; one of
    /// its own, or this one as it is
    #[arg(long, value_name = "KEY", num_args = 0..=1, require_equals = true,
        default_missing_value = "")]
    pub(crate) idempotency_key: Option<String>,

    /// Take your word that sending it twice does no harm, whatever the method
    #[arg(long)]
    pub(crate) idempotent: bool,

    #[command(flatten)]
    pub(crate) policy: PolicyFlags,

    /// The longest time that one attempt may take until its headers are there [no limit]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) attempt_timeout: Option<Span>,

    /// The longest time for all of it: attempts, delays and the body [no limit]
    #[arg(long, visible_alias = "deadline", value_name = "TIME", value_parser = time,
        allow_hyphen_values = true)]
    pub(crate) max_time: Option<Span>,

    /// The form of the report of each attempt on standard error
    #[arg(long, value_enum, default_value_t = HttpFormat::Text)]
    pub(crate) format: HttpFormat,

    /// Also append a line of JSON for each attempt to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    /// Say nothing but what is wrong
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Also show the headers of each attempt; those that carry credentials are hidden
    #[arg(short, long, conflicts_with = "format")]
    pub(crate) verbose: bool,
}

/// The form of the reports of attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HttpFormat {
    /// A line for people
    Text,
    /// A line of JSON
    Json,
}
