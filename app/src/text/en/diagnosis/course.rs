//! The course of things if nobody acts, in sentences. Only the server asks for these: see `teardown::advice`.

use jiff::{SignedDuration, Timestamp};
use teardown::{
    advice::Fact,
    diagnosis::{Cause, DetachState, Diagnosis, Due, Upcoming},
};

use super::holds_namespace;
use crate::text::{absolute, duration, isolated, many, named, names, words};

const DETACHED: &str = "The Pod starts once its disk is detached. If the node comes back, its kubelet unmounts the disk, and it is detached within a minute.";

/// The acts of the cluster itself, and their times; first, in one sentence, whether they end the wait.
pub(super) fn if_nobody_acts(diagnosis: &Diagnosis, course: &[Upcoming]) -> Vec<Fact> {
    let expected = match &diagnosis.cause {
        Cause::NodeSilent { .. } if diagnosis.is_of_replacements() => Some(DETACHED),
        Cause::VolumeAttached { .. } if diagnosis.is_of_replacements() && !course.is_empty() => {
            Some(DETACHED)
        }
        _ => expectation(diagnosis, course),
    };
    let mut said: Vec<Fact> = expected.map(|it| it.to_owned().into()).into_iter().collect();
    said.extend(course.iter().map(|it| Fact { text: upcoming(it), at: promised(it) }));
    if said.is_empty() {
        said.push("Nothing. No part of the cluster acts on it.".to_owned().into());
    }
    said
}

/// The time that a sentence promises by the cluster's clock, for a page to count down to. The log of a kubelet has the time of
/// its node.
fn promised(upcoming: &Upcoming) -> Option<Timestamp> {
    let (Upcoming::GraceEnds { due, .. }
    | Upcoming::Eviction { due, .. }
    | Upcoming::OrphansCollected { due, .. }
    | Upcoming::ForcedDetach { due, at_once: false, .. }
    | Upcoming::ControllerLooks { due, .. }) = upcoming
    else {
        return None;
    };
    match due {
        Due::By(at) => Some(*at),
        Due::Overdue(_) | Due::Within(_) => None,
    }
}

