//! The words in which a kubelet logs an unmount that fails or hangs, as recorded from a real one (`recordings/README.md`).

use std::time::Duration;

use jiff::Timestamp;

use crate::controller::queue::later;
use crate::store::Key;

/// An unmount that fails.
pub(super) struct FailedUnmount<'a> {
    /// The UID of the Pod.
    pub(super) pod: &'a str,
    /// The name of the PersistentVolume, or of the Pod's own volume if there is none.
    pub(super) volume: &'a str,
    /// The volume's name within the kubelet.
    pub(super) unique_name: &'a str,
    /// The CSI driver that mounted it; empty for any other volume.
    pub(super) driver: &'a str,
    /// The container that mounts a sub-path of it.
    pub(super) sub_path: Option<&'a str>,
    /// The volume is an NFS export.
    pub(super) is_nfs: bool,
    /// Why it failed.
    pub(super) cause: UnmountFailure,
}

/// Why an unmount fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnmountFailure {
    /// Something uses the mount.
    Busy,
    /// The server does not know the directory any more.
    Stale,
    /// Files lie below the mount point of the sub-path.
    NotEmpty,
    /// The CSI driver is not registered on the node.
    Unregistered,
}

impl FailedUnmount<'_> {
    /// The entry in the log. There is no event: the recorder is nil in
    /// `pkg/volume/util/operationexecutor/operation_generator.go`.
    pub(super) fn entry(&self, now: Timestamp, wait: Duration) -> String {
        let Self { pod, unique_name, .. } = self;
        format!(
            "{} Operation for \"{{volumeName:{unique_name} podName:{pod} nodeName:}}\" failed. No retries permitted until {} \
             (durationBeforeRetry {}). Error: {} for volume {unique_name:?} (UniqueName: {unique_name:?}) pod {pod:?} (UID: \
             {pod:?}) : {}",
            header('E', now, "nestedpendingoperations.go:348"),
            go_time(later(now, wait)),
            go_duration(wait),
            match self.held_sub_path() {
                Some(_) => "error cleaning subPath mounts",
                None => "UnmountVolume.TearDown failed",
            },
            self.error(),
        )
    }

    /// The volume plugin, as metrics have it.
    pub(super) fn plugin(&self) -> String {
        if self.is_nfs {
            return "kubernetes.io/nfs".to_owned();
        }
        format!("kubernetes.io/csi:{}", self.driver)
    }

    /// The sub-path at which it failed. The kubelet itself removes those, and asks the driver after that.
    fn held_sub_path(&self) -> Option<&str> {
        self.sub_path.filter(|_| self.cause != UnmountFailure::Unregistered)
    }

    fn error(&self) -> String {
        let Self { pod, volume, .. } = self;
        let pods = format!("/var/lib/kubelet/pods/{pod}");
        if let Some(container) = self.held_sub_path() {
            let parts = format!("{pods}/volume-subpaths/{volume}/{container}");
            let path = format!("{parts}/0");
            return format!(
                "error processing {parts}: error cleaning subpath mount {path}: {}",
                match self.cause {
                    UnmountFailure::NotEmpty => format!("remove {path}: directory not empty"),
                    UnmountFailure::Busy | UnmountFailure::Stale | UnmountFailure::Unregistered => {
                        self.umount(&path)
                    }
                }
            );
        }
        if self.is_nfs {
            return self.umount(&format!("{pods}/volumes/kubernetes.io~nfs/{volume}"));
        }
        if self.cause == UnmountFailure::Unregistered {
            let why = unregistered(self.driver);
            return format!(
                "kubernetes.io/csi: Unmounter.TearDownAt failed to get CSI client: {why}"
            );
        }
        let path = format!("{pods}/volumes/kubernetes.io~csi/{volume}/mount");
        format!(
            "kubernetes.io/csi: Unmounter.TearDownAt failed: rpc error: code = Internal desc = failed to unmount target \
             {path:?}: {}",
            self.umount(&path)
        )
    }

    /// The answer of `umount`; for NFS its helper of nfs-utils answers.
    fn umount(&self, path: &str) -> String {
        let (status, said) = match (self.is_nfs, self.cause == UnmountFailure::Stale) {
            (true, true) => (16, format!("umount.nfs4: {path}: Stale file handle")),
            (true, false) => (16, format!("umount.nfs4: {path}: device is busy")),
            (false, true) => (32, format!("umount: {path}: Stale file handle.")),
            (false, false) => (32, format!("umount: {path}: target is busy.")),
        };
        format!(
            "unmount failed: exit status {status}\nUnmounting arguments: {path}\nOutput: {said}"
        )
    }
}

