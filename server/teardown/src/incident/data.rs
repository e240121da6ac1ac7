//! The data behind the claims and volumes of a diagnosis: the policy that decides over it, and the harm that threatens it now.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    diagnosis::{Cause, Diagnosis},
    index::Index,
    object::{Facts, Object, ObjectRef, Reclaim, Uid},
    remedy::ReachedClaim,
};

/// The data behind one claim, or behind a volume without one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DataAtRisk {
    /// The claim, or the volume, with the nodes that can use it.
    pub of: ReachedClaim,
    /// The reason why it is named.
    pub why: DataRisk,
    /// The volume.
    pub volume: HeldVolume,
}

/// The reason why data is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataRisk {
    /// The claim was deleted while a Pod of the diagnosis had it mounted, and is gone.
    ClaimGone,
    /// The volume was deleted while a Pod of the diagnosis had it mounted, and its claim is left.
    VolumeGone,
    /// The claim or the volume is being deleted, and waits.
    Waits,
    /// A Pod of the diagnosis has it mounted on a node that does not report.
    OnSilentNode,
}

/// The volume behind a claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HeldVolume {
    /// The volume, with the policy that decides over its data once its claim is gone.
    Found {
        /// The volume.
        name: ObjectRef,
        /// Its policy.
        reclaim: Reclaim,
    },
    /// The claim is not bound to a volume that exists.
    None,
    /// Volumes cannot be seen.
    Hidden,
}

/// The data of a diagnosis, what is lost already first.
pub(crate) fn data_at_risk(index: &Index, diagnosis: &Diagnosis) -> Vec<DataAtRisk> {
    let mut found = Vec::new();
    let held = || diagnosis.held.iter().filter_map(|uid| index.get(uid));
    if let Cause::ClaimGone { claims, volumes, .. } = &diagnosis.cause {
        found.extend(claims.iter().map(|name| {
            let claim = claim(diagnosis.root.namespace.clone(), name.clone());
            let volume = volume_that_names(index, &claim);
            DataAtRisk { of: ReachedClaim::of(index, claim), why: DataRisk::ClaimGone, volume }
        }));
        let pods = held().filter(|object| matches!(object.facts, Facts::Pod(_)));
        let of_pods: BTreeSet<ObjectRef> =
            pods.flat_map(|pod| ReachedClaim::of_pod(index, pod)).map(|it| it.claim).collect();
        let has_lost = |claim: &ObjectRef| match index.named(claim).map(|it| &it.facts) {
            Some(Facts::Claim(facts)) => {
                facts.volume.as_ref().is_some_and(|it| volumes.contains(it))
            }
            _ => false,
        };
        found.extend(of_pods.into_iter().filter(has_lost).map(|claim| DataAtRisk {
            of: ReachedClaim::of(index, claim),
            why: DataRisk::VolumeGone,
            volume: HeldVolume::None,
        }));
    }
    let claims: BTreeSet<ObjectRef> = held().filter_map(|object| storage(object)).collect();
    for object in held() {
        let volume = match &object.facts {
            Facts::Claim(claim) => match claim.volume.as_deref() {
                Some(name) => volume_of(index, name),
                None => continue,
            },
            // A volume whose claim is listed is listed with it.
            Facts::Volume(volume)
                if !volume.claim.as_ref().is_some_and(|it| {
                    claims.contains(&claim(Some(it.namespace.clone()), it.name.clone()))
                }) =>
            {
                HeldVolume::Found { name: object.reference(), reclaim: volume.reclaim }
            }
            _ => continue,
        };
        let of = ReachedClaim::of(index, object.reference());
        found.push(DataAtRisk { of, why: DataRisk::Waits, volume });
    }
    if let Cause::NodeSilent { .. } = &diagnosis.cause {
        let mut known = claims;
        for of in held().flat_map(|pod| ReachedClaim::of_pod(index, pod)) {
            if !known.insert(of.claim.clone()) {
                continue;
            }
            let volume = match index.named(&of.claim).map(|claim| &claim.facts) {
                Some(Facts::Claim(claim)) => {
                    claim.volume.as_deref().map_or(HeldVolume::None, |it| volume_of(index, it))
                }
                _ => volume_that_names(index, &of.claim),
            };
            found.push(DataAtRisk { of, why: DataRisk::OnSilentNode, volume });
        }
    }
    found.sort_by(|a, b| (a.why, &a.of.claim).cmp(&(b.why, &b.of.claim)));
    found
}

fn claim(namespace: Option<Arc<str>>, name: Arc<str>) -> ObjectRef {
    ObjectRef { group: "".into(), kind: "PersistentVolumeClaim".into(), namespace, name }
}

/// The name of a claim.
fn storage(object: &Object) -> Option<ObjectRef> {
    matches!(object.facts, Facts::Claim(_)).then(|| object.reference())
}

