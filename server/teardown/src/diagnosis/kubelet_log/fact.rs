//! The fact about the end of a Pod that an entry of the kubelet's log states.

use jiff::{SignedDuration, Timestamp};

use super::{
    super::is_rewritten, KubeletError, KubeletFact, KubeletStep, LONGEST_QUOTE, Retry, entry::Entry,
};

/// The statement of an entry.
pub(super) enum Said {
    /// A step failed.
    Failed(KubeletFact),
    /// A volume was unmounted; without a Pod, from its node.
    Succeeded { pod: String, volume: Option<String> },
}

/// The steps by the words of the kubelet, the most specific first.
const STEPS: [(&str, KubeletStep); 24] = [
    // It quotes the status, which may have the words of any other step.
    ("failed to patch status \"", KubeletStep::WriteStatus),
    ("orphaned pod \"", KubeletStep::RemoveDirectory),
    ("error cleaning subPath mounts", KubeletStep::UnmountSubPath),
    ("UnmountVolume.TearDown failed", KubeletStep::Unmount),
    ("UnmountVolume.NewUnmounter failed", KubeletStep::Unmount),
    ("UnmountDevice failed", KubeletStep::UnmountDevice),
    ("GetDeviceMountRefs check failed", KubeletStep::UnmountDevice),
    ("GetDeviceMountPath failed", KubeletStep::UnmountDevice),
    ("UnmountVolume.UnmountDevice failed", KubeletStep::UnmountDevice),
    // Block devices.
    ("UnmapDevice failed", KubeletStep::UnmountDevice),
    ("UnmapDevice.TearDownDevice failed", KubeletStep::UnmountDevice),
    ("UnmapDevice.RemoveMapPath failed", KubeletStep::UnmountDevice),
    ("DetachVolume.Detach failed", KubeletStep::Detach),
    // The sandbox cannot be stopped either while a container runs, and one error then names both.
    ("KillContainerError", KubeletStep::StopContainer),
    ("KillPodSandboxError", KubeletStep::StopSandbox),
    ("StopPodSandbox from runtime service failed", KubeletStep::StopSandbox),
    ("Kill container failed", KubeletStep::StopContainer),
    ("Container termination failed", KubeletStep::StopContainer),
    ("NodeUnprepareResources", KubeletStep::ReleaseDevices),
    ("UnprepareDynamicResources", KubeletStep::ReleaseDevices),
    // `pkg/kubelet/cm/dra/manager.go`, in front of any failure to release them.
    ("unprepare dynamic resources", KubeletStep::ReleaseDevices),
    ("failed to delete cgroup paths", KubeletStep::RemoveCgroup),
    ("unable to destroy cgroup paths", KubeletStep::RemoveCgroup),
    ("mounted volumes=[", KubeletStep::Unmount),
];

/// The errors by their words in small letters, the most specific first. Those of `umount` and the C library are in the
/// language of the node; the ones here are those of util-linux and glibc.
const ERRORS: [(&str, KubeletError); 24] = [
    ("not found in the list of registered csi drivers", KubeletError::DriverNotRegistered),
    ("vol_data.json", KubeletError::VolumeDataMissing),
    ("failed to destroy network for sandbox", KubeletError::Network),
    // CRI-O.
    ("failed to destroy network for pod sandbox", KubeletError::Network),
    ("cni failed to teardown", KubeletError::Network),
    ("target is busy", KubeletError::Busy),
    ("device is busy", KubeletError::Busy),
    ("device or resource busy", KubeletError::Busy),
    ("still mounted by other references", KubeletError::Busy),
    ("no longer expected to be in use", KubeletError::Busy),
    ("目标忙", KubeletError::Busy),
    ("設備或資源忙碌", KubeletError::Busy),
    ("设备或资源忙", KubeletError::Busy),
    ("das ziel wird gerade benutzt", KubeletError::Busy),
    ("ziel wird gerade benutzt", KubeletError::Busy),
    ("stale file handle", KubeletError::Stale),
    ("stale nfs file handle", KubeletError::Stale),
    ("directory not empty", KubeletError::NotEmpty),
    ("目录非空", KubeletError::NotEmpty),
    ("connection refused", KubeletError::NoConnection),
    ("context deadline exceeded", KubeletError::TimedOut),
    ("deadlineexceeded", KubeletError::TimedOut),
    ("operation timed out", KubeletError::TimedOut),
    ("timed out while waiting", KubeletError::TimedOut),
];

pub(super) fn said(entry: &Entry) -> Option<Said> {
    let text = if entry.error.is_empty() { entry.message.as_str() } else { entry.error.as_str() };
    // The kubelet's message names the step where its error does not.
    let names = [text, &entry.message];
    if let Some(rest) = entry.message.split_once("UnmountVolume.TearDown succeeded for volume ") {
        let pod = pod_of(entry, text)?;
        let volume = between(rest.1, "\"", "\"").map(|it| volume_name(it, &pod));
        return Some(Said::Succeeded { pod, volume });
    }
    for words in ["UnmountDevice succeeded for volume ", "UnmapDevice succeeded for volume "] {
        if let Some((_, rest)) = entry.message.split_once(words) {
            let volume = between(rest, "\"", "\"").map(|it| volume_name(it, ""));
            return Some(Said::Succeeded { pod: String::new(), volume });
        }
    }
    let step = names.iter().find_map(|text| {
        STEPS.iter().find(|(words, _)| text.contains(words)).map(|(_, step)| *step)
    })?;
    let is_waited_for = text.starts_with("mounted volumes=[");
    let is_of_node = matches!(step, KubeletStep::UnmountDevice | KubeletStep::Detach);
    let pod = match pod_of(entry, text) {
        Some(pod) => pod,
        None if is_of_node => String::new(),
        None => return None,
    };
    let error = match step {
        // Any other failure is over with the next try, and the kubelet does not say when one works.
        KubeletStep::WriteStatus if !is_rewritten(tail(text)) => return None,
        KubeletStep::WriteStatus => KubeletError::Rewritten,
        _ if is_waited_for => KubeletError::Waiting,
        _ => error_of(text),
    };
    let volume = between(text, "for volume \"", "\"")
        .or_else(|| between(text, "mounted volumes=[", "]").filter(|it| !it.contains(' ')))
        .map(|it| volume_name(it, &pod));
    Some(Said::Failed(KubeletFact {
        name: Some(entry.pod.clone()).filter(|it| it.contains('/')),
        step,
        volume,
        node: between(text, "on node \"", "\"").filter(|_| is_of_node).map(quote),
        path: path_of(text, &pod),
        error,
        said: error_in_words(tail(text)),
        retry: retry_of(text),
        pod,
    }))
}

