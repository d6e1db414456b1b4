//! The installer script, against releases of a server of our own.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use sha2::{Digest, Sha256};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/install.sh");
const PLATFORM: &str = "x86_64-unknown-linux-musl";

/// A machine with a name of its own, and a server with one release.
struct Machine {
    folder: PathBuf,
    releases: String,
}

impl Machine {
    /// `uname` says `system` and `machine` there; the archive's program prints a version.
    fn new(test: &str, (system, machine): (&str, &str), sum: Option<&str>) -> Self {
        let name = format!("stagger-installer-{}-{test}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("path")).expect("it is ours");
        let uname =
            format!("#!/bin/sh\ncase $1 in -s) echo {system} ;; -m) echo {machine} ;; esac\n");
        program(&folder.join("path/uname"), &uname);
        let archive = archive(&folder, "echo stagger 1.2.3");
        let digest: String =
            Sha256::digest(&archive).iter().map(|byte| format!("{byte:02x}")).collect();
        let name = format!("stagger-1.2.3-{PLATFORM}.tar.gz");
        let sum = format!("{}  {name}\n", sum.unwrap_or(&digest));
        let releases = serve([
            ("/latest/download/VERSION".to_owned(), b"1.2.3\n".to_vec()),
            (format!("/download/v1.2.3/{name}.sha256"), sum.into_bytes()),
            (format!("/download/v1.2.3/{name}"), archive),
        ]);
        Self { folder, releases }
    }

    fn install(&self, arguments: &[&str]) -> Output {
        let path = std::env::var("PATH").expect("a path");
        let mut script = Command::new("sh");
        script.arg(SCRIPT).arg("--prefix").arg(self.folder.join("prefix")).args(arguments);
        script.env("PATH", format!("{}:{path}", self.folder.join("path").display()));
        script
            .env("STAGGER_RELEASES", &self.releases)
            .env("no_proxy", "*")
            .output()
            .expect("it runs")
    }

    fn refuse(&self, arguments: &[&str], wanted: &str) {
        let out = self.install(arguments);
        let told = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(!out.status.success() && told.contains(wanted), "{told}");
        assert!(!self.folder.join("prefix").exists(), "something was installed: {told}");
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn the_latest_release_is_installed_and_runs() {
    for (test, machine) in [("amd", "x86_64"), ("old", "amd64")] {
        let machine = Machine::new(test, ("Linux", machine), None);
        let out = machine.install(&[]);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let program = machine.folder.join("prefix/bin/stagger");
        let told = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(
            told.contains(&format!("installed stagger 1.2.3 as {}", program.display())),
            "{told}"
        );
        let ran = Command::new(program).output().expect("it runs");
        assert_eq!(ran.stdout, b"stagger 1.2.3\n");
    }
}

#[test]
fn a_version_may_be_named_as_its_tag_is() {
    let machine = Machine::new("tag", ("Linux", "x86_64"), None);
    assert!(machine.install(&["--version", "v1.2.3"]).status.success());
}

#[test]
fn an_archive_with_another_checksum_is_not_installed() {
    let machine = Machine::new("sum", ("Linux", "x86_64"), Some(&"0".repeat(64)));
    machine.refuse(&[], "nothing was installed");
}

#[test]
fn other_platforms_versions_and_options_are_refused_by_name() {
    let sun = Machine::new("sun", ("SunOS", "x86_64"), None);
    sun.refuse(&[], "no program for SunOS");
    let risc = Machine::new("risc", ("Linux", "riscv64"), None);
    risc.refuse(&[], "no program for riscv64");
    // The release has no program for this one.
    let mac = Machine::new("mac", ("Darwin", "arm64"), None);
    mac.refuse(&[], "stagger-1.2.3-aarch64-apple-darwin.tar.gz");
    let plain = Machine::new("plain", ("Linux", "x86_64"), None);
    plain.refuse(&["--version", "9.9.9"], "cannot be fetched");
    plain.refuse(&["--version", "../1"], "not a version");
    plain.refuse(&["--force"], "unknown option --force");
}

fn program(path: &Path, text: &str) {
    fs::write(path, text).expect("it is ours");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

fn archive(folder: &Path, body: &str) -> Vec<u8> {
    let name = format!("stagger-1.2.3-{PLATFORM}");
    fs::create_dir_all(folder.join(&name)).expect("it is ours");
    program(&folder.join(&name).join("stagger"), &format!("#!/bin/sh\n{body}\n"));
    let mut tar = Command::new("tar");
    tar.current_dir(folder).args(["-czf", "archive.tar.gz", &name]);
    assert!(tar.status().expect("tar runs").success());
    fs::read(folder.join("archive.tar.gz")).expect("it is there")
}

/// Serves these files until the test ends, and returns the address of their root.
fn serve(files: impl Into<BTreeMap<String, Vec<u8>>>) -> String {
    let files = files.into();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut lines = BufReader::new(Read::by_ref(&mut stream)).lines();
            let asked = lines.next().and_then(Result::ok).unwrap_or_default();
            // All of the request is read, so that closing does not reset the connection.
            while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
            drop(lines);
            let path = asked.split(' ').nth(1).unwrap_or_default();
            let (status, body) =
                files.get(path).map_or(("404 Not Found", &[][..]), |b| ("200 OK", b));
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        }
    });
    format!("http://{address}")
}
