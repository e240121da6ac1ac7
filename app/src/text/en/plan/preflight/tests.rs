use teardown::unknown_reason::UnknownReason;

use super::*;

fn object(name: &str) -> ObjectRef {
    let (kind, namespace) = ("ConfigMap".into(), Some("shop".into()));
    ObjectRef { group: "".into(), kind, namespace, name: name.into() }
}

fn view(code: NoteCode, severity: Severity) -> PreflightView {
    let note = Note { severity, code, objects: vec![object("a")], total: 12 };
    PreflightView {
        state: CheckState::Running,
        checked: 40,
        total: 120,
        awaits_manager: false,
        at: "2026-11-21T03:12:07Z".parse().ok(),
        notes: vec![note],
        more: 2,
        refusals: usize::from(severity == Severity::Refusal),
    }
}

#[test]
fn progress_has_the_numbers_and_the_time() {
    let card = preflight(&view(NoteCode::Budgets, Severity::Info));
    assert_eq!(
        card.advice.confidence,
        "Checked 40 of 120 objects at 2026-11-21 03:12:07 UTC: 1 piece of information so far…"
    );
    assert_eq!(
        (&*card.advice.expected, card.notes.len(), card.notes[0].more),
        ("No check expects a refusal.", 2, 11)
    );
    assert_eq!(card.notes[1].title, "2 more findings are not shown");
    assert_eq!(card.advice.note, "", "it is not complete");
    let done = PreflightView { state: CheckState::Done, ..view(NoteCode::Budgets, Severity::Info) };
    let note = preflight(&done).advice.note;
    let line = "- Information: Disruption budgets do not hold a teardown (12 objects)\n";
    assert!(note.contains(line), "{note}");
    assert_eq!(preflight(&PreflightView::default()).advice.confidence, "Not checked yet.");
}

#[test]
fn refusals_warn_without_forbidding() {
    let card = preflight(&view(NoteCode::PlanIsOld, Severity::Refusal));
    let warning = card.advice.expected;
    assert!(warning.starts_with("1 check expects a refusal: "), "{warning}");
}

#[test]
fn advice_fits_what_is_broken() {
    let advice = |code| preflight(&view(code, Severity::Refusal)).notes.remove(0);
    let converter = |exists| {
        let (definition, service) = (object("a"), object("b"));
        advice(NoteCode::ConverterDown { definition, service, exists })
    };
    let gone = converter(false);
    assert_eq!(
        gone.title,
        "The conversion webhook of ConfigMap shop/a cannot answer: ConfigMap shop/b does not exist"
    );
    assert_eq!(gone.what_to_do, "Bring the Service and its Pods back.");
    let silent = converter(true);
    assert!(silent.title.ends_with("ConfigMap shop/b has no ready Pod"), "{}", silent.title);
    assert_eq!(silent.what_to_do, "Bring its Pods back.");
    let hidden = |by| {
        let why = UnknownReason::NotServed { resource: "secrets".to_owned() };
        advice(NoteCode::Hidden { why, by }).what_to_do
    };
    for (by, word) in [
        (HiddenBy::Rights, "right"),
        (HiddenBy::Conversion, "conversion webhook"),
        (HiddenBy::Storage, "encryption key"),
        (HiddenBy::Other, "reports"),
    ] {
        let advice = hidden(by);
        assert!(advice.contains(word) && advice.ends_with("out of the plan."), "{advice}");
    }
}

