//! The one connection of a tab: EventSource → [`Message`] → [`Scene`].
//!
//! ```text
//!  follow(topic) ─► open ──open──► message ─snapshot, delta──► scene.apply ──Gap──► open from nothing
//!                    ▲               │ silent for 25 s, or closed by the server
//!                    ├── after 0.5 … 15 s, without end ◄───┤      hidden for 60 s: closed until it is seen again
//!                    └── once a person does something ◄────┘ not signed in
//! ```
//! Messages are folded in the EventSource's own callback: an Effect's wake-up is one boolean, so two messages would
//! become one. A stream that was closed by an HTTP error is never retried by the browser, so it is opened anew here, with
//! the revision the scene is at. The browser does not say which error it was, so the topic is asked for once: what the
//! server does not know, or no longer, is shown as such, and who is not signed in sees that.
//!
//! The first event of a stream names the server's build; where it is another one, the page is outdated. A message that
//! cannot be read ends the stream: the next one begins at the revision before it, after pauses that grow as long as
//! nothing can be read.

use std::{cell::RefCell, time::Duration};

use jiff::Timestamp;
use leptos::{leptos_dom::helpers::TimeoutHandle, prelude::*};
use serde::Deserialize;
use teardown::message::{Message, ObjectCard, Topic};
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{Event, EventSource, MessageEvent};

use super::{
    clock::Clock,
    command,
    connection::{Connection, Link},
    scene::Scene,
};
use crate::{navigation::address, text};

/// Longer than the server's ping interval by enough for a slow network.
const SILENCE: f64 = 25_000.0;
/// A tab nobody sees gives its connection back after this.
const HIDDEN: f64 = 60_000.0;
/// The first pause before a stream is opened again, and the longest.
const PAUSES: (f64, f64) = (500.0, 15_000.0);
/// The pause of a tab that gave its stream to a newer one.
const CROWDED: f64 = 5_000.0;
/// Data this old is called stale.
const STALE: f64 = 30_000.0;

/// Keeps a scene at its topic for as long as the caller's owner lives.
pub fn follow(topic: Signal<Topic>, scene: Scene) {
    let (connection, clock) = (expect_context::<Connection>(), expect_context::<Clock>());
    let ticket = StoredValue::new(0);
    Effect::new(move |before: Option<Topic>| {
        let topic = topic.get();
        if before.is_some_and(|before| before != topic) {
            scene.clear();
        }
        ticket.set_value(begin(&topic, scene, connection, clock));
        topic
    });
    on_cleanup(move || {
        if let Some(ticket) = ticket.try_get_value() {
            end(ticket);
        }
    });
}

/// Opens the stream at once, whatever is on its way.
pub fn try_now() {
    with(|line| line.source = None);
    reopen_now();
}

/// Whether the code of a refusal says that the server knows nothing under this name, or no longer.
pub fn is_unknown(code: &str) -> bool {
    matches!(code, "unknownUnit" | "unknownRun")
}

/// Watches the silence, the tab's visibility and the network, once the page is alive.
pub fn start() {
    Effect::new(move |_| {
        let watch = set_interval_with_handle(watch, Duration::from_secs(1)).ok();
        let seen = window_event_listener_untyped("visibilitychange", |_| seen());
        let online = window_event_listener_untyped("online", |_| reopen_now());
        let offline = window_event_listener_untyped("offline", |_| publish_link());
        on_cleanup(move || {
            if let Some(watch) = watch {
                watch.clear();
            }
            seen.remove();
            online.remove();
            offline.remove();
        });
    });
}

thread_local! {
    static LINE: RefCell<Option<Line>> = const { RefCell::new(None) };
}

/// Everything that one `follow` needs until it ends.
struct Line {
    ticket: u64,
    topic: String,
    scene: Scene,
    connection: Connection,
    clock: Clock,
    source: Option<Source>,
    /// Whether the next stream goes on after the scene's revision; else it begins with a snapshot.
    resumes: bool,
    /// How often a stream was opened since a message was last taken in.
    attempts: i32,
    asked: f64,
    last_message: f64,
    answer: Answer,
    hidden: Option<f64>,
    retry: Option<TimeoutHandle>,
    /// The objects as they were when nobody could look any more, until what was missed is here.
    before: Option<Vec<ObjectCard>>,
}

