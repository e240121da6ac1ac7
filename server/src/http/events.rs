//! Server-sent events over a subscription: the messages that bring the reader up to date, then the deltas after those.
//!
//! A reader that falls behind gets a new snapshot. One that reads nothing holds nothing back: the channel overwrites its
//! oldest message, and the connection ends after `Limits::stalled`. Every stream ends on the drain token, because the
//! process waits for its streams at shutdown.

use std::{
    collections::{HashMap, VecDeque},
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Extension,
    extract::{Query, State, rejection::QueryRejection},
    response::{
        IntoResponse, Response,
        sse::{Event, Sse},
    },
};
use http::{HeaderMap, HeaderName, header};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;
use teardown::message::{Revision, Topic};
use tokio::{
    sync::broadcast,
    time::{Interval, MissedTickBehavior},
};
use tokio_util::sync::CancellationToken;

use super::{
    AppState, Failure,
    access::{Mark, Person},
    guard::ensure_right,
};
use crate::hub::{Frame, FrameKind, Subscription};

/// The interval between two signs of life. Proxies close a connection that is silent for 30 to 60 seconds.
const PING: Duration = Duration::from_secs(15);

/// The delay after which a reader of a stream that the server has ended may come back: a restart takes about as long.
const COME_BACK: Duration = Duration::from_secs(1);

/// The most streams of a session, one per tab. Over HTTP/1.1 a browser makes six connections to one server: two of them
/// stay free for pages and for a person's requests.
const STREAMS: usize = 4;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

#[derive(Deserialize)]
pub(super) struct Wanted {
    topic: String,
    after: Option<String>,
}

/// Follows a topic. A person without the right that the topic needs is refused as by a route.
pub(super) async fn follow(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    wanted: Result<Query<Wanted>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let Query(Wanted { topic, after }) = wanted?;
    let topic: Topic = topic
        .parse()
        .map_err(|error: teardown::message::TopicError| Failure::Malformed(error.to_string()))?;
    ensure_right((state.right_of)(&topic), &person)?;
    let after = position(
        headers.get(LAST_EVENT_ID).map(|id| id.to_str().unwrap_or_default()),
        after.as_deref(),
    );
    let subscription = state.hub.subscribe(topic.clone(), after).await??;
    // A reader that is refused must not take the place of another.
    let place = state.streams.enter(&person.session);
    let stream = Stream::new(state, topic, person, subscription, place);
    let events = futures::stream::unfold(stream, async |mut stream| {
        let event = stream.next().await?;
        Some((Ok::<_, Infallible>(event), stream))
    });
    let headers = [(header::CACHE_CONTROL, "no-store"), (X_ACCEL_BUFFERING, "no")];
    Ok((headers, Sse::new(events)).into_response())
}

/// The revision that a reader has: the header is newer than the address that the stream was opened with. Text that is not a
/// revision counts as none.
fn position(header: Option<&str>, query: Option<&str>) -> Option<Revision> {
    header.or(query).and_then(|id| id.parse().ok())
}

/// One reader.
struct Stream {
    state: AppState,
    topic: Topic,
    person: Person,
    /// Whether the event that names the server's build was sent.
    said_build: bool,
    first: VecDeque<Frame>,
    rest: broadcast::Receiver<Frame>,
    ping: Interval,
    said_bye: bool,
    place: Place,
}

impl Stream {
    fn new(
        state: AppState,
        topic: Topic,
        person: Person,
        subscription: Subscription,
        place: Place,
    ) -> Self {
        // The first ping comes at once, because a reader computes all ages from the time in it.
        let mut ping = tokio::time::interval(PING);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let Subscription { first, rest } = subscription;
        let first = first.into();
        Self { state, topic, person, said_build: false, first, rest, ping, said_bye: false, place }
    }

