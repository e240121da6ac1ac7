//! The requests that a person makes of the server, with types.

use std::{future::Future, pin::Pin};

use gloo_net::http::{Request, RequestBuilder};
use jiff::Timestamp;
use leptos::prelude::location;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use teardown::{
    advice::{Advice, WayOffer},
    demo::DemoCommand,
    message::DemoFault,
    object::Uid,
    plan::{Choices, Difference, Parts, Plan, PlanId, StepId},
    right::Right,
    run::{RunCommand, RunId},
    unit::UnitId,
};

use crate::{navigation::address::encoded, text};

/// The server's answer where it did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Refusal {
    /// The kind of refusal, for programs.
    pub code: String,
    /// The fact in one sentence.
    pub what: String,
    /// The consequence of it.
    pub means: String,
    /// The advice.
    #[serde(rename = "do")]
    pub remedy: String,
    /// The id of the request, to be found in the log.
    pub request: String,
    /// Where a plan is stale: how the cluster differs from it.
    pub differences: Vec<Difference>,
}

impl Default for Refusal {
    fn default() -> Self {
        Self {
            code: "unknown".to_owned(),
            what: text::NO_ANSWER.to_owned(),
            means: text::NO_ANSWER_MEANS.to_owned(),
            remedy: text::NO_ANSWER_DO.to_owned(),
            request: String::new(),
            differences: Vec::new(),
        }
    }
}

impl Refusal {
    /// Whether the cluster has moved since the plan was made.
    pub fn is_stale_plan(&self) -> bool {
        self.code == "stalePlan"
    }
}

/// The body of an answer that refuses. Parts that are missing stay as they are without an answer.
#[derive(Deserialize)]
struct RefusalBody {
    error: Refusal,
}

/// Asks for a plan of a unit, with a person's choices.
pub async fn make_plan(unit: &UnitId, choices: &Choices) -> Result<Plan, Refusal> {
    #[derive(Serialize)]
    struct Body<'a> {
        unit: &'a UnitId,
        choices: &'a Choices,
    }
    ask("/api/plans", &Body { unit, choices }).await
}

/// Reads a plan.
pub async fn read_plan(plan: &PlanId) -> Result<Plan, Refusal> {
    read(get(&format!("/api/plans/{}", encoded(&plan.to_string())))).await
}

/// Starts the preflight of a plan, or only reads the last one.
pub async fn preflight(plan: &PlanId, start: bool) -> Result<Advice, Refusal> {
    let path = format!("/api/plans/{}/preflight", encoded(&plan.to_string()));
    read(if start { post(&path, &Nothing {}) } else { get(&path) }).await
}

/// Reads the advice about a diagnosis.
pub async fn read_advice(diagnosis: &str) -> Result<Advice, Refusal> {
    read(get(&format!("/api/trouble/advice?id={}", encoded(diagnosis)))).await
}

/// Has the server do a remedy. The name in the offer is what was typed.
pub async fn remedy(offer: &WayOffer, statement: &str) -> Result<(), Refusal> {
    #[derive(Serialize)]
    struct Body<'a> {
        diagnosis: &'a str,
        remedy: &'a str,
        confirm: &'a str,
        statement: &'a str,
    }
    let WayOffer { diagnosis, hash: remedy, name: confirm, .. } = offer;
    send("/api/remedies", &Body { diagnosis, remedy, confirm, statement }).await
}

/// Starts a plan that was confirmed by its hash, the unit's name and a tick for each part that [`Plan::check_confirmed`] asks
/// for.
pub async fn start_run(plan: &Plan, confirm: &str) -> Result<RunId, Refusal> {
    #[derive(Serialize)]
    struct Body<'a> {
        plan: &'a PlanId,
        hash: &'a str,
        confirm: &'a str,
        #[serde(flatten)]
        parts: Parts,
    }
    #[derive(Deserialize)]
    struct Started {
        run: RunId,
    }
    let body = Body { plan: &plan.id, hash: &plan.hash, confirm, parts: plan.parts() };
    ask("/api/runs", &body).await.map(|Started { run }| run)
}

/// Gives a run a command.
pub async fn command_run(run: &RunId, command: RunCommand) -> Result<(), Refusal> {
    send(&format!("/api/runs/{}/{command}", encoded(run.as_str())), &Nothing {}).await
}

/// Takes it on that no Pod writes to the storage of a step any more.
pub async fn take_on(
    run: &RunId,
    step: StepId,
    confirm: &str,
    pods: &[Uid],
) -> Result<(), Refusal> {
    #[derive(Serialize)]
    struct Body<'a> {
        confirm: &'a str,
        pods: &'a [Uid],
    }
    let path = format!("/api/runs/{}/steps/{step}/take-on", encoded(run.as_str()));
    send(&path, &Body { confirm, pods }).await
}

