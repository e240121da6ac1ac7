//! What the compiler does not check: who may name whom, that every file is part of a crate, that nothing is left lying
//! about. Each rule is one test and says in its failure what to do.
#![expect(clippy::unwrap_used, reason = "a file that cannot be read fails the test")]

mod source;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use source::{Source, code, files, lines_naming, rooms_named, root, sources};

/// Crates that only some rooms of the server may name; rooms by the beginning of their path.
const CRATES: [(&str, &[&str]); 10] = [
    ("kube", &["server/src/cluster"]),
    ("k8s_openapi", &["server/src/cluster"]),
    ("axum", &["server/src/http"]),
    ("tower_http", &["server/src/http"]),
    ("hyper", &["server/src/http"]),
    ("hyper_util", &["server/src/http"]),
    ("leptos_axum", &["server/src/http/page.rs"]),
    (
        "app",
        &[
            "server/src/http/page.rs",
            "server/src/http/site.rs",
            "server/src/http/error.rs",
            "server/src/http/feed.rs",
        ],
    ),
    ("redb", &["server/src/journal"]),
    ("sandbox", &["server/src/demo.rs"]),
];

/// Rooms of the server that a room may not name.
const ARROWS: [(&str, &[&str]); 7] = [
    ("hub", &["http", "cluster", "args", "shutdown", "demo"]),
    ("http", &["cluster", "journal", "shutdown"]),
    ("cluster", &["http", "journal", "args", "shutdown", "demo"]),
    ("journal", &["http", "hub", "cluster", "args", "shutdown", "demo"]),
    ("args", &["http", "hub", "cluster", "journal", "shutdown", "demo"]),
    ("demo", &["http", "journal", "args", "shutdown"]),
    ("chance", &["http", "hub", "cluster", "journal", "args", "shutdown", "demo"]),
];

/// Rooms of the page that a room may not name: nothing below knows what is seen, and what is seen asks no network.
const PAGE_ARROWS: [(&str, &[&str]); 6] = [
    ("text", &["navigation", "page", "view"]),
    ("layout", &["navigation", "page", "state", "text", "view"]),
    ("navigation", &["page", "view"]),
    ("state/scene.rs", &["navigation", "page", "text", "view"]),
    ("state", &["page", "view"]),
    ("view", &["page"]),
];

/// What reaches the network or another server's page; a view is given what it may set off.
const ERRANDS: [&str; 6] =
    ["spawn_local", "EventSource", "gloo_net", "command::play", "live::follow", "set_href"];

/// What `teardown` may not depend on: it builds for the browser, and reads no clock and no network.
const IMPURE: [&str; 12] = [
    "app",
    "axum",
    "futures",
    "getrandom",
    "http",
    "kube",
    "k8s-openapi",
    "leptos",
    "server",
    "tokio",
    "tracing",
    "web-sys",
];

fn check(rule: &str, offences: &[String]) {
    assert!(offences.is_empty(), "{rule}:\n  {}", offences.join("\n  "));
}

#[test]
fn each_crate_is_named_in_its_room() {
    let sources = sources();
    let ours = ["app/src", "server/src", "server/teardown/src"];
    let mut offences = vec![];
    let shipped =
        |source: &&Source| ours.iter().any(|dir| source.is_under(dir)) && !source.for_tests;
    for source in sources.iter().filter(shipped) {
        for (name, rooms) in CRATES {
            if rooms.iter().any(|room| source.is_under(room))
                || name == "app" && source.is_under("app/src")
            {
                continue;
            }
            let lines = lines_naming(source.without_tests(), name);
            offences
                .extend(lines.iter().map(|line| format!("{}:{line} names {name}", source.path)));
        }
    }
    check("only its own room names a crate that does input or output", &offences);
}

#[test]
fn arrows_between_rooms_point_one_way() {
    let mut offences = vec![];
    for source in sources() {
        for (room, forbidden) in ARROWS {
            if !source.for_tests && source.is_under(&format!("server/src/{room}")) {
                let named = source.rooms();
                let named = forbidden.iter().filter(|other| named.contains(**other));
                offences.extend(named.map(|other| format!("{} names crate::{other}", source.path)));
            }
        }
    }
    check("a room knows only the rooms that its arrow leads to", &offences);
}

