//! Every row of every vector file is answered as written, or otherwise on purpose.

use stagger_testkit::vectors;

#[test]
fn no_row_fails_by_mistake() {
    for suite in vectors::run_all() {
        println!(
            "{:44} {:5} of {:5}, {} on purpose",
            suite.suite,
            suite.passed,
            suite.total,
            suite.deliberate.len()
        );
        assert!(suite.failed.is_empty(), "{}: {:#?}", suite.suite, suite.failed);
        assert_eq!(suite.passed + suite.deliberate.len(), suite.total, "{}", suite.suite);
        assert!(suite.total > 0, "{}: an empty suite proves nothing", suite.suite);
    }
}
