//! An HTTP client of the server's router, in process: with a session, and without one.

use std::{
    io,
    net::SocketAddr,
    path::Path,
    sync::{Arc, LazyLock},
};

use axum::{Router, body::Body};
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use jiff::Timestamp;
use serde_json::{Value, json};
use server::{
    http::{AppState, LocalAccess, Site, router},
    hub::HubHandle,
};
use teardown::{
    message::{Revision, Topic},
    plan::Plan,
    right::Right,
    run::RunId,
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::{application::contains_secret, oracle::Violation, stream::Stream};

/// Nothing listens on this address, because requests go directly to the router.
const HOST: &str = "127.0.0.1:7433";

/// An empty site, built once for all runs.
static SITE: LazyLock<io::Result<Site>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulation-site");
    std::fs::create_dir_all(root.join("pkg"))?;
    for extension in ["js", "wasm", "css"] {
        std::fs::write(root.join(format!("pkg/unwind.0123456789abcdef.{extension}")), "")?;
    }
    Site::open(&root).map_err(io::Error::other)
});

/// The router of one server instance, with the session cookie of an operator.
#[derive(Clone)]
pub(crate) struct HttpClient {
    router: Router,
    cookie: String,
}

impl HttpClient {
    /// Signs an operator in.
    ///
    /// # Errors
    /// The reason for which the sign-in failed.
    pub(crate) async fn open(hub: HubHandle) -> Result<Self, String> {
        let site = SITE.as_ref().map_err(ToString::to_string)?.clone();
        let address: SocketAddr = HOST.parse().map_err(|error| format!("{HOST}: {error}"))?;
        let (access, link) = LocalAccess::open(address, None, "Li", Right::Act, Timestamp::now());
        let state = AppState::new(hub, Arc::new(access), site, CancellationToken::new());
        let mut client = Self { router: router(state), cookie: String::new() };
        let url = link.url();
        let token = url.split_once("#k=").map_or("", |(_, token)| token);
        let body = json!({ "token": token }).to_string();
        let answer = client.ask(Method::POST, "/api/session", &[], body).await?;
        let cookie = answer.headers().get(header::SET_COOKIE).and_then(|it| it.to_str().ok());
        let cookie = cookie.and_then(|it| it.split(';').next());
        client.cookie = cookie.ok_or("signing in gave no cookie")?.to_owned();
        Ok(client)
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<Response<Body>, String> {
        let request = Request::builder().method(method).uri(path).header(header::HOST, HOST);
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = request.body(Body::from(body)).map_err(|error| error.to_string())?;
        self.router.clone().oneshot(request).await.map_err(|error| error.to_string())
    }

    /// Follows a topic from a revision on.
    ///
    /// # Errors
    /// The status, where the server refuses the stream.
    pub(crate) async fn follow(
        &self,
        topic: &Topic,
        after: Option<Revision>,
    ) -> Result<Stream, String> {
        let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
        let path = format!("/api/events?topic={topic}{after}");
        let cookie = [("cookie", self.cookie.as_str())];
        let answer = self.ask(Method::GET, &path, &cookie, String::new()).await?;
        if answer.status() != StatusCode::OK {
            return Err(answer.status().to_string());
        }
        Ok(Stream::of(answer.into_body()))
    }

    /// Sends a request, reads the answer to its end, and checks that it contains no secret (I10).
    async fn ask_and_check(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
        violations: &mut Vec<Violation>,
    ) -> Result<StatusCode, String> {
        let answer = self.ask(method.clone(), path, headers, body.to_string()).await?;
        let status = answer.status();
        let bytes = answer.into_body().collect().await.map_err(|error| error.to_string())?;
        violations.extend(leaked_secret(
            &format!("{method} {path}"),
            &String::from_utf8_lossy(&bytes.to_bytes()),
        ));
        Ok(status)
    }

    /// Sends every request that an operator can send, many of them invalid. Returns the answers that contain a secret.
    pub(crate) async fn request_everything(&self, plan: &Plan, run: &RunId) -> Vec<Violation> {
        let (unit, id) = (&plan.unit, &plan.id);
        let reads = [
            "/api/units".to_owned(),
            format!("/api/units/{unit}"),
            format!("/api/runs/{run}"),
            format!("/api/plans/{id}"),
            "/api/units/nobody".to_owned(),
        ];
        let reads = reads.into_iter().map(|path| (Method::GET, path, Value::Null));
        let confirmed = |hash: &str, name: &str| json!({"plan": id, "hash": hash, "confirm": name});
        let writes = [
            ("/api/plans", json!({"unit": unit})),
            ("/api/plans", json!({"unit": "nobody"})),
            ("/api/plans", json!({"unit": unit, "force": true})),
            ("/api/runs", confirmed("0", unit.as_str())),
            ("/api/runs", confirmed(&plan.hash, "nobody")),
            ("/api/runs", confirmed(&plan.hash, unit.as_str())),
            ("/api/runs/nobody/stop", json!({})),
        ];
        let writes = writes.map(|(path, body)| (Method::POST, path.to_owned(), body));
        let skip = format!("/api/runs/{run}/steps/{}/skip", plan.steps.len());
        let late = [(Method::POST, skip, json!({}))];
        let mut violations = vec![];
        for (method, path, body) in reads.chain(writes).chain(late) {
            let cookie = [("cookie", self.cookie.as_str())];
            // A server that is being killed gives no answer.
            _ = self.ask_and_check(method, &path, &cookie, &body, &mut violations).await;
        }
        violations
    }

    /// I5: clients without a session, and a client on another site that has the operator's cookie, send every request
    /// that changes something. Returns those that were not refused. `has_cookie` gives the cookie to the client without
    /// a session.
    pub(crate) async fn request_unauthenticated(
        &self,
        plan: &Plan,
        run: &RunId,
        has_cookie: bool,
    ) -> Vec<Violation> {
        let cookie = ("cookie", self.cookie.as_str());
        let clients: [&[(&str, &str)]; 4] = [
            if has_cookie { &[cookie] } else { &[] },
            &[(
                "cookie",
                "unwind_7433=0000000000000000000000000000000000000000000000000000000000000000",
            )],
            &[cookie, ("origin", "http://elsewhere.example")],
            &[cookie, ("sec-fetch-site", "same-site")],
        ];
        let confirmed = json!({"plan": plan.id, "hash": plan.hash, "confirm": plan.unit});
        let requests = [
            ("/api/plans".to_owned(), json!({"unit": plan.unit})),
            ("/api/runs".to_owned(), confirmed),
            (format!("/api/runs/{run}/pause"), json!({})),
            (format!("/api/runs/{run}/steps/0/skip"), json!({})),
            (format!("/api/runs/{run}/stop"), json!({})),
            ("/api/session/link".to_owned(), json!({})),
        ];
        let mut violations = vec![];
        for client_headers in clients {
            for (path, body) in &requests {
                let answer = self
                    .ask_and_check(Method::POST, path, client_headers, body, &mut violations)
                    .await;
                let refused =
                    matches!(answer, Ok(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN));
                if !refused {
                    let text = format!("POST {path} without a session was answered {answer:?}");
                    violations.push(Violation::new("I5", text));
                }
            }
        }
        violations
    }
}

/// I10: reports an answer that contains a secret.
pub(crate) fn leaked_secret(asked: &str, answer: &str) -> Option<Violation> {
    let text = || format!("a secret is in the answer to {asked}");
    contains_secret(answer).then(|| Violation::new("I10", text()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::{CANARY, ENCODED};

    #[test]
    fn answer_with_a_secret_is_reported() {
        assert_eq!(leaked_secret("POST /api/runs", "{}"), None);
        for secret in [CANARY, ENCODED] {
            let answer = format!(r#"{{"error": {{"what": "no: {secret}"}}}}"#);
            let violation = leaked_secret("POST /api/runs", &answer).unwrap();
            assert_eq!(violation.text, "a secret is in the answer to POST /api/runs");
        }
    }
}