fn error_of(text: &str) -> KubeletError {
    let small = text.to_lowercase();
    let found = ERRORS.iter().find(|(words, _)| small.contains(words));
    found.map_or(KubeletError::Other, |(_, error)| *error)
}

/// The UID of the Pod that an entry is about.
fn pod_of(entry: &Entry, text: &str) -> Option<String> {
    let named = [
        ("failed to patch status \"{\\\"metadata\\\":{\\\"uid\\\":\\\"", "\\\""),
        ("(UID: \"", "\""),
        ("podName:", " "),
        ("orphaned pod \"", "\""),
    ];
    let named = named.iter().filter_map(|(before, after)| between(text, before, after));
    let found = [entry.uid.as_str()].into_iter().chain(named).find(|it| is_uid(it))?;
    Some(found.to_owned())
}

/// A UUID, or the hash that names a static Pod.
fn is_uid(text: &str) -> bool {
    (32..=36).contains(&text.len())
        && text.chars().all(|it| it == '-' || it.is_ascii_digit() || ('a'..='f').contains(&it))
}

/// The name of a volume: `kubernetes.io/nfs/POD-ledger` is `ledger`, and `kubernetes.io/csi/DRIVER^HANDLE` is `HANDLE`.
fn volume_name(unique: &str, pod: &str) -> String {
    let name = unique.rsplit(['/', '^']).next().unwrap_or(unique);
    let own =
        name.strip_prefix(pod).and_then(|it| it.strip_prefix('-')).filter(|it| !it.is_empty());
    quote(own.unwrap_or(name))
}

/// The deepest path of a mount of the Pod, or of a device's mount. The kubelet's directory differs between distributions.
fn path_of(text: &str, pod: &str) -> Option<String> {
    let is_end = |it: char| it.is_whitespace() || "\"'[](),".contains(it);
    let paths = text.split(is_end).map(|word| word.trim_end_matches([':', '.']));
    let below = format!("/pods/{pod}/volume");
    let is_mount = |path: &&str| {
        path.starts_with('/')
            && (!pod.is_empty() && path.contains(&below) || path.ends_with("/globalmount"))
            && !path.ends_with(".json")
    };
    let deepest = paths.filter(is_mount).max_by_key(|path| path.len())?;
    Some(quote(deepest))
}

/// `No retries permitted until 2026-11-25 02:44:40.959177113 +0000 UTC m=+391.741 (durationBeforeRetry 2m2s)`.
fn retry_of(text: &str) -> Option<Retry> {
    let mut words = text.split_once("No retries permitted until ")?.1.split(' ');
    let (day, time, offset) = (words.next()?, words.next()?, words.next()?);
    let (hours, minutes) = offset.split_at_checked(3)?;
    let at: Timestamp = format!("{day}T{time}{hours}:{minutes}").parse().ok()?;
    let wait = between(text, "(durationBeforeRetry ", ")");
    Some(Retry { at, wait: wait.and_then(|it| it.parse::<SignedDuration>().ok()) })
}

/// The error itself, after the kubelet's introduction of volume and Pod.
fn tail(text: &str) -> &str {
    // `failed to patch status "…" for pod "NAMESPACE"/"NAME": …`, where the quotes in the status have backslashes.
    if let Some((_, rest)) = text.split_once("\" for pod \"") {
        return rest.split_once("\": ").map_or(rest, |(_, error)| error);
    }
    let after = |text: &'_ str, mark: &str| text.rfind(mark).map(|at| at + mark.len());
    // `… (UID: "…") : unmount failed`, and for a device without a Pod `… on node "…" : …`.
    let at = ["\") : ", "\" : "].iter().filter_map(|mark| after(text, mark)).max();
    let at = at.or_else(|| after(text, "Error: "));
    at.and_then(|at| text.get(at..)).unwrap_or(text)
}

/// The error in one line, and bounded. `Unmounting arguments` repeats the path, and the reason is at the end.
fn error_in_words(error: &str) -> String {
    let lines = error.lines().filter(|line| !line.trim().starts_with("Unmounting arguments: "));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let line = words.join(" ");
    let length = line.chars().count();
    if length <= LONGEST_QUOTE {
        return line;
    }
    let (first, last) = (LONGEST_QUOTE / 4, LONGEST_QUOTE * 3 / 4 - 1);
    let (first, last) = (line.chars().take(first), line.chars().skip(length - last));
    first.chain(['…']).chain(last).collect()
}

/// A text in one line, and bounded.
fn quote(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    line.join(" ").chars().take(LONGEST_QUOTE).collect()
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found)
}
