//! Every integration keeps every promise, or says why it does not apply; the page shows it.

use stagger_contracts::grid;

#[tokio::test(flavor = "multi_thread")]
async fn no_promise_is_broken_or_left_out() {
    let grid = grid().await;
    assert!(grid.is_good(), "{:#?}", grid.failures());
    let page = include_str!("../../../docs/contracts.md");
    assert!(
        page.contains(&grid.to_string()),
        "docs/contracts.md is stale: cargo xtask contracts --write"
    );
}
