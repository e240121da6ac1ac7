use super::{describe_view, fixture, plan_of, preflight_of};
use crate::{
    index::Index,
    preflight::{Answer, CheckState, Preflight, QuestionId, QuestionKind, Unasked},
};

const SHOP: &str = "
    ns shop of=shop
    cm shop/a of=shop
    cm shop/b of=shop
    secret shop/c of=shop
    apiservice v1.
    webhook gate service=guards/gone guards=configmaps
";

fn question_about(preflight: &Preflight, name: &str) -> QuestionId {
    preflight.questions().iter().find(|it| *it.object.name == *name).unwrap().id
}

/// The notes of the unit `shop` after these answers, one for each name.
fn describe(answers: &[(&str, Answer)]) -> String {
    let index = fixture::index(SHOP);
    let mut preflight = preflight_of(&index, &plan_of(&index));
    for (name, answer) in answers {
        let question = question_about(&preflight, name);
        preflight.answer(question, answer.clone(), fixture::now());
    }
    describe_view(&preflight.view())
}

fn said(text: &str) -> crate::api_problem::ApiProblem {
    text.into()
}

/// `matchConditions` may exclude an object, and the index does not know them.
#[test]
fn dry_run_that_succeeds_refutes_a_webhook_that_seemed_to_be_down() {
    insta::assert_snapshot!(describe(&[]), @"Refusal gate.example.com of gate asked on DELETE, Service guards/gone: no Service: ConfigMap shop/a, ConfigMap shop/b");
    insta::assert_snapshot!(describe(&[("a", Answer::Accepted)]), @"Refusal gate.example.com of gate asked on DELETE, Service guards/gone: no Service: ConfigMap shop/b");
    insta::assert_snapshot!(describe(&[("a", Answer::Accepted), ("b", Answer::Accepted)]), @"");
}

#[test]
fn webhook_with_conditions_is_expected_to_refuse_only_once_a_dry_run_has_failed() {
    let index = fixture::index(&format!("{} matches=cel", SHOP.trim_end()));
    let described = |answers: &[(&str, Answer)]| {
        let mut preflight = preflight_of(&index, &plan_of(&index));
        for (name, answer) in answers {
            let question = question_about(&preflight, name);
            preflight.answer(question, answer.clone(), fixture::now());
        }
        describe_view(&preflight.view())
    };
    insta::assert_snapshot!(described(&[]), @"Warning gate.example.com of gate perhaps asked on DELETE, Service guards/gone: no Service: ConfigMap shop/a, ConfigMap shop/b");
    let fails = Answer::WebhookFails { webhook: "gate.example.com".into(), said: said("dead") };
    insta::assert_snapshot!(described(&[("a", Answer::Accepted), ("b", fails)]), @"Refusal gate.example.com of gate asked on DELETE, Service guards/gone: no Service: ConfigMap shop/b");
}

