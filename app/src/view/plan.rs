//! A plan: totals, data, order, and what is kept.

pub mod choices;
pub mod wave;
pub mod step;
pub mod kept;
pub mod preflight;
pub mod confirm;

use std::collections::BTreeMap;

use leptos::prelude::*;
use teardown::plan::{DataFate, Fate, Plan};

use self::{
    kept::{kept_list, names, section},
    step::Terminating,
    wave::wave,
};
use super::{icon::icon, object_name::object_name};
use crate::text;

/// All of it. What is terminating already when the plan is shown is said to be so.
pub fn plan_view(plan: &Plan, terminating: &Terminating) -> AnyView {
    // How many volumes have one of these fates, and their sizes.
    let sum = |fates: &[Fate]| {
        let mut count = 0;
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        for data in plan.data.iter().filter(|data| fates.contains(&data.fate)) {
            count += 1;
            if let Some(capacity) = data.capacity.as_deref() {
                *sizes.entry(capacity).or_default() += 1;
            }
        }
        let sizes: Vec<String> =
            sizes.into_iter().map(|(size, count)| text::times(count, size)).collect();
        (count, sizes.join(" + "))
    };
    let (destroyed, lost) = sum(&[Fate::Destroyed]);
    let hidden = plan.hides_claims();
    let figure = match destroyed {
        0 if hidden => text::UNKNOWN_COUNT.to_owned(),
        destroyed => destroyed.to_string(),
    };
    let (safe, left) = sum(&[Fate::LeftBehind, Fate::Kept]);
    let waves: Vec<_> = (1..=plan.waves()).map(|number| wave(plan, number, terminating)).collect();
    let hidden_kinds = (!plan.hidden.is_empty()).then(|| {
        view! {
            <div class="banner warn">
                {icon("state-unknown")}
                <div><strong>{text::plan_hidden(&plan.hidden)}</strong><p>{text::HIDDEN_MEANS}</p></div>
            </div>
        }.into_any()
    });
    let unproven: Vec<AnyView> = taken_on(plan)
        .into_iter()
        .map(|said| {
            view! { <div class="banner warn">{icon("icon-warning")}<strong>{said}</strong></div> }
                .into_any()
        })
        .collect();
    let nothing = plan
        .steps
        .is_empty()
        .then(|| view! { <p class="quiet">{text::NOTHING_TO_DO}</p> }.into_any());
    let all = plan.deletions() + plan.kept.len() + plan.left_to_cluster.len();
    let namespaces = namespaces_go(plan).map(|said| {
        view! { <p class="plan-namespaces">{icon("kind-namespace")} " " {said}</p> }.into_any()
    });
    let of_cluster = &plan.left_to_cluster;
    let left_to_cluster = section(
        "left-title",
        text::LEFT_TITLE,
        text::LEFT_LEAD,
        of_cluster.len(),
        names(of_cluster),
    );
    let ephemeral = &plan.ephemeral;
    let ephemeral = section(
        "ephemeral-title",
        text::EPHEMERAL_TITLE,
        text::EPHEMERAL_LEAD,
        ephemeral.len(),
        names(ephemeral),
    );
    let given_up = section(
        "given-up-title",
        text::GIVEN_UP_TITLE,
        text::GIVEN_UP_LEAD,
        plan.given_up.len(),
        given_up(plan),
    );
    view! {
        <div class="plan-totals">
            {total(plan.deletions().to_string(), text::WILL_DELETE, text::waves(plan.waves()), "")}
            {total(plan.kept.len().to_string(), text::WILL_KEEP, text::of_objects(all), "")}
            {total(plan.left_to_cluster.len().to_string(), text::WILL_LEAVE, text::of_objects(all), "")}
            {total(figure, text::DATA_DESTROYED, lost, if destroyed > 0 { "plan-destroyed" } else { "" })}
            {total(safe.to_string(), text::DATA_SAFE, left, "")}
        </div>
        {namespaces}
        {hidden_kinds}
        {unproven}
        {data(&plan.data, hidden)}
        {ephemeral}
        <section aria-labelledby="order-title">
            <h2 id="order-title">{text::ORDER_TITLE}</h2>
            <p class="lead">{text::ORDER_LEAD}</p>
            {nothing}
            <div class="waves" tabindex="0" role="group" aria-labelledby="order-title">{waves}</div>
        </section>
        {given_up}
        <section aria-labelledby="kept-title">
            <h2 id="kept-title">{text::KEPT_TITLE}</h2>
            {kept_list(&plan.kept)}
        </section>
        {left_to_cluster}
    }
    .into_any()
}

/// The sentence about the namespaces that go, if any do.
fn namespaces_go(plan: &Plan) -> Option<String> {
    let names: Vec<String> = plan.namespaces().map(text::isolated).collect();
    (!names.is_empty()).then(|| text::namespaces_go(&names))
}

/// The orders that the plan does not keep.
fn given_up(plan: &Plan) -> AnyView {
    let rows = plan.given_up.iter().map(|it| {
        view! { <li>{text::given_up(it)} " " <span class="quote">{text::reason(&it.reason)}</span></li> }
            .into_any()
    });
    view! { <ul class="kept-names">{rows.collect_view()}</ul> }.into_any()
}

fn total(figure: String, label: &'static str, more: String, class: &'static str) -> AnyView {
    view! {
        <div class=format!("plan-total {class}")>
            <span class="plan-figure">{figure}</span>
            <span class="plan-label">{label}</span>
            <span class="plan-more">{more}</span>
        </div>
    }
    .into_any()
}

/// Every volume that is concerned. A plan has the destroyed ones first.
fn data(fates: &[DataFate], hidden: bool) -> AnyView {
    let none =
        !hidden && fates.iter().all(|data| !matches!(data.fate, Fate::Destroyed | Fate::Unknown));
    let rows = fates
        .iter()
        .map(|data| {
            let (class, symbol) = match data.fate {
                Fate::Destroyed => ("plan-data plan-data-destroyed", "icon-warning"),
                Fate::Unknown => ("plan-data plan-data-destroyed", "state-unknown"),
                Fate::LeftBehind => ("plan-data", "icon-disk"),
                Fate::Kept => ("plan-data", "icon-lock"),
            };
            let claim = data.claim.as_ref().map(object_name);
            view! {
                <li class=class>
                    {icon(symbol)}
                    <strong class="plan-data-fate">{text::fate(data.fate)}</strong>
                    <span class="plan-data-size">{data.capacity.clone()}</span>
                    {claim}
                    {object_name(&data.volume)}
                    <span class="quote">{data.source.clone()}</span>
                    <span class="quiet">{data.deleted_by.as_ref().map(text::deleted_by)}</span>
                </li>
            }
            .into_any()
        })
        .collect_view();
    view! {
        <section aria-labelledby="data-title">
            <h2 id="data-title">{text::DATA_TITLE}</h2>
            {none.then(|| view! { <p class="quiet">{text::NO_DATA_DESTROYED}</p> }.into_any())}
            <ul class="plan-data-list">{rows}</ul>
        </section>
    }
    .into_any()
}

/// The sentences that a person takes on by choosing: deletions without proof, and those by which others lose something.
fn taken_on(plan: &Plan) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for unlistable in plan.unproven() {
        said.push(text::goes_unproven(&unlistable));
    }
    for node in plan.unreported() {
        said.push(text::goes_unreported(node));
    }
    said.extend(plan.losses.iter().cloned());
    said
}