/// The server's last answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    /// It streams, or has not said anything else.
    Stream,
    /// It knows nothing of this topic.
    Unknown,
    /// It does not know the reader.
    NotSignedIn,
    /// It streams something that this page cannot read.
    Unreadable,
}

/// An open EventSource with its callbacks; dropping it closes both.
struct Source {
    events: EventSource,
    _message: Closure<dyn FnMut(MessageEvent)>,
    _state: Closure<dyn FnMut(Event)>,
}

impl Drop for Source {
    fn drop(&mut self) {
        self.events.close();
    }
}

fn with<T>(act: impl FnOnce(&mut Line) -> T) -> Option<T> {
    LINE.with_borrow_mut(|line| line.as_mut().map(act))
}

fn begin(topic: &Topic, scene: Scene, connection: Connection, clock: Clock) -> u64 {
    let before = LINE.with_borrow(|line| line.as_ref().map_or(0, |line| line.ticket));
    end(before);
    let ticket = before + 1;
    let line = Line {
        ticket,
        topic: topic.to_string(),
        scene,
        connection,
        clock,
        source: None,
        resumes: true,
        attempts: 0,
        asked: 0.0,
        last_message: js_sys::Date::now(),
        answer: Answer::Stream,
        hidden: None,
        retry: None,
        before: None,
    };
    LINE.with_borrow_mut(|slot| *slot = Some(line));
    connection.set_link(Link::Connecting);
    open();
    ticket
}

fn end(ticket: u64) {
    LINE.with_borrow_mut(|line| {
        if line.as_ref().is_some_and(|line| line.ticket == ticket)
            && let Some(line) = line.take()
            && let Some(retry) = line.retry
        {
            retry.clear();
        }
    });
}

/// Opens the stream, from the scene's revision or from nothing.
fn open() {
    with(|line| {
        let after = line.scene.revision().filter(|_| line.resumes);
        let mut url = format!("/api/events?topic={}", address::encoded(&line.topic));
        if let Some(after) = after {
            url.push_str(&format!("&after={}", address::encoded(&after.to_string())));
        }
        line.retry = None;
        line.asked = js_sys::Date::now();
        line.source = source(&url);
    });
}

fn source(url: &str) -> Option<Source> {
    let events = EventSource::new(url).ok()?;
    let message = Closure::<dyn FnMut(MessageEvent)>::new(|event: MessageEvent| on_message(&event));
    let state = Closure::<dyn FnMut(Event)>::new(|event: Event| on_state(&event));
    for name in ["build", "snapshot", "delta", "ping", "bye"] {
        events.add_event_listener_with_callback(name, message.as_ref().unchecked_ref()).ok()?;
    }
    events.set_onopen(Some(state.as_ref().unchecked_ref()));
    events.set_onerror(Some(state.as_ref().unchecked_ref()));
    Some(Source { events, _message: message, _state: state })
}

fn on_message(event: &MessageEvent) {
    let data = event.data().as_string().unwrap_or_default();
    let is_read = match event.type_().as_str() {
        "build" => read(&data, |Build { build }| check_build(&build)),
        "ping" => read(&data, ping),
        "bye" => read(&data, bye),
        _ => read(&data, take),
    };
    if !is_read {
        stop_reading();
    }
}

/// Hands a message on; `false` where it cannot be read.
fn read<T: for<'de> Deserialize<'de>>(data: &str, then: impl FnOnce(T)) -> bool {
    serde_json::from_str(data).map(then).is_ok()
}

/// The first event of a stream.
#[derive(Deserialize)]
struct Build {
    /// The build of the assets that the server serves now.
    build: String,
}

fn check_build(build: &str) {
    if let Some(connection) = with(|line| line.connection) {
        connection.check_build(build);
    }
}

/// A sign of life.
#[derive(Deserialize)]
struct Ping {
    /// The cluster's time.
    #[serde(with = "teardown::millis::required")]
    now: Timestamp,
}

fn ping(Ping { now }: Ping) {
    note_message();
    let caught_up = with(|line| {
        line.clock.set(now);
        // It comes behind all that was missed.
        let changed = line.scene.changed_since(line.before.as_deref()?)?;
        line.before = None;
        Some((line.connection, line.scene, changed))
    });
    if let Some(Some((connection, scene, changed))) = caught_up {
        connection.announce(text::caught_up(changed.len()));
        scene.mark(changed);
    }
}

