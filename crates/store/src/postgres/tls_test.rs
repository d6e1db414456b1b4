//! TLS to a server with a certificate made for the test.

use std::fs;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::time::timeout;

use super::test_schema::TestSchema;
use super::test_server::OwnServer;
use super::{PostgresAddress, PostgresOptions, PostgresStore, check_postgres};
use crate::testing::fixture::{furnish, message, msg};
use crate::{Cluster, DeliveryStore, Notification};

/// A certificate for a name, its key, and the authority that signed it, in PEM.
fn identity(name: &str) -> (String, String, String) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let root = authority.self_signed(&key).unwrap();
    let issuer = Issuer::from_params(&authority, &key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    (certificate.pem(), key.serialize_pem(), root.pem())
}

async fn open(address: &str) -> Result<PostgresStore, crate::Error> {
    let address: PostgresAddress = address.parse().unwrap();
    PostgresStore::open(&address, PostgresOptions::default()).await
}

#[tokio::test]
async fn the_certificate_is_checked_against_the_roots_and_the_name() {
    let (certificate, key, root) = identity("localhost");
    let Some((server, port)) = OwnServer::start_tls("tls", &certificate, &key) else { return };
    let roots = server.folder().join("root.crt");
    fs::write(&roots, root).unwrap();
    let strange = server.folder().join("strange.crt");
    fs::write(&strange, identity("localhost").2).unwrap();
    let url = |host: &str, mode: &str, roots: &std::path::Path| {
        let roots = roots.display();
        format!("postgres://stagger@{host}:{port}/postgres?sslmode={mode}&sslrootcert={roots}")
    };
    for mode in ["require", "verify-full"] {
        let store = open(&url("localhost", mode, &roots)).await.unwrap();
        furnish(&store).await;
        // Each wire: that of the store, that of membership, and that of hints.
        let mut joined = store.join(&"ann".into()).await.unwrap();
        store.notify(Notification::Members).await;
        let told = timeout(Duration::from_secs(30), joined.notifications.recv()).await.unwrap();
        assert_eq!(told, Some(Notification::Members), "{mode}");
        DeliveryStore::accept(&store, vec![message(1, 1, &[1])]).await.unwrap();
        assert!(store.message(msg(1)).await.unwrap().is_some());
        let wires = TestSchema::of(server.url.clone()).await.connect().await;
        let plain = "SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) \
                     WHERE a.application_name = 'stagger' AND NOT s.ssl";
        assert_eq!(wires.query_one(plain, &[]).await.unwrap().get::<_, i64>(0), 0);

        let refused = open(&url("localhost", mode, &strange)).await.unwrap_err();
        assert!(refused.is_unavailable(), "{refused}");
        assert!(refused.to_string().contains("certificate"), "{refused}");
        let refused = open(&url("127.0.0.1", mode, &roots)).await.unwrap_err();
        assert!(refused.is_unavailable(), "{refused}");
        assert!(refused.to_string().contains("not valid for name"), "{refused}");
        // No certificate of its own: only the usual roots.
        let usual = format!("postgres://stagger@localhost:{port}/postgres?sslmode={mode}");
        let refused = open(&usual).await.unwrap_err();
        assert!(refused.to_string().contains("certificate"), "{refused}");
    }
    let address = url("localhost", "verify-full", &roots).parse().unwrap();
    check_postgres(&address).await.unwrap();
    let missing = url("localhost", "require", &server.folder().join("none.crt"));
    assert!(open(&missing).await.unwrap_err().is_invalid());
}

#[tokio::test]
async fn a_server_without_tls_is_refused_where_it_is_wanted() {
    let Some(schema) = TestSchema::new().await else { return };
    let (proxy, _) = schema.through_proxy().await;
    let url = format!("postgres://stagger@127.0.0.1:{}/postgres?sslmode=require", proxy.port);
    let refused = open(&url).await.unwrap_err();
    assert!(refused.is_unavailable() && refused.to_string().contains("TLS"), "{refused}");
}
