//! HTTP-dates, strictly: `http-date/curl-lib517.json`.
//!
//! curl reads dates of many shapes; the rows that are in the grammar of RFC 9110 section 5.6.7 must
//! be read as curl reads them, the others refused.

use serde::Deserialize;
use stagger_core::hint::{WallTime, http_date};

use super::Suite;

#[derive(Deserialize)]
struct HttpDateFile {
    cases: Vec<HttpDateCase>,
}

#[derive(Deserialize)]
struct HttpDateCase {
    value: String,
    /// -1 is refused by curl too: no such time of day.
    curl_epoch: i64,
    rfc9110_form: Option<String>,
}

/// Runs the vectors of this file.
pub(super) fn run() -> Vec<Suite> {
    let text = include_str!("../../../../vectors/http-date/curl-lib517.json");
    let file: HttpDateFile = serde_json::from_str(text).expect("a vector file that is JSON");
    let mut suite = Suite::new("http-date/curl-lib517.json");
    // 2020: the one two-digit year in the grammar, 94, is then 1994 by the 50-year rule.
    let now = Some(WallTime::from_unix_secs(1_577_836_800));
    for case in file.cases {
        let want = case.rfc9110_form.map(|_| case.curl_epoch).filter(|&epoch| epoch != -1);
        let got = http_date(case.value.as_bytes(), now).map(WallTime::unix_secs);
        suite.check(case.value, &got, &want);
    }
    vec![suite]
}
