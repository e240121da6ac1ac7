//! Compares the documentation, the alert rules and the dashboard in `server/monitoring` with a real exposition.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use promql_parser::parser::{self, Expr, VectorSelector};
use serde::Deserialize;
use teardown::{
    diagnosis::{Cause, Confidence, KubeletProblem, KubeletSubject},
    observation::HiddenCause,
    run::RunState,
    state::State,
    tally::{CompleteTally, STEP_STATES, Tally, WaitingTally},
};

use super::*;
use crate::hub::{DiagnosisTime, Reading};

const DOCUMENTATION: &str = include_str!("../../monitoring/metrics.md");
const ALERTS: &str = include_str!("../../monitoring/alerts.yaml");
const DASHBOARD: &str = include_str!("../../monitoring/dashboard.json");

/// Labels that Prometheus adds to every metric, and that of a histogram's buckets.
const ADDED: [&str; 3] = ["job", "instance", "le"];

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn tally(complete: Option<CompleteTally>) -> Tally {
    let hidden = BTreeMap::from([("gadgets.example.com".to_owned(), HiddenCause::Discovery)]);
    Tally { now: at(0), reachable: true, kinds_listed: 2, kinds_pending: 1, hidden, complete }
}

/// A cluster in which two roots hold deletions.
fn complete() -> CompleteTally {
    let waiting = |oldest| WaitingTally { objects: 7, roots: 2, stuck: 1, oldest: at(oldest) };
    CompleteTally {
        objects: 40,
        waiting: BTreeMap::from([
            (("nodeSilent", Confidence::Confirmed), waiting(-90)),
            (("nodeSilent", Confidence::Inferred), waiting(-30)),
        ]),
        in_time: 5,
        runs: RunState::ALL.map(|state| (state, 0)).into(),
        steps: STEP_STATES.map(|state| (state, usize::from(state == State::CameBack))).into(),
    }
}

fn scraped(tally: Tally, api: &ApiMetrics) -> String {
    let reading = Reading {
        tally,
        journal_failures: 3,
        is_journal_failing: true,
        set_aside: 2,
        diagnosis_time: DiagnosisTime { rounds: 4, took: Duration::from_millis(250) },
    };
    let notifications = Some(&NotifyMetrics::default());
    exposition(&Scrape { reading: &reading, api, notifications, viewers: 2, now: at(5) })
}

/// Counters of a connection that was used.
fn used() -> ApiMetrics {
    let api = ApiMetrics::default();
    api.begin(Verb::List).end(CallOutcome::Answered(200));
    api.watch_line();
    api
}

/// A scrape in which no metric is absent.
fn everything() -> String {
    scraped(tally(Some(complete())), &used())
}

/// A scrape while the first lists are under way.
fn before_the_lists() -> String {
    scraped(tally(None), &used())
}

fn value<'a>(text: &'a str, series: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))
}

