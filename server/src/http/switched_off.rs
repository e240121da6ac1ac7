//! The page about the things that remedies and runs switched off, with a form that puts one back.
//!
//! # Decisions
//! - The server writes the page, and it works without a script. Every page of the app leads to it while something is switched
//!   off, so the app needs no second form for it.
//! - To put a thing back is the plan of one step that `POST /api/remedies` takes for the advice `switchedOff`: the same
//!   confirmation by the object's name, the same journal, the same guards.
//! - Whoever may act may make a parent active again, because a run suspended it; so that form has a route of its own.

use app::{navigation::address, text};
use axum::{
    Extension, Form,
    extract::{State, rejection::FormRejection},
    response::{IntoResponse, Redirect},
};
use serde::Deserialize;
use teardown::{
    advice::Way,
    remedy::{Attempt, Harm, PutBack},
    right::Right,
};

use super::{
    AppState, Failure,
    access::Person,
    plain::{cluster, escape, framed, heading, paragraph},
};

/// The remedies that the page shows, the latest first: a card goes with its cause, and its attempts with it.
const ATTEMPTS: usize = 10;

/// The page.
pub(super) async fn read(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
) -> Result<impl IntoResponse, Failure> {
    let off = state.hub.switched_off().await?;
    let attempts = state.hub.attempts().await?;
    let cluster = cluster(&state.hub).await?;
    let content = content(&off, &attempts, person.guest.right);
    Ok(framed(text::SWITCHED_OFF, &content, cluster.as_ref()))
}

#[derive(Deserialize)]
pub(super) struct Confirmed {
    attempt: String,
    confirm: String,
}

/// Puts a thing back, from the form on the page.
pub(super) async fn put_back(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    form: Result<Form<Confirmed>, FormRejection>,
) -> Result<Redirect, Failure> {
    let Confirmed { attempt, confirm } = confirmed(form, &person)?;
    state.hub.undo_remedy(attempt, confirm, person.guest.recorded()).await??;
    Ok(Redirect::to(address::SWITCHED_OFF))
}

/// Makes a parent active again that a run suspended, from the form on the page.
pub(super) async fn resume(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    form: Result<Form<Confirmed>, FormRejection>,
) -> Result<Redirect, Failure> {
    let Confirmed { attempt, confirm } = confirmed(form, &person)?;
    state.hub.resume_parent(attempt, confirm, person.guest.recorded()).await??;
    Ok(Redirect::to(address::SWITCHED_OFF))
}

fn confirmed(
    form: Result<Form<Confirmed>, FormRejection>,
    person: &Person,
) -> Result<Confirmed, Failure> {
    let Form(Confirmed { attempt, confirm }) =
        form.map_err(|rejection| Failure::Malformed(rejection.body_text()))?;
    // The session may have been taken back while the body arrived.
    if person.ended.is_cancelled() {
        return Err(Failure::NotSignedIn);
    }
    Ok(Confirmed { attempt, confirm: confirm.trim().to_owned() })
}

fn content(off: &[PutBack], attempts: &[Attempt], right: Right) -> String {
    let mut html = String::new();
    if off.is_empty() {
        html += &paragraph(text::NOTHING_SWITCHED_OFF);
    }
    for (way, off) in text::switched_off_advice(off).ways.iter().zip(off) {
        html += &one(way, off.right(), right);
    }
    if !attempts.is_empty() {
        html += &heading(text::REMEDIES_DONE);
    }
    let latest = attempts.iter().take(ATTEMPTS);
    latest.for_each(|attempt| html += &paragraph(&text::attempt(attempt)));
    html
}

