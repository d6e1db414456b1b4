//! The folder in which commands are played: the files that they name, and programs that fetch from a server
//! which fails first.

use std::cell::RefCell;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use stagger_testkit::server::{BlockingServer, Reaction, Script, SeenRequest};

/// The body of the server's second reply.
pub(crate) const VERSION: &str = "{\"version\": \"1.2\"}\n";
/// The same for the order that `docs/http.md` asks for.
const ORDER: &str = "{\"bolts\": 42}\n";
/// Programs of the examples that need a host of their own: here they fetch from the server.
const FETCHING: [&str; 3] = ["rsync", "make", "mirror"];
/// On a free port, so that plays at the same time do not meet.
const ROUTES: &str = "\
proxy.listen = '127.0.0.1:0'\n[route.api]\nupstream = 'http://127.0.0.1:9'\n";
const WHOLE_POLICY: &str = "backoff.base = '10ms'\n";
const FAULTY_POLICY: &str = "backoff = { base = '10ms', jitter = 'none' }\n";
const NAMED_POLICIES: &str =
    "policy = { nightly = { backoff.base = '10ms' }, api = { backoff.base = '10ms' } }\n";
const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/samples");
/// The settings of other products that the examples import, and samples of them.
const IMPORTED: [(&str, &str); 7] = [
    ("service-config.json", "grpc.json"),
    ("application.yml", "resilience4j.yml"),
    ("route.yaml", "envoy.yaml"),
    ("envoy.yaml", "envoy-routes.yaml"),
    ("reviews.yaml", "istio-routes.yaml"),
    ("manifests/orders.yaml", "istio.yaml"),
    ("manifests/application.properties", "client.properties"),
];
/// Folders of the system that examples write to: here they lie below the folder.
const SYSTEM: [(&str, &str); 2] = [("/run/lock", "lock"), ("/usr/local/share/man/man1", PAGES)];
/// The folder of the manual's pages.
pub(crate) const PAGES: &str = "pages";

/// A folder with what the examples name, and the servers that they have started.
pub(crate) struct Fixture {
    pub(crate) folder: PathBuf,
    pub(crate) servers: RefCell<Vec<Child>>,
    /// The address of a proxy that runs beside the commands.
    pub(crate) proxy: RefCell<Option<String>>,
    /// The same of a dispatcher with a portal.
    pub(crate) portal: RefCell<Option<String>>,
    /// The dispatcher beside the commands, once one of them is a client of it.
    pub(crate) dispatcher: RefCell<Option<Dispatcher>>,
    /// A port for a server that a command starts.
    port: u16,
}

/// A dispatcher with an application and a message.
#[derive(Clone, Debug)]
pub(crate) struct Dispatcher {
    pub(crate) url: String,
    pub(crate) app: String,
    pub(crate) message: String,
}

/// The admin key of that dispatcher.
pub(crate) const KEY: &str = "let-me-in-for-a-test";
/// The message that examples name.
const SHOWN_MESSAGE: &str = "msg_0190163d8694739b84f6b0d3ccc3a5a1";