/// The event about a volume whose CSI driver is not registered on the node: `MountDevice` in pkg/volume/csi/csi_attacher.go, or
/// `SetUpAt` in csi_mounter.go there. No device is mounted for an inline volume, or where another Pod on the node has it mounted already.
pub(super) fn failed_mount(volume: &str, driver: &str, needs_device: bool) -> String {
    let (step, place) = if needs_device {
        ("MountDevice", "attacher.MountDevice failed to create newCsiDriverClient")
    } else {
        ("SetUp", "mounter.SetUpAt failed to get CSI client")
    };
    let why = unregistered(driver);
    format!("MountVolume.{step} failed for volume {volume:?} : kubernetes.io/csi: {place}: {why}")
}

/// `newCsiDriverClient` in pkg/volume/csi/csi_client.go.
fn unregistered(driver: &str) -> String {
    format!("driver name {driver} not found in the list of registered CSI drivers")
}

/// The entry about the volumes of a Pod that are still mounted after the time for which the kubelet waits for all of them.
pub(super) fn still_mounted(pod: &Key, uid: &str, volumes: &[&str], now: Timestamp) -> String {
    format!(
        "{} \"Error syncing pod, skipping\" err=\"mounted volumes=[{}]: context deadline exceeded\" pod=\"{}/{}\" podUID=\"{uid}\"",
        header('E', now, "pod_workers.go:1338"),
        volumes.join(" "),
        pod.namespace,
        pod.name,
    )
}

/// The beginning of an entry of klog, at a place of the source.
pub(super) fn header(severity: char, now: Timestamp, place: &str) -> String {
    format!("{severity}{}   30004 {place}]", now.strftime("%m%d %H:%M:%S.%6f"))
}

/// A time as Go prints one with its monotonic reading, the seconds since the process began: here, since midnight.
fn go_time(at: Timestamp) -> String {
    let seconds = at.as_second().rem_euclid(24 * 60 * 60);
    let nanoseconds = at.subsec_nanosecond();
    format!("{} +0000 UTC m=+{seconds}.{nanoseconds:09}", at.strftime("%Y-%m-%d %H:%M:%S%.f"))
}

