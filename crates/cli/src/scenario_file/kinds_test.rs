//! Whether a file can say all that a plan can: a kind that is new in the plan is missing here first.

use std::collections::BTreeSet;

use stagger_sim::{
    Abandonment, ArrivalProcess, Away, CacheFill, Cancel, FirstCalls, Full, Hop, LedgerModel,
    Paying, Play, Propagation, QueueDiscipline, Recovery, Routing, RunPlan, Scope, ServerRateLimit,
    Service, Shedding, Trouble,
};
use stagger_text::settings::Document;

use super::{ScenarioOverrides, read};

const ARRIVALS: &str = "[[arrivals]]\nkind = 'together'\ncallers = 1\n";

#[track_caller]
fn plan(text: &str) -> RunPlan {
    let document = Document::parse(text).expect("it is TOML");
    let scenario = read("s", &document, &ScenarioOverrides::default());
    let scenario = scenario.unwrap_or_else(|flaw| panic!("{}", flaw.line("s.toml", text)));
    match &scenario.cases[0].entries[0].play {
        Play::Run(plan) => (**plan).clone(),
        Play::Contention(_) => panic!("no file has writers"),
    }
}

/// Whether these texts, each behind the start of a file, give every kind from 0 to below `kinds`.
#[track_caller]
fn all(texts: &[&str], kinds: usize, kind: impl Fn(&RunPlan) -> usize) {
    let found: BTreeSet<usize> = texts.iter().map(|text| kind(&plan(text))).collect();
    assert_eq!(found, (0..kinds).collect());
}

fn kind_of_arrivals(rule: &ArrivalProcess) -> usize {
    match rule {
        ArrivalProcess::Together { .. } => 0,
        ArrivalProcess::Even { .. } => 1,
        ArrivalProcess::Poisson { .. } => 2,
        ArrivalProcess::Noticed { .. } => 3,
        ArrivalProcess::Spread { .. } => 4,
        ArrivalProcess::Clients { .. } => 5,
        ArrivalProcess::Closed { .. } => 6,
        ArrivalProcess::Ramped(_) => 7,
        ArrivalProcess::Recorded(_) => 8,
        ArrivalProcess::Stepped { .. } => 9,
    }
}

const RULES: [&str; 10] = [
    "kind = 'together'\ncallers = 1",
    "kind = 'even'\ncallers = 2\nspacing = '1ms'",
    "kind = 'poisson'\nrate = 5\nuntil = '1s'",
    "kind = 'noticed'\ncallers = 2\nsigma = '1ms'",
    "kind = 'spread'\ncallers = 2\nover = '1s'",
    "kind = 'clients'\nclients = 2\ngap = '1s'\nuntil = '5s'",
    "kind = 'closed'\nclients = 2\nthink = '1s'\nuntil = '5s'",
    "kind = 'ramped'\ncallers = 5\nrate = 10\nover = '1s'\nmost = 20",
    "kind = 'recorded'\nat = ['0s', '1s']",
    "kind = 'steps'\nuntil = '2s'\nsteps = [{ from = '0s', rate = 5 }, { from = '1s', rate = 0 }]",
];

#[test]
fn every_kind_of_arrivals_can_be_written() {
    let texts = RULES.map(|rule| format!("[[arrivals]]\n{rule}"));
    all(&texts.each_ref().map(String::as_str), 10, |plan| kind_of_arrivals(&plan.arrivals[0]));
}

#[test]
fn clients_may_begin_together_or_spread() {
    let texts = ["", "first_calls = 'spread'", "first_calls = 'at-origin'"]
        .map(|more| format!("[[arrivals]]\n{}\n{more}", RULES[5]));
    let first = texts.each_ref().map(|text| match plan(text).arrivals[0] {
        ArrivalProcess::Clients { first, .. } => Some(first),
        _ => None,
    });
    assert_eq!(first, [FirstCalls::Spread, FirstCalls::Spread, FirstCalls::AtOrigin].map(Some));
}

#[test]
fn bystanders_may_come_in_every_way_too() {
    let texts = RULES.map(|rule| format!("{ARRIVALS}[[bystanders]]\n{rule}"));
    let kind = |plan: &RunPlan| kind_of_arrivals(&plan.bystanders[0].arrivals);
    all(&texts.each_ref().map(String::as_str), 10, kind);
}

