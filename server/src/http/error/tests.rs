//! Tests of the answers to errors.

use teardown::{
    fetched::Permission,
    object::ObjectRef,
    plan::{Choice, Difference, Parts, PlanId, StepId},
    remedy::{NeedCode, Withheld},
    run::RunId,
    unit::UnitId,
    unknown_reason::UnknownReason,
};

use super::*;

fn object() -> ObjectRef {
    ObjectRef {
        group: "".into(),
        kind: "Pod".into(),
        namespace: Some("shop".into()),
        name: "web".into(),
    }
}

/// Clients rely on this table.
#[test]
fn failures_have_their_code_and_status() {
    let refusals = [
        Refusal::UnknownUnit(UnitId::new("u")),
        Refusal::UnknownPlan(PlanId::new("p")),
        Refusal::UnknownRun(RunId::new("r")),
        Refusal::UnknownDiagnosis("x".to_owned()),
        Refusal::UnknownStep(StepId(1)),
        Refusal::NotReady,
        Refusal::Unplannable(PlanError::Empty),
        Refusal::Unplannable(PlanError::Cycle { path: vec![object()] }),
        Refusal::Unplannable(PlanError::DeletesClaims {
            object: object(),
            mark: "finalizer percona.com/delete-pxc-pvc".to_owned(),
        }),
        Refusal::Unplannable(PlanError::UnknownChoice { choice: Choice::Without(object()) }),
        Refusal::Stale(vec![]),
        Refusal::WrongHash,
        Refusal::WrongName,
        Refusal::NotStopped,
        Refusal::Unconfirmed(Parts::default()),
        Refusal::PodsHidden(UnknownReason::NotListed { resource: "pods".to_owned() }),
        Refusal::Overlap { run: RunId::new("r"), object: object() },
        Refusal::SetAside { run: RunId::new("r"), object: None },
        Refusal::Ended,
        Refusal::TooLate(StepId(1)),
        Refusal::NothingToTakeOn(StepId(7)),
        Refusal::OtherPods(StepId(7)),
        Refusal::WrongObjectName,
        Refusal::Remedy(RemedyRefusal::Changed),
        Refusal::Remedy(RemedyRefusal::ByHand),
        Refusal::Remedy(RemedyRefusal::Withheld(Withheld::NodeReports)),
        Refusal::Remedy(RemedyRefusal::NeedFails(NeedCode::NodeSilent)),
        Refusal::Remedy(RemedyRefusal::MayNot(Permission {
            verb: "patch",
            group: "".into(),
            version: "v1".into(),
            resource: "pods".into(),
            subresource: "".into(),
            namespace: Some("shop".into()),
            name: "web".into(),
        })),
        Refusal::Remedy(RemedyRefusal::WrongName),
        Refusal::Remedy(RemedyRefusal::NoStatement),
        Refusal::Remedy(RemedyRefusal::OtherMachine(vec!["n1".into(), "i-0abc".into()])),
        Refusal::Remedy(RemedyRefusal::Busy),
        Refusal::RemediesOff,
        Refusal::UnknownAttempt("a1".into()),
        Refusal::NothingToUndo,
        Refusal::Journal("no space left".into()),
    ];
    let failures = refusals.into_iter().map(Failure::from).chain([
        Failure::ShuttingDown,
        Failure::TooManyConnections,
        Failure::WrongHost,
        Failure::ForeignOrigin,
        Failure::NotSignedIn,
        Failure::NotAllowed(Right::Act),
        Failure::UnknownLink,
        Failure::WrongToken,
        Failure::TooManyAttempts { after: Duration::ZERO },
        Failure::UnknownPath,
        Failure::WrongMethod,
        Failure::LongAddress,
        Failure::Malformed(String::new()),
        Failure::NotJson,
        Failure::Syntax(String::new()),
        Failure::Shape(String::new()),
        Failure::TooLarge,
        Failure::Pasted(PasteProblem::TooLong),
        Failure::Pasted(PasteProblem::CutList),
        Failure::Pasted(PasteProblem::OtherList),
        Failure::Pasted(PasteProblem::OtherMetrics),
        Failure::TooSlow,
        Failure::Internal,
    ]);
    let table: Vec<_> = failures
        .map(|failure| format!("{} {}", failure.status().as_u16(), failure.code()))
        .collect();
    let documentation = include_str!("../../http.rs");
    for line in &table {
        let (status, code) = line.split_once(' ').unwrap();
        let is_row = |row: &&str| row.starts_with("//! | 4") || row.starts_with("//! | 5");
        let mut rows = documentation.lines().filter(is_row);
        let said = rows.any(|row| row.contains(status) && row.contains(&format!("`{code}`")));
        assert!(said, "{line} is not documented");
    }
    insta::assert_snapshot!(table.join("\n"), @r"
    404 unknownUnit
    404 unknownPlan
    404 unknownRun
    404 unknownDiagnosis
    404 unknownStep
    503 notReady
    422 emptyPlan
    422 cyclicPlan
    422 deletesClaims
    422 unknownChoice
    409 stalePlan
    409 wrongHash
    422 wrongName
    409 notStopped
    422 unconfirmed
    409 podsHidden
    409 overlap
    409 setAside
    409 runEnded
    409 tooLate
    409 nothingToTakeOn
    409 otherPods
    422 wrongObjectName
    409 remedyChanged
    422 byHand
    409 withheld
    409 needFails
    403 clusterForbids
    422 wrongTarget
    422 noStatement
    422 otherMachine
    409 remedyBusy
    403 remediesOff
    404 unknownRemedy
    409 nothingToUndo
    503 journalUnwritable
    503 shuttingDown
    503 tooManyConnections
    421 wrongHost
    403 foreignOrigin
    401 notSignedIn
    403 notAllowed
    404 unknownLink
    401 wrongToken
    429 tooManyAttempts
    404 unknownPath
    405 wrongMethod
    414 longAddress
    400 malformed
    415 notJson
    400 syntax
    422 shape
    413 tooLarge
    413 longPaste
    422 cutList
    422 otherList
    422 otherMetrics
    408 tooSlow
    500 internal
    ");
}

#[test]
fn failure_carries_its_details_as_json() {
    let stale = Failure::from(Refusal::Stale(vec![Difference::Added { object: object() }]));
    insta::assert_snapshot!(serde_json::to_string_pretty(&stale.json("7f")).unwrap(), @r#"
    {
      "error": {
        "code": "stalePlan",
        "differences": [
          {
            "added": {
              "object": {
                "group": "",
                "kind": "Pod",
                "name": "web",
                "namespace": "shop"
              }
            }
          }
        ],
        "do": "Make a new plan and look at the differences.",
        "means": "Starting it would not do what you confirmed. Nothing was deleted.",
        "request": "7f",
        "what": "The cluster has moved since this plan was made"
      }
    }
    "#);
    let overlap =
        Failure::from(Refusal::Overlap { run: RunId::new("r1"), object: object() }).json("7f");
    assert_eq!(overlap["error"]["run"], "r1");
    assert_eq!(overlap["error"]["object"]["name"], "web");
    let cycle =
        Failure::from(Refusal::Unplannable(PlanError::Cycle { path: vec![object()] })).json("7f");
    assert_eq!(cycle["error"]["path"][0]["kind"], "Pod");
    assert_eq!(Failure::NotAllowed(Right::Act).json("7f")["error"]["needs"], "act");
}

#[test]
fn failure_shows_text_of_the_request_and_the_cluster_without_marks_of_direction() {
    let marked = "a\u{202e}b\u{2028}c\u{1b}";
    let object = ObjectRef { name: marked.into(), ..object() };
    for failure in [
        Refusal::UnknownUnit(UnitId::new(marked)).into(),
        Refusal::UnknownPlan(PlanId::new(marked)).into(),
        Refusal::UnknownRun(RunId::new(marked)).into(),
        Refusal::UnknownAttempt(marked.to_owned()).into(),
        Refusal::Unplannable(PlanError::Cycle { path: vec![object.clone()] }).into(),
        Refusal::Unplannable(PlanError::DeletesClaims {
            object: object.clone(),
            mark: marked.to_owned(),
        })
        .into(),
        Refusal::Unplannable(PlanError::UnknownChoice { choice: Choice::Without(object.clone()) })
            .into(),
        Refusal::Overlap { run: RunId::new("r"), object: object.clone() }.into(),
        Refusal::SetAside { run: RunId::new("r"), object: Some(object) }.into(),
        Refusal::SetAside { run: RunId::new(marked), object: None }.into(),
        Refusal::PodsHidden(UnknownReason::Inconclusive { message: marked.into() }).into(),
        Failure::Malformed(marked.to_owned()),
        Failure::Syntax(marked.to_owned()),
        Failure::Shape(marked.to_owned()),
    ] {
        let (.., Words { what, .. }) = failure.describe();
        assert!(what.contains("⟨U+202E⟩"), "{what}");
        assert!(what.contains("⟨U+2028⟩") && what.contains("⟨U+001B⟩"), "{what}");
        assert!(!what.contains(['\u{202e}', '\u{2028}', '\u{1b}']), "{what}");
    }
    let long = Failure::Malformed("x".repeat(20_000)).describe().2.what;
    assert_eq!(long.chars().count(), 300);
    let hebrew = Failure::from(Refusal::UnknownUnit(UnitId::new("\u{5d0}"))).describe().2.what;
    assert_eq!(hebrew, "No unit is called “\u{2068}\u{5d0}\u{2069}”");
}

#[tokio::test]
async fn panic_becomes_an_answer_with_500() {
    use axum::{Router, middleware::from_fn, routing::get};
    use tower::ServiceExt;
    use tower_http::catch_panic::CatchPanicLayer;

    async fn fails() -> &'static str {
        panic!("secret detail")
    }
    let router = Router::new()
        .route("/api/fails", get(fails))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn(render));
    let request = Request::builder().uri("/api/fails").body(Body::empty()).unwrap();
    let answer = router.oneshot(request).await.unwrap();
    assert_eq!(answer.status(), 500);
    let body = axum::body::to_bytes(answer.into_body(), 10_000).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["error"]["code"], "internal");
    assert!(!body.to_string().contains("secret"), "what went wrong is for the log");
}
