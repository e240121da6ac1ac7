//! A router, or a listening server, whose hub is a fake that the test controls.
#![allow(dead_code, reason = "each test file uses another part of it")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod stream;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Body};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use jiff::Timestamp;
use serde_json::Value;
use server::{
    demo::DemoCluster,
    http::{AppState, LocalAccess, Site, metrics_router, router},
    hub::{
        DeliveryStatus, DiagnosisTime, Frame, FrameKind, HubHandle, Incoming, JournalStatus,
        Reading, Refusal, Subscription,
    },
};
use teardown::{
    message::{FeedEntry, Message, Record, Revision, RunCard, Topic},
    object::ObjectRef,
    observation::HiddenCause,
    plan::{Difference, ObjectAddress, Parts, Plan, PlanId},
    preflight::{CheckState, PreflightView},
    right::Right,
    run::{FeedEvent, RunId, RunState},
    tally::{CompleteTally, Tally},
    unit::UnitId,
};
use tempfile::TempDir;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use self::stream::{Sent, Stream};

/// The address that the server believes it has.
const ADDRESS: ([u8; 4], u16) = ([127, 0, 0, 1], 7433);

/// How many frames a reader may be behind.
pub(crate) const RING: usize = 4;

pub(crate) const BOOT: u64 = 0x5f3a;

pub(crate) fn revision(count: u64) -> Revision {
    Revision { boot: BOOT, count }
}

/// A fake hub. It knows one unit, `shop`; the plan `p1`, which is stale if its hash is `moved`; the run `r1`; and a
/// topic whose deltas the test sends.
pub(crate) struct FakeHub {
    /// The messages that it received, as text, without the reply channels.
    pub(crate) received: Arc<Mutex<Vec<String>>>,
    /// The sender of the deltas.
    pub(crate) deltas: broadcast::Sender<Frame>,
    /// The refusal of every query, if any.
    pub(crate) refusal: Arc<Mutex<Option<Refusal>>>,
    /// The state of its journal.
    pub(crate) journal: Arc<Mutex<JournalStatus>>,
    /// The state of its notifications.
    pub(crate) delivery: Arc<Mutex<DeliveryStatus>>,
}