#[test]
fn every_trouble_can_be_written() {
    let texts = [
        "kind = 'refuse'",
        "kind = 'refuse'\nretry_after = '1s'",
        "kind = 'port-closed'",
        "kind = 'hang'\nlasts = '1s'",
        "kind = 'silence'",
        "kind = 'stall'\nlasts = '1s'",
        "kind = 'failing'\nshare = 0.5",
        "kind = 'slow'\nfactor = 2",
        "kind = 'forbid'\nshare = 0.5",
        "kind = 'flush'\nshare = 0.5",
    ];
    let cache = "[server]\nworkers = 1\ncache = { keys = 1, miss = '1s' }\n";
    let texts = texts.map(|fault| format!("{ARRIVALS}{cache}[[fault]]\n{fault}"));
    all(&texts.each_ref().map(String::as_str), 10, |plan| match plan.faults[0].trouble {
        Trouble::Refuse => 0,
        Trouble::RefuseFor(_) => 1,
        Trouble::PortClosed => 2,
        Trouble::Hang => 3,
        Trouble::Silence => 4,
        Trouble::Stall => 5,
        Trouble::Failing(_) => 6,
        Trouble::Slow(_) => 7,
        Trouble::Forbid(_) => 8,
        Trouble::Flush(_) => 9,
    });
}

#[test]
fn every_kind_of_server_can_be_written() {
    let of = |server: &str| format!("{ARRIVALS}[server]\n{server}");
    let services = [
        "service = '1ms'",
        "service = '1ms'\nservice_law = 'exponential'",
        "service = '1ms'\nslow_service = '2ms'\nslow_share = 0.5",
        "service = '1ms'\nservice_law = 'lognormal'\nsigma = 1",
        "service = '1ms'\nservice_law = 'pareto'\nshape = 2.5",
    ];
    let services = services.map(of);
    all(&services.each_ref().map(String::as_str), 5, |plan| match plan.backend.service {
        Service::Fixed(_) => 0,
        Service::Exponential(_) => 1,
        Service::Tail { .. } => 2,
        Service::Lognormal { .. } => 3,
        Service::Pareto { .. } => 4,
    });
    let limits = ["limit = { attempts = 1, window = '1s' }", "limit = { burst = 1, every = '1s' }"];
    let limits = limits.map(of);
    all(&limits.each_ref().map(String::as_str), 2, |plan| match plan.backend.limit {
        Some(ServerRateLimit::Window { .. }) => 0,
        Some(ServerRateLimit::Tokens { .. }) => 1,
        None => usize::MAX,
    });
    let workers = |more: &str| of(&format!("service = '1ms'\nworkers = 1\nqueue = 1\n{more}"));
    let queues = ["full = 'refuse'", "full = 'drop'"].map(workers);
    all(&queues.each_ref().map(String::as_str), 2, |plan| {
        match plan.backend.workers.map(|workers| workers.full) {
            Some(Full::Refuse) => 0,
            Some(Full::Drop) => 1,
            None => usize::MAX,
        }
    });
    let orders =
        ["oldest-first", "newest-first", "first-tries-first", "by-criticality", "adaptive"];
    let orders = orders.map(|order| workers(&format!("order = '{order}'")));
    all(&orders.each_ref().map(String::as_str), 5, |plan| {
        match plan.backend.workers.map(|workers| workers.order) {
            Some(QueueDiscipline::OldestFirst) => 0,
            Some(QueueDiscipline::NewestFirst) => 1,
            Some(QueueDiscipline::FirstTriesFirst) => 2,
            Some(QueueDiscipline::ByCriticality) => 3,
            Some(QueueDiscipline::Adaptive) => 4,
            None => usize::MAX,
        }
    });
    let cancels = ["cancel = 'never'", "cancel = 'expired'", "cancel = 'hopeless'"].map(workers);
    all(&cancels.each_ref().map(String::as_str), 3, |plan| {
        match plan.backend.workers.map(|workers| workers.cancel) {
            Some(Cancel::Never) => 0,
            Some(Cancel::Expired) => 1,
            Some(Cancel::Hopeless) => 2,
            None => usize::MAX,
        }
    });
    let whole = plan(&of(
        "workers = 1\nrefusal = '1ms'\ncollapse = 0.1\nshards = 4\ncold_start = { factor = 2, over = '1s' }",
    ));
    assert!(whole.backend.cold_start.is_some() && whole.backend.shards == 4);
    assert!(whole.backend.workers.is_some_and(|workers| !workers.refusal.is_zero()));
}

