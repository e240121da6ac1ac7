//! Rules that the compiler does not check: which module may depend on which, that every file is part of a crate, that no
//! unfinished work stays, that names and prose use the usual words. Each rule is one test, and its failure says what to do.
#![expect(clippy::unwrap_used, reason = "a file that cannot be read fails the test")]

mod module_graph;
mod retired_words;
mod source;
mod test_names;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use module_graph::{Files, ModuleGraph, circles};
use retired_words::retired_words;
use source::{Source, classes, code, files, lines_naming, modules_named, root, sources};
use test_names::short_names;

/// Crates that only some modules may name; a module by the beginning of its path.
const CRATES: [(&str, &[&str]); 12] = [
    ("kube", &["server/src/cluster"]),
    ("k8s_openapi", &["server/src/cluster"]),
    ("axum", &["server/src/http"]),
    ("tower_http", &["server/src/http"]),
    ("hyper", &["server/src/http", "server/src/notify/webhook.rs"]),
    ("hyper_util", &["server/src/http", "server/src/notify/webhook.rs"]),
    ("hyper_rustls", &["server/src/notify/webhook.rs"]),
    ("leptos_axum", &["server/src/http/page.rs"]),
    (
        "app",
        &[
            // A page gets causes as sentences, and has no code for them.
            "server/src/hub/plans.rs",
            "server/src/hub/topics.rs",
            "server/src/http/page.rs",
            "server/src/http/site.rs",
            "server/src/http/error.rs",
            "server/src/http/error/refusal.rs",
            "server/src/http/event_log.rs",
            "server/src/http/advice.rs",
            "server/src/http/remedies.rs",
            "server/src/notify/notification.rs",
            "server/src/http/preflight.rs",
            "server/src/http/journal_page.rs",
            "server/src/http/notifications_page.rs",
            "server/src/http/incident.rs",
            "server/src/http/switched_off.rs",
            // The frame of the pages that need no script.
            "server/src/http/plain.rs",
            "server/src/demo.rs",
        ],
    ),
    ("prometheus_client", &["server/src/metrics"]),
    ("redb", &["server/src/journal"]),
    ("sandbox", &["server/src/demo.rs"]),
];

/// For each module of the server, the modules that it may not depend on.
const FORBIDDEN_IN_SERVER: [(&str, &[&str]); 9] = [
    ("hub", &["http", "cluster", "args", "shutdown", "demo", "metrics", "notify"]),
    ("notify", &["http", "cluster", "journal", "args", "shutdown", "demo"]),
    ("metrics", &["http", "cluster", "journal", "args", "shutdown", "demo"]),
    ("http", &["cluster", "journal", "shutdown"]),
    ("cluster", &["http", "journal", "args", "shutdown", "demo"]),
    ("journal", &["http", "hub", "cluster", "args", "shutdown", "demo"]),
    ("args", &["http", "hub", "cluster", "journal", "shutdown", "demo"]),
    ("demo", &["http", "journal", "args", "shutdown"]),
    ("chance", &["http", "hub", "cluster", "journal", "args", "shutdown", "demo"]),
];

/// For each module of the page, the modules that it may not depend on: state does not know the views, and a view makes no
/// request.
const FORBIDDEN_IN_PAGE: [(&str, &[&str]); 6] = [
    ("text", &["navigation", "page", "view"]),
    ("layout", &["navigation", "page", "state", "text", "view"]),
    ("navigation", &["page", "view"]),
    ("state/scene.rs", &["navigation", "page", "text", "view"]),
    ("state", &["page", "view"]),
    ("view", &["page"]),
];

/// Names that make a request or leave the page; a view gets callbacks instead.
const REQUESTS: [&str; 6] = [
    "spawn_local",
    "EventSource",
    "gloo_net",
    "command::run_demo_command",
    "live::follow",
    "set_href",
];

/// Crates that `teardown` may not depend on: it builds for the browser, and reads no clock and no network.
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

fn check(rule: &str, violations: &[String]) {
    assert!(violations.is_empty(), "{rule}:\n  {}", violations.join("\n  "));
}

