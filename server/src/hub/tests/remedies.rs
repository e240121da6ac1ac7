//! Remedies that a person has the server do.

mod halt;
mod last_look;
mod unconfirmed;

use app::text;
use teardown::{
    fetched::{Answer, Question, Review},
    object::ObjectRef,
    remedy::{
        AttemptOutcome, Confirmation, Harm, PutBack, Remedy, RemedyAct, RemedyRefusal, SwitchedOff,
        Verb,
    },
    wanted::Wanted,
};
use tokio::sync::watch;

use super::*;
use crate::hub::{NotKept, Remedies, RemedyCall};

/// A custom resource whose operator is gone.
const STUCK: &str = "
    ns s4
    crd topics.queue.example defines=Topic.queue.example
    Topic.queue.example s4/orders deleted=400 finalizers=queue.example/topic
";
const WORD: &str = "Li checked that no queue is left, and that n1 is off";
/// A namespace that waits for an API whose server is gone.
const API: &str = "
    ns shop deleted=400 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:390:metrics.k8s.io/v1beta1:_stale_GroupVersion_discovery
    apiservice v1beta1.metrics.k8s.io service=kube-system/metrics-server conditions=Available:False:MissingEndpoints:500:no_endpoints
";

struct Cluster {
    hub: HubHandle,
    mailbox: mpsc::Sender<Incoming>,
    remedies: mpsc::Receiver<RemedyCall>,
    wanted: watch::Receiver<Wanted>,
    _calls: mpsc::Receiver<CallRequest>,
}

impl Cluster {
    async fn start(disk: &Disk) -> Self {
        Self::before(disk, STUCK).await
    }

    async fn before(disk: &Disk, world: &str) -> Self {
        Self::with(disk, world, |hub| hub).await
    }

    async fn with(disk: &Disk, world: &str, change: impl FnOnce(Hub) -> Hub) -> Self {
        let (mailbox, inbox) = mpsc::channel(MAILBOX);
        let (out, calls) = mpsc::channel(CALLS);
        let (remedies_out, remedies) = mpsc::channel(REMEDIES);
        let hub = Hub::open("test".into(), inbox, out, Journal::over(disk.clone())).unwrap();
        let hub = hub.repeatable(fixture::now(), Chance::default()).unwrap();
        let (want, wanted) = watch::channel(Wanted::default());
        let hub = change(hub.allow_remedies(remedies_out).wanting(want));
        tokio::spawn(hub.run(CancellationToken::new()));
        let hub = HubHandle::new(mailbox.clone());
        let cluster = Self { hub, mailbox, remedies, wanted, _calls: calls };
        cluster.see(fixture::listing(&fixture::objects(world))).await;
        cluster
    }

    async fn see(&self, observations: Vec<Observation>) {
        self.mailbox.send(Incoming::Observed(observations)).await.unwrap();
    }

    async fn diagnosis(&self) -> String {
        let Message::Snapshot { records, .. } =
            self.hub.query(Topic::Trouble).await.unwrap().unwrap()
        else {
            panic!("a query returns a snapshot")
        };
        let id = records.iter().find_map(|record| match record {
            Record::Diagnosis(card) => Some(card.diagnosis.id.clone()),
            _ => None,
        });
        id.expect("a diagnosis")
    }

    async fn remedies(&self) -> Remedies {
        self.hub.remedies(self.diagnosis().await).await.unwrap().unwrap()
    }

    /// A person's confirmation of the removal of the finalizer.
    async fn confirmation(&self) -> Confirmation {
        let Remedies { card, remedies, .. } = self.remedies().await;
        let is_removal = |it: &&Remedy| matches!(it.act, RemedyAct::RemoveFinalizer { .. });
        let remedy = remedies.iter().find(is_removal).expect("a removal");
        assert_eq!(remedy.harm, Harm::Leftovers);
        Confirmation {
            diagnosis: card.diagnosis.id.clone(),
            remedy: remedy.hash(&card.diagnosis),
            confirm: "orders".into(),
            statement: WORD.into(),
        }
    }

