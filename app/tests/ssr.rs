//! Every page as the server renders it, without a browser. With `UNWIND_PREVIEW_DIR` set, each page is also written there
//! as a file, to be looked at next to the built assets.
#![cfg(feature = "ssr")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod consortium;

use std::sync::Arc;

use app::{Assets, ICONS, PageSeed, shell};
use futures::StreamExt;
use hydration_context::{SharedContext, SsrSharedContext};
use leptos::prelude::{Owner, RenderHtml, provide_context};
use leptos_meta::ServerMetaContext;
use leptos_router::location::RequestUrl;
use teardown::message::{Message, Record, State};

/// A page's HTML.
fn render(name: &str, path: &str, seed: PageSeed) -> String {
    // Effects need an executor, even where nothing is awaited.
    let _ = any_spawner::Executor::init_futures_executor();
    let shared = Arc::new(SsrSharedContext::new());
    let owner = Owner::new_root(Some(shared.clone()));
    let (meta, output) = ServerMetaContext::new();
    let html = owner.with(|| {
        provide_context(seed);
        provide_context(Assets::default());
        provide_context(meta);
        provide_context(RequestUrl::new(path));
        shell().to_html()
    });
    let with_head = output.inject_meta_context(futures::stream::iter([html]));
    let html =
        futures::executor::block_on(async { with_head.await.collect::<Vec<_>>().await.concat() });
    // The data that the server's integration puts behind the page for the browser's first render.
    let data: String =
        futures::executor::block_on(shared.pending_data().unwrap().collect::<Vec<_>>()).concat();
    assert!(!data.contains('<'), "data behind the page could end its script");
    drop(owner);
    if let Some(directory) = std::env::var_os("UNWIND_PREVIEW_DIR") {
        let file = std::path::Path::new(&directory).join(format!("{name}.html"));
        std::fs::write(file, html.replace("</body>", &format!("<script>{data}</script></body>")))
            .unwrap();
    }
    html
}

/// The properties of every page.
fn check(html: &str) {
    assert!(html.starts_with("<!DOCTYPE html>"), "{}", &html[..60]);
    assert!(!html.contains(" style="), "inline styles break the content security policy");
    assert!(!html.contains("<style"), "inline styles break the content security policy");
    assert!(
        !html.contains("http://") && !html.contains("https://"),
        "nothing comes from elsewhere"
    );
    assert!(!html.contains(" onclick="), "inline handlers break the content security policy");
    for part in ["<main id=\"content\"", "class=\"skip\"", "<header", "<nav", "<h1"] {
        assert!(html.contains(part), "{part} is missing");
    }
    let ids: Vec<&str> =
        html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(ids.len(), unique.len(), "an id is used twice");
}

#[test]
fn units() {
    let html = render("units", "/", consortium::units());
    check(&html);
    for said in
        ["consortium", "ns:monitoring", "Label part-of", "1 kind cannot be seen", "42 of 71 gone"]
    {
        assert!(html.contains(said), "{said}");
    }
}

#[test]
fn titles_say_where_the_page_is() {
    for (path, seed, title) in [
        ("/", consortium::units(), "Unwind"),
        ("/u/consortium", consortium::unit(), "consortium · Unwind"),
        (
            "/u/consortium/plan/1f3a5c7e9b2d4f60",
            consortium::planned(),
            "Plan · consortium · Unwind",
        ),
        ("/r/7", consortium::run(), "Run 7 · Unwind"),
    ] {
        let html = render("title", path, seed);
        assert!(html.contains(&format!("<title>{title}</title>")), "{path}");
    }
}

#[test]
fn times_are_in_utc_and_machine_readable() {
    let html = render("times", "/", consortium::units());
    let time = html.split("<time ").nth(1).unwrap().split("</time>").next().unwrap();
    assert!(time.contains("datetime=\"2026-11-"), "{time}");
    assert!(time.contains("data-at=\"17"), "{time}");
    assert!(time.trim_end_matches("<!>").ends_with(" UTC"), "{time}");
}

#[test]
fn no_units() {
    let html = render("no-units", "/", consortium::no_units());
    check(&html);
    assert!(html.contains("app.kubernetes.io/part-of"), "says how a unit is recognised");
    assert!(html.contains("Still reading the cluster"));
}

#[test]
fn an_unreachable_cluster_is_said() {
    let html = render("unreachable", "/", consortium::unreachable());
    check(&html);
    assert!(html.contains("The cluster does not answer") && html.contains("connection refused"));
}

#[test]
fn unit_as_map_and_list() {
    let html = render("unit", "/u/consortium", consortium::unit());
    check(&html);
    assert!(html.contains("Namespace consortium-org1"));
    assert!(html.contains("class=\"graph near\""));
    assert!(html.contains("Used by others"));
    assert!(
        html.contains("spec.volumes[0].persistentVolumeClaim.claimName = data-peer0"),
        "an edge says where it comes from"
    );
    for view in ["map", "list"] {
        check(&render(
            &format!("unit-{view}"),
            &format!("/u/consortium?view={view}"),
            consortium::unit(),
        ));
    }
}