#[test]
fn crates_that_do_input_or_output_are_named_in_their_modules_alone() {
    let sources = sources();
    let ours = ["app/src", "server/src", "server/teardown/src"];
    let mut violations = vec![];
    let shipped =
        |source: &&Source| ours.iter().any(|dir| source.is_under(dir)) && !source.for_tests;
    for source in sources.iter().filter(shipped) {
        for (name, modules) in CRATES {
            if modules.iter().any(|module| source.is_under(module))
                || name == "app" && source.is_under("app/src")
            {
                continue;
            }
            let lines = lines_naming(source.without_tests(), name);
            violations
                .extend(lines.iter().map(|line| format!("{}:{line} names {name}", source.path)));
        }
    }
    check("name a crate that does input or output in its own module alone", &violations);
}

#[test]
fn modules_of_the_server_depend_in_one_direction() {
    let mut violations = vec![];
    for source in sources() {
        for (module, forbidden) in FORBIDDEN_IN_SERVER {
            if !source.for_tests && source.is_under(&format!("server/src/{module}")) {
                let named = source.modules();
                let named = forbidden.iter().filter(|other| named.contains(**other));
                violations
                    .extend(named.map(|other| format!("{} names crate::{other}", source.path)));
            }
        }
    }
    check(
        "a module of the server depends on the modules below it alone; see FORBIDDEN_IN_SERVER",
        &violations,
    );
}

/// A line of the table names the right that its route needs, so no route is without one.
#[test]
fn routes_are_added_by_their_table_alone() {
    let mut violations = vec![];
    for source in sources().iter().filter(|source| source.is_under("server/src")) {
        let is_table = source.is_under("server/src/http/routes.rs");
        let adds = source.without_tests().contains(".route(");
        if adds && !source.for_tests && !is_table {
            violations.push(source.path.clone());
        }
    }
    check("add the route to the table in server/src/http/routes.rs", &violations);
}

#[test]
fn server_does_not_ask_whether_its_cluster_is_simulated() {
    let modules = ["server/src/hub", "server/src/cluster", "server/src/journal"];
    let mut violations = vec![];
    for source in
        sources().iter().filter(|source| modules.iter().any(|module| source.is_under(module)))
    {
        let asks = ["demo.", "= demo", "match demo", "DemoFault", "FaultSwitch"].into_iter();
        let asked = asks.filter(|word| {
            // The hub hands the state of the demo on to the page, and does not look into it.
            let code = source.without_tests().replace("demo.as_ref()", "");
            !source.for_tests && code.contains(word)
        });
        violations.extend(asked.map(|word| format!("{} asks {word}", source.path)));
    }
    check("the server does not know whether its cluster is simulated", &violations);
}

#[test]
fn modules_of_the_page_depend_in_one_direction() {
    let mut violations = vec![];
    for source in sources() {
        for (module, forbidden) in FORBIDDEN_IN_PAGE {
            if !source.for_tests && source.is_under(&format!("app/src/{module}")) {
                let named = source.modules();
                let named = forbidden.iter().filter(|other| named.contains(**other));
                violations
                    .extend(named.map(|other| format!("{} names crate::{other}", source.path)));
            }
        }
        if source.is_under("app/src/view") {
            let named = REQUESTS.iter().filter(|request| source.code.contains(**request));
            violations.extend(named.map(|request| format!("{} names {request}", source.path)));
        }
    }
    check(
        "a view shows its arguments, and a page makes the requests; see FORBIDDEN_IN_PAGE",
        &violations,
    );
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
fn sentences_for_people_stand_in_the_catalogue() {
    let shown_from =
        ["app/src/view", "app/src/page", "app/src/navigation", "app/src/state", "app/src/lib.rs"];
    let mut violations = vec![];
    for source in sources().iter().filter(|source| !source.for_tests) {
        let shown = shown_from.iter().any(|module| source.is_under(module));
        // The server sends a code for each of its own findings. It sends the words of others unchanged.
        let found = source.is_under("server/src") || source.is_under("server/teardown/src");
        let lines = source.without_tests().lines().count();
        for (number, line) in (1..=lines).zip(source.text.lines()) {
            let line = line.trim_start();
            if line.starts_with("//") {
                continue;
            }
            if shown {
                let prose = prose(line);
                violations
                    .extend(prose.iter().map(|it| format!("{}:{number} says {it:?}", source.path)));
            }
            if found && (line.contains("ApiProblem::from(\"") || line.contains("message: \"")) {
                violations.push(format!("{}:{number} makes a sentence of its own", source.path));
            }
        }
    }
    check("a sentence for people stands in app/src/text", &violations);
}

#[test]
fn teardown_depends_on_no_crate_that_does_input_or_output() {
    let manifest = fs::read_to_string(root().join("server/teardown/Cargo.toml")).unwrap();
    let mut violations = vec![];
    let mut section = "";
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        }
        let name = line.split([' ', '=', '.']).next().unwrap_or_default();
        if section == "[dependencies]" && IMPURE.contains(&name) {
            violations.push(format!("server/teardown/Cargo.toml depends on {name}"));
        }
    }
    check("teardown decides, and neither reads nor sends anything", &violations);
}

