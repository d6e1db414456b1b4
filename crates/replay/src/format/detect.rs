//! The format of a file, by its first lines.

use super::kind::AccessLogFormat;
use super::map::LogMap;
use super::parser::Parser;
use super::{combined, json};

/// Lines that are looked at: enough for a few strange ones among them.
pub(crate) const LOOKED_AT: usize = 32;

impl AccessLogFormat {
    /// The format of these first lines: that which at least half of them have, or CSV if the first
    /// of them is a header with a time and a status.
    pub(crate) fn detect(lines: &[&[u8]], map: Option<&LogMap>) -> Option<Self> {
        let lines = &lines[..lines.len().min(LOOKED_AT)];
        let most = |holds: &dyn Fn(&[u8]) -> bool| {
            let count = lines.iter().filter(|line| holds(line)).count();
            count > 0 && 2 * count >= lines.len()
        };
        if most(&|line| combined::parse(line).is_ok()) {
            return Some(Self::Combined);
        }
        if most(&|line| json::keys(line).iter().any(|key| key == "response_code")) && map.is_none()
        {
            return Some(Self::Envoy);
        }
        if most(&|line| !json::keys(line).is_empty()) {
            return Some(Self::JsonLines);
        }
        Parser::new(Self::Csv, map, lines.first()?).is_some().then_some(Self::Csv)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(lines: &[&str]) -> Option<AccessLogFormat> {
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        AccessLogFormat::detect(&lines, None)
    }

    const COMBINED: &str = r#"10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 5"#;

    #[test]
    fn each_format_is_told_by_its_lines() {
        assert_eq!(detect(&[COMBINED]), Some(AccessLogFormat::Combined));
        let envoy = r#"{"start_time":"2016-04-15T20:17:00.310Z","response_code":200}"#;
        assert_eq!(detect(&[envoy]), Some(AccessLogFormat::Envoy));
        assert_eq!(detect(&[r#"{"ts":1,"status":200}"#]), Some(AccessLogFormat::JsonLines));
        assert_eq!(detect(&["ts,status", "1,200"]), Some(AccessLogFormat::Csv));
    }

    #[test]
    fn a_strange_line_among_others_does_not_matter_and_prose_is_no_log() {
        assert_eq!(detect(&["-- rotated --", COMBINED]), Some(AccessLogFormat::Combined));
        assert_eq!(detect(&["Dear all,", "the status is bad.", "Yours"]), None);
        assert_eq!(detect(&[]), None);
    }
}
