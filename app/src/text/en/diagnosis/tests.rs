use jiff::Timestamp;
use teardown::diagnosis::Impact;

use super::{
    harm::{NO_HARM, harm as harm_of},
    *,
};

/// A diagnosis for which nothing waits.
pub(super) fn diagnosis(cause: Cause) -> Diagnosis {
    let root = ObjectRef {
        group: "".into(),
        kind: "Service".into(),
        namespace: Some("shop".into()),
        name: "web".into(),
    };
    Diagnosis {
        id: String::new(),
        cause,
        root,
        confidence: Confidence::Inferred,
        evidence: vec![],
        waiting: vec![],
        total: 0,
        held: vec![],
        since: Timestamp::UNIX_EPOCH,
        stuck: false,
        impact: Impact::default(),
    }
}

/// The harm of a cause that harms nothing but what its card shows.
fn harm(impact: &Impact) -> Vec<String> {
    harm_of(&Diagnosis { impact: impact.clone(), ..diagnosis(Cause::LoadBalancerLeft) })
}

#[test]
fn nothing_is_said_to_be_well_where_it_cannot_be_seen() {
    assert_eq!(harm(&Impact::default()), [NO_HARM]);
    let unseen = Impact { unseen: Some("services".into()), ..Impact::default() };
    let said = harm(&unseen).join(" ");
    assert!(said.contains("cannot see services") && !said.contains(NO_HARM), "{said}");
    let pod = ObjectRef {
        group: "".into(),
        kind: "Pod".into(),
        namespace: Some("shop".into()),
        name: "db".into(),
    };
    let said = harm(&Impact { losing_claim: vec![pod], ..unseen }).join(" ");
    assert!(said.contains("runs on a claim that is being deleted"), "{said}");
    assert!(said.contains("There may be more"), "{said}");
}

#[test]
fn pod_that_cannot_have_its_disk_is_harm_that_names_the_multi_attach_error() {
    let pod = |name: &str| ObjectRef {
        group: "".into(),
        kind: "Pod".into(),
        namespace: Some("shop".into()),
        name: name.into(),
    };
    let said = |pods: Vec<ObjectRef>| {
        harm(&Impact { waiting_for_disk: pods, ..Impact::default() }).join(" ")
    };
    assert_eq!(
        said(vec![pod("db-0")]),
        "Pod shop/db-0 hangs in ContainerCreating (Multi-Attach error): its disk is still attached to another node."
    );
    assert!(said(vec![pod("db-0"), pod("db-1")]).contains("Pod shop/db-1 hang in "));
}

#[test]
fn driver_that_is_not_ready_is_named_by_its_pod_and_one_that_is_not_registered_is_not() {
    let plugin = ObjectRef {
        group: "".into(),
        kind: "Pod".into(),
        namespace: Some("disk".into()),
        name: "csi-node-a".into(),
    };
    let said = |plugin| {
        let (node, driver) = ("n1".into(), "disk.example".into());
        let sentence = cause(&diagnosis(Cause::DriverMissing { node, driver, plugin }));
        sentence.replace(['\u{2068}', '\u{2069}'], "")
    };
    assert_eq!(
        said(Some(plugin)),
        "Node n1 cannot unmount the volume: Pod disk/csi-node-a of its CSI driver disk.example is not ready there."
    );
    assert_eq!(
        said(None),
        "Node n1 cannot unmount the volume: its CSI driver disk.example is not registered there."
    );
}
