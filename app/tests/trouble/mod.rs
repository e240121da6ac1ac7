//! The page of trouble as the server renders it; the things that are switched off, on every page; the signs of life of nodes; why the
//! drawer of a workload says that it must outlive others.

use app::text;
use teardown::{diagnosis::Cause, message::AwayCause, right::Right};

use super::{check, consortium, render};

#[test]
fn page_of_trouble_shows_causes_and_ways_out() {
    let html = render("trouble", "/trouble", consortium::trouble::trouble());
    check(&html);
    for said in [
        "Node worker-7 stopped reporting, so nobody confirms that its Pod ended.",
        "Service consortium/peer has no ready Pod.",
        "force the deletion while the machine may still run",
        "kubectl --context=staging-eu-1 get nodes/worker-7",
        "waits for Pod consortium/&lt;b&gt;peer-0&lt;/b&gt;, which mounts it",
        "Unknown NodeStatusUnknown: Kubelet stopped posting node status.",
        "Confirmed: the cluster says so itself.",
        "Bring node worker-7 back",
        "ledger-sre",
        "id=\"why-nodeSilent%2F%2FNode%2F%2Fworker-7%2F\"",
        "<span class=\"count\">1",
        "<div class=\"diagnosis-course\"><dt>If nobody acts",
        "deletion began",
        // A precondition that is not proven says so to the eye.
        "<span class=\"way-open\">Check this",
        "<span class=\"visually-hidden\">Yes",
    ] {
        assert!(html.contains(said), "{said}");
    }
    assert!(!html.contains("<b>peer"), "a name is never markup");
    let calm = render("calm", "/trouble", consortium::nothing());
    check(&calm);
    assert!(calm.contains("No deletion is in trouble"));
}

#[test]
fn page_of_trouble_is_ordered_by_cause_age_or_namespace_and_says_what_is_in_time() {
    let page = |query: &str| {
        let path = format!("/trouble{query}");
        let html = render("trouble-order", &path, consortium::trouble::in_order());
        check(&html);
        for said in [
            "3 other objects being deleted, within the expected time",
            "leaving-0",
            "expected to end by",
            "2026-11-21 12:04:36 UTC",
            "and 2 other objects",
        ] {
            assert!(html.contains(said), "{path}: {said}");
        }
        // The order that is chosen is said without colour.
        let pressed = html.split("aria-current=\"true\"").nth(1).unwrap_or_default();
        let pressed = pressed.split(['>', '<']).nth(1).unwrap_or_default().to_owned();
        let at = |name: &str| html.find(name).unwrap_or(usize::MAX);
        (
            pressed,
            ["worker-7%2F\"", "worker-8%2F\"", "Namespace archive<", "Namespace consortium<"]
                .map(at),
        )
    };
    let (pressed, [seven, eight, archive, consortium]) = page("");
    assert_eq!(pressed, "By cause, harm first");
    assert!(seven < eight && archive == usize::MAX && consortium == usize::MAX);
    let (pressed, [seven, eight, ..]) = page("?by=age");
    assert_eq!((pressed.as_str(), eight < seven), ("By age", true));
    let (pressed, places) = page("?by=namespace");
    assert_eq!(pressed, "By namespace");
    let [seven, eight, archive, consortium] = places;
    assert!(archive < eight && eight < consortium && consortium < seven, "{places:?}");
    // An order that there is not is that by cause.
    let (_, [seven, eight, ..]) = page("?by=colour");
    assert!(seven < eight);
}

/// The cards of a page, in their order; each begins with its id.
fn cards(html: &str) -> Vec<&str> {
    html.split("id=\"why-").skip(1).collect()
}

fn silent(silent: usize) -> Cause {
    let (provider, control_plane, renews) = (None, false, false);
    Cause::NodeSilent { node: "worker-7".into(), provider, control_plane, silent, renews }
}

