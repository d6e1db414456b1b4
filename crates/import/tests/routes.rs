//! Routes of Envoy and Istio: what is carried into a route of the proxy, and what is refused with its reason.

use stagger_core::Span;
use stagger_import::{ImportedRoutes, SettingsDocument, import_routes};

fn routes(text: &str) -> ImportedRoutes {
    let documents = SettingsDocument::read(text).expect("a settings file");
    import_routes(&documents, None).unwrap_or_else(|error| panic!("{error}"))
}

/// The reasons for which settings are left out, each with its path.
fn left(found: &ImportedRoutes) -> Vec<String> {
    found.imported.left_out.iter().map(|left| format!("{}: {}", left.path, left.why)).collect()
}

const ENVOY: &str = include_str!("samples/envoy-routes.yaml");
const ISTIO: &str = include_str!("samples/istio-routes.yaml");

#[test]
fn a_route_of_envoy_is_joined_to_its_listener_and_its_cluster() {
    let found = routes(ENVOY);
    let names: Vec<&str> = found.routes.iter().map(|route| route.name.as_str()).collect();
    assert_eq!(names, ["orders", "search", "grpc", "shop"]);
    let orders = &found.routes[0];
    assert_eq!(orders.listen.as_deref(), Some("127.0.0.1:10000"));
    assert_eq!(
        (orders.host.as_slice(), orders.path.as_str()),
        (&["shop.example".to_owned(), "*.shop.example".to_owned()][..], "/orders/")
    );
    assert_eq!(orders.upstream, ["https://10.0.0.7:8443/v2", "https://10.0.0.8:8443/v2"]);
    assert!(orders.strip_path && !orders.keep_host);
    assert_eq!(orders.http, Some("2"));
    assert_eq!(
        (orders.max_in_flight, orders.connect_timeout),
        (Some(200), Some(Span::from_millis(250)))
    );
    let tls = orders.tls.as_ref().expect("TLS");
    assert_eq!(tls.public_roots, Some(false));
    assert_eq!(tls.ca_file.as_deref(), Some("/etc/ca.pem"));
    assert_eq!(tls.server_name.as_deref(), Some("orders.internal"));
    assert_eq!(
        (tls.cert_file.as_deref(), tls.key_file.as_deref()),
        (Some("/etc/tls.crt"), Some("/etc/tls.key"))
    );
    assert_eq!(orders.headers.get("x-tenant").map(String::as_str), Some("blue"));
    assert_eq!(orders.retry.methods, ["GET", "HEAD"]);
    assert_eq!(orders.retry.replay_limit, Some(4096));
    let limits = orders.policy.limits();
    assert_eq!((limits.max_attempts(), limits.deadline()), (Some(4), Some(Span::from_secs(5))));
    assert_ne!(orders.policy.budget(), &stagger_core::budget::BudgetPlan::Unlimited);
}

#[test]
fn a_route_without_retries_makes_one_attempt_and_grpc_is_repeated_by_method() {
    let found = routes(ENVOY);
    let search = &found.routes[1];
    assert_eq!(search.policy.limits().max_attempts(), Some(1));
    assert_eq!(search.policy.limits().deadline(), Some(Span::from_secs(15)), "Envoy's default");
    assert!(search.keep_host && search.upstream == ["http://search:9000"]);
    let grpc = &found.routes[2];
    assert_eq!(grpc.retry.grpc_methods, ["/shop.Carts/*"]);
    assert!(grpc.tls.is_none() && grpc.upstream == ["https://[2001:db8::1]:443"]);
    let shop = &found.routes[3];
    assert_eq!(shop.retry.methods, ["GET"], "its match takes no other method");
}

#[test]
fn conditions_that_the_proxy_does_not_have_sent_other_requests_to_the_upstream() {
    let found = routes(ENVOY);
    let left = left(&found).join("\n");
    for said in [
        "routes.3.match.headers.0: not imported: must be left out: a route of the proxy is chosen by host and path only",
        "routes.4.match.safe_regex: not imported: must be a prefix or a path",
        "routes.5: not imported: must be a route to a cluster",
        "routes.6.route.cluster: not imported: must be the name of a cluster in the files",
        "not imported: must be a cluster whose endpoints are in the file, not in a discovery service",
        "routes.8: not imported: must be other requests: route orders, which comes first, takes them",
        "Envoy verifies no certificate without a trusted_ca",
        "weighted_clusters: the proxy has no weights",
    ] {
        assert!(left.contains(said), "{said} in\n{left}");
    }
}

