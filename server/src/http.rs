//! The server's face: pages, a JSON API, and server-sent events, for programs on this machine alone.
//!
//! Everything the page does can be done with curl. The API is stable: fields are added, never renamed or taken away.
//!
//! # Signing in
//! The server prints `http://127.0.0.1:PORT/#k=TOKEN`. The token is good once, for a cookie:
//! ```sh
//! U=http://127.0.0.1:7433
//! curl -c jar -H 'content-type: application/json' -d '{"token":"TOKEN"}' $U/api/session      # 201 {"name":"you","right":"act",…}
//! ```
//!
//! # Rights
//! A session may `look`, `act` or `force`; each includes the ones before. The printed link gives the right to act. With
//! `--allow-remedies` it also gives the right to force, with `--read-only` only the right to look. A request without the right is
//! answered with 403 `notAllowed`, and `needs` names the right. A stream needs the right of its topic besides that of its route.
//!
//! | right | requests, topics of `GET /api/events`, and records of their messages |
//! |---|---|
//! | none | `POST /api/session`, `GET /healthz`, `GET /sign-in.js`, and the files of the page |
//! | look | `GET /api/units`, `GET /api/units/{unit}`, `GET /api/trouble`, `GET /api/trouble/advice`, `GET /api/remedies`, `GET /api/plans/{plan}`, `GET /api/plans/{plan}/preflight`, `GET /api/runs/{run}`, `GET /api/runs/{run}/events` |
//! | look | `GET /api/events`, `POST /api/session/link`, `GET /api/session/links`, `POST /api/session/links/{link}/end`, `POST /api/session/end` |
//! | look | `GET /`, `GET /u/{unit}`, `GET /u/{unit}/plan/{plan}`, `GET /r/{run}`, `GET /trouble`, `GET /trouble/card`, `GET /trouble/note.txt`, `GET /trouble/note.md`, `GET /journal`, `GET /notifications`, `GET /switched-off`, `GET /r/{run}/events.txt` |
//! | look | the topics `units`, `unit:{unit}`, `run:{run}`, `trouble` |
//! | look | the records `cluster`, `unit`, `run`, `object`, `edge`, `hiddenKind`, `step`, `event`, `diagnosis` |
//! | act | `POST /api/plans`, `POST /api/plans/{plan}/preflight`, `POST /api/runs`, `POST /api/runs/{run}/pause`, `POST /api/runs/{run}/resume`, `POST /api/runs/{run}/stop` |
//! | act | `POST /api/runs/{run}/steps/{step}/skip`, `POST /api/runs/{run}/steps/{step}/take-on`, `POST /api/demo` |
//! | act | `GET /u/{unit}/plan`, because this page makes a plan |
//! | act | `POST /api/runs/{run}/put-back`, `POST /switched-off/resume`, because they take back what a run did |
//! | act | `POST /api/runs/{run}/release`, `POST /journal/release` |
//! | act | `POST /trouble/kubelet-log`, because it changes what everybody reads about a cause |
//! | force | `POST /api/remedies`, `POST /switched-off/put-back` |
//!
//! # Inviting
//! ```sh
//! J='content-type: application/json'
//! curl -b jar -H "$J" -d '{"name":"Li","right":"act","path":"/u/shop"}' $U/api/session/link       # 201 {"url":…,"expires":…}
//! curl -b jar $U/api/session/links                          # 200 {"links":[{"id":"5c1f9e07a2b4d680","name":"Li",…}]}
//! curl -b jar -H "$J" -X POST $U/api/session/links/5c1f9e07a2b4d680/end                           # 204
//! ```
//! `session/link` makes a link for another browser. Without `name` it is for the same person; the record of what another
//! person does says who invited them. Without `right` it gives the right to look; no link gives more than its inviter has.
//! Without `path`, a path of this server with its query, the link opens `/`.
//!
//! `session/links` has the links that the session may take back: those that it made and those that its guests made; for a
//! session of the printed link, all but its own. `used` is the last use of the session that the link signed in, and `null`
//! while nobody has used the link. A link that is taken back no longer signs in. Its session ends, with the links and
//! sessions that were made with it; their streams end with `bye` and `{"reason":"notSignedIn"}`.
//!
//! # Looking
//! ```sh
//! curl -b jar $U/api/units              # 200: units, runs, what cannot be seen
//! curl -b jar $U/api/trouble            # 200: every deletion that waits, with its cause, and the first hundred in time
//! curl -b jar "$U/api/trouble/advice?id=nodeSilent%2F%2FNode%2F%2Fn1%2F" # 404: advice about one, in sentences, with the ways out; this node reports
//! curl -b jar $U/api/units/shop         # 200: one unit with its graph
//! curl -b jar $U/api/runs/k3f9          # 200: one run with its steps, graph and the last 400 lines of its event log
//! curl -b jar $U/api/runs/k3f9/events   # 200 {"events":[…]}: all lines of its event log, from the first
//! curl -b jar $U/r/k3f9/events.txt      # 200: the same as sentences, a line each
//! curl -b jar $U/api/plans/0123456789abcdef
//! ```
//! The first four answer with a snapshot, [`teardown::message::Message`], the last with a [`teardown::plan::Plan`]. The
//! lines of an event log are [`teardown::message::FeedEntry`]s.
//!
//! # Doing
//! Every write is a POST with `Content-Type: application/json`.
//! ```sh
//! J='content-type: application/json'
//! curl -b jar -H "$J" -d '{"unit":"shop"}' $U/api/plans                                           # 201: the plan
//! curl -b jar -H "$J" -d '{"plan":"0123…","hash":"0123…","confirm":"shop"}' $U/api/runs           # 201 {"run":"k3f9"}
//! curl -b jar -H "$J" -X POST $U/api/runs/k3f9/pause                                              # 204
//! curl -b jar -H "$J" -X POST $U/api/runs/k3f9/resume                                             # 204; also tries refused calls at once
//! curl -b jar -H "$J" -X POST $U/api/runs/k3f9/stop                                               # 204
//! curl -b jar -H "$J" -X POST $U/api/runs/k3f9/steps/7/skip                                       # 204
//! curl -b jar -H "$J" -d '{"confirm":"data","pods":["8d1c…"]}' $U/api/runs/k3f9/steps/7/take-on   # 204
//! ```
//! `hash` is the plan's as it was shown, `confirm` the unit's name as it was typed. A plan that destroys data, or takes claims or
//! custom resources which belong to the unit only because their namespace does, is confirmed with the name of each in
//! `destroys`, a namespace that goes without proof that it is empty with each kind in `unproven`, a node whose Pods count as ended although
//! it never reports that in `unreported`, and an object that goes although others use it in `waived`. An answer 422
//! `unconfirmed` has the names that are missing, in the same form:
//! ```sh
//! curl -b jar -H "$J" -d '{"plan":"0123…","hash":"0123…","confirm":"shop","destroys":["PersistentVolumeClaim/shop/data"]}' $U/api/runs # 201
//! ```
//! A claim waits for Pods that are gone without a report that they have ended; it, a volume and a namespace wait for what stood
//! in front of them and lost a finalizer by hand. A person who knows better takes that on, and types the object's name; `pods` has
//! the UIDs of all that the step waits for.
//!
//! A run that a person stops leaves the parents suspended that it suspended. The card of each says in `left_suspended` whether it is
//! still so. All that are still so are made active again with the value that they had before, each by a guarded PATCH; the list
//! of remedies has the outcome of each:
//! ```sh
//! curl -b jar -H "$J" -X POST $U/api/runs/k3f9/put-back                                           # 202 {"attempts":["0123…"]}
//! ```
//! It answers 409 `notStopped` for a run that a person did not stop, and 409 `nothingToUndo` if none is suspended any more.
//!
//! A run of the journal that cannot be read is set aside. While its end is unknown, plans with its objects are refused with
//! `setAside`, until a person has looked at the objects and releases it; the page `/journal` has a form for that:
//! ```sh
//! curl -b jar -H "$J" -X POST $U/api/runs/k3f9/release                                            # 204
//! ```
//! While the journal cannot be written, whatever would start something is refused with `journalUnwritable`, and open runs
//! wait; the server tries again by itself.
//!
//! A plan is made with the choices of a person, each an object with one field ([`teardown::plan::Choice`]):
//! ```sh
//! curl -b jar -H "$J" -d '{"unit":"shop","choices":[{"keep":"data"},{"without":"Secret/shop/tls"}]}' $U/api/plans # 201
//! ```
//! A namespace in which a kind may not be listed waits for ever, because nobody can prove it empty. The plan names such kinds in
//! `unlistable`, and the choice `{"unproven":"shop/widgets.example.com"}` deletes the namespace all the same.
//! A node that never reports how its Pods end, such as that of a virtual kubelet, would hold their claims for ever; the choice
//! `{"unreported":"virtual-1"}` counts its Pods as ended once they are gone from the API.
//! An object that others use stays. Where the plan names it in `waivable`, the choice `{"waive":"Deployment.apps/ops/operator"}` deletes it
//! all the same, and the new plan says in `losses` what the others lose. Data of others cannot be waived, nor can a definition of
//! whose kind others have objects.
//! While a run is open, objects may appear that its plan does not know and that it waits for, such as a Pod that somebody
//! created on a claim, or a Deployment that a GitOps controller created again. The card of a step names them in `unplanned`. A
//! plan of them and of what they own has the choice `unplanned` with the run. It is confirmed as every plan is, with the name of
//! the run's unit, and runs beside the open run, which continues by itself when they are gone:
//! ```sh
//! curl -b jar -H "$J" -d '{"unit":"shop","choices":[{"unplanned":"k3f9"}]}' $U/api/plans          # 201
//! ```
//! The plan keeps everything that an object of an open run still needs. It answers 404 `unknownRun` if there is no such run, 409 `runEnded`
//! after the end of the run, 422 `unknownChoice` if the run is of another unit, and 422 `emptyPlan` if the run waits for no such
//! object.
//!
//! A remedy is confirmed by the `hash` of its `offer` in the advice, by the name of its object, and by a statement where the
//! offer asks for one; where that lists the names of a `machine`, the statement has one of them. Its outcome follows in the list of remedies and in the advice. The advice `switchedOff` has what remedies
//! switched off, and its offers put it back:
//! ```sh
//! curl -b jar $U/api/remedies                                                                     # 200: all, the latest first
//! curl -b jar -H "$J" -d '{"diagnosis":"nodeSilent//Node//n1/","remedy":"0123…","confirm":"n1","statement":"i-1 is off, Li saw it"}' $U/api/remedies # 404: this node reports
//! curl -b jar -H "$J" -d '{"diagnosis":"switchedOff","remedy":"0123456789abcdef","confirm":"n1"}' $U/api/remedies # 404
//! ```
//! The page `/u/shop/plan?keep=data&without=Secret/shop/tls` makes the same plan.
//!
//! # Checking a plan
//! ```sh
//! curl -b jar -H "$J" -X POST $U/api/plans/0123456789abcdef/preflight                             # 202 {"state":"running",…}
//! curl -b jar $U/api/plans/0123456789abcdef/preflight      # 200 {"state":"done","checked":40,"total":40,"notes":[…]}
//! ```
//! A preflight says what would refuse the plan's deletions, or hold them ([`teardown::preflight::PreflightCard`]). What the
//! server knows is in the first answer. Then it asks the API server up to 500 questions, for at most 30 s: with a dry run of the
//! DELETE, and of the PATCH that suspends a declaring parent, or, where another API server stores the objects, about the right to
//! do so. One that runs already is not started again.
//!
//! # Following
//! ```sh
//! curl -N -b jar "$U/api/events?topic=run:k3f9&after=5f3a:17"
//! ```
//! `topic` is `units`, `trouble`, `unit:NAME` or `run:ID`. What comes, each event with its JSON in `data`:
//!
//! | event      | id         | data |
//! |------------|------------|------|
//! | `build`    | none       | comes first: the name of the page's build, `{"build":…}`; a page of another build is outdated |
//! | `snapshot` | boot:count | everything; comes next, and again whenever the reader fell behind |
//! | `delta`    | boot:count | what changed since the revision it names |
//! | `ping`     | none       | at once and every 15 s: the cluster's time in milliseconds since 1970, `{"now":…}` |
//! | `bye`      | none       | the stream ends; `retry` says when to come back: `{"reason":"shuttingDown"}` |
//!
//! A session has at most four streams: a fifth ends the oldest, with `bye` and `{"reason":"crowded"}`.
//!
//! Where a record has a `message` that says what is wrong, it is `{"quoted":…}` if somebody else said so, and else
//! `{"code":…}` with a code and its parameters ([`teardown::api_problem`]). All times are in milliseconds since 1970.
//!
//! `after` is the last id that was read; the header `Last-Event-ID` goes before it. What is no id counts as none.
//!
//! # The demo
//! Where there is no cluster and the sandbox takes its place, the card of the cluster has a `demo` with what can be
//! broken. Each of these answers 204; in front of a real cluster there is no such address, 404.
//! ```sh
//! curl -b jar -H "$J" -d '{"command":"turnOn","what":"node","subject":"node-a"}' $U/api/demo    # turnOff: repairs it
//! curl -b jar -H "$J" -d '{"command":"turnOn","what":"incident","subject":"s3"}' $U/api/demo
//! curl -b jar -H "$J" -d '{"command":"speed","times":10}' $U/api/demo                         # also repair, reset
//! ```
//!
//! # Signing out
//! ```sh
//! curl -b jar -H "$J" -X POST $U/api/session/end                                              # 204
//! ```
//! The session ends, its streams end with `bye` and `{"reason":"notSignedIn"}`, and the cookie is cleared.
//!
//! # Refusals
//! ```json
//! {"error": {"code": "stalePlan", "what": "The cluster has moved since this plan was made", "means": "…", "do": "…",
//!            "differences": [{"difference": "added", "object": {…}}], "request": "9f2c61d07ab34e15"}}
//! ```
//! `code` is stable, one of these:
//!
//! | | |
//! |---|---|
//! | 400 | `malformed` a path or a query, `syntax` a body that is no JSON |
//! | 401 | `notSignedIn`, `wrongToken` |
//! | 403 | `foreignOrigin`, `notAllowed`, `remediesOff`, `clusterForbids` |
//! | 404 | `unknownUnit`, `unknownPlan`, `unknownRun`, `unknownDiagnosis`, `unknownStep`, `unknownLink`, `unknownPath`, `unknownRemedy` |
//! | 405, 408 | `wrongMethod`, `tooSlow` |
//! | 409 | `stalePlan`, `wrongHash`, `podsHidden`, `overlap`, `setAside`, `runEnded`, `notStopped`, `tooLate`, `nothingToTakeOn`, `otherPods`, `remedyChanged`, `withheld`, `needFails`, `remedyBusy`, `nothingToUndo` |
//! | 413, 414, 415 | `tooLarge`, `longPaste`, `longAddress`, `notJson` |
//! | 421 | `wrongHost` |
//! | 422 | `emptyPlan`, `cyclicPlan`, `deletesClaims`, `unknownChoice`, `wrongName`, `unconfirmed`, `wrongObjectName`, `wrongTarget`, `byHand`, `noStatement`, `otherMachine`, `cutList`, `otherList`, `otherMetrics`, `shape` JSON of another shape |
//! | 429 | `tooManyAttempts` |
//! | 500 | `internal` |
//! | 503 | `notReady`, `journalUnwritable`, `shuttingDown`, `tooManyConnections` |
//!
//! `what` happened, what it `means`, what to `do`; `request` stands in the
//! log and in the header `x-request-id`. Beside them: `differences` with `stalePlan`, `path` with `cyclicPlan`,
//! `choice` with `unknownChoice`, `run` and `object` with `overlap` and `setAside`, `needs` with `notAllowed`.
//!
//! `GET /healthz` answers 200 while the server serves and 503 while it ends; it needs no session. Its text says if the journal
//! cannot be written: to start the server again would not help.
//!
//! # Metrics
//! With `--metrics-address` a listener of its own serves `GET /metrics` as OpenMetrics text, and nothing else, to whoever
//! reaches it. It answers 503 if the hub does not answer within 5 s. The names stand in `server/monitoring/metrics.md`.