#[test]
fn cause_that_explains_others_is_above_every_other_card_and_says_so() {
    let webhook = Cause::WebhookDown { webhook: "gate".into(), configurations: vec![] };
    let unreadable = Cause::Unreadable { resource: "secrets".into() };
    let explaining = [silent(2), webhook, Cause::ManagerSilent, Cause::NamespaceGone, unreadable];
    for cause in explaining {
        let (name, said) = (cause.name(), cause.clone());
        for query in ["", "?by=age", "?by=namespace"] {
            let in_use = Cause::ClaimInUse { pods: vec![] };
            let cause = cause.clone();
            let all = [(in_use, true), (silent(1), true), (Cause::Unknown, false), (cause, false)];
            let path = format!("/trouble{query}");
            let html = render("explains", &path, consortium::trouble::cards(all));
            check(&html);
            let cards = cards(&html);
            let order: Vec<&str> =
                cards.iter().filter_map(|card| card.split("%2F").next()).collect();
            assert_eq!(order[0], name, "{said:?}: {order:?}, {path}");
            assert!(cards[0].starts_with(&format!("{name}%2F%2FNode%2F%2F3%2F")), "{name}");
            assert_eq!((order.len(), order[3]), (4, "unknown"), "{order:?}, {path}");
            // The mark is a word, so that it is read out and seen without colour.
            let marks: Vec<(bool, bool)> = cards
                .iter()
                .map(|card| (card.contains(text::SOLVE_FIRST), card.contains(text::HARM)))
                .collect();
            let expected = [(true, false), (false, true), (false, true), (false, false)];
            assert_eq!(marks, expected, "{name}, {path}");
            // It stands above the headings of the others, and has none of its own.
            let heading = html.find("Namespace space-0<");
            assert_eq!(heading.is_some(), query == "?by=namespace", "{path}");
            let first = html.find("id=\"why-").unwrap();
            assert!(heading.is_none_or(|at| first < at), "{path}");
            assert!(!html.contains("Namespace space-3<"), "{path}");
        }
    }
}

#[test]
fn nodes_that_fell_silent_together_are_above_a_node_that_fell_silent_alone() {
    let all = [(silent(1), true), (silent(3), false), (silent(3), true), (silent(3), false)];
    let html = render("silent-together", "/trouble", consortium::trouble::cards(all));
    check(&html);
    let cards = cards(&html);
    let number = |card: &&str| card.split("%2F").nth(4).unwrap().to_owned();
    let order: Vec<String> = cards.iter().map(number).collect();
    assert_eq!((&*order[0], &*order[3]), ("2", "0"), "harm first, the one alone last: {order:?}");
    for card in &cards[..3] {
        assert!(card.contains("3 nodes fell silent together"), "{card}");
    }
    assert!(!cards[3].contains("fell silent together") && !cards[3].contains(text::SOLVE_FIRST));
}

#[test]
fn api_server_that_does_not_answer_is_said_above_all_cards() {
    for cause in [AwayCause::Silent, AwayCause::Unauthorized, AwayCause::Failing] {
        let with_cards = || consortium::trouble::cards([(Cause::ManagerSilent, true)]);
        let calm = render("answers", "/trouble", with_cards());
        assert!(!calm.contains(text::away(cause)) && !calm.contains(text::AWAY_MEANS));
        let html = render("away", "/trouble", consortium::trouble::away(with_cards(), cause));
        check(&html);
        let at = |said: &str| html.find(said).unwrap_or_else(|| panic!("{cause:?}: {said}"));
        assert!(at(text::away(cause)) < at("id=\"why-"), "{cause:?}");
        assert!(at(text::AWAY_MEANS) < at("id=\"why-"), "it says how old the cards are");
        assert!(html.contains("2026-11-21 12:02:26 UTC"), "and since when");
    }
}

#[test]
fn empty_page_is_no_comfort_while_the_api_server_does_not_answer() {
    let calm = render("calm", "/trouble", consortium::nothing());
    assert!(calm.contains(text::NO_TROUBLE) && !calm.contains(text::AWAY_MEANS));
    for cause in [AwayCause::Silent, AwayCause::Unauthorized, AwayCause::Failing] {
        let page = consortium::trouble::away(consortium::nothing(), cause);
        let html = render("away-empty", "/trouble", page);
        check(&html);
        assert!(!html.contains(text::NO_TROUBLE) && !html.contains(text::NO_TROUBLE_MEANS));
        let (_, empty) = html.split_once("class=\"empty\"").unwrap();
        let empty = empty.split("</div>").next().unwrap();
        for said in [text::away(cause), text::AWAY_MEANS, "2026-11-21 12:02:26 UTC"] {
            assert!(empty.contains(said), "{cause:?}: {said}: {empty}");
        }
    }
}

