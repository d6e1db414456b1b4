//! Syntax newer than the oldest Rust of the shipped crates (1.85). clippy reads `rust-version` and knows
//! newer functions of the standard library, but not newer syntax.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary};

use super::source::{SourceFile, StyleFinding};

/// The crates that promise an oldest Rust.
const SHIPPED: [&str; 2] = ["core", "stagger"];

/// Every let-chain (Rust 1.88) in what ships.
pub(super) fn check(sources: &[SourceFile]) -> Vec<StyleFinding> {
    sources.iter().filter(|source| SHIPPED.contains(&source.krate())).flat_map(chains).collect()
}

fn chains(source: &SourceFile) -> Vec<StyleFinding> {
    let mut chains = Chains(Vec::new());
    source.shipped().for_each(|item| chains.visit_item(item));
    let what = "a let-chain needs Rust 1.88, and 1.85 is promised";
    chains.0.into_iter().map(|line| StyleFinding::new(&source.path, line, what)).collect()
}

/// The lines with an `&&` between conditions of which one is a `let`.
struct Chains(Vec<usize>);

impl<'a> Visit<'a> for Chains {
    fn visit_expr_binary(&mut self, expr: &'a ExprBinary) {
        let is_let = |side: &Expr| matches!(side, Expr::Let(_));
        if matches!(expr.op, BinOp::And(_)) && (is_let(&expr.left) || is_let(&expr.right)) {
            self.0.push(expr.span().start().line);
        }
        visit::visit_expr_binary(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let source = SourceFile::parse(path, text).expect("the fixture is valid");
        check(&[source]).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_let_chain_is_found_in_what_promises_an_older_rust() {
        let text = "fn a() {\n if b && let Some(c) = d {}\n while let Some(c) = d && e {}\n}\n";
        assert_eq!(lines("crates/core/src/a.rs", text), [2, 3]);
        assert_eq!(lines("crates/stagger/src/a.rs", text), [2, 3]);
        assert!(lines("crates/cli/src/a.rs", text).is_empty());
        let plain = "fn a() { if let Some(b) = c {} if d && e {} }";
        assert!(lines("crates/core/src/a.rs", plain).is_empty());
    }
}