#[test]
fn an_address_that_the_proxy_cannot_secure_is_loopback() {
    let listener = |chain: &str, address: &str| {
        let text = format!(
            "static_resources:\n  listeners:\n    - address: {{ socket_address: {{ address: {address}, port_value: 443 }} }}\n      \
             filter_chains: [{{ {chain}filters: [{{ typed_config: {{ route_config: {{ virtual_hosts: [{{ domains: [\"*\"], \
             routes: [{{ match: {{ prefix: / }}, route: {{ cluster: a }} }}] }}] }} }} }}] }}]\n  clusters: [{{ name: a, \
             load_assignment: {{ endpoints: [{{ lb_endpoints: [{{ endpoint: {{ address: {{ socket_address: {{ address: a, \
             port_value: 80 }} }} }} }}] }}] }} }}]\n"
        );
        routes(&text)
    };
    let plain = listener("", "0.0.0.0");
    assert_eq!(plain.routes[0].listen.as_deref(), Some("0.0.0.0:443"));
    assert!(plain.imported.notes.iter().any(|note| note.contains("no login")));
    let secured = listener("transport_socket: { name: tls }, ", "0.0.0.0");
    assert_eq!(secured.routes[0].listen.as_deref(), Some("127.0.0.1:443"));
    assert!(left(&secured).iter().any(|left| left.contains("no TLS on the side of its clients")));
}

#[test]
fn a_discovered_route_configuration_has_the_address_of_the_listener_that_names_it() {
    let listener = "listeners: [{ address: { socket_address: { address: 127.0.0.1, port_value: 9 } }, filter_chains: [{ \
                    filters: [{ typed_config: { rds: { route_config_name: shop } } }] }] }]\n";
    let config = "name: shop\nvirtual_hosts: [{ domains: [a], routes: [{ match: { prefix: / }, route: { cluster: a, \
                  retry_policy: { num_retries: 2 } } }] }]\nclusters: [{ name: a, lb_policy: RANDOM, hosts: [{ socket_address: { address: a, port_value: 80 } }] }]\n";
    let found = routes(&format!("{listener}---\n{config}"));
    assert_eq!(found.routes[0].listen.as_deref(), Some("127.0.0.1:9"));
    let notes = found.imported.notes.join("\n");
    assert!(notes.contains("repeats requests of every method"), "{notes}");
    let lost = routes(&format!("{}---\n{config}", listener.replace("shop", "other")));
    assert_eq!(lost.routes[0].listen, None);
    assert!(
        left(&lost).iter().any(|left| left.contains("a route configuration that is in the files"))
    );
}

#[test]
fn a_virtual_service_is_a_route_for_each_match_with_the_tls_of_its_rule() {
    let found = routes(ISTIO);
    let names: Vec<&str> = found.routes.iter().map(|route| route.name.as_str()).collect();
    assert_eq!(names, ["read", "read-2", "rest", "partner"]);
    let read = &found.routes[0];
    let forms = ["reviews", "reviews.shop", "reviews.shop.svc", "reviews.shop.svc.cluster.local"];
    assert_eq!(read.host, forms);
    assert_eq!((read.path.as_str(), found.routes[1].path.as_str()), ("/read/", "/list"));
    assert_eq!(found.routes[1].retry.methods, ["GET"]);
    assert_eq!(read.upstream, ["http://reviews.shop.svc.cluster.local:9080"]);
    let limits = read.policy.limits();
    assert_eq!(
        (limits.max_attempts(), limits.attempt_timeout()),
        (Some(4), Some(Span::from_millis(1500)))
    );
    assert_eq!(found.routes[2].policy.limits().max_attempts(), Some(3), "Istio's default");
    let partner = &found.routes[3];
    assert_eq!(partner.upstream, ["https://api.partner.example:8443/v1"]);
    let tls = partner.tls.as_ref().expect("TLS");
    assert_eq!(
        (tls.server_name.as_deref(), tls.cert_file.as_deref()),
        (Some("api.partner.example"), Some("/etc/tls.crt"))
    );
    assert_eq!(partner.connect_timeout, Some(Span::from_secs(2)));
    assert!(partner.policy.breaker().is_some());
    assert_eq!(partner.headers.get("x-team").map(String::as_str), Some("shop"));
}

#[test]
fn parts_of_istio_that_the_proxy_does_not_have_are_listed() {
    let found = routes(ISTIO);
    let left = left(&found).join("\n");
    for said in [
        "spec.http.0.match.2.headers: not imported",
        "spec.http.1.redirect: not imported: must be a route to a destination",
        "spec.http.2.route.0.destination.subset: the proxy calls the service",
        "spec.http.2.fault: the proxy does nothing of the kind",
        "tls.mode: certificates of the mesh are its sidecar's",
        "spec.http.0.headers.request.add: the proxy sets headers",
    ] {
        assert!(left.contains(said), "{said} in\n{left}");
    }
    assert!(found.imported.notes.iter().any(|note| note.contains("no address to listen on")));
}

#[test]
fn settings_without_routes_are_refused_with_the_first_reason() {
    let refused = |text: &str, from: Option<&str>| {
        let documents = SettingsDocument::read(text).expect("a settings file");
        let from = from.map(|from| from.parse().expect("a format"));
        import_routes(&documents, from).expect_err("no routes").to_string()
    };
    assert!(refused("a: 1\n", None).contains("must be a file with routes of envoy or istio"));
    assert!(refused("a: 1\n", Some("polly")).contains("from = polly: must be envoy or istio"));
    let only = "virtual_hosts: [{ routes: [{ match: { prefix: / }, route: { cluster: a } }] }]\n";
    assert!(refused(only, None).contains("must be the name of a cluster in the files"));
}
