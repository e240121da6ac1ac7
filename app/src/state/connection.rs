//! The state of the connection to the server, as signals.

use leptos::prelude::*;
use teardown::right::Right;

use super::{seed::PageSeed, subscription};
use crate::text;

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Link {
    /// No message has arrived yet.
    Connecting,
    /// The page shows the current state.
    Live,
    /// The stream broke; data is as of the moment in seconds since 1970, lost for so many seconds.
    Reconnecting {
        /// The last moment of which the page knows.
        since: i64,
        /// The time since then, in seconds.
        seconds: i64,
    },
    /// The browser has no network.
    Offline,
    /// The stream has been broken for so long that nothing shown should be relied on.
    Stale {
        /// The last moment of which the page knows.
        since: i64,
    },
    /// A message of the stream cannot be read, so that the page does not follow the server.
    Unreadable {
        /// The last moment of which the page knows.
        since: i64,
    },
}

/// The state of the connection, as signals.
#[derive(Clone, Copy)]
pub struct Connection {
    link: RwSignal<Link>,
    signed_in: RwSignal<bool>,
    right: Right,
    outdated: RwSignal<bool>,
    announcement: RwSignal<String>,
    build: StoredValue<String>,
}

impl Connection {
    /// A connection that was not opened.
    pub fn new(seed: &PageSeed) -> Self {
        Self {
            link: RwSignal::new(Link::Connecting),
            signed_in: RwSignal::new(seed.signed_in),
            right: seed.right,
            outdated: RwSignal::new(false),
            announcement: RwSignal::new(String::new()),
            build: StoredValue::new(seed.build.clone()),
        }
    }

    /// The state of the connection.
    pub fn link(self) -> Link {
        subscription::end_with_owner();
        self.link.get()
    }

    /// The state of the connection, without being woken by a change.
    pub fn link_untracked(self) -> Link {
        self.link.get_untracked()
    }

    /// Whether the clocks may run.
    pub fn is_live_untracked(self) -> bool {
        self.link.get_untracked() == Link::Live
    }

    /// Whether the reader is known to the server.
    pub fn is_signed_in(self) -> bool {
        subscription::end_with_owner();
        self.signed_in.get()
    }

    pub(super) fn set_signed_in(self, signed_in: bool) {
        set(self.signed_in, signed_in);
    }

    pub(super) fn set_link(self, link: Link) {
        set(self.link, link);
    }

    /// Compares the build that the server names with the page's own. A page of another build cannot be trusted to
    /// understand the server, so it changes nothing any more until it is loaded again.
    pub(super) fn check_build(self, build: &str) {
        let is_other = self.build.with_value(|own| !own.is_empty() && own != build);
        if is_other && !build.is_empty() {
            set(self.outdated, true);
        }
    }

    /// Whether the server serves another build than this one.
    pub fn is_outdated(self) -> bool {
        subscription::end_with_owner();
        self.outdated.get()
    }

    /// The last sentence that a screen reader was given.
    pub fn announcement(self) -> String {
        self.announcement.get()
    }

    pub(super) fn announce(self, sentence: String) {
        self.announcement.set(sentence);
    }

    /// The greatest right of the reader's session. A session keeps its right for as long as it lasts.
    pub fn right(self) -> Right {
        self.right
    }

    /// Why the reader's session may never do what needs this right; `None` where it may.
    pub fn right_hindrance(self, needed: Right) -> Option<&'static str> {
        (self.right < needed).then_some(match needed {
            Right::Force => text::NO_FORCE,
            Right::Look | Right::Act => text::NOT_ALLOWED,
        })
    }

    /// Why nothing may be changed now; `None` where it may.
    pub fn hindrance(self) -> Option<&'static str> {
        self.hindrance_of(Right::Act)
    }

    /// Why the reader cannot do now what needs this right; `None` where the reader can.
    pub fn hindrance_of(self, needed: Right) -> Option<&'static str> {
        if !self.is_signed_in() {
            return Some(text::NOT_SIGNED_IN);
        }
        if let Some(reason) = self.right_hindrance(needed) {
            return Some(reason);
        }
        if self.is_outdated() {
            return Some(text::OUTDATED);
        }
        (self.link() != Link::Live).then_some(text::NOT_LIVE)
    }
}

/// Wakes nobody where nothing changes.
fn set<T: PartialEq + Send + Sync + 'static>(signal: RwSignal<T>, value: T) {
    if signal.with_untracked(|old| *old != value) {
        signal.set(value);
    }
}