#[test]
fn the_selected_object_is_told_at_length() {
    let path = format!("/u/consortium?sel={}", consortium::CLAIM);
    let html = render("unit-selected", &path, consortium::unit());
    check(&html);
    let drawer = html.split("<aside").nth(1).unwrap();
    for said in [
        "kubernetes.io/pvc-protection",
        "Goes after",
        "Goes before",
        "is bound to",
        "used by",
        consortium::CLAIM,
    ] {
        assert!(drawer.contains(said), "{said}");
    }
}

#[test]
fn plan() {
    let html = render("plan", "/u/consortium/plan/1f3a5c7e9b2d4f60", consortium::planned());
    check(&html);
    for said in [
        "Wave 1",
        "after StatefulSet",
        "is gone",
        "Destroyed for good",
        "Left where it is",
        "40Gi",
        "shared-ca",
    ] {
        assert!(html.contains(said), "{said}");
    }
    assert!(html.contains("/api/plans/1f3a5c7e9b2d4f60"), "the export link");
}

#[test]
fn a_cluster_for_production_is_called_so_on_every_page_and_before_it_is_touched() {
    for (name, is_said) in [("prod-eu-1", true), ("staging-eu-1", false)] {
        let mut seed = consortium::planned();
        let Some(Message::Snapshot { records, .. }) = &mut seed.message else {
            panic!("no records")
        };
        for record in records {
            if let Record::Cluster(card) = record {
                card.name = name.to_owned();
            }
        }
        let html = render("production", "/u/consortium/plan/1f3a5c7e9b2d4f60", seed);
        check(&html);
        assert_eq!(html.contains("class=\"production\""), is_said, "{name}");
        let where_it_is =
            format!("This is {name}{}", if is_said { ", a cluster for" } else { "." });
        assert!(html.contains(&where_it_is), "{name}");
    }
}

#[test]
fn a_plan_does_not_say_that_no_data_is_destroyed_where_claims_are_hidden() {
    let page = |seed| render("plan-blind", "/u/consortium/plan/1f3a5c7e9b2d4f60", seed);
    let said = "No volume’s data is destroyed.";
    assert!(page(consortium::planned_without_data()).contains(said));
    let html = page(consortium::planned_blindly());
    check(&html);
    assert!(!html.contains(said));
    assert!(html.contains("persistentvolumeclaims"));
}

#[test]
fn run() {
    let html = render("run", "/r/7", consortium::run());
    check(&html);
    for said in
        ["42 of 71 gone", "Needs attention", "HTTP 403", "Came back", "is proven gone", "Running"]
    {
        assert!(html.contains(said), "{said}");
    }
    check(&render("run-map", "/r/7?view=map", consortium::run()));
}

#[test]
fn all_states_have_shape_and_word() {
    let html = render("states", "/u/consortium", consortium::all_states());
    check(&html);
    let sprite = include_str!("../../public/icons.svg");
    let mut shapes: Vec<&str> = Vec::new();
    for state in State::ALL {
        let word = app::text::state(state);
        assert!(html.contains(&format!("<span class=\"state-word\">{word}")), "{word}");
        let symbol = app::state::mark::of_state(state);
        assert!(html.contains(&format!("{ICONS}#{symbol}\"")), "{symbol}");
        let shape = sprite.lines().find(|line| line.contains(&format!("id=\"{symbol}\""))).unwrap();
        shapes.push(shape.split_once("viewBox").unwrap().1);
    }
    shapes.sort_unstable();
    shapes.dedup();
    assert_eq!(shapes.len(), State::ALL.len(), "two states share a shape");
}

#[test]
fn every_symbol_is_in_the_sprite() {
    let sprite = include_str!("../../public/icons.svg");
    for html in [
        render("units", "/", consortium::units()),
        render("unit", "/u/consortium", consortium::unit()),
        render("plan", "/u/consortium/plan/1f3a5c7e9b2d4f60", consortium::planned()),
        render("run", "/r/7", consortium::run()),
    ] {
        for symbol in
            html.split(&format!("{ICONS}#")).skip(1).filter_map(|rest| rest.split('"').next())
        {
            assert!(sprite.contains(&format!("id=\"{symbol}\"")), "{symbol}");
        }
    }
}

#[test]
fn text_from_the_cluster_is_never_markup() {
    let html = render("hostile", "/u/consortium", consortium::hostile());
    check(&html);
    assert!(!html.contains("<script>alert"), "a name became markup");
    assert!(html.contains("&lt;script&gt;alert(1)"), "a name is shown as it is");
}

#[test]
fn missing_page_unit_and_run_are_said_to_be_missing() {
    let html = render("not-found", "/nowhere/at/all", consortium::nothing());
    check(&html);
    assert!(html.contains("There is nothing here"));
    let html = render("unit-unknown", "/u/nobody", consortium::nothing());
    check(&html);
    assert!(html.contains("This unit is not known"));
    let html = render("run-unknown", "/r/none", consortium::nothing());
    check(&html);
    assert!(html.contains("This run is not known"));
}

#[test]
fn a_reader_who_is_not_signed_in_sees_why_buttons_do_not_work() {
    let seed = PageSeed { signed_in: false, ..consortium::unit() };
    let html = render("read-only", "/u/consortium", seed);
    check(&html);
    assert!(html.contains("Read only"));
    assert!(html.contains("disabled"));
}
