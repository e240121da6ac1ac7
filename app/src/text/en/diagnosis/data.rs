//! The data behind what waits: what is lost already, what goes, what stays. Only the server asks for it: see `teardown::advice`.

use teardown::{
    incident::{DataAtRisk, DataRisk, HeldVolume},
    object::Reclaim,
};

use crate::text::{
    NAMED,
    en::remedy::{reach::claim, reclaim_policy},
    named, some_of,
};

/// The sentences, and whether data is lost or threatened.
pub(super) fn data(at_risk: &[DataAtRisk]) -> (Vec<String>, bool) {
    let mut said = Vec::new();
    let mut is_threatened = false;
    let mut sentence = |why: DataRisk, fits: fn(&HeldVolume) -> bool, threatens: bool, is: &str| {
        let names: Vec<String> =
            at_risk.iter().filter(|it| it.why == why && fits(&it.volume)).map(name).collect();
        if !names.is_empty() {
            is_threatened |= threatens;
            said.push(format!("{is}: {}.", some_of(&names, NAMED)));
        }
    };
    let goes = |it: &HeldVolume| {
        matches!(it, HeldVolume::Found { reclaim: Reclaim::Delete | Reclaim::Recycle, .. })
    };
    let stays = |it: &HeldVolume| matches!(it, HeldVolume::Found { reclaim: Reclaim::Retain, .. });
    let is_gone = |it: &HeldVolume| *it == HeldVolume::None;
    let is_hidden = |it: &HeldVolume| *it == HeldVolume::Hidden;
    let gone = DataRisk::ClaimGone;
    sentence(
        gone,
        is_gone,
        true,
        "Lost already, unless the provisioner keeps deleted directories (archived-…): the claim and its volume are gone",
    );
    sentence(
        gone,
        goes,
        true,
        "The claim is gone, and the volume and its data go once the storage releases them",
    );
    sentence(gone, stays, false, "The claim is gone, and its data is still on the volume");
    sentence(
        gone,
        is_hidden,
        true,
        "The claim is gone, and Unwind cannot see whether its volume is",
    );
    sentence(
        DataRisk::VolumeGone,
        |_| true,
        true,
        "Lost to the cluster: the volume is gone and its claim is left. What is still in the storage decides",
    );
    let waits = DataRisk::Waits;
    sentence(waits, goes, true, "Destroyed with the volume as soon as this wait ends");
    sentence(waits, stays, false, "Stays on the volume when this wait ends");
    sentence(
        waits,
        is_hidden,
        true,
        "Unwind cannot see the volume, so it cannot tell whether the data goes too",
    );
    sentence(
        DataRisk::OnSilentNode,
        |_| true,
        true,
        "Mounted on the silent node, where a Pod may still write",
    );
    (said, is_threatened)
}

/// The claim with its volume and the policy that decides.
fn name(DataAtRisk { of, volume, .. }: &DataAtRisk) -> String {
    match volume {
        HeldVolume::Found { name, reclaim } if *name == of.claim => {
            format!("{} (policy {})", claim(of), reclaim_policy(*reclaim))
        }
        HeldVolume::Found { name, reclaim } => {
            format!("{} on {} (policy {})", claim(of), named(name), reclaim_policy(*reclaim))
        }
        HeldVolume::None | HeldVolume::Hidden => claim(of),
    }
}

#[cfg(test)]
mod tests {
    use teardown::{object::ObjectRef, remedy::ReachedClaim};

    use super::*;

    fn of(why: DataRisk, volume: HeldVolume) -> DataAtRisk {
        let claim = ObjectRef {
            group: "".into(),
            kind: "PersistentVolumeClaim".into(),
            namespace: Some("shop".into()),
            name: "data".into(),
        };
        DataAtRisk { of: ReachedClaim { claim, one_node: true, node_local: false }, why, volume }
    }

    fn volume(reclaim: Reclaim) -> HeldVolume {
        let name = ObjectRef {
            group: "".into(),
            kind: "PersistentVolume".into(),
            namespace: None,
            name: "pv-1".into(),
        };
        HeldVolume::Found { name, reclaim }
    }

    #[test]
    fn fate_of_data_follows_the_policy_of_the_volume() {
        let said = |why, volume| data(&[of(why, volume)]);
        let (lines, threatened) = said(DataRisk::Waits, volume(Reclaim::Delete));
        assert_eq!(
            lines,
            [
                "Destroyed with the volume as soon as this wait ends: PersistentVolumeClaim shop/data (ReadWriteOnce: one node at a time) on PersistentVolume pv-1 (policy Delete)."
            ]
        );
        assert!(threatened);
        let (lines, threatened) = said(DataRisk::Waits, volume(Reclaim::Retain));
        assert!(lines[0].starts_with("Stays on the volume") && !threatened, "{lines:?}");
        let (lines, threatened) = said(DataRisk::ClaimGone, HeldVolume::None);
        assert!(lines[0].starts_with("Lost already") && threatened, "{lines:?}");
        let (lines, threatened) = said(DataRisk::ClaimGone, volume(Reclaim::Retain));
        assert!(lines[0].contains("still on the volume") && !threatened, "{lines:?}");
        let (lines, threatened) = said(DataRisk::VolumeGone, HeldVolume::None);
        assert!(lines[0].starts_with("Lost to the cluster") && threatened, "{lines:?}");
        let (lines, threatened) = said(DataRisk::OnSilentNode, volume(Reclaim::Retain));
        assert!(lines[0].starts_with("Mounted on the silent node") && threatened, "{lines:?}");
    }
}