#[test]
fn every_balancer_can_be_written() {
    let of = |more: &str| format!("{ARRIVALS}[server]\nservers = 3\n{more}");
    let texts = ["round-robin", "random", "least-requests", "two-choices"];
    let texts = texts.map(|routing| of(&format!("balancer = '{routing}'")));
    all(&texts.each_ref().map(String::as_str), 4, |plan| {
        match plan.backend.balancer.map(|balancer| balancer.routing) {
            Some(Routing::RoundRobin) => 0,
            Some(Routing::Random) => 1,
            Some(Routing::LeastRequests) => 2,
            Some(Routing::TwoChoices) => 3,
            None => usize::MAX,
        }
    });
    let whole = plan(&of("retry_elsewhere = true\neject = { failures = 3, most = 0.5 }\n\
                          [[fault]]\nkind = 'refuse'\nserver = 2"));
    let balancer = whole.backend.balancer.expect("it has servers");
    assert!(balancer.retry_elsewhere && balancer.ejection.is_some_and(|it| it.failures == 3));
    assert_eq!((whole.backend.shards, whole.faults[0].shard), (3, Some(2)));
}

#[test]
fn every_reaction_to_load_can_be_written() {
    let of = |more: &str| format!("{ARRIVALS}[server]\nworkers = 2\n{more}");
    let texts = [
        "",
        "shed = { by = 'codel' }",
        "shed = { by = 'fail-fast', target = '10ms' }",
        "shed = { by = 'aimd', latency = '50ms' }",
        "shed = { by = 'gradient', buffer = 0 }",
    ];
    let texts = texts.map(of);
    all(&texts.each_ref().map(String::as_str), 5, |plan| {
        match plan.backend.workers.map(|workers| workers.shedding) {
            Some(Shedding::None) => 0,
            Some(Shedding::CoDel { .. }) => 1,
            Some(Shedding::FailFast { .. }) => 2,
            Some(Shedding::Aimd { .. }) => 3,
            Some(Shedding::Gradient { .. }) => 4,
            None => usize::MAX,
        }
    });
    let fills = ["answered", "worked"];
    let fills = fills.map(|fill| {
        of(&format!("cache = {{ keys = 9, miss = '1s', lifetime = '1m', fill = '{fill}' }}"))
    });
    all(&fills.each_ref().map(String::as_str), 2, |plan| {
        match plan.backend.workers.and_then(|workers| workers.cache).map(|cache| cache.fill) {
            Some(CacheFill::Answered) => 0,
            Some(CacheFill::Worked) => 1,
            None => usize::MAX,
        }
    });
    let whole = plan(&of("crash = { at = 9, restart = '1s' }\n\
                          scale = { most = 4, step = 1, delay = '1s' }"));
    let workers = whole.backend.workers.expect("it has workers");
    assert!(workers.crash.is_some() && workers.scaling.is_some_and(|it| it.most == 4));
}

#[test]
fn every_user_and_criticality_can_be_written() {
    let of = |more: &str| format!("{ARRIVALS}[users]\n{more}");
    let texts = [
        "",
        "patience = '1s'",
        "patience = '1s'\npatience_law = 'exponential'",
        "patience = '1s'\npatience_law = 'lognormal'\nsigma = 0.5",
    ];
    let texts = texts.map(of);
    all(&texts.each_ref().map(String::as_str), 4, |plan| match plan.users.patience {
        None => 0,
        Some(Abandonment::Fixed(_)) => 1,
        Some(Abandonment::Exponential(_)) => 2,
        Some(Abandonment::Lognormal { .. }) => 3,
    });
    let clicks = plan(&of("clicks = { share = 0.5, after = '1s' }")).users.clicks;
    assert_eq!(clicks.map(|clicks| clicks.most), Some(10));
    let words = ["critical-plus", "critical", "sheddable-plus", "sheddable"];
    let words = words.map(|word| {
        format!(
            "{ARRIVALS}[laws]\ncriticality = '{word}'\n[[bystanders]]\n{}\ncriticality = '{word}'",
            RULES[0]
        )
    });
    all(&words.each_ref().map(String::as_str), 4, |plan| {
        assert_eq!(plan.callers[0].criticality, plan.bystanders[0].caller.criticality);
        plan.callers[0].criticality as usize
    });
}

#[track_caller]
fn refused(text: &str, why: &str) {
    let text = format!("{ARRIVALS}{text}");
    let document = Document::parse(&text).expect("it is TOML");
    let flaw = read("s", &document, &ScenarioOverrides::default()).expect_err(&text);
    let line = flaw.line("s.toml", &text);
    assert!(line.contains(why), "{text}: {line}");
}