#[test]
fn whether_the_cluster_is_played_is_passed_on_and_never_asked() {
    let rooms = ["server/src/hub", "server/src/cluster", "server/src/journal"];
    let mut offences = vec![];
    for source in sources().iter().filter(|source| rooms.iter().any(|room| source.is_under(room))) {
        let asks = ["Demo(", ".demo("].into_iter();
        let asked = asks.filter(|word| {
            let code = source.without_tests();
            // A watch that lists what it does not look at names it once, without looking.
            !source.for_tests && code.replace("Demo(_)", "").contains(word)
        });
        offences.extend(asked.map(|word| format!("{} asks {word}", source.path)));
    }
    check("the server does not know what it talks to", &offences);
}

#[test]
fn arrows_within_the_page_point_one_way() {
    let mut offences = vec![];
    for source in sources() {
        for (room, forbidden) in PAGE_ARROWS {
            if !source.for_tests && source.is_under(&format!("app/src/{room}")) {
                let named = source.rooms();
                let named = forbidden.iter().filter(|other| named.contains(**other));
                offences.extend(named.map(|other| format!("{} names crate::{other}", source.path)));
            }
        }
        if source.is_under("app/src/view") {
            let named = ERRANDS.iter().filter(|errand| source.code.contains(**errand));
            offences.extend(named.map(|errand| format!("{} says {errand}", source.path)));
        }
    }
    check("a view shows what it is given; who goes out to the server is a page", &offences);
}

/// The literals of a line that are sentences: they begin with a capital, or have three words.
fn prose(line: &str) -> Vec<&str> {
    let words = |text: &str| {
        let is_word =
            |word: &&str| word.len() > 1 && word.bytes().all(|it| it.is_ascii_lowercase());
        text.split(' ').filter(is_word).count()
    };
    let literals = line.split('"').skip(1).step_by(2);
    literals
        .filter(|text| {
            let capital = text.starts_with(|first: char| first.is_ascii_uppercase());
            capital && text.contains(' ') && words(text) > 0
                || words(text) > 2 && text.ends_with(['.', '…', '?'])
        })
        .collect()
}

#[test]
fn every_sentence_stands_in_the_catalogue() {
    let said =
        ["app/src/view", "app/src/page", "app/src/navigation", "app/src/state", "app/src/lib.rs"];
    let mut offences = vec![];
    for source in sources().iter().filter(|source| !source.for_tests) {
        let shown = said.iter().any(|room| source.is_under(room));
        // What the server finds travels as a code; only what others said travels as they said it.
        let found = source.is_under("server/src") || source.is_under("server/teardown/src");
        let lines = source.without_tests().lines().count();
        for (number, line) in (1..=lines).zip(source.text.lines()) {
            let line = line.trim_start();
            if line.starts_with("//") {
                continue;
            }
            if shown {
                let prose = prose(line);
                offences
                    .extend(prose.iter().map(|it| format!("{}:{number} says {it:?}", source.path)));
            }
            if found && (line.contains("ApiProblem::from(\"") || line.contains("message: \"")) {
                offences.push(format!("{}:{number} complains in words of its own", source.path));
            }
        }
    }
    check("a sentence that a person reads stands in app/src/text", &offences);
}

#[test]
fn teardown_is_pure() {
    let manifest = fs::read_to_string(root().join("server/teardown/Cargo.toml")).unwrap();
    let mut offences = vec![];
    let mut section = "";
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        }
        let name = line.split([' ', '=', '.']).next().unwrap_or_default();
        if section == "[dependencies]" && IMPURE.contains(&name) {
            offences.push(format!("server/teardown/Cargo.toml depends on {name}"));
        }
    }
    check("teardown decides, and does nothing", &offences);
}

