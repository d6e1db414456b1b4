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
        let seconds = |ms: u64| format!("{}.{:03}", ms / 1_000, ms % 1_000);
        let ended = began + took;
        match format {
            AccessLogFormat::Combined => {
                let local = at(ended).strftime("%d/%b/%Y:%H:%M:%S +0000").to_string();
                let took = seconds(*took);
                format!(
                    "10.0.0.9 - - [{local}] \"GET /calls/{caller} HTTP/1.1\" {status} 17 \"-\" \
                     \"curl/8.5.0\" {took} -"
                )
            }
            AccessLogFormat::Envoy => format!(
                "{{\"start_time\":\"{:.3}\",\"response_code\":{status},\"duration\":{took},\
                 \"response_flags\":\"-\",\"x-request-id\":\"call-{caller}\",\"path\":\"/\"}}",
                at(*began),
            ),
            AccessLogFormat::EnvoyText => format!(
                "[{:.3}] \"GET / HTTP/2\" {status} - 0 17 {took} - \"10.0.0.9\" \"curl\" \
                 \"call-{caller}\" \"a.example\" \"10.0.2.1:80\"",
                at(*began),
            ),
            AccessLogFormat::Alb => format!(
                "http {:.3} app/a/1 10.0.0.9:2817 10.0.2.1:80 0 {} 0 {status} {status} 5 17 \
                 \"GET http://a.example:80/calls/{caller} HTTP/1.1\" \"curl\" - -",
                at(ended),
                seconds(*took),
            ),
            AccessLogFormat::W3c => format!(
                "{} GET /calls/{caller} - 10.0.0.9 {status} {took}",
                at(ended).strftime("%Y-%m-%d %H:%M:%S"),
            ),
            AccessLogFormat::HaProxy => format!(
                "10.0.0.9:33317 [{}] in static/srv1 0/0/0/{took}/{took} {status} 17 - - ---- \
                 1/1/1/1/0 0/0 \"GET /calls/{caller} HTTP/1.1\"",
                at(*began).strftime("%d/%b/%Y:%H:%M:%S%.3f"),
            ),
            AccessLogFormat::Uwsgi => format!(
                "[pid: 7|app: 0|req: 1/1] 10.0.0.9 () {{42 vars in 675 bytes}} [{}] \
                 GET /calls/{caller} => generated 17 bytes in {took} msecs (HTTP/1.1 {status}) \
                 1 headers in 44 bytes (1 switches on core 0)",
                at(*began).strftime("%a %b %e %H:%M:%S %Y"),
            ),
            AccessLogFormat::Caddy => format!(
                "{{\"level\":\"info\",\"ts\":{},\"logger\":\"http.log.access\",\"request\":\
                 {{\"remote_ip\":\"10.0.0.9\",\"uri\":\"/calls/{caller}\"}},\"duration\":{},\
                 \"status\":{status}}}",
                seconds(ended),
                seconds(*took),
            ),
            AccessLogFormat::Csv => format!("{began},{status},{took},call-{caller}"),
            AccessLogFormat::JsonLines => format!(
                "{{\"ts\":{},\"status\":\"{status}\",\"took\":{took},\"request_id\":{caller}}}",
                seconds(*began),
            ),
            other => panic!("no writer for {other}"),
        }
    }
}

/// The lines above the attempts, if the format has any.
pub(crate) const fn header(format: AccessLogFormat) -> &'static str {
    match format {
        AccessLogFormat::Csv => "timestamp,status,duration_ms,request_id\n",
        AccessLogFormat::W3c => {
            "#Version: 1.0\n#Fields: date time cs-method cs-uri-stem cs-uri-query c-ip sc-status time-taken\n"
        }
        _ => "",
    }
}

/// A whole log.
pub(crate) fn log(format: AccessLogFormat, attempts: &[Written]) -> String {
    let lines = attempts.iter().map(|written| written.line(format) + "\n");
    std::iter::once(header(format).to_owned()).chain(lines).collect()
}