#[test]
fn modules_of_teardown_form_no_circle() {
    let mut knows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources().iter().filter(|source| source.is_under("server/teardown/src")) {
        let inside = source.path.strip_prefix("server/teardown/src/").unwrap_or_default();
        let module = inside.split(['/', '.']).next().unwrap_or_default().to_owned();
        if module != "lib" && !source.for_tests {
            let mut named = source.modules();
            named.remove(&module);
            knows.entry(module).or_default().extend(named);
        }
    }
    let mut modules: BTreeSet<_> = knows.keys().cloned().collect();
    // Remove each module that depends on none of the rest, or on which none of the rest depends: circles remain.
    loop {
        for named in knows.values_mut() {
            named.retain(|module| modules.contains(module));
        }
        let known: BTreeSet<_> = knows.values().flatten().cloned().collect();
        let count = knows.len();
        knows.retain(|module, named| !named.is_empty() && known.contains(module));
        modules = knows.keys().cloned().collect();
        if knows.len() == count {
            break;
        }
    }
    let circle: Vec<_> =
        knows.iter().map(|(module, named)| format!("{module} depends on {named:?}")).collect();
    check("the modules of teardown can be read one after another", &circle);
}

/// A file can then be read, moved and tested together with the files that it depends on, and with no others.
#[test]
fn files_depend_on_each_other_in_no_circle() {
    let sources = sources();
    let roots: Vec<_> =
        sources.iter().filter(|it| it.is_root()).map(|it| it.path.clone()).collect();
    let files: Files = sources.into_iter().map(|source| (source.path, source.text)).collect();
    let mut violations = BTreeSet::new();
    for root in roots {
        for circle in circles(&ModuleGraph::of(&root, &files).edges()) {
            let files: BTreeSet<_> = circle.keys().map(|(from, _)| from).collect();
            let mut text = format!("{} files of the crate of {root}:", files.len());
            for ((from, to), name) in &circle {
                text += &format!("\n    {from} names {name} of {to}");
            }
            violations.insert(text);
        }
    }
    let violations: Vec<_> = violations.into_iter().collect();
    check("move what both files need into a third file, so that no circle is left", &violations);
}

/// A comment that begins so is half a sentence, which has to be read twice.
#[test]
fn comments_begin_with_no_bare_interrogative() {
    let mut violations = vec![];
    for source in sources() {
        let mut is_inside = false;
        for (number, line) in (1..).zip(source.text.lines()) {
            let comment = line.trim_start().strip_prefix("//");
            let words = comment.map(|it| it.trim_start_matches(['/', '!']).trim_start());
            let first = words.unwrap_or_default().split(|it: char| !it.is_alphanumeric()).next();
            if !is_inside && matches!(first, Some("What" | "Who" | "Which" | "Whose")) {
                violations.push(format!("{}:{number} {}", source.path, line.trim_start()));
            }
            // An empty line of a comment ends a paragraph.
            is_inside = words.is_some_and(|it| !it.is_empty());
        }
    }
    check("begin a comment with its subject", &violations);
}

#[test]
fn names_and_prose_have_no_retired_word() {
    check("use the word that others use", &retired_words());
}

#[test]
fn names_of_tests_have_at_least_three_words() {
    let violations: Vec<_> = sources().iter().flat_map(short_names).collect();
    check("name the test by its subject, the condition and the result", &violations);
}

#[test]
fn views_have_no_cfg() {
    let views = ["app/src/page", "app/src/view"];
    let mut violations = vec![];
    for source in sources().iter().filter(|source| views.iter().any(|dir| source.is_under(dir))) {
        let lines =
            source.without_tests().lines().enumerate().filter(|(_, line)| line.contains("cfg("));
        let lines =
            lines.chain(source.code.lines().enumerate().filter(|(_, line)| line.contains("cfg!(")));
        violations.extend(lines.map(|(line, _)| format!("{}:{}", source.path, line + 1)));
    }
    check("server and browser render the same page, so pages and views have no cfg", &violations);
}

