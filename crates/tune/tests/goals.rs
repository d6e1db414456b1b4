//! The goals of the search in a few of the random models; `cargo xtask tune` plays hundreds of them.

use stagger_sim::ThreadPool;

#[path = "../goals/models.rs"]
mod models;

use models::{RandomModel, verdict};

/// A model of little traffic, with an outage that retries help against.
const MODELS: [u32; 1] = [17];

#[test]
fn the_recommended_policy_is_never_worse_than_the_decision_tree_and_better_than_the_vendors() {
    let pool = ThreadPool::single();
    for number in MODELS {
        let random = RandomModel::draw(1, number, &pool).expect("within the bounds");
        let kind = random.kind;
        let grade = random.grade(1, 4_000_000, &pool).expect("enough events");
        assert!(!grade.is_worse_than_choose(200), "{number}, {kind}: {}", grade.recommended);
        let against = [verdict(&grade.against_aws), verdict(&grade.against_envoy)];
        assert_eq!(against, ["better", "better"], "{number}, {kind}: {}", grade.recommended);
    }
}