/// Whether waiting ends it; `None` where the events say so.
fn expectation(diagnosis: &Diagnosis, course: &[Upcoming]) -> Option<&'static str> {
    let is_out_of_service =
        course.iter().any(|it| matches!(it, Upcoming::OutOfServiceCollected { .. }));
    Some(match &diagnosis.cause {
        Cause::NodeSilent { .. } if is_out_of_service => return None,
        Cause::NodeSilent { renews: true, .. } => {
            "The kubelet lives, so it ends the Pods once it can write their status again."
        }
        Cause::NodeSilent { .. } => {
            "Nothing ends these Pods. If the node comes back, it ends them within seconds, and everything that waits for them goes."
        }
        Cause::ContainersRunning { .. }
        | Cause::NeverStarted { .. }
        | Cause::SandboxLeft { .. }
        | Cause::DevicesLeft { .. }
        | Cause::PodDirectoryLeft { .. }
        | Cause::VolumesMounted { .. }
        | Cause::ClaimGone { .. }
        | Cause::DriverMissing { .. } => "The Pod goes within seconds of a successful try.",
        Cause::ClaimInUse { .. } | Cause::ClaimHeldByCompletedPods { .. } => {
            "Nothing, as long as the Pods exist. The claim goes within seconds of the last one."
        }
        Cause::InUse { .. } => "Nothing, as long as it is used.",
        Cause::KeptForDependents { .. } => {
            "Nothing, as long as a dependent is left. Its program looks again by itself."
        }
        Cause::KubeletUnaware { .. } => {
            "Nothing that Unwind knows of. A restarted kubelet rereads its Pods and stops this one."
        }
        Cause::StaticPod { .. } => "Nothing. It ends when its file is removed from the node.",
        Cause::Unreadable { .. } if !course.is_empty() => {
            "Nothing, until the API server can read the object again."
        }
        Cause::Unreadable { .. } => {
            "Nothing, until the API server can read the object again. The controllers then go on by themselves, at most 1000 s later."
        }
        Cause::UpdateRejected { .. } => {
            "Nothing, as long as the webhook changes the Pod. The updates are retried."
        }
        Cause::ManagedElsewhere { .. } => {
            "Nothing. It goes once that controller releases the Pod, or once the Job is gone."
        }
        Cause::Copied { .. } => "It goes within seconds of the end of the last copy.",
        Cause::NamespaceGone => {
            "Nothing. It can go once the namespace exists again: then the programs and kubelets that it waits for may change it."
        }
        Cause::VolumeBound { claim: Some(_) } => "Nothing, as long as the claim exists.",
        Cause::VolumeBound { claim: None } => {
            "It counts as released once its controller finds that the claim is gone."
        }
        Cause::VolumeAttached { detach: DetachState::NotRequested, .. } if course.is_empty() => {
            "The attach-detach controller asks for it once no Pod on the node needs the volume and the node no longer reports it as in use."
        }
        Cause::VolumeAttached { .. } if course.is_empty() => {
            "Nothing, as long as the node reports and has the volume mounted. It is detached by force only from a node that is not ready."
        }
        Cause::ApiDown { .. } if !holds_namespace(diagnosis) => {
            "Nothing, as long as the API is down. The garbage collector goes on once it answers or its APIService is deleted."
        }
        Cause::ApiDown { .. } => {
            "Nothing, as long as the API is down. Once it answers or its APIService is deleted, the namespace goes within 150 s."
        }
        Cause::LooksAgain { .. } => {
            "Any change to the namespace, such as an annotation, speeds it up."
        }
        Cause::WebhookDown { .. }
        | Cause::WebhookDenies { .. }
        | Cause::PolicyDenies { .. }
        | Cause::ConversionDown { .. }
        | Cause::ContentRefused
            if !course.is_empty() =>
        {
            "Nothing, as long as the requests are refused."
        }
        Cause::WebhookDown { .. }
        | Cause::WebhookDenies { .. }
        | Cause::PolicyDenies { .. }
        | Cause::ConversionDown { .. }
        | Cause::ContentRefused => {
            "Nothing, as long as the requests are refused. They are tried again, later each time, up to 1000 s apart."
        }
        Cause::DiscoveryFailed => "Nothing, as long as the list of APIs cannot be read.",
        Cause::NamespaceFinalizer { .. } | Cause::FinisherGone { .. } => {
            "Nothing. It waits until the program is back, or until a person removes the finalizer."
        }
        Cause::FinisherNotReady { .. } => "Nothing. It goes once the program is ready again.",
        Cause::ManagerSilent => {
            "Nothing. Once a kube-controller-manager leads again, it lists everything and continues within a minute."
        }
        Cause::OwnersCircle { owners } if owners.len() == 1 => {
            "Nothing, until somebody sends a second DELETE. It then goes within seconds."
        }
        Cause::OwnersCircle { .. } => {
            "Nothing, until somebody sends a second DELETE of one. All of them then go within seconds."
        }
        Cause::ControllerSilent { .. } => "After a restart it looks within a minute.",
        Cause::CannotSee { .. } | Cause::Unknown => "Not known.",
        Cause::WithinGrace { .. }
        | Cause::NodeMissing { .. }
        | Cause::DetachFailed { .. }
        | Cause::VolumeAttached { .. }
        | Cause::BackendLeft { .. }
        | Cause::ContentUnseen { .. }
        | Cause::FinisherBusy { .. }
        | Cause::FinisherUnknown { .. }
        | Cause::LoadBalancerLeft => return None,
    })
}

