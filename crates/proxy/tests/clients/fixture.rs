//! The servers that the clients call, the proxy before them, and the run of a script.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use stagger_proxy::Proxy;
use stagger_proxy::config::ProxySettings;
use stagger_testkit::server::{Identity, Reaction, Script, TestServer};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

/// The longest time for one script.
const LIMIT: Duration = Duration::from_secs(100);
/// Bytes that clients send in parts, and that they are sent.
const UP: u64 = 2 << 20;
const DOWN: usize = 4 << 20;
/// The attempts at each path of a client.
const ATTEMPTS: [(&str, usize); 9] = [
    ("once", 2),
    ("post", 1),
    ("keyed", 2),
    ("cut", 1),
    ("up", 1),
    ("down", 1),
    ("events", 1),
    ("hang", 1),
    ("tls", 2),
];

/// The servers.
pub(crate) struct Clients {
    names: &'static [&'static str],
    plain: TestServer,
    grpc: TestServer,
    tls: TestServer,
    /// The file of the authority that has signed the certificate of `tls`.
    authority: PathBuf,
}

impl Clients {
    /// Servers with paths for each of these clients.
    pub(crate) async fn of(names: &'static [&'static str]) -> Self {
        let identity = Identity::valid();
        let file = format!("clients-{}-{}.pem", names[0], std::process::id());
        let authority = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(file);
        std::fs::write(&authority, identity.authority_pem()).expect("written");
        Self {
            names,
            plain: TestServer::start(names.iter().fold(Script::of([]), plain)).await,
            grpc: TestServer::start(grpc()).await,
            tls: TestServer::start_tls(names.iter().fold(Script::of([]), sealed), &identity).await,
            authority,
        }
    }

    /// Runs a script to its end through a proxy of its own, and checks the attempts that came.
    pub(crate) async fn run(&self, mut script: Command) {
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        script.kill_on_drop(true).env("UPSTREAM", self.plain.url(""));
        for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
            script.env_remove(name);
        }
        let mut child = script.spawn().expect("it is installed");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let first = timeout(LIMIT, lines.next_line()).await.expect("it begins in time");
        let first = first.expect("text").unwrap_or_default();
        let mut settings = self.settings();
        if let Some(port) = first.strip_prefix("websocket ").filter(|port| *port != "0") {
            settings +=
                &format!("[route.ws]\npath = '/ws'\nupstream = 'http://127.0.0.1:{port}'\n");
        }
        let settings = ProxySettings::parse("routes.toml", &settings).expect("good settings");
        let proxy = Proxy::bind(settings).await.expect("a free port");
        let handle = proxy.handle();
        let running = tokio::spawn(proxy.run(std::future::pending()));
        let url = format!("http://{}\n", handle.addresses()[0]);
        let mut input = child.stdin.take().expect("piped");
        input.write_all(url.as_bytes()).await.expect("it reads");
        let output = timeout(LIMIT, child.wait_with_output()).await.expect("it ends in time");
        let output = output.expect("it can be waited for");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        drop(input);
        self.check_attempts();
        // Clients that cancel a call or go away leave nothing behind.
        let empty = async {
            while handle.snapshot().routes.iter().any(|route| route.in_flight > 0) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LIMIT, empty).await.expect("cancelled calls end");
        running.abort();
    }

    /// The requests that came for a path.
    pub(crate) fn taken(&self, path: &str) -> usize {
        let servers = [&self.plain, &self.grpc, &self.tls];
        servers.iter().flat_map(|it| it.seen()).filter(|it| it.path == path).count()
    }

    fn check_attempts(&self) {
        for name in self.names {
            for (path, attempts) in ATTEMPTS {
                assert_eq!(self.taken(&format!("/{name}/{path}")), attempts, "{name} {path}");
            }
            let path = format!("/{name}/up");
            let seen = self.plain.seen();
            let up = seen.iter().find(|it| it.path == path).expect("it was counted");
            assert_eq!((up.body_len, up.complete), (UP, true), "{name}");
        }
    }

    fn settings(&self) -> String {
        let mut text = "\
            [proxy]\nlisten = '127.0.0.1:0'\n\
            [policy.quick]\nbackoff = { base = '1ms', cap = '2ms' }\nbudget = 'unlimited'\n"
            .to_owned();
        for (name, path, server) in
            [("plain", "/", &self.plain), ("grpc", "/shop.Orders/", &self.grpc)]
        {
            let url = server.url("");
            text += &format!(
                "[route.{name}]\npath = '{path}'\nupstream = '{url}'\npolicy = 'quick'\n\
                 retry.grpc_methods = ['/shop.Orders/Get', '/shop.Orders/List', '/shop.Orders/Broken']\n"
            );
        }
        let (url, authority) = (self.tls.url(""), self.authority.display());
        for name in self.names {
            text += &format!(
                "[route.tls-{name}]\npath = '/{name}/tls'\nupstream = '{url}'\npolicy = 'quick'\n\
                 tls = {{ public_roots = false, ca_file = '{authority}' }}\n"
            );
        }
        text
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.authority);
    }
}

