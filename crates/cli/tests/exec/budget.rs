//! A budget that the processes of one host share in a file.

use std::fs;
use std::process::Child;

use rustix::process::Signal;

use super::scratch::Scratch;
use super::tool::{UnderWay, end, run, tool};

/// Ten retries, and nothing that brings one back.
const TEN: &str = "[budget]\ntokens = { capacity = 50, retry = 5, first_try = 0 }\n";

fn args<'a>(policy: &'a str, budget: &'a str, script: &'a str) -> Vec<&'a str> {
    let policy = ["--policy", policy, "--budget-file", budget, "--base", "1ms", "--cap", "5ms"];
    [&policy[..], &["--attempts", "100", "--", "sh", "-c", script]].concat()
}

#[test]
fn eight_processes_at_once_spent_more_than_there_was() {
    let scratch = Scratch::new("eight");
    let (policy, budget) = (scratch.write("p.toml", TEN), scratch.name("budget"));
    let args = args(&policy, &budget, "echo attempt; exit 1");
    let children: Vec<Child> =
        (0..8).map(|_| tool(&args).spawn().expect("built for this test")).collect();
    let ends: Vec<_> = children.into_iter().map(end).collect();
    let attempts: usize = ends.iter().map(|end| end.stdout.lines().count()).sum();
    assert_eq!(attempts, 8 + 10);
    assert!(ends.iter().all(|end| end.code == Some(1)));
    assert!(ends.iter().all(|end| end.stderr.contains("retry budget empty")));
    assert_eq!(fs::read_dir(scratch.folder()).expect("there").count(), 2, "no drafts are left");
}

#[test]
fn a_process_that_was_killed_left_the_budget_locked_or_broken() {
    let scratch = Scratch::new("killed");
    let (policy, budget) = (scratch.write("p.toml", TEN), scratch.name("budget"));
    let script = "echo attempt; [ $STAGGER_ATTEMPT = 1 ] || exec sleep 1; exit 1";
    let forever = args(&policy, &budget, script);
    for _ in 0..4 {
        let mut under_way = UnderWay::start(&mut tool(&forever));
        assert_eq!((under_way.line(), under_way.line()), ("attempt".into(), "attempt".into()));
        under_way.send(Signal::KILL);
        under_way.close();
        assert_eq!(under_way.end().signal, Some(Signal::KILL.as_raw()));
    }
    let end = run(&args(&policy, &budget, "echo attempt; exit 1"));
    assert_eq!(end.stdout.lines().count(), 1 + 6, "four retries were spent by the dead");
}

#[test]
fn a_kill_in_the_middle_of_a_change_left_half_a_record() {
    let scratch = Scratch::new("half");
    let (policy, budget) = (scratch.write("p.toml", TEN), scratch.name("budget"));
    for _ in 0..20 {
        let busy = args(&policy, &budget, "exit 1");
        let mut children: Vec<Child> =
            (0..3).map(|_| tool(&busy).spawn().expect("built for this test")).collect();
        for child in &mut children {
            child.kill().expect("it is ours");
            child.wait().expect("it is ours");
        }
    }
    let end = run(&args(&policy, &budget, "exit 0"));
    assert_eq!((end.code, end.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_damaged_budget_was_an_endless_one() {
    let scratch = Scratch::new("damaged");
    let (policy, budget) = (scratch.write("p.toml", TEN), scratch.name("budget"));
    assert_eq!(run(&args(&policy, &budget, "exit 0")).code, Some(0));
    let good = fs::read(&budget).expect("just made");
    let refused = |bytes: &[u8], why: &str| {
        fs::write(&budget, bytes).expect("ours");
        let end = run(&args(&policy, &budget, "echo ran"));
        assert_eq!((end.code, end.stdout.as_str()), (Some(2), ""), "{why}");
        assert!(end.stderr.contains(why) && end.stderr.contains(&budget), "{}", end.stderr);
        assert_eq!(fs::read(&budget).expect("there"), bytes, "nothing is written");
    };
    refused(b" ", "damaged");
    refused(&good[..good.len() - 1], "damaged");
    refused(&[&good[..], b"\n"].concat(), "damaged");
    let text = String::from_utf8(good.clone()).expect("JSON");
    refused(text.replacen("[50,", "[49,", 1).as_bytes(), "damaged");
    refused(text.replacen("_budget\":1", "_budget\":2", 1).as_bytes(), "version 2");
    fs::write(&budget, &good).expect("ours");
    let other = scratch.write("other.toml", TEN.replace("capacity = 50", "capacity = 60"));
    let end = run(&args(&other, &budget, "echo ran"));
    assert_eq!((end.code, end.stdout.as_str()), (Some(2), ""));
    assert!(end.stderr.contains("the policy's is"), "{}", end.stderr);
    let end = run(&args(&policy, "/dev/null", "echo ran"));
    assert!(end.code == Some(2) && end.stderr.contains("regular file"), "{}", end.stderr);
}

#[test]
fn a_budget_that_broke_on_the_way_granted_retries() {
    let scratch = Scratch::new("broke");
    let (policy, budget) = (scratch.write("p.toml", TEN), scratch.name("budget"));
    let script = format!("echo attempt; echo x > '{budget}'; exit 9");
    let end = run(&args(&policy, &budget, &script));
    assert_eq!((end.code, end.stdout.as_str()), (Some(9), "attempt\n"));
    assert!(end.stderr.contains("the budget grants nothing"), "{}", end.stderr);
}

#[test]
fn one_call_of_many_attempts_was_stopped_by_a_budget_for_many_calls() {
    let script = "[ $STAGGER_ATTEMPT = 20 ]";
    let args = ["--attempts", "20", "--base", "1ms", "--cap", "1ms", "--", "sh", "-c", script];
    assert_eq!(run(&args).code, Some(0));
}

#[test]
fn a_policy_file_without_a_budget_got_a_hidden_one() {
    let scratch = Scratch::new("hidden");
    let text = "[backoff]\nbase = \"1ms\"\ncap = \"1ms\"\n[limits]\nmax_attempts = 30\n";
    let policy = scratch.write("p.toml", text);
    let command = ["--", "sh", "-c", "echo attempt; exit 1"];
    let end = run(&[&["--policy", &policy][..], &command].concat());
    assert_eq!(end.stdout.lines().count(), 30, "{}", end.stderr);
    let named = scratch.write(
        "named.toml",
        format!("{text}[budget]\ntokens = {{ capacity = 10, retry = 5, first_try = 0 }}\n"),
    );
    let end = run(&[&["--policy", &named][..], &command].concat());
    assert_eq!(end.stdout.lines().count(), 1 + 2, "a budget that is named stays");
    let shared = ["--policy", &policy, "--budget-file", &scratch.name("budget")];
    let end = run(&[&shared[..], &command].concat());
    assert!(end.stderr.contains("retry budget empty"), "a shared file has one: {}", end.stderr);
}
