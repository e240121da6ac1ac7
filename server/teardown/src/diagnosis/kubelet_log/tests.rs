//! The recordings are words of a real kubelet, see `server/sandbox/recordings/README.md`.

use std::fmt::Write;

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;

macro_rules! recordings {
    ($($name:literal),* $(,)?) => {
        [$((
            $name,
            include_str!(concat!("../../../../sandbox/recordings/kubelet/", $name, "/log.txt")),
            include_str!(concat!("../../../../sandbox/recordings/kubelet/", $name, "/log.json")),
        )),*]
    };
}

const RECORDED: [(&str, &str, &str); 24] = recordings![
    "healthy",
    "busy",
    "busy-zh",
    "busy-nfs",
    "stale",
    "stale-subpath",
    "hang",
    "hang-subpath",
    "hang-killable",
    "leftover",
    "csi-busy",
    "csi-hang",
    "csi-unregistered",
    "csi-unavailable",
    "csi-vol-data",
    "kill",
    "unkillable",
    "network",
    "unprepare",
    "cgroup",
    "pre-stop",
    "pre-stop-slow",
    "pre-stop-failed",
    "forced",
];
const ORPHAN: &str = include_str!("../../../../sandbox/recordings/kubelet/orphan/log.txt");

/// A fact in one line, without the names of Pods.
fn line(fact: &KubeletFact) -> String {
    let mut line = format!("{:?} {:?}", fact.step, fact.error);
    if let Some(volume) = &fact.volume {
        write!(line, " of {volume}").unwrap();
    }
    if let Some(wait) = fact.retry.and_then(|retry| retry.wait) {
        write!(line, ", again after {wait:#}").unwrap();
    }
    if let Some(path) = &fact.path {
        write!(line, ", at {}", path.replace(&fact.pod, "UID")).unwrap();
    }
    write!(line, ": {}", fact.said.replace(&fact.pod, "UID")).unwrap();
    line
}

fn lines(text: &str) -> String {
    let lines: Vec<String> = read(text).facts.iter().map(line).collect();
    lines.join("\n")
}

fn recording(name: &str) -> &'static str {
    RECORDED.iter().find(|it| it.0 == name).unwrap().1
}

