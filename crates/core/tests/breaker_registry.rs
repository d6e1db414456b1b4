//! Many breakers: the right scope, and no state without end.

use stagger_core::breaker::{BreakerPlan, Destination, Registry, Report, StateKind};
use stagger_core::{ConfigError, Instant, Span};
use stagger_testkit::lowest;

fn at(seconds: u64) -> Instant {
    Instant::ORIGIN + Span::from_secs(seconds)
}

fn fail<K: Ord + Clone>(registry: &mut Registry<K>, now: Instant, key: &K) {
    if let Some(ticket) = registry.admit(now, key).ticket() {
        registry.report(now, key, ticket, Report::Failure, &mut lowest());
    }
}

// couchbase/couchbase-net-client PR 177: five hosts shared one breaker.
#[test]
fn one_ill_host_does_not_close_the_door_to_the_others() -> Result<(), ConfigError> {
    let mut registry = Registry::new(BreakerPlan::builder().consecutive(3).build()?);
    let hosts = ["a", "b", "c", "d", "e"]
        .map(|host| Destination::new("https", host, None).expect("a host"));
    for _ in 0..3 {
        fail(&mut registry, at(0), &hosts[0]);
    }
    let open = hosts.each_ref().map(|host| registry.admit(at(1), host).ticket().is_none());
    assert_eq!(open, [true, false, false, false, false]);

    let probe = registry.admit(at(5), &hosts[0]).ticket().expect("half-open");
    registry.report(at(5), &hosts[0], probe, Report::Success, &mut lowest());
    fail(&mut registry, at(5), &hosts[0]);
    let state = registry.get(&hosts[0]).map(|breaker| breaker.state(at(5)));
    assert_eq!(state, Some(StateKind::Closed), "the counts from before must be gone");
    Ok(())
}

// fedify-dev/fedify #916: one entry for each host, for ever.
#[test]
fn a_million_hosts_that_fail_once_do_not_fill_the_memory() {
    let mut registry: Registry<u32> = Registry::new(BreakerPlan::default());
    for host in 0..1_000_000 {
        fail(&mut registry, Instant::from_nanos(u64::from(host) * 1_000_000), &host);
        assert!(registry.len() <= 10_000);
    }
    assert!(registry.get(&999_999).is_some());
}

#[test]
fn a_flood_of_hosts_does_not_wash_away_the_open_ones() -> Result<(), ConfigError> {
    let plan = BreakerPlan::builder().consecutive(1).open_time(Span::from_secs(60)).build()?;
    let mut registry = Registry::new(plan).with_bound(100)?;
    for host in 0..50_u32 {
        fail(&mut registry, at(0), &host);
    }
    for host in 50..10_000 {
        assert!(registry.admit(at(1), &host).ticket().is_some());
        assert!(registry.len() <= 100);
    }
    let open = registry.iter().filter(|(_, b)| b.state(at(1)) == StateKind::Open).count();
    assert_eq!(open, 50);
    for host in 10_000..10_200 {
        fail(&mut registry, at(2), &host);
        assert!(registry.len() <= 100, "the bound holds though all are open");
    }
    Ok(())
}

#[test]
fn a_host_nobody_asks_for_is_forgotten_but_not_inside_its_open_time() -> Result<(), ConfigError> {
    let long = Span::from_secs(900);
    let plan = BreakerPlan::builder().consecutive(1).open_time(long).open_cap(long).build()?;
    let mut registry = Registry::new(plan).with_idle(Span::from_secs(60))?;
    fail(&mut registry, at(0), &"ill");
    assert!(registry.admit(at(0), &"well").ticket().is_some());
    assert!(registry.admit(at(61), &"new").ticket().is_some());
    assert_eq!(registry.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["ill", "new"]);
    assert!(registry.admit(at(1000), &"newer").ticket().is_some());
    assert_eq!(registry.len(), 1);
    Ok(())
}

#[test]
fn a_ticket_from_before_an_eviction_says_nothing_afterwards() -> Result<(), ConfigError> {
    let plan = BreakerPlan::builder().consecutive(1).build()?;
    let mut registry = Registry::new(plan).with_bound(1)?;
    let old = registry.admit(at(0), &"a").ticket().expect("closed");
    assert!(registry.admit(at(1), &"b").ticket().is_some());
    assert!(registry.admit(at(2), &"a").ticket().is_some());
    assert_eq!(registry.report(at(2), &"a", old, Report::Failure, &mut lowest()), None);
    assert_eq!(registry.report(at(2), &"b", old, Report::Failure, &mut lowest()), None);
    Ok(())
}