mod access;
mod advice;
mod body;
mod demo;
mod error;
mod event_log;
mod events;
mod guard;
mod guarded_stream;
mod headers;
mod journal_page;
mod kubelet_log;
mod incident;
mod metrics;
mod notifications_page;
mod page;
mod plain;
mod plans;
mod preflight;
mod remedies;
mod printable;
mod random;
mod routes;
mod runs;
mod serve;
mod session;
mod site;
mod switched_off;
mod trace;
mod units;

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::{DefaultBodyLimit, State},
    middleware::{from_fn, from_fn_with_state},
    routing::any,
};
use teardown::{message::Topic, right::Right};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower_http::{
    CompressionLevel, catch_panic::CatchPanicLayer, compression::CompressionLayer, csrf::CsrfLayer,
};

pub use self::{
    access::{Link, LocalAccess, Token},
    error::Failure,
    serve::{Limits, ListenError, listen, listen_for_metrics, serve},
    site::{Site, SiteError},
};
use self::{events::Streams, guard::signed_in, metrics::Scrapes};
use crate::{
    demo::DemoCluster,
    hub::HubHandle,
    metrics::{ApiMetrics, NotifyMetrics},
};

/// The longest body of a request; the longest there is names a plan, its hash and a unit.
const BODY_LIMIT: usize = 256 * 1024;