/// Why the server ends a stream.
#[derive(Deserialize)]
struct Bye {
    /// The code of a refusal, or of what the server is about to do.
    reason: String,
}

fn bye(Bye { reason }: Bye) {
    with(Line::catch_up);
    retry(Some(if reason == "crowded" { CROWDED } else { 1_000.0 }));
    if is_unknown(&reason) {
        answered(Answer::Unknown);
    }
}

fn take(message: Message) {
    let Some(scene) = with(|line| line.scene) else { return };
    let is_taken = scene.apply(message).is_ok();
    with(|line| line.resumes = is_taken);
    if is_taken {
        note_message();
    } else {
        retry(None);
    }
}

/// A message cannot be read. What it says is lost, so nothing that is shown may be acted on, until a later stream can be
/// read again from the revision before it. The pauses grow, for the next stream most likely says the same.
fn stop_reading() {
    with(|line| {
        line.catch_up();
        line.answer = Answer::Unreadable;
    });
    retry(None);
    publish_link();
}

/// A message of the server was understood.
fn note_message() {
    let connection = with(|line| {
        line.last_message = js_sys::Date::now();
        line.attempts = 0;
        line.answer = Answer::Stream;
        line.connection
    });
    if let Some(connection) = connection {
        connection.set_signed_in(true);
        connection.set_link(Link::Live);
    }
}

fn on_state(event: &Event) {
    if event.type_() == "open" {
        // The content of the stream is not known yet: a stream after an unreadable one may be unreadable too.
        if with(|line| line.answer) != Some(Answer::Unreadable) {
            note_message();
        }
        return;
    }
    let closed = with(|line| {
        line.catch_up();
        let closed = line
            .source
            .as_ref()
            .is_none_or(|source| source.events.ready_state() == EventSource::CLOSED);
        closed.then(|| (line.ticket, line.topic.clone()))
    });
    publish_link();
    if let Some(Some((ticket, topic))) = closed {
        retry(None);
        leptos::task::spawn_local(async move {
            let status = command::status_of(&topic).await;
            if with(|line| line.ticket) == Some(ticket) {
                match status {
                    Some(401) => answered(Answer::NotSignedIn),
                    Some(404) => answered(Answer::Unknown),
                    _ => {}
                }
            }
        });
    }
}

/// The server answered something other than a stream.
fn answered(answer: Answer) {
    let known = with(|line| {
        line.answer = answer;
        if answer == Answer::NotSignedIn {
            // Asking again would be answered in the same way until a person has signed in.
            line.source = None;
            line.forget_retry();
        } else {
            line.last_message = js_sys::Date::now();
        }
        (line.scene, line.connection)
    });
    let Some((scene, connection)) = known else { return };
    match answer {
        Answer::NotSignedIn => connection.set_signed_in(false),
        Answer::Unknown => scene.empty(),
        Answer::Stream | Answer::Unreadable => {}
    }
    publish_link();
}

/// Opens the stream again after a pause that grows; the random part keeps a thousand tabs apart.
fn retry(pause: Option<f64>) {
    with(|line| {
        line.source = None;
        let refused = line.answer == Answer::NotSignedIn;
        if line.retry.is_some() || line.hidden.is_some() || refused {
            return;
        }
        let grown = PAUSES.0 * 2.0_f64.powi(line.attempts.min(8));
        let pause = pause.unwrap_or(grown.min(PAUSES.1)) * (0.5 + js_sys::Math::random());
        line.attempts += 1;
        let pause = Duration::from_millis(pause.min(PAUSES.1) as u64);
        line.retry = set_timeout_with_handle(open, pause).ok();
    });
}

fn reopen_now() {
    let pending = with(|line| {
        line.forget_retry();
        if line.answer == Answer::NotSignedIn {
            line.answer = Answer::Stream;
        }
        line.source.is_none() && line.hidden.is_none()
    });
    if pending == Some(true) {
        open();
    }
}

