//! Objects that a remedy sent away without confirmation, over restarts of the server.

use teardown::{
    object::{ObjectRef, Uid},
    run::StepProblem,
    unknown_reason::UnknownReason,
};

use super::*;
use crate::hub::TakenOn;

const STORAGE: &str = "
    ns shop of=shop
    node n1
    node n2
    pvc shop/data of=shop volume=pv-1
    pv pv-1 claim=shop/data reclaim=Delete
";
/// An attachment whose detach fails.
pub(super) const ATTACHMENT: &str = "attachment a-1 volume=pv-1 node=n1 attacher=disk.example attached=no deleted=200 error=disk_is_busy finalizers=external-attacher/disk-example";
const SILENT: &str = "node n1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped";
const POD: &str =
    "pod shop/web of=shop node=n1 deleted=400 grace=30 containers=web:running uses=claim:data";

pub(super) fn is_removal(act: &RemedyAct) -> bool {
    matches!(act, RemedyAct::RemoveFinalizer { .. })
}

impl Cluster {
    /// Has a remedy done for this object, and answers its request.
    pub(super) async fn send_away(
        &mut self,
        name: &str,
        is_it: fn(&RemedyAct) -> bool,
        outcome: AttemptOutcome,
    ) {
        let Remedies { card, remedies, .. } = self.remedies().await;
        let remedy = remedies.iter().find(|it| is_it(&it.act)).expect("a remedy");
        let given = Confirmation {
            diagnosis: card.diagnosis.id.clone(),
            remedy: remedy.hash(&card.diagnosis),
            confirm: name.into(),
            statement: WORD.into(),
        };
        let attempt = self.order(&given).await.unwrap();
        self.remedies.recv().await.unwrap();
        self.mailbox.send(Incoming::RemedyCompleted { attempt, outcome }).await.unwrap();
    }

    pub(super) async fn lose(&self, object: &str) {
        let Object { kind, uid, .. } = fixture::object(object);
        self.see(vec![Observation::Deleted { kind, uid }]).await;
    }

    /// The objects that the journal remembers as sent away without confirmation.
    async fn remembered(&self) -> Vec<String> {
        let attempts = self.hub.attempts().await.unwrap();
        let ends = attempts.iter().flat_map(|it| &it.unconfirmed);
        ends.map(|end| end.object.to_string()).collect()
    }

    /// Plans and starts a run of the claim.
    pub(super) async fn start_run(&self) -> (RunId, Arc<Plan>) {
        let choices = Choices::default();
        let plan = self.hub.make_plan(UnitId::new("shop"), choices).await.unwrap().unwrap();
        (self.hub.start(confirmation(&plan)).await.unwrap().unwrap(), plan)
    }

    /// The objects for whose end the claim waits.
    async fn waited_for(&self, run: &RunId) -> Vec<ObjectRef> {
        let message = self.hub.query(Topic::Run(run.clone())).await.unwrap().unwrap();
        let Message::Snapshot { records, .. } = message else { panic!("{message:?}") };
        let problem = records.into_iter().find_map(|record| match record {
            Record::Step(card) if &*card.object.name == "data" => card.problem,
            _ => None,
        });
        match problem {
            Some(StepProblem::Unknown { reason: UnknownReason::Unconfirmed { objects } }) => {
                objects.into_iter().map(|it| it.object).collect()
            }
            _ => Vec::new(),
        }
    }
}

pub(super) fn accepted() -> AttemptOutcome {
    AttemptOutcome::Accepted { meanwhile: None }
}

pub(super) fn with(objects: &str) -> String {
    format!("{STORAGE}{objects}")
}

