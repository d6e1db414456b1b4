//! The rounds: start, load, trouble, and at the end the balance.

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stagger_testkit::Mix;
use tokio::time::{Instant, sleep};

use super::cast::Role;
use super::cluster::Cluster;
use super::leaders::Leaders;
use super::ledger::DeliveryLedger;
use super::options::Crash;
use super::poster::Posters;
use super::report::{CrashReport, Together};
use super::trouble::Deck;
use crate::rig::{Driver, Home, Receiver, build, run_here};
use xtask_workbench::note;

/// After how long several nodes replace one that is silent.
const LEASE: Duration = Duration::from_secs(2);
/// The time after which the breaker of the failing endpoint must be open.
const TRIP: Duration = Duration::from_secs(2);
/// The longest time to finish after the last round: a breaker may have opened at its end, and each
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
    let mut cluster = Cluster::start(binary, &home, crash, LEASE).await?;
    let (application, endpoints) = cluster.introduce(ledger.roles(), &receiver).await?;
    let posters = Posters::start(&cluster.places(), &application, &ledger);
    let leaders = match home.database().filter(|_| nodes > 1) {
        Some(database) => {
            sleep(TRIP).await;
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
            sleep(Leaders::until_spread(LEASE)).await;
            Some(Together::new(LEASE, leaders.stop().await?, ledger.spared()))
        }
        None => None,
    };
    posters.finish().await?;
    let dead = drain(&cluster, &application, &endpoints, &ledger).await?;
    cluster.wait().await?;
    let balance = ledger.balance(crash.rounds, &dead);
    Ok(CrashReport { nodes, troubles, together, ..balance })
}

/// Waits until the dispatcher has nothing left to do, or for too long; its dead letters.
async fn drain(
    cluster: &Cluster<'_>,
    application: &str,
    endpoints: &[String],
    ledger: &DeliveryLedger,
) -> Result<HashSet<(String, usize)>, Box<dyn Error>> {
    let mut driver = Driver::resume(cluster.addr()?, application.to_owned()).await?;
    let until = Instant::now() + DRAIN_LIMIT;
    while driver.is_open().await? && Instant::now() < until {
        sleep(LOOK).await;
    }
    if Instant::now() >= until {
        note(&format!("not everything is finished after {DRAIN_LIMIT:?}; the rest counts as lost"));
        for (endpoint, role) in endpoints.iter().zip(ledger.roles()) {
            note(&format!("    {role:?}: {}", driver.standing(endpoint).await?));
        }
    }
    note(&format!("{} deliveries without a 2xx: dead or lost", ledger.missing()));
    let dead = driver.deliveries("dead").await?;
    let place = |name: &str| endpoints.iter().position(|id| id == name);
    Ok(dead.into_iter().filter_map(|(id, endpoint)| Some((id, place(&endpoint)?))).collect())
}
