//! The PostgreSQL store answers as the one in memory does.

use proptest::prelude::*;
use tokio::runtime::Builder;

use super::check_postgres;
use super::test_schema::ScratchSchema;
use crate::testing::{cluster_differential, differential};

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn both_stores_answer_the_same(steps in differential::steps()) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            if let Some(store) = ScratchSchema::new().await {
                differential::compare(&*store, &steps).await;
                check_postgres(&store.schema.address()).await.unwrap();
            }
        });
    }

    #[test]
    fn both_stores_answer_nodes_the_same(steps in cluster_differential::steps()) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            if let Some(store) = ScratchSchema::new().await {
                let other = store.schema.open().await;
                cluster_differential::compare([&*store, &other], &steps).await;
                check_postgres(&store.schema.address()).await.unwrap();
            }
        });
    }
}