/// A duration of whole milliseconds as Go prints one: `500ms`, `32s`, `2m2s`.
fn go_duration(duration: Duration) -> String {
    let (seconds, milliseconds) = (duration.as_secs(), duration.subsec_millis());
    if seconds == 0 {
        return format!("{milliseconds}ms");
    }
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = match milliseconds {
        0 => String::new(),
        some => format!(".{some:03}").trim_end_matches('0').to_owned(),
    };
    match (hours, minutes) {
        (0, 0) => format!("{seconds}{fraction}s"),
        (0, _) => format!("{minutes}m{seconds}{fraction}s"),
        _ => format!("{hours}h{minutes}m{seconds}{fraction}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last entry about a failed unmount, without its times.
    fn recorded(log: &str) -> String {
        let at = log.rfind(" nestedpendingoperations.go").unwrap();
        let entry = log.get(at..).unwrap();
        let is_next = |line: &str| line.starts_with(['I', 'E', 'W']) && line.contains(".go:");
        let lines: Vec<&str> = entry.lines().take_while(|line| !is_next(line)).collect();
        without_times(&lines.join("\n"))
    }

    fn without_times(entry: &str) -> String {
        let (before, rest) = entry.split_once(" until ").unwrap();
        let before = before.get(before.find(" nestedpendingoperations").unwrap()..).unwrap();
        let (_, after) = rest.split_once(" (durationBeforeRetry ").unwrap();
        format!("{before} until T (durationBeforeRetry {}", after.trim_end())
    }

    fn uid(log: &str) -> &str {
        log.split_once("podName:").unwrap().1.split(' ').next().unwrap()
    }

    #[test]
    fn failed_unmount_is_logged_in_the_words_of_a_real_kubelet() {
        let recordings = [
            (
                "busy-nfs",
                include_str!("../../../recordings/kubelet/busy-nfs/log.txt"),
                None,
                UnmountFailure::Busy,
            ),
            (
                "stale",
                include_str!("../../../recordings/kubelet/stale/log.txt"),
                None,
                UnmountFailure::Stale,
            ),
            (
                "stale-subpath",
                include_str!("../../../recordings/kubelet/stale-subpath/log.txt"),
                Some("orderer"),
                UnmountFailure::Stale,
            ),
            (
                "leftover",
                include_str!("../../../recordings/kubelet/leftover/log.txt"),
                Some("orderer"),
                UnmountFailure::NotEmpty,
            ),
            (
                "csi-busy",
                include_str!("../../../recordings/kubelet/csi-busy/log.txt"),
                None,
                UnmountFailure::Busy,
            ),
            (
                "csi-unregistered",
                include_str!("../../../recordings/kubelet/csi-unregistered/log.txt"),
                Some("orderer"),
                UnmountFailure::Unregistered,
            ),
        ];
        for (name, log, sub_path, cause) in recordings {
            let is_nfs = !name.starts_with("csi-");
            let (pod, volume) = (uid(log), format!("ledger-{name}"));
            let unique_name = if is_nfs {
                format!("kubernetes.io/nfs/{pod}-{volume}")
            } else {
                format!("kubernetes.io/csi/csi.unwind.test^{name}")
            };
            let (unique_name, volume) = (&*unique_name, &*volume);
            let driver = if is_nfs { "" } else { "csi.unwind.test" };
            let failed =
                FailedUnmount { pod, volume, unique_name, driver, sub_path, is_nfs, cause };
            let entry = failed.entry(Timestamp::UNIX_EPOCH, Duration::from_secs(122));
            assert_eq!(without_times(&entry), recorded(log), "{name}");
        }
    }

    #[test]
    fn hanging_unmount_is_logged_in_the_words_of_a_real_kubelet() {
        for (name, log) in [
            ("hang", include_str!("../../../recordings/kubelet/hang/log.txt")),
            ("hang-subpath", include_str!("../../../recordings/kubelet/hang-subpath/log.txt")),
        ] {
            let line = log.lines().find(|line| line.contains("deadline exceeded")).unwrap();
            let uid = line.split_once("podUID=\"").unwrap().1.trim_end_matches('"');
            let volume = format!("kubernetes.io/nfs/{uid}-ledger-{name}");
            let pod = Key::new("", "pods", name, "orderer-0");
            let entry = still_mounted(&pod, uid, &[&volume], Timestamp::UNIX_EPOCH);
            let without_time = |line: &str| line.split_once("   ").unwrap().1.to_owned();
            assert_eq!(without_time(&entry), without_time(line), "{name}");
        }
    }

    #[test]
    fn times_and_durations_are_printed_as_go_prints_them() {
        let at: Timestamp = "2026-11-25T02:38:27.9485Z".parse().unwrap();
        assert_eq!(go_time(at), "2026-11-25 02:38:27.9485 +0000 UTC m=+9507.948500000");
        assert_eq!(
            go_time("2026-11-25T00:00:01Z".parse().unwrap()),
            "2026-11-25 00:00:01 +0000 UTC m=+1.000000000"
        );
        let printed: Vec<String> = [500, 1_000, 32_000, 64_000, 122_000, 1_500, 3_600_000]
            .map(|it| go_duration(Duration::from_millis(it)))
            .into();
        assert_eq!(printed, ["500ms", "1s", "32s", "1m4s", "2m2s", "1.5s", "1h0m0s"]);
    }
}
