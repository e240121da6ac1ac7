//! Every page as the server renders it, without a browser. With `UNWIND_PREVIEW_DIR` set, each page is also written there
//! as a file, to be looked at next to the built assets.
#![cfg(feature = "ssr")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod causes;
mod consortium;
mod explained;
mod first_screen;
mod halted;
mod titles;
mod trouble;
mod unplanned;
#[expect(dead_code, reason = "the test of what travels looks for more in it")]
mod variants;

use std::sync::Arc;

use app::{Assets, ICONS, PageSeed, shell, text};
use futures::StreamExt;
use hydration_context::{SharedContext, SsrSharedContext};
use leptos::prelude::{Owner, RenderHtml, provide_context};
use leptos_meta::ServerMetaContext;
use leptos_router::location::RequestUrl;
use teardown::{
    message::{EdgeCard, Membership, Message, ObjectCard, Record, State},
    object::{Deletion, Uid},
    plan::{Choice, Choices, KeptReason, Waived},
    relation::{EdgeKind, Reason, Strength},
    right::Right,
    run::RunId,
    unit::UnitId,
};

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
    for part in ["<main id=\"content\"", "class=\"frame-skip\"", "<header", "<nav", "<h1"] {
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
fn list_of_units_shows_units_runs_and_hidden_kinds() {
    let html = render("units", "/", consortium::units());
    check(&html);
    for said in [
        "consortium",
        "ns:monitoring",
        "Label part-of",
        "Cannot list pods.metrics.k8s.io: its API is down",
        "42 of 71 gone",
    ] {
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
fn empty_list_of_units_says_how_a_unit_is_recognised() {
    let html = render("no-units", "/", consortium::no_units());
    check(&html);
    assert!(html.contains("app.kubernetes.io/part-of"), "says how a unit is recognised");
    assert!(html.contains("Still reading the cluster"));
}

#[test]
fn unreachable_cluster_is_reported_with_its_error() {
    let html = render("unreachable", "/", consortium::unreachable());
    check(&html);
    assert!(html.contains("The cluster does not answer") && html.contains("connection refused"));
}

#[test]
fn unit_is_shown_as_map_and_as_list() {
    let html = render("unit", "/u/consortium", consortium::unit());
    check(&html);
    assert!(html.contains("Namespace consortium-org1"));
    assert!(html.contains("class=\"graph near\""));
    assert!(html.contains("Outside this unit"));
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
fn selected_object_has_its_edges_in_the_drawer() {
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
fn plan_shows_steps_kept_objects_and_its_export() {
    let html = render("plan", "/u/consortium/plan/1f3a5c7e9b2d4f60", consortium::planned());
    check(&html);
    for said in [
        "Step 1",
        "after StatefulSet",
        "is gone",
        "Destroyed",
        "Left in place",
        "40Gi",
        "shared-ca",
    ] {
        assert!(html.contains(said), "{said}");
    }
    assert!(html.contains("/api/plans/1f3a5c7e9b2d4f60"), "the export link");
}

#[test]
fn plan_shows_what_is_unclaimed_and_the_choices_as_a_form() {
    let mut seed = consortium::planned();
    let plan = seed.plan.as_mut().unwrap();
    let mut kept = plan.kept[0].clone();
    kept.reason = KeptReason::Unclaimed;
    let (_, value) = Choice::Include(kept.object.clone()).pair();
    plan.kept.push(kept);
    let (waived, waive) =
        (plan.steps[1].object.clone(), Choice::Waive(plan.kept[0].object.clone()));
    plan.waivable = vec![plan.kept[0].object.clone()];
    let (edge, users) = (EdgeKind::Finishes, vec![plan.kept[0].object.clone()]);
    let (covers, known) = (vec![], vec![]);
    plan.waived = vec![Waived { object: waived, edge, users, count: 3, covers, known }];
    plan.losses = plan.waived.iter().map(text::goes_waived).collect();
    plan.choices = Choices::from_iter([Choice::KeepData]);
    plan.by_name = vec![plan.steps[0].object.clone()];
    let html = render("choices", "/u/consortium/plan/1f3a5c7e9b2d4f60", seed);
    check(&html);
    assert!(html.contains("action=\"/u/consortium/plan\""), "the form's address");
    let ticked = |name: &str, value: &str| {
        let field = format!("name=\"{name}\" value=\"{value}\"");
        let (_, rest) = html.split_once(&field).unwrap_or_else(|| panic!("no {field}"));
        rest.split('>').next().is_some_and(|rest| rest.contains("checked"))
    };
    assert!(ticked("keep", "data"));
    assert!(!ticked("include", &value) && !ticked("include", "*"));
    assert!(!ticked("waive", &waive.pair().1));
    let said = " and 2 more. Then nothing clears their finalizers any more";
    assert_eq!(html.matches(said).count(), 2, "in the plan, and in its confirmation");
    assert!(html.contains("Confirm each"), "claims without a label are confirmed by name");
}

#[test]
fn cluster_for_production_is_called_so_on_its_pages_and_before_it_is_touched() {
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
        assert_eq!(html.contains("class=\"frame-production\""), is_said, "{name}");
        let where_it_is = format!("Cluster: {name}{}", if is_said { " (production)" } else { "<" });
        assert!(html.contains(&where_it_is), "{name}");
    }
}

#[test]
fn plan_does_not_say_that_no_data_is_destroyed_where_claims_are_hidden() {
    let page = |seed| render("plan-hidden", "/u/consortium/plan/1f3a5c7e9b2d4f60", seed);
    let said = "No volume’s data is destroyed.";
    assert!(page(consortium::planned_without_data()).contains(said));
    let html = page(consortium::planned_with_hidden_kinds());
    check(&html);
    assert!(!html.contains(said));
    assert!(html.contains("persistentvolumeclaims"));
}

#[test]
fn run_shows_progress_and_what_needs_attention() {
    let html = render("run", "/r/7", consortium::run());
    check(&html);
    for said in ["42 of 71 gone", "Needs attention", "HTTP 403", "Came back", "is gone", "Running"]
    {
        assert!(html.contains(said), "{said}");
    }
    check(&render("run-map", "/r/7?view=map", consortium::run()));
}

#[test]
fn states_have_shape_and_word() {
    let html = render("states", "/u/consortium", consortium::all_states());
    check(&html);
    let sprite = include_str!("../../public/icons.svg");
    let mut shapes: Vec<&str> = Vec::new();
    for state in State::ALL {
        let word = app::text::state(state);
        // The calm state is not drawn; the drawer of a selected object names it.
        if state != State::Present {
            assert!(html.contains(&format!("<span class=\"state-word\">{word}")), "{word}");
        }
        let symbol = app::state::mark::of_state(state);
        let is_drawn = html.contains(&format!("{ICONS}#{symbol}\""));
        assert_eq!(is_drawn, state != State::Present, "{symbol}");
        let shape = sprite.lines().find(|line| line.contains(&format!("id=\"{symbol}\""))).unwrap();
        shapes.push(shape.split_once("viewBox").unwrap().1);
    }
    shapes.sort_unstable();
    shapes.dedup();
    assert_eq!(shapes.len(), State::ALL.len(), "two states share a shape");
}

#[test]
fn symbols_are_in_the_sprite() {
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
fn reader_who_is_not_signed_in_sees_why_buttons_do_not_work() {
    let seed = PageSeed { signed_in: false, ..consortium::unit() };
    let html = render("read-only", "/u/consortium", seed);
    check(&html);
    assert!(html.contains("Read only"));
    assert!(html.contains("aria-disabled=\"true\""));
    assert!(!html.contains(" disabled"), "a disabled button loses the focus");
}

#[test]
fn reader_who_may_only_look_sees_why_and_can_invite() {
    const REASON: &str = "You can look, but not change anything. Ask for a link that may act.";
    let seed = PageSeed { right: Right::Look, ..consortium::unit() };
    let html = render("look-only", "/u/consortium", seed);
    check(&html);
    assert!(html.contains("Read only") && html.contains(&format!("<p>{REASON}")));
    assert!(html.contains(&format!("title=\"{REASON}\"")), "the button says why");
    assert!(html.contains("Look only") && !html.contains("Look and act"), "no more than the own");

    let seed = PageSeed { right: Right::Look, ..consortium::planned() };
    let html = render("look-only-plan", PLAN, seed);
    check(&html);
    assert!(!html.contains("Make the plan"), "no button that is refused");

    let html = render("may-act", PLAN, consortium::planned());
    assert!(html.contains("Make the plan"));
    assert!(!html.contains("Read only") && html.contains("Look and act"));
}

#[test]
fn findings_of_a_preflight_are_on_the_page_of_the_plan_and_in_its_confirmation() {
    let html = render("preflight", PLAN, consortium::checked());
    check(&html);
    let (_, section) = html.split_once("Checks before the teardown").unwrap();
    let (section, rest) = section.split_once("</section>").unwrap();
    let shown = ["Checked 4 of 4", "A &lt;dead&gt; webhook", "ConfigMap shop/a", "Check again"];
    assert!(shown.iter().all(|text| section.contains(text)), "{section}");
    assert_eq!(section.matches("<details open class=\"way\"").count(), 1, "{section}");
    assert!(rest.contains("1 check expects a refusal"));
}

/// The same seed with other records.
fn with_records(mut seed: PageSeed, change: impl FnOnce(&mut Vec<Record>)) -> PageSeed {
    let Some(Message::Snapshot { records, .. }) = &mut seed.message else { panic!("no records") };
    change(records);
    seed
}

const PLAN: &str = "/u/consortium/plan/1f3a5c7e9b2d4f60";

#[test]
fn applications_come_first_and_namespaces_are_folded_away() {
    let seed = with_records(consortium::units(), |records| {
        for record in records {
            if let Record::Unit(card) = record
                && card.id.as_str() == "ns:monitoring"
            {
                card.same_as = Some(UnitId::new("checkout"));
            }
        }
    });
    let html = render("units-grouped", "/", seed);
    check(&html);
    let (applications, namespaces) = html.split_once("<details class=\"unit-group\"").unwrap();
    assert!(applications.contains("href=\"/u/checkout\""));
    assert!(!applications.contains("ns:monitoring"));
    assert!(namespaces.contains("1 namespace"));
    let group = namespaces.split("</details>").next().unwrap();
    assert!(group.contains("ns:monitoring") && !group.contains("<tr"), "it is listed above");
}

#[test]
fn unit_that_was_torn_down_says_so_and_links_its_runs() {
    let seed = with_records(consortium::nothing(), |records| {
        let runs = consortium::units().message.unwrap();
        let Message::Snapshot { records: others, .. } = runs else { panic!("no records") };
        records.extend(others.into_iter().filter(|record| matches!(record, Record::Run(_))));
        for record in records {
            if let Record::Cluster(card) = record {
                card.name = "prod-eu-1".to_owned();
            }
        }
    });
    let html = render("unit-gone", "/u/consortium", seed);
    check(&html);
    assert!(html.contains("consortium was torn down") && html.contains("href=\"/r/7\""));
    assert!(!html.contains("not known") && !html.contains("Plan teardown"));
    assert!(html.contains("class=\"frame-production\""));
}

#[test]
fn open_run_is_offered_in_place_of_a_new_plan() {
    let with_run = |seed| {
        with_records(seed, |records| {
            for record in records {
                if let Record::Unit(card) = record {
                    card.run = Some(RunId::new("7"));
                }
            }
        })
    };
    let html = render("unit-in-run", "/u/consortium", with_run(consortium::unit()));
    check(&html);
    assert!(html.contains("Open the run") && !html.contains("Plan teardown"));
    let html = render("plan-in-run", PLAN, with_run(consortium::planned()));
    assert!(html.contains("Open the run") && !html.contains("Start teardown…"));
}

#[test]
fn numbers_of_a_unit_add_up_in_its_head_and_on_its_plan() {
    let left = |card: &ObjectCard| &*card.object.kind == "ServiceAccount";
    let seed = with_records(consortium::unit(), |records| {
        for record in records {
            if let Record::Object(card) = record
                && left(card)
            {
                card.membership = Membership::Kept(KeptReason::MadeByCluster);
            }
        }
    });
    let html = render("unit-tally", "/u/consortium", seed);
    check(&html);
    let number = |said: &str| -> usize {
        let before = html.split(said).next().unwrap();
        let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap();
        digits.parse().unwrap()
    };
    let parts = [" to delete<", " kept<", " left to the cluster<"].map(number);
    assert_eq!(parts.iter().sum::<usize>(), number(" objects<"), "{parts:?}");
    assert_eq!(parts[2], 4);

    let mut seed = consortium::planned();
    let plan = seed.plan.as_mut().unwrap();
    plan.left_to_cluster = plan.kept.split_off(1);
    let (left, all) = (
        plan.left_to_cluster.len(),
        plan.steps.len() + plan.kept.len() + plan.left_to_cluster.len(),
    );
    let html = render("plan-tally", PLAN, seed);
    check(&html);
    assert!(html.contains(&format!("of {all} objects")));
    let list = html.split("id=\"left-title\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert_eq!(list.matches("<li").count(), left);
}

#[test]
fn plan_says_which_namespaces_go_and_what_is_terminating_already() {
    let claim = Uid::new(consortium::CLAIM);
    let seed = with_records(consortium::planned(), |records| {
        for record in records {
            if let Record::Object(card) = record
                && card.uid == claim
            {
                let at = "2026-11-21T11:00:00Z".parse().unwrap();
                card.deletion = Some(Deletion { at, grace: 0 });
            }
        }
    });
    let html = render("plan-terminating", PLAN, seed);
    check(&html);
    assert!(html.contains("The namespaces consortium-orderer, consortium-org1"));
    assert_eq!(html.matches("Already terminating; the run waits for it.").count(), 1);
    assert!(html.contains("2026-11-21 11:00:00 UTC"));
}

#[test]
fn confirmation_names_claims_and_says_what_is_missing() {
    let html = render("confirm", PLAN, consortium::planned());
    let dialog = html.split("<dialog").find(|part| part.contains("confirm-title")).unwrap();
    assert!(dialog.contains(
        "PersistentVolumeClaim consortium-org1/data-peer0, 40Gi, used by Pod consortium-org1/peer-0"
    ));
    assert!(!dialog.contains("pvc-org1-peer0-7d9f4c2b"), "a generated name means nothing");
    assert!(dialog.contains("To start: tick 7 volumes, type consortium"));
    assert!(dialog.contains("The namespaces consortium-orderer"));
}

#[test]
fn pod_does_not_go_before_its_node() {
    let pod = "consortium-org1.pod.peer-0";
    let seed = with_records(consortium::unit(), |records| {
        let node = records.iter().find_map(|record| match record {
            Record::Object(card) if &*card.object.kind == "StorageClass" => Some(card.clone()),
            _ => None,
        });
        let mut node = node.unwrap();
        node.uid = Uid::new("node-a");
        node.object.kind = "Node".into();
        node.object.name = "node-a".into();
        records.push(Record::Object(node));
        records.push(Record::Edge(EdgeCard {
            from: Uid::new(pod),
            to: Uid::new("node-a"),
            kind: EdgeKind::RunsOn,
            strength: Strength::Hard,
            reason: Reason {
                field: "spec.nodeName".into(),
                value: "node-a".into(),
                attribution: None,
            },
            given_up: false,
        }));
    });
    let html = render("unit-node", &format!("/u/consortium?sel={pod}"), seed);
    let drawer = html.split("<aside").nth(1).unwrap().split("</aside>").next().unwrap();
    let (ordered, related) = drawer.split_once("Related, in no order").unwrap();
    assert!(related.contains("spec.nodeName"));
    assert!(!ordered.contains("spec.nodeName"));
}

#[test]
fn calm_state_is_on_no_row_card_and_chip() {
    for view in ["map", "list"] {
        let path = format!("/u/consortium?view={view}");
        let html = render(&format!("unit-calm-{view}"), &path, consortium::unit());
        assert!(!html.contains(">Present<"), "{view}");
        assert!(!html.contains(" present<"), "{view}");
    }
}

#[test]
fn name_that_turns_the_direction_of_writing_is_shown_with_the_mark_visible() {
    let seed = with_records(consortium::unit(), |records| {
        for record in records {
            if let Record::Object(card) = record
                && card.uid == Uid::new(consortium::CLAIM)
            {
                card.object.name = format!("a\u{202e}b\u{2028}{}", "x".repeat(300)).into();
            }
        }
    });
    let path = format!("/u/consortium?view=list&sel={}", consortium::CLAIM);
    let html = render("hostile-direction", &path, seed);
    check(&html);
    let page = html.split("<main").nth(1).unwrap();
    assert!(!page.contains('\u{202e}') && !page.contains('\u{2028}'));
    assert!(page.contains("<bdi class=\"object-path\">a⟨U+202E⟩b⟨U+2028⟩"));
    // Only the drawer's title has the whole name: a tooltip can neither be copied nor opened on a phone.
    let (rows, drawer) = page.split_once("drawer-title").unwrap();
    let (title, drawer) = drawer.split_once("</h2>").unwrap();
    assert!(title.contains(&"x".repeat(300)));
    for name in [rows, drawer].iter().flat_map(|part| part.split("object-path\">").skip(1)) {
        let name = name.split('<').next().unwrap();
        assert!(name.chars().count() <= app::text::LONGEST, "a long name is bounded: {name}");
    }
}

#[test]
fn active_steps_of_a_run_come_first_and_what_is_gone_is_folded_away() {
    let html = render("run-order", "/r/7", consortium::run());
    let (open, gone) = html.split_once("<details class=\"steps-gone\"").unwrap();
    let rows = open.split("<tbody>").nth(1).unwrap();
    assert!(!rows.contains(">Gone<"));
    let at = |word: &str| rows.find(word).unwrap_or_else(|| panic!("{word}"));
    assert!(at(">Stuck<") < at(">Waiting<"));
    assert!(at(">Terminating<") < at(">Waiting<"));
    assert!(gone.contains(">Gone<"));
    let now = open.split("<dl class=\"current\">").nth(1).unwrap();
    for said in ["Now", "Next", "Waiting for"] {
        assert!(now.contains(said), "{said}");
    }
}
