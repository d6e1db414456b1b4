//! The messages of one partition between their receipt and the commit of their offset.

use std::collections::BTreeMap;

use bytes::Bytes;

/// The offsets of a partition: those handed out, those settled, and the one that may be committed.
///
/// A commit tells the broker that all offsets below it are done. So a message that is put off holds the commit back, and
/// the partition is read again from it: what was accepted behind it comes again too, and its id tells that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    /// The offset after the last message that was handed out.
    next: i64,
    /// The messages that are not settled, each with its key.
    unsettled: BTreeMap<i64, Option<Bytes>>,
    /// The lowest message that has to come again.
    again: Option<i64>,
    committed: i64,
}

impl Progress {
    /// A partition that is read from this offset on.
    pub(super) const fn new(committed: i64) -> Self {
        Self { next: committed, unsettled: BTreeMap::new(), again: None, committed }
    }

    /// A message was handed out; `after` is the offset behind it.
    pub(super) fn hand_out(&mut self, (offset, key): (i64, Option<Bytes>), after: i64) {
        self.unsettled.insert(offset, key);
        self.next = after;
    }

    /// The key of a message that is not settled.
    pub(super) fn key(&self, offset: i64) -> Option<Bytes> {
        self.unsettled.get(&offset).cloned().flatten()
    }

    /// A message was accepted, or has to come again.
    pub(super) fn settle(&mut self, offset: i64, is_accepted: bool) {
        if self.unsettled.remove(&offset).is_some() && !is_accepted {
            self.again = Some(self.again.map_or(offset, |lowest| lowest.min(offset)));
        }
    }

    /// Whether all messages that were handed out are settled.
    pub(super) fn is_settled(&self) -> bool {
        self.unsettled.is_empty()
    }

    /// The offset to commit, if it is another one than before.
    pub(super) fn to_commit(&self) -> Option<i64> {
        let lowest = self.unsettled.keys().next().copied();
        let end = [lowest, self.again].into_iter().flatten().min().unwrap_or(self.next);
        (end != self.committed).then_some(end)
    }

    /// The offset that is committed, or the one at which the partition began.
    pub(super) const fn committed(&self) -> i64 {
        self.committed
    }

    /// This offset is committed.
    pub(super) const fn commit(&mut self, offset: i64) {
        self.committed = offset;
    }

    /// The offset to read from again, before more is handed out: that of the lowest message that was not accepted.
    pub(super) fn rewind(&mut self) -> Option<i64> {
        let lowest = self.unsettled.keys().next().copied();
        let from = [lowest, self.again.take()].into_iter().flatten().min()?;
        self.unsettled.clear();
        self.next = from;
        Some(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Progress {
        let mut progress = Progress::new(5);
        for offset in 5..8 {
            progress.hand_out((offset, None), offset + 1);
        }
        progress
    }

    #[test]
    fn an_offset_is_committed_once_all_below_it_are_accepted() {
        let mut progress = three();
        assert_eq!(progress.to_commit(), None);
        progress.settle(7, true);
        progress.settle(6, true);
        assert_eq!((progress.to_commit(), progress.is_settled()), (None, false));
        progress.settle(5, true);
        assert_eq!((progress.to_commit(), progress.is_settled()), (Some(8), true));
        progress.commit(8);
        assert_eq!((progress.to_commit(), progress.rewind()), (None, None));
    }

    #[test]
    fn a_message_that_was_put_off_comes_again_and_holds_the_commit_back() {
        let mut progress = three();
        progress.settle(5, true);
        progress.settle(7, false);
        progress.settle(6, false);
        assert_eq!(progress.to_commit(), Some(6));
        assert_eq!(progress.rewind(), Some(6));
        progress.hand_out((6, Some(Bytes::from_static(b"k"))), 7);
        assert_eq!(progress.key(6), Some(Bytes::from_static(b"k")));
        progress.settle(6, true);
        assert_eq!(progress.to_commit(), Some(7));
    }

    #[test]
    fn a_message_that_nobody_settled_comes_again() {
        let mut progress = three();
        progress.settle(5, true);
        assert_eq!((progress.rewind(), progress.is_settled()), (Some(6), true));
        assert_eq!(progress.to_commit(), Some(6));
    }
}
