//! Some logs of the corpus whose truth is known; `cargo xtask replay` plays all of them.

#[path = "../corpus/mod.rs"]
mod corpus;

fn row(name: &str) -> corpus::CorpusRow {
    let log = corpus::logs().into_iter().find(|log| log.name == name).expect("a log of this name");
    log.check()
}

#[test]
fn there_are_thirty_logs_of_different_names() {
    let mut names: Vec<&str> = corpus::logs().iter().map(|log| log.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 30);
}

#[test]
fn a_drain_was_counted_twice_with_a_capacity() {
    let row = row("drained-capacity-csv");
    assert!(row.verdict == "given" && row.within, "{row:?}");
    assert!(row.end_error_s.is_some_and(|end| end > 5.0), "the log's outage has the drain in it");
}

#[test]
fn clients_behind_one_address_have_no_verdict_by_guess_and_one_without() {
    assert_eq!(row("nat-guessed-alb").verdict, "none");
    let without = row("nat-retries-none-uwsgi");
    assert!(without.verdict == "given" && without.within, "{without:?}");
}

#[test]
fn two_nodes_one_behind_the_other_are_one_log() {
    let row = row("two-nodes-jsonl");
    assert!(row.verdict == "given" && row.within, "{row:?}");
    assert!(row.attempts_error.abs() < 0.01, "{row:?}");
}
