//! The one connection of a tab: EventSource → [`Message`] → [`Scene`].
//!
//! ```text
//!  follow(topic) ─► open ──open──► heard ──snapshot, delta──► scene.apply ──Gap──► open from nothing
//!                    ▲               │ silent for 25 s, or closed by the server
//!                    └── after 0.5 … 15 s, without end ◄───┘      hidden for 60 s: closed until it is seen again
//! ```
//! Messages are folded in the EventSource's own callback: an Effect's wake-up is one boolean, so two messages would
//! become one. A stream that was closed by an HTTP error is never retried by the browser, so it is opened anew here, with
//! the revision the scene is at.

use std::{cell::RefCell, time::Duration};

use jiff::Timestamp;
use leptos::{leptos_dom::helpers::TimeoutHandle, prelude::*};
use teardown::message::{Message, Topic};
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{Event, EventSource, MessageEvent};

use crate::{
    address,
    clock::Clock,
    command,
    erased::alive,
    scene::Scene,
    seed::Seed,
    text,
    wire::{self, Json, Wire, part, structs},
};

/// Longer than the server's ping interval by enough for a slow network.
const SILENCE: f64 = 25_000.0;
/// A tab nobody sees gives its connection back after this.
const HIDDEN: f64 = 60_000.0;
/// The first pause before a stream is opened again, and the longest.
const PAUSES: (f64, f64) = (500.0, 15_000.0);
/// Data this old is called stale.
const STALE: f64 = 30_000.0;

/// How the page stands towards the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Link {
    /// Nothing was heard yet.
    Connecting,
    /// What is shown is what is.
    Live,
    /// The stream broke; data is as of the moment in seconds since 1970, lost for so many seconds.
    Reconnecting {
        /// Since when the data is that old.
        since: i64,
        /// How long ago that was.
        seconds: i64,
    },
    /// The browser has no network.
    Offline,
    /// The stream has been broken for so long that nothing shown should be relied on.
    Stale {
        /// Since when the data is that old.
        since: i64,
    },
}

/// What the page knows about its connection.
#[derive(Clone, Copy)]
pub struct Connection {
    link: RwSignal<Link>,
    signed_in: RwSignal<bool>,
    newer: RwSignal<bool>,
    said: RwSignal<String>,
    hash: StoredValue<String>,
    clock: Clock,
}

impl Connection {
    /// A connection that was not opened.
    pub fn new(seed: &Seed, clock: Clock) -> Self {
        Self {
            clock,
            link: RwSignal::new(Link::Connecting),
            signed_in: RwSignal::new(seed.signed_in),
            newer: RwSignal::new(false),
            said: RwSignal::new(String::new()),
            hash: StoredValue::new(seed.hash.clone()),
        }
    }

    /// How the page stands towards the server.
    pub fn link(self) -> Link {
        self.link.get()
    }

    /// Whether the clocks may run.
    pub fn is_live_untracked(self) -> bool {
        self.link.get_untracked() == Link::Live
    }

    /// Whether the reader is known to the server.
    pub fn is_signed_in(self) -> bool {
        self.signed_in.get()
    }

    /// The server no longer knows the reader.
    pub fn sign_out(self) {
        self.signed_in.set(false);
    }

    /// Whether the server serves another build than this one.
    pub fn is_outdated(self) -> bool {
        self.newer.get()
    }

    /// What a screen reader was told last.
    pub fn said(self) -> String {
        self.said.get()
    }

    /// Why nothing may be changed now; `None` where it may.
    pub fn hindrance(self) -> Option<&'static str> {
        if !self.is_signed_in() {
            return Some(text::NOT_SIGNED_IN);
        }
        (self.link() != Link::Live).then_some(text::NOT_LIVE)
    }
}

/// Keeps a scene at its topic for as long as the caller's owner lives.
pub fn follow(topic: Signal<Topic>, scene: Scene) {
    let connection = expect_context::<Connection>();
    let ticket = StoredValue::new(0);
    Effect::new(move |before: Option<Topic>| {
        let topic = topic.get();
        if before.is_some_and(|before| before != topic) {
            scene.clear();
        }
        ticket.set_value(begin(&topic, scene, connection));
        topic
    });
    on_cleanup(move || {
        if let Some(ticket) = ticket.try_get_value() {
            end(ticket);
        }
    });
}

