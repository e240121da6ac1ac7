//! The page, rendered with what the hub knows at that moment: it can be read before its script has loaded, and without
//! it. The address says what is shown: a route with `{plan}` shows that plan of `{unit}`, one with `{run}` that run,
//! one with `{unit}` that unit, or a new plan of it, `/trouble` every deletion that waits, any other the list of units
//! and runs.

use any_spawner::Executor;
use app::{
    Assets, PageSeed,
    navigation::address::{self, TROUBLE},
    shell, text,
};
use axum::{
    Extension,
    extract::{Query, RawPathParams, Request, State, rejection::RawPathParamsRejection},
    middleware::{Next, from_fn_with_state},
    response::Response,
    routing::{MethodRouter, get},
};
use http::{HeaderValue, StatusCode, Uri, header, request::Parts};
use jiff::Timestamp;
use leptos::{nonce::Nonce, prelude::*};
use leptos_axum::ResponseOptions;
use teardown::{
    advice::{Advice, SWITCHED_OFF},
    message::{Message, Record, Topic},
    plan::{Choices, Plan, PlanId},
    preflight::CheckState,
    run::RunId,
    unit::UnitId,
};

use super::{AppState, Failure, access::Person, advice};
use crate::hub::{HubClosed, HubHandle, Refusal};

/// The handler of every page that the app has.
pub(super) fn handler(state: &AppState) -> MethodRouter<AppState> {
    // Tasks that a page starts while it is rendered run here. A second initialisation is refused and does no harm.
    let _ = Executor::init_tokio();
    get(render).layer(from_fn_with_state(state.clone(), look))
}

/// A page that the app does not have; it says so itself.
pub(super) async fn unknown(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    mut request: Request,
) -> Result<Response, Failure> {
    let now = state.hub.time().await?;
    request.extensions_mut().insert(PageData {
        seed: seed(&state, &person, Sight::default(), Some(Failure::UnknownPath.code()), now),
        assets: state.site.assets().clone(),
        status: Failure::UnknownPath.status(),
    });
    Ok(render(request).await)
}

async fn render(request: Request) -> Response {
    leptos_axum::render_app_to_stream_with_context(provide, shell)(request).await
}

/// The most diagnoses about which advice comes with a page.
const ADVISED: usize = 20;

/// The data that a page is rendered with, found before rendering begins.
#[derive(Clone)]
struct PageData {
    seed: PageSeed,
    assets: Assets,
    status: StatusCode,
}

/// Finds what the request shows, for [`provide`].
async fn look(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    parameters: Result<RawPathParams, RawPathParamsRejection>,
    mut request: Request,
    next: Next,
) -> Result<Response, Failure> {
    let parameters = parameters.map_err(|rejection| Failure::Malformed(rejection.body_text()))?;
    let subject = Subject::of(&parameters, request.uri())?;
    let sight = sight(&subject, &state.hub).await?;
    if let (Subject::NewPlan(..), Err(refusal)) = (&subject, &sight) {
        return Err(refusal.clone().into());
    }
    let now = state.hub.time().await?;
    let (seed, status) = match sight {
        Ok(sight) => (seed(&state, &person, sight, None, now), StatusCode::OK),
        Err(refusal) => {
            let failure = Failure::from(refusal);
            let seed = seed(&state, &person, Sight::default(), Some(failure.code()), now);
            (seed, failure.status())
        }
    };
    let assets = state.site.assets().clone();
    request.extensions_mut().insert(PageData { seed, assets, status });
    Ok(next.run(request).await)
}

/// Puts what was found, and the nonce of this answer, where the app looks for them.
fn provide() {
    let Some(parts) = use_context::<Parts>() else { return };
    if let Some(nonce) = parts.extensions.get::<Nonce>() {
        provide_context(nonce.clone());
    }
    if let Some(PageData { seed, assets, status }) = parts.extensions.get::<PageData>() {
        provide_context(seed.clone());
        provide_context(assets.clone());
        if let Some(response) = use_context::<ResponseOptions>() {
            response.set_status(*status);
            if *status == StatusCode::SERVICE_UNAVAILABLE {
                response.insert_header(header::RETRY_AFTER, HeaderValue::from_static("2"));
            }
        }
    }
}

/// The subject of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Subject {
    Units,
    Unit(UnitId),
    Plan(UnitId, PlanId),
    NewPlan(UnitId, Choices),
    Run(RunId),
    Trouble,
}

impl Subject {
    fn of(parameters: &RawPathParams, uri: &Uri) -> Result<Self, Failure> {
        let named =
            |wanted| parameters.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value);
        Ok(match (named("run"), named("unit"), named("plan")) {
            (Some(run), _, _) => Self::Run(RunId::new(run)),
            (None, Some(unit), Some(plan)) => Self::Plan(UnitId::new(unit), PlanId::new(plan)),
            // The only page of a unit with more than its name in the path.
            (None, Some(unit), None) if uri.path().matches('/').count() > 2 => {
                let Query(query) = Query::<Vec<(String, String)>>::try_from_uri(uri)?;
                let pairs = query.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                let choices = Choices::of_query(pairs)
                    .map_err(|error| Failure::Malformed(error.to_string()))?;
                Self::NewPlan(UnitId::new(unit), choices)
            }
            (None, Some(unit), None) => Self::Unit(UnitId::new(unit)),
            (None, None, _) if uri.path() == TROUBLE => Self::Trouble,
            (None, None, _) => Self::Units,
        })
    }
}