#[test]
fn files_are_declared_by_a_mod() {
    let sources = sources();
    let declared: BTreeSet<_> =
        sources.iter().flat_map(Source::declares).map(|(path, _)| path).collect();
    let orphans =
        sources.iter().filter(|source| !source.is_root() && !declared.contains(&source.path));
    let orphans: Vec<_> = orphans.map(|source| source.path.clone()).collect();
    check("declare the file by a mod, or delete it", &orphans);
}

/// The build does not use cargo-leptos, so nothing else would notice that its table names something that is not there.
#[test]
fn table_for_cargo_leptos_names_what_exists() {
    let root = root();
    let manifest = |at: &str| -> toml::Table {
        fs::read_to_string(root.join(at).join("Cargo.toml")).unwrap().parse().unwrap()
    };
    let workspace = manifest("");
    let table = &workspace["workspace"]["metadata"]["leptos"][0];
    let value = |key: &str| table[key].as_str().unwrap();
    let mut violations = vec![];
    let mut hold = |is_true: bool, key: &str| {
        if !is_true {
            violations.push(format!("{key} = {:?}", table[key]));
        }
    };
    for key in ["style-file", "assets-dir", "end2end-dir"] {
        hold(root.join(value(key)).exists(), key);
    }
    let [app, server] = ["app", "server"].map(manifest);
    hold(app["package"]["name"].as_str() == Some(value("lib-package")), "lib-package");
    hold(server["package"]["name"].as_str() == Some(value("bin-package")), "bin-package");
    let features = table["lib-features"].as_array().unwrap();
    let are_there = features.iter().all(|it| app["features"].get(it.as_str().unwrap()).is_some());
    hold(are_there && !features.is_empty(), "lib-features");
    let programs = server["bin"].as_array().unwrap();
    let is_made = programs.iter().any(|it| it["name"].as_str() == Some(value("bin-exe-name")));
    hold(is_made, "bin-exe-name");
    let profile = value("lib-profile-release");
    hold(workspace["profile"].get(profile).is_some(), "lib-profile-release");
    // The server looks for the page at these places.
    let build = fs::read_to_string(root.join("app/build")).unwrap();
    for (key, before) in [
        ("site-root", "site=$root/"),
        ("site-pkg-dir", "pkg=$site/"),
        ("output-name", "--out-name "),
    ] {
        let is_so = |(_, rest): (&str, &str)| rest.starts_with(value(key));
        hold(build.split_once(before).is_some_and(is_so), key);
    }
    check("correct the table for cargo-leptos in Cargo.toml", &violations);
}

#[test]
fn sources_hold_no_unfinished_work() {
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    let macros = [concat!("todo", "!"), concat!("dbg", "!"), concat!("unimplemented", "!")];
    let mut violations = vec![];
    for source in sources() {
        for (number, (text, code)) in (1..).zip(source.text.lines().zip(source.code.lines())) {
            let word = words.iter().find(|word| {
                text.split(|char: char| !char.is_alphanumeric()).any(|it| it == **word)
            });
            let found = word.or_else(|| macros.iter().find(|name| code.contains(**name)));
            violations.extend(found.map(|found| format!("{}:{number} holds {found}", source.path)));
        }
    }
    check("finish the work, or file an issue", &violations);
}

#[test]
fn exceptions_from_lints_give_a_reason() {
    let mut violations = vec![];
    for source in sources() {
        for (at, opening) in
            ["[allow(", "[expect("].iter().flat_map(|it| source.code.match_indices(it))
        {
            let attribute = &source.code[at..];
            let attribute = &attribute[..attribute.find(")]").unwrap_or(attribute.len())];
            if !attribute.contains("reason") {
                let line = source.code[..at].matches('\n').count() + 1;
                violations.push(format!("{}:{line} {opening}", source.path));
            }
        }
    }
    check(
        "give the exception from a lint a reason, and write `expect` rather than `allow`",
        &violations,
    );
}

