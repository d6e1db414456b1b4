//! Commands that run until a signal ends them: the dispatcher, the server of a scenario and the demo.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;

use stagger_testkit::server::{BlockingServer, Reaction, Script};

use crate::fixture::{Dispatcher, Fixture, KEY};

/// Starts the dispatcher, waits until it accepts messages, and ends it by TERM.
pub(crate) fn serve(fixture: &Fixture, command: &str) -> Result<(), String> {
    listens(fixture, command, "HTTP/1.1 200 ")
}

/// Starts the proxy, has it refuse a call to a server that is not there, and ends it by TERM.
pub(crate) fn proxy(fixture: &Fixture, command: &str) -> Result<(), String> {
    listens(fixture, command, "HTTP/1.1 503 ")
}

/// Starts the proxy on a free port, waits until it listens, and leaves it to the commands after it.
pub(crate) fn proxy_beside(fixture: &Fixture, command: &str) -> Result<(), String> {
    let routes = fixture.read("routes.toml");
    fixture.write("routes.toml", &format!("proxy.listen = '127.0.0.1:0'\n{routes}"));
    *fixture.proxy.borrow_mut() = Some(beside(fixture, command)?);
    Ok(())
}

/// The same for the dispatcher.
pub(crate) fn serve_beside(fixture: &Fixture, command: &str) -> Result<(), String> {
    *fixture.portal.borrow_mut() = Some(beside(fixture, command)?);
    Ok(())
}

/// Starts a server that runs beside the commands after it, and returns its address.
fn beside(fixture: &Fixture, command: &str) -> Result<String, String> {
    let mut child = start(fixture, command);
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
        line.split_once("listening on http://").map(|(_, address)| address.to_owned())
    });
    fixture.servers.borrow_mut().push(child);
    // A full pipe must not stop it; it ends with the proxy.
    thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    address.ok_or_else(|| "does not listen".to_owned())
}

/// Starts a dispatcher with an application and a message, unless there is one, and leaves it to the commands after it.
pub(crate) fn dispatcher_beside(fixture: &Fixture) -> Result<(), String> {
    if fixture.dispatcher.borrow().is_some() {
        return Ok(());
    }
    let serve = format!("stagger serve --memory --allow-private --admin-key {KEY}");
    let mut child = start(fixture, &serve);
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let url = lines
        .by_ref()
        .map_while(Result::ok)
        .find_map(|line| line.split_once("listening on ").map(|(_, url)| url.to_owned()));
    fixture.servers.borrow_mut().push(child);
    // A full pipe must not stop it; it ends with the dispatcher.
    thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    let url = url.ok_or("does not listen")?;
    let (app, message) = (String::new(), String::new());
    *fixture.dispatcher.borrow_mut() = Some(Dispatcher { url: url.clone(), app, message });
    let app = made(fixture, "application shop")?;
    *fixture.dispatcher.borrow_mut() =
        Some(Dispatcher { url: url.clone(), app: app.clone(), message: String::new() });
    let message = made(fixture, "message invoice.paid")?;
    *fixture.dispatcher.borrow_mut() = Some(Dispatcher { url, app, message });
    Ok(())
}

/// Makes a thing of the dispatcher; returns its id.
fn made(fixture: &Fixture, thing: &str) -> Result<String, String> {
    id_of(fixture, &format!("stagger webhooks create {thing} --format json"))
}

/// Makes an API key of the dispatcher; returns its id.
pub(crate) fn api_key(fixture: &Fixture) -> Result<String, String> {
    id_of(fixture, "stagger webhooks keys create billing --scope messages:write --format json")
}

fn id_of(fixture: &Fixture, command: &str) -> Result<String, String> {
    let made = fixture.shell(command).output().expect("bash is there");
    let value: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap_or_default();
    let id = value["id"].as_str().map(str::to_owned);
    id.ok_or_else(|| String::from_utf8_lossy(&made.stderr).into_owned())
}

