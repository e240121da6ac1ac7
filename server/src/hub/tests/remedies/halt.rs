//! Open runs, and a change that a remedy for their objects met.

use teardown::{object::ObjectRef, run::FeedEvent};

use super::{
    unconfirmed::{ATTACHMENT, accepted, is_removal, with},
    *,
};

fn reference(object: &str) -> ObjectRef {
    fixture::object(object).reference()
}

impl Cluster {
    /// The objects whose change has paused this run.
    async fn changes(&self, run: &RunId) -> Vec<String> {
        let log = self.hub.event_log(run.clone()).await.unwrap().unwrap();
        let changed = log.into_iter().filter_map(|entry| match entry.event {
            FeedEvent::Paused { changed, .. } => changed,
            _ => None,
        });
        changed.map(|object| object.to_string()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn change_that_a_remedy_met_pauses_the_open_run_of_its_objects() {
    let (claim, node) = (|| reference("pvc shop/data"), || reference("node n2"));
    let claimed: &[&str] = &["PersistentVolumeClaim shop/data"];
    for (outcome, expected) in [
        (AttemptOutcome::Changed { object: claim() }, claimed),
        (AttemptOutcome::Accepted { meanwhile: Some(claim()) }, claimed),
        (AttemptOutcome::Unknown { message: None, meanwhile: Some(claim()) }, claimed),
        (AttemptOutcome::Unfinished { message: "no".into(), meanwhile: Some(claim()) }, claimed),
        // Neither it nor the attachment is in the plan.
        (AttemptOutcome::Changed { object: node() }, &[][..]),
        (accepted(), &[][..]),
        (AttemptOutcome::Unknown { message: None, meanwhile: None }, &[][..]),
        (AttemptOutcome::Refused { message: "no".into() }, &[][..]),
    ] {
        let disk = Disk::default();
        let mut cluster = Cluster::before(&disk, &with(ATTACHMENT)).await;
        let (run, _) = cluster.start_run().await;
        cluster.send_away("a-1", is_removal, outcome.clone()).await;
        assert_eq!(cluster.changes(&run).await, expected, "{outcome:?}");
        drop(cluster);
        let again = Cluster::before(&disk, &with(ATTACHMENT)).await;
        assert_eq!(again.changes(&run).await, expected, "after a restart: {outcome:?}");
        let resume = again.hub.command(run, RunCommand::Resume, "Li".into()).await;
        assert_eq!(resume.unwrap(), Ok(()));
    }
}

#[tokio::test(start_paused = true)]
async fn change_that_comes_while_the_disk_is_full_pauses_the_run_before_it_goes_on() {
    let disk = Disk::default();
    let mut cluster = Cluster::before(&disk, &with(ATTACHMENT)).await;
    let (run, _) = cluster.start_run().await;
    let outcome = AttemptOutcome::Changed { object: reference("pvc shop/data") };
    let Remedies { card, remedies, .. } = cluster.remedies().await;
    let remedy = remedies.iter().find(|it| is_removal(&it.act)).expect("a remedy");
    let given = Confirmation {
        diagnosis: card.diagnosis.id.clone(),
        remedy: remedy.hash(&card.diagnosis),
        confirm: "a-1".into(),
        statement: WORD.into(),
    };
    let attempt = cluster.order(&given).await.unwrap();
    cluster.remedies.recv().await.unwrap();
    disk.fail(WriteFailure::Lost);
    cluster.mailbox.send(Incoming::RemedyCompleted { attempt, outcome }).await.unwrap();
    assert_eq!(cluster.changes(&run).await, [""; 0], "the journal cannot have it");
    disk.repair();
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(cluster.changes(&run).await, ["PersistentVolumeClaim shop/data"]);
}
