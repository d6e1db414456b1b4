//! One membership: the node beats, sees who is dead, and moves shards.

use std::sync::Arc;

use stagger::{Instant, Sleep, Span, TokioTime};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::adoption::adopt;
use super::follow::follow;
use super::task::asked;
use super::vacating::give_up;
use super::work::Work;
use crate::Error;
use crate::lead::Membership;
use crate::node::inbox::Command;
use crate::node::parts::Parts;
use crate::node::runner::Runner;
use crate::store::{Fence, Hint, Joined, Roll, Shards};

/// Hints make it look this much sooner than its beat, at most.
const SOONER: u64 = 4;
/// Beats in whose time a call is to be answered.
const ANSWER: u64 = 3;

/// How a membership ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It leads nothing any more, as it was asked to.
    Left,
    /// The others took it for dead.
    Lost,
    /// It does not know any more what it leads.
    Doubted,
}

/// What moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Came(Shards),
    Went(Shards),
    Followed,
    /// Nobody knows whether it went.
    Doubtful,
    /// Never: the work ends with the membership.
    Worked,
}

/// One membership.
#[derive(Debug)]
pub(super) struct Member {
    parts: Arc<Parts>,
    fence: Fence,
    hints: mpsc::UnboundedReceiver<Hint>,
    membership: Membership,
    work: Arc<Work>,
    tasks: JoinSet<Move>,
    /// What tasks bring here, and what they give away.
    coming: Shards,
    going: Shards,
    leaving: bool,
    beaten: Instant,
    next: Instant,
    /// Whether the last beat was answered.
    answered: bool,
    /// Whether somebody was told that the store is away.
    told: bool,
}

impl Member {
    pub(super) async fn begin(parts: &Arc<Parts>, joined: Joined) -> Self {
        let Joined { fence, hints } = joined;
        parts.leading.begin(fence);
        let begin = move |runner: &mut Runner| {
            runner.begin(fence);
            // Until the first beat.
            runner.lead_until(Some(Instant::ORIGIN));
        };
        parts.floor.ask(begin).await;
        let now = parts.clock.now();
        let (work, mut tasks) = (Arc::new(Work::default()), JoinSet::new());
        let (theirs, its) = (Arc::clone(parts), Arc::clone(&work));
        tasks.spawn(async move {
            its.run(&theirs, theirs.cluster()).await;
            Move::Worked
        });
        let theirs = Arc::clone(parts);
        tasks.spawn(async move { pass_on(&theirs).await });
        Self {
            parts: Arc::clone(parts),
            fence,
            hints,
            membership: Membership::new(parts.options.lease),
            work,
            tasks,
            coming: Shards::NONE,
            going: Shards::NONE,
            leaving: false,
            beaten: now,
            next: now,
            answered: true,
            told: false,
        }
    }

    pub(super) const fn fence(&self) -> Fence {
        self.fence
    }

    /// Until it has left, or was taken for dead.
    pub(super) async fn live(&mut self, leave: &mut watch::Receiver<bool>) -> End {
        loop {
            let (parts, fence) = (Arc::clone(&self.parts), self.fence);
            tokio::select! {
                biased;
                () = lost(&parts, fence) => return End::Lost,
                () = parts.clock.until(Some(self.next)) => {
                    if let Some(end) = self.beat().await {
                        return end;
                    }
                }
                () = asked(leave), if !self.leaving => {
                    self.leaving = true;
                    self.next = self.beaten;
                }
                Some(moved) = self.tasks.join_next() => match moved {
                    Ok(moved) if self.moved(moved) => {}
                    // What is given up is in doubt, or the task panicked, and has said so.
                    _ => return End::Doubted,
                },
                Some(hint) = self.hints.recv() => self.heed(hint),
            }
        }
    }

    /// Nothing of it goes on, and nothing is led.
    pub(super) async fn end(mut self) {
        self.parts.leading.end(self.fence);
        self.tasks.shutdown().await;
        self.parts.floor.ask(|runner| runner.forget_all()).await;
        self.parts.leading.begin(self.fence);
    }

    async fn beat(&mut self) -> Option<End> {
        let parts = Arc::clone(&self.parts);
        let (sent, every) = (parts.clock.now(), self.membership.beat_every());
        (self.beaten, self.next) = (sent, sent + every);
        let roll = self.within(self.ask()).await;
        self.answered = roll.is_ok();
        match roll {
            Ok(roll) => {
                let until = Some(sent + self.membership.hold());
                parts.floor.tell(Command::Do(Box::new(move |runner| runner.lead_until(until))));
                if std::mem::take(&mut self.told) {
                    tracing::info!("the other nodes are heard of again");
                }
                self.act(&roll).await
            }
            Err(error) if error.is_conflict() => Some(End::Lost),
            Err(error) => {
                if !std::mem::replace(&mut self.told, true) {
                    tracing::warn!(%error, "nothing is heard of the other nodes, trying again");
                }
                None
            }
        }
    }