/// How hard pages are compressed: a fifth smaller than with the least effort, for a tenth of a millisecond.
const PAGE_QUALITY: CompressionLevel = CompressionLevel::Precise(5);

/// The state that every handler can reach.
#[derive(Clone)]
pub struct AppState {
    hub: HubHandle,
    access: Arc<LocalAccess>,
    drain: CancellationToken,
    site: Site,
    streams: Arc<Streams>,
    demo: Option<DemoCluster>,
    scrapes: Arc<Scrapes>,
    api: ApiMetrics,
    notifications: Option<NotifyMetrics>,
    journal: Option<watch::Receiver<bool>>,
    /// The right that a stream of a topic needs.
    right_of: fn(&Topic) -> Right,
}

impl AppState {
    /// Handlers that ask `hub`, let in whom `access` knows, show the page in `site`, and end their streams when `drain`
    /// is cancelled.
    pub fn new(
        hub: HubHandle,
        access: Arc<LocalAccess>,
        site: Site,
        drain: CancellationToken,
    ) -> Self {
        let (streams, scrapes, api) = (Arc::default(), Arc::default(), ApiMetrics::default());
        let right_of = Topic::needs;
        Self {
            hub,
            access,
            drain,
            site,
            streams,
            demo: None,
            scrapes,
            api,
            notifications: None,
            journal: None,
            right_of,
        }
    }

