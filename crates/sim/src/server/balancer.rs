//! The balancer of a tier at work: the attempts under way at each server, and the servers left out.

use stagger_core::{Entropy, Instant, Outcome, Verdict};

use crate::plan::{Balancer, Ejection, Routing};
use crate::streams::{Draw, Purpose, RandomStream};

/// A balancer while a run is played.
#[derive(Debug)]
pub(crate) struct BalancerState {
    rule: Balancer,
    servers: Vec<ServerHealth>,
    /// The server at which the next turn begins.
    turn: u32,
    /// The servers that the attempt of now may go to; kept for its memory.
    able: Vec<u32>,
    draws: RandomStream,
}

/// One server as its balancer knows it.
#[derive(Clone, Copy, Debug)]
struct ServerHealth {
    /// Attempts under way.
    active: u32,
    /// Failures in a row.
    failures: u32,
    /// The end of its ejection.
    out_until: Instant,
}

impl BalancerState {
    pub(super) fn new(rule: Balancer, servers: u32, seed: u64) -> Self {
        let health = ServerHealth { active: 0, failures: 0, out_until: Instant::ORIGIN };
        Self {
            rule,
            servers: vec![health; servers as usize],
            turn: 0,
            able: Vec::new(),
            draws: RandomStream::new(seed, Purpose::Balancer),
        }
    }

    /// Whether it avoids the server of the last attempt, which is to be remembered then.
    pub(crate) const fn remembers(&self) -> bool {
        self.rule.retry_elsewhere
    }

    /// Chooses the server for an attempt of a call whose last attempt went to `last`.
    pub(crate) fn choose(
        &mut self,
        now: Instant,
        (id, number): (u32, u32),
        last: Option<u32>,
    ) -> u32 {
        let mut able = std::mem::take(&mut self.able);
        self.select(now, last.filter(|_| self.rule.retry_elsewhere), &mut able);
        let chosen = match self.rule.routing {
            Routing::RoundRobin => self.next_of(&able),
            Routing::Random => able[below(able.len(), &mut self.draws.at(id, number))],
            Routing::LeastRequests => {
                let least = able.iter().map(|&it| self.active(it)).min().unwrap_or(0);
                able.retain(|&it| self.active(it) == least);
                self.next_of(&able)
            }
            Routing::TwoChoices => self.less_busy_of_two(&able, self.draws.at(id, number)),
        };
        self.turn = (chosen + 1) % self.count();
        self.able = able;
        chosen
    }

    /// An attempt is under way at this server.
    pub(crate) fn begin(&mut self, server: u32) {
        self.servers[server as usize].active += 1;
    }

    /// An attempt is no longer under way at this server.
    pub(crate) fn end(&mut self, server: u32) {
        self.servers[server as usize].active -= 1;
    }

    /// An attempt at this server had this outcome.
    pub(crate) fn heard(&mut self, now: Instant, server: u32, outcome: &Outcome) {
        let Some(rule) = self.rule.ejection else { return };
        let failed = matches!(outcome.verdict, Verdict::Transient | Verdict::Unprocessed);
        let may_leave = self.out(now) < most_out(&rule, self.count());
        let health = &mut self.servers[server as usize];
        health.failures = if failed { health.failures + 1 } else { 0 };
        // What comes back from a server that is out says nothing new.
        if health.failures >= rule.failures && health.out_until <= now && may_leave {
            (health.failures, health.out_until) = (0, now + rule.lasts);
        }
    }

    /// Healthy servers other than the avoided one; without such, any healthy one, or else all.
    fn select(&self, now: Instant, avoided: Option<u32>, able: &mut Vec<u32>) {
        let healthy = |server: &u32| self.servers[*server as usize].out_until <= now;
        let all = 0..self.count();
        able.clear();
        able.extend(all.clone().filter(|it| healthy(it) && Some(*it) != avoided));
        if able.is_empty() {
            able.extend(all.clone().filter(healthy));
        }
        if able.is_empty() {
            able.extend(all);
        }
    }

    /// The servers that are left out.
    fn out(&self, now: Instant) -> usize {
        self.servers.iter().filter(|server| server.out_until > now).count()
    }

    fn active(&self, server: u32) -> u32 {
        self.servers[server as usize].active
    }

    /// The first of these servers from the turn on.
    fn next_of(&self, able: &[u32]) -> u32 {
        able.iter().copied().find(|&server| server >= self.turn).unwrap_or(able[0])
    }

    fn less_busy_of_two(&self, able: &[u32], mut draw: Draw) -> u32 {
        let first = below(able.len(), &mut draw);
        if able.len() == 1 {
            return able[first];
        }
        // Of the others, so that the two differ.
        let second = (first + 1 + below(able.len() - 1, &mut draw)) % able.len();
        let (first, second) = (able[first], able[second]);
        if self.active(second) < self.active(first) { second } else { first }
    }

    fn count(&self) -> u32 {
        u32::try_from(self.servers.len()).expect("a backend has at most 2^16 servers")
    }
}

/// The most servers that may be out.
fn most_out(rule: &Ejection, servers: u32) -> usize {
    let share =
        u64::from(servers) * u64::from(rule.most.ppm()) / u64::from(stagger_core::Ratio::SCALE);
    usize::try_from(share).unwrap_or(usize::MAX).max(1)
}

/// A number below `bound`, each with equal probability.
fn below(bound: usize, draw: &mut Draw) -> usize {
    let product = u128::from(draw.next_u64()) * bound as u128;
    // OK because the high half of the product is below `bound`.
    usize::try_from(product >> 64).unwrap_or(0)
}