#[test]
fn rooms_of_teardown_know_no_later_rooms() {
    let mut knows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources().iter().filter(|source| source.is_under("server/teardown/src")) {
        let inside = source.path.strip_prefix("server/teardown/src/").unwrap_or_default();
        let room = inside.split(['/', '.']).next().unwrap_or_default().to_owned();
        if room != "lib" && !source.for_tests {
            let mut named = source.rooms();
            named.remove(&room);
            knows.entry(room).or_default().extend(named);
        }
    }
    let mut rooms: BTreeSet<_> = knows.keys().cloned().collect();
    // Take away the rooms that know nobody who is left, or that nobody who is left knows: a circle remains.
    loop {
        for named in knows.values_mut() {
            named.retain(|room| rooms.contains(room));
        }
        let known: BTreeSet<_> = knows.values().flatten().cloned().collect();
        let count = knows.len();
        knows.retain(|room, named| !named.is_empty() && known.contains(room));
        rooms = knows.keys().cloned().collect();
        if knows.len() == count {
            break;
        }
    }
    let circle: Vec<_> =
        knows.iter().map(|(room, named)| format!("{room} knows {named:?}")).collect();
    check("rooms of teardown can be read one after another", &circle);
}

#[test]
fn views_are_the_same_in_both_builds() {
    let views = ["app/src/page", "app/src/view"];
    let mut offences = vec![];
    for source in sources().iter().filter(|source| views.iter().any(|dir| source.is_under(dir))) {
        let lines =
            source.without_tests().lines().enumerate().filter(|(_, line)| line.contains("cfg("));
        let lines =
            lines.chain(source.code.lines().enumerate().filter(|(_, line)| line.contains("cfg!(")));
        offences.extend(lines.map(|(line, _)| format!("{}:{}", source.path, line + 1)));
    }
    check("what server and browser render is equal, so no cfg in pages and views", &offences);
}

#[test]
fn every_file_belongs_to_a_crate() {
    let sources = sources();
    let declared: BTreeSet<_> =
        sources.iter().flat_map(Source::declares).map(|(path, _)| path).collect();
    let orphans =
        sources.iter().filter(|source| !source.is_root() && !declared.contains(&source.path));
    let orphans: Vec<_> = orphans.map(|source| source.path.clone()).collect();
    check("each file is declared by a mod", &orphans);
}

/// Everything that the table for cargo-leptos names is there: nobody builds with it every day.
#[test]
fn the_table_for_cargo_leptos_is_true() {
    let root = root();
    let manifest = |at: &str| -> toml::Table {
        fs::read_to_string(root.join(at).join("Cargo.toml")).unwrap().parse().unwrap()
    };
    let workspace = manifest("");
    let table = &workspace["workspace"]["metadata"]["leptos"][0];
    let said = |key: &str| table[key].as_str().unwrap();
    let mut offences = vec![];
    let mut hold = |is_true: bool, key: &str| {
        if !is_true {
            offences.push(format!("{key} = {:?}", table[key]));
        }
    };
    for key in ["style-file", "assets-dir", "end2end-dir"] {
        hold(root.join(said(key)).exists(), key);
    }
    let [app, server] = ["app", "server"].map(manifest);
    hold(app["package"]["name"].as_str() == Some(said("lib-package")), "lib-package");
    hold(server["package"]["name"].as_str() == Some(said("bin-package")), "bin-package");
    let features = table["lib-features"].as_array().unwrap();
    let are_there = features.iter().all(|it| app["features"].get(it.as_str().unwrap()).is_some());
    hold(are_there && !features.is_empty(), "lib-features");
    let programs = server["bin"].as_array().unwrap();
    let is_made = programs.iter().any(|it| it["name"].as_str() == Some(said("bin-exe-name")));
    hold(is_made, "bin-exe-name");
    let profile = said("lib-profile-release");
    hold(workspace["profile"].get(profile).is_some(), "lib-profile-release");
    // Where the server looks for the page, and what the page is called there.
    let build = fs::read_to_string(root.join("app/build")).unwrap();
    for (key, before) in [
        ("site-root", "site=$root/"),
        ("site-pkg-dir", "pkg=$site/"),
        ("output-name", "--out-name "),
    ] {
        let is_so = |(_, rest): (&str, &str)| rest.starts_with(said(key));
        hold(build.split_once(before).is_some_and(is_so), key);
    }
    check("what cargo-leptos is told is how it is", &offences);
}

#[test]
fn nothing_is_left_lying_about() {
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    let macros = [concat!("todo", "!"), concat!("dbg", "!"), concat!("unimplemented", "!")];
    let mut offences = vec![];
    for source in sources() {
        for (number, (text, code)) in (1..).zip(source.text.lines().zip(source.code.lines())) {
            let word = words.iter().find(|word| {
                text.split(|char: char| !char.is_alphanumeric()).any(|it| it == **word)
            });
            let found = word.or_else(|| macros.iter().find(|name| code.contains(**name)));
            offences.extend(found.map(|found| format!("{}:{number} says {found}", source.path)));
        }
    }
    check("finish it, or write it where plans are kept", &offences);
}