fn one(way: &Way, needed: Right, right: Right) -> String {
    let mut html = heading(&way.title) + &paragraph(&way.does);
    for command in &way.commands {
        html += &format!("<pre tabindex=\"0\"><code>{}</code></pre>\n", escape(&command.line));
    }
    match &way.offer {
        Some(offer) if right >= needed => {
            // To delete a namespace that was created again takes its content with it.
            let class = if way.harm == Harm::Reversible { "primary" } else { "danger" };
            let action = if needed == Right::Force { "put-back" } else { "resume" };
            html += &format!(
                r#"<form method="post" action="{}/{action}"><input type="hidden" name="attempt" value="{}">
<p><label>{} <input name="confirm" required autocomplete="off"></label></p>
<p><button class="button {class}">{}</button></p></form>
"#,
                address::SWITCHED_OFF,
                escape(&offer.hash),
                escape(&text::confirm_type(&offer.name)),
                escape(&way.title),
            );
        }
        Some(_) if needed == Right::Force => html += &paragraph(text::NO_FORCE),
        Some(_) => html += &paragraph(text::NOT_ALLOWED),
        None => {}
    }
    html
}

#[cfg(test)]
mod tests {
    use teardown::{
        advice::WayOffer,
        object::ObjectRef,
        remedy::{AttemptOutcome, RemedyAct, Request, Verb},
    };

    use super::*;

    fn off() -> Way {
        Way {
            title: "Put Node <n1> back".to_owned(),
            harm: Harm::Reversible,
            harms: String::new(),
            does: "Since 2026-11-21 12:03:41 UTC, Li.".to_owned(),
            reaches: vec![],
            loses: vec![],
            needs: vec![],
            undo: None,
            withheld: None,
            commands: vec![],
            offer: Some(WayOffer {
                diagnosis: teardown::advice::SWITCHED_OFF.to_owned(),
                hash: "0f".to_owned(),
                name: "<n1>".to_owned(),
                statement: None,
                machine: vec![],
            }),
        }
    }

    #[test]
    fn remedy_that_switched_nothing_off_is_listed_too() {
        let pod = ObjectRef {
            group: "".into(),
            kind: "Pod".into(),
            namespace: Some("shop".into()),
            name: "a".into(),
        };
        let request = Request {
            verb: Verb::Delete,
            path: "/api/v1/namespaces/shop/pods/a".into(),
            body: serde_json::Value::Null,
            object: pod.clone(),
            uid: None,
        };
        let attempt = Attempt {
            id: "a1".to_owned(),
            undoes: None,
            diagnosis: "nodeSilent".to_owned(),
            root: pod,
            held: vec![],
            act: RemedyAct::DeleteWebhookConfiguration,
            request,
            undo: None,
            by: "Li".to_owned(),
            statement: String::new(),
            asked: jiff::Timestamp::UNIX_EPOCH,
            ended: None,
            outcome: AttemptOutcome::Accepted { meanwhile: None },
            settled: false,
            unconfirmed: vec![],
        };
        let html = content(&[], std::slice::from_ref(&attempt), Right::Look);
        assert!(html.contains(text::REMEDIES_DONE), "{html}");
        assert!(html.contains(&escape(&text::attempt(&attempt))), "{html}");
    }

    #[test]
    fn form_is_for_a_session_that_may_do_it_and_others_read_who_may() {
        let of = |needed, right| one(&off(), needed, right);
        for right in [Right::Look, Right::Act, Right::Force] {
            let html = of(Right::Force, right);
            assert!(html.contains("Put Node &lt;n1&gt; back"), "{html}");
            assert!(html.contains("Since 2026-11-21 12:03:41 UTC, Li."), "{html}");
        }
        let form = |route: &str| {
            format!(
                r#"action="/switched-off/{route}"><input type="hidden" name="attempt" value="0f">"#
            )
        };
        assert!(of(Right::Force, Right::Force).contains(&form("put-back")));
        assert!(of(Right::Act, Right::Act).contains(&form("resume")));
        let button = |harm| one(&Way { harm, ..off() }, Right::Force, Right::Force);
        assert!(button(Harm::Reversible).contains(r#"class="button primary">Put Node"#));
        assert!(button(Harm::Deletion).contains(r#"class="button danger">Put Node"#));
        let other = of(Right::Force, Right::Act);
        assert!(!other.contains("<form") && other.contains(text::NO_FORCE), "{other}");
        let guest = of(Right::Act, Right::Look);
        assert!(!guest.contains("<form") && guest.contains(text::NOT_ALLOWED), "{guest}");
        assert!(content(&[], &[], Right::Force).contains(text::NOTHING_SWITCHED_OFF));
    }
}
