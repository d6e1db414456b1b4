//! Lessons are printed under the tables that they were written about.

use stagger_core::Span;
use stagger_sim::{CATALOGUE, Law, Named, StormOptions};

#[test]
fn a_lesson_contradicted_the_table_of_other_parameters() {
    let lesson = |name, options: &StormOptions| {
        let named = Named::find(name).expect("it ships");
        named.scenario(options).expect("the options are valid").lesson
    };
    let callers = |callers| StormOptions { callers: Some(callers), ..StormOptions::default() };
    let up_at = |ms| StormOptions { up_at: Some(Span::from_millis(ms)), ..StormOptions::default() };
    assert_eq!(lesson("stall", &callers(100)), "");
    assert_eq!(lesson("retry-after", &up_at(1_000)), "");
    assert_eq!(lesson("herd", &StormOptions { beside: Some(5), ..callers(1_000) }), "");
    // Cases that ship are what the lesson was written about.
    assert_ne!(lesson("stall", &callers(700)), "");
    assert_ne!(lesson("lockstep", &up_at(200)), "");
    let seeded = StormOptions { seed: Some(9), runs: Some(1), laws: vec![Law::Full], ..up_at(200) };
    assert_ne!(lesson("lockstep", &seeded), "");
    for named in CATALOGUE {
        assert_ne!(lesson(named.name, &StormOptions::default()), "", "{}", named.name);
    }
}
