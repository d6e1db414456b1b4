//! The programs of docs/guides/migrating.md, each played on the same fault scripts before and after its migration.
//! `cargo xtask bench migrations` reads the output.
//!
//! The guide shows the files `before.rs` and `after.rs` from the line `// The guide shows what follows.` on; a test of
//! xtask compares them.

use std::error::Error;
use std::rc::Rc;

use ::tower::{Service, ServiceExt};
use serde::Serialize;
use tokio::runtime::{Builder, Runtime};

mod backoff;
mod backon;
mod http_shop;
mod play;
mod reqwest_retry;
mod shop;
mod tokio_retry;
mod tower;

use play::{FaultScript, PlayedCall, SCRIPTS, ScriptResult, play};

/// The locked versions of this build.
const LOCK: &str = include_str!("../../../Cargo.lock");

/// One script through both programs.
#[derive(Debug, Serialize)]
struct MigrationRow {
    peer: &'static str,
    version: String,
    script: &'static str,
    before: ScriptResult,
    after: ScriptResult,
}

/// The two programs, each made anew for each script.
struct Migration {
    peer: &'static str,
    before: fn(&str) -> Result<PlayedCall, Box<dyn Error>>,
    after: fn(&str) -> Result<PlayedCall, Box<dyn Error>>,
}

const MIGRATIONS: [Migration; 5] = [
    Migration {
        peer: "backon",
        before: |_| Ok(call(|| async { backon::before::stock().await.is_ok() })),
        after: |_| {
            let server = backon::after::server()?;
            Ok(shared(server, |server| async move { backon::after::stock(&server).await.is_ok() }))
        },
    },
    Migration {
        peer: "tokio-retry",
        before: |_| Ok(call(|| async { tokio_retry::before::stock().await.is_ok() })),
        after: |_| {
            let server = tokio_retry::after::server()?;
            Ok(shared(
                server,
                |server| async move { tokio_retry::after::stock(&server).await.is_ok() },
            ))
        },
    },
    Migration {
        peer: "backoff",
        before: |_| Ok(call(|| async { backoff::before::stock().await.is_ok() })),
        after: |_| {
            let server = backoff::after::server()?;
            Ok(shared(server, |server| async move { backoff::after::stock(&server).await.is_ok() }))
        },
    },
    Migration {
        peer: "reqwest-retry",
        before: |url| {
            let (client, url) = (reqwest_retry::before::client(), url.to_owned());
            Ok(shared((client, url), |shared| async move {
                let reply = reqwest_retry::before::stock(&shared.0, &shared.1).await;
                reply.is_ok_and(|reply| reply.status().is_success())
            }))
        },
        after: |url| {
            let (client, url) = (reqwest_retry::after::client()?, url.to_owned());
            Ok(shared((client, url), |shared| async move {
                let reply = reqwest_retry::after::stock(&shared.0, &shared.1).await;
                reply.is_ok_and(|reply| reply.status().is_success())
            }))
        },
    },
    Migration {
        peer: "tower",
        before: |_| served(tower::before::retried(::tower::service_fn(shop::fetch))),
        after: |_| served(tower::after::retried(::tower::service_fn(shop::fetch))),
    },
];

fn main() -> Result<(), Box<dyn Error>> {
    let url = http_shop::start()?;
    let mut rows = Vec::new();
    for Migration { peer, before, after } in MIGRATIONS {
        for script in &SCRIPTS {
            rows.push(MigrationRow {
                peer,
                version: version(peer),
                script: script.name,
                before: play_alone(peer, script, || before(&url))?,
                after: play_alone(peer, script, || after(&url))?,
            });
        }
    }
    println!("{}", serde_json::to_string(&rows)?);
    Ok(())
}

/// Plays a script in a runtime of its own.
fn play_alone(
    peer: &str,
    script: &FaultScript,
    program: impl FnOnce() -> Result<PlayedCall, Box<dyn Error>>,
) -> Result<ScriptResult, Box<dyn Error>> {
    runtime(peer)?.block_on(async { play(script, &program()?).await })
}

/// A runtime whose clock jumps over waits, except where a socket needs the real one.
fn runtime(peer: &str) -> std::io::Result<Runtime> {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().start_paused(peer != "reqwest-retry").build()
}

fn call<Fut: Future<Output = bool> + 'static>(program: impl Fn() -> Fut + 'static) -> PlayedCall {
    Rc::new(move || Box::pin(program()))
}

/// A program whose calls share something that was made once.
fn shared<S: 'static, Fut: Future<Output = bool> + 'static>(
    made: S,
    program: impl Fn(Rc<S>) -> Fut + 'static,
) -> PlayedCall {
    let made = Rc::new(made);
    call(move || program(Rc::clone(&made)))
}

/// A program that is a service.
fn served<S>(service: Result<S, ::tower::BoxError>) -> Result<PlayedCall, Box<dyn Error>>
where
    S: Service<&'static str> + Clone + 'static,
{
    let service = service.map_err(|error| -> Box<dyn Error> { error })?;
    Ok(call(move || {
        let service = service.clone();
        async move { service.oneshot("bolt").await.is_ok() }
    }))
}

/// The version of `package` in the lock file.
fn version(package: &str) -> String {
    let head = format!("name = \"{package}\"\nversion = \"");
    let tail = LOCK.rsplit_once(&head).map_or("", |(_, tail)| tail);
    tail.split('"').next().unwrap_or_default().to_owned()
}
