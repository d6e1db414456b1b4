//! The page about embedding shows parts of the examples, which run.

/// The programs that `./test` runs.
const EXAMPLES: [&str; 2] =
    [include_str!("../../examples/embedded.rs"), include_str!("../../examples/outbox.rs")];

/// The lines without the blanks around them.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

#[test]
fn a_block_of_the_page_is_in_no_example() {
    let page = include_str!("../../../../docs/embedding.md");
    let blocks: Vec<_> = page
        .split("```rust\n")
        .skip(1)
        .map(|rest| rest.split("```").next().expect("it ends"))
        .collect();
    assert!(blocks.len() >= 4, "the page shows code");
    for block in blocks {
        let wanted = lines(block);
        let shown = |example: &&str| lines(example).windows(wanted.len()).any(|of| of == wanted);
        assert!(EXAMPLES.iter().any(shown), "in no example:\n{block}");
    }
}