#[test]
fn webhook_that_the_index_knows_to_be_down_is_one_note() {
    let fails =
        |webhook: &str| Answer::WebhookFails { webhook: webhook.into(), said: said("dead") };
    let answers = [
        ("a", fails("gate.example.com")),
        ("b", fails("gate.example.com")),
        ("c", fails("url.example.com")),
    ];
    insta::assert_snapshot!(describe(&answers), @"
    Refusal gate.example.com of gate asked on DELETE, Service guards/gone: no Service: ConfigMap shop/a, ConfigMap shop/b
    Refusal url.example.com fails: Secret shop/c
    ");
}

#[test]
fn equal_refusals_are_one_note_with_the_first_words() {
    let denied =
        |text: &str| Answer::Denied { webhook: Some("deny.example.com".into()), said: said(text) };
    let answers = [
        ("a", denied("not a")),
        ("b", denied("not b")),
        ("c", Answer::Forbidden { said: Some(said("no")) }),
        ("shop", Answer::Refused { said: said("odd") }),
    ];
    insta::assert_snapshot!(describe(&answers), @r#"
    Refusal gate.example.com of gate asked on DELETE, Service guards/gone: no Service: ConfigMap shop/a, ConfigMap shop/b
    Refusal Some("deny.example.com") denies: Quoted("not a"): ConfigMap shop/a, ConfigMap shop/b
    Refusal may not delete secrets: Secret shop/c
    Refusal refused: Quoted("odd"): Namespace shop
    "#);
}

#[test]
fn answer_that_predicts_nothing_is_no_refusal() {
    let answers = [
        ("a", Answer::NoDryRun { said: said("no dry run") }),
        ("b", Answer::Old),
        ("c", Answer::Unknown { said: said("away") }),
        ("shop", Answer::Accepted),
    ];
    insta::assert_snapshot!(describe(&answers), @r#"
    Refusal gate.example.com of gate asked on DELETE, Service guards/gone: no Service: ConfigMap shop/a, ConfigMap shop/b
    Warning no answer: Quoted("away"): Secret shop/c
    Warning old: ConfigMap shop/b
    Info no dry run: ConfigMap shop/a
    "#);
}

#[test]
fn preflight_that_ends_early_names_what_it_did_not_ask() {
    let index = fixture::index(SHOP);
    let mut preflight = preflight_of(&index, &plan_of(&index));
    let question = question_about(&preflight, "a");
    preflight.answer(question, Answer::Accepted, fixture::now());
    let view = preflight.view();
    assert_eq!((view.state, view.checked, view.total), (CheckState::Running, 1, 4));
    preflight.end(Some(Unasked::Time), fixture::now());
    assert_eq!(preflight.view().state, CheckState::Running, "the manager is watched");
    preflight.leave_manager();
    // An answer that comes late changes nothing.
    let late = question_about(&preflight, "b");
    preflight.answer(late, Answer::Old, fixture::now());
    let view = preflight.view();
    assert_eq!((view.state, view.checked, view.total), (CheckState::Done, 1, 4));
    insta::assert_snapshot!(describe_view(&view), @"
    Refusal gate.example.com of gate asked on DELETE, Service guards/gone: no Service: ConfigMap shop/b
    Info not asked: Time: Secret shop/c, Namespace shop, ConfigMap shop/b
    ");
}

#[test]
fn plan_without_a_question_is_done_at_once() {
    let index: Index = fixture::index("ns shop of=shop\ncm shop/a of=shop");
    let plan = crate::plan::Plan { steps: Vec::new(), ..plan_of(&index) };
    let view = preflight_of(&index, &plan).view();
    assert_eq!((view.state, view.checked, view.total), (CheckState::Done, 0, 0));
}

/// A run that may not suspend the Kustomization waits for ever with what it declares.
#[test]
fn right_to_suspend_a_parent_that_is_missing_is_a_refusal_of_its_own() {
    let index = fixture::index(
        "cm shop/a of=shop labels=kustomize.toolkit.fluxcd.io/name:web,kustomize.toolkit.fluxcd.io/namespace:shop
         Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop
         apiservice v1.
         apiservice v1.kustomize.toolkit.fluxcd.io",
    );
    let mut preflight = preflight_of(&index, &plan_of(&index));
    let questions: Vec<QuestionId> = preflight.questions().iter().map(|it| it.id).collect();
    assert_eq!(preflight.view().total, 2, "two questions about one object are one");
    for question in questions {
        let answer = match question.asks {
            QuestionKind::DrySuspend => Answer::Forbidden { said: None },
            _ => Answer::Accepted,
        };
        preflight.answer(question, answer, fixture::now());
    }
    let view = preflight.view();
    assert_eq!((view.checked, view.refusals), (2, 1));
    insta::assert_snapshot!(describe_view(&view), @"Refusal may not suspend kustomizations.kustomize.toolkit.fluxcd.io: Kustomization shop/web");
}

/// The notes after this answer to the question about the suspension of the Kustomization `web`, and these to all others.
fn describe_suspension(of_suspension: &Answer, of_others: &Answer) -> String {
    let index = fixture::index(
        "Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop
         apiservice v1.kustomize.toolkit.fluxcd.io",
    );
    let mut preflight = preflight_of(&index, &plan_of(&index));
    let questions: Vec<QuestionId> = preflight.questions().iter().map(|it| it.id).collect();
    for question in questions {
        let is_one = question.asks == QuestionKind::DrySuspend;
        let answer = if is_one { of_suspension } else { of_others };
        preflight.answer(question, answer.clone(), fixture::now());
    }
    describe_view(&preflight.view())
}

/// A policy may let a DELETE through and not the PATCH before it.
#[test]
fn refusal_of_the_suspension_is_a_finding_of_its_own() {
    let answers = [
        Answer::Denied { webhook: Some("deny.example.com".into()), said: said("frozen") },
        Answer::WebhookFails { webhook: "gate.example.com".into(), said: said("dead") },
        Answer::NoDryRun { said: said("no dry run") },
        Answer::Refused { said: said("odd") },
        Answer::Old,
    ];
    let found: String =
        answers.iter().map(|it| describe_suspension(it, &Answer::Accepted)).collect();
    insta::assert_snapshot!(found, @r#"
    Refusal Some("deny.example.com") denies (suspension): Quoted("frozen"): Kustomization shop/web
    Refusal gate.example.com fails (suspension): Kustomization shop/web
    Info no dry run (suspension): Kustomization shop/web
    Refusal refused (suspension): Quoted("odd"): Kustomization shop/web
    Warning old: Kustomization shop/web
    "#);
}

#[test]
fn suspension_and_deletion_that_one_webhook_denies_are_two_findings() {
    let denied =
        |text: &str| Answer::Denied { webhook: Some("deny.example.com".into()), said: said(text) };
    insta::assert_snapshot!(describe_suspension(&denied("no update"), &denied("no delete")), @r#"
    Refusal Some("deny.example.com") denies: Quoted("no delete"): Kustomization shop/web
    Refusal Some("deny.example.com") denies (suspension): Quoted("no update"): Kustomization shop/web
    "#);
    insta::assert_snapshot!(describe_suspension(&Answer::Old, &Answer::Old), @"Warning old: Kustomization shop/web");
}

/// Another API server may patch for real on a dry run, so nobody knows what it would answer.
#[test]
fn right_to_suspend_alone_predicts_nothing_and_says_so() {
    let index = fixture::index(
        "Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop
         apiservice v1.kustomize.toolkit.fluxcd.io service=flux/api available=Available:True:Passed:60:",
    );
    let mut preflight = preflight_of(&index, &plan_of(&index));
    let questions: Vec<QuestionId> = preflight.questions().iter().map(|it| it.id).collect();
    for question in questions {
        preflight.answer(question, Answer::Accepted, fixture::now());
    }
    insta::assert_snapshot!(describe_view(&preflight.view()), @"
    Info only reviewed kustomizations.kustomize.toolkit.fluxcd.io: Kustomization shop/web
    Info only reviewed (suspension) kustomizations.kustomize.toolkit.fluxcd.io: Kustomization shop/web
    ");
}
