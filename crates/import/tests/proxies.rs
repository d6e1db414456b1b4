//! nginx and HAProxy themselves: a request makes as many attempts as the policy of the same configuration says.
//!
//! Skipped, with a note, where the program is not installed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, thread};

use stagger_import::import;

/// A server that answers every request with 503, and counts them.
struct FaultServer {
    port: u16,
    requests: Arc<AtomicU32>,
}

impl FaultServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let requests = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&requests);
        thread::spawn(move || {
            listener.incoming().flatten().for_each(|stream| answer(stream, &counted));
        });
        Self { port, requests }
    }
}

/// Answers one request on a connection, whose head ends with an empty line.
fn answer(stream: TcpStream, counted: &AtomicU32) {
    let mut lines = BufReader::new(&stream).lines();
    let whole = lines.by_ref().map_while(Result::ok).any(|line| line.is_empty());
    if whole {
        counted.fetch_add(1, Ordering::SeqCst);
        let reply =
            b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let _ = (&stream).write_all(reply);
    }
}

/// A folder with a short path, because the path of a socket has at most 107 bytes.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("stagger-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("made");
    folder
}

/// Folders for programs of the administrator, which are not on the path of every user.
const FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The place of a program.
#[expect(clippy::print_stderr, reason = "a note on what is not tested here")]
fn installed(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&folders).chain(FOLDERS.map(PathBuf::from));
    let found = folders.map(|folder| folder.join(program)).find(|place| place.is_file());
    if found.is_none() {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

/// A proxy in the background; its parent ends when its socket is open.
struct Proxy {
    folder: PathBuf,
}

impl Proxy {
    fn start(folder: &Path, program: &Path, arguments: &[&str]) -> Self {
        let output = Command::new(program).args(arguments).output().expect("installed");
        assert!(output.status.success(), "{}: {output:?}", program.display());
        Self { folder: folder.to_owned() }
    }

    /// Makes one request, and reads the whole reply.
    fn request(&self) -> String {
        let mut stream = UnixStream::connect(self.folder.join("in")).expect("the socket is open");
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").expect("sent");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("answered");
        reply
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Ok(process) = fs::read_to_string(self.folder.join("pid")) {
            let _ = Command::new("kill").arg(process.trim()).status();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The attempts that the policy of a configuration allows.
fn allowed(configuration: &str, name: &str) -> u32 {
    let imported =
        import(configuration, None).unwrap_or_else(|error| panic!("{error}\n{configuration}"));
    let found = imported.policies.iter().find(|policy| policy.name == name).expect("the policy");
    found.policy.limits().max_attempts().expect("a number")
}

fn total(servers: &[FaultServer]) -> u32 {
    servers.iter().map(|server| server.requests.load(Ordering::SeqCst)).sum()
}

#[test]
fn nginx_makes_the_attempts_of_its_policy() {
    let Some(program) = installed("nginx") else { return };
    for (number, (servers, settings, expected)) in [
        (3, "proxy_next_upstream error timeout http_503;", 3),
        (3, "proxy_next_upstream http_503; proxy_next_upstream_tries 2;", 2),
        (2, "proxy_next_upstream http_503; proxy_next_upstream_tries 5;", 2),
        (3, "proxy_next_upstream off;", 1),
        (1, "proxy_next_upstream http_503; proxy_next_upstream_tries 4;", 1),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = folder(&format!("nginx-{number}"));
        let at = folder.display();
        let servers: Vec<FaultServer> = (0..servers).map(|_| FaultServer::start()).collect();
        let lines: Vec<String> =
            servers.iter().map(|it| format!("server 127.0.0.1:{};", it.port)).collect();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {at}/{kind};"))
            .join("\n");
        let configuration = format!(
            "pid {at}/pid;\nerror_log {at}/log;\nevents {{ worker_connections 64; }}\nhttp {{\n{temporary}\n\
             access_log off;\nupstream api {{ {} }}\nserver {{\nlisten unix:{at}/in;\n\
             location / {{ proxy_pass http://api; {settings} }}\n}}\n}}\n",
            lines.join(" ")
        );
        let file = folder.join("nginx.conf");
        fs::write(&file, &configuration).expect("written");
        let shown = file.display().to_string();
        let proxy =
            Proxy::start(&folder, &program, &["-p", &at.to_string(), "-e", "log", "-c", &shown]);
        let reply = proxy.request();
        assert!(reply.starts_with("HTTP/1.1 50"), "{reply}");
        assert_eq!(
            (total(&servers), allowed(&configuration, "api")),
            (expected, expected),
            "{settings}"
        );
    }
}

#[test]
fn haproxy_makes_the_attempts_of_its_policy() {
    let Some(program) = installed("haproxy") else { return };
    for (number, (settings, expected)) in [
        ("retry-on 503\n    retries 2", 3),
        ("retry-on all-retryable-errors", 4),
        ("retry-on 503\n    retries 0", 1),
        ("retry-on none\n    retries 5", 1),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = folder(&format!("haproxy-{number}"));
        let at = folder.display();
        let server = FaultServer::start();
        let configuration = format!(
            "defaults\n    mode http\n    timeout connect 5s\n    timeout client 30s\n    timeout server 30s\n\n\
             frontend in\n    bind unix@{at}/in\n    default_backend api\n\n\
             backend api\n    {settings}\n    server a 127.0.0.1:{}\n",
            server.port
        );
        let file = folder.join("haproxy.cfg");
        fs::write(&file, &configuration).expect("written");
        let (file, pid) = (file.display().to_string(), folder.join("pid").display().to_string());
        let proxy = Proxy::start(&folder, &program, &["-D", "-p", &pid, "-f", &file]);
        let reply = proxy.request();
        assert!(reply.starts_with("HTTP/1.1 503"), "{reply}");
        let made = total(std::slice::from_ref(&server));
        assert_eq!((made, allowed(&configuration, "api")), (expected, expected), "{settings}");
    }
}
