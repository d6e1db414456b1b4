//! The rounds: start, load, kill, and at the end the balance.

use std::collections::HashSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use stagger_core::{Entropy, Span};
use stagger_testkit::Mix;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

use super::book::Book;
use super::cast::Role;
use super::poster::{Place, Posters};
use super::report::Report;
use crate::format::{Format, note};
use crate::rig::{Driver, Home, Process, Receiver, StoreKind, build, run_here};

/// How long after its start the server is killed: sometimes before it listens.
const SHORTEST: Span = Span::from_millis(10);
const LONGEST: Span = Span::from_secs(3);
/// How long everything may take after the last round.
const DRAIN_LIMIT: Duration = Duration::from_secs(60);
/// How often it is asked whether everything is finished.
const LOOK: Duration = Duration::from_millis(250);

/// How often to kill, and how to show what came of it.
#[derive(Debug, Args)]
pub(crate) struct Crash {
    /// Kills.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// The same seed kills after the same times, and has the same endpoints fail.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The store that it works on.
    #[arg(long, value_enum, default_value_t)]
    store: StoreKind,
    /// The binary to kill, instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Kills and counts; false when something was lost or came under another id.
pub(crate) fn run(crash: &Crash) -> Result<bool, Box<dyn Error>> {
    let binary = crash.binary.clone().map_or_else(build, Ok)?;
    let report = run_here(rounds(&binary, crash))?;
    crash.format.show(&report, &report)?;
    Ok(report.is_good())
}

async fn rounds(binary: &Path, crash: &Crash) -> Result<Report, Box<dyn Error>> {
    let home = Home::new("crash", crash.store)?;
    let book = Arc::new(Book::new(crash.seed));
    let receiver = Receiver::start(Arc::clone(&book)).await?;
    let (up, place) = watch::channel(None);
    let (mut process, endpoints, application) = first(binary, &home, &receiver, &up).await?;
    let posters = Posters::start(&place, &application, &book);
    let mut mix = Mix::new(crash.seed);
    for round in 1..=crash.rounds {
        let life: Duration = mix.draw(SHORTEST, LONGEST).into();
        note(&format!("round {round} of {}: killed after {life:?}", crash.rounds));
        let end = Instant::now() + life;
        if place.borrow().is_none() {
            // A kill before it listens is a round too.
            if let Ok(addr) = timeout_at(end, process.address()).await {
                up.send_replace(Some(addr?));
            }
        }
        tokio::time::sleep_until(end).await;
        process.kill()?;
        up.send_replace(None);
        process = Process::spawn(binary, &home)?;
    }
    up.send_replace(Some(process.address().await?));
    posters.finish().await?;
    let dead = drain(&place, &application, &endpoints, &book).await?;
    Ok(book.balance(crash.rounds, &dead))
}

/// The first start: with an application and an endpoint for each role.
async fn first(
    binary: &Path,
    home: &Home,
    receiver: &Receiver,
    up: &watch::Sender<Option<std::net::SocketAddr>>,
) -> Result<(Process, Vec<String>, String), Box<dyn Error>> {
    let mut process = Process::spawn(binary, home)?;
    let addr = process.address().await?;
    let mut driver = Driver::new(addr).await?;
    let mut endpoints = Vec::new();
    for (at, role) in Role::ALL.into_iter().enumerate() {
        endpoints.push(driver.endpoint(&role.settings(&receiver.url(at))).await?);
    }
    up.send_replace(Some(addr));
    Ok((process, endpoints, driver.application().to_owned()))
}

/// Waits until the dispatcher has nothing left to do, or for too long; its dead letters.
async fn drain(
    place: &Place,
    application: &str,
    endpoints: &[String],
    book: &Book,
) -> Result<HashSet<(String, usize)>, Box<dyn Error>> {
    let addr = (*place.borrow()).ok_or("the server is not up")?;
    let mut driver = Driver::resume(addr, application.to_owned()).await?;
    let until = Instant::now() + DRAIN_LIMIT;
    while driver.is_open().await? && Instant::now() < until {
        sleep(LOOK).await;
    }
    note(&format!("{} deliveries without a 2xx: dead or lost", book.missing()));
    let dead = driver.deliveries("dead").await?;
    let place = |name: &str| endpoints.iter().position(|id| id == name);
    Ok(dead.into_iter().filter_map(|(id, endpoint)| Some((id, place(&endpoint)?))).collect())
}
