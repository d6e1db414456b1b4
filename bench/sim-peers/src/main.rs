//! Model P by one engine, in a process of its own: `sim-peers ENGINE CLIENTS` prints what it took.
//!
//! N clients fail at t = 0 and come back with full jitter from base 0.5 s, four attempts in all; the
//! server is up at 1 s. Every engine draws the same delays, so all make the same attempts.

mod model;
mod nexosim_peer;
mod ours;
mod tokio_peer;

use std::error::Error;

use model::PeerRun;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [engine, clients] = arguments.as_slice() else {
        return Err("usage: sim-peers ENGINE CLIENTS".into());
    };
    let clients = clients.parse()?;
    let measured = match engine.as_str() {
        "stagger" => PeerRun::of(engine, clients, ours::on_the_wheel),
        "heap" => PeerRun::of(engine, clients, ours::on_the_heap),
        "stall" => PeerRun::of(engine, clients, ours::stall),
        "nexosim" => PeerRun::of(engine, clients, nexosim_peer::run),
        "tokio" => PeerRun::of(engine, clients, tokio_peer::run),
        other => return Err(format!("no such engine: {other}").into()),
    };
    println!("{}", serde_json::to_string(&measured?)?);
    Ok(())
}