    async fn order(&self, given: &Confirmation) -> Result<String, Refusal> {
        self.hub.remedy(given.clone(), "Li".into()).await.unwrap()
    }

    /// The attempt at the removal of the APIService of [`API`], and its call.
    async fn removal_of_api(&mut self) -> (String, RemedyCall) {
        let Remedies { card, remedies, .. } = self.remedies().await;
        let is_removal = |it: &&Remedy| matches!(it.act, RemedyAct::DeleteApiService { .. });
        let remedy = remedies.iter().find(is_removal).expect("a removal");
        let given = Confirmation {
            diagnosis: card.diagnosis.id.clone(),
            remedy: remedy.hash(&card.diagnosis),
            confirm: "v1beta1.metrics.k8s.io".into(),
            statement: WORD.into(),
        };
        let attempt = self.order(&given).await.unwrap();
        (attempt, self.remedies.recv().await.unwrap())
    }

    async fn outcomes(&self) -> Vec<(AttemptOutcome, String)> {
        let attempts = self.hub.attempts().await.unwrap();
        attempts.into_iter().map(|it| (it.outcome, it.statement)).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn remedy_is_in_the_journal_before_its_request_leaves_and_its_outcome_after() {
    let disk = Disk::default();
    let mut cluster = Cluster::start(&disk).await;
    let id = cluster.order(&cluster.confirmation().await).await.unwrap();
    let kept = disk.list(Shelf::Attempts).unwrap();
    assert_eq!(kept.iter().map(|(name, _)| name).collect::<Vec<_>>(), [&id]);
    let call = cluster.remedies.recv().await.unwrap();
    assert_eq!(call.attempt, id);
    assert_eq!(call.request.path, "/apis/queue.example/v1/namespaces/s4/topics/orders");
    assert_eq!(call.premises.len(), 1);
    assert_eq!(cluster.outcomes().await, [(AttemptOutcome::Sending, WORD.to_owned())]);
    let outcome = AttemptOutcome::Accepted { meanwhile: None };
    let completed = Incoming::RemedyCompleted { attempt: id, outcome: outcome.clone() };
    cluster.mailbox.send(completed).await.unwrap();
    assert_eq!(cluster.outcomes().await, [(outcome.clone(), WORD.to_owned())]);
    let again = Cluster::start(&disk).await;
    assert_eq!(again.outcomes().await, [(outcome, WORD.to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn remedy_without_an_answer_is_not_sent_again_after_a_restart() {
    let disk = Disk::default();
    let cluster = Cluster::start(&disk).await;
    cluster.order(&cluster.confirmation().await).await.unwrap();
    drop(cluster);
    let mut again = Cluster::start(&disk).await;
    let unknown = AttemptOutcome::Unknown { message: None, meanwhile: None };
    assert_eq!(again.outcomes().await, [(unknown, WORD.to_owned())]);
    assert!(again.remedies.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn one_root_gets_one_remedy_at_a_time() {
    let cluster = Cluster::start(&Disk::default()).await;
    let given = cluster.confirmation().await;
    let id = cluster.order(&given).await.unwrap();
    assert_eq!(cluster.order(&given).await, Err(Refusal::Remedy(RemedyRefusal::Busy)));
    let outcome =
        AttemptOutcome::Refused { message: teardown::api_problem::ApiProblem::Quoted("no".into()) };
    let completed = Incoming::RemedyCompleted { attempt: id, outcome };
    cluster.mailbox.send(completed).await.unwrap();
    assert!(cluster.order(&given).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn confirmation_of_what_has_changed_sends_nothing() {
    let mut cluster = Cluster::start(&Disk::default()).await;
    let given = cluster.confirmation().await;
    let renewed =
        "Topic.queue.example s4/orders uid=other deleted=400 finalizers=queue.example/topic";
    let Object { kind, uid, .. } =
        fixture::object("Topic.queue.example s4/orders finalizers=queue.example/topic");
    cluster
        .see(vec![
            Observation::Deleted { kind, uid },
            Observation::Applied(Box::new(fixture::object(renewed))),
        ])
        .await;
    assert_eq!(cluster.order(&given).await, Err(Refusal::Remedy(RemedyRefusal::Changed)));
    for (change, expected) in [
        (
            Confirmation { confirm: "order".into(), ..cluster.confirmation().await },
            RemedyRefusal::WrongName,
        ),
        (
            Confirmation { statement: String::new(), ..cluster.confirmation().await },
            RemedyRefusal::NoStatement,
        ),
    ] {
        assert_eq!(cluster.order(&change).await, Err(Refusal::Remedy(expected)));
    }
    assert!(cluster.remedies.try_recv().is_err());
    assert_eq!(cluster.outcomes().await, []);
}

#[tokio::test(start_paused = true)]
async fn server_without_the_flag_does_no_remedy() {
    let disk = Disk::default();
    let given = Cluster::start(&Disk::default()).await.confirmation().await;
    let process = Process::start(&disk);
    process.list(STUCK).await;
    let refused = process.hub.remedy(given, "Li".into()).await.unwrap();
    assert_eq!(refused, Err(Refusal::RemediesOff));
    assert_eq!(disk.list(Shelf::Attempts).unwrap(), []);
}

/// The server is killed between the DELETE and its answer.
#[tokio::test(start_paused = true)]
async fn deleted_apiservice_can_be_put_back_although_the_answer_never_came() {
    let disk = Disk::default();
    let mut cluster = Cluster::before(&disk, API).await;
    let (attempt, call) = cluster.removal_of_api().await;
    assert!(call.keeps_copy);
    // Before the copy is kept, no request has left.
    let early = Cluster::before(&disk.copy(), API).await;
    assert_eq!(early.outcomes().await, [(AttemptOutcome::Interrupted, WORD.to_owned())]);
    let copied = async |name: &str| {
        let uid = &call.request.uid;
        let service = serde_json::json!({ "namespace": "kube-system", "name": "metrics-server" });
        let copy = serde_json::json!({
            "metadata": { "name": name, "uid": uid },
            "spec": { "service": service },
        });
        let (reply, kept) = oneshot::channel();
        let copied = Incoming::RemedyCopied { attempt: attempt.clone(), copy, reply };
        cluster.mailbox.send(copied).await.unwrap();
        kept.await.unwrap()
    };
    let other = copied("v1.other").await;
    assert!(matches!(other, Err(NotKept::OtherObject(_))), "{other:?}");
    assert_eq!(copied("v1beta1.metrics.k8s.io").await, Ok(()));
    drop(cluster);

    let gone = API.lines().filter(|line| !line.contains("apiservice")).collect::<Vec<_>>();
    let again = Cluster::before(&disk, &gone.join("\n")).await;
    let off = again.hub.switched_off().await.unwrap();
    let [PutBack { attempt, by_unwind, .. }] = &off[..] else { panic!("{off:?}") };
    assert_eq!(attempt.outcome, AttemptOutcome::Unknown { message: None, meanwhile: None });
    assert!(by_unwind);
    drop(again);

    // Without the flag the copy is kept all the same, and the page says how to use it.
    let without = Process::start(&disk);
    without.list(&gone.join("\n")).await;
    let off = without.hub.switched_off().await.unwrap();
    let [PutBack { attempt, by_unwind: false, line: None, .. }] = &off[..] else {
        panic!("{off:?}")
    };
    assert_eq!(attempt.undo.as_ref().unwrap().verb, Verb::Create);
    let [way] = &text::switched_off_advice(&off).ways[..] else { panic!("{off:?}") };
    assert!(way.does.contains("Start Unwind with --allow-remedies"), "{}", way.does);
    assert!(!way.does.contains("no copy") && way.offer.is_none(), "{way:?}");
    let consequence = "kube-system/metrics-server still has no ready endpoint: namespaces cannot be emptied while it is back.";
    assert!(way.does.contains(consequence), "{}", way.does);
}

/// Objects that are left in a namespace that does not exist.
const LEFT: &str = "
    ns other
    cm gone/left
    Topic.queue.example gone/orders deleted=400 finalizers=queue.example/topic
";

/// The server is killed between the creation of a namespace and its DELETE.
#[tokio::test(start_paused = true)]
async fn namespace_that_was_created_again_is_shown_after_a_restart_until_it_is_deleted() {
    let disk = Disk::default();
    let mut cluster = Cluster::before(&disk, LEFT).await;
    let Remedies { card, remedies, .. } = cluster.remedies().await;
    let is_it = |it: &&Remedy| matches!(it.act, RemedyAct::RecreateNamespace { .. });
    let remedy = remedies.iter().find(is_it).expect("a namespace to create");
    let given = Confirmation {
        diagnosis: card.diagnosis.id.clone(),
        remedy: remedy.hash(&card.diagnosis),
        confirm: "gone".into(),
        statement: String::new(),
    };
    let attempt = cluster.order(&given).await.unwrap();
    let call = cluster.remedies.recv().await.unwrap();
    assert!(call.deletes_at_once && !call.keeps_copy);
    let labels = &call.request.body["metadata"]["labels"];
    let copy = serde_json::json!({
        "metadata": { "name": "gone", "uid": "made", "labels": labels },
    });
    let (reply, kept) = oneshot::channel();
    let copied = Incoming::RemedyCopied { attempt, copy, reply };
    cluster.mailbox.send(copied).await.unwrap();
    assert_eq!(kept.await.unwrap(), Ok(()));
    drop(cluster);

    let mark = labels["unwind/recreated"].as_str().unwrap();
    let left = format!("{LEFT}\nns gone uid=made labels=unwind/recreated:{mark}");
    let mut again = Cluster::before(&disk, &left).await;
    let off = again.hub.switched_off().await.unwrap();
    let [
        PutBack {
            attempt, what: SwitchedOff::Namespace, by_unwind: true, line: Some(line), ..
        },
    ] = &off[..]
    else {
        panic!("{off:?}")
    };
    assert_eq!(attempt.outcome, AttemptOutcome::Unknown { message: None, meanwhile: None });
    assert!(line.contains(r#""uid":"made""#), "{line}");
    let undone = again.hub.undo_remedy(attempt.id.clone(), "gone".into(), "Li".into()).await;
    undone.unwrap().unwrap();
    let call = again.remedies.recv().await.unwrap();
    assert_eq!(call.request.body["preconditions"]["uid"], "made");
    drop(again);

    // One of the same name that somebody else made is nobody's to delete.
    let other = format!("{LEFT}\nns gone uid=other");
    let other = Cluster::before(&disk, &other).await;
    assert_eq!(other.hub.switched_off().await.unwrap(), []);
}

/// The conditions of a namespace that its controller has found empty.
const EMPTY: &str = "NamespaceDeletionDiscoveryFailure:False:a:1:;NamespaceDeletionGroupVersionParsingFailure:False:a:1:;NamespaceDeletionContentFailure:False:a:1:;NamespaceContentRemaining:False:a:1:;NamespaceFinalizersRemaining:False:a:1:";

/// A server that has finished a namespace by force on a person's order, with this outcome.
async fn after_force(disk: &Disk, outcome: AttemptOutcome) -> Cluster {
    let up = API
        .replace("conditions=Available:False:MissingEndpoints", "available=Available:True:Passed");
    let mut cluster = Cluster::before(disk, &up).await;
    let Remedies { card, remedies, .. } = cluster.remedies().await;
    let remedy = remedies.iter().find(|it| it.act == RemedyAct::FinalizeNamespace).unwrap();
    let given = Confirmation {
        diagnosis: card.diagnosis.id.clone(),
        remedy: remedy.hash(&card.diagnosis),
        confirm: "shop".into(),
        statement: String::new(),
    };
    let attempt = cluster.order(&given).await.unwrap();
    cluster.remedies.recv().await.unwrap();
    cluster.mailbox.send(Incoming::RemedyCompleted { attempt, outcome }).await.unwrap();
    let Object { kind, uid, .. } = fixture::object("ns shop");
    cluster.see(vec![Observation::Deleted { kind, uid }]).await;
    cluster
}

/// Whether Secrets that are listed per namespace are gone, for a server that starts with this journal: those of the namespace
/// that was forced, and of one that never was.
fn presence_after_a_restart(disk: Disk) -> [String; 2] {
    let (mailbox, inbox) = mpsc::channel(MAILBOX);
    let (out, _calls) = mpsc::channel(CALLS);
    let mut hub = Hub::open("test".into(), inbox, out, Journal::over(disk)).unwrap();
    let secrets = fixture::object("secret shop/a").kind;
    let mut seen = fixture::listing(&fixture::objects("ns other"));
    seen.push(Observation::PerNamespace {
        kind: secrets.clone(),
        namespaces: vec![],
        message: "forbidden".into(),
    });
    hub.take(Incoming::Observed(seen)).unwrap();
    drop(mailbox);
    ["shop", "never"].map(|namespace| {
        let uid = fixture::uid("secret:shop/a");
        format!("{:?}", hub.cluster.index().presence(&secrets, Some(namespace), &uid))
    })
}

#[tokio::test(start_paused = true)]
async fn namespace_that_was_finished_by_force_proves_nothing_after_a_restart() {
    for outcome in [
        AttemptOutcome::Accepted { meanwhile: None },
        AttemptOutcome::Unknown { message: None, meanwhile: None },
    ] {
        let disk = Disk::default();
        drop(after_force(&disk, outcome.clone()).await);
        let [shop, never] = presence_after_a_restart(disk);
        assert!(shop.starts_with("Unknown"), "{shop} after {outcome:?}");
        assert_eq!(never, "Gone");
    }
}

#[tokio::test(start_paused = true)]
async fn namespace_that_was_forced_and_later_ended_in_order_is_gone_after_a_restart() {
    let disk = Disk::default();
    let outcome = AttemptOutcome::Accepted { meanwhile: None };
    let cluster = after_force(&disk, outcome).await;
    let again = format!("ns shop uid=again deleted=10 conditions={EMPTY}");
    let again = fixture::object(&again);
    let (kind, uid) = (again.kind.clone(), again.uid.clone());
    cluster.see(vec![Observation::Applied(Box::new(again))]).await;
    cluster.see(vec![Observation::Deleted { kind, uid }]).await;
    assert!(cluster.hub.attempts().await.unwrap()[0].settled);
    drop(cluster);
    let [shop, _] = presence_after_a_restart(disk);
    assert_eq!(shop, "Gone");
}

/// Whether a server that starts with this journal takes the end of the custom resource for unconfirmed.
fn is_unconfirmed_after_a_restart(disk: Disk) -> bool {
    let (mailbox, inbox) = mpsc::channel(MAILBOX);
    let (out, _calls) = mpsc::channel(CALLS);
    let mut hub = Hub::open("test".into(), inbox, out, Journal::over(disk)).unwrap();
    let listing = fixture::listing(&fixture::objects("ns s4"));
    hub.take(Incoming::Observed(listing)).unwrap();
    drop(mailbox);
    hub.cluster.index().is_unconfirmed(&fixture::uid("Topic.queue.example:s4/orders"), None)
}

#[tokio::test(start_paused = true)]
async fn object_that_lost_its_finalizer_by_a_remedy_is_unconfirmed_unless_the_remedy_had_no_effect()
{
    for (outcome, expected) in [
        (AttemptOutcome::Accepted { meanwhile: None }, true),
        (AttemptOutcome::Unknown { message: None, meanwhile: None }, true),
        (AttemptOutcome::Refused { message: "no".into() }, false),
    ] {
        let disk = Disk::default();
        let cluster = Cluster::start(&disk).await;
        let attempt = cluster.order(&cluster.confirmation().await).await.unwrap();
        let completed = Incoming::RemedyCompleted { attempt, outcome: outcome.clone() };
        cluster.mailbox.send(completed).await.unwrap();
        assert_eq!(cluster.outcomes().await, [(outcome.clone(), WORD.to_owned())]);
        drop(cluster);
        assert_eq!(is_unconfirmed_after_a_restart(disk), expected, "{outcome:?}");
    }
}

/// The rights that the cluster is asked for.
fn rights(wanted: &watch::Receiver<Wanted>) -> Vec<String> {
    let questions = &wanted.borrow().questions;
    let rights = questions.iter().filter_map(|question| match question {
        Question::Permission(permission) => Some(permission.to_string()),
        _ => None,
    });
    rights.collect()
}

#[tokio::test(start_paused = true)]
async fn rights_are_asked_for_once_a_card_is_open_and_a_missing_one_disables_the_remedy() {
    let mut cluster = Cluster::start(&Disk::default()).await;
    cluster.diagnosis().await;
    assert_eq!(rights(&cluster.wanted), [""; 0], "nobody has opened a card");
    let given = cluster.confirmation().await;
    let stamp = cluster.remedies().await.card.stamp;
    // The hub answers before it says what it wants to know.
    cluster.hub.attempts().await.unwrap();
    let patch = "patch topics.queue.example orders in s4";
    assert_eq!(rights(&cluster.wanted), ["get topics.queue.example orders in s4", patch]);

    let question = |wanted: &Wanted| {
        let is_it = |it: &&Question| matches!(it, Question::Permission(it) if it.verb == "patch");
        wanted.questions.iter().find(is_it).cloned().unwrap()
    };
    let question = question(&cluster.wanted.borrow());
    let review = |allowed| {
        let answer = Ok(Answer::Review(Review { allowed, said: "".into() }));
        vec![Observation::Fetched { question: question.clone(), answer }]
    };
    cluster.see(review(false)).await;
    let refused = cluster.order(&given).await;
    let Err(Refusal::Remedy(RemedyRefusal::MayNot(right))) = refused else { panic!("{refused:?}") };
    assert_eq!(right.to_string(), patch);
    assert_ne!(cluster.remedies().await.card.stamp, stamp, "an open page reads the card again");
    assert!(cluster.remedies.try_recv().is_err());

    // The confirmation is still good once the right is there.
    cluster.see(review(true)).await;
    cluster.order(&given).await.unwrap();
    assert_eq!(
        cluster.remedies.recv().await.unwrap().request.uid,
        Some(fixture::object("Topic.queue.example s4/orders",).uid)
    );
}

/// The objects whose Events the cluster is asked for.
fn objects_asked_about(wanted: &watch::Receiver<Wanted>) -> Vec<ObjectRef> {
    let questions = &wanted.borrow().questions;
    let objects = questions.iter().filter_map(|question| match question {
        Question::Events { of, .. } => Some(of.clone()),
        _ => None,
    });
    objects.collect()
}

/// The words of the cloud are in Events alone.
#[tokio::test(start_paused = true)]
async fn events_of_the_diagnosis_that_a_person_opened_are_asked_for_however_many_are_worse() {
    let service = |n: u32| {
        format!(
            "svc shop/s{n} type=LoadBalancer deleted=400 \
             finalizers=service.kubernetes.io/load-balancer-cleanup\n"
        )
    };
    let world: String = (0..13).map(service).collect();
    let cluster = Cluster::before(&Disk::default(), &world).await;
    let Message::Snapshot { records, .. } =
        cluster.hub.query(Topic::Trouble).await.unwrap().unwrap()
    else {
        panic!("a query returns a snapshot")
    };
    cluster.hub.attempts().await.unwrap();
    let asked = objects_asked_about(&cluster.wanted);
    assert_eq!(asked.len(), 12);
    let left_out = records.iter().find_map(|record| match record {
        Record::Diagnosis(card) if !asked.contains(&card.diagnosis.root) => Some(&card.diagnosis),
        _ => None,
    });
    let left_out = left_out.expect("a diagnosis that is not asked about");
    cluster.hub.remedies(left_out.id.clone()).await.unwrap().unwrap();
    cluster.hub.attempts().await.unwrap();
    let then = objects_asked_about(&cluster.wanted);
    assert!(then.contains(&left_out.root), "{then:?}");
    assert_eq!(asked.iter().filter(|it| then.contains(it)).count(), 12, "the others are kept");
}
