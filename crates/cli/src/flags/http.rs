//! The flags of `stagger http`: curl's where it has one, the policy's beside them.

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{ArgAction, Args, ValueEnum, ValueHint};
use stagger_core::Span;

use super::exec::{PolicyFlags, time};

/// The end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  stagger http https://example.com/             every attempt: status, verdict, hint, delay
  stagger http -d @order.json --idempotency-key https://example.com/orders   a POST, retried
  stagger http -I -v --attempts 5 --base 1s https://example.com/   headers of each attempt
  stagger http --policy policy.toml#api -o page.html https://example.com/   under your own policy
  stagger http -fsSLO --retry-on-status 404,500-599 https://example.com/a.tgz   habits of curl
  stagger http --format json https://example.com/   the same as JSON lines

Exit codes:
  0 a reply below 400    22 a reply of 400 or more    2 wrong flags or files    130 Ctrl-C
  6 name not known    7 no connection    18 reply broke off    23 body not written
  28 out of time    56 anything else below HTTP    61 a body that cannot be decompressed
  of several URLs: that of the last one that failed";

/// The flags of `stagger http`.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)] // so that -1 is refused as a value and not as a flag
pub(crate) struct HttpFlags {
    /// The URLs, each a call of its own, one after the other; without a scheme, of http
    #[arg(required = true, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) url: Vec<String>,

    /// The method [GET; POST with a body; HEAD with --head]
    #[arg(short = 'X', long, value_name = "METHOD", conflicts_with = "head")]
    pub(crate) request: Option<String>,

    /// A header, as in 'Accept: text/plain'
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,

    /// The body, or @FILE, or @- for standard input; byte for byte, several are joined by &
    #[arg(
        short,
        long,
        visible_alias = "data-binary",
        value_name = "DATA",
        conflicts_with = "json",
        allow_hyphen_values = true
    )]
    pub(crate) data: Vec<OsString>,

    /// Put the data of --data into the query of the URL, and ask by GET
    #[arg(short = 'G', long, requires = "data")]
    pub(crate) get: bool,

    /// The body as JSON, with the headers that say so; @FILE and @- as for --data
    #[arg(long, value_name = "DATA", conflicts_with = "head")]
    pub(crate) json: Option<OsString>,

    /// A field of a form (multipart/form-data): NAME=TEXT, NAME=@FILE to upload it, or NAME=<FILE for
    /// the text in it; with ;type=TYPE and ;filename=NAME behind
    #[arg(short = 'F', long, value_name = "FIELD", conflicts_with_all = ["data", "json", "head"])]
    pub(crate) form: Vec<OsString>,

    /// The User-Agent header [stagger/VERSION]
    #[arg(short = 'A', long, value_name = "NAME")]
    pub(crate) user_agent: Option<String>,

    /// Ask for the headers alone, and print them
    #[arg(short = 'I', long)]
    pub(crate) head: bool,

    /// Print status and headers before the body
    #[arg(short, long)]
    pub(crate) include: bool,

    /// Write the body into this file; it is left alone until all of it has come. Of several, each is
    /// for the URL of the same place
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Vec<PathBuf>,

    /// Write the body into a file that is named as the last part of the URL; once for each URL
    #[arg(short = 'O', long, action = ArgAction::Count, conflicts_with = "output")]
    pub(crate) remote_name: u8,

    /// Go on with a download: after these bytes of the file, or after all that is there (-)
    #[arg(short = 'C', long, value_name = "BYTES|-", value_parser = continue_at,
        allow_hyphen_values = true, conflicts_with_all = ["range", "include", "head"])]
    pub(crate) continue_at: Option<ContinueAt>,

    /// Ask for a part of the body, as in 0-499, 500- or -500
    #[arg(short, long, value_name = "RANGE", allow_hyphen_values = true)]
    pub(crate) range: Option<String>,

    /// Ask for a compressed reply (gzip), and decompress it
    #[arg(long, conflicts_with = "continue_at")]
    pub(crate) compressed: bool,

    /// Print no body of a reply that says 400 or more
    #[arg(short, long)]
    pub(crate) fail: bool,

    /// Follow redirects, up to 10 of them, within an attempt
    #[arg(short = 'L', long)]
    pub(crate) location: bool,

    /// Name and password of HTTP's basic authentication
    #[arg(short, long, value_name = "USER:PASSWORD")]
    pub(crate) user: Option<String>,

    /// Certificates (PEM) to trust besides the usual ones, which SSL_CERT_FILE and SSL_CERT_DIR replace
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,

    /// Trust every certificate: whoever is on the way can read and change all of it
    #[arg(short = 'k', long)]
    pub(crate) insecure: bool,

    /// A proxy of http or https for all requests [as HTTP_PROXY, HTTPS_PROXY and NO_PROXY say]
    #[arg(short = 'x', long, value_name = "[USER:PASSWORD@]HOST:PORT")]
    pub(crate) proxy: Option<String>,

    /// The longest time to connect, TLS included; a plain number is in seconds [no limit]
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_hyphen_values = true)]
    pub(crate) connect_timeout: Option<Span>,

    /// Send a key by which the server knows the call again, so that any method may be retried; one of
    /// its own, or this one as it is
    #[arg(long, value_name = "KEY", num_args = 0..=1, require_equals = true,
        default_missing_value = "")]
    pub(crate) idempotency_key: Option<String>,

    /// Take your word that sending it twice does no harm, whatever the method
    #[arg(long)]
    pub(crate) idempotent: bool,

    /// The statuses that are retried, and no others, as in 404,500-599 [as the policy page says]
    #[arg(long, value_name = "STATUSES", conflicts_with = "retry_all_errors")]
    pub(crate) retry_on_status: Option<Statuses>,

    /// Retry after every status of 400 or more, certificates that do not hold, and names that do not exist
    #[arg(long)]
    pub(crate) retry_all_errors: bool,

    #[command(flatten)]
    pub(crate) policy: PolicyFlags,

    /// The longest time that one attempt may take until its headers are there [no limit]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) attempt_timeout: Option<Span>,

    /// With less time left than this no attempt is begun [0s]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) min_attempt_time: Option<Span>,

    /// The longest time for all of a URL: attempts, delays and the body; a plain number is in seconds
    /// [no limit]
    #[arg(short, long, visible_alias = "deadline", value_name = "TIME", value_parser = seconds,
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

    /// Say nothing at all about attempts and failures
    #[arg(short, long)]
    pub(crate) silent: bool,

    /// With --silent: say what is wrong all the same
    #[arg(short = 'S', long)]
    pub(crate) show_error: bool,

    /// Also show the headers of each attempt; those that carry credentials are hidden
    #[arg(short, long, conflicts_with = "format")]
    pub(crate) verbose: bool,
}

