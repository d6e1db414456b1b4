//! Faults of a proxy's route: what its own settings and its policy make together.

use stagger_core::{Policy, Span};

use super::delays::retrying;
use crate::{Code, PolicyFinding};

/// The facts of a route that its policy does not say. The default is a route that sets nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteFacts {
    /// Methods without idempotence that the route names as repeatable, such as `POST`.
    pub unsafe_methods: Vec<String>,
    /// Whether requests of such methods are given an `Idempotency-Key`.
    pub adds_key: bool,
    /// Whether methods of gRPC are named as repeatable.
    pub repeats_grpc: bool,
    /// Whether the route names requests that usually have a body: PUT, PATCH, POST, or gRPC.
    pub repeats_bodies: bool,
    /// Whether the route names any requests as repeatable, or adds a key.
    pub names_repeats: bool,
    /// Whether gRPC methods have policies of their own, from a service config.
    pub has_service_config: bool,
    /// Bytes of a body that are kept for another attempt.
    pub replay_limit: u64,
    /// The most calls at one time.
    pub max_in_flight: u64,
    /// The time for a connection, where the route sets one.
    pub connect_timeout: Option<Span>,
    /// Whether the route makes tunnels, which have a breaker and no retries.
    pub tunnel: bool,
    /// The time that calls have to end when the proxy stops.
    pub drain: Span,
}

/// The prefix of a message of gRPC: a flag and a length.
const GRPC_PREFIX: u64 = 5;

/// Memory for bodies above which a route is told of: a container of the usual size ends before.
const BODY_MEMORY: u64 = 1 << 30;

/// Finds the faults of a route. Those of its policy alone are found by [`lint`](super::lint).
///
/// ```
/// use stagger_core::Policy;
/// use stagger_explain::{Code, RouteFacts, lint_route};
/// let facts = RouteFacts { unsafe_methods: vec!["POST".to_owned()], ..RouteFacts::default() };
/// assert_eq!(lint_route(&Policy::default(), &facts)[0].code, Code::RouteUnsafeMethods);
/// let keyed = RouteFacts { adds_key: true, replay_limit: 65_536, ..facts };
/// assert_eq!(lint_route(&Policy::default(), &keyed), []);
/// ```
#[must_use]
pub fn lint_route(policy: &Policy, facts: &RouteFacts) -> Vec<PolicyFinding> {
    if facts.tunnel {
        return tunnel(policy).into_iter().collect();
    }
    let found = [
        unsafe_methods(policy, facts),
        unsafe_hedge(policy, facts),
        body_not_kept(policy, facts),
        replay_memory(policy, facts),
        connect_timeout(policy, facts),
        retry_unused(policy, facts),
        drain(policy, facts),
    ];
    found.into_iter().flatten().collect()
}

fn unsafe_methods(policy: &Policy, facts: &RouteFacts) -> Option<PolicyFinding> {
    let repeated = retrying(policy) && !facts.unsafe_methods.is_empty() && !facts.adds_key;
    let methods = facts.unsafe_methods.join(", ");
    repeated.then(|| {
        PolicyFinding::warning(
            Code::RouteUnsafeMethods,
            "retry.methods",
            format!(
                "{methods} may be sent again without a key: a failure may have been a success whose reply \
                 was lost"
            ),
            format!("idempotency_key = true, or leave {methods} out of methods"),
        )
    })
}

/// Copies are under way together, so a key does not put them one after the other.
fn unsafe_hedge(policy: &Policy, facts: &RouteFacts) -> Option<PolicyFinding> {
    policy.hedge()?;
    let methods = facts.unsafe_methods.join(", ");
    if !facts.unsafe_methods.is_empty() && !facts.adds_key {
        return Some(PolicyFinding::error(
            Code::RouteUnsafeHedge,
            "retry.methods",
            format!(
                "copies of {methods} are sent while the first is under way: both may be carried out"
            ),
            format!("leave {methods} out of methods, or the policy without [hedge]"),
        ));
    }
    facts.adds_key.then(|| {
        PolicyFinding::warning(
            Code::RouteUnsafeHedge,
            "retry.idempotency_key",
            "copies with the same key are under way at the same time: a server that looks the key up before \
             it stores it carries out both",
            "a route of its own for these methods, with a policy without [hedge]",
        )
    })
}