    /// Handlers that say on `/healthz` whether the journal can be written.
    #[must_use]
    pub fn watching_journal(self, writable: watch::Receiver<bool>) -> Self {
        Self { journal: Some(writable), ..self }
    }

    /// Handlers that also run the commands of the demo.
    #[must_use]
    pub fn with_demo(self, demo: Option<DemoCluster>) -> Self {
        Self { demo, ..self }
    }

    /// Handlers whose metrics have these counters, of the connection to the API server and of the notifications.
    #[must_use]
    pub fn measuring(self, api: ApiMetrics, notifications: Option<NotifyMetrics>) -> Self {
        Self { api, notifications, ..self }
    }
}

/// Everything that is served.
pub fn router(state: AppState) -> Router {
    let api = routes::router(routes::api())
        .route_layer(from_fn_with_state(state.clone(), signed_in))
        .merge(routes::router(routes::sign_in()))
        .fallback(error::unknown_path)
        .method_not_allowed_fallback(error::wrong_method)
        .layer(from_fn(guard::json_only))
        .layer(DefaultBodyLimit::max(BODY_LIMIT));

    let pages = routes::router(routes::pages(&state))
        .fallback(page::unknown)
        .method_not_allowed_fallback(error::wrong_method)
        .layer(from_fn_with_state(state.clone(), signed_in))
        .layer(CompressionLayer::new().quality(PAGE_QUALITY));

    let open = routes::router(routes::open())
        // The nested router does not answer this path.
        .route_service("/api/", any(error::unknown_path).with_state(()))
        .merge(site::routes(&state.site))
        .method_not_allowed_fallback(error::wrong_method);

    // The last layer is the outermost: whatever is refused or panics further in has headers, an id and a body.
    pages
        .merge(open)
        .nest("/api", api)
        .layer(CsrfLayer::new().with_rejection_response(guard::foreign_write))
        .layer(from_fn_with_state(state.clone(), guard::same_origin))
        .layer(CatchPanicLayer::custom(error::panicked))
        .layer(from_fn(error::render))
        .layer(from_fn(trace::record))
        .layer(from_fn(headers::protect))
        .with_state(state)
}

/// Everything that the listener of the metrics serves; `address` is its own.
pub fn metrics_router(state: AppState, address: SocketAddr) -> Router {
    let is_loopback = address.ip().is_loopback();
    routes::router(routes::metrics())
        .fallback(error::unknown_path)
        .method_not_allowed_fallback(error::wrong_method)
        .layer(from_fn(move |request, next| metrics::no_page(is_loopback, request, next)))
        .layer(CatchPanicLayer::custom(error::panicked))
        .layer(from_fn(error::render))
        .layer(from_fn(trace::record))
        .layer(from_fn(headers::protect))
        .with_state(state)
}

async fn health(State(state): State<AppState>) -> Result<&'static str, Failure> {
    if state.drain.is_cancelled() {
        return Err(Failure::ShuttingDown);
    }
    let is_writable = state.journal.is_none_or(|writable| *writable.borrow());
    Ok(if is_writable { "serving\n" } else { "serving, but the journal cannot be written\n" })
}
