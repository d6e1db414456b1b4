//! The rounds: start, load, trouble, and at the end the balance.

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stagger_testkit::Mix;
use tokio::time::{Instant, sleep};

use super::book::Book;
use super::cast::Role;
use super::chore::Crash;
use super::crew::Crew;
use super::leaders::Leaders;
use super::poster::Posters;
use super::report::{Report, Together};
use super::trouble::Deck;
use crate::format::note;
use crate::rig::{Driver, Home, Receiver};

/// After how long several nodes replace one that is silent.
const LEASE: Duration = Duration::from_secs(2);
/// How long the endpoint that is down has until its breaker must be open.
const TRIP: Duration = Duration::from_secs(2);
/// How long everything may take after the last round: a breaker may have opened at its end, and each failed
/// probe doubles its open time.
const DRAIN_LIMIT: Duration = Duration::from_secs(60);
/// How often it is asked whether everything is finished.
const LOOK: Duration = Duration::from_millis(250);

pub(super) async fn rounds(binary: &Path, crash: &Crash) -> Result<Report, Box<dyn Error>> {
    let nodes = usize::from(crash.nodes);
    let home = Home::new("crash", crash.store)?;
    let book = Arc::new(Book::new(crash.seed, Role::of(nodes)));
    let receiver = Receiver::start(Arc::clone(&book)).await?;
    let mut crew = Crew::start(binary, &home, crash, LEASE).await?;
    let (application, endpoints) = crew.introduce(book.roles(), &receiver).await?;
    let posters = Posters::start(&crew.places(), &application, &book);
    let leaders = match home.database().filter(|_| nodes > 1) {
        Some(database) => {
            sleep(TRIP).await;
            book.breaker_is_open();
            Some(Leaders::watch(database.url(), nodes, LEASE, crew.roster()).await?)
        }
        None => None,
    };
    let (mut mix, mut deck) = (Mix::new(crash.seed), Deck::new(crash.troubles()));
    let mut troubles = BTreeMap::new();
    for round in 1..=crash.rounds {
        let trouble = deck.draw(&mut mix).ok_or("no trouble to make")?;
        note(&format!("round {round} of {}", crash.rounds));
        crew.round(trouble, &mut mix).await?;
        *troubles.entry(trouble).or_default() += 1;
    }
    crew.wait().await?;
    book.heal();
    let together = match leaders {
        Some(leaders) => {
            sleep(Leaders::until_spread(LEASE)).await;
            Some(Together::new(LEASE, leaders.stop().await?, book.spared()))
        }
        None => None,
    };
    posters.finish().await?;
    let dead = drain(&crew, &application, &endpoints, &book).await?;
    crew.wait().await?;
    let balance = book.balance(crash.rounds, &dead);
    Ok(Report { nodes, troubles, together, ..balance })
}

/// Waits until the dispatcher has nothing left to do, or for too long; its dead letters.
async fn drain(
    crew: &Crew<'_>,
    application: &str,
    endpoints: &[String],
    book: &Book,
) -> Result<HashSet<(String, usize)>, Box<dyn Error>> {
    let mut driver = Driver::resume(crew.addr()?, application.to_owned()).await?;
    let until = Instant::now() + DRAIN_LIMIT;
    while driver.is_open().await? && Instant::now() < until {
        sleep(LOOK).await;
    }
    if Instant::now() >= until {
        note(&format!("not everything is finished after {DRAIN_LIMIT:?}; the rest counts as lost"));
        for (endpoint, role) in endpoints.iter().zip(book.roles()) {
            note(&format!("    {role:?}: {}", driver.standing(endpoint).await?));
        }
    }
    note(&format!("{} deliveries without a 2xx: dead or lost", book.missing()));
    let dead = driver.deliveries("dead").await?;
    let place = |name: &str| endpoints.iter().position(|id| id == name);
    Ok(dead.into_iter().filter_map(|(id, endpoint)| Some((id, place(&endpoint)?))).collect())
}
