//! Pods that keep the finalizer by which their Job counts them.

use super::*;

const POD: &str = "pod shop/web owner=job/train node=n1 phase=Succeeded deleted=400 finalizers=batch.kubernetes.io/job-tracking containers=c1:terminated";

/// Target and dependents of each deletion.
fn deletions(text: &str) -> Vec<String> {
    let found = found(&fixture::index(text));
    let ways = found.into_iter().flat_map(|(_, ways)| ways);
    let deletes =
        |it: &Remedy| matches!(it.act, RemedyAct::DeleteUser | RemedyAct::DeleteAgain { .. });
    let line = |it: Remedy| {
        let target = it.target.as_ref().map(ToString::to_string).unwrap_or_default();
        let reached: Vec<_> = it.reaches.objects.iter().map(ToString::to_string).collect();
        format!("{} {target} with {} loses {:?}", code(&it.act), reached.join(", "), it.loses)
    };
    ways.filter(deletes).map(line).collect()
}

#[test]
fn job_whose_pods_nobody_counts_may_be_deleted() {
    let elsewhere = "ns shop\njob shop/train managedBy=kueue.x-k8s.io/multikueue";
    let deleted = "deleteUser Job shop/train with Pod shop/web loses [Output]";
    assert_eq!(deletions(&format!("{elsewhere}\n{POD}")), [deleted]);
    let built_in = deletions(&format!("ns shop\njob shop/train\n{POD}"));
    assert_eq!(built_in, [deleted]);
    // A namesake of another kind is no Job.
    assert_eq!(
        deletions(&format!("ns shop\ncm shop/train\n{}", POD.replace("job/", "cm/"))),
        [""; 0]
    );
}

#[test]
fn job_that_waits_for_its_pods_gets_its_deletion_again() {
    let going = "ns shop\njob shop/train managedBy=kueue.x-k8s.io/multikueue deleted=400 finalizers=foregroundDeletion";
    let again = "deleteAgain:insteadOf:foregroundDeletion Job shop/train with Pod shop/web loses [OwnerFirst]";
    assert_eq!(deletions(&format!("{going}\n{POD}")), [again]);
}
