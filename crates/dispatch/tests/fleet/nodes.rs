//! The list of nodes, as each of them shows it.

use stagger::Span;
use stagger_testkit::server::{Reaction, Script};

use crate::fleet::{Fleet, until};

#[tokio::test]
async fn each_node_lists_all_with_their_shards_and_shows_which_is_draining() {
    let fleet = Fleet::of(3, Script::always(Reaction::hang())).await;
    for node in &fleet.nodes {
        until("all are listed with their shards", || {
            let nodes = node.nodes();
            nodes.len() == 3 && nodes.iter().map(|node| node.shards).sum::<usize>() == 256
        })
        .await;
        let nodes = node.nodes();
        assert_eq!(nodes[0].shards, node.led().len());
        assert_eq!(nodes.iter().map(|node| node.is_this).collect::<Vec<_>>(), [true, false, false]);
        for listed in &nodes {
            assert_eq!(listed.version.as_deref(), Some(env!("CARGO_PKG_VERSION")));
            assert!(listed.started_at.is_some_and(|at| at <= listed.last_seen_at), "{listed:?}");
            assert!(!listed.draining);
        }
    }
    // An attempt that hangs makes the node drain for as long as it may.
    fleet.endpoints(1).await;
    fleet.send(&fleet.nodes[0], "1").await;
    fleet.server.until_taken(1).await;
    let ending = fleet.nodes[fleet.leader(1)].clone();
    let run = ending.nodes()[0].run;
    let draining = tokio::spawn(async move {
        ending.shutdown(Span::from_secs(10)).await;
    });
    let stays = fleet.other(1);
    until("the others see that it drains", || {
        stays.nodes().iter().any(|node| node.run == run && node.draining)
    })
    .await;
    until("it is gone from the list", || stays.nodes().iter().all(|node| node.run != run)).await;
    draining.await.expect("no panic");
}