#[test]
fn things_that_are_switched_off_are_on_every_page_with_their_age_and_the_way_back() {
    let pages = [
        ("/", consortium::units()),
        ("/trouble", consortium::nothing()),
        ("/u/consortium", consortium::unit()),
        ("/u/consortium/plan/1f3a5c7e9b2d4f60", consortium::planned()),
        ("/r/7", consortium::run()),
    ];
    for (path, seed) in pages {
        let calm = render("switched-off", path, seed.clone());
        assert!(!calm.contains("is switched off<") && !calm.contains("/switched-off"), "{path}");
        for right in [Right::Look, Right::Act, Right::Force] {
            let html =
                render("switched-off", path, consortium::trouble::switched_off(&seed, right));
            check(&html);
            let banner = html.split("1 thing is switched off").nth(1).unwrap();
            let banner = banner.split("</a>").next().unwrap();
            assert!(banner.contains("Node &lt;b&gt;worker-7 is marked out of service"), "{path}");
            assert!(banner.contains("data-at=\"1795262421000\""), "{path}: its age: {banner}");
            assert!(banner.contains("href=\"/switched-off\""), "{path}");
        }
    }
}

#[test]
fn node_is_drawn_with_its_readiness_and_when_it_was_last_seen() {
    let uid = consortium::trouble::NODE;
    let html = |path: &str, ready| {
        let html = render("node", path, consortium::trouble::with_node(ready));
        check(&html);
        html
    };
    let path = format!("/u/consortium?view=list&sel={uid}");
    let silent = html(&path, false);
    let (before, drawer) = silent.split_once("<aside").unwrap();
    let sentence = |html: &str| {
        let from = html.split_once("Not ready").unwrap().1;
        let (times, text): (Vec<&str>, Vec<&str>) = from
            .split("<time ")
            .skip(1)
            .take(2)
            .map(|it| (it.split("data-at=\"").nth(1).unwrap().split('"').next().unwrap(), it))
            .unzip();
        assert!(from.contains(", changed ") && text[0].contains("not seen since"), "{}", text[0]);
        times.join(" ")
    };
    // Four minutes, and 38 seconds, before the page.
    let expected = "1795262381000 1795262583000";
    let list = before.split_once("list-table").unwrap().1;
    assert_eq!((sentence(list).as_str(), sentence(drawer).as_str()), (expected, expected));
    let map = before.split_once(&format!("id=\"node-{uid}\"")).unwrap().1;
    let map = map.split("</g></g>").next().unwrap();
    assert!(map.contains("Not ready") && map.contains("; not seen since "), "{map}");
    assert!(map.contains("<tspan data-at=\"1795262583000\" data-relative"), "{map}");
    assert!(before.contains("after it, Not ready\""), "a screen reader is told");
    let well = html(&path, true);
    assert!(
        well.contains("last seen") && !well.contains("Not ready"),
        "only exceptions have a time"
    );
}

#[test]
fn drawer_says_what_a_workload_must_outlive_how_that_is_known_and_which_order_is_given_up() {
    let path = format!("/u/consortium?sel={}", consortium::trouble::OPERATOR);
    let html = render("outlives", &path, consortium::trouble::with_operator());
    check(&html);
    let drawer = html.split("<aside").nth(1).unwrap();
    for said in [
        "Must outlive 4 Topic objects: clears their finalizer queue.example/topic",
        "Inferred from its rights.",
        "May have to outlive 1 Queue: clears their finalizer queue.example/queue",
        "A guess: it has rights to everything.",
        "A plan gives this order up: it closes a cycle.",
    ] {
        assert!(drawer.contains(said), "{said}");
    }
}
