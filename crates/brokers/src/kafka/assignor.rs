//! The partitions of each member of a group, as the assignor `range` of the clients in Java gives them out.
//!
//! <https://kafka.apache.org/protocol#protocol_consumer>: any client of the group can be its leader, and reads the others.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::wire::{KafkaReader, KafkaWriter, NotKafka};

/// The name of the assignor in the protocol.
pub(super) const RANGE: &str = "range";

/// The partitions of one member, by topic.
pub(super) type Assigned = BTreeMap<String, Vec<i32>>;

/// The subscription of this member, to one topic.
pub(super) fn subscription(topic: &str) -> KafkaWriter {
    let mut text = KafkaWriter::default();
    text.i16(0).list([topic].into_iter(), |text, topic| _ = text.text(topic)).i32(-1);
    text
}

/// The topics that a member of the group has subscribed to.
///
/// # Errors
/// It is no subscription.
pub(super) fn subscribed(metadata: Bytes) -> Result<BTreeSet<String>, NotKafka> {
    let mut read = KafkaReader::new(metadata);
    let _version = read.i16()?;
    Ok(read.list(KafkaReader::text)?.into_iter().collect())
}

/// Gives out all partitions of the topics: each member gets a range of each topic that it subscribes to. `topics` has the
/// partitions of each.
pub(super) fn assign(
    members: &BTreeMap<String, BTreeSet<String>>,
    topics: &BTreeMap<String, Vec<i32>>,
) -> BTreeMap<String, Assigned> {
    let mut all: BTreeMap<String, Assigned> =
        members.keys().map(|member| (member.clone(), Assigned::new())).collect();
    for (topic, partitions) in topics {
        let having: Vec<_> = members.iter().filter(|(_, it)| it.contains(topic)).collect();
        let (mut rest, mut left) = (&partitions[..], having.len());
        for (member, _) in having {
            let (own, others) = rest.split_at(rest.len().div_ceil(left));
            (rest, left) = (others, left - 1);
            if let Some(assigned) = all.get_mut(member).filter(|_| !own.is_empty()) {
                assigned.insert(topic.clone(), own.to_vec());
            }
        }
    }
    all
}

/// The assignment of one member, as its leader sends it.
pub(super) fn assignment(assigned: &Assigned) -> KafkaWriter {
    let mut text = KafkaWriter::default();
    text.i16(0).list(assigned.iter(), |text, (topic, partitions)| {
        text.text(topic).list(partitions.iter(), |text, partition| _ = text.i32(*partition));
    });
    text.i32(-1);
    text
}

/// The partitions of a topic that this member has got; none if it has no assignment.
///
/// # Errors
/// It is no assignment.
pub(super) fn assigned(assignment: Bytes, topic: &str) -> Result<Vec<i32>, NotKafka> {
    if assignment.is_empty() {
        return Ok(Vec::new());
    }
    let mut read = KafkaReader::new(assignment);
    let _version = read.i16()?;
    let all = read.list(|it| Ok((it.text()?, it.list(KafkaReader::i32)?)))?;
    let own: BTreeSet<_> =
        all.into_iter().filter(|(name, _)| name == topic).flat_map(|(_, it)| it).collect();
    Ok(own.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> BTreeSet<String> {
        all.iter().map(|&it| it.to_owned()).collect()
    }

    #[test]
    fn every_partition_has_one_member_and_ranges_are_those_of_java() {
        let members = [("a", ["x"].as_slice()), ("b", &["x", "y"]), ("c", &["x"])];
        let members =
            members.into_iter().map(|(id, topics)| (id.to_owned(), names(topics))).collect();
        let topics = [("x".to_owned(), (0..7).collect()), ("y".to_owned(), vec![0])].into();
        let all = assign(&members, &topics);
        assert_eq!(all["a"]["x"], [0, 1, 2]);
        assert_eq!(all["b"]["x"], [3, 4]);
        assert_eq!(all["c"]["x"], [5, 6]);
        assert_eq!((&all["b"]["y"], all["a"].get("y")), (&vec![0], None));
        let few = assign(&members, &[("x".to_owned(), vec![0])].into());
        assert_eq!(
            (&few["a"]["x"], few["b"].is_empty(), few["c"].is_empty()),
            (&vec![0], true, true)
        );
    }

    #[test]
    fn a_subscription_and_an_assignment_are_read_as_they_were_written() {
        let bytes = |text: &KafkaWriter| Bytes::copy_from_slice(text.as_slice());
        assert_eq!(subscribed(bytes(&subscription("x"))), Ok(names(&["x"])));
        let own = Assigned::from([("x".to_owned(), vec![2, 1])]);
        assert_eq!(assigned(bytes(&assignment(&own)), "x"), Ok(vec![1, 2]));
        assert_eq!(assigned(bytes(&assignment(&own)), "y"), Ok(Vec::new()));
        assert_eq!(assigned(Bytes::new(), "x"), Ok(Vec::new()));
        assert_eq!(assigned(Bytes::from_static(b"\0\0\x7f\xff\xff\xff"), "x"), Err(NotKafka));
    }
}
