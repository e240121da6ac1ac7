//! The frame around every page: rail, top bar, banners that concern all of it, and the landmarks.

pub mod connection;
pub mod demo;
pub mod invite;
pub mod keys;
pub mod theme;
pub mod focus;

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::{components::A, hooks::use_location, location::Url};
use teardown::{
    advice::SWITCHED_OFF,
    demo::DemoCommand,
    message::{ClusterCard, Key, Message, Record},
    right::Right,
};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use self::{
    connection::ConnectionPill,
    demo::demo,
    focus::keep_focus,
    invite::{Invitations, Invite, InviteCommand},
    keys::Keys,
    theme::ThemeButton,
};
use super::{banner, diagnosis::facts, icon::icon};
use crate::{
    navigation::address::{self, TROUBLE},
    state::{
        advice::KnownAdvice, clock, connection::Connection, production::is_production,
        seed::InitialData,
    },
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

    /// A number on the card; 0 where the cluster is not known.
    fn count(self, of: fn(&ClusterCard) -> usize) -> usize {
        self.0.with(|card| card.as_ref().map_or(0, of))
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
    /// Makes, lists and takes back the links that sign other browsers in.
    invite: fn(InviteCommand, Invitations),
    /// Reads advice anew.
    load: fn(KnownAdvice, String),
    /// Operates the fault switches of a simulated cluster.
    run_command: fn(DemoCommand),
    /// Ends the session of this browser.
    sign_out: fn(),
    /// The page.
    children: Children,
) -> impl IntoView {
    let badge = Badge(RwSignal::new(expect_context::<InitialData>().peek(cluster_of)));
    provide_context(badge);
    let connection = expect_context::<Connection>();
    let path = use_location().pathname;
    // The server may write the title when the page's signals are gone already.
    let first_title = title(&path.get_untracked());
    let shown_title =
        move || path.try_get().map_or_else(|| first_title.clone(), |path| title(&path));
    follow_path(path);
    let simulation =
        Memo::new(move |_| badge.0.with(|card| card.as_ref().and_then(|card| card.demo.clone())));
    clock::keep_pace(simulation);
    keep_focus();
    let off = Memo::new(move |_| badge.count(|card| card.switched_off));
    let known = expect_context::<KnownAdvice>();
    load_switched_off(off, known, load);
    view! {
        <Title text=shown_title/>
        <a class="frame-skip" href="#content" rel="external">{text::SKIP_LINK}</a>
        <div class="frame">
            {rail(badge)}
            <div class="frame-column">
                <header class="frame-top">
                    <nav class="frame-crumbs" aria-label=text::BREADCRUMB><ol>{move || crumb_links(&path.get())}</ol></nav>
                    <div class="frame-status">
                        {move || badge.0.get().map(cluster)}
                        <ConnectionPill/>
                        {move || read_only(connection)}
                    </div>
                    <Invite send=invite/>
                    <SignOut sign_out/>
                    <Keys/>
                    <ThemeButton/>
                </header>
                {demo(simulation, run_command)}
                {move || connection.is_outdated().then(banner::outdated)}
                <main id="content" tabindex="-1">
                    <div class="frame-notes">
                        {move || (!connection.is_signed_in()).then(banner::read_only)}
                        <p class="needs-script">{text::NEEDS_SCRIPT}</p>
                        {move || switched_off(off.get(), known)}
                        {move || notice(badge, |card| card.journal, text::JOURNAL_NOTICE, "/journal", text::JOURNAL)}
                        {move || notice(badge, |card| card.notifications, text::NOTIFICATIONS_NOTICE, "/notifications", text::NOTIFICATIONS)}
                    </div>
                    {children()}
                </main>
                {banner::halted()}
                <p class="visually-hidden" role="status">{move || connection.announcement()}</p>
            </div>
        </div>
    }
}

/// Leads to the content whenever another page is opened.
fn follow_path(path: Memo<String>) {
    Effect::new(move |before: Option<String>| {
        let path = path.get();
        if before.is_some_and(|before| before != path) {
            request_animation_frame(arrive);
        }
        path
    });
}

/// Reads what is switched off, unless it came with the page, and again whenever the number changes.
fn load_switched_off(off: Memo<usize>, known: KnownAdvice, load: fn(KnownAdvice, String)) {
    Effect::new(move |before: Option<()>| {
        if off.get() > 0 && (before.is_some() || !known.take_fresh(SWITCHED_OFF)) {
            load(known, SWITCHED_OFF.to_owned());
        }
    });
}

/// The links to the pages, with the number of the diagnoses.
fn rail(badge: Badge) -> AnyView {
    let diagnoses = move || {
        let count = badge.count(|card| card.diagnoses);
        (count > 0).then(|| view! { " " <span class="count">{count}</span> }.into_any())
    };
    view! {
        <nav class="frame-rail" aria-label=text::MAIN_NAVIGATION>
            <a class="frame-brand" href="/" aria-label=text::PRODUCT>{icon("brand")}</a>
            <A attr:class="frame-link" href="/" exact=true>{icon("kind-unit")} <span>{text::UNITS}</span></A>
            <a class="frame-link" href="/#runs">{icon("icon-run")} <span>{text::RUNS}</span></a>
            <A attr:class="frame-link" href=TROUBLE>{icon("icon-warning")} <span>{text::TROUBLE} {move || diagnoses()}</span></A>
        </nav>
    }
    .into_any()
}

/// The pages above this one, as links, and its own name.
fn crumb_links(path: &str) -> AnyView {
    crumbs(path)
        .into_iter()
        .map(|(label, href)| match href {
            Some(href) => view! { <li><A href>{text::isolated(&label)}</A></li> }.into_any(),
            None => view! { <li><span aria-current="page">{text::isolated(&label)}</span></li> }
                .into_any(),
        })
        .collect_view()
        .into_any()
}

/// The cluster's name and version, and whether it is simulated or in production.
fn cluster(card: ClusterCard) -> AnyView {
    let version = card.version.unwrap_or_default();
    let title = format!("{} {version}", card.name);
    let production = is_production(&card.name)
        .then(|| view! { <span class="frame-production">{text::PRODUCTION}</span> }.into_any());
    let simulated = card.demo.is_some().then(|| view! { " " {text::SIMULATED} }.into_any());
    view! {
        {production}
        <span class="frame-cluster" title=title>
            {icon("kind-node")}
            <span>{text::CLUSTER} " " <bdi class="frame-cluster-name">{text::isolated(&card.name)}</bdi> {simulated}</span>
            <span class="frame-cluster-version">{version}</span>
        </span>
    }.into_any()
}

/// Says that the reader may only look, and why.
fn read_only(connection: Connection) -> Option<AnyView> {
    let reason = connection.right_hindrance(Right::Act).filter(|_| connection.is_signed_in());
    reason.map(|reason| {
        view! {
            <details class="frame-right">
                <summary>{icon("icon-lock")} {text::READ_ONLY}</summary>
                <p>{reason}</p>
            </details>
        }
        .into_any()
    })
}

/// Says that a person should see to something about the server, and leads to the page about it.
fn notice(
    badge: Badge,
    problems: fn(&ClusterCard) -> usize,
    words: &'static str,
    address: &'static str,
    name: &'static str,
) -> Option<AnyView> {
    // The server writes these pages, so the router must not look for them.
    (badge.count(problems) > 0).then(|| {
        view! {
            <p class="banner warn">
                {icon("icon-warning")}
                <span>{words} " " <a href=address rel="external">{name}</a></span>
            </p>
        }
        .into_any()
    })
}

/// The things that are switched off, each with its age, and the page that puts them back or says who may.
fn switched_off(count: usize, known: KnownAdvice) -> Option<AnyView> {
    (count > 0).then(|| {
        let facts = known.of(SWITCHED_OFF).map(|known| facts(&known));
        view! {
            <div class="banner warn">
                {icon("icon-warning")}
                <div>
                    <strong>{text::switched_off(count)}</strong>
                    {facts}
                    <p><a href=address::SWITCHED_OFF rel="external">{text::PUT_BACK}</a></p>
                </div>
            </div>
        }
        .into_any()
    })
}

/// Leads to the target of the fragment; without one moves the focus to the page, or the keyboard would have to come
/// through the frame again.
fn arrive() {
    let hash = location().hash().unwrap_or_default();
    if let Some(target) = hash.strip_prefix('#').and_then(|id| document().get_element_by_id(id)) {
        target.scroll_into_view();
        return;
    }
    let content = document().get_element_by_id("content");
    if let Some(content) = content.and_then(|content| content.dyn_into::<HtmlElement>().ok()) {
        // An element that cannot take the focus is not shown.
        let _ = content.focus();
    }
}

/// Ends the session of this browser.
#[component]
fn SignOut(sign_out: fn()) -> impl IntoView {
    let connection = expect_context::<Connection>();
    view! {
        {move || connection.is_signed_in().then(|| view! {
            <button type="button" class="tool wide" on:click=move |_| sign_out()>{text::SIGN_OUT}</button>
        }.into_any())}
    }
}

/// A page's title.
fn title(path: &str) -> String {
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
        ["u", unit] => vec![home(true), (Url::unescape(unit), None)],
        ["u", unit, "plan", ..] => {
            vec![
                home(true),
                (Url::unescape(unit), Some(format!("/u/{unit}"))),
                (text::PLAN.to_owned(), None),
            ]
        }
        ["trouble"] => vec![home(true), (text::TROUBLE.to_owned(), None)],
        ["r", run] => vec![home(true), (format!("{} {}", text::RUN, Url::unescape(run)), None)],
        _ => vec![home(false)],
    }
}

/// The card of the cluster in a message, if it has one.
pub fn cluster_of(message: &Message) -> Option<ClusterCard> {
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
    fn title_says_where_the_page_is() {
        assert_eq!(title("/"), "Unwind");
        assert_eq!(title("/u/a%2Fb"), "a/b · Unwind");
        assert_eq!(title("/u/shop/plan/1f3a"), "Plan · shop · Unwind");
        assert_eq!(title("/r/7"), "Run 7 · Unwind");
        assert_eq!(title("/trouble"), "Trouble · Unwind");
    }
}