/// The type and the labels of each metric, by the name that queries have.
fn metrics(text: &str) -> BTreeMap<String, (String, BTreeSet<String>)> {
    let mut found = BTreeMap::new();
    let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    for (family, kind) in families {
        let suffix = match kind {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        let samples =
            text.lines().filter(|line| line.starts_with(family) && !line.starts_with('#'));
        let labels = samples.filter_map(|line| line.split_once('{')?.1.split_once('}'));
        let names =
            labels.flat_map(|(labels, _)| labels.split(',')).filter_map(|it| it.split_once('='));
        let names =
            names.map(|(name, _)| name.to_owned()).filter(|it| !ADDED.contains(&it.as_str()));
        found.insert(format!("{family}{suffix}"), (kind.to_owned(), names.collect()));
    }
    found
}

#[test]
fn documentation_has_a_row_for_each_metric_and_no_other() {
    let mut documented = BTreeMap::new();
    for row in DOCUMENTATION.lines().filter_map(|line| line.strip_prefix("| `")) {
        let cells: Vec<_> = row.split('|').map(|cell| cell.trim().trim_end_matches('`')).collect();
        let [name, kind, labels, meaning, ""] = cells[..] else { panic!("{row}") };
        assert!(!meaning.is_empty(), "{name}");
        let labels = labels.split(", ").filter(|it| !it.is_empty()).map(str::to_owned).collect();
        documented.insert(name.to_owned(), (kind.to_owned(), labels));
    }
    assert_eq!(documented, metrics(&everything()));
}

/// The rows with the mark are those that are absent.
#[test]
fn counts_are_absent_until_the_cluster_has_been_read() {
    let whole: BTreeSet<String> = metrics(&everything()).into_keys().collect();
    let text = before_the_lists();
    assert_eq!(value(&text, "unwind_index_complete"), Some("0"));
    let partial = metrics(&text).into_keys().collect();
    let marked = DOCUMENTATION.lines().filter(|line| line.contains("| ◦ "));
    let marked = marked.filter_map(|line| line.split('`').nth(1)).map(str::to_owned);
    assert_eq!(whole.difference(&partial).cloned().collect::<BTreeSet<_>>(), marked.collect());
}

#[test]
fn causes_have_a_count_and_only_those_with_objects_an_age() {
    let text = everything();
    for cause in Cause::NAMES {
        for confidence in ["unknown", "inferred", "confirmed"] {
            let labels = format!("{{cause=\"{cause}\",confidence=\"{confidence}\"}}");
            let expected = if cause == "nodeSilent" && confidence != "unknown" {
                ["7", "2", "1"]
            } else {
                ["0"; 3]
            };
            let names = ["terminating_objects", "terminating_roots", "stuck_roots"];
            let found = names.map(|name| value(&text, &format!("unwind_{name}{labels}")).unwrap());
            assert_eq!(found, expected, "{labels}");
        }
        let age = value(&text, &format!("unwind_terminating_oldest_seconds{{cause=\"{cause}\"}}"));
        assert_eq!(age, (cause == "nodeSilent").then_some("90.0"));
    }
    assert_eq!(value(&text, "unwind_run_steps{state=\"cameBack\"}"), Some("1"));
    assert!(text.ends_with("# EOF\n"), "{text}");
}

#[test]
fn name_of_a_resource_cannot_break_out_of_its_label() {
    let name = "a\"} 1\nunwind_up 0\\";
    let hidden = BTreeMap::from([(name.to_owned(), HiddenCause::Failing)]);
    let text = scraped(Tally { hidden, ..tally(None) }, &ApiMetrics::default());
    let escaped = r#"unwind_hidden_kind{resource="a\"} 1\nunwind_up 0\\",reason="failing"} 1"#;
    assert!(text.lines().any(|line| line == escaped), "{text}");
}

#[test]
fn only_some_of_many_hidden_kinds_are_named() {
    let hidden = (0..1_000).map(|number| (format!("k{number}"), HiddenCause::Failing)).collect();
    let text = scraped(Tally { hidden, ..tally(None) }, &ApiMetrics::default());
    assert_eq!(value(&text, "unwind_hidden_kinds"), Some("1000"));
    assert_eq!(text.lines().filter(|line| line.starts_with("unwind_hidden_kind{")).count(), 200);
}

#[tokio::test(start_paused = true)]
async fn request_is_counted_with_its_outcome_and_its_duration() {
    let api = ApiMetrics::default();
    let call = api.begin(Verb::Delete);
    tokio::time::sleep(Duration::from_millis(300)).await;
    call.end(CallOutcome::Answered(409));
    drop(api.begin(Verb::Watch));
    api.watch_line();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let text = scraped(tally(None), &api);
    for (series, expected) in [
        (r#"api_calls_total{verb="delete",outcome="conflict"}"#, "1"),
        (r#"api_calls_total{verb="watch",outcome="abandoned"}"#, "1"),
        (r#"api_call_duration_seconds_bucket{le="0.25",verb="delete"}"#, "0"),
        (r#"api_call_duration_seconds_bucket{le="0.5",verb="delete"}"#, "1"),
        (r#"watch_restarts_total{reason="expired"}"#, "0"),
    ] {
        assert_eq!(value(&text, &format!("unwind_{series}")), Some(expected), "{text}");
    }
    let last = at(5) - SignedDuration::from_secs(2);
    let seen = value(&text, "unwind_watch_last_event_timestamp_seconds").unwrap();
    assert_eq!(seen.parse(), Ok(last.as_duration().as_secs_f64()));
}

#[test]
fn question_to_a_kubelet_is_counted_by_the_place_of_its_problem() {
    let api = ApiMetrics::default();
    let problems = [
        (None, "success"),
        (Some(KubeletProblem::QueryOff), "off"),
        (Some(KubeletProblem::Forbidden), "forbidden"),
        (Some(KubeletProblem::Silent { seconds: 12 }), "unreachable"),
        (Some(KubeletProblem::QueryRefused { said: "no".into() }), "refused"),
        (Some(KubeletProblem::Other("odd".into())), "failure"),
    ];
    for (problem, _) in &problems {
        api.kubelet_asked(KubeletSubject::Log, problem.as_ref());
    }
    let text = scraped(tally(None), &api);
    for (_, outcome) in problems {
        for (subject, expected) in [("log", "1"), ("running_pods", "0"), ("metrics", "0")] {
            let labels = format!("{{subject=\"{subject}\",outcome=\"{outcome}\"}}");
            let found = value(&text, &format!("unwind_kubelet_queries_total{labels}"));
            assert_eq!(found, Some(expected), "{labels}");
        }
    }
}

#[test]
fn time_to_find_causes_is_a_sum_and_a_number_of_rounds() {
    let text = before_the_lists();
    assert_eq!(value(&text, "unwind_diagnosis_seconds_total"), Some("0.25"));
    assert_eq!(value(&text, "unwind_diagnosis_rounds_total"), Some("4"));
}

/// The rule file of Prometheus, as far as these rules use it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    name: String,
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    alert: String,
    expr: String,
    #[serde(default)]
    r#for: Option<String>,
    labels: RuleLabels,
    annotations: Annotations,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleLabels {
    severity: Severity,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    Critical,
    Warning,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Annotations {
    summary: String,
    description: String,
    action: String,
}

/// All selectors of an expression.
fn selectors(expression: &Expr, found: &mut Vec<VectorSelector>) {
    match expression {
        Expr::VectorSelector(selector) => found.push(selector.clone()),
        Expr::MatrixSelector(matrix) => found.push(matrix.vs.clone()),
        Expr::Aggregate(it) => {
            selectors(&it.expr, found);
            it.param.iter().for_each(|param| selectors(param, found));
        }
        Expr::Binary(it) => [&it.lhs, &it.rhs].iter().for_each(|side| selectors(side, found)),
        Expr::Call(it) => it.args.args.iter().for_each(|argument| selectors(argument, found)),
        Expr::Paren(it) => selectors(&it.expr, found),
        Expr::Unary(it) => selectors(&it.expr, found),
        Expr::Subquery(it) => selectors(&it.expr, found),
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::Extension(_) => {}
    }
}

/// Checks that an expression is PromQL, and that its metrics have the labels by which it selects. Returns the metrics.
fn check(expression: &str) -> BTreeSet<String> {
    let text = everything();
    let exposed = metrics(&text);
    let parsed = parser::parse(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
    let mut found = vec![];
    selectors(&parsed, &mut found);
    assert!(!found.is_empty(), "{expression} reads no metric");
    let mut names = BTreeSet::new();
    for selector in found {
        let name = selector.name.unwrap_or_else(|| panic!("{expression} selects by no name"));
        let (base, is_part) = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix))
            .map_or((&*name, false), |base| (base, true));
        let known = exposed.get(base).filter(|(kind, _)| !is_part || kind == "histogram");
        let labels = match known {
            Some((_, labels)) => labels.clone(),
            None if name == "up" => BTreeSet::new(),
            None => panic!("{expression} reads {name}, which is not exposed"),
        };
        for matcher in &selector.matchers.matchers {
            let is_known = labels.contains(&matcher.name) || ADDED.contains(&matcher.name.as_str());
            assert!(is_known, "{expression} selects by {}, which {name} has not", matcher.name);
            // Each of these values is in every scrape.
            const ALWAYS: [&str; 4] = ["state", "cause", "reason", "subject"];
            let values = matcher.value.split('|').filter(|_| ALWAYS.contains(&&*matcher.name));
            for value in values {
                let series = format!("{}=\"{value}\"", matcher.name);
                // A cause without objects has no age.
                let of_metric = |line: &&str| matcher.name == "cause" || line.starts_with(&name);
                let mut lines = text.lines().filter(of_metric);
                assert!(lines.any(|line| line.contains(&series)), "{expression}: no {series}");
            }
        }
        names.insert(base.to_owned());
    }
    names
}

#[test]
fn alert_rules_are_complete_and_read_exposed_metrics() {
    let file: RuleFile = serde_saphyr::from_str(ALERTS).unwrap();
    let mut alerts = BTreeSet::new();
    let mut read = BTreeSet::new();
    for Group { name, rules } in file.groups {
        assert!(!rules.is_empty(), "{name}");
        for Rule { alert, expr, r#for, labels, annotations } in rules {
            read.append(&mut check(&expr));
            let Annotations { summary, description, action } = annotations;
            assert!([&summary, &description, &action].iter().all(|it| it.len() > 10), "{alert}");
            let wait = r#for.unwrap_or_else(|| "0m".to_owned());
            let minutes = wait.strip_suffix('m').and_then(|it| it.parse::<u32>().ok());
            assert!(minutes.is_some_and(|it| it <= 30), "{alert} waits for {wait}");
            assert!(matches!(labels.severity, Severity::Critical | Severity::Warning));
            for text in [summary, description, action] {
                for used in text.split("$labels.").skip(1) {
                    let end = used.find(|it: char| !it.is_alphanumeric()).unwrap_or(used.len());
                    let label = &used[..end];
                    assert!(label == "instance" || expr.contains(label), "{alert} names {label}");
                }
            }
            assert!(alerts.insert(alert.clone()), "{alert} is there twice");
        }
    }
    // Only a person ends these.
    for metric in ["unwind_run_steps", "unwind_runs", "unwind_runs_set_aside"] {
        assert!(read.contains(metric), "no alert reads {metric}");
    }
    // Blindness: without these, 0 could mean that nobody looks.
    for metric in [
        "up",
        "unwind_index_complete",
        "unwind_hidden_kinds",
        "unwind_api_server_reachable",
        "unwind_watch_last_event_timestamp_seconds",
        "unwind_watch_restarts_total",
        "unwind_diagnosis_seconds_total",
        "unwind_kubelet_queries_total",
        "unwind_journal_failing",
        "unwind_notifications_pending",
        "unwind_notifier_last_look_timestamp_seconds",
    ] {
        assert!(read.contains(metric), "no alert reads {metric}");
    }
}

#[test]
fn dashboard_reads_exposed_metrics_and_shows_every_one() {
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut read = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        for text in ["title", "description"] {
            assert!(!panel[text].as_str().unwrap().is_empty(), "{panel}");
        }
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            // Grafana fills in the variables.
            read.append(&mut check(&expression.replace("$__rate_interval", "5m")));
        }
    }
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        let query = variable["query"].as_str().unwrap();
        if let Some(inner) = query.strip_prefix("label_values(") {
            check(inner.split(',').next().unwrap());
        }
    }
    let unseen: Vec<_> =
        metrics(&everything()).into_keys().filter(|metric| !read.contains(metric)).collect();
    assert!(unseen.is_empty(), "the dashboard does not show {unseen:?}");
}