/// Makes a link that signs another browser in and opens this page there. Without a name it is for the same person.
pub async fn session_link(name: &str, right: Right) -> Result<String, Refusal> {
    #[derive(Serialize)]
    struct Body<'a> {
        name: Option<&'a str>,
        path: &'a str,
        right: Right,
    }
    #[derive(Deserialize)]
    struct Made {
        url: String,
    }
    let name = Some(name.trim()).filter(|name| !name.is_empty());
    let path = location().pathname().unwrap_or_default() + &location().search().unwrap_or_default();
    ask("/api/session/link", &Body { name, path: &path, right }).await.map(|Made { url }| url)
}

/// A link that this session may take back, or the session that it signed in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LinkCard {
    /// The id of both.
    pub id: String,
    /// The guest's name.
    pub name: String,
    /// The inviter, where the guest has another name.
    pub invited_by: Option<String>,
    /// The greatest right of the session.
    pub right: Right,
    /// The last use of the session; `None` if nobody has used the link yet.
    #[serde(with = "teardown::millis::optional")]
    pub used: Option<Timestamp>,
}

impl LinkCard {
    /// The key of its row, which is drawn again when the session was used.
    pub fn key(&self) -> String {
        format!("{} {:?}", self.id, self.used.map(Timestamp::as_millisecond))
    }
}

/// Reads the links that this session may take back.
pub async fn session_links() -> Result<Vec<LinkCard>, Refusal> {
    #[derive(Deserialize)]
    struct Links {
        links: Vec<LinkCard>,
    }
    read(get("/api/session/links")).await.map(|Links { links }| links)
}

/// Takes a link back, and ends the session that it signed in.
pub async fn take_back(id: &str) -> Result<(), Refusal> {
    send(&format!("/api/session/links/{}/end", encoded(id)), &Nothing {}).await
}

/// Ends the session of this browser.
pub async fn sign_out() -> Result<(), Refusal> {
    send("/api/session/end", &Nothing {}).await
}

/// The status of the server's answer to a request for a topic: a closed stream does not say why it was closed.
pub async fn status_of(topic: &str) -> Option<u16> {
    let path = match topic.split_once(':') {
        Some((kind, id)) => format!("/api/{kind}s/{}", encoded(id)),
        None => "/api/units".to_owned(),
    };
    let request = Request::get(&path).header("Accept", "application/json");
    request.send().await.ok().map(|response| response.status())
}

/// Changes the simulated cluster, where the cluster is one.
pub async fn run_demo_command(command: &DemoCommand) -> Result<(), Refusal> {
    send("/api/demo", command).await
}

/// The command that flips a fault switch.
pub fn switch(what: DemoFault, subject: &str) -> impl Fn(bool) -> DemoCommand + Send + use<> {
    let subject = subject.to_owned();
    move |on| {
        let subject = subject.clone();
        if on {
            DemoCommand::TurnOff { what, subject }
        } else {
            DemoCommand::TurnOn { what, subject }
        }
    }
}

/// A body that says nothing.
#[derive(Serialize)]
struct Nothing {}

async fn send(path: &str, body: &impl Serialize) -> Result<(), Refusal> {
    post(path, body).await.map(drop)
}

async fn ask<T: DeserializeOwned>(path: &str, body: &impl Serialize) -> Result<T, Refusal> {
    read(post(path, body)).await
}

fn post(path: &str, body: &impl Serialize) -> Answer {
    // A body of names and numbers is always written.
    exchange(Request::post(path), Some(serde_json::to_string(body).unwrap_or_default()))
}

fn get(path: &str) -> Answer {
    exchange(Request::get(path), None)
}

async fn read<T: DeserializeOwned>(answer: Answer) -> Result<T, Refusal> {
    serde_json::from_str(&answer.await?).map_err(|_| Refusal::default())
}

/// The text of an answer. It is boxed, so that the code which sends a request is compiled once and not into each future that
/// waits for one.
type Answer = Pin<Box<dyn Future<Output = Result<String, Refusal>>>>;

fn exchange(request: RequestBuilder, body: Option<String>) -> Answer {
    Box::pin(async move {
        let request = request.header("Accept", "application/json");
        let request = match body {
            Some(body) => request.header("Content-Type", "application/json").body(body),
            None => request.build(),
        };
        let no_answer = |_| Refusal::default();
        let response = request.map_err(no_answer)?.send().await.map_err(no_answer)?;
        let text = response.text().await.map_err(no_answer)?;
        if response.ok() { Ok(text) } else { Err(refusal(&text)) }
    })
}

fn refusal(text: &str) -> Refusal {
    serde_json::from_str::<RefusalBody>(text).map(|body| body.error).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_without_all_parts_is_read_with_the_rest_as_without_an_answer() {
        let text = r#"{"error":{"code":"stalePlan","what":"w","do":"d","differences":[]}}"#;
        let RefusalBody { error } = serde_json::from_str(text).unwrap();
        assert!(error.is_stale_plan());
        assert_eq!((error.what.as_str(), error.remedy.as_str()), ("w", "d"));
        assert_eq!(error.means, Refusal::default().means);
    }
}