fn body_not_kept(policy: &Policy, facts: &RouteFacts) -> Option<PolicyFinding> {
    let least = if facts.repeats_grpc { GRPC_PREFIX } else { 1 };
    let lost = retrying(policy) && facts.repeats_bodies && facts.replay_limit < least;
    lost.then(|| {
        PolicyFinding::warning(
            Code::RouteBodyNotKept,
            "retry.replay_limit",
            format!(
                "{} bytes of a body are kept for another attempt: a request with a body is sent once, \
                 although the route names such requests as repeatable",
                facts.replay_limit
            ),
            "replay_limit = \"64KiB\", which is the default, or the size of the largest such body",
        )
    })
}

fn replay_memory(policy: &Policy, facts: &RouteFacts) -> Option<PolicyFinding> {
    let most = facts.max_in_flight.saturating_mul(facts.replay_limit);
    (retrying(policy) && most > BODY_MEMORY).then(|| {
        PolicyFinding::warning(
            Code::RouteReplayMemory,
            "retry.replay_limit",
            format!(
                "{} calls in flight with {} bytes of body each may take {} MiB",
                facts.max_in_flight,
                facts.replay_limit,
                most >> 20
            ),
            "a smaller replay_limit, or a smaller max_in_flight",
        )
    })
}

fn connect_timeout(policy: &Policy, facts: &RouteFacts) -> Option<PolicyFinding> {
    let limits = policy.limits();
    let asked = facts.connect_timeout?;
    let (key, first) = match (limits.attempt_timeout(), limits.deadline()) {
        (Some(attempt), Some(deadline)) if deadline < attempt => ("deadline", deadline),
        (Some(attempt), _) => ("attempt_timeout", attempt),
        (None, Some(deadline)) => ("deadline", deadline),
        (None, None) => return None,
    };
    (asked >= first).then(|| {
        PolicyFinding::warning(
            Code::RouteConnectTimeout,
            "connect_timeout",
            format!(
                "a connection has {asked}, but {key} ends the attempt after {first} at the latest"
            ),
            format!("connect_timeout below {first}, such as a third of it"),
        )
    })
}

fn retry_unused(policy: &Policy, facts: &RouteFacts) -> Option<PolicyFinding> {
    let one = !retrying(policy) && policy.hedge().is_none() && !facts.has_service_config;
    (one && facts.names_repeats).then(|| {
        PolicyFinding::warning(
            Code::RouteRetryUnused,
            "retry",
            "the route names requests that may be repeated, and its policy makes one attempt",
            "limits.max_attempts = 3 in its policy, or leave [route.NAME.retry] out",
        )
    })
}

fn drain(policy: &Policy, facts: &RouteFacts) -> Option<PolicyFinding> {
    let deadline = policy.limits().deadline().filter(|deadline| *deadline > facts.drain)?;
    Some(PolicyFinding::warning(
        Code::RouteDrain,
        "limits.deadline",
        format!(
            "a call may take {deadline}, and the proxy waits for {} when it stops: later calls are cut off",
            facts.drain
        ),
        format!("[proxy] drain = \"{deadline}\", or a shorter deadline"),
    ))
}

fn tunnel(policy: &Policy) -> Option<PolicyFinding> {
    policy.breaker().is_none().then(|| {
        PolicyFinding::warning(
            Code::RouteTunnelBreaker,
            "policy",
            "a tunnel uses nothing of a policy but its breaker, and this one has none: each tunnel tries to \
             connect while the server is down",
            "breaker = { consecutive = 5 }, or no policy: the default has a breaker",
        )
    })
}

#[cfg(test)]
mod tests {
    use stagger_core::breaker::BreakerPlan;
    use stagger_core::hedge::HedgePlan;

    use super::*;

    fn base() -> RouteFacts {
        RouteFacts {
            replay_limit: 65_536,
            max_in_flight: 1024,
            drain: Span::from_secs(30),
            ..RouteFacts::default()
        }
    }

    fn found(policy: &Policy, facts: &RouteFacts) -> Vec<Code> {
        lint_route(policy, facts).into_iter().map(|finding| finding.code).collect()
    }

    fn once() -> Policy {
        Policy::builder().max_attempts(1).build().expect("good")
    }

    fn hedged() -> Policy {
        let plan = HedgePlan::fixed(Span::from_millis(50), 2).expect("good");
        Policy::builder().hedge(plan).build().expect("good")
    }

