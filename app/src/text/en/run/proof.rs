//! The texts about the proof that an object is gone, and about storage that waits for one.

use teardown::{object::ObjectRef, proof::Proof};

use crate::text::{many, named, names, words};

pub const UNCONFIRMED: &str = "gone from the API only";
pub const TAKE_ON: &str = "Its Pods have ended…";
pub const TAKE_ON_NOW: &str = "Delete the claim";
pub const TAKE_ON_MEANS: &str = "A Pod that used this claim is gone from the API, but its node never reported that its containers ended. If the node still runs it, deleting the claim can lose what it writes, or let two writers use one disk.";
pub const TAKE_ON_DO: &str = "Confirm only if the node is switched off, or if you have seen there that the containers are gone.";

/// The proof that an object is gone.
pub fn proof(proof: Proof) -> &'static str {
    match proof {
        Proof::DeletedEvent => "The watch reported its deletion",
        Proof::List => "A complete list no longer has it",
        Proof::NotFound => "The API server answered 404",
        Proof::OtherUid => "Another object has its name",
        Proof::KindGone => "The definition of its kind is gone",
        Proof::NamespaceGone => "Its namespace is gone",
    }
}

/// The kinds of which a namespace was not proven empty.
pub fn unproven(resources: &[String]) -> String {
    format!("not proven empty of {}", words(resources))
}

/// The heading of the question.
pub fn take_on_title(claim: &ObjectRef) -> String {
    format!("Delete {} without a report from the node?", named(claim))
}

/// The last look at the claims whose data is kept.
pub fn data_checked(bound: usize, lost: &[ObjectRef], unknown: &[ObjectRef]) -> String {
    let mut said = vec![format!("Kept data: {} bound", many(bound, "claim is", "claims are"))];
    if !lost.is_empty() {
        said.push(format!("no longer bound: {}", names(lost)));
    }
    if !unknown.is_empty() {
        said.push(format!("cannot be seen: {}", names(unknown)));
    }
    said.join("; ")
}