fn upcoming(upcoming: &Upcoming) -> String {
    match upcoming {
        Upcoming::GraceEnds { node, due: Due::Overdue(at) } => format!(
            "Overdue since {}: the kubelet of {} should have killed the containers at the end of the grace period.",
            absolute(*at),
            isolated(node)
        ),
        Upcoming::GraceEnds { node, due } => format!(
            "{}: the kubelet of {} kills the containers that have not stopped.",
            when(*due, "the grace period"),
            isolated(node)
        ),
        Upcoming::KubeletRetries { node, due: Due::Within(most) } => format!(
            "The kubelet of {} retries at most {} after each failure.",
            isolated(node),
            length(*most)
        ),
        Upcoming::KubeletRetries { node, due: Due::By(at) } => format!(
            "By the log that was read, the kubelet of {} tries next at {}, by the node’s own clock.",
            isolated(node),
            absolute(*at)
        ),
        Upcoming::KubeletRetries { node, due: Due::Overdue(at) } => format!(
            "By the log that was read, the kubelet of {} was to try again at {}. Newer lines say how that ended.",
            isolated(node),
            absolute(*at)
        ),
        Upcoming::KubeletWaits { node } => format!(
            "The kubelet of {} waits for an operation that does not answer, and starts no other. No retry is scheduled.",
            isolated(node)
        ),
        Upcoming::Eviction { node, pods, due } => {
            let late = matches!(due, Due::Overdue(_));
            let does = if late { "should have deleted" } else { "deletes" };
            format!(
                "{}: the taint-eviction-controller {does} {} on node {}: {}. They then wait for the node too.",
                when(*due, "the node was found silent"),
                many(pods.len(), "Pod", "Pods"),
                isolated(node),
                names(pods)
            )
        }
        Upcoming::OrphansCollected { node, due } => format!(
            "{}: the Pod garbage collector {} the Pods of node {}.",
            when(*due, "the Node was removed"),
            if matches!(due, Due::Overdue(_)) { "should have removed" } else { "removes" },
            isolated(node)
        ),
        Upcoming::OutOfServiceCollected { node, .. } => format!(
            "The Pod garbage collector removes the terminating Pods of node {}, which is out of service, at its next look: it looks every 20 s.",
            isolated(node)
        ),
        Upcoming::ForcedDetach { node, volumes, at_once: true, .. } => format!(
            "The attach-detach controller detaches {} from node {}, which is out of service, as soon as no Pod there wants it.",
            words(volumes),
            isolated(node)
        ),
        Upcoming::ForcedDetach { node, volumes, due, .. } => format!(
            "{}: the attach-detach controller {} {} from node {} by force, unless the node is ready by then or --disable-force-detach-on-timeout is set.",
            when(*due, "no Pod there wants the volume any more"),
            if matches!(due, Due::Overdue(_)) { "should have detached" } else { "detaches" },
            words(volumes),
            isolated(node)
        ),
        Upcoming::ControllerLooks { controller, due: Due::Within(most) } => format!(
            "The {} looks again at most {} after its last look.",
            isolated(controller),
            length(*most)
        ),
        Upcoming::ControllerLooks { controller, due: Due::By(at) } => {
            format!("The {} looks again by {}.", isolated(controller), absolute(*at))
        }
        Upcoming::ControllerLooks { controller, due: Due::Overdue(at) } => format!(
            "Overdue since {}: the {} should have looked again.",
            absolute(*at),
            isolated(controller)
        ),
        Upcoming::NoManager => {
            "No kube-controller-manager leads, so none of its controllers works.".to_owned()
        }
        Upcoming::DriverRetries { driver, due } => format!(
            "The driver {} retries with growing delays, by default at most {} apart.",
            isolated(driver),
            match due {
                Due::Within(most) => length(*most),
                Due::By(at) | Due::Overdue(at) => absolute(*at),
            }
        ),
        Upcoming::ProgramRetries { programs } => match programs.as_slice() {
            [program] => format!(
                "{} retries on its own schedule. Its log says what holds it.",
                named(program)
            ),
            some => {
                format!("One of these clears it and retries on its own schedule: {}.", names(some))
            }
        },
    }
}

/// The time of an event. `start` is the moment from which a wait is counted that was not seen.
fn when(due: Due, start: &str) -> String {
    match due {
        Due::By(at) => format!("At {}", absolute(at)),
        Due::Overdue(at) => format!("Overdue since {}", absolute(at)),
        Due::Within(wait) => format!("{} after {start}", length(wait)),
    }
}

fn length(wait: SignedDuration) -> String {
    match wait.as_secs() {
        seconds if seconds >= 60 && seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => duration(seconds),
    }
}

#[cfg(test)]
mod tests {
    use teardown::{
        diagnosis::Waiting,
        object::{ObjectRef, Uid},
    };

    use super::{
        super::{harm::do_not, tests::diagnosis},
        *,
    };

    const NOON: i64 = 1_764_072_000;

    fn all(due: Due) -> Vec<Upcoming> {
        let node = || "n1".into();
        let pod = ObjectRef {
            group: "".into(),
            kind: "Pod".into(),
            namespace: Some("shop".into()),
            name: "web".into(),
        };
        vec![
            Upcoming::GraceEnds { node: node(), due },
            Upcoming::KubeletRetries { node: node(), due },
            Upcoming::Eviction { node: node(), pods: vec![pod], due },
            Upcoming::OrphansCollected { node: node(), due },
            Upcoming::ForcedDetach {
                node: node(),
                volumes: vec!["pv-1".into()],
                at_once: false,
                due,
            },
            Upcoming::ControllerLooks { controller: "namespace-controller".into(), due },
        ]
    }

    #[test]
    fn past_time_is_never_promised() {
        let at = Timestamp::from_second(NOON).unwrap();
        for event in all(Due::Overdue(at)) {
            let said = upcoming(&event);
            assert!(said.contains("2025-11-25 12:00:00 UTC"), "{said}");
            let is_worded_as_past =
                ["should have", "was to try"].iter().any(|it| said.contains(it));
            assert!(is_worded_as_past && !said.starts_with("At "), "{said}");
        }
        for event in all(Due::By(at)) {
            let said = upcoming(&event);
            assert!(said.contains("2025-11-25 12:00:00 UTC"), "{said}");
            assert!(!said.contains("should have") && !said.contains("Overdue"), "{said}");
        }
    }