/// No run is open, neither when the attachment goes nor when the server starts again.
#[tokio::test(start_paused = true)]
async fn run_that_is_planned_after_a_restart_waits_for_the_attachment_that_a_remedy_freed() {
    for is_watched in [true, false] {
        for outcome in [accepted(), AttemptOutcome::Unknown { message: None, meanwhile: None }] {
            let disk = Disk::default();
            let mut cluster = Cluster::before(&disk, &with(ATTACHMENT)).await;
            cluster.send_away("a-1", is_removal, outcome.clone()).await;
            if is_watched {
                cluster.lose(ATTACHMENT).await;
            }
            assert_eq!(cluster.remembered().await, ["VolumeAttachment a-1"], "{outcome:?}");
            drop(cluster);
            let again = Cluster::before(&disk, STORAGE).await;
            let (run, _) = again.start_run().await;
            let waited_for = again.waited_for(&run).await;
            assert_eq!(
                waited_for.iter().map(ToString::to_string).collect::<Vec<_>>(),
                ["VolumeAttachment a-1"],
                "{is_watched} {outcome:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn remedy_that_had_no_effect_is_remembered_for_nothing() {
    let disk = Disk::default();
    let mut cluster = Cluster::before(&disk, &with(ATTACHMENT)).await;
    let refused = AttemptOutcome::Refused { message: "no".into() };
    cluster.send_away("a-1", is_removal, refused).await;
    assert_eq!(cluster.remembered().await, [""; 0]);
    drop(cluster);
    let again = Cluster::before(&disk, STORAGE).await;
    let (run, _) = again.start_run().await;
    assert_eq!(again.waited_for(&run).await, []);
}

#[tokio::test(start_paused = true)]
async fn person_who_answers_in_a_run_ends_what_the_journal_remembers() {
    let disk = Disk::default();
    let mut cluster = Cluster::before(&disk, &with(ATTACHMENT)).await;
    cluster.send_away("a-1", is_removal, accepted()).await;
    assert_eq!(cluster.remembered().await.len(), 1);
    drop(cluster);
    let again = Cluster::before(&disk, STORAGE).await;
    let (run, plan) = again.start_run().await;
    let step = plan.steps.iter().find(|it| &*it.object.name == "data").unwrap().id;
    let answer = async |pods: Vec<Uid>| {
        let answer = TakenOn { confirm: "data".into(), pods };
        again.hub.take_on(run.clone(), step, answer, "Li".into()).await.unwrap()
    };
    assert_eq!(answer(vec![]).await, Err(Refusal::OtherPods(step)));
    assert_eq!(again.remembered().await.len(), 1, "the answer was for other objects");
    assert_eq!(answer(vec![fixture::object(ATTACHMENT).uid]).await, Ok(()));
    assert_eq!(again.remembered().await, [""; 0]);
    assert_eq!(again.waited_for(&run).await, []);
    drop(again);
    let last = Cluster::before(&disk, STORAGE).await;
    assert_eq!(last.remembered().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn end_is_remembered_as_long_as_the_attempt_and_until_the_volume_and_its_claim_are_gone() {
    let disk = Disk::default();
    let keep = SignedDuration::from_hours(24 * 30);
    let mut cluster = Cluster::with(&disk, &with(ATTACHMENT), |hub| hub.keeping_runs(keep)).await;
    cluster.send_away("a-1", is_removal, accepted()).await;
    cluster.lose(ATTACHMENT).await;
    let start = cluster.hub.time().await.unwrap();
    let days = |days: i64| vec![Observation::Time(start + SignedDuration::from_hours(24 * days))];
    cluster.see(days(40)).await;
    assert_eq!(cluster.remembered().await, ["VolumeAttachment a-1"]);
    cluster.lose("pvc shop/data").await;
    assert_eq!(cluster.remembered().await, ["VolumeAttachment a-1"]);
    cluster.lose("pv pv-1").await;
    assert_eq!(cluster.remembered().await, [""; 0]);
    assert_eq!(cluster.hub.attempts().await.unwrap().len(), 1);
    cluster.see(days(42)).await;
    // An attempt that is old is removed at the end of a batch.
    cluster.hub.time().await.unwrap();
    assert_eq!(cluster.hub.attempts().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn forced_pod_is_remembered_until_its_silent_node_is_ready() {
    let world = STORAGE.replace("node n1", SILENT);
    let unknown = AttemptOutcome::Unknown { message: None, meanwhile: None };
    for (is_back, outcome) in
        [(false, accepted()), (true, accepted()), (false, unknown.clone()), (true, unknown)]
    {
        let disk = Disk::default();
        let mut cluster = Cluster::before(&disk, &format!("{world}{POD}")).await;
        for _ in 0..2 {
            cluster.see(vec![fixture::leases(&["n1"])]).await;
            // A lease stands still once it was the same for 40 s.
            tokio::time::sleep(Duration::from_secs(40)).await;
        }
        cluster.see(vec![fixture::leases(&["n1"])]).await;
        let is_force = |act: &RemedyAct| matches!(act, RemedyAct::ForceDeletePod { .. });
        cluster.send_away("web", is_force, outcome).await;
        cluster.lose(POD).await;
        assert_eq!(cluster.remembered().await, ["Pod shop/web"]);
        drop(cluster);
        let now = if is_back { STORAGE } else { &world };
        let again = Cluster::before(&disk, now).await;
        assert_eq!(again.remembered().await.is_empty(), is_back);
        let (run, _) = again.start_run().await;
        assert_eq!(again.waited_for(&run).await.is_empty(), is_back);
    }
}

#[tokio::test(start_paused = true)]
async fn end_that_could_not_be_forgotten_on_a_full_disk_is_forgotten_later() {
    let disk = Disk::default();
    let mut cluster = Cluster::before(&disk, &with(ATTACHMENT)).await;
    cluster.send_away("a-1", is_removal, accepted()).await;
    cluster.lose(ATTACHMENT).await;
    assert_eq!(cluster.remembered().await.len(), 1);
    disk.fail(WriteFailure::Lost);
    cluster.lose("pvc shop/data").await;
    cluster.lose("pv pv-1").await;
    assert_eq!(cluster.remembered().await.len(), 1, "the journal still has it");
    disk.repair();
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(cluster.remembered().await, [""; 0]);
}

/// The run in which the person answered is stopped, and another one of the same process has the same claim.
#[tokio::test(start_paused = true)]
async fn next_run_of_the_process_asks_only_about_an_object_with_another_uid() {
    let again = ATTACHMENT.replace("a-1 ", "a-1 uid=again ");
    for is_another in [false, true] {
        let disk = Disk::default();
        let mut cluster = Cluster::before(&disk, &with(ATTACHMENT)).await;
        cluster.send_away("a-1", is_removal, accepted()).await;
        cluster.lose(ATTACHMENT).await;
        let (run, plan) = cluster.start_run().await;
        assert_eq!(cluster.waited_for(&run).await.len(), 1);
        let command = async |command: RunCommand| {
            cluster.hub.command(run.clone(), command, "Li".into()).await.unwrap().unwrap();
        };
        // No call is on its way when it is stopped.
        command(RunCommand::Pause).await;
        let step = plan.steps.iter().find(|it| &*it.object.name == "data").unwrap().id;
        let pods = vec![fixture::object(ATTACHMENT).uid];
        let answer = TakenOn { confirm: "data".into(), pods };
        let taken_on = cluster.hub.take_on(run.clone(), step, answer, "Li".into()).await;
        assert_eq!(taken_on.unwrap(), Ok(()));
        command(RunCommand::Stop).await;
        if is_another {
            cluster.see(vec![Observation::Applied(Box::new(fixture::object(&again)))]).await;
            cluster.send_away("a-1", is_removal, accepted()).await;
            cluster.lose(&again).await;
        }
        let (next, _) = cluster.start_run().await;
        assert_eq!(cluster.waited_for(&next).await.len(), usize::from(is_another));
    }
}
