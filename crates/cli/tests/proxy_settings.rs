//! `stagger proxy --check`: settings from the file, the environment and flags.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder with a file of routes, deleted with this.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, routes: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("stagger-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let routes = format!("{routes}\n[route.a]\nupstream = 'http://a.example'\n");
        fs::write(folder.join("routes.toml"), routes).expect("writable");
        Self(folder)
    }

    fn check(&self, flags: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
        for name in
            ["STAGGER_REDIS", "STAGGER_REDIS_FILE", "STAGGER_REDIS_PROCESSES", "STAGGER_OTLP"]
        {
            command.env_remove(name);
        }
        command.args(["proxy", "--config", "routes.toml", "--check"]).args(flags);
        command.envs(variables.iter().copied()).current_dir(&self.0).stdin(Stdio::null());
        command.output().expect("the binary was built for this test")
    }

    #[track_caller]
    fn refused(&self, flags: &[&str], variables: &[(&str, &str)]) -> String {
        let output = self.check(flags, variables);
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty(), "a refusal wrote to standard output");
        String::from_utf8(output.stderr).expect("the message is UTF-8")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_store_of_a_fleet_was_shown_with_its_password_or_not_checked() {
    let folder = Folder::new("proxy-fleet", "[fleet]\nredis_file = 'store'");
    let bound = "redis://user:password@host:port/database, rediss:// with TLS, or unix:///path";
    let wrong = "http://me:hunter2@host";
    assert_eq!(
        folder.refused(&[], &[("STAGGER_REDIS", wrong)]),
        format!("error: STAGGER_REDIS: redis = ..: must be {bound}\n")
    );
    assert_eq!(
        folder.refused(&["--redis", wrong], &[]),
        format!("error: --redis: redis = ..: must be {bound}\n")
    );
    let missing = folder.refused(&[], &[]);
    assert!(missing.starts_with("error: fleet.redis_file = store: "), "{missing}");
    fs::write(folder.0.join("store"), wrong).expect("writable");
    assert_eq!(
        folder.refused(&[], &[]),
        format!("error: fleet.redis_file = store: must hold {bound}\n")
    );
    fs::write(folder.0.join("store"), "redis://me:hunter2@host\n").expect("writable");
    let good = folder.check(&["--redis-processes", "3"], &[]);
    let said = String::from_utf8_lossy(&good.stderr).into_owned();
    assert!(good.status.success() && said.contains("the settings are good: 1 route"), "{said}");
}

#[test]
fn a_variable_went_before_a_flag_or_after_the_file() {
    let folder = Folder::new("proxy-layers", "[fleet]\nredis_file = 'of-file'");
    let variable = [("STAGGER_REDIS_FILE", "of-variable")];
    let refused = folder.refused(&[], &variable);
    assert!(refused.starts_with("error: STAGGER_REDIS_FILE = of-variable: "), "{refused}");
    let refused = folder.refused(&["--redis-file", "of-flag"], &variable);
    assert!(refused.starts_with("error: --redis-file = of-flag: "), "{refused}");
    assert!(folder.check(&["--redis", "redis://host"], &variable).status.success());
}

#[test]
fn traces_were_dropped_in_silence_by_a_build_that_cannot_send_them() {
    let folder = Folder::new("proxy-otlp", "proxy.otlp = 'http://127.0.0.1:4318/v1/traces'");
    if cfg!(feature = "otel") {
        assert!(folder.check(&[], &[]).status.success());
    } else {
        let message = folder.refused(&[], &[]);
        assert!(
            message.starts_with("error: routes.toml:1:14: proxy.otlp = http://127"),
            "{message}"
        );
        assert!(message.ends_with("build stagger with --features otel\n"), "{message}");
    }
}