    /// The next event; `None` once the stream is over.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if self.said_bye {
                return None;
            }
            if self.person.ended.is_cancelled() {
                return Some(self.signed_out());
            }
            if !self.said_build {
                // It comes first, because a page of another build may not understand the other events.
                self.said_build = true;
                return Some(self.build());
            }
            if let Some(frame) = self.first.pop_front() {
                return Some(event(&frame));
            }
            tokio::select! {
                biased;
                () = self.state.drain.cancelled() => return Some(self.bye("shuttingDown")),
                () = self.person.ended.cancelled() => return Some(self.signed_out()),
                () = self.place.taken.cancelled() => return Some(self.bye("crowded")),
                _ = self.ping.tick() => {
                    // An open page is in use, unless its session expired while this machine slept.
                    if self.state.access.touch(&self.person.session, Timestamp::now()).is_none() {
                        return Some(self.signed_out());
                    }
                    return Some(self.ping().await);
                }
                frame = self.rest.recv() => match frame {
                    Ok(frame) => return Some(event(&frame)),
                    Err(broadcast::error::RecvError::Lagged(missed)) => {
                        tracing::debug!(stream.topic = %self.topic, stream.missed = missed, "a reader fell behind");
                        if let Some(bye) = self.start_over().await {
                            return Some(bye);
                        }
                    }
                    Err(broadcast::error::RecvError::Closed) => return Some(self.bye("topicEnded")),
                },
            }
        }
    }

    /// Subscribes again without a revision. Returns the last event of the stream where that is not possible.
    async fn start_over(&mut self) -> Option<Event> {
        let asked = self.state.hub.subscribe(self.topic.clone(), None);
        let answer = tokio::select! {
            biased;
            () = self.state.drain.cancelled() => return Some(self.bye("shuttingDown")),
            answer = asked => answer,
        };
        match answer {
            Ok(Ok(Subscription { first, rest })) => {
                self.first = first.into();
                self.rest = rest;
                None
            }
            Ok(Err(refusal)) => Some(self.bye(Failure::from(refusal).code())),
            Err(closed) => Some(self.bye(Failure::from(closed).code())),
        }
    }

    /// The last event after the session has ended.
    fn signed_out(&mut self) -> Event {
        self.bye(Failure::NotSignedIn.code())
    }

    fn build(&self) -> Event {
        Event::default()
            .event("build")
            .data(json!({ "build": self.state.site.build() }).to_string())
    }

    async fn ping(&mut self) -> Event {
        match self.state.hub.time().await {
            Ok(now) => Event::default()
                .event("ping")
                .data(json!({ "now": now.as_millisecond() }).to_string()),
            Err(closed) => self.bye(Failure::from(closed).code()),
        }
    }

    fn bye(&mut self, reason: &str) -> Event {
        self.said_bye = true;
        Event::default().event("bye").retry(COME_BACK).data(json!({ "reason": reason }).to_string())
    }
}

/// A frame as an event. Its JSON was made once for all readers and has no line breaks.
fn event(frame: &Frame) -> Event {
    let name = match frame.kind {
        FrameKind::Snapshot => "snapshot",
        FrameKind::Delta => "delta",
    };
    Event::default().event(name).id(frame.revision.to_string()).data(&*frame.json)
}

/// The open streams of each session, oldest first.
#[derive(Debug, Default)]
pub(super) struct Streams {
    open: Mutex<HashMap<Mark, VecDeque<CancellationToken>>>,
}

/// The place of one open stream, free again once it is dropped.
struct Place {
    streams: Arc<Streams>,
    session: Mark,
    /// Cancelled once a newer stream needs the place.
    taken: CancellationToken,
}

impl Streams {
    /// The number of open streams.
    pub(super) fn count(&self) -> usize {
        let all = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().map(VecDeque::len).sum()
    }

    /// A place for one more stream. Where there are too many, the oldest stream ends.
    fn enter(self: &Arc<Self>, session: &Mark) -> Place {
        let taken = CancellationToken::new();
        let mut all = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let open = all.entry(session.clone()).or_default();
        if open.len() >= STREAMS
            && let Some(oldest) = open.pop_front()
        {
            oldest.cancel();
        }
        // A clone is the same token.
        open.push_back(taken.clone());
        Place { streams: self.clone(), session: session.clone(), taken }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Cancelled, so that it is found among the tokens below.
        self.taken.cancel();
        let mut all = self.streams.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = all.get_mut(&self.session) {
            open.retain(|taken| !taken.is_cancelled());
            if open.is_empty() {
                all.remove(&self.session);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_is_the_header_before_the_query_and_none_for_other_text() {
        let revision = |count| Some(Revision { boot: 0x5f, count });
        assert_eq!(position(None, None), None);
        assert_eq!(position(None, Some("5f:3")), revision(3));
        assert_eq!(position(Some("5f:7"), Some("5f:3")), revision(7));
        for bad in ["", "5f", "5f:", ":3", "5f:-1", "5f:3:1", "é:1", "5f:99999999999999999999999"]
        {
            assert_eq!(position(Some(bad), Some("5f:3")), None, "{bad}");
            assert_eq!(position(None, Some(bad)), None, "{bad}");
        }
    }
}