#[test]
fn stylesheets_have_their_view_and_are_imported() {
    let root = root();
    let main = fs::read_to_string(root.join("style/main.css")).unwrap();
    let seen: BTreeSet<String> = sources()
        .iter()
        .filter_map(|source| source.path.strip_prefix("app/src/")?.strip_suffix(".rs"))
        .map(str::to_owned)
        .collect();
    let mut violations = vec![];
    for path in files(&root.join("style"), ".css") {
        let path = path.strip_prefix(root.join("style")).unwrap().display().to_string();
        let stem = path.trim_end_matches(".css");
        if stem.contains('/') && !seen.contains(stem) {
            violations.push(format!("style/{path} has no app/src/{stem}.rs"));
        }
        if path != "main.css" && !main.contains(&format!("\"{path}\"")) {
            violations.push(format!("style/main.css does not import {path}"));
        }
    }
    check(
        "a stylesheet has the name of its view or page, and style/main.css imports it",
        &violations,
    );
}

/// Classes of views that begin otherwise than the name of their stylesheet, and the reason why.
const CLASSES: [(&str, &str); 6] = [
    ("arrow", "the head of an edge has the name of its marker, by which the lines refer to it"),
    ("chip", "a small label, in the head of a unit and in the words of a state bar"),
    ("dialog", "every question of the page is one; that of `confirm` has the most in it"),
    ("evidence", "the list of what was seen, for attention, for a diagnosis and before a skip"),
    ("lane", "a lane of the map; nothing else has lanes"),
    ("pill", "the whole of `connection`; nothing else is one"),
];

/// Whether a class begins with a word of the path of its stylesheet, which may be in the plural.
fn is_named_after(class: &str, stem: &str) -> bool {
    let first = class.split('-').next().unwrap_or_default();
    stem.split(['/', '_']).any(|word| first == word || first.strip_suffix('s') == Some(word))
}

/// A class is found from the page, and the page from a class, by its name alone.
#[test]
fn classes_belong_to_their_view() {
    let style = root().join("style");
    let read = |path: PathBuf| {
        let stem = path.strip_prefix(&style).unwrap().display().to_string();
        let stem = stem.trim_start_matches("view/").trim_end_matches(".css").to_owned();
        (stem, classes(&fs::read_to_string(path).unwrap()))
    };
    let views: BTreeMap<_, _> = files(&style.join("view"), ".css").into_iter().map(read).collect();
    let (_, base) = read(style.join("base.css"));
    let mut violations = vec![];
    for (stem, found) in &views {
        for (line, class) in found {
            let is_shared = base.iter().any(|(_, it)| it == class)
                || CLASSES.iter().any(|(it, _)| is_named_after(class, it));
            // A view may place what another one draws.
            let is_of_another = || {
                let has = |of: &[(usize, String)]| of.iter().any(|(_, it)| it == class);
                views.iter().any(|(it, of)| it != stem && is_named_after(class, it) && has(of))
            };
            if !is_shared && !is_named_after(class, stem) && !is_of_another() {
                violations.push(format!("style/view/{stem}.css:{line} .{class}"));
            }
        }
    }
    check(
        "begin the class with the name of its view, or move it to style/base.css if several views share it",
        &violations,
    );
}

#[test]
fn text_scans_find_names_in_code_alone() {
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

    let style = "/* .no */ .a > b.c,\n&.no:has(.d) { inset: 0.5rem; .e.no & { x: url(\"f.g\") } }";
    let found: Vec<_> = classes(style).into_iter().map(|(at, it)| format!("{at}{it}")).collect();
    assert_eq!(found, ["1a", "1c", "2d", "2e"], "a class that only changes another is left out");

    let named = modules_named(
        "use crate::hub::{http, Hub}; use crate::{args, journal::{Journal, hub}, plan};\ncrate::run::x(a, b)",
    );
    assert_eq!(
        named.iter().map(String::as_str).collect::<Vec<_>>(),
        ["args", "hub", "journal", "plan", "run"]
    );
    let deep = |path: &str, code: &str| {
        let code = code.to_owned();
        let source = Source { path: path.to_owned(), text: code.clone(), code, for_tests: false };
        source.modules().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(deep("server/src/hub.rs", "use super::http::Site;"), ["http"]);
    assert_eq!(
        deep("server/src/hub/live.rs", "use super::super::{http, journal};"),
        ["http", "journal"]
    );
    assert_eq!(deep("server/src/hub/live/mod.rs", "super::super::http::serve()"), ["http"]);
    assert!(deep("server/src/hub/live.rs", "use super::http::Site;").is_empty());
}
