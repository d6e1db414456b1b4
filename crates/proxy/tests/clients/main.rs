//! Programs in other languages through the proxy: plain calls, streams, gRPC, WebSockets and cancelled calls.
//!
//! Each script checks what its clients see; here it is checked what the servers saw. A language that is not installed
//! is skipped with a note. `STAGGER_TEST_CLIENTS` names the folder that `scripts/clients` has filled with libraries.

mod fixture;

use fixture::{Clients, program};

#[tokio::test(flavor = "multi_thread")]
async fn curl() {
    let Some(mut shell) = program("bash", "curl", &["--version"]) else { return };
    shell.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/client.sh"));
    let clients = Clients::of(&["curl"]).await;
    clients.run(shell).await;
    assert_eq!(clients.taken("/curl/absolute"), 2, "a request in absolute form is repeated too");
}

#[tokio::test(flavor = "multi_thread")]
async fn python() {
    let imports = ["-c", "import grpc, httpx, requests, websockets"];
    let Some(mut python) = program("python3", "python3", &imports) else { return };
    python.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/client.py"));
    let clients = Clients::of(&["httpx", "requests"]).await;
    clients.run(python).await;
    for (method, attempts) in [
        ("Get", 2),
        ("List", 2),
        ("Put", 1),
        ("Chat", 1),
        ("Broken", 1),
        ("Create", 1),
        ("Wait", 1),
    ] {
        assert_eq!(clients.taken(&format!("/shop.Orders/{method}")), attempts, "{method}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn node() {
    let imports = ["--input-type=module", "--eval", "import 'axios'; import 'ws'"];
    let Some(mut node) = program("node", "node", &imports) else { return };
    // Modules are looked for beside the script.
    node.arg(fixture::script_beside_modules("client.mjs"));
    let clients = Clients::of(&["fetch", "axios"]).await;
    clients.run(node).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn java() {
    let Some(mut java) = program("java", "javac", &["-version"]) else { return };
    java.args([
        "-XX:TieredStopAtLevel=1",
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/Client.java"),
    ]);
    let clients = Clients::of(&["java"]).await;
    clients.run(java).await;
}
