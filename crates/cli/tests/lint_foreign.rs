//! `stagger lint` and `stagger explain` on settings of other products: at their lines, in their words.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use serde_json::Value;
use stagger_import::SettingsDocument;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const FORMATS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/formats");

fn stagger(args: &[&str], folder: &Path) -> Output {
    let command =
        Command::new(env!("CARGO_BIN_EXE_stagger")).args(args).current_dir(folder).output();
    command.expect("the binary was built for this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// A folder of its own with these files.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    for (file, text) in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().expect("in the folder")).expect("made");
        fs::write(path, text).expect("written");
    }
    folder
}

const ROUTE: &str = "\
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata:
  name: orders
spec:
  hosts: [orders]
  http:
    - route: [{ destination: { host: orders } }]
      retries:
        attempts: 3
        perTryTimeout: 3s
      timeout: 3s
";

const CLIENT: &str = "\
resilience4j.retry.instances.orders.max-attempts=4
resilience4j.retry.instances.orders.wait-duration=200ms
";

#[test]
fn a_finding_is_at_the_line_of_its_setting_and_in_the_words_of_the_product() {
    let folder = folder("own-words", &[("route.yaml", ROUTE)]);
    let output = stagger(&["lint", "route.yaml"], &folder);
    let page = text(&output.stdout);
    assert!(page.contains("warning[timeout-fills-deadline]"), "{page}");
    assert!(page.contains(" --> route.yaml:11:24"), "{page}");
    assert!(page.contains("= help: retries.perTryTimeout (Istio); as a policy: "), "{page}");
    assert!(
        page.contains("= help: no setting of Istio") || page.contains("trafficPolicy.retryBudget"),
        "{page}"
    );
}

#[test]
fn layers_in_different_files_multiply() {
    let folder =
        folder("layers", &[("mesh/route.yaml", ROUTE), ("app/application.properties", CLIENT)]);
    let found = json(&stagger(&["lint", ".", "--format", "json"], &folder));
    let nested: Vec<&Value> = found["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|finding| finding["code"] == "nested-layers")
        .collect();
    assert_eq!(nested.len(), 1, "{found:#}");
    assert_eq!(nested[0]["file"], "./mesh/route.yaml");
    assert_eq!(nested[0]["line"], 10);
    let message = nested[0]["message"].as_str().expect("a text");
    let expected = "4 attempts here and 4 of orders (resilience4j, ./app/application.properties) make up to 16";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn an_entry_that_is_refused_is_an_error_at_its_line() {
    let output = stagger(
        &["lint", "one-bad-entry.json", "--format", "json"],
        &Path::new(FORMATS).join("grpc"),
    );
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let found = json(&output);
    assert_eq!(found["policies"], 1);
    assert_eq!(found["refused"][0]["line"], 4, "{found:#}");
    assert!(found["refused"][0]["message"].as_str().expect("a text").starts_with("methodConfig.1"));
}

#[test]
fn every_settings_file_is_linted_and_explained_as_it_is() {
    for format in
        fs::read_dir(FORMATS).expect("the folder").map(|entry| entry.expect("an entry").path())
    {
        for file in
            fs::read_dir(&format).into_iter().flatten().map(|entry| entry.expect("an entry").path())
        {
            let shown = file.to_str().expect("UTF-8");
            let bad = shown.ends_with("one-bad-entry.json");
            let linted = stagger(&["lint", shown, "--format", "sarif"], Path::new(REPOSITORY));
            let log = json(&linted);
            assert_eq!(log["version"], "2.1.0", "{shown}");
            assert_eq!(linted.status.code() == Some(2), bad, "{shown}: {}", text(&linted.stderr));
            let explained = stagger(&["explain", shown, "--format", "json"], Path::new(REPOSITORY));
            assert_ne!(explained.status.code(), Some(2), "{shown}: {}", text(&explained.stderr));
        }
    }
}

#[test]
fn the_action_and_the_hook_run_what_there_is() {
    let read = |file: &str| {
        let text = fs::read_to_string(Path::new(REPOSITORY).join(file)).expect("in the repository");
        SettingsDocument::read(&text).expect("YAML").remove(0).tree().clone()
    };
    let hook = read(".pre-commit-hooks.yaml");
    assert_eq!(hook[0]["entry"], "stagger lint");
    let action = read("action.yml");
    let step = &action["runs"]["steps"][1];
    assert_eq!(step["id"], "lint");
    let program = Path::new(env!("CARGO_BIN_EXE_stagger")).parent().expect("a folder");
    let path = format!("{}:{}", program.display(), env::var("PATH").expect("a path"));
    let folder = folder("action", &[("route.yaml", ROUTE)]);
    let run = |deny: &str, allow: &str| {
        Command::new("sh")
            .args(["-c", step["run"].as_str().expect("a script")])
            .envs([
                ("PATH", path.as_str()),
                ("PATHS", "route.yaml"),
                ("DENY", deny),
                ("ALLOW", allow),
            ])
            .current_dir(&folder)
            .output()
            .expect("sh")
    };
    let output = run("", "");
    assert!(text(&output.stdout).contains("::warning file=route.yaml,line=11,"), "{output:?}");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(run("warnings", "").status.code(), Some(1));
    let accepted = text(&run("", "timeout-fills-deadline no-budget").stdout);
    assert!(!accepted.contains("timeout-fills-deadline"), "{accepted}");
}

#[test]
fn an_export_says_what_is_lost_above_the_settings() {
    let policy = "[backoff]\nbase = '50ms'\n[limits]\nmax_attempts = 3\ndeadline = '2s'\n[budget.window]\nratio = 0.2\n";
    let folder = folder("export", &[("orders.toml", policy)]);
    for format in ["grpc", "envoy", "istio", "gateway-api", "resilience4j", "polly", "aws"] {
        let output = stagger(&["export", "orders.toml", "--to", format], &folder);
        assert_eq!(output.status.code(), Some(0), "{format}: {output:?}");
        let (page, said) = (text(&output.stdout), text(&output.stderr));
        let mut lost = 0;
        for line in said.lines().filter(|line| line.starts_with("lost: ")) {
            let key = line.split(" = ").next().expect("a key");
            assert!(format == "grpc" || page.contains(key), "{format}: {key}");
            lost += 1;
        }
        assert!(lost > 0, "{format} cannot say a window of 10 s with a floor that is added");
    }
    let output = stagger(&["export", "orders.toml", "--to", "nginx"], &folder);
    assert_eq!(output.status.code(), Some(2));
}
