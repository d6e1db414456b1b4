//! The embedded store answers as the one in memory does.

use proptest::prelude::*;
use tokio::runtime::Builder;

use super::test_folder::ScratchFolder;
use crate::store::testing::differential::{compare, steps};

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn both_stores_answer_the_same(steps in steps()) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = ScratchFolder::new();
            compare(&*store, &steps).await;
            super::check(store.file()).unwrap();
        });
    }
}