/// The hub's records of a subject.
#[derive(Default)]
struct Sight {
    message: Option<Message>,
    plan: Option<Plan>,
    /// Advice about the diagnoses in the message and about the plan, by id.
    advice: Vec<(String, Advice)>,
}

async fn sight(subject: &Subject, hub: &HubHandle) -> Result<Result<Sight, Refusal>, HubClosed> {
    let topic = match subject {
        Subject::Units => Topic::Units,
        Subject::Trouble => Topic::Trouble,
        Subject::Unit(unit) | Subject::Plan(unit, _) | Subject::NewPlan(unit, _) => {
            Topic::Unit(unit.clone())
        }
        Subject::Run(run) => Topic::Run(run.clone()),
    };
    let message = hub.query(topic).await?;
    let plan = match (subject, &message) {
        (Subject::Plan(unit, plan), _) => match hub.plan(plan.clone()).await? {
            Ok(found) if found.unit == *unit => Some(found),
            Ok(_) => return Ok(Err(Refusal::UnknownPlan(plan.clone()))),
            Err(refusal) => return Ok(Err(refusal)),
        },
        (Subject::NewPlan(unit, choices), _) => {
            match hub.make_plan(unit.clone(), choices.clone()).await? {
                Ok(made) => Some(made),
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
        (Subject::Run(run), Ok(message)) => match performed(message, run) {
            // A run is shown even if its plan cannot be.
            Some(plan) => hub.plan(plan).await?.ok(),
            None => None,
        },
        (Subject::Units | Subject::Trouble | Subject::Unit(_) | Subject::Run(_), _) => None,
    };
    let preflight = match (subject, &plan) {
        // A person who may act has asked for this plan.
        (Subject::NewPlan(..), Some(plan)) => hub.start_preflight(plan.id.clone()).await?.ok(),
        (Subject::Plan(..), Some(plan)) => hub.preflight(plan.id.clone()).await?.ok(),
        _ => None,
    };
    // A page asks for a preflight itself where nobody has.
    let preflight = preflight.filter(|view| view.state != CheckState::NotRun);
    let about_plan = plan
        .as_ref()
        .zip(preflight)
        .map(|(plan, view)| (plan.id.to_string(), text::preflight(&view).advice));
    let plan = plan.map(|plan| Plan::clone(&plan));
    Ok(match message {
        Ok(message) => {
            let mut advice = advice_about(&message, hub).await?;
            advice.extend(about_plan);
            Ok(Sight { message: Some(message), plan, advice })
        }
        // A plan is known for longer than the unit that it took apart, and sooner than the cluster is read.
        Err(_) if matches!(subject, Subject::Plan(..) | Subject::NewPlan(..)) => {
            Ok(Sight { message: None, plan, advice: about_plan.into_iter().collect() })
        }
        Err(refusal) => Err(refusal),
    })
}

/// The address of a card in the list of trouble.
pub(super) fn card(diagnosis: &str) -> String {
    address::diagnosis(diagnosis)
}

/// The advice about the first diagnoses of a page and about what is switched off, to be read without a script. A page asks for the others itself.
async fn advice_about(
    message: &Message,
    hub: &HubHandle,
) -> Result<Vec<(String, Advice)>, HubClosed> {
    let Message::Snapshot { records, .. } = message else { return Ok(Vec::new()) };
    let ids = records.iter().filter_map(|record| match record {
        Record::Diagnosis(card) => Some(&card.diagnosis.id),
        _ => None,
    });
    let mut found = Vec::new();
    for id in ids.take(ADVISED) {
        // The diagnosis may have ended since.
        if let Ok(advice) = advice::advice(hub, id.clone()).await? {
            found.push((id.clone(), advice));
        }
    }
    let is_off = |record: &Record| matches!(record, Record::Cluster(card) if card.switched_off > 0);
    if records.iter().any(is_off) {
        let off = text::switched_off_advice(&hub.switched_off().await?);
        found.push((SWITCHED_OFF.to_owned(), off));
    }
    Ok(found)
}

/// The plan that the run in this snapshot performs.
fn performed(message: &Message, id: &RunId) -> Option<PlanId> {
    let Message::Snapshot { records, .. } = message else { return None };
    records.iter().find_map(|record| match record {
        Record::Run(run) if run.id == *id => Some(run.plan.clone()),
        _ => None,
    })
}

fn seed(
    state: &AppState,
    person: &Person,
    Sight { message, plan, advice }: Sight,
    refusal: Option<&str>,
    now: Timestamp,
) -> PageSeed {
    PageSeed {
        message,
        plan,
        refusal: refusal.map(str::to_owned),
        now,
        advice,
        build: state.site.build().to_owned(),
        signed_in: true,
        right: person.guest.right,
    }
}