#[test]
fn exceptions_give_their_reason() {
    let mut offences = vec![];
    for source in sources() {
        for (at, opening) in
            ["[allow(", "[expect("].iter().flat_map(|it| source.code.match_indices(it))
        {
            let attribute = &source.code[at..];
            let attribute = &attribute[..attribute.find(")]").unwrap_or(attribute.len())];
            if !attribute.contains("reason") {
                let line = source.code[..at].matches('\n').count() + 1;
                offences.push(format!("{}:{line} {opening}", source.path));
            }
        }
    }
    check("an exception from a lint gives its reason, and is `expect` where that works", &offences);
}

#[test]
fn every_style_has_its_view() {
    let root = root();
    let main = fs::read_to_string(root.join("style/main.css")).unwrap();
    let seen: BTreeSet<String> = sources()
        .iter()
        .filter_map(|source| source.path.strip_prefix("app/src/")?.strip_suffix(".rs"))
        .map(str::to_owned)
        .collect();
    let mut offences = vec![];
    for path in files(&root.join("style"), ".css") {
        let path = path.strip_prefix(root.join("style")).unwrap().display().to_string();
        let stem = path.trim_end_matches(".css");
        if stem.contains('/') && !seen.contains(stem) {
            offences.push(format!("style/{path} has no app/src/{stem}.rs"));
        }
        if path != "main.css" && !main.contains(&format!("\"{path}\"")) {
            offences.push(format!("style/main.css does not import {path}"));
        }
    }
    check("what is styled is a view or a page of the same name, and is imported", &offences);
}

#[test]
fn the_checks_see_what_they_look_for() {
    let blanked = code(
        "a(\"kube::x\", r#\"y\"z\"#, '\"', 'l', '…', '\\'', b\"q\"); // kube::\nlet x: &'static str; /* kube:: */ end",
    );
    assert!(
        !blanked.contains("kube") && !blanked.contains('z') && blanked.contains("&'static str;"),
        "{blanked}"
    );
    assert!(blanked.ends_with(" end") && blanked.matches('\n').count() == 1, "{blanked}");

    assert_eq!(lines_naming("use kube::Client;\nlet a = kube::b();", "kube"), [1, 2]);
    assert_eq!(lines_naming("use {a, http::b};\nuse http;", "http"), [1, 2]);
    for code in
        ["use crate::http::Site;", "let kube = 1;", "not_kube::x", "kube_like::x", "x.http::<u8>"]
    {
        assert!(lines_naming(code, "kube").is_empty(), "{code}");
    }
    assert!(lines_naming("use crate::http::Site;", "http").is_empty());

    assert_eq!(prose(r#"view! { <p class="a b c">"No run"</p> }"#), ["No run"]);
    assert_eq!(prose(r#"say("it is gone for good.")"#), ["it is gone for good."]);
    for line in
        [r#"<div class="tool wide one two">"#, r#"event.key() == "Escape""#, r#""M5 12h14""#]
    {
        assert!(prose(line).is_empty(), "{line}");
    }

    let named = rooms_named(
        "use crate::hub::{http, Hub}; use crate::{args, journal::{Journal, hub}, plan};\ncrate::run::x(a, b)",
    );
    assert_eq!(
        named.iter().map(String::as_str).collect::<Vec<_>>(),
        ["args", "hub", "journal", "plan", "run"]
    );
    let deep = |path: &str, code: &str| {
        let code = code.to_owned();
        let source = Source { path: path.to_owned(), text: code.clone(), code, for_tests: false };
        source.rooms().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(deep("server/src/hub.rs", "use super::http::Site;"), ["http"]);
    assert_eq!(
        deep("server/src/hub/live.rs", "use super::super::{http, journal};"),
        ["http", "journal"]
    );
    assert_eq!(deep("server/src/hub/live/mod.rs", "super::super::http::serve()"), ["http"]);
    assert!(deep("server/src/hub/live.rs", "use super::http::Site;").is_empty());
}
