//! Malformed and hostile input: what goes in, what the upstream sees, and what the client gets. The table stands in
//! `docs/proxy-security.md` too, and is the same there.

mod cases;
mod frames;
mod recorder;
mod site;

use std::time::Duration;

use cases::{CASES, Case};
use site::MalformedSite;
use tokio::time::timeout;

/// The longest time for one case: ten times what the slowest takes, which waits for a limit of the proxy.
const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn every_case_of_the_table_ends_as_it_says() {
    let mut wrong = Vec::new();
    for case in &CASES {
        let site = MalformedSite::start().await;
        let bytes = (case.bytes)();
        let (client, other) =
            timeout(LIMIT, async { tokio::join!(site.send(&bytes), site.other_client()) })
                .await
                .unwrap_or_else(|_| panic!("{}: no end", case.name));
        assert_eq!(other, "200", "{}: another client is served meanwhile", case.name);
        // What the proxy has passed on arrives before it is gone.
        site.stop().await;
        let upstream = site.upstream.seen();
        let (client, upstream) = (client.as_str(), upstream.as_str());
        if (client, upstream) != (case.client, case.upstream) {
            wrong.push(format!("{}: client {client}, upstream {upstream}", case.name));
        }
        let raw = site.upstream.raw();
        assert!(raw.iter().all(|bytes| recorder::is_strict(bytes)), "{}: {raw:?}", case.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_of_the_documents_is_the_tested_one() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/proxy-security.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let missing: Vec<String> =
        CASES.iter().map(Case::row).filter(|row| !page.contains(row)).collect();
    assert!(missing.is_empty(), "not in the page:\n{}", missing.join("\n"));
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.ends_with(" |"));
    let tested = rows.filter(|row| row.matches(" | ").count() == 3).count();
    // Besides the cases there are the two lines of the head.
    assert_eq!(tested, CASES.len() + 2, "the page has rows that are not tested");
}
