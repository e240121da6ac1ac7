//! Ways out that follow from what a kubelet says of its Pod, or from that it cannot be asked.

use super::*;
use crate::{
    diagnosis::{
        KubeletProblem, KubeletReport, KubeletSubject, Unanswered, add_reports, add_unanswered,
        kubelet_log::{self, KubeletError},
    },
    object::Uid,
};

const POD: &str = "2b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10";

fn index(phase: &str) -> Index {
    fixture::index(&format!(
        "node n1\npod shop/a uid={POD} node=n1 deleted=400 grace=30 {phase} uses=claim:lost subPath=yes"
    ))
}

/// The ways out of the only diagnosis after something was added to it.
fn ways(index: &Index, add: impl FnOnce(&mut Vec<Diagnosis>)) -> Vec<Remedy> {
    let graph = Graph::of(index);
    let mut found = diagnose(index, &graph, fixture::now());
    add(&mut found);
    remedies(&found[0], index, &graph, fixture::now())
}

fn names(ways: &[Remedy]) -> Vec<String> {
    ways.iter().map(|it| code(&it.act).split(':').next().unwrap_or_default().to_owned()).collect()
}

fn error(volume: &str, error: &str) -> String {
    format!(
        r#"E1121 11:50:00.000000 1 nestedpendingoperations.go:348] Operation for "{{volumeName:kubernetes.io/nfs/{POD}-{volume} podName:{POD} nodeName:}}" failed. No retries permitted until 2026-11-21 11:52:02 +0000 UTC (durationBeforeRetry 2m2s). Error: error cleaning subPath mounts for volume "{volume}" (UniqueName: "kubernetes.io/nfs/{POD}-{volume}") pod "{POD}" (UID: "{POD}") : error processing /var/lib/kubelet/pods/{POD}/volume-subpaths/{volume}/c: error cleaning subpath mount /var/lib/kubelet/pods/{POD}/volume-subpaths/{volume}/c/0: {error}
"#
    )
}

#[test]
fn files_in_a_directory_that_is_no_mount_are_moved_and_nothing_is_unmounted() {
    let index = index("phase=Failed containers=c:terminated");
    let with = |log: &str| {
        let log = kubelet_log::read(log);
        let pod = Uid::new(POD);
        let report = KubeletReport::of(&log, &pod, AnswerOrigin::Queried, fixture::now());
        ways(&index, |found| add_reports(found, &BTreeMap::from([(pod, report)])))
    };
    let left = error("data", "remove /x: directory not empty");
    let found = with(&left);
    assert_eq!(
        names(&found),
        ["emptyDirectory", "restartKubelet", "wait", "restartNode", "forceDeletePod"]
    );
    let lines: Vec<String> = found[0].lines("prod").into_iter().map(|(_, line)| line).collect();
    let path = format!("/var/lib/kubelet/pods/{POD}/volume-subpaths/data/c/0");
    assert_eq!(lines[0], format!("grep -F {path} /proc/self/mountinfo"));
    assert_eq!(lines[1], format!("find {path} -xdev -ls"));
    let both = left + &error("other", "exit status 32 Output: umount: /x: target is busy.");
    assert!(names(&with(&both)).contains(&"freeMount".to_owned()), "one is a mount");
    assert!(names(&with("")).contains(&"restoreExport".to_owned()), "nothing is known");
}

/// The Pod has its claim, so that nothing but the kubelet's words says what holds the mount.
#[test]
fn waiting_stands_behind_the_repair_once_the_kubelet_names_what_no_time_ends() {
    let index = fixture::index(&format!(
        "node n1
        pvc shop/data volume=pv
        pv pv claim=shop/data
        pod shop/a uid={POD} node=n1 deleted=400 grace=30 phase=Failed containers=c:terminated uses=claim:data"
    ));
    let first = |said: &[&str]| {
        let log: String = said.iter().map(|it| error("data", it)).collect();
        let log = kubelet_log::read(&log);
        let known: Vec<KubeletError> = log.facts.iter().map(|it| it.error).collect();
        let pod = Uid::new(POD);
        let report = KubeletReport::of(&log, &pod, AnswerOrigin::Queried, fixture::now());
        let found = ways(&index, |found| add_reports(found, &BTreeMap::from([(pod, report)])));
        assert!(names(&found).contains(&"wait".to_owned()), "the kubelet tries again");
        (known, names(&found).remove(0))
    };
    let busy = "exit status 32 Output: umount: /x: target is busy.";
    let stale = "exit status 16 Output: umount.nfs4: /x: Stale file handle";
    for (said, error, expected) in [
        (busy, KubeletError::Busy, "wait"),
        (
            "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
            KubeletError::TimedOut,
            "wait",
        ),
        ("something that nobody knows", KubeletError::Other, "wait"),
        (stale, KubeletError::Stale, "freeMount"),
        ("remove /x: directory not empty", KubeletError::NotEmpty, "emptyDirectory"),
        (
            "driver name a not found in the list of registered CSI drivers",
            KubeletError::DriverNotRegistered,
            "freeMount",
        ),
    ] {
        assert_eq!(first(&[said]), (vec![error], expected.to_owned()), "{said}");
    }
    assert_eq!(first(&[]), (vec![], "wait".to_owned()), "nothing is known");
}

#[test]
fn pod_whose_kubelet_cannot_be_reached_is_not_forced_and_its_node_not_restarted() {
    let away = || KubeletProblem::Unreachable { said: "no route to host".into() };
    let with = |index: &Index, problem: KubeletProblem| {
        let unanswered = Unanswered { problem, at: fixture::now() };
        let key = (Uid::new(POD), KubeletSubject::Log);
        ways(index, |found| add_unanswered(found, &BTreeMap::from([(key, unanswered)])))
    };
    let running = with(&index("containers=c:running"), away());
    assert_eq!(names(&running), ["endProcess", "startNode", "forceDeletePod"]);
    assert_eq!(running[2].withheld, Some(Withheld::ContainersRun));
    let index = index("phase=Failed containers=c:terminated");
    let ended = with(&index, away());
    assert!(!names(&ended).contains(&"restartNode".to_owned()));
    assert_eq!(ended.last().unwrap().withheld, Some(Withheld::KubeletUnreachable));
    let off = with(&index, KubeletProblem::QueryOff);
    assert!(names(&off).contains(&"restartNode".to_owned()), "the kubelet answered");
    assert_eq!(off.last().unwrap().withheld, None);
}
