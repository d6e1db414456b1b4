//! Certificates: those that are trusted, and those of curl's users that were refused.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use stagger_testkit::server::{BlockingServer, Identity, Reaction, Script};

use crate::command::{HttpRun, folder, http};

/// A server with this identity, whose authority is in a file.
struct TlsServer {
    server: BlockingServer,
    folder: PathBuf,
    authority: String,
}

impl TlsServer {
    fn start(name: &str, identity: Identity) -> Self {
        let folder = folder(name);
        let file = folder.join("ca.pem");
        fs::write(&file, identity.authority_pem()).expect("writable");
        let authority = file.display().to_string();
        let server = BlockingServer::start_tls(Script::always(Reaction::ok("body")), identity);
        Self { server, folder, authority }
    }

    fn code(&self, flags: &[&str]) -> Option<i32> {
        let url = self.server.url("/");
        HttpRun::of(&[flags, &["--attempts", "1", &url]].concat()).code
    }

    /// The same by curl, where it is installed.
    fn curl(&self, flags: &[&str]) -> Option<Option<i32>> {
        let mut command = Command::new("curl");
        command.args(["-s", "--noproxy", "*"]).args(flags).arg(self.server.url("/"));
        Some(command.output().ok()?.status.code())
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_certificate_that_openssl_makes_was_refused_although_it_is_named() {
    let tls = TlsServer::start("tls-self", Identity::self_signed_authority());
    let named = ["--cacert", tls.authority.as_str()];
    assert_eq!((tls.code(&named), tls.code(&[])), (Some(0), Some(7)));
    if let Some(code) = tls.curl(&named) {
        assert_eq!(code, Some(0), "curl accepts it too");
        assert_eq!(tls.curl(&[]), Some(Some(60)), "and only then");
    }
    let other = TlsServer::start("tls-other", Identity::self_signed_authority());
    assert_eq!(other.code(&named), Some(7), "another certificate of the same names");
    let told = HttpRun::of(&["--attempts", "1", &tls.server.url("/")]).told;
    assert!(told.contains("UnknownIssuer") && !told.contains("OtherError"), "{told}");
}

#[test]
fn the_name_or_the_dates_of_a_named_certificate_were_not_looked_at() {
    for (name, identity) in [("wrong", Identity::wrong_name()), ("expired", Identity::expired())] {
        let tls = TlsServer::start(&format!("tls-{name}"), identity);
        assert_eq!(tls.code(&["--cacert", &tls.authority]), Some(7), "{name}");
        assert_eq!(tls.code(&["-k"]), Some(0), "{name}");
    }
    // Its only names are an address and localhost.
    let tls = TlsServer::start("tls-name", Identity::self_signed_authority());
    let url = tls.server.url("/").replace("127.0.0.1", "127.0.0.2");
    let came = HttpRun::of(&["--attempts", "1", "--cacert", &tls.authority, &url]);
    assert_eq!(came.code, Some(7), "{came:?}");
}

#[test]
fn the_environment_of_openssl_was_ignored() {
    let tls = TlsServer::start("tls-environment", Identity::valid());
    let run = |variable: &str, value: &str| -> Output {
        let url = tls.server.url("/");
        let mut command = http(&["--attempts", "1", &url]);
        command.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR").env(variable, value);
        command.output().expect("the binary was built for this test")
    };
    let folder = tls.folder.display().to_string();
    let folders = format!("/nonesuch:{folder}");
    for (variable, value, code) in [
        ("SSL_CERT_FILE", tls.authority.as_str(), 0),
        ("SSL_CERT_DIR", folder.as_str(), 0),
        ("SSL_CERT_DIR", folders.as_str(), 0),
        ("SSL_CERT_DIR", "/nonesuch", 7),
        ("SSL_CERT_FILE", "", 7),
        ("SSL_CERT_FILE", "/nonesuch", 2),
    ] {
        let output = run(variable, value);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{variable}={value}: {told}");
    }
}

#[test]
fn an_authority_that_is_named_was_no_longer_enough() {
    let tls = TlsServer::start("tls-authority", Identity::valid().http1_only());
    assert_eq!(tls.code(&["--cacert", &tls.authority]), Some(0));
    assert_eq!((tls.code(&[]), tls.code(&["--insecure"])), (Some(7), Some(0)));
    assert_eq!(tls.code(&["--cacert", "/dev/null"]), Some(2));
}
