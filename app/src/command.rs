//! What a person asks the server to do, as typed requests.

use leptos::prelude::*;
use teardown::{
    message::DemoFault,
    plan::{Difference, Plan, PlanId, StepId},
    run::RunId,
    unit::UnitId,
};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Headers, RequestInit, Response};

use crate::{
    address::encoded,
    text,
    wire::{self, Json, Wire, part, structs},
};

/// The server's answer where it did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What went wrong, for programs.
    pub code: String,
    /// What went wrong.
    pub what: String,
    /// What that means.
    pub means: String,
    /// What a person can do; on the wire `do`.
    pub remedy: String,
    /// The request, for whoever looks into the log.
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

/// As the server writes it: inside `error`, and what is missing stays as it is without an answer.
impl Wire for Refusal {
    fn read(json: &Json<'_>) -> Option<Self> {
        let error = json.get("error");
        error.map()?;
        let unanswered = Self::default();
        Some(Self {
            code: part(error, "code").unwrap_or(unanswered.code),
            what: part(error, "what").unwrap_or(unanswered.what),
            means: part(error, "means").unwrap_or(unanswered.means),
            remedy: part(error, "do").unwrap_or(unanswered.remedy),
            request: part(error, "request").unwrap_or_default(),
            differences: part(error, "differences").unwrap_or_default(),
        })
    }
}

structs! {
    Started { run }
    Made { url }
}

/// Asks for a plan of a unit.
pub async fn make_plan(unit: &UnitId) -> Result<Plan, Refusal> {
    ask("POST", "/api/plans", Some(&body(&[("unit", unit.as_str())]))).await
}

/// Reads a plan.
pub async fn read_plan(plan: &PlanId) -> Result<Plan, Refusal> {
    ask("GET", &format!("/api/plans/{}", encoded(&plan.to_string())), None).await
}

struct Started {
    run: RunId,
}

/// Starts a plan that was confirmed by its hash and the unit's name.
pub async fn start_run(plan: &Plan, confirm: &str) -> Result<RunId, Refusal> {
    let plan_id = plan.id.to_string();
    let body = body(&[("plan", &plan_id), ("hash", &plan.hash), ("confirm", confirm)]);
    ask::<Started>("POST", "/api/runs", Some(&body)).await.map(|started| started.run)
}

/// What a run can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunCommand {
    /// Send nothing until resumed.
    Pause,
    /// Go on.
    Resume,
    /// Send nothing any more.
    Stop,
}

/// Tells a run.
pub async fn order(run: &RunId, order: RunCommand) -> Result<(), Refusal> {
    let verb = match order {
        RunCommand::Pause => "pause",
        RunCommand::Resume => "resume",
        RunCommand::Stop => "stop",
    };
    tell(&format!("/api/runs/{}/{verb}", encoded(run.as_str()))).await
}

/// Leaves a step out.
pub async fn skip(run: &RunId, step: StepId) -> Result<(), Refusal> {
    tell(&format!("/api/runs/{}/steps/{step}/skip", encoded(run.as_str()))).await
}

struct Made {
    url: String,
}

/// Makes a link that signs another browser in.
pub async fn session_link() -> Result<String, Refusal> {
    ask::<Made>("POST", "/api/session/link", Some("{}")).await.map(|made| made.url)
}

/// Ends the session of this browser.
pub async fn sign_out() -> Result<(), Refusal> {
    tell("/api/session/end").await
}

/// With which status the server answers who asks for a topic: a closed stream does not say why it was closed.
pub async fn status_of(topic: &str) -> Option<u16> {
    let path = match topic.split_once(':') {
        Some((what, id)) => format!("/api/{what}s/{}", encoded(id)),
        None => "/api/units".to_owned(),
    };
    fetch("GET", &path, None).await.ok().map(|response| response.status())
}

/// Plays, where the cluster is only played; `body` is a [`teardown::demo::DemoCommand`] as JSON.
pub async fn play(body: &str) -> Result<(), Refusal> {
    send("/api/demo", body).await
}

/// The command that flips a fault switch.
pub fn switch(what: DemoFault, subject: &str) -> impl Fn(bool) -> String + Send + use<> {
    let what = match what {
        DemoFault::Incident => "incident",
        DemoFault::Operator => "operator",
        DemoFault::Node => "node",
        DemoFault::Metrics => "metrics",
        DemoFault::Nfs => "nfs",
        DemoFault::Volume => "volume",
    };
    let subject = subject.to_owned();
    move |on| {
        let command = if on { "turnOff" } else { "turnOn" };
        body(&[("command", command), ("what", what), ("subject", &subject)])
    }
}

async fn tell(path: &str) -> Result<(), Refusal> {
    send(path, "{}").await
}

async fn send(path: &str, body: &str) -> Result<(), Refusal> {
    let response = fetch("POST", path, Some(body)).await?;
    if response.ok() { Ok(()) } else { Err(refusal(&read(&response).await?)) }
}

/// A JSON map of texts, written by the browser.
fn body(parts: &[(&str, &str)]) -> String {
    let map = js_sys::Object::new();
    for (name, text) in parts {
        // Setting a property of a fresh object cannot fail.
        let _ = js_sys::Reflect::set(&map, &JsValue::from_str(name), &JsValue::from_str(text));
    }
    js_sys::JSON::stringify(&map).map(String::from).unwrap_or_default()
}

async fn ask<T: Wire>(method: &str, path: &str, body: Option<&str>) -> Result<T, Refusal> {
    let response = fetch(method, path, body).await?;
    let text = read(&response).await?;
    if !response.ok() {
        return Err(refusal(&text));
    }
    wire::read(&text).ok_or_else(Refusal::default)
}

fn refusal(text: &str) -> Refusal {
    wire::read(text).unwrap_or_default()
}

async fn fetch(method: &str, path: &str, body: Option<&str>) -> Result<Response, Refusal> {
    let unanswered = |_: JsValue| Refusal::default();
    let headers = Headers::new().map_err(unanswered)?;
    headers.set("Accept", "application/json").map_err(unanswered)?;
    let init = RequestInit::new();
    init.set_method(method);
    if let Some(body) = body {
        headers.set("Content-Type", "application/json").map_err(unanswered)?;
        init.set_body(&JsValue::from_str(body));
    }
    init.set_headers(headers.as_ref());
    let answer =
        JsFuture::from(window().fetch_with_str_and_init(path, &init)).await.map_err(unanswered)?;
    answer.dyn_into().map_err(unanswered)
}

async fn read(response: &Response) -> Result<String, Refusal> {
    let unanswered = |_: JsValue| Refusal::default();
    let text = JsFuture::from(response.text().map_err(unanswered)?).await.map_err(unanswered)?;
    Ok(text.as_string().unwrap_or_default())
}
