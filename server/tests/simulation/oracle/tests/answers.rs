//! Answers and late Pods in the journal, objects that a plan keeps, and the age of a list when its DELETE leaves.

use super::*;

fn texts(history: &History) -> Vec<String> {
    check(&history.evidence).into_iter().map(|it| it.text).collect()
}

fn has(history: &History, part: &str) -> bool {
    texts(history).iter().any(|text| text.contains(part))
}

#[test]
fn delete_with_an_effect_that_counts_as_refused_is_a_violation() {
    let with = |effect: bool, problem: Value| {
        let mut history = History::new(&["a"]);
        history.event(Change::Added, "a", UNIT);
        history.send_announced(0, 0);
        history.entry("delete", Some("a"), "a", effect);
        history.commit(json!({"event": "postponed", "step": 0, "problem": problem}), 0, 1);
        has(&history, "counts as refused")
    };
    let refused = json!({"refused": {"code": 400}});
    assert!(with(true, refused.clone()));
    assert!(!with(false, refused));
    assert!(!with(true, json!({"retrying": {"attempts": 1}})));
}

#[test]
fn pod_that_counts_as_late_in_its_grace_period_is_a_violation() {
    let late_after = |seconds: u64| {
        let mut history = History::new(&["p"]);
        history.evidence.planned = 0;
        let metadata = json!({
            "name": "p", "namespace": "a", "uid": "p",
            "deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 30,
        });
        history.change_of("Pod", Change::Modified, metadata);
        history.evidence.revision_times.note(1_000, 1);
        history.commit(json!({"event": "terminating", "step": 0, "grace": 30}), 0, 1_000);
        history.commit(json!({"event": "overdue", "step": 0}), 0, 1_000 + seconds * 1_000);
        history
    };
    assert!(has(&late_after(30), "counts as late"));
    assert!(!has(&late_after(60), "counts as late"));
    let mut history = late_after(30);
    history.evidence.is_clock_set = true;
    assert!(!has(&history, "counts as late"), "the cluster's clock says something else");
}

#[test]
fn operator_without_rights_that_is_kept_as_a_finisher_is_a_violation() {
    let with = |account: &str, edge: &str| {
        let mut history = History::new(&[]);
        history.see(
            Change::Added,
            json!({
                "kind": "Deployment",
                "metadata": {"name": "o", "uid": "o", "labels": {crate::application::OPERATOR: "x"}},
                "spec": {"template": {"spec": {"serviceAccountName": account}}},
            }),
        );
        let kept = json!([{"uid": "o", "reason": {"usedBy": {"edge": edge}}}]);
        history.evidence.journal.plans.get_mut("p").unwrap()["kept"] = kept;
        has(&history, "may not be a finisher")
    };
    assert!(with("", "Finishes"));
    assert!(!with("operator", "Finishes"));
    assert!(!with("", "Owns"));
}

#[test]
fn delete_long_after_the_list_that_it_needs_is_a_violation() {
    let after = |path: &str, list: (&str, bool), read: u64| {
        let mut history = History::new(&["a"]);
        history.send_announced(0, 10_000);
        history.evidence.arrivals[0].path = path.to_owned();
        history.evidence.observed.record(0, read, (&list.0.into(), list.1), 5);
        has(&history, "its last list came")
    };
    let with = |path: &str, list: &str, read: u64| after(path, (list, false), read);
    let (claim, pods) =
        ("/api/v1/namespaces/a/persistentvolumeclaims/c", "/api/v1/namespaces/a/pods");
    assert!(!with(claim, pods, 9_000));
    assert!(with(claim, pods, 7_000), "too old");
    assert!(with(claim, pods, 10_001), "later");
    assert!(with(claim, "/api/v1/namespaces/b/pods", 9_000), "elsewhere");
    assert!(with(claim, "/api/v1/pods", 9_000), "not a list of its own");
    assert!(with(claim, claim, 9_000), "the claim itself");
    assert!(after(claim, (pods, true), 9_000), "a watch");
    assert!(!with("/api/v1/namespaces/a", "/apis/apps/v1/namespaces/a/deployments", 9_000));
    assert!(with("/api/v1/namespaces/a", claim, 9_000), "an object in it");
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/notes.example.com";
    assert!(!with(definition, "/apis/example.com/v1/notes", 9_000));
    for other in
        ["/apis/example.com/v1/notes/n", "/apis/example.com/v1/others", "/apis/other.com/v1/notes"]
    {
        assert!(with(definition, other, 9_000), "{other}");
    }
    assert!(!with("/api/v1/namespaces/a/configmaps/c", "/api/v1/pods", 9_000));
}

#[test]
fn server_is_judged_only_by_what_its_rights_let_it_see() {
    let with = |visible: Option<&str>| {
        let mut history = History::new(&["c"]);
        let named = |name: &str| json!({"name": name, "namespace": "a", "uid": name});
        history.see(Change::Added, json!({"kind": "ConfigMap", "metadata": named("c")}));
        let mut pod = json!({"kind": "Pod", "metadata": named("p")});
        pod["spec"]["volumes"] = json!([{"configMap": {"name": "c"}}]);
        history.see(Change::Added, pod);
        history.evidence.visible = visible.map(str::to_owned);
        history.send_announced(0, 0);
        history.entry("delete", Some("c"), "c", true);
        has(&history, "needs it")
    };
    assert!(with(None));
    assert!(with(Some("a")));
    assert!(!with(Some("b")));
}