pub(crate) fn fake_hub() -> (HubHandle, FakeHub) {
    let (mailbox, mut incoming) = mpsc::channel(16);
    let (deltas, _) = broadcast::channel(RING);
    let fake = FakeHub {
        received: Arc::default(),
        deltas,
        refusal: Arc::default(),
        journal: Arc::default(),
        delivery: Arc::default(),
    };
    let (received, deltas, refusal, journal) =
        (fake.received.clone(), fake.deltas.clone(), fake.refusal.clone(), fake.journal.clone());
    let delivery = fake.delivery.clone();
    tokio::spawn(async move {
        let receive = |text: String| received.lock().unwrap().push(text);
        while let Some(message) = incoming.recv().await {
            match message {
                Incoming::Query { topic, reply } => {
                    let answer = match refusal.lock().unwrap().clone() {
                        Some(refusal) => Err(refusal),
                        None => known(&topic).map(|()| snapshot(&topic)),
                    };
                    let _ = reply.send(answer);
                }
                Incoming::Subscribe { topic, after, reply } => {
                    receive(format!(
                        "subscribe {topic} after {}",
                        after.map(|it| it.to_string()).unwrap_or_default()
                    ));
                    let answer = known(&topic).map(|()| {
                        let first = match after {
                            Some(Revision { boot: BOOT, count }) if count <= 9 => {
                                (count + 1..=9).map(delta).collect()
                            }
                            _ => vec![whole(9)],
                        };
                        Subscription { first, rest: deltas.subscribe() }
                    });
                    let _ = reply.send(answer);
                }
                Incoming::MakePlan { unit, choices, reply } => {
                    let choices: Vec<String> = choices
                        .iter()
                        .map(|choice| choice.pair())
                        .map(|(name, value)| format!(" {name}={value}"))
                        .collect();
                    receive(format!("plan {unit}{}", choices.concat()));
                    let answer = known(&Topic::Unit(unit)).map(|()| Arc::new(plan()));
                    let _ = reply.send(answer);
                }
                Incoming::ReadTally { reply } => {
                    let _ = reply.send(reading());
                }
                Incoming::Time { reply } => {
                    let _ = reply.send(Timestamp::UNIX_EPOCH);
                }
                Incoming::ReadPlan { plan: id, reply } => {
                    let known = id == PlanId::new("p1");
                    let _ = reply.send(if known {
                        Ok(Arc::new(plan()))
                    } else {
                        Err(Refusal::UnknownPlan(id))
                    });
                }
                Incoming::StartPreflight { plan, reply } => {
                    receive(format!("preflight {plan}"));
                    let _ = reply.send(preflight(plan, CheckState::Running));
                }
                Incoming::ReadPreflight { plan, reply } => {
                    let _ = reply.send(preflight(plan, CheckState::Done));
                }
                Incoming::ReadEventLog { run, reply } => {
                    let started = FeedEntry {
                        number: 0,
                        at: Timestamp::UNIX_EPOCH,
                        event: FeedEvent::Started { by: "Li".into() },
                    };
                    let known = known(&Topic::Run(run));
                    let _ = reply.send(known.map(|()| vec![started]));
                }
                Incoming::Start { start, reply } => {
                    receive(format!("start {} by {}", start.plan, start.by));
                    let answer = match start.hash.as_str() {
                        "moved" => Err(Refusal::Stale(vec![Difference::Added { object: pod() }])),
                        _ if start.confirm != "shop" => Err(Refusal::WrongName),
                        "lossy" if start.parts.destroys.is_empty() => {
                            let destroys = vec![ObjectAddress(pod())];
                            Err(Refusal::Unconfirmed(Parts { destroys, ..Parts::default() }))
                        }
                        "shared" if start.parts.waived.is_empty() => {
                            let waived = vec![ObjectAddress(pod())];
                            Err(Refusal::Unconfirmed(Parts { waived, ..Parts::default() }))
                        }
                        _ => Ok(RunId::new("r1")),
                    };
                    let _ = reply.send(answer);
                }
                Incoming::ReadRemedies { diagnosis, reply } => {
                    receive(format!("remedies of {diagnosis}"));
                    let _ = reply.send(Err(Refusal::UnknownDiagnosis(diagnosis)));
                }
                Incoming::KubeletAnswered { .. } => receive("a kubelet's answer".to_owned()),
                Incoming::KubeletPasted { diagnosis, by, reply, .. } => {
                    receive(format!("pasted for {diagnosis} by {by}"));
                    let _ = reply.send(Err(Refusal::UnknownDiagnosis(diagnosis)));
                }
                Incoming::Command { run, command, by, reply } => {
                    receive(format!("{command:?} {run} by {by}"));
                    let _ = reply.send(known(&Topic::Run(run)));
                }
                Incoming::Delivery(status) => *delivery.lock().unwrap() = status,
                Incoming::ReadDelivery { reply } => {
                    let _ = reply.send(delivery.lock().unwrap().clone());
                }
                Incoming::ReadJournal { reply } => {
                    let _ = reply.send(journal.lock().unwrap().clone());
                }
                Incoming::Release { run, by, reply } => {
                    receive(format!("release {run} by {by}"));
                    let _ = reply.send(known(&Topic::Run(run)));
                }
                Incoming::TakeOn { run, step, answer, by, reply } => {
                    receive(format!("take on {step} {answer:?} {run} by {by}"));
                    let _ = reply.send(known(&Topic::Run(run)));
                }
                Incoming::Remedy { given, by, reply } => {
                    receive(format!(
                        "remedy {} of {} for {} by {by}",
                        given.remedy, given.diagnosis, given.confirm
                    ));
                    let _ = reply.send(Err(Refusal::UnknownDiagnosis(given.diagnosis)));
                }
                Incoming::PutBack { run, by, reply } => {
                    receive(format!("put back {run} by {by}"));
                    let _ = reply.send(Ok(vec!["a1".to_owned()]));
                }
                Incoming::ResumeParent { attempt, confirm, by, reply } => {
                    receive(format!("resume parent {attempt} for {confirm} by {by}"));
                    let _ = reply.send(Err(Refusal::UnknownAttempt(attempt)));
                }
                Incoming::UndoRemedy { attempt, confirm, by, reply } => {
                    receive(format!("undo remedy {attempt} for {confirm} by {by}"));
                    let _ = reply.send(Err(Refusal::UnknownAttempt(attempt)));
                }
                Incoming::ReadSwitchedOff { reply } => {
                    let _ = reply.send(vec![]);
                }
                Incoming::ReadAttempts { reply } => {
                    let _ = reply.send(vec![]);
                }
                Incoming::Observed(_)
                | Incoming::Demo(_)
                | Incoming::CallCompleted { .. }
                | Incoming::RemedyCopied { .. }
                | Incoming::RemedyLooked { .. }
                | Incoming::RemedyCompleted { .. }
                | Incoming::Answered { .. }
                | Incoming::PreflightEnded { .. } => {
                    unreachable!("http sends none of these")
                }
            }
        }
    });
    (HubHandle::new(mailbox), fake)
}

