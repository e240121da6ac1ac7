//! The last look at the index around the request of a remedy.

use super::*;

impl Cluster {
    /// The objects that are not as a call rests on them, before its request and after it.
    async fn looked(&self, call: &RemedyCall) -> [Option<String>; 2] {
        let mut found = [None, None];
        for (found, is_sent) in found.iter_mut().zip([false, true]) {
            let basis = call.basis.clone().expect("a basis");
            let (reply, looked) = oneshot::channel();
            let question = Incoming::RemedyLooked { basis, is_sent, reply };
            self.mailbox.send(question).await.unwrap();
            *found = looked.await.unwrap().map(|object| object.to_string());
        }
        found
    }

    async fn apply(&self, objects: &[&str]) {
        let applied = objects.iter().map(|it| Observation::Applied(Box::new(fixture::object(it))));
        self.see(applied.collect()).await;
    }
}

/// The custom resource, and another one that waits for the same operator.
const BOTH: &str = "
    ns s4
    crd topics.queue.example defines=Topic.queue.example
    Topic.queue.example s4/orders deleted=400 finalizers=queue.example/topic
    Topic.queue.example s4/zebra deleted=300 finalizers=queue.example/topic
";

#[tokio::test(start_paused = true)]
async fn object_that_the_index_shows_changed_after_the_click_is_named_before_the_request() {
    let mut cluster = Cluster::start(&Disk::default()).await;
    cluster.order(&cluster.confirmation().await).await.unwrap();
    let call = cluster.remedies.recv().await.unwrap();
    assert_eq!(cluster.looked(&call).await, [None, None]);
    let topic = "Topic.queue.example s4/orders deleted=400 finalizers=queue.example/topic";
    cluster.apply(&[&format!("{topic} labels=a:b")]).await;
    let [before, after] = cluster.looked(&call).await;
    assert_eq!(before.as_deref(), Some("Topic s4/orders"));
    assert_eq!(after, None, "the request changes it");
    cluster.apply(&[topic]).await;
    assert_eq!(cluster.looked(&call).await, [None, None], "it is as it was");
}

#[tokio::test(start_paused = true)]
async fn program_that_comes_after_the_click_is_named_as_long_as_something_waits_for_it() {
    let mut cluster = Cluster::before(&Disk::default(), BOTH).await;
    let attempt = cluster.order(&cluster.confirmation().await).await.unwrap();
    let call = cluster.remedies.recv().await.unwrap();
    let program = || Some("Deployment ops/queue-operator".to_owned());
    cluster
        .apply(&[
            "ns ops",
            "clusterrole topics updates=topics.queue.example",
            "crb topics role=clusterrole/topics accounts=ops/queue-operator",
            "deploy ops/queue-operator uses=account:queue-operator replicas=0 ready=0",
        ])
        .await;
    assert_eq!(cluster.looked(&call).await, [program(), program()]);
    // The request that was accepted all the same is not a reason to send another one: what is right now is diagnosed anew.
    let object = fixture::object("deploy ops/queue-operator").reference();
    let outcome = AttemptOutcome::Accepted { meanwhile: Some(object) };
    let completed = Incoming::RemedyCompleted { attempt, outcome: outcome.clone() };
    cluster.mailbox.send(completed).await.unwrap();
    assert_eq!(cluster.outcomes().await, [(outcome, WORD.to_owned())]);
    assert!(cluster.remedies.try_recv().is_err());
    let Remedies { card, .. } = cluster.remedies().await;
    assert_eq!(card.diagnosis.cause.name(), "finisherNotReady");
}

#[tokio::test(start_paused = true)]
async fn what_is_taken_back_rests_on_its_premises_alone() {
    let disk = Disk::default();
    let mut cluster = Cluster::before(&disk, API).await;
    let (attempt, call) = cluster.removal_of_api().await;
    assert!(!call.basis.as_ref().expect("a basis").is_looked_at_after());
    let uid = &call.request.uid;
    let metadata = serde_json::json!({ "name": "v1beta1.metrics.k8s.io", "uid": uid });
    let copy = serde_json::json!({ "metadata": metadata });
    let (reply, kept) = oneshot::channel();
    let copied = Incoming::RemedyCopied { attempt: attempt.clone(), copy, reply };
    cluster.mailbox.send(copied).await.unwrap();
    assert_eq!(kept.await.unwrap(), Ok(()));
    let outcome = AttemptOutcome::Accepted { meanwhile: None };
    let completed = Incoming::RemedyCompleted { attempt: attempt.clone(), outcome };
    cluster.mailbox.send(completed).await.unwrap();
    let service = API.lines().find(|line| line.contains("apiservice")).unwrap();
    let Object { kind, uid, .. } = fixture::object(service.trim());
    cluster.see(vec![Observation::Deleted { kind, uid }]).await;
    let undone =
        cluster.hub.undo_remedy(attempt, "v1beta1.metrics.k8s.io".into(), "Li".into()).await;
    undone.unwrap().unwrap();
    assert!(cluster.remedies.recv().await.unwrap().basis.is_none());
}