    #[test]
    fn only_a_time_to_come_by_the_clock_of_the_cluster_is_counted_down() {
        let at = Timestamp::from_second(NOON).unwrap();
        let counted = |due| -> Vec<bool> {
            let cause = Cause::LoadBalancerLeft;
            let said = if_nobody_acts(&diagnosis(cause), &all(due));
            said.iter().map(|it| it.at == Some(at)).collect()
        };
        // The kubelet tries again by the clock of its node.
        assert_eq!(counted(Due::By(at)), [true, false, true, true, true, true]);
        assert_eq!(counted(Due::Overdue(at)), [false; 6]);
        assert_eq!(counted(Due::Within(SignedDuration::from_secs(9))), [false; 6]);
    }

    #[test]
    fn wait_without_a_start_describes_the_start() {
        let said: Vec<String> =
            all(Due::Within(SignedDuration::from_secs(360))).iter().map(upcoming).collect();
        assert!(said[2].starts_with("6 min after the node was found silent: "), "{said:?}");
        assert!(said[4].starts_with("6 min after no Pod there wants the volume any more: "));
        assert!(said[4].contains("pv-1 from node n1 by force"), "{said:?}");
    }

    #[test]
    fn course_without_events_has_a_sentence() {
        let said = |cause| -> Vec<String> {
            if_nobody_acts(&diagnosis(cause), &[]).into_iter().map(|it| it.text).collect()
        };
        let bound = Cause::VolumeBound { claim: Some(diagnosis(Cause::Unknown).root) };
        assert_eq!(said(bound), ["Nothing, as long as the claim exists."]);
        let silent = Cause::LoadBalancerLeft;
        assert_eq!(said(silent), ["Nothing. No part of the cluster acts on it."]);
    }
    fn said_of(diagnosis: &Diagnosis, course: &[Upcoming]) -> String {
        let said = if_nobody_acts(diagnosis, course).into_iter().map(|it| it.text);
        said.collect::<Vec<_>>().join(" ")
    }

    fn looks(controller: &str, seconds: i64) -> Upcoming {
        let due = Due::Within(SignedDuration::from_secs(seconds));
        Upcoming::ControllerLooks { controller: controller.into(), due }
    }

    #[test]
    fn volume_whose_claim_does_not_exist_waits_for_no_claim() {
        let bound = diagnosis(Cause::VolumeBound { claim: None });
        let said = said_of(&bound, &[looks("persistentvolume-binder-controller", 15)]);
        assert!(!said.contains("as long as the claim exists"), "{said}");
        assert!(said.contains("looks again at most 15 s after its last look"), "{said}");
    }

    #[test]
    fn namespace_is_spoken_of_only_where_one_waits_for_the_api() {
        let (group_version, service) = ("metrics.k8s.io/v1beta1".into(), None);
        let mut down = diagnosis(Cause::ApiDown { group_version, service });
        let collector = [looks("garbage-collector-controller", 1000)];
        let said = said_of(&down, &collector);
        assert!(said.contains("garbage collector") && !said.contains("namespace"), "{said}");
        assert!(!do_not(&down).unwrap().contains("namespace"));
        let object = ObjectRef { namespace: None, kind: "Namespace".into(), ..down.root.clone() };
        let (uid, since) = (Uid::new("ns"), Timestamp::UNIX_EPOCH);
        down.waiting = vec![Waiting { uid, object, since, starts: false, on: None }];
        let said = said_of(&down, &[looks("namespace-controller", 60)]);
        assert!(said.contains("the namespace goes within 150 s"), "{said}");
        assert!(do_not(&down).unwrap().starts_with("finalize the namespace by hand"));
    }

    #[test]
    fn refused_request_has_one_longest_wait() {
        let webhook = Cause::WebhookDenies { webhook: "gate".into() };
        let unreadable = Cause::Unreadable { resource: "secrets".into() };
        for cause in [webhook, Cause::ContentRefused, unreadable] {
            let refused = diagnosis(cause);
            let alone = said_of(&refused, &[]);
            assert!(alone.contains("1000 s"), "{alone}");
            let namespace = said_of(&refused, &[looks("namespace-controller", 60)]);
            assert!(namespace.starts_with("Nothing, "), "{namespace}");
            assert!(namespace.contains("1 min") && !namespace.contains("1000 s"), "{namespace}");
        }
    }
}