fn busy() -> Script {
    Script::of([Reaction::status(503)])
}

fn plain(script: Script, name: &&str) -> Script {
    let events = Reaction::ok("data: 1\n\ndata: 2\n\n").header("content-type", "text/event-stream");
    let cut = Script::of([Reaction::ok("a long reply that is cut").cut(6)]);
    [
        ("once", busy().then(Reaction::ok("fine"))),
        ("absolute", busy().then(Reaction::ok("fine"))),
        ("post", busy().then(Reaction::ok("a second attempt"))),
        ("keyed", busy().then(Reaction::ok("fine"))),
        ("cut", cut.then(Reaction::ok("a second attempt"))),
        ("up", Script::always(Reaction::ok("taken"))),
        ("down", Script::always(Reaction::ok(vec![b'x'; DOWN]).chunked())),
        ("events", Script::always(events.chunked())),
        ("hang", Script::always(Reaction::hang())),
    ]
    .into_iter()
    .fold(script, |script, (path, plays)| script.on_path(&format!("/{name}/{path}"), plays))
}

fn sealed(script: Script, name: &&str) -> Script {
    script.on_path(&format!("/{name}/tls"), busy().then(Reaction::ok("sealed")))
}

fn grpc() -> Script {
    let head = |reaction: Reaction| reaction.header("content-type", "application/grpc");
    let one = &b"\0\0\0\0\x02ok"[..];
    let answer = |body: Vec<u8>| head(Reaction::ok(body)).trailer("grpc-status", "0");
    let unavailable = head(Reaction::ok("")).header("grpc-status", "14");
    let broken = head(Reaction::ok(one)).trailer("grpc-status", "14");
    let busy = || Script::of([unavailable.clone()]);
    [
        ("Get", busy().then(answer(one.to_vec()))),
        ("List", busy().then(answer(one.repeat(2)))),
        ("Put", Script::always(answer(one.to_vec()))),
        ("Chat", Script::always(answer(one.repeat(2)))),
        ("Broken", Script::of([broken]).then(answer(one.to_vec()))),
        ("Create", busy().then(answer(one.to_vec()))),
        ("Wait", Script::always(Reaction::hang())),
    ]
    .into_iter()
    .fold(Script::of([]), |script, (name, plays)| {
        script.on_path(&format!("/shop.Orders/{name}"), plays)
    })
}

/// A command of `program`, if `needed` can do what `check` asks of it.
#[expect(clippy::print_stderr, reason = "a note on what is not tested here")]
pub(crate) fn program(program: &str, needed: &str, check: &[&str]) -> Option<Command> {
    let place = |name: &str| match library_folder().map(|folder| folder.join("venv/bin").join(name))
    {
        Some(own) if own.exists() => own,
        _ => PathBuf::from(name),
    };
    let mut checked = std::process::Command::new(place(needed));
    if let Some(folder) = library_folder() {
        checked.current_dir(folder);
    }
    if checked.args(check).output().is_ok_and(|output| output.status.success()) {
        return Some(Command::new(place(program)));
    }
    eprintln!("skipped: {needed} or its libraries are not installed: scripts/clients fetch FOLDER");
    None
}

fn library_folder() -> Option<PathBuf> {
    std::env::var_os("STAGGER_TEST_CLIENTS").map(PathBuf::from)
}

/// A copy of a script in the folder of libraries, where there is one.
pub(crate) fn script_beside_modules(name: &str) -> PathBuf {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name);
    let Some(folder) = library_folder() else { return script };
    let copy = folder.join(name);
    std::fs::copy(script, &copy).expect("the folder is ours");
    copy
}