fn known(topic: &Topic) -> Result<(), Refusal> {
    match topic {
        Topic::Unit(unit) if *unit != UnitId::new("shop") && *unit != UnitId::new("ns:a b") => {
            Err(Refusal::UnknownUnit(unit.clone()))
        }
        Topic::Run(run) if *run != RunId::new("r1") => Err(Refusal::UnknownRun(run.clone())),
        Topic::Units | Topic::Trouble | Topic::Unit(_) | Topic::Run(_) => Ok(()),
    }
}

fn preflight(plan: PlanId, state: CheckState) -> Result<PreflightView, Refusal> {
    let is_known = plan == PlanId::new("p1");
    let view = PreflightView { state, ..PreflightView::default() };
    is_known.then_some(view).ok_or(Refusal::UnknownPlan(plan))
}

fn snapshot(topic: &Topic) -> Message {
    let records = match topic {
        Topic::Run(run) => vec![Record::Run(RunCard {
            id: run.clone(),
            unit: UnitId::new("shop"),
            plan: PlanId::new("p1"),
            state: RunState::Running,
            halted_by: None,
            by: "Li".into(),
            started: Timestamp::UNIX_EPOCH,
            ended: None,
            counts: BTreeMap::new(),
            total: 0,
            kept: 0,
            left_to_cluster: 0,
            recovered: 0,
            beside: None,
        })],
        Topic::Units | Topic::Trouble | Topic::Unit(_) => vec![],
    };
    Message::Snapshot { revision: revision(9), records }
}

/// The counts of a cluster that has been read, with one hidden kind.
pub(crate) fn reading() -> Reading {
    let tally = Tally {
        now: Timestamp::UNIX_EPOCH,
        reachable: true,
        kinds_listed: 3,
        kinds_pending: 0,
        hidden: BTreeMap::from([("secrets".to_owned(), HiddenCause::Forbidden)]),
        complete: Some(CompleteTally::default()),
    };
    Reading {
        tally,
        journal_failures: 0,
        is_journal_failing: false,
        set_aside: 0,
        diagnosis_time: DiagnosisTime::default(),
    }
}

pub(crate) fn pod() -> ObjectRef {
    ObjectRef {
        group: "".into(),
        kind: "Pod".into(),
        namespace: Some("shop".into()),
        name: "web-2".into(),
    }
}

pub(crate) fn plan() -> Plan {
    Plan {
        id: PlanId::new("p1"),
        hash: "abc".into(),
        unit: UnitId::new("shop"),
        made: Timestamp::UNIX_EPOCH,
        steps: vec![],
        kept: vec![],
        data: vec![],
        given_up: vec![],
        choices: teardown::plan::Choices::default(),
        by_name: vec![],
        ephemeral: vec![],
        left_to_cluster: vec![],
        unlistable: vec![],
        waived: vec![],
        losses: vec![],
        waivable: vec![],
        hidden: vec![],
    }
}

pub(crate) fn whole(count: u64) -> Frame {
    frame(
        FrameKind::Snapshot,
        count,
        &Message::Snapshot { revision: revision(count), records: vec![] },
    )
}

pub(crate) fn delta(count: u64) -> Frame {
    let message = Message::Delta {
        previous: revision(count - 1),
        revision: revision(count),
        put: vec![],
        remove: vec![],
    };
    frame(FrameKind::Delta, count, &message)
}

fn frame(kind: FrameKind, count: u64, message: &Message) -> Frame {
    Frame { revision: revision(count), kind, json: serde_json::to_string(message).unwrap().into() }
}

/// A built site with the files that the server needs.
pub(crate) fn built_site() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let files = [
        ("pkg/unwind.0123456789abcdef.js", "export default 1;"),
        ("pkg/unwind.0123456789abcdef.wasm", "\0asm"),
        ("pkg/unwind.0123456789abcdef.wasm.br", "compressed"),
        ("pkg/unwind.0123456789abcdef.css", "body{}"),
        ("icons.svg", "<svg/>"),
        ("favicon.svg", "<svg/>"),
    ];
    std::fs::create_dir(dir.path().join("pkg")).unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

/// A server under test: its router and its fake hub.
pub(crate) struct TestServer {
    pub(crate) router: Router,
    /// The listener of the metrics.
    pub(crate) metrics: Router,
    pub(crate) hub: FakeHub,
    pub(crate) drain: CancellationToken,
    pub(crate) token: String,
    pub(crate) cookie: String,
    address: SocketAddr,
    _site: TempDir,
}

impl TestServer {
    /// Without a session; sessions are kept in `state`.
    pub(crate) fn signed_out_at(address: SocketAddr, state: Option<&Path>) -> Self {
        let (hub, fake) = fake_hub();
        Self::with(hub, fake, address, state, None)
    }

