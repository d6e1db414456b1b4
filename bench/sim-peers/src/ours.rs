//! Our own world, on the wheel and on the standard library's binary heap.

use std::error::Error;

use stagger_core::{Instant, Span};
use stagger_sim::{
    ArrivalProcess, Backend, Fault, Heap, Law, Played, RunPlan, Schedule, Simulation, Trouble,
};

use crate::model::EventCounts;
use crate::model::{SCHEDULE, SEED, up};

pub(crate) fn on_the_wheel(clients: u32) -> Result<EventCounts, Box<dyn Error>> {
    Ok(counts(&Simulation::new().play(&plan(clients)?, SEED)))
}

pub(crate) fn on_the_heap(clients: u32) -> Result<EventCounts, Box<dyn Error>> {
    Ok(counts(&Simulation::on(Heap::default()).play(&plan(clients)?, SEED)))
}

/// Not model P: so many calls at 700 a second to ten workers that stall from 10 to 15 s.
pub(crate) fn stall(calls: u32) -> Result<EventCounts, Box<dyn Error>> {
    let at = |s| Instant::ORIGIN + Span::from_secs(s);
    let schedule = Schedule { attempts: 4, ..Schedule::default() };
    let caller = Law::Full.caller(&schedule)?.with_timeout(Span::from_millis(500));
    let mut plan = RunPlan::new(ArrivalProcess::poisson(700, at(u64::from(calls / 700))), caller);
    plan.backend = Backend::of_workers(10, Span::from_millis(10), None);
    plan.faults.push(Fault::new(Trouble::Stall, at(10), at(15)));
    let played = Simulation::new().play(&plan, SEED);
    Ok(EventCounts { events: played.events, served: played.succeeded })
}

fn plan(callers: u32) -> Result<RunPlan, Box<dyn Error>> {
    let mut plan = RunPlan::new(ArrivalProcess::Together { callers }, Law::Full.caller(&SCHEDULE)?);
    plan.faults.push(Fault::new(Trouble::Refuse, Instant::ORIGIN, up()));
    Ok(plan)
}

/// The arrivals at t = 0 are events in our world, and no other engine has them.
fn counts(played: &Played) -> EventCounts {
    EventCounts { events: played.events - played.calls, served: played.succeeded }
}