/// Watches the silence, the tab's visibility and the network, once the page is alive.
pub fn start() {
    alive(move || {
        let watch = set_interval_with_handle(watch, Duration::from_secs(1)).ok();
        let seen = window_event_listener_untyped("visibilitychange", |_| seen());
        let online = window_event_listener_untyped("online", |_| reopen_now());
        let offline = window_event_listener_untyped("offline", |_| tell_link());
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

/// What one `follow` needs until it ends.
struct Line {
    ticket: u64,
    topic: String,
    scene: Scene,
    connection: Connection,
    source: Option<Source>,
    attempts: i32,
    heard: f64,
    hidden: Option<f64>,
    retry: Option<TimeoutHandle>,
    catching_up: bool,
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

fn begin(topic: &Topic, scene: Scene, connection: Connection) -> u64 {
    let ticket = LINE.with_borrow(|line| line.as_ref().map_or(1, |line| line.ticket + 1));
    let line = Line {
        ticket,
        topic: topic.to_string(),
        scene,
        connection,
        source: None,
        attempts: 0,
        heard: js_sys::Date::now(),
        hidden: None,
        retry: None,
        catching_up: false,
    };
    LINE.with_borrow_mut(|slot| *slot = Some(line));
    connection.link.set(Link::Connecting);
    open(true);
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
fn open(resume: bool) {
    with(|line| {
        let after = line.scene.revision().filter(|_| resume);
        let mut url = format!("/api/events?topic={}", address::encoded(&line.topic));
        if let Some(after) = after {
            url.push_str(&format!("&after={}", address::encoded(&after.to_string())));
        }
        line.retry = None;
        line.heard = js_sys::Date::now().max(line.heard);
        line.source = source(&url);
    });
}

fn source(url: &str) -> Option<Source> {
    let events = EventSource::new(url).ok()?;
    let message = Closure::<dyn FnMut(MessageEvent)>::new(|event: MessageEvent| on_message(&event));
    let state = Closure::<dyn FnMut(Event)>::new(|event: Event| on_state(&event));
    for name in ["snapshot", "delta", "ping", "bye"] {
        events.add_event_listener_with_callback(name, message.as_ref().unchecked_ref()).ok()?;
    }
    events.set_onopen(Some(state.as_ref().unchecked_ref()));
    events.set_onerror(Some(state.as_ref().unchecked_ref()));
    Some(Source { events, _message: message, _state: state })
}

fn on_message(event: &MessageEvent) {
    let data = event.data().as_string().unwrap_or_default();
    heard();
    match event.type_().as_str() {
        "ping" => ping(&data),
        "bye" => retry(Some(1_000.0)),
        _ => take(&data),
    }
}

/// What a ping says, as far as it matters here.
struct Ping {
    /// The cluster's time.
    now: Timestamp,
    /// The build of the assets the server serves now.
    hash: String,
}

structs! { Ping { now, hash } }

fn ping(data: &str) {
    let Some(Ping { now, hash }) = wire::read(data) else { return };
    with(|line| {
        line.connection.clock.set(now);
        let ours = line.connection.hash.get_value();
        if !ours.is_empty() && !hash.is_empty() && ours != hash {
            line.connection.newer.set(true);
        }
    });
}

fn take(data: &str) {
    let Some((scene, connection)) = with(|line| (line.scene, line.connection)) else { return };
    let Some(message) = wire::read::<Message>(data) else {
        // Our own words, so the other end is another build.
        connection.newer.set(true);
        return;
    };
    match scene.apply(message) {
        Ok(changes) => {
            if with(|line| std::mem::take(&mut line.catching_up)) == Some(true) {
                connection.said.set(text::caught_up(changes));
            }
        }
        Err(_) => open(false),
    }
}

fn heard() {
    let link = with(|line| {
        line.heard = js_sys::Date::now();
        line.attempts = 0;
        line.connection.link
    });
    if let Some(link) = link
        && link.get_untracked() != Link::Live
    {
        link.set(Link::Live);
    }
}

fn on_state(event: &Event) {
    if event.type_() == "open" {
        heard();
        return;
    }
    let closed = with(|line| {
        line.catching_up = true;
        line.source.as_ref().is_none_or(|source| source.events.ready_state() == EventSource::CLOSED)
    });
    tell_link();
    if closed == Some(true) {
        retry(None);
        leptos::task::spawn_local(async {
            if command::is_refused().await
                && let Some(connection) = with(|line| line.connection)
            {
                connection.sign_out();
            }
        });
    }
}

/// Opens the stream again after a pause that grows; the random part keeps a thousand tabs apart.
fn retry(pause: Option<f64>) {
    with(|line| {
        line.source = None;
        if line.retry.is_some() || line.hidden.is_some() {
            return;
        }
        let grown = PAUSES.0 * 2.0_f64.powi(line.attempts.min(8));
        let pause = pause.unwrap_or(grown.min(PAUSES.1)) * (0.5 + js_sys::Math::random());
        line.attempts += 1;
        let pause = Duration::from_millis(pause.min(PAUSES.1) as u64);
        line.retry = set_timeout_with_handle(|| open(true), pause).ok();
    });
}

fn reopen_now() {
    let pending = with(|line| {
        if let Some(retry) = line.retry.take() {
            retry.clear();
        }
        line.source.is_none() && line.hidden.is_none()
    });
    if pending == Some(true) {
        open(true);
    }
}

/// Once a second: is the stream silent, is the tab hidden for long, how old is what is shown?
fn watch() {
    let now = js_sys::Date::now();
    let silent = with(|line| {
        if document().hidden() {
            let since = *line.hidden_since(now);
            if now - since > HIDDEN {
                line.source = None;
            }
            return false;
        }
        line.source.is_some() && now - line.heard > SILENCE
    });
    if silent == Some(true) {
        with(|line| line.catching_up = true);
        retry(None);
    }
    tell_link();
}

impl Line {
    fn hidden_since(&mut self, now: f64) -> &f64 {
        self.hidden.get_or_insert(now)
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

fn tell_link() {
    let Some((connection, source, heard)) = with(|line| {
        let open = line
            .source
            .as_ref()
            .is_some_and(|source| source.events.ready_state() == EventSource::OPEN);
        (line.connection, open, line.heard)
    }) else {
        return;
    };
    let now = js_sys::Date::now();
    let age = now - heard;
    let since = (heard / 1000.0) as i64;
    let link = if !window().navigator().on_line() {
        Link::Offline
    } else if source && age <= SILENCE {
        Link::Live
    } else if connection.link.get_untracked() == Link::Connecting && age < 3_000.0 {
        Link::Connecting
    } else if age > STALE {
        Link::Stale { since }
    } else {
        Link::Reconnecting { since, seconds: (age / 1000.0) as i64 }
    };
    if connection.link.get_untracked() != link {
        connection.link.set(link);
    }
}
