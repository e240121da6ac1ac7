//! The page about the journal: whether it can be written, and the runs in it that cannot be read, with a form that releases
//! one.
//!
//! # Decisions
//! - The server writes the page, and it works without a script: nobody should need the built page to get out of this.
//! - It is a page of its own and not a part of the app, because it is seldom needed and would be loaded each time.
//! - To release a run is a form like that for lines of a kubelet's log, with the same checks; `POST /api/runs/{run}/release`
//!   does the same.

use app::text;
use axum::{
    Extension, Form,
    extract::{
        Path, State,
        rejection::{FormRejection, PathRejection},
    },
    response::{IntoResponse, Redirect},
};
use http::StatusCode;
use serde::Deserialize;
use teardown::{right::Right, run::RunId};

use super::{
    AppState, Failure,
    access::Person,
    plain::{cluster, escape, framed, heading, paragraph, quote},
};
use crate::hub::{Blocks, JournalStatus, SetAside};

/// The address of the page.
const ADDRESS: &str = "/journal";

/// The page.
pub(super) async fn read(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
) -> Result<impl IntoResponse, Failure> {
    let status = state.hub.journal().await?;
    let cluster = cluster(&state.hub).await?;
    let content = content(&status, person.guest.right >= Right::Act);
    Ok(framed(text::JOURNAL, &content, cluster.as_ref()))
}

#[derive(Deserialize)]
pub(super) struct Released {
    run: RunId,
}

/// Releases a run, from the form on the page.
pub(super) async fn release(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    form: Result<Form<Released>, FormRejection>,
) -> Result<Redirect, Failure> {
    let Form(Released { run }) =
        form.map_err(|rejection| Failure::Malformed(rejection.body_text()))?;
    // The session may have been taken back while the body arrived.
    if person.ended.is_cancelled() {
        return Err(Failure::NotSignedIn);
    }
    state.hub.release(run, person.guest.recorded()).await??;
    Ok(Redirect::to(ADDRESS))
}

/// Releases a run, for programs.
pub(super) async fn release_by_api(
    State(state): State<AppState>,
    Extension(person): Extension<Person>,
    run: Result<Path<RunId>, PathRejection>,
) -> Result<StatusCode, Failure> {
    state.hub.release(run?.0, person.guest.recorded()).await??;
    Ok(StatusCode::NO_CONTENT)
}

fn content(status: &JournalStatus, may_act: bool) -> String {
    let mut html = String::new();
    if let Some(failing) = &status.failing {
        html += &heading(&text::journal_failing(failing.since));
        html += &paragraph(text::JOURNAL_FAILING_MEANS);
        html += &paragraph(text::JOURNAL_FAILING_DO);
        html += &quote(&failing.why);
    }
    for set_aside in &status.set_aside {
        html += &run(set_aside, may_act);
    }
    for (remedy, why) in &status.remedies {
        html += &heading(&text::unreadable_remedy(remedy));
        html += &quote(why);
        html += &paragraph(text::UNREADABLE_REMEDY);
    }
    if html.is_empty() {
        html += &paragraph(text::JOURNAL_SOUND);
    }
    html
}

fn run(set_aside: &SetAside, may_act: bool) -> String {
    let SetAside { run, why, found, started, cluster, blocks, released } = set_aside;
    let mut html = heading(&text::unreadable_run(run.as_str()));
    html += &quote(why);
    html += &paragraph(&text::unreadable_since(*found, *started, cluster.as_deref()));
    if let Some(release) = released {
        return html + &paragraph(&text::released(&release.by, release.at));
    }
    html += &match blocks {
        Blocks::Nothing => paragraph(text::UNREADABLE_ENDED),
        Blocks::Objects { unit, objects } => {
            paragraph(&text::unreadable_blocks(unit.as_str(), objects))
        }
        Blocks::Cluster => paragraph(text::UNREADABLE_BLOCKS_ALL),
    };
    html += &paragraph(text::UNREADABLE_DO);
    if may_act { html + &form(run.as_str()) } else { html + &paragraph(text::UNREADABLE_RIGHT) }
}

fn form(run: &str) -> String {
    format!(
        r#"<form method="post" action="{ADDRESS}/release"><input type="hidden" name="run" value="{}">
<p><label><input type="checkbox" required> {}</label></p>
<p><button class="button">{}</button></p></form>
"#,
        escape(run),
        escape(text::UNREADABLE_CHECKED),
        escape(&text::release(run)),
    )
}