    fn post() -> RouteFacts {
        let unsafe_methods = vec!["POST".to_owned()];
        RouteFacts { unsafe_methods, repeats_bodies: true, names_repeats: true, ..base() }
    }

    #[test]
    fn a_route_that_sets_nothing_has_no_finding() {
        assert_eq!(found(&Policy::default(), &base()), []);
        assert_eq!(found(&once(), &base()), []);
        assert_eq!(found(&hedged(), &base()), []);
    }

    #[test]
    fn a_post_was_repeated_without_a_key() {
        assert_eq!(found(&Policy::default(), &post()), [Code::RouteUnsafeMethods]);
        let keyed = RouteFacts { adds_key: true, ..post() };
        assert_eq!(found(&Policy::default(), &keyed), []);
        assert!(!found(&once(), &post()).contains(&Code::RouteUnsafeMethods));
    }

    #[test]
    fn copies_of_a_post_were_sent_at_the_same_time() {
        let of = |facts: &RouteFacts| {
            let all = lint_route(&hedged(), facts).into_iter();
            all.filter(|it| it.code == Code::RouteUnsafeHedge)
                .map(|it| it.severity)
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&post()), [crate::Severity::Error]);
        assert_eq!(of(&RouteFacts { adds_key: true, ..post() }), [crate::Severity::Warning]);
        assert_eq!(of(&base()), []);
    }

    #[test]
    fn nothing_of_a_body_was_kept_for_its_repetition() {
        let put = RouteFacts { repeats_bodies: true, replay_limit: 0, ..base() };
        assert_eq!(found(&Policy::default(), &put), [Code::RouteBodyNotKept]);
        let grpc = RouteFacts { repeats_grpc: true, replay_limit: 4, ..put.clone() };
        assert_eq!(found(&Policy::default(), &grpc), [Code::RouteBodyNotKept]);
        let read_only = RouteFacts { repeats_bodies: false, ..put.clone() };
        assert_eq!(found(&Policy::default(), &read_only), []);
        assert_eq!(found(&Policy::default(), &RouteFacts { replay_limit: 1, ..put }), []);
    }

    #[test]
    fn bodies_took_more_memory_than_a_container_has() {
        let large = RouteFacts { replay_limit: 16 << 20, max_in_flight: 65, ..base() };
        assert_eq!(found(&Policy::default(), &large), [Code::RouteReplayMemory]);
        assert_eq!(found(&Policy::default(), &RouteFacts { max_in_flight: 64, ..large }), []);
    }

    #[test]
    fn a_connection_had_longer_than_its_attempt() {
        let policy = Policy::builder().attempt_timeout(Span::from_secs(2)).build().expect("good");
        let asked =
            |seconds| RouteFacts { connect_timeout: Some(Span::from_secs(seconds)), ..base() };
        assert_eq!(found(&policy, &asked(2)), [Code::RouteConnectTimeout]);
        assert_eq!(found(&policy, &asked(1)), []);
        assert_eq!(
            found(&Policy::default(), &asked(3_000)),
            [],
            "nothing ends such an attempt sooner"
        );
    }

    #[test]
    fn requests_were_named_as_repeatable_under_a_policy_of_one_attempt() {
        let named = RouteFacts { names_repeats: true, ..base() };
        assert_eq!(found(&once(), &named), [Code::RouteRetryUnused]);
        assert_eq!(found(&Policy::default(), &named), []);
        assert_eq!(found(&once(), &RouteFacts { has_service_config: true, ..named }), []);
    }

    #[test]
    fn calls_were_cut_off_by_the_end_of_the_proxy() {
        let long =
            |seconds| Policy::builder().deadline(Span::from_secs(seconds)).build().expect("good");
        assert_eq!(found(&long(31), &base()), [Code::RouteDrain]);
        assert_eq!(found(&long(30), &base()), []);
    }

    #[test]
    fn a_tunnel_had_a_policy_without_a_breaker() {
        let tunnel = RouteFacts { tunnel: true, ..post() };
        assert_eq!(found(&Policy::default(), &tunnel), [Code::RouteTunnelBreaker]);
        let policy = Policy::builder().breaker(BreakerPlan::default()).build().expect("good");
        assert_eq!(found(&policy, &tunnel), []);
    }
}