    /// Beats. After a beat without an answer it asks something else first: beats that arrive without answers
    /// coming back would keep the others from following a node that does not act.
    async fn ask(&self) -> Result<Roll, Error> {
        let cluster = self.parts.cluster();
        if !self.answered {
            cluster.news(self.parts.following.followed()).await?;
        }
        cluster.beat(self.fence, self.leaving).await
    }

    /// What a call comes to, if it is answered before it would keep the beats waiting.
    async fn within<T>(&self, call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let limit = self.membership.beat_every().saturating_mul(ANSWER);
        tokio::select! {
            biased;
            answer = call => answer,
            () = TokioTime.sleep(limit) => Err(Error::busy(format!("no answer within {limit}"))),
        }
    }

    async fn act(&mut self, roll: &Roll) -> Option<End> {
        let parts = Arc::clone(&self.parts);
        parts.fleet.hear(roll);
        if roll.news > parts.following.followed() {
            self.follow();
        }
        let moves = self.membership.heard(parts.clock.now(), self.fence, roll);
        let mut freed = false;
        for (fence, beat) in moves.evict {
            freed |= self.evict(fence, beat).await;
        }
        if freed {
            // What is free now is found by the next look, here and elsewhere.
            self.next = self.beaten;
            parts.cluster().hint(Hint::Roll).await;
        }
        let own = roll.members.iter().find(|member| member.fence == self.fence);
        let own = own.map_or(Shards::NONE, |member| member.shards);
        self.come(own.without(parts.leading.shards()).without(self.coming).without(self.going));
        if moves.take > 0 && !self.leaving {
            self.take(moves.take).await;
        }
        if self.coming.is_empty() {
            self.give_up(moves.give_up.saturating_sub(self.going.len()));
        }
        (self.leaving && own.is_empty() && self.coming.is_empty()).then_some(End::Left)
    }

    /// Whether the membership can go on.
    fn moved(&mut self, moved: Move) -> bool {
        match moved {
            Move::Came(shards) => self.coming = self.coming.without(shards),
            Move::Went(shards) => self.going = self.going.without(shards),
            Move::Followed | Move::Worked => {}
            Move::Doubtful => return false,
        }
        true
    }

    fn heed(&mut self, hint: Hint) {
        match hint {
            Hint::Work(shards) if shards.common(self.parts.leading.shards()).is_empty() => {}
            Hint::Work(_) => self.work.wake(),
            Hint::News => self.follow(),
            Hint::Roll => {
                let every = self.membership.beat_every().as_nanos() / SOONER;
                self.next = self.next.min(self.beaten + Span::from_nanos(every));
            }
        }
    }

    async fn evict(&self, fence: Fence, beat: u64) -> bool {
        match self.within(self.parts.cluster().evict(fence, beat)).await {
            Ok(true) => {
                tracing::warn!(node = fence.0, "a node is dead, its shards are free");
                true
            }
            Ok(false) => false,
            Err(error) => {
                tracing::warn!(%error, node = fence.0, "a dead node cannot be removed, trying again");
                false
            }
        }
    }

    async fn take(&mut self, most: usize) {
        match self.within(self.parts.cluster().take(self.fence, most)).await {
            Ok(taken) => self.come(taken),
            // What was taken though the answer was lost shows in the next roll.
            Err(error) => tracing::warn!(%error, "no shards can be taken, trying again"),
        }
    }

    fn come(&mut self, shards: Shards) {
        if shards.is_empty() {
            return;
        }
        self.coming = self.coming.union(shards);
        let (parts, work) = (Arc::clone(&self.parts), Arc::clone(&self.work));
        self.tasks.spawn(async move {
            adopt(&parts, parts.cluster(), &work, shards).await;
            tracing::info!(shards = shards.len(), "leads more shards");
            Move::Came(shards)
        });
    }

    fn give_up(&mut self, count: usize) {
        let shards: Vec<_> = self.parts.leading.shards().iter().collect();
        let shards: Shards = shards.into_iter().rev().take(count).collect();
        if shards.is_empty() {
            return;
        }
        self.going = self.going.union(shards);
        let parts = Arc::clone(&self.parts);
        self.tasks.spawn(async move {
            match give_up(&parts, parts.cluster(), shards).await {
                Ok(()) => {
                    tracing::info!(shards = shards.len(), "leads fewer shards");
                    Move::Went(shards)
                }
                Err(error) => {
                    tracing::warn!(%error, "giving up shards is in doubt");
                    Move::Doubtful
                }
            }
        });
    }

    fn follow(&mut self) {
        let parts = Arc::clone(&self.parts);
        self.tasks.spawn(async move {
            if let Err(error) = follow(&parts).await {
                tracing::debug!(%error, "changed settings cannot be read, trying again");
            }
            Move::Followed
        });
    }
}

/// Ready once a settlement of this membership was refused.
async fn lost(parts: &Parts, fence: Fence) {
    // It cannot close: the parts hold its sender.
    _ = parts.lost.subscribe().wait_for(|lost| *lost == Some(fence)).await;
}

/// Tells other nodes where the settlements of this one have left work.
async fn pass_on(parts: &Parts) -> Move {
    loop {
        let shards = parts.hinting.next().await;
        parts.cluster().hint(Hint::Work(shards)).await;
    }
}
