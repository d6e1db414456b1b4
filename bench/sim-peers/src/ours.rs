//! Our own world, on the wheel and on the standard library's binary heap.

use std::error::Error;

use stagger_core::{Instant, Span};
use stagger_sim::{Arrivals, Backend, Fault, Heap, Law, Plan, Played, Schedule, Trouble, World};

use crate::measured::EventCounts;
use crate::model::{SCHEDULE, SEED, up};

pub(crate) fn on_the_wheel(clients: u32) -> Result<EventCounts, Box<dyn Error>> {
    Ok(counts(&World::new().play(&plan(clients)?, SEED)))
}

pub(crate) fn on_the_heap(clients: u32) -> Result<EventCounts, Box<dyn Error>> {
    Ok(counts(&World::on(Heap::default()).play(&plan(clients)?, SEED)))
}

/// Not model P: so many calls at 700 a second to ten workers that stall from 10 to 15 s.
pub(crate) fn stall(calls: u32) -> Result<EventCounts, Box<dyn Error>> {
    let at = |s| Instant::ORIGIN + Span::from_secs(s);
    let schedule = Schedule { attempts: 4, ..Schedule::default() };
    let caller = Law::Full.caller(&schedule)?.with_timeout(Span::from_millis(500));
    let mut plan = Plan::new(Arrivals::poisson(700, at(u64::from(calls / 700))), caller);
    plan.backend = Backend::of_workers(10, Span::from_millis(10), None);
    plan.faults.push(Fault::new(Trouble::Stall, at(10), at(15)));
    let played = World::new().play(&plan, SEED);
    Ok(EventCounts { events: played.events, served: played.succeeded })
}

fn plan(callers: u32) -> Result<Plan, Box<dyn Error>> {
    let mut plan = Plan::new(Arrivals::Together { callers }, Law::Full.caller(&SCHEDULE)?);
    plan.faults.push(Fault::new(Trouble::Refuse, Instant::ORIGIN, up()));
    Ok(plan)
}

/// The arrivals at t = 0 are events in our world, and no other engine has them.
fn counts(played: &Played) -> EventCounts {
    EventCounts { events: played.events - played.calls, served: played.succeeded }
}