/// Has a server in place of the one at port 9000 get a message, and ends the command by Ctrl-C unless it ends by itself.
pub(crate) fn listen(fixture: &Fixture, command: &str) -> Result<(), String> {
    let server = BlockingServer::start(Script::always(Reaction::ok("")));
    let command = command.replace("9000", &server.address().port().to_string());
    let mut child = start(fixture, &command);
    let mut notes = BufReader::new(child.stderr.take().expect("piped")).lines();
    let note = notes.next().and_then(Result::ok).unwrap_or_default();
    let rest = thread::spawn(move || notes.map_while(Result::ok).for_each(drop));
    let is_alone = command.contains(" --replay ");
    let sent = if is_alone { Ok(()) } else { made(fixture, "message invoice.paid").map(drop) };
    if sent.is_err() {
        signal(&child, "-INT");
    }
    let mut line = String::new();
    let read = BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line);
    if !is_alone && !command.contains(" --count ") {
        signal(&child, "-INT");
    }
    let status = child.wait().expect("a child can be waited for");
    rest.join().expect("only reads");
    sent?;
    match status.success() && read.is_ok() && line.contains(", verified: 200 in ") {
        true => Ok(()),
        false => Err(format!("ends with {status}: {note}: {line}")),
    }
}

fn listens(fixture: &Fixture, command: &str, expected: &str) -> Result<(), String> {
    let mut child = start(fixture, command);
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
        line.split_once("listening on http://").map(|(_, address)| address.to_owned())
    });
    let Some(address) = address else {
        return Err(format!("does not listen and ends with {:?}", child.wait()));
    };
    // A full pipe must not stop it.
    let rest = thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    let reply = ready(&address);
    signal(&child, "-TERM");
    let status = child.wait().expect("a child can be waited for");
    rest.join().expect("only reads");
    match (reply.starts_with(expected), status.success()) {
        (true, true) => Ok(()),
        _ => Err(format!("is not ready ({reply}), or ends with {status}")),
    }
}

/// Starts the server of a scenario, waits until it listens, and leaves it to the commands after it.
pub(crate) fn scenario_server(fixture: &Fixture, command: &str) -> Result<(), String> {
    let mut child = start(fixture, command);
    let mut line = String::new();
    let mut errors = BufReader::new(child.stderr.take().expect("piped"));
    let read = errors.read_line(&mut line);
    fixture.servers.borrow_mut().push(child);
    match read.is_ok() && line.starts_with("serving ") {
        true => Ok(()),
        false => Err(format!("does not serve: {line}")),
    }
}

/// Makes the store that a command is about, and the backup that it restores.
pub(crate) fn fill_store(fixture: &Fixture, command: &str) -> Result<(), String> {
    if !fixture.folder.join("stagger-data").exists() {
        serve(fixture, "stagger serve")?;
    }
    if command.contains("restore") && !fixture.folder.join("today.db").exists() {
        let made = fixture.shell("stagger store backup today.db").output();
        let made = made.expect("bash is there");
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned());
        }
    }
    Ok(())
}

/// Runs the demo to its end, which without `--once` is a Ctrl-C; returns its output.
pub(crate) fn demo(fixture: &Fixture, command: &str) -> Result<String, String> {
    let mut child = start(fixture, command);
    let mut printed = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    while stdout.read_line(&mut printed).is_ok_and(|read| read > 0) {
        if printed.trim_end().ends_with("until Ctrl-C") {
            signal(&child, "-INT");
        }
    }
    let mut errors = String::new();
    let _ = child.stderr.take().expect("piped").read_to_string(&mut errors);
    let status = child.wait().expect("a child can be waited for");
    match status.success() && printed.trim_end().ends_with(" delivered, 0 lost") {
        true => Ok(printed),
        false => Err(format!("ends with {status}: {printed}{errors}")),
    }
}

fn start(fixture: &Fixture, command: &str) -> Child {
    let mut shell: Command = fixture.shell(&format!("exec {command}"));
    let child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    child.expect("bash is there")
}

fn ready(address: &str) -> String {
    let mut reply = String::new();
    let asked = TcpStream::connect(address).and_then(|mut stream| {
        stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
        stream.read_to_string(&mut reply)
    });
    asked.map_or_else(|error| error.to_string(), |_| reply)
}

fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.expect("there is kill").success());
}
