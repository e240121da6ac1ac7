//! Tests of how runs proceed by themselves.

use teardown::{
    message::{HiddenCause, State},
    object::Deletion,
    run::StepProblem,
    unknown_reason::UnknownReason,
};

use super::*;

#[tokio::test(start_paused = true)]
async fn run_proceeds_step_by_step_and_journals_before_each_call() {
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    process.list(SHOP).await;
    let run = process.start_run("shop").await;

    let (text, call) = process.call().await;
    assert_eq!(text, "DELETE Deployment shop/web");
    assert!(
        disk.journal(&run).contains(r#""event":"callStarted","step":0,"call":"delete""#),
        "the intent comes first"
    );
    process.answer(call, Outcome::Accepted).await;
    process.quiet().await;
    process.gone("deploy shop/web").await;
    process.expect("DELETE Pod shop/web-a", Outcome::Accepted).await;
    process.quiet().await;
    process.gone("pod shop/web-a owner=deploy/web").await;
    process.expect("LIST pods in shop", Outcome::Pods(vec![])).await;
    process.expect("DELETE PersistentVolumeClaim shop/data", Outcome::Accepted).await;
    process.gone("pvc shop/data").await;
    process.expect("DELETE Namespace shop", Outcome::Accepted).await;
    assert_eq!(process.run_state(&run).await, RunState::Running);
    process.gone("ns shop").await;
    assert_eq!(process.run_state(&run).await, RunState::Finished);
}

#[tokio::test(start_paused = true)]
async fn unplanned_pod_orphaned_by_a_delete_is_reported() {
    const STATEFUL: &str = "
        ns shop
        sts shop/db of=shop selector=app:db template=app:db templates=data
        pod shop/db-0 owner=sts/db labels=app:db uses=claim:data-db-0
        pvc shop/data-db-0 owner=sts/db
    ";
    let mut process = Process::start(&Disk::default());
    process.list(STATEFUL).await;
    let run = process.start_run("shop").await;
    process.expect("DELETE StatefulSet shop/db", Outcome::Accepted).await;
    // The workload was scaled up just before its deletion.
    let late = "pod shop/db-1 owner=sts/db labels=app:db uses=claim:data-db-1";
    process.see(vec![Observation::Applied(Box::new(fixture::object(late)))]).await;
    process.gone("sts shop/db").await;
    process.expect("DELETE Pod shop/db-0", Outcome::Accepted).await;
    process.gone("pod shop/db-0 owner=sts/db").await;
    process.quiet().await;
    let records = process.records(Topic::Run(run.clone())).await;
    let problems: Vec<String> = records
        .into_iter()
        .filter_map(|record| match record {
            Record::Step(step) => Some((step.object, step.problem?)),
            _ => None,
        })
        .map(|(object, problem)| match problem {
            StepProblem::Unknown { reason: UnknownReason::PodsLeft { pod, of } } => {
                format!("{object}: {pod} is left of {of}")
            }
            other => format!("{object}: {other:?}"),
        })
        .collect();
    let expected =
        "PersistentVolumeClaim shop/data-db-0: Pod shop/db-1 is left of StatefulSet shop/db";
    assert_eq!(problems, [expected]);

    // A person repairs the problem, and the run continues by itself.
    process.gone(late).await;
    process.expect("LIST pods in shop", Outcome::Pods(vec![])).await;
    process.expect("DELETE PersistentVolumeClaim shop/data-db-0", Outcome::Accepted).await;
    assert_eq!(process.run_state(&run).await, RunState::Running);
}

#[tokio::test(start_paused = true)]
async fn clock_set_back_delays_no_step() {
    let mut process = Process::start(&Disk::default());
    process.see(vec![Observation::Time("2027-01-15T09:00:00Z".parse().unwrap())]).await;
    process.list(SHOP).await;
    process.start_run("shop").await;
    let refused = Outcome::Refused { code: 403, message: "no".into() };
    process.expect("DELETE Deployment shop/web", refused).await;
    process.quiet().await;
    process.see(vec![Observation::Time("2027-01-15T08:00:00Z".parse().unwrap())]).await;
    let begin = Instant::now();
    process.expect("DELETE Deployment shop/web", Outcome::Accepted).await;
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn throttled_call_waits_for_retry_after() {
    let mut process = Process::start(&Disk::default());
    process.list(SHOP).await;
    let run = process.start_run("shop").await;
    let after = Some(jiff::SignedDuration::from_secs(7));
    process.expect("DELETE Deployment shop/web", Outcome::Throttled { after }).await;
    let throttled = Instant::now();
    process.expect("DELETE Deployment shop/web", Outcome::Accepted).await;
    assert_eq!(throttled.elapsed().as_secs(), 7);
    assert_eq!(process.run_state(&run).await, RunState::Running);
}

#[tokio::test(start_paused = true)]
async fn refused_step_is_retried_without_a_busy_loop() {
    let mut process = Process::start(&Disk::default());
    process.list(SHOP).await;
    let run = process.start_run("shop").await;
    // Paused time passes only while every task is idle, so a busy loop would never finish this test.
    for _ in 0..10 {
        let refused = Outcome::Refused { code: 403, message: "no".into() };
        process.expect("DELETE Deployment shop/web", refused).await;
    }
    process.hub.command(run.clone(), RunCommand::Pause, "Li".into()).await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    process.quiet().await;
    process.hub.command(run, RunCommand::Resume, "Li".into()).await.unwrap().unwrap();
    process.expect("DELETE Deployment shop/web", Outcome::Accepted).await;
}

/// The run sleeps until the early try is due, and no message wakes it.
#[tokio::test(start_paused = true)]
async fn refused_step_is_retried_soon_after_its_webhook_changed() {
    const GATE: &str = "webhook gate guards=deployments.apps service=guard/gate";
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    process.list(&format!("{SHOP}\n {GATE}")).await;
    let run = process.start_run("shop").await;
    let message = r#"Internal error occurred: failed calling webhook "gate.example.com": failed to call webhook: no endpoints available"#;
    let refused = || Outcome::Refused { code: 500, message: message.into() };
    tokio::time::sleep(Duration::from_secs(2)).await;
    for delay in [0, 20, 40, 80, 160] {
        let began = Instant::now();
        process.expect("DELETE Deployment shop/web", refused()).await;
        assert_eq!(began.elapsed().as_secs(), delay);
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    process.see(vec![Observation::Applied(Box::new(fixture::object(GATE)))]).await;
    process.quiet().await;
    let began = Instant::now();
    process.expect("DELETE Deployment shop/web", Outcome::Accepted).await;
    assert_eq!(began.elapsed().as_secs(), 3);
    let journal = disk.journal(&run);
    assert_eq!(journal.matches("failed calling webhook").count(), 1, "{journal}");
    assert_eq!(journal.matches(r#""event":"refusedAgain""#).count(), 4, "{journal}");
}

#[tokio::test(start_paused = true)]
async fn call_without_answer_is_read_before_it_is_repeated() {
    let mut process = Process::start(&Disk::default());
    process.list(SHOP).await;
    process.start_run("shop").await;
    process
        .expect(
            "DELETE Deployment shop/web",
            Outcome::Unanswered { message: "reset".into(), after: None },
        )
        .await;
    process
        .expect(
            "GET Deployment shop/web",
            Outcome::Present { terminating: false, version: "1".into(), named: None, keep: None },
        )
        .await;
    process
        .expect(
            "DELETE Deployment shop/web",
            Outcome::Unanswered { message: "reset".into(), after: None },
        )
        .await;
    process.expect("GET Deployment shop/web", Outcome::NotFound).await;
    process.expect("DELETE Pod shop/web-a", Outcome::Accepted).await;
}

#[tokio::test(start_paused = true)]
async fn remaining_finalizer_is_slow_then_stuck_and_blocks_only_dependent_steps() {
    let mut process = Process::start(&Disk::default());
    process.list(&format!("{SHOP}\n svc shop/alone of=shop")).await;
    let run = process.start_run("shop").await;
    process.expect("DELETE Deployment shop/web", Outcome::Accepted).await;
    process.expect("DELETE Service shop/alone", Outcome::Accepted).await;
    process.gone("svc shop/alone").await;
    let mut held = fixture::object("deploy shop/web of=shop finalizers=example.com/hold");
    held.deletion = Some(Box::new(Deletion { at: Timestamp::now(), grace: 0 }.into()));
    process.see(vec![Observation::Applied(Box::new(held))]).await;
    let mut states = Vec::new();
    for _ in 0..40 {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let records = process.records(Topic::Run(run.clone())).await;
        let step = records.iter().find_map(|record| match record {
            Record::Step(card) if &*card.object.kind == "Deployment" => Some(card.state),
            _ => None,
        });
        states.push(step.unwrap());
    }
    states.dedup();
    assert_eq!(states, [State::Finalizing, State::Slow, State::Stuck]);
    process.quiet().await;
}

#[tokio::test(start_paused = true)]
async fn namespace_stays_while_its_content_is_hidden() {
    let mut process = Process::start(&Disk::default());
    process.list("ns shop of=shop").await;
    let hidden = |resource: &str| Observation::Hidden {
        resource: resource.into(),
        cause: HiddenCause::Forbidden,
        message: "forbidden".into(),
    };
    // A hidden kind without a namespace does not matter.
    process.see(vec![hidden("secrets"), hidden("nodes")]).await;
    let run = process.start_run("shop").await;
    process.quiet().await;
    let records = process.records(Topic::Run(run)).await;
    let is_unknown =
        |record: &Record| matches!(record, Record::Step(card) if card.state == State::Unknown);
    assert!(records.iter().any(is_unknown), "the page shows the step as unknown");
    process.see(vec![Observation::Visible { resource: "secrets".into() }]).await;
    process.expect("DELETE Namespace shop", Outcome::Accepted).await;
}

#[tokio::test(start_paused = true)]
async fn namespace_is_deleted_although_another_one_is_hidden() {
    let mut process = Process::start(&Disk::default());
    process.list("ns shop of=shop\n ns bank").await;
    let secrets = || fixture::kind("secret");
    let hidden_in = |namespace: &str| Observation::HiddenIn {
        kind: secrets(),
        namespace: namespace.into(),
        cause: HiddenCause::Forbidden,
        message: "forbidden".into(),
    };
    let (namespaces, message) = (vec!["bank".into(), "shop".into()], "forbidden".into());
    process.see(vec![Observation::PerNamespace { kind: secrets(), namespaces, message }]).await;
    let unread = process.hub.make_plan(UnitId::new("shop"), Choices::default()).await.unwrap();
    assert!(matches!(unread, Err(Refusal::NotReady)), "no namespace is listed yet");

    process.see(vec![hidden_in("bank"), hidden_in("shop")]).await;
    process.start_run("shop").await;
    process.quiet().await;
    let (namespace, objects) = ("shop".into(), Vec::new());
    process.see(vec![Observation::ListedIn { kind: secrets(), namespace, objects }]).await;
    process.expect("DELETE Namespace shop", Outcome::Accepted).await;
}

#[tokio::test(start_paused = true)]
async fn namespace_waits_for_late_objects_in_it() {
    let mut process = Process::start(&Disk::default());
    process.list("ns shop of=shop\n cm shop/mine of=shop\n cm shop/kube-root-ca.crt").await;
    process.start_run("shop").await;
    let (_, call) = process.call().await;
    let theirs = fixture::object("cm shop/theirs");
    process.see(vec![Observation::Applied(Box::new(theirs))]).await;
    process.answer(call, Outcome::Accepted).await;
    process.gone("cm shop/mine of=shop").await;
    process.quiet().await;
    process.gone("cm shop/theirs").await;
    process.expect("DELETE Namespace shop", Outcome::Accepted).await;
}
