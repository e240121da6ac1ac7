//! The frame around every page: rail, top bar, banners that concern all of it, and the landmarks.

use leptos::prelude::*;
use teardown::message::{ClusterCard, Key, Message, Record};

use super::{
    banner, connection::ConnectionPill, demo::demo, focus::keep_focus, icon::icon, keys::Keys,
    theme::ThemeButton,
};
use crate::{
    address::decoded,
    clock,
    erased::{alive, memo, now},
    live::Connection,
    production::is_production,
    route::Place,
    seed::Arrival,
    text,
};

/// The cluster's card in the top bar; pages pass it on as it changes.
#[derive(Clone, Copy)]
pub struct Badge(RwSignal<Option<ClusterCard>>);

impl Badge {
    /// The cluster's name, where it is known.
    pub fn name(self) -> Option<String> {
        self.0.with_untracked(|card| card.as_ref().map(|card| card.name.clone()))
    }

    /// Shows a newer card.
    pub fn show(self, card: ClusterCard) {
        if self.0.with_untracked(|old| old.as_ref() != Some(&card)) {
            self.0.set(Some(card));
        }
    }
}

/// The frame.
#[component]
pub fn Frame(
    /// Copies a link that signs another browser in, and then says so.
    share: fn(RwSignal<bool>),
    /// Operates the fault switches of a simulated cluster.
    play: fn(String),
    /// Ends the session of this browser.
    sign_out: fn(),
    /// The page.
    children: Children,
) -> impl IntoView {
    let badge = Badge(RwSignal::new(expect_context::<Arrival>().peek(cluster_of)));
    provide_context(badge);
    let connection = expect_context::<Connection>();
    let place = expect_context::<Place>();
    alive(move || document().set_title(&title(&place.path())));
    let game = memo(move || badge.0.with(|card| card.as_ref().and_then(|card| card.demo.clone())));
    clock::keep_pace(game);
    keep_focus();
    let crumbs = move || {
        crumbs(&place.path())
            .into_iter()
            .map(|(label, href)| match href {
                Some(href) => {
                    view! { <li><a href=href>{text::isolated(&label)}</a></li> }.into_any()
                }
                None => {
                    view! { <li><span aria-current="page">{text::isolated(&label)}</span></li> }
                        .into_any()
                }
            })
            .collect_view()
    };
    let cluster = move || {
        badge.0.get().map(|card| {
            let version = card.version.unwrap_or_default();
            let title = format!("{} {version}", card.name);
            let production = is_production(&card.name)
                .then(|| view! { <span class="frame-production">{text::PRODUCTION}</span> });
            let simulated = card.demo.is_some().then(|| view! { " " {text::SIMULATED} });
            view! {
                {production}
                <span class="frame-cluster" title=title>
                    {icon("kind-node")}
                    <span>{text::CLUSTER} " " <bdi class="frame-cluster-name">{text::isolated(&card.name)}</bdi> {simulated}</span>
                    <span class="frame-cluster-version">{version}</span>
                </span>
            }
        })
    };
    view! {
        <a class="skip" href="#content" rel="external">{text::SKIP_LINK}</a>
        <div class="frame">
            <nav class="rail" aria-label=text::MAIN_NAVIGATION>
                <a class="frame-brand" href="/" aria-label=text::PRODUCT>{icon("brand")}</a>
                <a class="rail-link" href="/">{icon("kind-unit")} <span>{text::UNITS}</span></a>
                <a class="rail-link" href="/#runs">{icon("icon-run")} <span>{text::RUNS}</span></a>
            </nav>
            <div class="frame-column">
                <header class="top">
                    <nav class="crumbs" aria-label=text::BREADCRUMB><ol>{now(crumbs)}</ol></nav>
                    <div class="frame-status">
                        {now(cluster)}
                        <ConnectionPill/>
                    </div>
                    <Share share/>
                    <SignOut sign_out/>
                    <Keys/>
                    <ThemeButton/>
                </header>
                {demo(game, play)}
                {now(move || connection.is_outdated().then(banner::outdated))}
                <main id="content" tabindex="-1">
                    <div class="frame-notes">
                        {now(move || (!connection.is_signed_in()).then(banner::read_only))}
                        <p class="needs-script">{text::NEEDS_SCRIPT}</p>
                    </div>
                    {children()}
                </main>
                {banner::halted()}
                <p class="visually-hidden" role="status">{now(move || connection.said())}</p>
            </div>
        </div>
    }
}

/// Copies a link that signs another browser in.
#[component]
fn Share(share: fn(RwSignal<bool>)) -> impl IntoView {
    let connection = expect_context::<Connection>();
    let copied = RwSignal::new(false);
    view! {
        <button
            type="button"
            class="tool wide"
            title=text::SHARE_HINT
            aria-disabled=move || connection.hindrance().map(|_| "true")
            on:click=move |_| if untrack(|| connection.hindrance()).is_none() { share(copied) }
        >
            {icon("icon-share")}
            <span>{now(move || if copied.get() { text::COPIED } else { text::SHARE })}</span>
        </button>
    }
}

/// Ends the session of this browser.
#[component]
fn SignOut(sign_out: fn()) -> impl IntoView {
    let connection = expect_context::<Connection>();
    move || {
        connection.is_signed_in().then(|| {
            view! {
                <button type="button" class="tool wide" on:click=move |_| sign_out()>{text::SIGN_OUT}</button>
            }
        })
    }
}

/// A page's title.
pub fn title(path: &str) -> String {
    let mut parts: Vec<String> = crumbs(path).into_iter().skip(1).map(|(label, _)| label).collect();
    parts.reverse();
    parts.push(text::PRODUCT.to_owned());
    parts.join(" · ")
}

/// The pages above a path, outermost first; the last one is not a link.
fn crumbs(path: &str) -> Vec<(String, Option<String>)> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let home = |link: bool| (text::UNITS.to_owned(), link.then(|| "/".to_owned()));
    match parts.as_slice() {
        ["u", unit] => vec![home(true), (decoded(unit), None)],
        ["u", unit, "plan", ..] => {
            vec![
                home(true),
                (decoded(unit), Some(format!("/u/{unit}"))),
                (text::PLAN.to_owned(), None),
            ]
        }
        ["r", run] => vec![home(true), (format!("{} {}", text::RUN, decoded(run)), None)],
        _ => vec![home(false)],
    }
}

fn cluster_of(message: &Message) -> Option<ClusterCard> {
    let (Message::Snapshot { records, .. } | Message::Delta { put: records, .. }) = message;
    records.iter().find(|record| record.key() == Key::Cluster).and_then(|record| match record {
        Record::Cluster(card) => Some(card.clone()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_says_where_the_page_is() {
        assert_eq!(title("/"), "Unwind");
        assert_eq!(title("/u/a%2Fb"), "a/b · Unwind");
        assert_eq!(title("/u/shop/plan/1f3a"), "Plan · shop · Unwind");
        assert_eq!(title("/r/7"), "Run 7 · Unwind");
    }
}
