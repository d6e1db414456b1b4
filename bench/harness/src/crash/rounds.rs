//! The rounds: start, load, trouble, and at the end the balance.

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stagger_testkit::Mix;
use tokio::time::{Instant, sleep};
use xtask_workbench::note;

use super::cast::{Crash, Deck, Role};
use super::cluster::Cluster;
use super::leaders::Leaders;
use super::ledger::DeliveryLedger;
use super::poster::Posters;
use super::report::{CrashReport, Together};
use crate::rig::{Driver, Home, Receiver, build, run_here};

/// After how long several nodes replace one that is silent.
const LEASE: Duration = Duration::from_secs(2);
/// The longest time until the breaker of the failing endpoint is open, and the time after that until all
/// attempts that began before have ended: their own time limit.
const TRIP_LIMIT: Duration = Duration::from_secs(60);
const ATTEMPT_LIMIT: Duration = Duration::from_secs(2);
/// The longest time without a delivery after the last round: a breaker may have opened at its end, and each
/// failed probe doubles its open time.
const DRAIN_LIMIT: Duration = Duration::from_secs(60);
/// The interval between checks whether everything is finished.
const LOOK: Duration = Duration::from_millis(250);

/// Makes trouble and counts; false when something was lost or came under another id, or when nodes
/// together did what one may not.
pub(crate) fn run(crash: &Crash) -> Result<bool, Box<dyn Error>> {
    crash.check()?;
    let binary = crash.binary.clone().map_or_else(build, Ok)?;
    let report = run_here(rounds(&binary, crash))?;
    crash.format.show(&report, &report)?;
    Ok(report.is_good())
}

async fn rounds(binary: &Path, crash: &Crash) -> Result<CrashReport, Box<dyn Error>> {
    let nodes = usize::from(crash.nodes);
    let home = Home::new("crash", crash.store)?;
    let ledger = Arc::new(DeliveryLedger::new(crash.seed, Role::of(nodes)));
    let receiver = Receiver::start(Arc::clone(&ledger)).await?;
    let mut cluster = Cluster::start(binary, &home, (crash, &ledger), LEASE).await?;
    let (application, endpoints) = cluster.introduce(ledger.roles(), &receiver).await?;
    let posters = Posters::start(&cluster.places(), &application, &ledger);
    let leaders = match home.database().filter(|_| nodes > 1) {
        Some(database) => {
            wait_for_breaker(&cluster, &application, &endpoints, &ledger).await?;
            sleep(ATTEMPT_LIMIT).await;
            ledger.breaker_is_open();
            Some(Leaders::watch(database.url(), nodes, LEASE, cluster.roster()).await?)
        }
        None => None,
    };
    let (mut mix, mut deck) = (Mix::new(crash.seed), Deck::new(crash.troubles()));
    let mut troubles = BTreeMap::new();
    for round in 1..=crash.rounds {
        let trouble = deck.draw(&mut mix).ok_or("no trouble to make")?;
        note(&format!("round {round} of {}", crash.rounds));
        cluster.round(trouble, &mut mix).await?;
        *troubles.entry(trouble).or_default() += 1;
    }
    cluster.wait().await?;
    ledger.heal();
    let together = match leaders {
        Some(leaders) => {
            leaders.even_spread().await;
            let sent = (cluster.drains_skipped(), ledger.sent_after_eviction());
            Some(Together::new(LEASE, leaders.stop().await?, ledger.spared(), sent))
        }
        None => None,
    };
    posters.finish().await?;
    let dead = drain(&cluster, &application, &endpoints, &ledger).await?;
    cluster.wait().await?;
    let balance = ledger.balance(crash.rounds, &dead);
    Ok(CrashReport { nodes, troubles, together, ..balance })
}

/// Waits until the breaker of the endpoint that is down is open.
async fn wait_for_breaker(
    cluster: &Cluster<'_>,
    application: &str,
    endpoints: &[String],
    ledger: &DeliveryLedger,
) -> Result<(), Box<dyn Error>> {
    let down = ledger.roles().iter().zip(endpoints).find(|(role, _)| **role == Role::Down);
    let Some((_, down)) = down else { return Ok(()) };
    let mut driver = Driver::resume(cluster.addr()?, application.to_owned()).await?;
    let until = Instant::now() + TRIP_LIMIT;
    loop {
        let state = driver.state(down).await?;
        if matches!(&state[..], "open" | "half_open") {
            return Ok(());
        }
        if Instant::now() > until {
            let why = format!("the endpoint that is down is {state} after {TRIP_LIMIT:?}");
            return Err(why.into());
        }
        sleep(LOOK).await;
    }
}

/// Waits until the dispatcher has nothing left to do, or for too long; its dead letters.
async fn drain(
    cluster: &Cluster<'_>,
    application: &str,
    endpoints: &[String],
    ledger: &DeliveryLedger,
) -> Result<HashSet<(String, usize)>, Box<dyn Error>> {
    let mut driver = Driver::resume(cluster.addr()?, application.to_owned()).await?;
    let (mut missing, mut progress) = (ledger.missing(), Instant::now());
    while driver.is_open().await? && progress.elapsed() < DRAIN_LIMIT {
        sleep(LOOK).await;
        if ledger.missing() < missing {
            (missing, progress) = (ledger.missing(), Instant::now());
        }
    }
    if progress.elapsed() >= DRAIN_LIMIT {
        note(&format!("nothing was delivered for {DRAIN_LIMIT:?}; the rest counts as lost"));
        for (endpoint, role) in endpoints.iter().zip(ledger.roles()) {
            note(&format!("    {role:?}: {}", driver.standing(endpoint).await?));
        }
    }
    note(&format!("{} deliveries without a 2xx: dead or lost", ledger.missing()));
    let dead = driver.deliveries("dead").await?;
    let place = |name: &str| endpoints.iter().position(|id| id == name);
    Ok(dead.into_iter().filter_map(|(id, endpoint)| Some((id, place(&endpoint)?))).collect())
}
