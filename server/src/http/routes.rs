//! The table of routes: the method, the path, the right that a session needs, and the handler. No other file adds a route
//! with a handler, so every route names its right. Those of topics and records stand in `teardown::message`.

use axum::{
    Router,
    extract::DefaultBodyLimit,
    handler::Handler,
    middleware::from_fn,
    routing::{self, MethodRouter},
};
use http::Method;
use teardown::right::Right;

use super::{
    AppState, advice, demo, event_log, events, guard::check_right, health, incident, journal_page,
    kubelet_log, metrics as scrape, notifications_page, page, plain, plans, preflight, remedies,
    runs, session, switched_off, units,
};

/// A line of the table.
pub(super) struct Route {
    method: Method,
    path: &'static str,
    /// The right that a session needs; `None` if the route needs no session.
    needs: Option<Right>,
    handler: MethodRouter<AppState>,
}

/// A route that reads.
fn get<H, T>(path: &'static str, needs: Right, handler: H) -> Route
where
    H: Handler<T, AppState>,
    T: 'static,
{
    Route::guarded(Method::GET, path, needs, routing::get(handler))
}

/// A route that does something.
fn post<H, T>(path: &'static str, needs: Right, handler: H) -> Route
where
    H: Handler<T, AppState>,
    T: 'static,
{
    Route::guarded(Method::POST, path, needs, routing::post(handler))
}

impl Route {
    fn guarded(
        method: Method,
        path: &'static str,
        needs: Right,
        handler: MethodRouter<AppState>,
    ) -> Self {
        let check = from_fn(move |person, request, next| check_right(needs, person, request, next));
        Self { method, path, needs: Some(needs), handler: handler.route_layer(check) }
    }

    fn open(method: Method, path: &'static str, handler: MethodRouter<AppState>) -> Self {
        Self { method, path, needs: None, handler }
    }
}

/// The routes of the API, below `/api`. A stream needs the right of its topic as well ([`teardown::message::Topic::needs`]).
pub(super) fn api() -> Vec<Route> {
    use Right::{Act, Force, Look};
    vec![
        get("/units", Look, units::all),
        get("/units/{unit}", Look, units::one),
        get("/trouble", Look, units::trouble),
        get("/trouble/advice", Look, advice::read),
        post("/remedies", Force, remedies::begin),
        get("/remedies", Look, remedies::list),
        post("/plans", Act, plans::make),
        get("/plans/{plan}", Look, plans::read),
        post("/plans/{plan}/preflight", Act, preflight::start),
        get("/plans/{plan}/preflight", Look, preflight::read),
        post("/runs", Act, runs::start),
        get("/runs/{run}", Look, runs::read),
        get("/runs/{run}/events", Look, event_log::read),
        post("/runs/{run}/pause", Act, runs::pause),
        post("/runs/{run}/resume", Act, runs::resume),
        post("/runs/{run}/stop", Act, runs::stop),
        post("/runs/{run}/put-back", Act, runs::put_back),
        post("/runs/{run}/release", Act, journal_page::release_by_api),
        post("/runs/{run}/steps/{step}/skip", Act, runs::skip),
        post("/runs/{run}/steps/{step}/take-on", Act, runs::take_on),
        get("/events", Look, events::follow),
        post("/demo", Act, demo::run_command),
        post("/session/link", Look, session::link),
        get("/session/links", Look, session::links),
        post("/session/links/{link}/end", Look, session::take_back),
        post("/session/end", Look, session::sign_out),
    ]
}

/// The route of the API, below `/api`, that needs no session.
pub(super) fn sign_in() -> Vec<Route> {
    vec![Route::open(Method::POST, "/session", routing::post(session::sign_in))]
}

/// The pages, the forms for lines of a kubelet's log, for a run that cannot be read and for what is switched off, and the event log of a run as text. The page of a new plan makes the plan.
pub(super) fn pages(state: &AppState) -> Vec<Route> {
    use Right::{Act, Force, Look};
    let page = |path, needs| get(path, needs, page::handler(state));
    let mut form = post("/trouble/kubelet-log", Act, kubelet_log::paste);
    let limit = DefaultBodyLimit::max(kubelet_log::FORM_LIMIT);
    form.handler = form.handler.layer(limit);
    vec![
        form,
        page("/", Look),
        page("/u/{unit}", Look),
        page("/u/{unit}/plan", Act),
        page("/u/{unit}/plan/{plan}", Look),
        page("/r/{run}", Look),
        page("/trouble", Look),
        get("/trouble/card", Look, incident::card),
        get("/trouble/note.txt", Look, incident::note),
        get("/trouble/note.md", Look, incident::markdown),
        get("/r/{run}/events.txt", Look, event_log::written),
        get("/journal", Look, journal_page::read),
        post("/journal/release", Act, journal_page::release),
        get("/notifications", Look, notifications_page::read),
        get("/switched-off", Look, switched_off::read),
        post("/switched-off/put-back", Force, switched_off::put_back),
        post("/switched-off/resume", Act, switched_off::resume),
    ]
}

/// The routes outside the API that need no session. They reveal nothing about the cluster.
pub(super) fn open() -> Vec<Route> {
    vec![
        Route::open(Method::GET, "/healthz", routing::get(health)),
        Route::open(Method::GET, "/sign-in.js", routing::get(plain::sign_in_script)),
    ]
}

/// The only route of the listener of the metrics. Whoever reaches it may read them.
pub(super) fn metrics() -> Vec<Route> {
    vec![Route::open(Method::GET, "/metrics", routing::get(scrape::read))]
}

/// A router of these routes.
pub(super) fn router(routes: Vec<Route>) -> Router<AppState> {
    routes.into_iter().fold(Router::new(), |router, Route { method, path, needs, handler }| {
        let needs = needs.map_or("no session".to_owned(), |right| right.to_string());
        tracing::debug!(route.method = %method, route.path = path, route.needs = needs, "a route");
        router.route(path, handler)
    })
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, net::SocketAddr, sync::Arc};

    use app::App;
    use axum::body::Body;
    use http::{Request, StatusCode, header};
    use http_body_util::BodyExt;
    use jiff::Timestamp;
    use leptos_axum::generate_route_list;
    use teardown::{message::Topic, run::RunId, unit::UnitId};
    use tokio::sync::mpsc;
    use tokio_util::sync::CancellationToken;
    use tower::ServiceExt;

    use super::*;
    use crate::{
        http::{LocalAccess, Site},
        hub::HubHandle,
    };

    const HOST: &str = "127.0.0.1:7433";

    /// A server whose hub has ended: a request that is let in gets another answer than 401 and 403.
    struct Server {
        router: Router,
        table: Vec<(Method, String, Option<Right>)>,
        token: String,
        _site: tempfile::TempDir,
    }

    impl Server {
        fn new(most: Right) -> Self {
            Self::with(most, Topic::needs)
        }

        /// A server whose topics need other rights.
        fn with(most: Right, right_of: fn(&Topic) -> Right) -> Self {
            let site = tempfile::tempdir().unwrap();
            std::fs::create_dir(site.path().join("pkg")).unwrap();
            for extension in ["js", "wasm", "css"] {
                let name = format!("pkg/unwind.0123456789abcdef.{extension}");
                std::fs::write(site.path().join(name), "").unwrap();
            }
            let address: SocketAddr = HOST.parse().unwrap();
            let (access, link) = LocalAccess::open(address, None, "Li", most, Timestamp::now());
            let hub = HubHandle::new(mpsc::channel(1).0);
            let opened = Site::open(site.path()).unwrap();
            let state = AppState::new(hub, Arc::new(access), opened, CancellationToken::new());
            let state = AppState { right_of, ..state };
            let line = |prefix: &str, route: Route| {
                (route.method, format!("{prefix}{}", route.path), route.needs)
            };
            let api = api().into_iter().chain(sign_in()).map(|route| line("/api", route));
            let rest = pages(&state).into_iter().chain(open()).map(|route| line("", route));
            let table = api.chain(rest).collect();
            let token = link.url().split_once("#k=").unwrap().1.to_owned();
            let router = crate::http::router(state);
            Self { router, table, token, _site: site }
        }

        async fn ask(
            &self,
            method: &Method,
            path: &str,
            cookie: &str,
            body: String,
        ) -> (StatusCode, String, String) {
            let request = Request::builder().method(method).uri(path).header(header::HOST, HOST);
            let request = request.header(header::CONTENT_TYPE, "application/json");
            let request = request.header(header::COOKIE, cookie).body(Body::from(body)).unwrap();
            let answer = self.router.clone().oneshot(request).await.unwrap();
            let (parts, body) = answer.into_parts();
            let cookie = parts.headers.get(header::SET_COOKIE);
            let cookie =
                cookie.map(|it| it.to_str().unwrap().split(';').next().unwrap_or_default());
            let body = body.collect().await.unwrap().to_bytes();
            let text = String::from_utf8_lossy(&body).into_owned();
            (parts.status, cookie.unwrap_or_default().to_owned(), text)
        }

        async fn sign_in(&self, token: &str) -> String {
            let body = format!(r#"{{"token":"{token}"}}"#);
            let (status, cookie, _) = self.ask(&Method::POST, "/api/session", "", body).await;
            assert_eq!(status, StatusCode::CREATED);
            cookie
        }

        /// The cookie of a new session with this right, made by another session.
        async fn session(&self, inviter: &str, right: Right) -> String {
            let body = format!(r#"{{"right":"{right}"}}"#);
            let path = "/api/session/link";
            let (status, _, text) = self.ask(&Method::POST, path, inviter, body).await;
            assert_eq!(status, StatusCode::CREATED, "{text}");
            let link: serde_json::Value = serde_json::from_str(&text).unwrap();
            self.sign_in(link["url"].as_str().unwrap().split_once("#k=").unwrap().1).await
        }
    }

    #[tokio::test]
    async fn route_lets_in_the_sessions_that_have_its_right_and_no_others() {
        let server = Server::new(Right::Force);
        let inviter = server.sign_in(&server.token).await;
        assert!(server.table.len() >= 30, "{}", server.table.len());
        for (method, path, needs) in &server.table {
            let known = [("{unit}", "shop"), ("{run}", "r1"), ("{plan}", "p1"), ("{step}", "7")];
            let known = known.into_iter().chain([("{link}", "0123456789abcdef")]);
            let real = known.fold(path.clone(), |path, (name, value)| path.replace(name, value));
            let sessions = [None].into_iter().chain(Right::ALL.map(Some));
            for has in sessions {
                // A new one each time, because some routes end it.
                let cookie = match has {
                    Some(right) => server.session(&inviter, right).await,
                    None => String::new(),
                };
                let (status, _, text) = server.ask(method, &real, &cookie, "{}".to_owned()).await;
                let refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
                let said = format!("{method} {path} with {has:?}: {status} {text}");
                match (needs, has) {
                    (None, _) => assert!(!refused, "{said}"),
                    (Some(_), None) => assert_eq!(status, StatusCode::UNAUTHORIZED, "{said}"),
                    (Some(needs), Some(has)) if has < *needs => {
                        assert_eq!(status, StatusCode::FORBIDDEN, "{said}");
                        assert!(text.contains("Ask whoever invited you for a link"), "{said}");
                    }
                    (Some(_), Some(_)) => {
                        assert!(!refused && status != StatusCode::METHOD_NOT_ALLOWED, "{said}");
                    }
                }
            }
        }
    }

    /// Each topic with the routes that read it.
    fn topics() -> [(Topic, &'static [&'static str]); 4] {
        let trouble = &["/api/trouble", "/trouble", "/trouble/card", "/trouble/note.txt"];
        let unit = &["/api/units/{unit}", "/u/{unit}", "/u/{unit}/plan", "/u/{unit}/plan/{plan}"];
        let run = &["/api/runs/{run}", "/api/runs/{run}/events", "/r/{run}", "/r/{run}/events.txt"];
        [
            (Topic::Units, &["/api/units", "/"]),
            (Topic::Trouble, trouble),
            (Topic::Unit(UnitId::new("shop")), unit),
            (Topic::Run(RunId::new("r1")), run),
        ]
    }

    #[tokio::test]
    async fn stream_lets_in_the_sessions_that_have_the_right_of_its_topic_and_no_others() {
        let tables: [fn(&Topic) -> Right; 4] =
            [Topic::needs, |_| Right::Look, |_| Right::Act, |_| Right::Force];
        for right_of in tables {
            let server = Server::with(Right::Force, right_of);
            let inviter = server.sign_in(&server.token).await;
            for (topic, has) in
                topics().iter().flat_map(|(topic, _)| Right::ALL.map(|has| (topic, has)))
            {
                let (needed, cookie) = (right_of(topic), server.session(&inviter, has).await);
                let path = format!("/api/events?topic={topic}");
                let (status, _, text) =
                    server.ask(&Method::GET, &path, &cookie, String::new()).await;
                let said = format!("{topic} needs {needed} with {has}: {status} {text}");
                if has < needed {
                    assert_eq!(status, StatusCode::FORBIDDEN, "{said}");
                    assert!(text.contains(&format!(r#""needs":"{needed}""#)), "{said}");
                    assert!(text.contains("Ask whoever invited you for a link"), "{said}");
                } else {
                    assert_eq!(
                        status,
                        StatusCode::SERVICE_UNAVAILABLE,
                        "its hub has ended: {said}"
                    );
                }
            }
        }
    }

    /// Whoever may not follow a topic must not be able to read it either.
    #[tokio::test]
    async fn routes_that_read_a_topic_need_the_right_of_the_topic() {
        let server = Server::new(Right::Act);
        for (topic, paths) in topics() {
            for path in paths {
                let is_one = |(method, it, _): &&(Method, String, Option<Right>)| {
                    *method == Method::GET && it == path
                };
                let (_, _, needs) = server.table.iter().find(is_one).unwrap();
                assert!(needs.is_some_and(|needs| needs >= topic.needs()), "{path} {needs:?}");
            }
        }
    }

    #[tokio::test]
    async fn table_has_every_page_of_the_app() {
        let server = Server::new(Right::Act);
        let routes = generate_route_list(App);
        let of_app: BTreeSet<&str> = routes.iter().map(|route| route.path()).collect();
        let pages = server.table.iter().map(|(_, path, _)| path.as_str());
        let is_page = |path: &&str| {
            ["/", "/trouble"].contains(path) || path.starts_with("/u/") || path.starts_with("/r/")
        };
        let pages: BTreeSet<&str> =
            pages.filter(is_page).filter(|path| !path.ends_with(".txt")).collect();
        assert_eq!(pages, of_app);
    }

    #[tokio::test]
    async fn metrics_are_not_among_the_routes_of_the_pages() {
        let server = Server::new(Right::Act);
        assert!(metrics().iter().all(|route| route.path == "/metrics"));
        assert!(!server.table.iter().any(|(_, path, _)| path.contains("metrics")));
    }

    /// A row names the routes of one right: `| act | `POST /api/plans`, … |`.
    #[tokio::test]
    async fn documentation_names_the_right_of_every_route_and_topic() {
        let documentation = include_str!("../http.rs");
        let server = Server::new(Right::Act);
        for (method, path, needs) in &server.table {
            let right = needs.map_or("none".to_owned(), |right| right.to_string());
            let mut rows =
                documentation.lines().filter(|line| line.starts_with(&format!("//! | {right} |")));
            let text = format!("`{method} {path}`");
            assert!(rows.any(|row| row.contains(&text)), "{text} is not in a row of {right}");
        }
        for (topic, _) in topics() {
            let (row, text) = (format!("//! | {} | the topics", topic.needs()), topic.to_string());
            let text = text.replace("shop", "{unit}").replace("r1", "{run}");
            let mut rows = documentation.lines().filter(|line| line.starts_with(&row));
            assert!(rows.any(|row| row.contains(&format!("`{text}`"))), "{text} is not in {row}");
        }
    }
}