/// The place where a download goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContinueAt {
    /// After so many bytes of the file.
    Byte(u64),
    /// After all that is there.
    End,
}

fn continue_at(text: &str) -> Result<ContinueAt, String> {
    match text.parse() {
        Ok(bytes) => Ok(ContinueAt::Byte(bytes)),
        Err(_) if text == "-" => Ok(ContinueAt::End),
        Err(_) => Err("must be a number of bytes, or - for all that is there".to_owned()),
    }
}

/// A time, or a number of seconds as curl takes it.
fn seconds(text: &str) -> Result<Span, String> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    match digits(whole) && digits(part) {
        true => time(&format!("{text}s")),
        false => time(text),
    }
}

/// Statuses of failed replies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statuses(Vec<RangeInclusive<u16>>);

impl Statuses {
    /// Every status of a failed reply.
    pub(crate) fn failures() -> Self {
        Self(vec![400..=599])
    }

    /// Whether this one is among them.
    pub(crate) fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }
}

impl FromStr for Statuses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let status = |text: &str| {
            let status = text.trim().parse::<u16>().ok();
            status.filter(|status| (400..=599).contains(status)).ok_or_else(|| {
                format!("{text:?}: statuses of failures are from 400 to 599, as in 404,500-599")
            })
        };
        let range = |text: &str| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            let (first, last) = (status(first)?, status(last)?);
            match first <= last {
                true => Ok(first..=last),
                false => Err(format!("{text:?}: a range begins with the smaller status")),
            }
        };
        text.split(',').map(range).collect::<Result<_, _>>().map(Self)
    }
}

/// The form of the reports of attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HttpFormat {
    /// A line for people
    Text,
    /// A line of JSON
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_seconds_was_no_time() {
        for (text, millis) in [("5", 5_000), ("0.5", 500), ("5s", 5_000), ("2m", 120_000)] {
            assert_eq!(seconds(text), Ok(Span::from_millis(millis)), "{text}");
        }
        for text in ["", ".", "5.", ".5", "-5", "soon"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_status_that_is_no_failure_was_retried() {
        let named: Statuses = "404,500-502".parse().unwrap();
        let held: Vec<u16> = (100..=599).filter(|status| named.contains(*status)).collect();
        assert_eq!(held, [404, 500, 501, 502]);
        for text in ["", "200", "600", "502-500", "404,", "x"] {
            assert!(text.parse::<Statuses>().is_err(), "{text}");
        }
    }
}
