//! The known name that an unknown one was probably meant to be.

use strsim::osa_distance;

/// Slips that still let a name be recognised; two letters swapped are one of them.
const MAX_SLIPS: usize = 2;

/// The one of `known` that is nearest to `name`, if one is near.
pub(crate) fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let (slips, nearest) = known.map(|known| (osa_distance(name, known), known)).min()?;
    (slips <= MAX_SLIPS && slips < nearest.len()).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_left_people_searching() {
        let near = |name| nearest(name, ["lockstep", "fleet", "list"].into_iter());
        assert_eq!(near("lokcstep"), Some("lockstep"));
        assert_eq!(near("fleets"), Some("fleet"));
        assert_eq!(near("hurricane"), None);
        assert_eq!(nearest("x", std::iter::empty()), None);
    }
}
