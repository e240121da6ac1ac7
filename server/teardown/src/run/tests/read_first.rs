//! Tests of the read just before the DELETE of what holds data or much else.
//!
//! The weekend stays a loop: the number of its reads counts, and the size of its journal.

use super::{
    script::{endings, transcript},
    *,
};

const SHOP: &str = "
    ns shop of=shop
    deploy shop/web of=shop template=app:web selector=app:web uses=claim:data
    pvc shop/data of=shop
    Widget.example.com shop/main of=shop
    cm shop/settings of=shop
";

#[test]
fn custom_resource_is_read_and_deleted_at_the_version_that_was_read() {
    let script = "each call
        there Widget.example.com:shop/main";
    insta::assert_snapshot!(transcript(SHOP, script), @"
    > each call
    DELETE ConfigMap shop/settings
    DELETE Deployment shop/web
    GET Widget shop/main
    > there Widget.example.com:shop/main
    DELETE Widget shop/main at 17
    ");
}

/// The last copy of the data, perhaps. Its group is one of Kubernetes, and its definition is not.
#[test]
fn snapshot_is_read_and_deleted_at_the_version_that_was_read() {
    let cluster = "
        snapshot shop/daily of=shop
        content kept of=shop";
    let script = "each call
        there of other snapshot:shop/daily
        there keep=helm.sh/resource-policy:keep content:kept
        until call
        there snapshot:shop/daily
        there content:kept";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > each call
    GET VolumeSnapshot shop/daily
    GET VolumeSnapshotContent kept
    > there of other snapshot:shop/daily
    VolumeSnapshot shop/daily belongs to other now
    > there keep=helm.sh/resource-policy:keep content:kept
    VolumeSnapshotContent kept is to be kept now by helm.sh/resource-policy:keep
    > until call
    20 s later
    GET VolumeSnapshot shop/daily
    GET VolumeSnapshotContent kept
    > there snapshot:shop/daily
    DELETE VolumeSnapshot shop/daily at 17
    > there content:kept
    DELETE VolumeSnapshotContent kept at 17
    ");
}

/// Every kind that a definition defines, whoever owns its group, and none of the API server's own.
#[test]
fn custom_resources_of_any_group_are_read_first() {
    let custom = [
        "Widget.example.com shop/main of=shop",
        "VolumeGroupSnapshot.groupsnapshot.storage.k8s.io shop/all of=shop",
        "BucketClaim.objectstorage.k8s.io shop/files of=shop",
        "HTTPRoute.gateway.networking.k8s.io shop/main of=shop",
        "VerticalPodAutoscaler.autoscaling.k8s.io shop/main of=shop",
        "Cluster.cluster.x-k8s.io shop/main of=shop",
        "ing shop/main of=shop",
        "pdb shop/main of=shop",
        "role shop/main of=shop",
    ];
    let calls = custom.map(|line| {
        let transcript = transcript(line, "each call");
        transcript.lines().last().unwrap_or_default().to_owned()
    });
    insta::assert_snapshot!(calls.join("\n"), @"
    GET Widget shop/main
    GET VolumeGroupSnapshot shop/all
    GET BucketClaim shop/files
    GET HTTPRoute shop/main
    GET VerticalPodAutoscaler shop/main
    GET Cluster shop/main
    DELETE Ingress shop/main
    DELETE PodDisruptionBudget shop/main
    DELETE Role shop/main
    ");
}

#[test]
fn claim_is_read_before_its_pods_are_listed() {
    let script = "each call
        accepted deploy:shop/web
        gone deploy shop/web
        there pvc:shop/data
        no pods pvc:shop/data";
    insta::assert_snapshot!(transcript(SHOP, script), @"
    > each call
    DELETE ConfigMap shop/settings
    DELETE Deployment shop/web
    GET Widget shop/main
    > accepted deploy:shop/web
    > gone deploy shop/web
    Deployment shop/web is gone
    GET PersistentVolumeClaim shop/data
    > there pvc:shop/data
    LIST pods in shop at 17
    > no pods pvc:shop/data
    DELETE PersistentVolumeClaim shop/data at 17
    ");
}

#[test]
fn object_that_was_given_to_another_unit_is_not_deleted() {
    let script = |unit: &str| {
        format!(
            "each call
            there of {unit} Widget.example.com:shop/main
            +1
            +30
            there Widget.example.com:shop/main"
        )
    };
    insta::assert_snapshot!(transcript(SHOP, &script("other")), @"
    > each call
    DELETE ConfigMap shop/settings
    DELETE Deployment shop/web
    GET Widget shop/main
    > there of other Widget.example.com:shop/main
    Widget shop/main belongs to other now
    > +1
    > +30
    GET Widget shop/main
    > there Widget.example.com:shop/main
    DELETE Widget shop/main at 17
    ");
    insta::assert_snapshot!(transcript(SHOP, &script("nobody")), @"
    > each call
    DELETE ConfigMap shop/settings
    DELETE Deployment shop/web
    GET Widget shop/main
    > there of nobody Widget.example.com:shop/main
    Widget shop/main belongs to nobody now
    > +1
    > +30
    GET Widget shop/main
    > there Widget.example.com:shop/main
    DELETE Widget shop/main at 17
    ");
}

/// A person who overrode the annotations of an object has decided about those that come later too.
#[test]
fn claim_that_a_read_shows_asked_to_be_kept_is_not_deleted() {
    let cluster = "pvc shop/data of=shop\n cm shop/settings of=shop";
    let mark = "helm.sh/resource-policy:keep";
    let script = format!(
        "each call
        there keep={mark} pvc:shop/data
        until call
        there pvc:shop/data"
    );
    insta::assert_snapshot!(transcript(cluster, &script), @"
    > each call
    DELETE ConfigMap shop/settings
    GET PersistentVolumeClaim shop/data
    > there keep=helm.sh/resource-policy:keep pvc:shop/data
    PersistentVolumeClaim shop/data is to be kept now by helm.sh/resource-policy:keep
    > until call
    20 s later
    GET PersistentVolumeClaim shop/data
    > there pvc:shop/data
    LIST pods in shop at 17
    ");
    let script = format!(
        "choose delete=PersistentVolumeClaim/shop/data
        each call
        there keep={mark} pvc:shop/data"
    );
    insta::assert_snapshot!(transcript(cluster, &script), @"
    > choose delete=PersistentVolumeClaim/shop/data
    > each call
    DELETE ConfigMap shop/settings
    GET PersistentVolumeClaim shop/data
    > there keep=helm.sh/resource-policy:keep pvc:shop/data
    LIST pods in shop at 17
    ");
}

#[test]
fn object_that_an_older_object_has_begun_to_use_is_not_deleted() {
    let cluster = format!(
        "{SHOP}
        secret shop/main owner=Widget.example.com/main
        deploy shop/theirs of=other
        Gadget.example.com lab/theirs of=other"
    );
    let users = [
        "deploy shop/theirs of=other uses=secret:main",
        "deploy lab/theirs of=other uses=secret:main",
        "deploy shop/theirs of=other uses=secret:other",
        "Gadget.example.com lab/theirs of=other refs=Widget.example.com/shop/main",
        "Gadget.example.com lab/theirs of=other refs=Widget.example.com/lab/main",
        "Gadget.example.com lab/theirs of=other refs=Widget.example.com/main",
        "Gadget.example.com lab/theirs of=other refs=cm/shop/main",
    ];
    let script = |user: &str| {
        format!(
            "each call
            pause first
            applied {user}
            resume
            there Widget.example.com:shop/main"
        )
    };
    insta::assert_snapshot!(endings(&cluster, users, script), @"
    deploy shop/theirs of=other uses=secret:main
        Widget shop/main is used by Deployment shop/theirs
    deploy lab/theirs of=other uses=secret:main
        DELETE Widget shop/main at 17
    deploy shop/theirs of=other uses=secret:other
        DELETE Widget shop/main at 17
    Gadget.example.com lab/theirs of=other refs=Widget.example.com/shop/main
        Widget shop/main is used by Gadget lab/theirs
    Gadget.example.com lab/theirs of=other refs=Widget.example.com/lab/main
        DELETE Widget shop/main at 17
    Gadget.example.com lab/theirs of=other refs=Widget.example.com/main
        DELETE Widget shop/main at 17
    Gadget.example.com lab/theirs of=other refs=cm/shop/main
        DELETE Widget shop/main at 17
    ");
}

/// The watch of the Pods was behind when the plan was made: a Pod is checked by what it uses.
#[test]
fn late_pod_that_owns_an_object_does_not_use_it() {
    let cluster = "CiliumEndpoint.cilium.io shop/web of=shop owner=pod/web";
    let script = "each call
        pause first
        applied pod shop/web age=0
        resume
        there CiliumEndpoint.cilium.io:shop/web";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > each call
    > pause first
    > applied pod shop/web age=0
    > resume
    GET CiliumEndpoint shop/web
    > there CiliumEndpoint.cilium.io:shop/web
    DELETE CiliumEndpoint shop/web at 17
    ");
}

#[test]
fn read_before_a_delete_is_no_more_than_a_read_while_the_run_is_paused() {
    let script = "each call
        pause
        there Widget.example.com:shop/main
        resume";
    insta::assert_snapshot!(transcript(SHOP, script), @"
    > each call
    DELETE ConfigMap shop/settings
    DELETE Deployment shop/web
    GET Widget shop/main
    > pause
    > there Widget.example.com:shop/main
    > resume
    GET Widget shop/main
    ");
}

/// An object that is used for a weekend is read again ever more rarely, because each read is kept in the journal; and soon after
/// its user is gone.
#[test]
fn object_that_is_in_use_all_weekend_does_not_fill_the_journal() {
    const THEIRS: &str = "Gadget.example.com lab/theirs of=other refs=Widget.example.com/shop/main";
    let mut scenario = Scenario::of(&format!("{SHOP}\n Gadget.example.com lab/theirs of=other"));
    scenario.applied(THEIRS);
    let start = scenario.now;
    let mut bytes = 0;
    let mut read_all = |scenario: &mut Scenario| {
        let mut reads = 0;
        let mut open = vec![Input::Reconcile];
        while let Some(input) = open.pop() {
            let decision = scenario.apply_input(&input);
            bytes += decision
                .events
                .iter()
                .map(|it| serde_json::to_vec(it).unwrap().len() + 40)
                .sum::<usize>();
            for action in decision.actions {
                let Action::Read { step, .. } = action else { continue };
                reads += 1;
                open.push(Input::CallCompleted { action, outcome: scenario.unchanged(step) });
            }
        }
        reads
    };
    let mut reads = 0;
    while scenario.now.duration_since(start) < jiff::SignedDuration::from_hours(60) {
        reads += read_all(&mut scenario);
        scenario.pass(10);
    }
    assert!((300..400).contains(&reads), "{reads}");
    scenario.gone(THEIRS);
    scenario.pass(1);
    assert_eq!(read_all(&mut scenario), 1);
    assert!(bytes < 200_000, "{bytes}");
}

/// An object that a step owns goes with it, but an owner elsewhere keeps its own.
#[test]
fn user_that_is_owned_holds_an_object_unless_a_step_owns_it() {
    let cluster = format!(
        "{SHOP}
        Gadget.example.com shop/owner of=other
        Gadget.example.com shop/user of=other"
    );
    let owners = ["Gadget.example.com/owner", "cm/settings"];
    let script = |owner: &str| {
        format!(
            "each call
            pause first
            applied Gadget.example.com shop/user of=other owner={owner} refs=Widget.example.com/main
            resume
            there Widget.example.com:shop/main"
        )
    };
    insta::assert_snapshot!(endings(&cluster, owners, script), @"
    Gadget.example.com/owner
        Widget shop/main is used by Gadget shop/user
    cm/settings
        DELETE Widget shop/main at 17
    ");
}

/// Reads that had no answer, or another one, say nothing about how long the object will be in use.
#[test]
fn another_reason_starts_the_delay_of_the_next_read_again() {
    let script = "each call
        silent Widget.example.com:shop/main
        until call
        silent Widget.example.com:shop/main
        until call
        there of lab Widget.example.com:shop/main
        until call
        there of nobody Widget.example.com:shop/main
        until call";
    insta::assert_snapshot!(transcript("Widget.example.com shop/main of=shop", script), @"
    > each call
    GET Widget shop/main
    > silent Widget.example.com:shop/main
    Widget shop/main is tried again after try 1
    > until call
    1 s later
    GET Widget shop/main
    > silent Widget.example.com:shop/main
    > until call
    1 s later
    GET Widget shop/main
    > there of lab Widget.example.com:shop/main
    Widget shop/main belongs to lab now
    > until call
    20 s later
    GET Widget shop/main
    > there of nobody Widget.example.com:shop/main
    Widget shop/main belongs to nobody now
    > until call
    20 s later
    GET Widget shop/main
    ");
    let script = "applied pod shop/debug uses=claim:data
        silent pvc:shop/data
        until call
        silent pvc:shop/data
        until call
        silent pvc:shop/data
        until call
        pods pvc:shop/data: pod shop/debug uses=claim:data
        until call";
    insta::assert_snapshot!(transcript("pvc shop/data of=shop", script), @"
    LIST pods in shop
    > applied pod shop/debug uses=claim:data
    > silent pvc:shop/data
    PersistentVolumeClaim shop/data is tried again after try 1
    > until call
    1 s later
    LIST pods in shop
    > silent pvc:shop/data
    > until call
    1 s later
    LIST pods in shop
    > silent pvc:shop/data
    > until call
    1 s later
    LIST pods in shop
    > pods pvc:shop/data: pod shop/debug uses=claim:data
    PersistentVolumeClaim shop/data is used by Pod shop/debug
    > until call
    1 s later
    LIST pods in shop
    ");
}