#[test]
fn servers_and_users_are_refused_with_their_bounds() {
    refused("[server]\nbalancer = 'random'", "set together with server.servers");
    refused("[server]\nservers = 2\nbalancer = 'randon'", "did you mean random?");
    refused("[server]\nservers = 1", "a whole number from 2 to 65536");
    refused("[server]\nservers = 2\nshards = 2", "left out beside shards");
    refused("[server]\nservers = 2\n[[fault]]\nkind = 'refuse'\nshard = 1", "fault.0.shard");
    refused("[server]\nservers = 2\n[[fault]]\nkind = 'refuse'\nserver = 2", "from 0 to 1");
    refused("[server]\nservers = 2\neject = { most = 1.5 }", "a number from 0 to 1");
    refused("[server]\nshed = { by = 'codel' }", "set together with server.workers");
    refused("[server]\nworkers = 1\nshed = { by = 'code' }", "did you mean codel?");
    refused(
        "[server]\nworkers = 1\nshed = { by = 'codel', target = '1s' }",
        "at least target (1s)",
    );
    refused("[server]\nworkers = 1\nshed = { by = 'aimd' }", "server.shed.latency must be set");
    refused("[server]\nworkers = 1\ncrash = { at = 5 }", "server.crash.restart must be set");
    refused("[server]\nworkers = 9\nscale = { most = 5, step = 1, delay = '1s' }", "from 9 to");
    refused("[server]\nworkers = 1\ncache = { keys = 5, mis = '1s' }", "server.cache");
    refused("[[fault]]\nkind = 'flush'\nshare = 1", "a flush needs server.cache");
    refused("[users]\npatience = '1s'\nsigma = 1", "set where patience_law is lognormal alone");
    refused("[users]\npatience_law = 'fixed'", "set together with patience");
    refused("[users]\nclicks = { share = 2, after = '1s' }", "a number from 0 to 1");
    refused("[laws]\ncriticality = 'critcal'", "did you mean critical?");
}

#[test]
fn every_network_fleet_and_end_can_be_written() {
    let hops = ["", "[network]\nhop = '1ms'", "[network]\nhop = '1ms'\nlaw = 'exponential'"];
    let hops = hops.map(|hop| format!("{ARRIVALS}{hop}"));
    all(&hops.each_ref().map(String::as_str), 3, |plan| match plan.hop {
        Hop::None => 0,
        Hop::Fixed(_) => 1,
        Hop::Exponential(_) => 2,
    });
    let ledgers = [
        "",
        "deposit = { by = 'calls', bucket = 1 }",
        "deposit = { by = 'successes', bucket = 1 }",
        "lifetime = { share = 0.5 }",
        "[fleet.shared]\nbudget.interval = { retries = 1, interval = '1s' }",
        "[fleet.shared]\nbudget.interval = { retries = 1, interval = '1s' }\naway = 'refuse'",
        "window_rule = 'block'",
    ];
    let ledgers = ledgers.map(|ledger| format!("{ARRIVALS}[fleet]\n{ledger}"));
    all(&ledgers.each_ref().map(String::as_str), 7, |plan| match plan.fleet.ledger {
        LedgerModel::Engine => 0,
        LedgerModel::Deposit(deposit) => match deposit.paying {
            Paying::Calls => 1,
            Paying::Successes => 2,
        },
        LedgerModel::Lifetime(_) => 3,
        LedgerModel::Shared(shared) => match shared.away {
            Away::Local { .. } => 4,
            Away::Refuse => 5,
        },
        LedgerModel::WindowBlock => 6,
    });
    let scopes = ["host", "shard"].map(|scope| format!("{ARRIVALS}[fleet]\nscope = '{scope}'"));
    all(&scopes.each_ref().map(String::as_str), 2, |plan| match plan.fleet.scope {
        Scope::Host => 0,
        Scope::Shard => 1,
    });
    let ends =
        ["drained", "first-tries"].map(|end| format!("{ARRIVALS}[watch]\nrecovery = '{end}'"));
    all(&ends.each_ref().map(String::as_str), 2, |plan| match plan.watch.recovery {
        Recovery::Drained => 0,
        Recovery::FirstTries(_) => 1,
    });
}

#[test]
fn a_poisson_process_that_starts_later_is_one_of_steps() {
    let later = "[[arrivals]]\nkind = 'poisson'\nrate = 5\nfrom = '1s'\nuntil = '2s'";
    assert_eq!(kind_of_arrivals(&plan(later).arrivals[0]), 9);
}

#[test]
fn layers_may_know_the_deadlines_of_their_callers() {
    let texts = ["", "propagation = 'none'", "propagation = 'deadline'"];
    let found = texts.map(|text| plan(&format!("{text}\n{ARRIVALS}")).propagation);
    assert_eq!(found, [Propagation::None, Propagation::None, Propagation::Deadline]);
}
