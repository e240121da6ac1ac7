//! The promises to programs that use the API: the lines of the API's documentation work, and no field is renamed.

mod test_server;

use std::collections::{BTreeMap, BTreeSet};

use http::{Method, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use server::{
    demo::DemoCluster,
    hub::{CALLS, CallRequest, Hub, HubHandle, Incoming, MAILBOX},
    journal::{Journal, MemoryStore},
};
use teardown::{
    action::Outcome,
    fixture,
    object::{Deletion, Object},
    observation::{AwayCause, HiddenCause, Observation},
};
use test_server::TestServer;
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

/// The documentation of the API.
const DOCS: &str = include_str!("../src/http.rs");

/// One line of it.
#[derive(Debug, Default)]
struct Curl {
    line: String,
    method: Method,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
    /// Whether it sends the cookie that another line was given.
    has_cookie: bool,
    /// The status behind the line, or what holds where it has none.
    promised: String,
}

/// The words of a line as a shell finds them, up to its comment, and the comment.
fn words(line: &str) -> (Vec<String>, String) {
    let line = line.replace("$U", "").replace("$J", "content-type: application/json");
    let (mut words, mut word, mut quote) = (vec![], String::new(), None);
    for (at, letter) in line.char_indices() {
        match (letter, quote) {
            ('\'' | '"', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            (' ', None) => words.push(std::mem::take(&mut word)),
            ('#', None) => return (words, line[at + 1..].trim().to_owned()),
            _ => word.push(letter),
        }
    }
    words.push(word);
    (words, String::new())
}

impl Curl {
    fn read(line: &str, promised: &str) -> Self {
        let (words, comment) = words(line);
        let mut words = words.into_iter().filter(|word| !word.is_empty());
        let mut curl =
            Self { line: line.to_owned(), promised: promised.to_owned(), ..Self::default() };
        assert_eq!(words.next().as_deref(), Some("curl"));
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_default();
            match word.as_str() {
                "-c" => _ = value(),
                "-b" => curl.has_cookie = value() == "jar",
                "-X" => curl.method = value().parse().unwrap_or_default(),
                "-H" => {
                    let header = value();
                    let (name, value) = header.split_once(": ").unwrap_or_default();
                    curl.headers.push((name.to_owned(), value.to_owned()));
                }
                "-d" => (curl.method, curl.body) = (Method::POST, value()),
                "-N" => {}
                path => path.clone_into(&mut curl.path),
            }
        }
        if comment.starts_with(|it: char| it.is_ascii_digit()) {
            comment[..3].clone_into(&mut curl.promised);
        }
        curl
    }

    /// All lines. What the text before them says of all answers of its section holds where a line says nothing.
    fn of_docs() -> Vec<Self> {
        const OF_ALL: &str = "Each of these answers ";
        let (mut lines, mut promised) = (vec![], "200");
        for line in DOCS.lines().filter_map(|line| line.strip_prefix("//! ")) {
            if line.starts_with("# ") {
                promised = "200";
            } else if let Some((_, rest)) = line.split_once(OF_ALL) {
                promised = &rest[..3];
            } else if line.starts_with("curl ") {
                lines.push(Self::read(line, promised));
            }
        }
        lines
    }
}

#[tokio::test]
async fn documentation_works_line_by_line() {
    let demo = DemoCluster::open(None).expect("the sandbox has its worlds");
    let server = TestServer::with_demo(demo);
    let lines = Curl::of_docs();
    assert!(lines.len() >= 14, "{}", lines.len());
    let (mut cookie, mut link) = (String::new(), String::new());
    for curl in &lines {
        // Its examples stand for what the stand-in hub has.
        let real = |text: &str| {
            text.replace("TOKEN", &server.token)
                .replace("k3f9", "r1")
                .replace("0123456789abcdef", "p1")
                .replace("\"hash\":\"0123…\"", "\"hash\":\"abc\"")
                .replace("0123…", "p1")
                .replace("5c1f9e07a2b4d680", &link)
        };
        let mut headers: Vec<(&str, &str)> =
            curl.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        if curl.has_cookie {
            headers.push(("cookie", &cookie));
        }
        let (path, body) = (real(&curl.path), real(&curl.body));
        let answer = server.send(curl.method.clone(), &path, &headers, &body).await;
        assert_eq!(answer.status().as_str(), curl.promised, "{}", curl.line);
        if let Some(set) = answer.headers().get("set-cookie") {
            let set = set.to_str().expect("a cookie is text");
            set.split(';').next().unwrap_or_default().clone_into(&mut cookie);
        }
        if path.ends_with("/session/links") {
            let body = answer.into_body().collect().await.expect("it has a body").to_bytes();
            let links: Value = serde_json::from_slice(&body).expect("it is JSON");
            links["links"][0]["id"].as_str().expect("it has a link").clone_into(&mut link);
        }
    }
    let received = server.hub.received.lock().expect("no test panicked with it").join("\n");
    insta::assert_snapshot!(received, @r#"
    remedies of nodeSilent//Node//n1/
    plan shop
    start p1 by Li
    Pause r1 by Li
    Resume r1 by Li
    Stop r1 by Li
    Skip(StepId(7)) r1 by Li
    take on 7 TakenOn { confirm: "data", pods: [Uid("8d1c…")] } r1 by Li
    start p1 by Li
    put back r1 by Li
    release r1 by Li
    plan shop without=Secret/shop/tls keep=data
    plan shop unplanned=r1
    remedy p1 of nodeSilent//Node//n1/ for n1 by Li
    undo remedy p1 for n1 by Li
    preflight p1
    subscribe run:r1 after 5f3a:17
    "#);
}

/// The table of routes.
const ROUTES: &str = include_str!("../src/http/routes.rs");

#[test]
fn routes_are_documented() {
    let table = ROUTES.split_once("pub(super) fn api()").expect("a table").1;
    let table = table.split_once("\n}").expect("its end").0;
    let lines = Curl::of_docs();
    let is_at = |path: &str, pattern: &str| {
        let path = path.split('?').next().unwrap_or_default();
        path.split('/').count() == pattern.split('/').count()
            && path
                .split('/')
                .zip(pattern.split('/'))
                .all(|(word, pattern)| word == pattern || pattern.starts_with('{'))
    };
    let mut routes = 0;
    for line in table.lines() {
        let Some((method, rest)) = line.trim_start().split_once("(\"") else { continue };
        routes += 1;
        let path = rest.split('"').next().unwrap_or_default();
        let method = if method == "get" { Method::GET } else { Method::POST };
        let pattern = format!("/api{path}");
        let is_documented = lines.iter().any(|it| it.method == method && is_at(&it.path, &pattern));
        assert!(is_documented, "{method} {pattern} is not documented");
    }
    assert!(routes >= 18, "{routes}");
}

/// Fields whose value is one of several sorts, by the name of the sort, and what the sorts are called together.
const SORTS: [(&str, &str); 5] = [
    ("records", "record"),
    ("put", "record"),
    ("event", "event"),
    ("problem", "problem"),
    ("differences", "difference"),
];
/// Maps whose keys come from the cluster, so that they have no fields.
const MAPS: [&str; 2] = ["counts", "labels"];

/// The names of the fields of everything in an answer, by where it stands: below the answer, or below an object of a sort.
type Shapes = BTreeMap<String, BTreeSet<String>>;

fn gather(value: &Value, place: &str, shapes: &mut Shapes) {
    match value {
        Value::Object(all) => {
            let field = place.rsplit(['.', ' ']).next().unwrap_or_default();
            let sorts = SORTS.iter().find(|(name, _)| place.contains('.') && *name == field);
            if let (Some((_, sorts)), Some(Value::String(code))) = (sorts, all.get("code")) {
                let place = format!("{sorts} {code}");
                for (name, value) in all {
                    shapes.entry(place.clone()).or_default().insert(name.clone());
                    gather(value, &format!("{place}.{name}"), shapes);
                }
                return;
            }
            if let Some((_, sorts)) = sorts {
                all.iter().for_each(|(sort, it)| gather(it, &format!("{sorts} {sort}"), shapes));
                return;
            }
            for (name, value) in all {
                shapes.entry(place.to_owned()).or_default().insert(name.clone());
                if !MAPS.contains(&name.as_str()) {
                    gather(value, &format!("{place}.{name}"), shapes);
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|it| gather(it, place, shapes)),
        _ => {}
    }
}

/// A unit with what makes each sort of record.
const CLUSTER: &str = "
    ns shop of=shop
    deploy shop/web of=shop selector=app:web template=app:web uses=claim:data,config:shared
    pod shop/web-a owner=deploy/web labels=app:web uses=claim:data node=n1
    pvc shop/data of=shop volume=pv-1
    pv pv-1 claim=shop/data capacity=1Gi
    cm shop/shared of=shop
    cm shop/held of=shop finalizers=example.com/hold
    ns bank of=bank
    deploy shop/guest of=bank uses=config:shared
    node n1
";

/// A hub that sees this cluster; the test answers for it.
struct Kept {
    mailbox: mpsc::Sender<Incoming>,
    orders: mpsc::Receiver<CallRequest>,
    server: TestServer,
}

impl Kept {
    async fn new() -> Self {
        let (mailbox, inbox) = mpsc::channel(MAILBOX);
        let (out, orders) = mpsc::channel(CALLS);
        let journal = Journal::over(MemoryStore::default());
        let hub = Hub::open("dev".into(), inbox, out, journal).expect("it has no past");
        tokio::spawn(hub.run(CancellationToken::new()));
        let mut server = TestServer::with_hub(HubHandle::new(mailbox.clone()));
        server.cookie = server.sign_in(&server.token).await;
        let mut kept = Self { mailbox, orders, server };
        kept.see(fixture::listing(&fixture::objects(CLUSTER))).await;
        kept
    }

    async fn send(&mut self, incoming: Incoming) {
        self.mailbox.send(incoming).await.expect("the hub is there");
    }

    async fn see(&mut self, observations: Vec<Observation>) {
        self.send(Incoming::Observed(observations)).await;
    }

    /// Answers the next order.
    async fn answer(&mut self, outcome: impl FnOnce(&str) -> Outcome) {
        let CallRequest { run, action, .. } =
            self.orders.recv().await.expect("there is something to do");
        let outcome = outcome(&format!("{action:?}"));
        let answered = Instant::now();
        self.send(Incoming::CallCompleted { run, action, outcome, answered }).await;
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.server.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text);
        answer.json()
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.server.post(path, &body.to_string()).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{path}: {}", answer.text);
        answer.json()
    }
}

/// Everything that can be wrong with a cluster: a kind is hidden, an object terminates, the API server does not answer.
fn problems() -> Vec<Observation> {
    let going = Deletion { at: fixture::now(), grace: 30 };
    let held = fixture::object("cm shop/held of=shop finalizers=example.com/hold");
    let held = Object { deletion: Some(Box::new(going.into())), ..held };
    vec![
        Observation::Reached { version: "v1.36.3".into() },
        Observation::Applied(Box::new(held)),
        Observation::Hidden {
            resource: "leases.coordination.k8s.io".into(),
            cause: HiddenCause::Forbidden,
            message: "no".into(),
        },
        Observation::Unreachable { cause: AwayCause::Silent, message: "reset".into() },
    ]
}

/// The names of fields are read by scripts: they are added to, and neither renamed nor taken away. Whoever has to change one
/// of these lines breaks such a script.
#[tokio::test]
async fn fields_keep_their_names() {
    let mut kept = Kept::new().await;
    let plan = kept.post("/api/plans", &json!({"unit": "shop"})).await;
    let confirmed = json!({"plan": plan["id"], "hash": plan["hash"], "confirm": "shop"});
    let started = kept.post("/api/runs", &confirmed).await;
    let run = started["run"].as_str().unwrap_or_default().to_owned();
    let overlap = kept.server.post("/api/runs", &confirmed.to_string()).await.json();
    for _ in 0..2 {
        kept.answer(|action| match action.contains("Deployment") {
            true => Outcome::Refused { code: 403, message: "no".into() },
            false => Outcome::Accepted,
        })
        .await;
    }
    kept.see(problems()).await;
    let mut events = kept.server.follow(&format!("topic=run:{run}"), &[]).await;
    let build = events.build.clone();
    let (_, snapshot) = events.next().await.expect("it begins with everything");
    let (_, ping) = events.next().await.expect("and says what time it is");
    kept.see(vec![Observation::Deleted {
        kind: fixture::kind("cm"),
        uid: fixture::uid("cm:shop/held"),
    }])
    .await;
    let (_, delta) = events.next().await.expect("something changed");
    kept.server.drain.cancel();
    let (_, bye) = events.next().await.expect("it says bye");
    let moved = json!({"plan": "p1", "hash": "moved", "confirm": "shop"});
    let stale = TestServer::new().await.post("/api/runs", &moved.to_string()).await.json();
    let link = kept.post("/api/session/link", &json!({"name": "Wang"})).await;
    let token = link["url"].as_str().and_then(|url| url.split_once("#k=")).map(|it| it.1);
    let token = json!({"token": token}).to_string();
    let before = kept.get("/api/session/links").await;
    let headers = [("cookie", ""), ("content-type", "application/json")];
    let entered = kept.server.ask(Method::POST, "/api/session", &headers, &token).await.json();
    let read = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    let answers = [
        ("units", kept.get("/api/units").await),
        ("unit", kept.get("/api/units/shop").await),
        (
            "plan",
            kept.get(&format!("/api/plans/{}", plan["id"].as_str().unwrap_or_default())).await,
        ),
        ("run", kept.get(&format!("/api/runs/{run}")).await),
        ("started", started),
        ("link", link),
        ("links", before),
        ("session", entered),
        ("refused", overlap),
        ("stale", stale),
        ("build", read(&build)),
        ("snapshot", read(&snapshot)),
        ("delta", read(&delta)),
        ("ping", read(&ping)),
        ("bye", read(&bye)),
    ];
    let mut shapes = Shapes::new();
    for (answer, json) in &answers {
        gather(json, answer, &mut shapes);
    }
    let lines = shapes.iter().map(|(place, names)| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        format!("{place}: {}", names.join(" "))
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r"
    build: build
    bye: reason
    delta: delta
    delta.delta: previous put remove revision
    delta.delta.remove: edge
    difference added: object
    difference added.object: group kind name namespace
    event gone: code object step
    event gone.object: group kind name namespace
    event problem: code object problem step
    event problem.object: group kind name namespace
    event requested: code object step
    event requested.object: group kind name namespace
    event started: by code
    event terminating: code object step
    event terminating.object: group kind name namespace
    link: expires url
    links: links
    links.links: expires id invited_by made name right used
    ping: now
    plan: by_name choices data ephemeral given_up hash hidden id kept left_to_cluster made steps unit waivable
    plan.data: capacity claim fate reclaim source volume
    plan.data.claim: group kind name namespace
    plan.data.volume: group kind name namespace
    plan.kept: object reason uid
    plan.kept.object: group kind name namespace
    plan.kept.reason: usedBy
    plan.kept.reason.usedBy: edge reason user
    plan.kept.reason.usedBy.reason: field value
    plan.kept.reason.usedBy.user: group kind name namespace
    plan.steps: action after finalizers holds_storage id kind named node object pods uid wave
    plan.steps.action: delete
    plan.steps.action.delete: propagation
    plan.steps.after: edges phase step
    plan.steps.after.edges: kind on_first reason strength
    plan.steps.after.edges.reason: field value
    plan.steps.kind: group kind namespaced plural version
    plan.steps.object: group kind name namespace
    plan.steps.pods: expressions labels
    plan.waivable: group kind name namespace
    problem refused: code message refusals
    problem refused.message: quoted
    problem refused.refusals: count next since
    record cluster: diagnoses inTime journal kinds name notifications objects switchedOff synced unreachable version
    record cluster.unreachable: cause message since
    record cluster.unreachable.message: quoted
    record edge: from kind reason strength to
    record edge.reason: field value
    record event: at event number
    record hiddenKind: cause message resource since
    record hiddenKind.message: quoted
    record object: created deletion details due final_phase finalizers labels membership node object phase since state step uid version wave
    record object.deletion: at grace
    record object.details: name value
    record object.membership: kept
    record object.membership.kept: usedBy
    record object.membership.kept.usedBy: edge reason user
    record object.membership.kept.usedBy.reason: field value
    record object.membership.kept.usedBy.user: group kind name namespace
    record object.node: changed ready seen
    record object.object: group kind name namespace
    record run: by counts ended id kept left_to_cluster plan recovered started state total unit
    record step: gone id object problem proof requested state taken uid waits_for wave
    record step.object: group kind name namespace
    record unit: counts id namespaces newest origin run shared
    refused: error
    refused.error: code do means object request run what
    refused.error.object: group kind name namespace
    run: snapshot
    run.snapshot: records revision
    session: invited_by name right
    snapshot: snapshot
    snapshot.snapshot: records revision
    stale: error
    stale.error: code differences do means request what
    started: run
    unit: snapshot
    unit.snapshot: records revision
    units: snapshot
    units.snapshot: records revision
    ");
}
