//! Titles of cards that say more than their causes: what the kubelet, the cloud or the clock adds.

use app::text;
use teardown::{
    api_problem::ApiProblem,
    diagnosis::{
        AnswerOrigin, Cause, Confidence, DetachState, Diagnosis, Evidence, KubeletProblem,
        KubeletSubject, Source,
        kubelet_log::{KubeletError, KubeletFact, KubeletStep},
    },
    object::ObjectRef,
};

use super::causes::{advice, card, diagnosis, standpoint};

/// The title with these facts.
fn title(cause: Cause, sources: Vec<(Source, &str)>) -> String {
    text::cause(&with(cause, sources))
}

fn with(cause: Cause, sources: Vec<(Source, &str)>) -> Diagnosis {
    let mut found = diagnosis(cause, 1, false);
    let of = found.root.clone();
    let facts = sources.into_iter().map(|(source, said)| Evidence {
        of: of.clone(),
        source,
        said: said.to_owned(),
        at: None,
    });
    found.evidence = facts.collect();
    found
}

fn unmount(error: KubeletError) -> (Source, &'static str) {
    let fact = KubeletFact {
        pod: "web-0".to_owned(),
        name: None,
        step: KubeletStep::Unmount,
        volume: None,
        node: None,
        path: None,
        error,
        said: String::new(),
        retry: None,
    };
    (Source::Kubelet(AnswerOrigin::Queried, Box::new(fact)), "")
}

#[test]
fn title_names_the_pod_and_the_failure_that_its_kubelet_reports() {
    let gone = || Cause::ClaimGone {
        node: "node-a".into(),
        claims: vec!["ledger".into()],
        volumes: vec![],
        sub_paths: false,
    };
    let without_volume = Cause::ClaimGone {
        node: "node-a".into(),
        claims: vec![],
        volumes: vec!["pv-1".into()],
        sub_paths: false,
    };
    assert_eq!(
        title(without_volume, vec![]),
        "Node node-a has not unmounted a volume of Pod shop/web-0, and volume pv-1 was deleted before the Pod."
    );
    assert_eq!(
        title(gone(), vec![]),
        "Node node-a has not unmounted a volume of Pod shop/web-0, and claim ledger was deleted before the Pod."
    );
    let stale = title(gone(), vec![unmount(KubeletError::Stale)]);
    assert!(
        stale.ends_with("before the Pod: the server does not know the mounted directory any more."),
        "{stale}"
    );
    let two = vec![unmount(KubeletError::Stale), unmount(KubeletError::Busy)];
    assert_eq!(title(gone(), two), title(gone(), vec![]), "two failures are in the evidence");
    let mounted = Cause::VolumesMounted { node: "node-a".into(), sub_paths: false };
    assert_eq!(
        title(mounted, vec![unmount(KubeletError::Busy)]),
        "All containers ended, but node node-a has not unmounted a volume of Pod shop/web-0: something on the node still uses it."
    );
}

#[test]
fn title_of_a_volume_that_its_node_keeps_attached_says_that_the_node_cannot_unmount_it() {
    let attached = || Cause::VolumeAttached {
        attacher: "disk.example".into(),
        node: "node-a".into(),
        volume: Some("pvc-7".into()),
        detach: DetachState::Requested,
    };
    let device = |error| {
        let (source, said) = unmount(error);
        let Source::Kubelet(origin, mut fact) = source else { panic!("no fact of a kubelet") };
        fact.step = KubeletStep::UnmountDevice;
        (Source::Kubelet(origin, fact), said)
    };
    assert_eq!(
        title(attached(), vec![device(KubeletError::Busy)]),
        "The volume is still attached to node node-a, which cannot unmount its device: something on the node still uses it."
    );
    assert_eq!(
        title(attached(), vec![]),
        "The volume is still attached to node node-a: the external-attacher of driver disk.example was asked to detach it, and has not."
    );
}

#[test]
fn title_of_an_object_that_its_program_keeps_says_for_whom() {
    let pool = ObjectRef {
        group: "ceph.rook.io".into(),
        kind: "CephBlockPool".into(),
        namespace: Some("rook".into()),
        name: "a".into(),
    };
    let kept =
        |dependents: &[ObjectRef]| Cause::KeptForDependents { dependents: dependents.to_vec() };
    assert_eq!(
        title(kept(&[]), vec![]),
        "Its own program keeps Pod shop/web-0 because others depend on it: its condition DeletionIsBlocked lists them."
    );
    let pool = [pool];
    assert_eq!(
        title(kept(&pool), vec![]),
        "Its own program keeps Pod shop/web-0 because others depend on it: CephBlockPool rook/a."
    );
}