/// Once a second: is the stream silent, is the tab hidden for long, how old is what is shown?
fn watch() {
    let now = js_sys::Date::now();
    let silent = with(|line| {
        if document().hidden() {
            let since = *line.hidden_since(now);
            if now - since > HIDDEN && line.source.take().is_some() {
                line.catch_up();
            }
            return false;
        }
        line.source.is_some() && now - line.last_message.max(line.asked) > SILENCE
    });
    if silent == Some(true) {
        with(Line::catch_up);
        retry(None);
    }
    publish_link();
}

impl Line {
    fn catch_up(&mut self) {
        if self.scene.revision().is_some() {
            self.before.get_or_insert_with(|| self.scene.snapshot());
        }
    }

    fn hidden_since(&mut self, now: f64) -> &f64 {
        self.hidden.get_or_insert(now)
    }

    fn forget_retry(&mut self) {
        if let Some(retry) = self.retry.take() {
            retry.clear();
        }
    }
}

fn seen() {
    if document().hidden() {
        with(|line| *line.hidden_since(js_sys::Date::now()));
        return;
    }
    with(|line| line.hidden = None);
    reopen_now();
    watch();
}

fn publish_link() {
    let link = with(|line| {
        let open = line
            .source
            .as_ref()
            .is_some_and(|source| source.events.ready_state() == EventSource::OPEN);
        let before = line.connection.link_untracked();
        let online = window().navigator().on_line();
        let link = link(before, online, open, line.answer, line.last_message, js_sys::Date::now());
        (line.connection, link)
    });
    if let Some((connection, link)) = link {
        connection.set_link(link);
    }
}

/// The state of a connection whose last message arrived at `last_message`; both times are in milliseconds.
fn link(
    before: Link,
    online: bool,
    open: bool,
    answer: Answer,
    last_message: f64,
    now: f64,
) -> Link {
    let age = now - last_message;
    let since = (last_message / 1000.0) as i64;
    let answered = open || answer == Answer::Unknown;
    if !online {
        Link::Offline
    } else if answer == Answer::Unreadable {
        Link::Unreadable { since }
    } else if answer == Answer::NotSignedIn {
        Link::Stale { since }
    } else if answered && age <= SILENCE {
        Link::Live
    } else if before == Link::Connecting && age < 3_000.0 {
        Link::Connecting
    } else if age > STALE {
        Link::Stale { since }
    } else {
        Link::Reconnecting { since, seconds: (age / 1000.0) as i64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_as_old_as_the_last_message_however_often_the_stream_was_opened_since() {
        let last_message = 1_000_000.0;
        let at = |age: f64, open, answer| {
            link(Link::Live, true, open, answer, last_message, last_message + age)
        };
        assert_eq!(at(5_000.0, true, Answer::Stream), Link::Live);
        let broken = Link::Reconnecting { since: 1_000, seconds: 12 };
        assert_eq!(at(12_000.0, false, Answer::Stream), broken);
        assert_eq!(at(31_000.0, false, Answer::Stream), Link::Stale { since: 1_000 });
        // An open stream that says nothing is none.
        assert_eq!(at(31_000.0, true, Answer::Stream), Link::Stale { since: 1_000 });
        // That the server knows nothing of a topic is news as well, and gets old in the same way.
        assert_eq!(at(15_000.0, false, Answer::Unknown), Link::Live);
        assert_eq!(at(31_000.0, false, Answer::Unknown), Link::Stale { since: 1_000 });
        assert_eq!(at(0.0, false, Answer::NotSignedIn), Link::Stale { since: 1_000 });
    }

    #[test]
    fn stream_that_cannot_be_read_is_never_live() {
        for (age, open) in [(0.0, true), (0.0, false), (31_000.0, true)] {
            let link = link(Link::Live, true, open, Answer::Unreadable, 5_000.0, 5_000.0 + age);
            assert_eq!(link, Link::Unreadable { since: 5 });
        }
    }

    #[test]
    fn page_that_has_just_been_opened_is_connecting() {
        let at = |age: f64| link(Link::Connecting, true, false, Answer::Stream, 0.0, age);
        assert_eq!(at(2_000.0), Link::Connecting);
        assert_eq!(at(4_000.0), Link::Reconnecting { since: 0, seconds: 4 });
        let offline = link(Link::Connecting, false, false, Answer::Stream, 0.0, 0.0);
        assert_eq!(offline, Link::Offline);
    }
}
