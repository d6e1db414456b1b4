//! The reactions to a sequence of requests.

use std::collections::VecDeque;

use http::HeaderMap;

use super::reaction::{Reaction, ReactionKind};

/// One reaction a request, in order of arrival, and what follows when they are used up: by default
/// 200 with an empty body. Requests of a path or with a header can have a script of their own, so
/// that calls in parallel do not take each other's reactions.
///
/// ```
/// use stagger_testkit::server::{Reaction, Script};
///
/// let script = Script::of([Reaction::status(500), Reaction::reset()])
///     .then(Reaction::status(404))
///     .on_path("/slow", Script::always(Reaction::hang()))
///     .on_header("caller", "7", Script::of([Reaction::close()]));
/// assert_eq!(script.left(), 3);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Script {
    queue: VecDeque<Reaction>,
    rest: Reaction,
    routes: Vec<(ScriptKey, Script)>,
}

#[derive(Clone, Debug)]
enum ScriptKey {
    /// Without the query.
    Path(String),
    Header(String, String),
}

impl Script {
    /// These, in order.
    pub fn of(reactions: impl IntoIterator<Item = Reaction>) -> Self {
        let queue = reactions.into_iter().collect();
        Self { queue, rest: Reaction::status(200), routes: Vec::new() }
    }

    /// This one, for every request.
    pub fn always(reaction: Reaction) -> Self {
        Self::of([]).then(reaction)
    }

    /// The reactions that follow when those in order are used up.
    pub fn then(mut self, rest: Reaction) -> Self {
        self.rest = rest;
        self
    }

    /// A script for requests of this path (given without a query); the first key that fits counts.
    pub fn on_path(mut self, path: &str, script: Self) -> Self {
        self.routes.push((ScriptKey::Path(path.into()), script));
        self
    }

    /// A script for requests with this header and value.
    pub fn on_header(mut self, name: &str, value: &str, script: Self) -> Self {
        self.routes.push((ScriptKey::Header(name.into(), value.into()), script));
        self
    }

    /// Reactions in order that no request has taken yet, those of paths and headers included.
    #[must_use]
    pub fn left(&self) -> usize {
        self.queue.len() + self.routes.iter().map(|(_, script)| script.left()).sum::<usize>()
    }

    /// The next reaction, for a request whose head is known.
    pub(super) fn next(&mut self, path: &str, headers: &HeaderMap) -> Reaction {
        match self.routes.iter_mut().find(|(key, _)| key.fits(path, headers)) {
            Some((_, script)) => script.next(path, headers),
            None => self.queue.pop_front().unwrap_or_else(|| self.rest.clone()),
        }
    }

    /// Takes the next reaction if it needs no look at the request. Whoever has scripts of paths or
    /// headers cannot know whose turn it is.
    pub(super) fn take_unread(&mut self) -> bool {
        let next = self.queue.front().unwrap_or(&self.rest);
        let unread = self.routes.is_empty() && matches!(next.0, ReactionKind::ResetUnread);
        if unread {
            self.queue.pop_front();
        }
        unread
    }
}

impl ScriptKey {
    fn fits(&self, path: &str, headers: &HeaderMap) -> bool {
        match self {
            Self::Path(want) => path.split('?').next() == Some(want),
            Self::Header(name, want) => {
                headers.get_all(name).iter().any(|value| value.as_bytes() == want.as_bytes())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(script: &mut Script, path: &str, headers: &HeaderMap) -> u16 {
        match script.next(path, headers).0 {
            ReactionKind::Answer(answer) => answer.status.as_u16(),
            other => panic!("not an answer: {other:?}"),
        }
    }

    #[test]
    fn calls_in_parallel_do_not_take_each_others_reactions() {
        let mut script = Script::of([Reaction::status(501)])
            .on_path("/a", Script::of([Reaction::status(502)]))
            .on_header("caller", "7", Script::of([Reaction::status(503)]));
        let (none, mut seven) = (HeaderMap::new(), HeaderMap::new());
        seven.insert("caller", http::HeaderValue::from_static("7"));
        assert_eq!(status(&mut script, "/a?b=c", &none), 502);
        assert_eq!(status(&mut script, "/b", &seven), 503);
        assert_eq!(status(&mut script, "/b", &none), 501);
        assert_eq!(script.left(), 0);
        assert_eq!(status(&mut script, "/b", &none), 200);
    }

    #[test]
    fn nobody_is_reset_unread_in_anothers_place() {
        let mut script = Script::of([Reaction::reset_unread(), Reaction::ok("")]);
        assert!(script.take_unread());
        assert!(!script.take_unread());
        let mut script = Script::always(Reaction::reset_unread()).on_path("/a", Script::of([]));
        assert!(!script.take_unread());
    }
}