#[test]
fn recordings_of_a_kubelet_say_what_failed() {
    let mut all = String::new();
    for (name, text, _) in RECORDED {
        let said = lines(text);
        let said = if said.is_empty() { "nothing" } else { &said };
        writeln!(all, "{name}: {said}").unwrap();
    }
    writeln!(all, "orphan: {}", lines(ORPHAN)).unwrap();
    assert_snapshot!(all, @r#"
    healthy: nothing
    busy: Unmount Busy of ledger-busy, again after 2m 2s, at /var/lib/kubelet/pods/UID/volumes/kubernetes.io~local-volume/ledger-busy: unmount failed: exit status 32 Output: umount: /var/lib/kubelet/pods/UID/volumes/kubernetes.io~local-volume/ledger-busy: target is busy.
    busy-zh: Unmount Busy of ledger-busy-zh, again after 2m 2s, at /var/lib/kubelet/pods/UID/volumes/kubernetes.io~local-volume/ledger-busy-zh: unmount failed: exit status 32 Output: umount: /var/lib/kubelet/pods/UID/volumes/kubernetes.io~local-volume/ledger-busy-zh: 目标忙.
    busy-nfs: Unmount Busy of ledger-busy-nfs, again after 2m 2s, at /var/lib/kubelet/pods/UID/volumes/kubernetes.io~nfs/ledger-busy-nfs: unmount failed: exit status 16 Output: umount.nfs4: /var/lib/kubelet/pods/UID/volumes/kubernetes.io~nfs/ledger-busy-nfs: device is busy
    stale: Unmount Stale of ledger-stale, again after 2m 2s, at /var/lib/kubelet/pods/UID/volumes/kubernetes.io~nfs/ledger-stale: unmount failed: exit status 16 Output: umount.nfs4: /var/lib/kubelet/pods/UID/volumes/kubernetes.io~nfs/ledger-stale: Stale file handle
    stale-subpath: UnmountSubPath Stale of ledger-stale-subpath, again after 2m 2s, at /var/lib/kubelet/pods/UID/volume-subpaths/ledger-stale-subpath/orderer/0: error processing /var/lib/kubelet/pods/UID/volume-subpaths/ledger-s…g subpath mount /var/lib/kubelet/pods/UID/volume-subpaths/ledger-stale-subpath/orderer/0: unmount failed: exit status 16 Output: umount.nfs4: /var/lib/kubelet/pods/UID/volume-subpaths/ledger-stale-subpath/orderer/0: Stale file handle
    hang: Unmount Waiting of ledger-hang: mounted volumes=[kubernetes.io/nfs/UID-ledger-hang]: context deadline exceeded
    hang-subpath: Unmount Waiting of ledger-hang-subpath: mounted volumes=[kubernetes.io/nfs/UID-ledger-hang-subpath]: context deadline exceeded
    hang-killable: nothing
    leftover: UnmountSubPath NotEmpty of ledger-leftover, again after 2m 2s, at /var/lib/kubelet/pods/UID/volume-subpaths/ledger-leftover/orderer/0: error processing /var/lib/kubelet/pods/UID/volume-subpaths/ledger-leftover/orderer: error cleaning subpath mount /var/lib/kubelet/pods/UID/volume-subpaths/ledger-leftover/orderer/0: remove /var/lib/kubelet/pods/UID/volume-subpaths/ledger-leftover/orderer/0: directory not empty
    csi-busy: Unmount Busy of csi-busy, again after 2m 2s, at /var/lib/kubelet/pods/UID/volumes/kubernetes.io~csi/ledger-csi-busy/mount: kubernetes.io/csi: Unmounter.TearDownAt failed: rpc error: code = Internal desc = failed to unmount target "/var/lib/kubelet/pods/UID/volumes/kubernetes.io~csi/ledger-csi-busy/mount": unmount failed: exit status 32 Output: umount: /var/lib/kubelet/pods/UID/volumes/kubernetes.io~csi/ledger-csi-busy/mount: target is busy.
    csi-hang: Unmount TimedOut of csi-hang, again after 1s: kubernetes.io/csi: Unmounter.TearDownAt failed: rpc error: code = DeadlineExceeded desc = context deadline exceeded
    csi-unregistered: Unmount DriverNotRegistered of csi-unregistered, again after 2m 2s: kubernetes.io/csi: Unmounter.TearDownAt failed to get CSI client: driver name csi.unwind.test not found in the list of registered CSI drivers
    csi-unavailable: Unmount NoConnection of csi-unavailable, again after 2m 2s: kubernetes.io/csi: Unmounter.TearDownAt failed: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /run/cluster/node-text-unavailable/csi.sock: connect: connection refused"
    csi-vol-data: Unmount VolumeDataMissing of csi-vol-data, at /var/lib/kubelet/pods/UID/volumes/kubernetes.io~csi/ledger-csi-vol-data/mount: kubernetes.io/csi: unmounter failed to load volume data file [/var/lib/kubelet/pods/d629b262-fe1b-4e…d to open volume data file [/var/lib/kubelet/pods/UID/volumes/kubernetes.io~csi/ledger-csi-vol-data/vol_data.json]: open /var/lib/kubelet/pods/UID/volumes/kubernetes.io~csi/ledger-csi-vol-data/vol_data.json: no such file or directory
    kill: StopContainer Other: rpc error: code = Unknown desc = failed to stop container "80337a8d4584b0942e0d98b6f83cc4aeb41c48accfed374c17fddd3d687154fd": failed to kill container "80337a8d4584b0942e0d98b6f83cc4aeb41c48accfed374c17fddd3d687154fd": unknown error after kill: runc did not terminate successfully: exit status 1: unable to signal init: permission denied
    unkillable: StopContainer TimedOut: "rpc error: code = DeadlineExceeded desc = stream terminated by RST_STREAM with error code: CANCEL"
    network: StopSandbox Network: "rpc error: code = Unknown desc = failed to destroy network for sandbox \"cb5da0d11299aa9f5b301f49e215c97f6f74c77dacf9c71f3bfe9432ee612588\": plugin type=\"calico\" failed (delete): error getting ClusterInformation: connection is unauthorized: Unauthorized"
    unprepare: ReleaseDevices NoConnection: NodeUnprepareResources: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /var/lib/kubelet/plugins/gpu.example.com/dra.sock: connect: connection refused"
    cgroup: RemoveCgroup TimedOut: failed to delete cgroup paths for [kubepods besteffort podUID] : unable to destroy cgroup paths for cgroup [kubepods besteffort podUID] : Timed out while waiting for systemd to remove kubepods-besteffort-pode1e17a8b_d7e0_4a8d_b41a_bde7d72c8aef.slice
    pre-stop: nothing
    pre-stop-slow: nothing
    pre-stop-failed: nothing
    forced: Unmount Busy of ledger-forced, again after 2m 2s, at /var/lib/kubelet/pods/UID/volumes/kubernetes.io~local-volume/ledger-forced: unmount failed: exit status 32 Output: umount: /var/lib/kubelet/pods/UID/volumes/kubernetes.io~local-volume/ledger-forced: target is busy.
    orphan: RemoveDirectory NotEmpty, at /var/lib/kubelet/pods/UID/volumes/kubernetes.io~nfs/data: orphaned pod "UID" found, but failed to rmdir() volume at path /var/lib/kubelet/pods/UID/volumes/kubernetes.io~nfs/data: directory not empty
    "#);
}

/// The JSON recordings are of other Pods, with `-json` after their names, and were made at other moments, so the words of the
/// container runtime differ.
#[test]
fn json_says_the_same_as_text() {
    let facts = |text: &str| -> Vec<_> {
        let facts = read(text).facts.into_iter();
        let volume = |fact: &KubeletFact| fact.volume.as_ref().map(|it| it.replace("-json", ""));
        facts.map(|fact| (fact.step, fact.error, volume(&fact), fact.retry.is_some())).collect()
    };
    for (name, text, json) in RECORDED {
        assert_eq!(facts(text), facts(json), "{name}");
    }
}

#[test]
fn next_retry_is_the_one_of_the_last_failure() {
    let log = read(recording("busy"));
    let retry = log.facts[0].retry.unwrap();
    let last = recording("busy").matches("No retries permitted until").count();
    assert!(last > 5);
    assert_eq!(retry.wait.unwrap(), SignedDuration::from_secs(122));
    assert_eq!(log.facts[0].name, None, "an unmount names the Pod by its UID alone");
}

#[test]
fn prefixes_line_ends_and_colours_change_nothing() {
    for (name, text, _) in RECORDED {
        let expected = read(text).facts;
        let with = |prefix: &str, end: &str| {
            text.lines().map(|line| format!("{prefix}{line}{end}")).collect::<String>()
        };
        for (prefix, end) in [
            ("", "\r\n"),
            ("Nov 25 02:40:36.780404 node-text kubelet[30004]: ", "\n"),
            ("Nov 25 02:40:36 node-text k3s[1]: ", "\n"),
            ("2026-11-25T02:40:36+0000 node-text kubelet[30004]: ", "\n"),
            ("<30>Nov 25 02:40:36 node-text kubelet: ", "\n"),
            ("DEFAULT 2026-11-25T02:40:36.780404Z ", "\n"),
            ("2026-11-25T02:40:36.780404112Z stderr F ", "\n"),
            ("\u{1b}[0;1;31m", "\u{1b}[0m\n"),
            ("\u{feff}", "\n"),
        ] {
            assert_eq!(read(&with(prefix, end)).facts, expected, "{name} {prefix:?}");
        }
        // Each line of an entry is an entry of its own in the journal, in these forms too.
        let text_of = |line: &str| serde_json::json!(line);
        let bytes_of = |line: &str| serde_json::json!(line.as_bytes());
        for message in [text_of, bytes_of] {
            let object = |line: &str| {
                let (unit, message) = ("kubelet.service", message(line));
                let fields = serde_json::json!({ "_SYSTEMD_UNIT": unit, "SYSLOG_IDENTIFIER": "kubelet", "MESSAGE": message });
                fields.to_string()
            };
            let mut journal: Vec<String> = text.lines().map(object).collect();
            assert_eq!(read(&journal.join("\n")).facts, expected, "{name}");
            journal.reverse();
            assert_eq!(read(&journal.join("\n")).facts, expected, "{name}, newest first");
        }
    }
}

#[test]
fn entry_behind_an_address_or_a_severity_is_read() {
    for (name, text, json) in RECORDED {
        let with = |prefix: &str, text: &str| {
            text.lines().map(|line| format!("{prefix}{line}\n")).collect::<String>()
        };
        assert_eq!(read(&with("172.20.0.2: ", json)).facts, read(json).facts, "{name}");
        // A severity is written in front of the first line of an entry.
        let is_first = |line: &str| line.starts_with(['I', 'W', 'E']);
        let severe = text.lines().map(|line| {
            let prefix = if is_first(line) { "n1 kubelet[24343]: info " } else { "" };
            format!("{prefix}{line}\n")
        });
        assert_eq!(read(&severe.collect::<String>()).facts, read(text).facts, "{name}");
    }
}

#[test]
fn device_that_is_mounted_elsewhere_is_a_fact_about_the_volume() {
    let text = r#"E0207 10:17:21.799920    2166 nestedpendingoperations.go:348] Operation for "{volumeName:kubernetes.io/csi/disk.example.com^d-1 podName: nodeName:}" failed. No retries permitted until 2025-02-07 10:17:53.799902973 +0800 CST m=+8812235.211760637 (durationBeforeRetry 32s). Error: GetDeviceMountRefs check failed for volume "d-1" (UniqueName: "kubernetes.io/csi/disk.example.com^d-1") on node "n1" : the device mount path "/var/lib/kubelet/plugins/kubernetes.io/csi/disk.example.com/07/globalmount" is still mounted by other references [/tmp/test]"#;
    let facts = read(text).facts;
    let [fact] = facts.as_slice() else { panic!("{facts:?}") };
    assert_eq!((fact.step, fact.error), (KubeletStep::UnmountDevice, KubeletError::Busy));
    assert_eq!((&*fact.pod, fact.volume.as_deref()), ("", Some("d-1")));
}

#[test]
fn device_that_its_node_cannot_unmount_is_a_fact_about_the_volume_until_it_can() {
    let failed = |what: &str, why: &str| {
        format!(
            "E1125 02:40:38.959177   30004 nestedpendingoperations.go:348] Operation for \"{{volumeName:kubernetes.io/csi/disk.example.com^vol-7 podName: nodeName:}}\" failed. No retries permitted until 2026-11-25 02:42:40.959177113 +0000 UTC m=+391.741 (durationBeforeRetry 2m2s). Error: {what} failed for volume \"pvc-7\" (UniqueName: \"kubernetes.io/csi/disk.example.com^vol-7\") on node \"n1\" : {why}\n"
        )
    };
    let succeeded = |what: &str, volume: &str| {
        format!(
            "I1125 02:43:00.407658   30004 operation_generator.go:895] {what} succeeded for volume \"{volume}\" (UniqueName: \"kubernetes.io/csi/disk.example.com^vol-7\") on node \"n1\" \n"
        )
    };
    for (what, end, why, error) in [
        (
            "UnmountDevice",
            "UnmountDevice",
            "kubernetes.io/csi: attacher.UnmountDevice failed: rpc error: code = Internal desc = target is busy",
            KubeletError::Busy,
        ),
        (
            "UnmountDevice",
            "UnmountDevice",
            "the device is in use when it was no longer expected to be in use",
            KubeletError::Busy,
        ),
        ("GetDeviceMountPath", "UnmountDevice", "permission denied", KubeletError::Other),
        (
            "UnmapDevice.TearDownDevice",
            "UnmapDevice",
            "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
            KubeletError::TimedOut,
        ),
    ] {
        let text = failed(what, why);
        let facts = read(&text).facts;
        let [fact] = facts.as_slice() else { panic!("{what}: {facts:?}") };
        assert_eq!((fact.step, fact.error), (KubeletStep::UnmountDevice, error), "{what}");
        let (volume, node) = (fact.volume.as_deref(), fact.node.as_deref());
        assert_eq!((&*fact.pod, volume, node), ("", Some("pvc-7"), Some("n1")), "{what}");
        assert_eq!((&*fact.said, fact.retry.is_some()), (why, true), "{what}");
        assert_eq!(read(&(text.clone() + &succeeded(end, "pvc-8"))).facts, facts, "{what}");
        assert_eq!(read(&(text + &succeeded(end, "pvc-7"))).facts, [], "{what}");
    }
}

#[test]
fn error_that_names_container_and_sandbox_is_about_the_container() {
    let text = r#"E1125 02:40:18.752838   30004 pod_workers.go:1338] "Error syncing pod, skipping" err="error killing pod: [failed to \"KillContainer\" for \"peer\" with KillContainerError: \"rpc error: code = DeadlineExceeded desc = context deadline exceeded\", failed to \"KillPodSandbox\" for \"17e34b86-6782-4fc9-bc68-f3a11ab42c84\" with KillPodSandboxError: \"rpc error: code = DeadlineExceeded desc = context deadline exceeded\"]" pod="shop/peer-0" podUID="17e34b86-6782-4fc9-bc68-f3a11ab42c84""#;
    let facts = read(text).facts;
    assert_eq!(facts.len(), 1);
    assert_eq!(facts[0].step, KubeletStep::StopContainer);
}

#[test]
fn words_of_another_program_between_the_lines_are_no_part_of_an_entry() {
    let text = recording("busy");
    let other = "Nov 25 02:40:36 node-text containerd[1]: stale file handle";
    let mixed: Vec<String> =
        text.lines().flat_map(|line| [line.to_owned(), other.to_owned()]).collect();
    assert_eq!(read(&mixed.join("\n")).facts, read(text).facts);
    let object = |program: &str, line: &str| {
        serde_json::json!({ "SYSLOG_IDENTIFIER": program, "MESSAGE": line }).to_string()
    };
    let other = object("containerd", "stale file handle");
    let mixed: Vec<String> =
        text.lines().flat_map(|line| [object("kubelet", line), other.clone()]).collect();
    assert_eq!(read(&mixed.join("\n")).facts, read(text).facts);
}

#[test]
fn value_of_several_lines_is_one_error() {
    let text = "E1125 02:40:29.165594   30004 pod_workers.go:1338] \"Error syncing pod, skipping\" err=<\n\
        \tfailed to \"KillPodSandbox\" for \"x\" with KillPodSandboxError: rpc error:\n\
        \tfailed to destroy network for sandbox\n > pod=\"shop/peer-0\" \
        podUID=\"b259da16-9a8c-4579-bf57-036adde1501a\"\n";
    assert_snapshot!(lines(text), @r"
    StopSandbox Network: rpc error: failed to destroy network for sandbox
    ");
}

#[test]
fn unmount_in_another_language_is_recognised_by_the_words_of_the_kubelet() {
    let text = recording("busy").replace("target is busy", "обект используется");
    assert_snapshot!(lines(&text), @r"
    Unmount Other of ledger-busy, again after 2m 2s, at /var/lib/kubelet/pods/UID/volumes/kubernetes.io~local-volume/ledger-busy: unmount failed: exit status 32 Output: umount: /var/lib/kubelet/pods/UID/volumes/kubernetes.io~local-volume/ledger-busy: обект используется.
    ");
}

#[test]
fn unmount_that_succeeded_is_no_fact_any_more() {
    let log = recording("busy");
    let uid = &read(log).facts[0].pod;
    let done = format!(
        "{log}I1125 02:43:00.407658   30004 operation_generator.go:782] UnmountVolume.TearDown succeeded for volume \
         \"kubernetes.io/local-volume/ledger-busy\" pod \"{uid}\" (UID: \"{uid}\"). InnerVolumeSpecName \"ledger-busy\"."
    );
    assert_eq!(read(&done).facts, []);
}

#[test]
fn end_of_a_long_log_counts() {
    let noise = "I1125 02:38:26.376874   30004 kubelet.go:1] nothing\n".repeat(6000);
    let log = read(&format!("{noise}{}", recording("leftover")));
    assert!(log.is_cut);
    assert_eq!(log.facts, read(recording("leftover")).facts);
}

/// The lines as a journal has them, and the same with the newest first.
fn both_orders(text: &str) -> [String; 2] {
    let prefixed = |line: &str| format!("Nov 25 02:40:36.780404 n1 kubelet[30004]: {line}");
    let lines: Vec<String> = text.lines().map(prefixed).collect();
    let newest_first: Vec<String> = lines.iter().rev().cloned().collect();
    [lines.join("\n"), newest_first.join("\n")]
}

#[test]
fn lines_with_the_newest_first_say_the_same() {
    for (name, text, json) in RECORDED {
        for text in [text, json] {
            let [oldest_first, newest_first] = both_orders(text);
            assert_eq!(read(&oldest_first), read(text), "{name}");
            assert_eq!(read(&newest_first), read(text), "{name}");
        }
    }
    // A single entry of several lines, and a log over the turn of the year.
    let busy = recording("busy");
    let last = &busy[busy.rfind("E1125").unwrap()..];
    let last: String = last.lines().take(3).map(|line| format!("{line}\n")).collect();
    let [oldest_first, newest_first] = both_orders(&last);
    assert_eq!(read(&newest_first), read(&oldest_first));
    assert_eq!(read(&newest_first).facts[0].error, KubeletError::Busy);
    let turned = format!("{}{busy}", busy.replace("1125 02:", "1231 23:"));
    let [oldest_first, newest_first] = both_orders(&turned);
    assert_eq!(read(&newest_first), read(&oldest_first));
    assert_eq!(read(&newest_first).facts, read(busy).facts);
}

#[test]
fn beginning_of_a_long_log_counts_where_the_newest_line_is_first() {
    let noise = "I1125 01:38:26.376874   30004 kubelet.go:1] nothing\n".repeat(6000);
    let [_, text] = both_orders(&format!("{noise}{}", recording("leftover")));
    let log = read(&text);
    assert!(log.is_cut);
    assert_eq!(log.facts, read(recording("leftover")).facts);
}

#[test]
fn number_of_facts_is_bounded() {
    let entry = |number: usize| {
        format!(
            "E1125 02:40:29.165594 1 a.go:1] \"x\" err=\"mounted volumes=[a]: context deadline exceeded\" \
             podUID=\"b259da16-9a8c-4579-bf57-{number:012}\"\n"
        )
    };
    let text: String = (0..500).map(entry).collect();
    let log = read(&text);
    assert_eq!(log.facts.len(), FACTS);
    assert!(log.facts[FACTS - 1].pod.ends_with("499"));
}

fn bounded(text: &str) {
    let log = read(text);
    assert!(log.facts.len() <= FACTS);
    for fact in &log.facts {
        assert!(fact.said.chars().count() <= LONGEST_QUOTE);
        assert!(fact.volume.iter().chain(&fact.path).all(|it| it.chars().count() <= LONGEST_QUOTE));
        let texts = [&fact.said].into_iter().chain(&fact.volume).chain(&fact.path);
        assert!(texts.into_iter().all(|it| !it.chars().any(char::is_control)), "{fact:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_within_bounds(text in "\\PC{0,200}|(.|\n|\t|\r|\u{1b}){0,300}") {
        bounded(&text);
    }

    /// Recordings with parts cut out and others put in reach the deeper branches.
    #[test]
    fn damaged_recording_is_read_within_bounds(
        case in 0..RECORDED.len(),
        json in any::<bool>(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0..80_usize, "\\PC{0,6}|[\"\\\\\\[\\]:{}<>\n]{0,4}"), 0..12),
    ) {
        let (_, text, other) = RECORDED[case];
        let mut text: Vec<char> = if json { other } else { text }.chars().collect();
        for (at, length, put) in cuts {
            let at = at.index(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, put.chars());
        }
        bounded(&text.into_iter().collect::<String>());
    }
}

/// A failure to write a status, as `PatchPodStatus` words it. The status quotes the words of another step.
fn status_not_written(refused: &str) -> String {
    format!(
        r#"failed to patch status "{{\"metadata\":{{\"uid\":\"b259da16-9a8c-4579-bf57-036adde1501a\"}},\"status\":{{\"containerStatuses\":[{{\"message\":\"KillContainerError for pod \\\"web\\\": context deadline exceeded\"}}]}}}}" for pod "shop"/"peer-0": {refused}"#
    )
}

#[test]
fn status_that_a_webhook_keeps_from_being_written_is_a_fact_about_the_pod() {
    let header =
        "E1125 02:40:29.165594   30004 status_manager.go:1040] \"Failed to update status for pod\"";
    let refused = "Pod \"peer-0\" is invalid: spec: Forbidden: pod updates may not change fields other than \
         `spec.containers[*].image`,`spec.tolerations` (only additions to existing tolerations)";
    let error = status_not_written(refused);
    let with_diff =
        status_not_written(&format!("{refused}\n  core.PodSpec{{\n+ \tVolumes: nil,\n  }}\n"));
    let forms = [
        format!("{header} err={error:?} pod=\"shop/peer-0\"\n"),
        format!("{header} err=<\n\t{}\n > pod=\"shop/peer-0\"\n", with_diff.replace('\n', "\n\t")),
        serde_json::json!({
            "ts": 1_795_574_558_959.2, "caller": "status/status_manager.go:1040", "msg": "Failed to update status for pod",
            "err": error, "pod": {"namespace": "shop", "name": "peer-0"},
        })
        .to_string(),
    ];
    for text in &forms {
        let facts = read(text).facts;
        let [fact] = facts.as_slice() else { panic!("{text}: {facts:?}") };
        assert_eq!(fact.pod, "b259da16-9a8c-4579-bf57-036adde1501a");
        assert_eq!(fact.name.as_deref(), Some("shop/peer-0"));
        let (step, error) = (fact.step, fact.error);
        assert_eq!((step, error), (KubeletStep::WriteStatus, KubeletError::Rewritten), "{text}");
        assert!(
            fact.said.starts_with("Pod \"peer-0\" is invalid: spec: Forbidden"),
            "{}",
            fact.said
        );
    }
    // The next try may work, and then the kubelet says nothing.
    for passing in ["etcdserver: request timed out", "pods \"peer-0\" not found"] {
        let error = status_not_written(passing);
        assert_eq!(read(&format!("{header} err={error:?} pod=\"shop/peer-0\"\n")).facts, []);
    }
}