    /// Without a session, and with another hub than the fake.
    pub(crate) fn with_hub(hub: HubHandle) -> Self {
        Self::with(hub, fake_hub().1, ADDRESS.into(), None, None)
    }

    /// Without a session, and with a demo.
    pub(crate) fn with_demo(demo: DemoCluster) -> Self {
        let (hub, fake) = fake_hub();
        Self::with(hub, fake, ADDRESS.into(), None, Some(demo))
    }

    fn with(
        hub: HubHandle,
        fake: FakeHub,
        address: SocketAddr,
        state: Option<&Path>,
        demo: Option<DemoCluster>,
    ) -> Self {
        let site = built_site();
        let drain = CancellationToken::new();
        let (access, link) =
            LocalAccess::open(address, state, "Li", Right::Force, Timestamp::now());
        let token = link.url().split_once("#k=").unwrap().1.to_owned();
        let state =
            AppState::new(hub, Arc::new(access), Site::open(site.path()).unwrap(), drain.clone());
        let state = state.with_demo(demo);
        Self {
            metrics: metrics_router(state.clone(), address),
            router: router(state),
            hub: fake,
            drain,
            token,
            cookie: String::new(),
            address,
            _site: site,
        }
    }

    pub(crate) fn signed_out() -> Self {
        Self::signed_out_at(ADDRESS.into(), None)
    }

    /// With a session of an operator called Li.
    pub(crate) async fn new() -> Self {
        let mut server = Self::signed_out();
        server.cookie = server.sign_in(&server.token).await;
        server
    }

    /// In the browser that has the cookie; its session ends.
    pub(crate) async fn sign_in(&self, token: &str) -> String {
        self.sign_in_with(&self.cookie, token).await
    }

    /// In a browser without a session.
    pub(crate) async fn sign_in_elsewhere(&self, token: &str) -> String {
        self.sign_in_with("", token).await
    }

    async fn sign_in_with(&self, cookie: &str, token: &str) -> String {
        let headers = [("content-type", "application/json"), ("cookie", cookie)];
        let body = format!(r#"{{"token":"{token}"}}"#);
        let answer = self.ask(Method::POST, "/api/session", &headers, &body).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
        let cookie = answer.headers["set-cookie"].to_str().unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Answer {
        self.ask(Method::POST, path, &[("content-type", "application/json")], body).await
    }

    /// Sends a request with the host and, once signed in, the cookie; `headers` replace both.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        Answer::of(self.send(method, path, headers, body).await).await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> http::Response<Body> {
        let host = self.address.to_string();
        let mut all = BTreeMap::from([("host", host.as_str())]);
        if !self.cookie.is_empty() {
            all.insert("cookie", &self.cookie);
        }
        all.extend(headers.iter().copied());
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in all {
            request = request.header(name, value);
        }
        self.router
            .clone()
            .oneshot(request.body(Body::from(body.to_owned())).unwrap())
            .await
            .unwrap()
    }

    /// Asks the listener of the metrics.
    pub(crate) async fn scrape(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).unwrap();
        Answer::of(self.metrics.clone().oneshot(request).await.unwrap()).await
    }

    /// Follows a query, as `topic=units`.
    pub(crate) async fn follow(&self, query: &str, headers: &[(&str, &str)]) -> Events {
        let response = self.send(Method::GET, &format!("/api/events?{query}"), headers, "").await;
        assert_eq!(response.status(), StatusCode::OK);
        let headers = response.headers().clone();
        let mut stream = Stream::of(response.into_body());
        // Every stream begins with it.
        let first = stream.next().await.unwrap();
        assert_eq!(first.name, "build");
        Events { headers, build: first.data, stream }
    }
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    async fn of(response: http::Response<Body>) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Self {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The status and the error code: `404 unknownUnit`.
    pub(crate) fn refusal(&self) -> String {
        format!(
            "{} {}",
            self.status.as_u16(),
            self.json()["error"]["code"].as_str().unwrap_or_default()
        )
    }
}

/// A stream of server-sent events.
pub(crate) struct Events {
    pub(crate) headers: HeaderMap,
    /// The data of the first event.
    pub(crate) build: String,
    stream: Stream,
}

impl Events {
    /// The next event as `name id`, with its data; none at the end.
    pub(crate) async fn next(&mut self) -> Option<(String, String)> {
        let Sent { name, id, data } = self.stream.next().await?;
        Some((format!("{name} {id}").trim().to_owned(), data))
    }

    pub(crate) async fn names(&mut self, count: usize) -> Vec<String> {
        let mut names = vec![];
        for _ in 0..count {
            names.push(self.next().await.map(|(name, _)| name).unwrap_or_default());
        }
        names
    }
}
