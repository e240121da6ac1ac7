//! The server's door: its router, asked in process by somebody who is signed in, and by somebody who must not come in.

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
    run::RunId,
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::{application::is_given_away, oracle::Offence, stream::Stream};

/// Nobody listens here: requests are handed to the router.
const HOST: &str = "127.0.0.1:7433";

/// A page without anything on it, once for all games.
static SITE: LazyLock<io::Result<Site>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulation-site");
    std::fs::create_dir_all(root.join("pkg"))?;
    for extension in ["js", "wasm", "css"] {
        std::fs::write(root.join(format!("pkg/unwind.0123456789abcdef.{extension}")), "")?;
    }
    Site::open(&root).map_err(io::Error::other)
});

/// The router of one life of the server, with the cookie of Li.
#[derive(Clone)]
pub(crate) struct Door {
    router: Router,
    cookie: String,
}

impl Door {
    /// Opens it, and signs Li in.
    ///
    /// # Errors
    /// What kept it shut, in words.
    pub(crate) async fn open(hub: HubHandle) -> Result<Self, String> {
        let site = SITE.as_ref().map_err(ToString::to_string)?.clone();
        let address: SocketAddr = HOST.parse().map_err(|error| format!("{HOST}: {error}"))?;
        let (access, link) = LocalAccess::open(address, None, "Li", Timestamp::now());
        let state = AppState::new(hub, Arc::new(access), site, CancellationToken::new());
        let mut door = Self { router: router(state), cookie: String::new() };
        let url = link.url();
        let token = url.split_once("#k=").map_or("", |(_, token)| token);
        let body = json!({ "token": token }).to_string();
        let answer = door.ask(Method::POST, "/api/session", &[], body).await?;
        let cookie = answer.headers().get(header::SET_COOKIE).and_then(|it| it.to_str().ok());
        let cookie = cookie.and_then(|it| it.split(';').next());
        door.cookie = cookie.ok_or("signing in gave no cookie")?.to_owned();
        Ok(door)
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
    /// The answer, where it is none that can be followed.
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

    /// What is answered, in full, and I10: that nothing is given away by it.
    async fn hear(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
        offences: &mut Vec<Offence>,
    ) -> Result<StatusCode, String> {
        let answer = self.ask(method.clone(), path, headers, body.to_string()).await?;
        let status = answer.status();
        let bytes = answer.into_body().collect().await.map_err(|error| error.to_string())?;
        offences
            .extend(told(&format!("{method} {path}"), &String::from_utf8_lossy(&bytes.to_bytes())));
        Ok(status)
    }

    /// Li reads all there is and asks for all that can be asked for, much of it in vain. Tells what was given away by the
    /// answers.
    pub(crate) async fn ask_around(&self, plan: &Plan, run: &RunId) -> Vec<Offence> {
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
        let mut offences = vec![];
        for (method, path, body) in reads.chain(writes).chain(late) {
            let cookie = [("cookie", self.cookie.as_str())];
            // Whoever is just dying answers nothing.
            _ = self.hear(method, &path, &cookie, &body, &mut offences).await;
        }
        offences
    }

    /// I5: somebody without a session, and somebody on another site who has Li's browser, try all that changes anything.
    /// Tells what they were let do. `borrowed`: the cookie is put into their hands.
    pub(crate) async fn intrude(&self, plan: &Plan, run: &RunId, borrowed: bool) -> Vec<Offence> {
        let cookie = ("cookie", self.cookie.as_str());
        let visitors: [&[(&str, &str)]; 4] = [
            if borrowed { &[cookie] } else { &[] },
            &[(
                "cookie",
                "unwind_7433=0000000000000000000000000000000000000000000000000000000000000000",
            )],
            &[cookie, ("origin", "http://elsewhere.example")],
            &[cookie, ("sec-fetch-site", "same-site")],
        ];
        let confirmed = json!({"plan": plan.id, "hash": plan.hash, "confirm": plan.unit});
        let deeds = [
            ("/api/plans".to_owned(), json!({"unit": plan.unit})),
            ("/api/runs".to_owned(), confirmed),
            (format!("/api/runs/{run}/pause"), json!({})),
            (format!("/api/runs/{run}/steps/0/skip"), json!({})),
            (format!("/api/runs/{run}/stop"), json!({})),
            ("/api/session/link".to_owned(), json!({})),
        ];
        let mut offences = vec![];
        for visitor in visitors {
            for (path, body) in &deeds {
                let answer = self.hear(Method::POST, path, visitor, body, &mut offences).await;
                let refused =
                    matches!(answer, Ok(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN));
                if !refused {
                    let text = format!("POST {path} of a stranger was answered {answer:?}");
                    offences.push(Offence::new("I5", text));
                }
            }
        }
        offences
    }
}

/// I10: whether an answer gives a secret away.
pub(crate) fn told(asked: &str, answer: &str) -> Option<Offence> {
    let text = || format!("a secret is in the answer to {asked}");
    is_given_away(answer).then(|| Offence::new("I10", text()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::{CANARY, ENCODED};

    #[test]
    fn an_answer_gives_nothing_away() {
        assert_eq!(told("POST /api/runs", "{}"), None);
        for secret in [CANARY, ENCODED] {
            let answer = format!(r#"{{"error": {{"what": "no: {secret}"}}}}"#);
            let offence = told("POST /api/runs", &answer).unwrap();
            assert_eq!(offence.text, "a secret is in the answer to POST /api/runs");
        }
    }
}
