//! The texts about the proof that an object is gone, and about storage and namespaces that wait for one.

use teardown::{object::ObjectRef, plan::Fate, proof::Proof};

use crate::text::{many, named, names, words};

pub const UNCONFIRMED: &str = "gone from the API only";
pub const TAKE_ON: &str = "Confirm that these ended…";
pub const TAKE_ON_NOW: &str = "Confirm and delete";
pub const TAKE_ON_MEANS: &str = "No node reported that these ended, or a finalizer was removed by hand. If one goes on, data can be lost.";
pub const TAKE_ON_DO: &str =
    "Confirm only if nothing of them runs, and the work of a removed finalizer is done.";

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

/// The fate of the data, once the object is deleted.
pub fn taken_data(fate: Fate) -> &'static str {
    match fate {
        Fate::Destroyed => "The data is deleted with the volume.",
        Fate::Unknown => "Unwind cannot see the volume, so the data may be deleted with it.",
        Fate::LeftBehind | Fate::Kept => "The data is kept.",
    }
}

/// The heading of the question.
pub fn take_on_title(object: &ObjectRef) -> String {
    format!("Confirm that these ended, then delete {}?", named(object))
}

/// The last read of the claims whose data is kept.
pub fn data_checked(bound: usize, lost: &[ObjectRef], unknown: &[ObjectRef]) -> String {
    let mut said = vec![format!("Kept data: {} bound", many(bound, "claim is", "claims are"))];
    if !lost.is_empty() {
        said.push(format!("no longer bound: {}", names(lost)));
    }
    if !unknown.is_empty() {
        said.push(format!("could not be read: {}", names(unknown)));
    }
    said.join("; ")
}