fn volume_of(index: &Index, name: &str) -> HeldVolume {
    let found = index.find("", "PersistentVolume", None, name);
    match found.map(|object| (object, &object.facts)) {
        Some((object, Facts::Volume(volume))) => {
            HeldVolume::Found { name: object.reference(), reclaim: volume.reclaim }
        }
        _ if index.can_see_volumes() => HeldVolume::None,
        _ => HeldVolume::Hidden,
    }
}

/// The volume that was bound to a claim that is gone: it still names the claim. A claim of the same name that was made since has
/// a volume of its own; of several earlier volumes the youngest counts.
fn volume_that_names(index: &Index, claim: &ObjectRef) -> HeldVolume {
    let again = index.named(claim);
    let is_of_again = |object: &Object, uid: Option<&Uid>| {
        again.is_some_and(|again| {
            let has_it = matches!(&again.facts, Facts::Claim(it) if it.volume.as_deref() == Some(&*object.name));
            has_it || uid == Some(&again.uid)
        })
    };
    let volumes = index.of_resource("persistentvolumes").filter_map(|object| {
        let Facts::Volume(volume) = &object.facts else { return None };
        let of = volume.claim.as_ref()?;
        let is_it = of.name == claim.name && claim.namespace.as_ref() == Some(&of.namespace);
        (is_it && !is_of_again(object, of.uid.as_ref())).then_some((object, volume))
    });
    let youngest = volumes.max_by_key(|(object, _)| (object.created, &object.uid));
    let named = youngest.map(|(object, volume)| HeldVolume::Found {
        name: object.reference(),
        reclaim: volume.reclaim,
    });
    named.unwrap_or(if index.can_see_volumes() { HeldVolume::None } else { HeldVolume::Hidden })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{diagnosis::diagnose, fixture, graph::Graph};

    /// The data of every diagnosis of a fixture, a line each.
    fn described(text: &str) -> Vec<String> {
        let index = fixture::index(text);
        let found = diagnose(&index, &Graph::of(&index), fixture::now());
        let all = found.iter().flat_map(|diagnosis| data_at_risk(&index, diagnosis));
        all.map(|it| {
            let volume = match &it.volume {
                HeldVolume::Found { name, reclaim } => format!("{} {reclaim:?}", name.name),
                HeldVolume::None => "none".to_owned(),
                HeldVolume::Hidden => "hidden".to_owned(),
            };
            format!("{:?} {}: {volume}", it.why, it.of.claim.name)
        })
        .collect()
    }

    #[test]
    fn claim_that_waits_is_named_with_the_policy_of_its_volume() {
        let world = |policy: &str| {
            format!(
                "pvc shop/data volume=pv-1 deleted=300 finalizers=kubernetes.io/pvc-protection
                pv pv-1 claim=shop/data {policy}
                pod shop/web uses=claim:data"
            )
        };
        assert_eq!(described(&world("reclaim=Delete")), ["Waits data: pv-1 Delete"]);
        assert_eq!(described(&world("")), ["Waits data: pv-1 Retain"]);
    }

    #[test]
    fn claims_of_pods_on_a_silent_node_are_named() {
        let found = described(
            "node n1 ready=Ready:Unknown:NodeStatusUnknown:600:
            pod shop/db node=n1 deleted=400 grace=30 uses=claim:data
            pvc shop/data volume=pv-1 access=ReadWriteOnce
            pv pv-1 claim=shop/data reclaim=Delete",
        );
        assert_eq!(found, ["OnSilentNode data: pv-1 Delete"]);
    }

    #[test]
    fn volume_that_is_gone_is_named_by_its_claim() {
        let pod = "node n1
            pod shop/a node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=claim:data
            pvc shop/data volume=pv-1 phase=Lost
            pvc shop/other volume=pv-1 phase=Lost";
        assert_eq!(described(pod), ["VolumeGone data: none"]);
        let there = format!("{pod}\npv pv-1 claim=shop/data");
        assert_eq!(described(&there), [""; 0]);
    }

    #[test]
    fn claim_that_is_gone_is_named_with_what_is_left_of_its_volume() {
        let pod = "node n1\npod shop/a node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=claim:lost";
        assert_eq!(described(pod), ["ClaimGone lost: none"]);
        let kept = format!("{pod}\npv pv-1 claim=shop/lost");
        assert_eq!(described(&kept), ["ClaimGone lost: pv-1 Retain"]);
        let again = format!("{pod}\npvc shop/lost volume=pv-2 age=60\npv pv-2 claim=shop/lost");
        assert_eq!(described(&again), ["ClaimGone lost: none"], "the volume of the new claim");
        let both = format!("{again}\npv pv-1 claim=shop/lost claim-uid=earlier");
        assert_eq!(described(&both), ["ClaimGone lost: pv-1 Retain"]);
    }
}
