//! A volume that is set to keep its data.

use super::{
    act::{Loss, Remedy, RemedyAct, Undo},
    case::Case,
    command::{self, Purpose},
};
use crate::object::{Facts, Object, Reclaim};

/// Keeps the data of a claim: the volume of a claim that goes is deleted with its data, unless its policy is `Retain` by then.
/// The policy can be changed at any time, and nothing that runs notices.
pub(super) fn retain(case: &Case<'_>, claim: &Object) -> Option<Remedy> {
    let Facts::Claim(bound) = &claim.facts else { return None };
    let volume = case.index.find("", "PersistentVolume", None, bound.volume.as_deref()?)?;
    let Facts::Volume(facts) = &volume.facts else { return None };
    let was = match facts.reclaim {
        Reclaim::Retain => return None,
        Reclaim::Delete => "Delete",
        Reclaim::Recycle => "Recycle",
    };
    let policy = "/spec/persistentVolumeReclaimPolicy";
    let change = |from: &str, to: &str| {
        command::patch(volume, &[command::test(policy, from), command::set("replace", policy, to)])
    };
    let remedy = Remedy::new(RemedyAct::RetainVolume { was: facts.reclaim })
        .at(volume)
        .with([change(was, "Retain"), change("Retain", was).map(|it| it.to(Purpose::Undo))])
        .loss([Loss::Kept])
        .undo(Undo::SetBack);
    Some(remedy)
}
