//! Reload and drain: no call is dropped by either.

use std::time::Duration;

use stagger_testkit::server::{Reaction, Script, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{RunningProxy, read_until, settings, text};

#[tokio::test]
async fn a_call_under_way_survives_new_settings_and_the_end() {
    let held = Reaction::ok("all of it").stall(3);
    let server = TestServer::start(Script::always(held)).await;
    let route = format!("[route.api]\nupstream = '{}'\n", server.url(""));
    let proxy = RunningProxy::start(&route).await;
    let mut client = TcpStream::connect(proxy.address).await.expect("it listens");
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("it reads");
    server.until_taken(1).await;
    let renamed = settings(&route.replace("route.api", "route.other"));
    proxy.handle.reload(&renamed).await.expect("good settings");
    let (handle, address) = (proxy.handle.clone(), proxy.address);
    let stopping = tokio::spawn(proxy.stop());
    while !handle.is_draining() {
        tokio::task::yield_now().await;
    }
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert_eq!(handle.snapshot().connections, 1, "the call goes on");
    drop(server);
    let mut reply = String::new();
    // The server's end cuts the reply off; what had come is passed on.
    _ = client.read_to_string(&mut reply).await;
    assert!(reply.contains("200 OK") && reply.ends_with("all"), "{reply}");
    assert!(stopping.await.expect("no panic"), "nothing was left at the end");
}

#[tokio::test]
async fn bad_settings_replaced_good_ones() {
    let server = TestServer::start(Script::always(Reaction::status(500))).await;
    let policy = "policy = { limits = { max_attempts = 1 }, breaker = { consecutive = 1, open_time = '60s' } }";
    let route = format!("[route.api]\nupstream = '{}'\n{policy}\n", server.url(""));
    let proxy = RunningProxy::start(&route).await;
    proxy.ask("GET", "/").await;
    let broken = settings(&format!("{route}headers.a = {{ file = '/nowhere/at/all' }}"));
    let refused = proxy.handle.reload(&broken).await.expect_err("a file that is not there");
    assert!(refused.to_string().starts_with("route.api.headers.a: /nowhere/at/all"), "{refused}");
    let snapshot = proxy.handle.snapshot();
    assert_eq!((snapshot.reloads_refused, snapshot.reload_fault), (1, Some(refused.to_string())));
    let same = settings(&format!(
        "{route}keep_host = true\n[route.new]\npath = '/new'\nupstream = '{}'",
        server.url("")
    ));
    proxy.handle.reload(&same).await.expect("good settings");
    let refused = proxy.ask("GET", "/").await;
    assert_eq!(
        text(refused.headers(), "stagger-stop"),
        "breaker_open",
        "the breaker outlives the reload"
    );
    assert_eq!(proxy.ask("GET", "/new").await.status(), 500, "the new route is served");
}

#[tokio::test]
async fn a_stopped_proxy_closes_what_does_not_end() {
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    let proxy = RunningProxy::start(&format!(
        "proxy.drain = '100ms'\nproxy.admin = '127.0.0.1:0'\n[route.api]\nupstream = '{}'",
        server.url("")
    ))
    .await;
    let admin = proxy.handle.admin().expect("it is configured");
    let mut health = TcpStream::connect(admin).await.expect("it listens");
    health
        .write_all(b"GET /readyz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await
        .expect("read");
    let mut ready = String::new();
    health.read_to_string(&mut ready).await.expect("it answers");
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    let mut client = TcpStream::connect(proxy.address).await.expect("it listens");
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("it reads");
    server.until_taken(1).await;
    assert!(!proxy.stop().await, "a call was cut off");
    let mut reply = String::new();
    _ = client.read_to_string(&mut reply).await;
    assert_eq!(reply, "");
}

#[tokio::test]
async fn a_route_that_moved_left_its_old_address_open() {
    let server = TestServer::start(Script::always(Reaction::ok("fine"))).await;
    let route = format!("[route.api]\nupstream = '{}'\n", server.url(""));
    let proxy = RunningProxy::start(&route).await;
    assert_eq!(proxy.ask("GET", "/").await.status(), 200);
    let moved = settings(&format!("{route}listen = '127.0.0.2:0'"));
    proxy.handle.reload(&moved).await.expect("another address of this machine");
    let address = proxy.handle.addresses()[0];
    assert_eq!(
        (address.ip().to_string().as_str(), proxy.handle.addresses().len()),
        ("127.0.0.2", 1)
    );
    while TcpStream::connect(proxy.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    let mut client = TcpStream::connect(address).await.expect("it listens");
    client
        .write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await
        .expect("it reads");
    let mut reply = String::new();
    client.read_to_string(&mut reply).await.expect("it answers");
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    let figures = &proxy.handle.snapshot().routes[0].destinations[0];
    assert_eq!(figures.calls, 2, "the figures outlive the move");
}

#[tokio::test]
async fn a_tunnel_outlived_its_proxy() {
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    let address = server.address();
    let proxy =
        RunningProxy::start(&format!("proxy.drain = '100ms'\n[route.out]\nconnect = '{address}'"))
            .await;
    let mut client = TcpStream::connect(proxy.address).await.expect("it listens");
    let connect = format!("CONNECT {address} HTTP/1.1\r\nhost: {address}\r\n\r\n");
    client.write_all(connect.as_bytes()).await.expect("it reads");
    assert!(read_until(&mut client, "\r\n\r\n").await.starts_with("HTTP/1.1 200"));
    let handle = proxy.handle.clone();
    assert!(!proxy.stop().await, "the tunnel did not end by itself");
    let mut rest = String::new();
    _ = client.read_to_string(&mut rest).await;
    assert_eq!(rest, "", "it is closed");
    while handle.snapshot().connections > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_reload_doubled_a_limit_and_forgot_the_refusals() {
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    let routes = |most: usize| {
        format!("[route.api]\nupstream = '{}'\nmax_in_flight = {most}\n", server.url(""))
    };
    let proxy = RunningProxy::start(&routes(1)).await;
    let mut held = TcpStream::connect(proxy.address).await.expect("it listens");
    held.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("it reads");
    server.until_taken(1).await;
    // Under another policy too the limit is the route's.
    let changed = routes(1).replace("upstream = '", "policy = 'webhook'\nupstream = '");
    for text in [routes(1), changed, routes(1)] {
        proxy.handle.reload(&settings(&text)).await.expect("good settings");
        let refused = proxy.ask("GET", "/").await;
        assert_eq!(text_of(&refused), "in_flight_limit", "{text}");
    }
    let route = &proxy.handle.snapshot().routes[0];
    assert_eq!((route.in_flight, route.in_flight_refused), (1, 3));
    assert_eq!(proxy.handle.refusals().len(), 3);
    proxy.handle.reload(&settings(&routes(2))).await.expect("good settings");
    let mut second = TcpStream::connect(proxy.address).await.expect("it listens");
    second.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("it reads");
    server.until_taken(2).await;
    assert_eq!(text_of(&proxy.ask("GET", "/").await), "in_flight_limit", "two are two");
    drop((held, second));
    while proxy.handle.snapshot().routes[0].in_flight > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_reload_doubled_the_concurrency_limit_of_a_policy() {
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    let routes = format!(
        "[route.api]\nupstream = '{}'\npolicy = {{ concurrency_limit = {{ max_concurrent = 1 }} }}\n",
        server.url("")
    );
    let proxy = RunningProxy::start(&routes).await;
    let mut held = TcpStream::connect(proxy.address).await.expect("it listens");
    held.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("it reads");
    server.until_taken(1).await;
    let more = format!("{routes}keep_host = true\n");
    proxy.handle.reload(&settings(&more)).await.expect("good settings");
    assert_eq!(text_of(&proxy.ask("GET", "/").await), "concurrency_limited");
    assert_eq!(server.taken(), 1);
}

#[tokio::test]
async fn a_reload_closed_idle_connections_and_cut_off_a_call() {
    let slow = Script::always(Reaction::ok("all of it").drip(Duration::from_millis(5)));
    let script = Script::always(Reaction::ok("fine")).on_path("/slow", slow);
    let server = TestServer::start(script).await;
    let route = format!("[route.api]\nupstream = '{}'\n", server.url(""));
    let proxy = RunningProxy::start(&route).await;
    assert_eq!(proxy.ask("GET", "/").await.status(), 200);
    let path = format!("{route}path = '/'\n");
    let policy = path.clone() + "policy = 'webhook'\n";
    for text in [&route, &path, &policy] {
        proxy.handle.reload(&settings(text)).await.expect("good settings");
        assert_eq!(proxy.ask("GET", "/").await.status(), 200);
        assert_eq!(server.connections(), 1, "the idle connection is used: {text}");
    }
    let mut client = TcpStream::connect(proxy.address).await.expect("it listens");
    client.write_all(b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("it reads");
    let head = read_until(&mut client, "a").await;
    let other = path + "connect_timeout = '4s'\n";
    proxy.handle.reload(&settings(&other)).await.expect("good settings");
    assert_eq!(proxy.ask("GET", "/").await.status(), 200);
    assert_eq!(server.connections(), 2, "connections made under other settings are not used");
    let reply = head + &read_until(&mut client, "of it").await;
    assert!(reply.ends_with("all of it"), "{reply}");
}

fn text_of(refused: &http::Response<bytes::Bytes>) -> &str {
    text(refused.headers(), "stagger-stop")
}
