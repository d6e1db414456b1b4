//! The units of systemd, and the command lines in the Dockerfile.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use stagger_proxy::config::ProxySettings;

use super::manifests::{deploy, text};
use super::processes::{has_flags, stagger};

/// The settings of `[Service]`, each with all its values.
fn service(unit: &str) -> BTreeMap<String, Vec<String>> {
    let page = text(&deploy(unit));
    let lines = page.lines().skip_while(|line| *line != "[Service]").skip(1);
    let mut settings: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in
        lines.take_while(|line| !line.starts_with('[')).filter(|line| !line.starts_with('#'))
    {
        if let Some((key, value)) = line.split_once('=') {
            settings.entry(key.to_owned()).or_default().push(value.to_owned());
        }
    }
    settings
}

/// The command lines of the program in a unit.
fn command_lines(settings: &BTreeMap<String, Vec<String>>) -> Vec<&str> {
    let all = settings.iter().filter(|(key, _)| key.starts_with("Exec")).flat_map(|(_, all)| all);
    all.filter_map(|line| line.strip_prefix("stagger ")).collect()
}

#[test]
fn every_command_line_has_known_flags() {
    for unit in ["stagger.service", "stagger-proxy.service"] {
        let settings = service(unit);
        let lines = command_lines(&settings);
        assert!(lines.len() >= 2, "{unit}: {lines:?}");
        for line in lines {
            has_flags(&line.split(' ').collect::<Vec<_>>());
        }
    }
    let dockerfile = text(&deploy("Dockerfile"));
    let of_proxy = dockerfile.lines().find_map(|line| line.split_once(" stagger proxy "));
    let flags: Vec<&str> = of_proxy.expect("the proxy in a container").1.split(' ').collect();
    has_flags(&[&["proxy"], flags.as_slice()].concat());
}

#[test]
fn the_proxy_is_as_hardened_as_the_dispatcher() {
    let (dispatcher, proxy) = (service("stagger.service"), service("stagger-proxy.service"));
    let own =
        ["ExecStartPre", "ExecStart", "EnvironmentFile", "StateDirectory", "StateDirectoryMode"];
    for (key, values) in dispatcher.iter().filter(|(key, _)| !own.contains(&key.as_str())) {
        assert_eq!(proxy.get(key), Some(values), "{key}");
    }
}

#[test]
fn a_reload_is_checked_first_and_a_stop_outlasts_the_drain() {
    let unit = service("stagger-proxy.service");
    let [check, signal] = unit["ExecReload"].as_slice() else { panic!("{:?}", unit["ExecReload"]) };
    assert!(check.ends_with(" --check"), "{check}");
    assert_eq!(signal, "/bin/kill -HUP $MAINPID");
    let file = deploy("routes.toml");
    let settings = ProxySettings::read(&file).unwrap_or_else(|fault| panic!("{fault}"));
    let stop: u64 = unit["TimeoutStopSec"][0].parse().expect("seconds");
    assert!(stop > settings.limits.drain.as_secs_ceil(), "{stop}");
    assert!(settings.routes.iter().all(|route| route.listen.ip().is_loopback()));
    let checked = stagger(&["proxy", "--config", &file.display().to_string(), "--check"]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    let linted = stagger(&["lint", &file.display().to_string(), "--deny", "warnings"]);
    assert!(linted.status.success(), "{}", String::from_utf8_lossy(&linted.stdout));
}

#[test]
fn secrets_are_credentials_that_the_comment_names() {
    let credentials =
        service("stagger-proxy.service").remove("LoadCredential").expect("credentials");
    let page = text(&deploy("stagger-proxy.service"));
    assert!(page.contains(&format!("/run/credentials/stagger-proxy.service/{}", credentials[0])));
    // A relative name is looked for in /etc/credstore, and may be missing; an absolute path may not.
    assert!(credentials.iter().all(|name| !name.contains(['/', ':'])), "{credentials:?}");
}

/// Skipped, with a note, where systemd is not installed.
#[test]
fn systemd_knows_every_setting_of_the_units() {
    for unit in ["stagger.service", "stagger-proxy.service"] {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("units");
        fs::create_dir_all(&folder).expect("a temporary folder");
        let file = folder.join(unit);
        let program = format!("={} ", env!("CARGO_BIN_EXE_stagger"));
        fs::write(&file, text(&deploy(unit)).replace("=stagger ", &program)).expect("writable");
        let Ok(output) = Command::new("systemd-analyze").arg("verify").arg(&file).output() else {
            eprintln!("skipped: systemd-analyze is not installed");
            return;
        };
        let said = String::from_utf8_lossy(&output.stderr);
        let about: Vec<&str> = said.lines().filter(|line| line.contains(unit)).collect();
        assert!(about.is_empty(), "{about:?}");
    }
}
