//! Where the hub sees a diagnosis from: by which name, whether the API server answers, and what is missing from the state.

use teardown::{
    advice::{Freshness, Standpoint},
    fetched::{Answer, Question},
    observation::{AwayCause, HiddenCause},
};

use super::*;

/// A Pod that its node does not stop.
const LATE: &str = "
    node n1
    pod shop/a node=n1 deleted=400 grace=30 containers=web:running
";

impl Process {
    /// The standpoint of the first diagnosis, as a reader of its card gets it.
    async fn standpoint(&self) -> Standpoint {
        let message = self.hub.query(Topic::Trouble).await.unwrap().unwrap();
        let Message::Snapshot { records, .. } = message else { panic!("{message:?}") };
        let id = records.iter().find_map(|record| match record {
            Record::Diagnosis(card) => Some(card.diagnosis.id.clone()),
            _ => None,
        });
        self.hub.remedies(id.unwrap()).await.unwrap().unwrap().standpoint
    }

    async fn freshness(&self) -> Freshness {
        self.standpoint().await.freshness.unwrap()
    }
}

fn hidden(resource: &str) -> Observation {
    let (cause, message) = (HiddenCause::Failing, "broken".into());
    Observation::Hidden { resource: resource.into(), cause, message }
}

fn visible(resource: &str) -> Observation {
    Observation::Visible { resource: resource.into() }
}

#[tokio::test(start_paused = true)]
async fn standpoint_has_the_identity_the_hidden_kinds_and_the_lag_of_those_of_the_card() {
    let disk = Disk::default();
    let process = Process::with(&disk, "test", |hub| {
        hub.repeatable(fixture::now(), Chance::default()).unwrap()
    });
    process.list(LATE).await;
    let nothing = Freshness { unreachable: None, hidden: vec![], unanswered: vec![] };
    let standpoint = process.standpoint().await;
    assert_eq!((&*standpoint.cluster, standpoint.identity), ("test", None));
    assert_eq!(standpoint.freshness, Some(nothing.clone()));

    let answer = Ok(Answer::Identity("unwind@ops".into()));
    let identity = Observation::Fetched { question: Question::Identity, answer };
    process.see(vec![identity, hidden("pods"), hidden("secrets")]).await;
    let standpoint = process.standpoint().await;
    assert_eq!(standpoint.identity.as_deref(), Some("unwind@ops"));
    let at_once = standpoint.freshness.unwrap();
    assert_eq!(at_once.hidden, ["pods", "secrets"]);
    assert_eq!(at_once.unanswered, [], "a watch is tried again within half a minute");

    tokio::time::sleep(Duration::from_secs(31)).await;
    let late = process.freshness().await;
    let named: Vec<&str> = late.unanswered.iter().map(|(resource, _)| &**resource).collect();
    assert_eq!(named, ["pods"], "the card is not about Secrets");
    assert_eq!((late.unreachable, late.hidden), (None, at_once.hidden));

    let away = Observation::Unreachable { cause: AwayCause::Silent, message: "refused".into() };
    process.see(vec![away]).await;
    assert!(process.freshness().await.unreachable.is_some());
    let back = Observation::Reached { version: "v1.36.3".into() };
    process.see(vec![back, visible("pods"), visible("secrets")]).await;
    assert_eq!(process.freshness().await, nothing);
}