#[test]
fn webhook_that_may_not_be_asked_is_not_said_to_be() {
    let meaning = |asked, refuses, certain| {
        let (webhook, configuration, service) = ("w".into(), object("c"), object("s"));
        let exists = true;
        let code = NoteCode::WebhookDown {
            webhook,
            configuration,
            service,
            exists,
            asked,
            refuses,
            certain,
        };
        preflight(&view(code, Severity::Warning)).notes.remove(0).meaning
    };
    assert_eq!(
        meaning(Asked::Deletion, true, true),
        "It is asked about these deletions, and they are refused while it does not answer."
    );
    for asked in [Asked::Deletion, Asked::Finalizers, Asked::Contents] {
        for refuses in [true, false] {
            let (sure, unsure) = (meaning(asked, refuses, true), meaning(asked, refuses, false));
            assert!(sure.contains("It is asked") && !sure.contains("may"), "{sure}");
            assert!(unsure.contains("It may be asked"), "{unsure}");
            assert!(unsure.contains("cannot evaluate its matchConditions"), "{unsure}");
        }
    }
}

#[test]
fn finding_says_which_request_is_refused() {
    let title = |request, webhook: Option<&str>| {
        let (webhook, said) = (webhook.map(ToOwned::to_owned), "no".into());
        let code = NoteCode::Denied { request, webhook, said };
        preflight(&view(code, Severity::Refusal)).notes.remove(0).title
    };
    assert_eq!(title(Predicted::Deletion, None), "A policy denies the deletion");
    assert_eq!(title(Predicted::Suspension, Some("x")), "Webhook x denies the suspension");
}

#[test]
fn words_of_the_cluster_are_shown_without_marks_of_direction() {
    let said = "no\u{202e}w".into();
    let request = Predicted::Deletion;
    let code = NoteCode::Denied { request, webhook: Some("x\u{202e}".into()), said };
    let note = &preflight(&view(code, Severity::Refusal)).notes[0];
    assert_eq!(note.title, "Webhook x⟨U+202E⟩ denies the deletion");
    assert_eq!(note.meaning, "“no⟨U+202E⟩w”");
}

#[test]
fn checks_that_wait_for_a_word_about_the_manager_say_so() {
    let waiting = PreflightView {
        checked: 120,
        awaits_manager: true,
        ..view(NoteCode::Budgets, Severity::Info)
    };
    assert_eq!(
        preflight(&waiting).advice.confidence,
        "Checked 120 of 120 objects at 2026-11-21 03:12:07 UTC: 1 piece of information so far… Still to come, within 90 s: whether the kube-controller-manager runs."
    );
    let done = PreflightView { state: CheckState::Done, awaits_manager: false, ..waiting };
    assert!(preflight(&done).advice.confidence.ends_with(": 1 piece of information."));
}

#[test]
fn manager_that_may_lead_elsewhere_is_not_said_to_be_dead() {
    let note = |code| preflight(&view(code, Severity::Refusal)).notes.remove(0);
    let since = "2026-11-21T03:11:20Z".parse().unwrap();
    let silent = note(NoteCode::ManagerSilent { since });
    assert_eq!(silent.title, "The kube-controller-manager does not renew its lease");
    assert!(
        silent
            .meaning
            .starts_with("The lease has not changed since 2026-11-21 03:11:20 UTC, while"),
        "{}",
        silent.meaning
    );
    assert!(silent.what_to_do.contains("leads by another lease"), "{}", silent.what_to_do);
    let unseen = |said| note(NoteCode::ManagerUnseen { said });
    let forbidden = unseen(Some("leases is forbidden".into()));
    assert_eq!(forbidden.title, "Whether the kube-controller-manager runs is not known");
    assert!(
        forbidden.meaning.starts_with("Its lease cannot be read: “leases is forbidden”. "),
        "{}",
        forbidden.meaning
    );
    assert!(unseen(None).meaning.contains("valid for longer"), "{}", unseen(None).meaning);
}

#[test]
fn static_pods_that_stay_are_ended_on_their_node() {
    let code = NoteCode::StaticPods { node: "n1".into() };
    let note = preflight(&view(code, Severity::Info)).notes.remove(0);
    assert_eq!(note.title, format!("Static Pods of node {} stay", isolated("n1")));
    assert!(note.meaning.contains("create the Pods again"), "{}", note.meaning);
    assert!(note.what_to_do.contains("/etc/kubernetes/manifests"), "{}", note.what_to_do);
}
