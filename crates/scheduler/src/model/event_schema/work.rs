//! The most work that a schema can make at one place of a payload, before any payload is read.
//!
//! A validator applies a schema to a place, its in-place subschemas (`allOf`, `$ref`) to the same place, and others to
//! the members and items below it. References make this a graph, in which the number of paths that lead to one place can
//! double with every level of the payload. A schema for which it does is refused.

use super::graph::{SchemaGraph, SchemaNode, SchemaRefusal};
use super::position::Position;

/// Deepest payload that is validated: the levels of objects and arrays.
pub(super) const MAX_LEVELS: usize = 64;
/// The most work at one place of a payload, in applications of one subschema.
const MAX_WORK: u64 = 512;
/// The longest chain of subschemas from the top of a schema to the deepest place of a payload: a validator keeps all of
/// them on its stack.
const MAX_CHAIN: u64 = 512;
/// Looking again at what in-place subschemas have evaluated applies them again, and once more for the answer.
const UNEVALUATED: u64 = 3;

/// The bounds of the work that a schema makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SchemaWork {
    /// The most applications of subschemas at one place.
    pub(super) at_a_place: u64,
    /// Whether a failing validation collects more errors than the first.
    pub(super) collects: bool,
}

impl SchemaWork {
    /// Bounds the work of a schema.
    ///
    /// # Errors
    /// A subschema applies itself to the same place; the work or the stack of a validation has no sufficient bound.
    pub(super) fn of(graph: &SchemaGraph) -> Result<Self, SchemaRefusal> {
        let order = in_place_order(graph)?;
        let mut above = vec![(0, 0); graph.nodes.len()];
        let mut most = 0;
        for level in 0..=MAX_LEVELS {
            let mut here = vec![(0_u64, 0_u64); graph.nodes.len()];
            for index in &order {
                here[*index] = at_level(&graph.nodes[*index], level, &here, &above);
            }
            let (work, chain) = here[0];
            if work > MAX_WORK {
                let bound = format!(
                    "a schema that applies at most {MAX_WORK} subschemas to one place of a payload"
                );
                return Err(SchemaRefusal::new(format!("{work} or more at level {level}"), bound));
            }
            if chain > MAX_CHAIN {
                let bound = format!(
                    "a schema with at most {MAX_CHAIN} subschemas on the way to a place of a payload of {MAX_LEVELS} levels"
                );
                return Err(SchemaRefusal::new(format!("{chain} at level {level}"), bound));
            }
            most = most.max(work);
            above = here;
        }
        let collects = graph.nodes.iter().any(|node| node.collects);
        Ok(Self { at_a_place: most, collects })
    }
}

/// The work of a node at a place `level` levels below the one that it is applied to, and the longest chain to it. `here`
/// has both for its in-place subschemas, `above` those of the others one level less deep.
fn at_level(
    node: &SchemaNode,
    level: usize,
    here: &[(u64, u64)],
    above: &[(u64, u64)],
) -> (u64, u64) {
    let again = if node.is_unevaluated { UNEVALUATED } else { 1 };
    let (mut work, mut chain) = (if level == 0 { node.work } else { 0 }, 0);
    // Of members with names of their own, and of items with indexes, a place is only one.
    let (mut member, mut named, mut item, mut indexed) = (0_u64, 0_u64, 0_u64, 0_u64);
    for (position, to) in &node.edges {
        let (of_it, its_chain) =
            if *position == Position::InPlace { here[*to] } else { above[*to] };
        let is_below = *position != Position::InPlace;
        if is_below && level == 0 {
            continue;
        }
        match position {
            Position::InPlace => work = work.saturating_add(of_it.saturating_mul(again)),
            Position::Named => named = named.max(of_it),
            Position::AnyMember => member = member.saturating_add(of_it),
            Position::Indexed => indexed = indexed.max(of_it),
            Position::AnyItem => item = item.saturating_add(of_it),
            Position::Definition => {}
        }
        chain = chain.max(its_chain);
    }
    let below = member.saturating_add(named).max(item.saturating_add(indexed));
    (work.saturating_add(below), chain + 1)
}

/// The nodes in an order in which each comes after its in-place subschemas.
fn in_place_order(graph: &SchemaGraph) -> Result<Vec<usize>, SchemaRefusal> {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        None,
        Begun,
        Done,
    }
    let in_place = |index: usize| {
        let edges = graph.nodes[index].edges.iter();
        edges.filter(|(position, _)| *position == Position::InPlace).map(|(_, to)| *to)
    };
    let mut visits = vec![Visit::None; graph.nodes.len()];
    let mut order = Vec::with_capacity(graph.nodes.len());
    for start in 0..graph.nodes.len() {
        let mut stack = vec![start];
        while let Some(&index) = stack.last() {
            if visits[index] == Visit::None {
                visits[index] = Visit::Begun;
                let open: Vec<_> =
                    in_place(index).filter(|to| visits[*to] != Visit::Done).collect();
                if open.iter().any(|to| visits[*to] == Visit::Begun) {
                    return Err(SchemaRefusal::new(
                        "$ref",
                        "a schema in which no subschema applies itself to the same place",
                    ));
                }
                stack.extend(open);
                continue;
            }
            stack.pop();
            if visits[index] == Visit::Begun {
                visits[index] = Visit::Done;
                order.push(index);
            }
        }
    }
    Ok(order)
}