#[test]
fn title_of_a_program_says_that_it_is_new_or_is_going_itself() {
    let operator = || ObjectRef {
        group: "apps".into(),
        kind: "Deployment".into(),
        namespace: Some("ops".into()),
        name: "operator".into(),
    };
    let said = |field: &str| {
        let cause =
            Cause::FinisherBusy { finalizer: "example.com/topic".into(), finisher: operator() };
        let at = Some("2026-11-21T11:53:41Z".parse().unwrap());
        let source = Source::Field(field.into());
        let fact = Evidence { of: operator(), source, said: String::new(), at };
        text::cause(&Diagnosis { evidence: vec![fact], ..with(cause, vec![]) })
    };
    let runs = "Deployment ops/operator runs, but has not cleared the finalizer example.com/topic.";
    assert_eq!(said("status.readyReplicas"), runs);
    assert_eq!(
        said("metadata.creationTimestamp"),
        format!("{runs} It was created after the deletion, at 2026-11-21 11:53:41 UTC.")
    );
    assert_eq!(
        said("metadata.deletionTimestamp"),
        "Deployment ops/operator clears the finalizer example.com/topic and is being deleted itself."
    );
}

#[test]
fn title_of_each_cause_at_one_pod_names_the_pod() {
    let node = || "node-a".into();
    let running = |containers: &[&str]| Cause::ContainersRunning {
        node: node(),
        containers: containers.iter().map(|it| (*it).into()).collect(),
        not_ready: false,
    };
    for (cause, expected) in [
        (
            running(&["web"]),
            "Container web of Pod shop/web-0 has not stopped after the grace period on node node-a.",
        ),
        (
            running(&[]),
            "The containers of Pod shop/web-0 have not stopped after the grace period on node node-a.",
        ),
        (
            Cause::KubeletUnaware { node: node(), containers: vec!["web".into()] },
            "The kubelet of node node-a lives, and nothing says that it has begun to stop the containers of Pod shop/web-0.",
        ),
        (
            Cause::NeverStarted { node: node() },
            "No container of Pod shop/web-0 has started on node node-a: a mount, an image or its network may hang there.",
        ),
        (
            Cause::DevicesLeft { node: node() },
            "All containers ended, but node node-a has not released the devices that Pod shop/web-0 claimed.",
        ),
        (
            Cause::PodDirectoryLeft { node: node() },
            "All containers ended, but node node-a has not cleaned up after Pod shop/web-0, which has no volume of its own.",
        ),
    ] {
        assert_eq!(title(cause, vec![]), expected);
    }
}

#[test]
fn denial_of_a_rule_that_is_gone_says_so_and_what_would_confirm_it() {
    let denies = || Cause::PolicyDenies { policy: "keep".into() };
    let gone = with(denies(), vec![(Source::Absent, "")]);
    assert_eq!(
        text::cause(&gone),
        "Admission policy keep denied the deletion of Pod shop/web-0, and no longer exists: the next try may pass."
    );
    let said = advice(&card(gone), &standpoint()).confidence;
    assert!(said.contains("The next condition that the controller writes would confirm"), "{said}");
    let unseen = with(denies(), vec![(Source::Hidden(ApiProblem::Quoted("no".into())), "")]);
    let said = text::cause(&unseen);
    assert!(said.ends_with("Unwind cannot see whether it still exists."), "{said}");
    let said = advice(&card(unseen), &standpoint()).confidence;
    assert!(said.contains("A list of the webhook configurations"), "{said}");
    let stands = Diagnosis { confidence: Confidence::Confirmed, ..with(denies(), vec![]) };
    assert_eq!(text::cause(&stands), "Admission policy keep denies the deletion.");
}

#[test]
fn webhook_without_a_configuration_says_what_is_gone_or_cannot_be_seen() {
    let down = || Cause::WebhookDown { webhook: "gate.example.com".into(), configurations: vec![] };
    let rule = |kind: &str, name: &str, source: Source| {
        let group = "admissionregistration.k8s.io".into();
        let of = ObjectRef { group, kind: kind.into(), namespace: None, name: name.into() };
        Evidence { of, source, said: String::new(), at: None }
    };
    let found = |evidence: Vec<Evidence>| Diagnosis { evidence, ..with(down(), vec![]) };
    let gone = found(vec![rule("Webhook", "gate.example.com", Source::Absent)]);
    assert_eq!(
        text::cause(&gone),
        "The deletion of Pod shop/web-0 was refused because webhook gate.example.com did not answer, and no webhook configuration contains it: the next try may pass."
    );
    let said = advice(&card(gone), &standpoint());
    assert!(
        said.confidence.contains("The next condition that the controller writes would confirm")
    );
    let names: Vec<&str> = said.first.iter().map(|line| &*line.name).collect();
    assert!(!names.contains(&"First") && !names.contains(&"Do not"), "{names:?}");
    let deleted = rule("ValidatingWebhookConfiguration", "gate", Source::Deleted);
    assert_eq!(
        text::cause(&found(vec![deleted.clone()])),
        "The deletion of Pod shop/web-0 was refused because webhook gate.example.com did not answer, and ValidatingWebhookConfiguration gate was deleted: the next try may pass."
    );
    let forbidden = Source::Hidden(ApiProblem::Quoted("forbidden".into()));
    let unseen = rule("Webhook", "gate.example.com", forbidden);
    let hidden = "Webhook gate.example.com did not answer, and the API server refused the requests that it should check. Unwind cannot see whether its configuration still exists.";
    assert_eq!(text::cause(&found(vec![unseen.clone()])), hidden);
    assert_eq!(text::cause(&found(vec![deleted, unseen.clone()])), hidden);
    let said = advice(&card(found(vec![unseen])), &standpoint());
    assert!(said.confidence.contains("A list of the webhook configurations"), "{said:?}");
    let has = |words: &str| said.evidence.iter().any(|it| it.text.contains(words));
    assert!(has("cannot see Webhook gate.example.com"), "{said:?}");
}

