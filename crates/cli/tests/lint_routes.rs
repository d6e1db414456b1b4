//! `stagger lint` and `explain` of a proxy's routes: each policy as the proxy has it, wherever it comes from.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn stagger(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.args(args).stdin(Stdio::null()).output().expect("the binary was built for this test")
}

/// A folder with the file of routes, and one of policies beside it.
struct RoutesFolder(PathBuf);

impl RoutesFolder {
    fn new(name: &str, routes: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("routes-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a temporary folder");
        let policies = "[policy.aligned]\nbackoff.jitter = 'none'\nlimits.attempt_timeout = '1s'\n";
        fs::write(folder.join("policies.toml"), policies).expect("writable");
        fs::write(folder.join("routes.toml"), routes).expect("writable");
        Self(folder)
    }

    fn file(&self) -> String {
        self.0.join("routes.toml").display().to_string()
    }

    fn lint(&self, name: &str) -> Value {
        let output = stagger(&["lint", &format!("{}{name}", self.file()), "--format", "json"]);
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// Findings: the policy, the code and the line.
fn found(page: &Value) -> Vec<(String, String, u64)> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let row = |row: &Value| {
        (text(row, "policy"), text(row, "code"), row["line"].as_u64().expect("a line"))
    };
    page["findings"].as_array().expect("a list").iter().map(row).collect()
}

fn row(policy: &str, code: &str, line: u64) -> (String, String, u64) {
    (policy.to_owned(), code.to_owned(), line)
}

#[test]
fn a_policy_from_another_file_or_a_preset_was_not_looked_at() {
    let routes = "[route.near]\nupstream = 'http://a'\nhost = 'a'\npolicy = 'policies.toml#aligned'\n\
                  [route.ready]\nupstream = 'http://b'\nhost = 'b'\npolicy = 'google-cloud'\n\
                  [route.plain]\nupstream = 'http://c'\n";
    let folder = RoutesFolder::new("places", routes);
    let page = folder.lint("");
    assert_eq!(page["policies"], 3);
    let found = found(&page);
    assert!(found.contains(&row("route.near", "no-jitter", 4)), "{found:?}");
    // Its deadline is 120 s, and the proxy waits for 30 s when it stops.
    assert!(found.contains(&row("route.ready", "route-drain", 8)), "{found:?}");
    let explained = stagger(&["explain", &folder.file(), "--format", "json"]);
    let explained: Value = serde_json::from_slice(&explained.stdout).expect("one value");
    let text = explained.to_string();
    for name in ["route.near", "route.ready", "route.plain"] {
        assert!(text.contains(&format!("\"{name}\"")), "{name} in {text}");
    }
}

#[test]
fn a_policy_and_a_route_of_one_name_were_one_in_reports() {
    let routes = "[policy.a]\nbackoff.jitter = 'none'\nlimits.attempt_timeout = '1s'\n\
                  [route.a]\nupstream = 'http://a'\nhost = 'a'\n\
                  policy = { backoff = { jitter = 'none' }, limits = { attempt_timeout = '1s' } }\n\
                  [route.b]\nupstream = 'http://b'\npolicy = 'a'\n";
    let folder = RoutesFolder::new("clash", routes);
    let all = found(&folder.lint(""));
    assert_eq!(all, [row("a", "no-jitter", 2), row("route.a", "no-jitter", 7)]);
    assert_eq!(found(&folder.lint("#a")), [row("a", "no-jitter", 2)]);
    assert_eq!(found(&folder.lint("#route.a")), [row("route.a", "no-jitter", 7)]);
    let shown = stagger(&["lint", &folder.file()]);
    let shown = String::from_utf8(shown.stdout).expect("UTF-8");
    assert!(
        shown.contains("= note: in policy a\n") && shown.contains("= note: in route a\n"),
        "{shown}"
    );
}

#[test]
fn a_route_is_found_by_its_own_name_where_no_policy_has_it() {
    let routes = "[route.shop]\nupstream = 'http://a'\npolicy.backoff.jitter = 'none'\n";
    let folder = RoutesFolder::new("short", routes);
    assert_eq!(found(&folder.lint("#shop"))[0].0, "route.shop");
    let explained = stagger(&["explain", &format!("{}#shop", folder.file())]);
    assert!(!explained.stdout.is_empty(), "{}", String::from_utf8_lossy(&explained.stderr));
    let absent = stagger(&["explain", &format!("{}#ship", folder.file())]);
    assert_eq!(absent.status.code(), Some(2));
}

#[test]
fn hints_of_a_route_hold_for_the_destination_as_in_the_proxy() {
    let routes = |scope: &str| {
        format!(
            "[route.a]\nupstream = 'http://a'\npolicy = {{ hints = {{ max = '60s'{scope} }} }}\n"
        )
    };
    let explained = |name: &str, scope: &str| {
        let folder = RoutesFolder::new(name, &routes(scope));
        let output = stagger(&["explain", &folder.file()]);
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let shared = "holds all calls to the destination";
    let plain =
        |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ").replace('\u{a0}', " ");
    assert!(plain(explained("shared", "")).contains(shared));
    assert!(!plain(explained("own", ", scope = 'call'")).contains(shared));
}

#[test]
fn what_the_proxy_refuses_looked_clean() {
    let routes = "[route.a]\nupstream = 'http://a'\nmax_inflight = 3\n";
    let folder = RoutesFolder::new("refused", routes);
    let page = folder.lint("");
    let said = page["refused"][0]["message"].as_str().expect("a message");
    assert!(said.contains("did you mean max_in_flight?"), "{said}");
    assert_eq!((&page["refused"][0]["line"], &page["errors"]), (&3.into(), &1.into()));
    let folder =
        RoutesFolder::new("lost", "[route.a]\nupstream = 'http://a'\npolicy = 'gone.toml#x'\n");
    let page = folder.lint("");
    assert!(page.to_string().contains("gone.toml"), "{page}");
    assert_eq!(page["refused"][0]["line"], 3);
}

#[test]
fn a_tunnel_was_judged_by_retries_that_it_does_not_make() {
    let routes = "[route.db]\nconnect = 'db:1'\n\
                  policy = { backoff = { jitter = 'none' }, breaker = { consecutive = 1 } }\n";
    let codes: Vec<String> =
        found(&RoutesFolder::new("tunnel", routes).lint("")).into_iter().map(|it| it.1).collect();
    assert_eq!(codes, ["breaker-consecutive"]);
}

#[test]
fn an_attempt_longer_than_the_deadline_leaves_no_time_for_another() {
    let of = |timeout: &str| {
        let policy =
            format!("policy.limits = {{ deadline = '5s', attempt_timeout = '{timeout}' }}");
        let routes = format!("[route.a]\nupstream = 'http://a'\n{policy}\n");
        found(&RoutesFolder::new(&format!("timeout-{timeout}"), &routes).lint(""))
    };
    assert_eq!(of("6s"), [row("route.a", "timeout-fills-deadline", 3)]);
    assert_eq!(of("2s"), []);
}

#[test]
fn explain_showed_the_budget_of_the_library_for_a_route_that_sets_none() {
    for (name, policy, words) in [
        ("plain", "", "The budget grants 5 % of the first attempts"),
        ("table", "policy.limits.max_attempts = 3", "Unspent grants expire after 1 s"),
        ("named", "policy = 'usual'\n[policy.usual]\nlimits.max_attempts = 3", "expire after 1 s"),
        ("set", "policy.budget.window.ratio = 0.1", "The budget grants 10 % of the first attempts"),
        ("preset", "policy = 'interactive'", "The budget grants 10 % of the first attempts"),
    ] {
        let folder =
            RoutesFolder::new(name, &format!("[route.a]\nupstream = 'http://a'\n{policy}\n"));
        let output = stagger(&["explain", &format!("{}#route.a", folder.file())]);
        let shown = String::from_utf8(output.stdout).expect("UTF-8").replace('\u{a0}', " ");
        let shown = shown.replace('\u{202f}', " ");
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(words), "{name}: {shown}");
    }
}
