//! Attempts written in all formats.

use jiff::Timestamp;
use stagger_replay::AccessLogFormat;

/// The written part of one attempt.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// Its start, in milliseconds since the epoch.
    pub(crate) began: u64,
    /// Its duration, in milliseconds.
    pub(crate) took: u64,
    /// Its status.
    pub(crate) status: u16,
    /// Its caller and request.
    pub(crate) caller: u32,
}

impl Written {
    /// A line of this format, without its end; CSV under [`HEADER`].
    pub(crate) fn line(&self, format: AccessLogFormat) -> String {
        let Self { began, took, status, caller } = self;
        let at = |ms: u64| {
            let ms = i64::try_from(ms).expect("a date of this century");
            Timestamp::from_millisecond(ms).expect("a date of this century")
        };
        match format {
            AccessLogFormat::Combined => {
                let local = at(began + took).strftime("%d/%b/%Y:%H:%M:%S +0000").to_string();
                format!(
                    "10.0.0.9 - - [{local}] \"GET /calls/{caller} HTTP/1.1\" {status} 17 \"-\" \
                     \"curl/8.5.0\" {}.{:03} -",
                    took / 1_000,
                    took % 1_000,
                )
            }
            AccessLogFormat::Envoy => format!(
                "{{\"start_time\":\"{:.3}\",\"response_code\":{status},\"duration\":{took},\
                 \"response_flags\":\"-\",\"x-request-id\":\"call-{caller}\",\"path\":\"/\"}}",
                at(*began),
            ),
            AccessLogFormat::Csv => format!("{began},{status},{took},call-{caller}"),
            AccessLogFormat::JsonLines => format!(
                "{{\"ts\":{}.{:03},\"status\":\"{status}\",\"took\":{took},\"request_id\":{caller}}}",
                began / 1_000,
                began % 1_000,
            ),
        }
    }
}

/// The header of CSV.
pub(crate) const HEADER: &str = "timestamp,status,duration_ms,request_id";

/// A whole log.
pub(crate) fn log(format: AccessLogFormat, attempts: &[Written]) -> String {
    let header = (format == AccessLogFormat::Csv).then(|| format!("{HEADER}\n"));
    let lines = attempts.iter().map(|written| written.line(format) + "\n");
    header.into_iter().chain(lines).collect()
}