/// The end of a command, and the requests that the server got.
pub(crate) struct Played {
    pub(crate) output: Output,
    pub(crate) requests: Vec<SeenRequest>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("shown-{}-{number}", std::process::id());
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let (proxy, portal) = (RefCell::default(), RefCell::default());
        let (servers, dispatcher) = (RefCell::default(), RefCell::default());
        let fixture = Self { folder, servers, proxy, portal, dispatcher, port: free_port() };
        let _ = fs::remove_dir_all(&fixture.folder);
        for folder in ["lock", "policies", "manifests", ".zfunc", ".config/fish/completions"] {
            fs::create_dir_all(fixture.folder.join(folder)).expect("a folder");
        }
        let completions = ".local/share/bash-completion/completions";
        fs::create_dir_all(fixture.folder.join(completions)).expect("a folder");
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        symlink(docs, fixture.folder.join("docs")).expect("linked");
        fixture.fill();
        fixture
    }

    fn fill(&self) {
        self.write("order.json", "{\"bolts\": 1}");
        self.write("invoice.schema.json", "{\"type\": \"object\"}");
        self.write("dispatcher.toml", "retention = '7d'\n");
        self.write("routes.toml", ROUTES);
        self.write("policies/one.toml", WHOLE_POLICY);
        self.write("policies/two.toml", NAMED_POLICIES);
        for (name, sample) in IMPORTED {
            fs::copy(Path::new(SAMPLES).join(sample), self.folder.join(name)).expect("a sample");
        }
        for (name, text) in logs() {
            self.write(name, &text);
        }
        // The manual's reader may be missing; its input is judged as a page below.
        self.program("man", "test \"$*\" = '-l -' && exec cat");
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).expect("written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        let bytes = fs::read(self.folder.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn program(&self, name: &str, script: &str) {
        self.write(name, &format!("#!/bin/sh\n{script}\n"));
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.folder.join(name), executable).expect("ours");
    }

    /// The command with free ports in place of those that examples use, so that plays at the same time do not meet.
    pub(crate) fn on_own_ports(&self, command: &str) -> String {
        let command = command.replace("8099", &self.port.to_string());
        let command = match &*self.portal.borrow() {
            Some(portal) => command.replace("127.0.0.1:8080", portal),
            None => command,
        };
        let command = match &*self.dispatcher.borrow() {
            Some(dispatcher) => command.replace(SHOWN_MESSAGE, &dispatcher.message),
            None => command,
        };
        match &*self.proxy.borrow() {
            Some(proxy) => command.replace("127.0.0.1:7878", proxy),
            None => command,
        }
    }

    /// Plays a line as a shell would, with a new server in place of the hosts that it names.
    pub(crate) fn play(&self, line: &str) -> Played {
        let (hint, body) = if line.contains("/orders/7") { ("2", ORDER) } else { ("0", VERSION) };
        let busy = Reaction::status(503).header("retry-after", hint);
        let server = BlockingServer::start(Script::of([busy]).then(Reaction::ok(body)));
        for program in FETCHING {
            self.program(program, &format!("exec curl -fsS {}", server.url("/")));
        }
        // A policy that a command before has written is kept.
        if line.contains("policy.toml") && !self.folder.join("policy.toml").exists() {
            self.write("policy.toml", policy_for(line));
        }
        let output = self.shell(&on_server(line, &server.url(""))).output();
        Played { output: output.expect("bash is there"), requests: server.seen() }
    }

    /// A shell in this folder, in which the binary and the folder's programs come first.
    pub(crate) fn shell(&self, line: &str) -> Command {
        let line = SYSTEM.into_iter().fold(line.to_owned(), |line, (system, here)| {
            line.replace(system, &format!("{}/{here}", self.folder.display()))
        });
        let tool = Path::new(env!("CARGO_BIN_EXE_stagger")).parent().expect("in a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{}:{path}", self.folder.display(), tool.display());
        let mut shell = Command::new("bash");
        shell.args(["-o", "pipefail", "-c", &line]).current_dir(&self.folder).stdin(Stdio::null());
        shell.env("PATH", path).env("HOME", &self.folder).env("STAGGER_LISTEN", "127.0.0.1:0");
        if let Some(dispatcher) = &*self.dispatcher.borrow() {
            shell.env("STAGGER_URL", &dispatcher.url).env("STAGGER_KEY", KEY);
            shell.env("STAGGER_APP", &dispatcher.app);
        }
        for variable in ["STAGGER_ATTEMPT", "STAGGER_DEADLINE_MS", "http_proxy", "HTTP_PROXY"] {
            shell.env_remove(variable);
        }
        shell
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        for server in self.servers.get_mut() {
            let _ = server.kill().and_then(|()| server.wait());
        }
        // What a failed test leaves behind shows why it failed.
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// A port that no program listens on now, of those that the system hands out in turn.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound").port()
}

/// The policy that a line needs: the help of `lint` says which findings it has.
fn policy_for(line: &str) -> &'static str {
    match (line.contains("policy.toml#"), line.starts_with("stagger lint ")) {
        (true, _) => NAMED_POLICIES,
        (false, true) => FAULTY_POLICY,
        (false, false) => WHOLE_POLICY,
    }
}

/// The line with another origin in its URLs.
fn on_server(line: &str, origin: &str) -> String {
    let mut parts = line.split("https://");
    let mut played = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let path = part.find(['/', ' ']).map_or("", |at| &part[at..]);
        played += origin.trim_end_matches('/');
        played += path;
    }
    played
}

/// An outage of two seconds in three formats: a call every 10 ms for 20 s, of which those of 2 s fail and
/// are repeated after 100 ms.
fn logs() -> [(&'static str, String); 3] {
    let (mut combined, mut csv) = (String::new(), String::from("ts,code,took,ip,try\n"));
    let mut envoy = String::new();
    for call in 0..2_000_u64 {
        let is_down = (400..600).contains(&call);
        let retries = u64::from(is_down);
        for attempt in 0..=retries {
            let at = 1_700_000_000_000 + 10 * call + 100 * attempt;
            let code = if is_down && (attempt == 0 || call < 590) { 503 } else { 200 };
            let (second, ip) = (at / 1_000 % 60, call % 250);
            let time = format!("14/Nov/2023:22:13:{:02} +0000", second.min(59));
            combined +=
                &format!("10.0.0.{ip} - - [{time}] \"GET /{call} HTTP/1.1\" {code} 10 0.012\n");
            csv += &format!("{at},{code},12000,10.0.0.{ip},{}\n", attempt + 1);
            envoy += &format!(
                "{{\"start_time\":{at},\"response_code\":{code},\"duration\":12,\"x-request-id\":\"{call}\"}}\n"
            );
        }
    }
    [("access.log", combined), ("calls.csv", csv), ("envoy.jsonl", envoy)]
}