#[test]
fn webhook_that_may_not_be_asked_is_not_blamed_for_certain() {
    let webhook = with(Cause::Unknown, vec![]).root;
    let rejected = || Cause::UpdateRejected { webhooks: vec![webhook.clone()] };
    let conditions = Source::Field("webhooks[0].matchConditions".into());
    let inferred = with(rejected(), vec![(conditions, "")]);
    let said = text::cause(&inferred);
    assert!(said.contains("probably because Pod shop/web-0 changes"), "{said}");
    let said = advice(&card(inferred), &standpoint()).confidence;
    let why = "cannot evaluate webhooks[0].matchConditions of Pod shop/web-0, so the webhook may not be asked.";
    assert!(said.contains(why) && said.contains("would confirm it"), "{said}");
    let certain = Diagnosis { confidence: Confidence::Confirmed, ..with(rejected(), vec![]) };
    assert!(!text::cause(&certain).contains("probably"));
    let said = advice(&card(certain), &standpoint()).confidence;
    assert!(!said.contains("evaluate"), "{said}");
}

#[test]
fn node_whose_kubelet_cannot_be_reached_is_named_before_what_its_pod_shows() {
    let running = || Cause::ContainersRunning {
        node: "node-a".into(),
        containers: vec!["web".into()],
        not_ready: false,
    };
    let unanswered = |problem| (Source::Unanswered(KubeletSubject::Log, Box::new(problem)), "");
    let away = || unanswered(KubeletProblem::Unreachable { said: "no route to host".to_owned() });
    assert_eq!(
        title(running(), vec![away()]),
        "Node node-a cannot be reached and may have gone silent, so nobody confirms that Pod shop/web-0 ended."
    );
    let said = advice(&card(with(running(), vec![away()])), &standpoint());
    let course = said.first.iter().find(|line| line.name == "If nobody acts").unwrap().text();
    assert!(course.contains("Unknown within a minute") && !course.contains("retries"), "{course}");
    let plain = title(running(), vec![]);
    assert_eq!(title(running(), vec![unanswered(KubeletProblem::QueryOff)]), plain);
    assert_eq!(title(running(), vec![away(), (Source::Renewed, "")]), plain, "it lives");
}

#[test]
fn words_of_the_cloud_are_in_the_title_and_nothing_is_guessed() {
    let event =
        |reason: &str| Source::Event { by: "service-controller".into(), reason: reason.into() };
    let plain = "The cloud’s load balancer of the Service is not removed yet.";
    assert_eq!(title(Cause::LoadBalancerLeft, vec![(event("Other"), "no")]), plain);
    // A notification leaves out the words of the cluster.
    assert_eq!(title(Cause::LoadBalancerLeft, vec![(event("SyncLoadBalancerFailed"), "")]), plain);
    assert_eq!(
        title(
            Cause::LoadBalancerLeft,
            vec![(event("SyncLoadBalancerFailed"), "the security group sg-4711 is in use.")]
        ),
        "The cloud’s load balancer of the Service is not removed yet: the security group sg-4711 is in use."
    );
}

#[test]
fn controller_that_may_be_at_work_is_not_accused() {
    let cause = || Cause::ControllerSilent { controller: "garbage-collector-controller".into() };
    let mut found = with(cause(), vec![]);
    assert!(text::cause(&found).contains("has not done its part"));
    found.confidence = Confidence::Unknown;
    assert_eq!(
        text::cause(&found),
        "It waits for the garbage-collector-controller, which may need up to a minute."
    );
    let said = advice(&card(found), &standpoint()).confidence;
    assert!(said.contains("less than a minute"), "{said}");
    let mut unknown = with(Cause::Unknown, vec![]);
    unknown.confidence = Confidence::Unknown;
    let said = advice(&card(unknown), &standpoint()).confidence;
    assert!(!said.contains("in order"), "{said}");
}
