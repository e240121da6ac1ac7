//! APIs that the garbage collector cannot see: an owner waits for a dependent that nobody can list, to be deleted or to be orphaned.
//!
//! The collector keeps what it knew of a group whose server has gone, and learns nothing of its end
//! (`pkg/controller/garbagecollector/garbagecollector.go`, `Sync`). So an owner without a dependent that can be seen waits for
//! that API, and not for a collector that does not run.

use super::{
    case::Case,
    cause::{Cause, Confidence, Verdict},
    namespace,
};
use crate::object::{ConditionStatus, Facts};

/// The most APIs that one owner is said to wait for.
const MOST: usize = 3;

/// The verdicts on the aggregated APIs that do not answer.
pub(super) fn unseen(case: &Case<'_>) -> Vec<Verdict> {
    let mut down: Vec<String> = case
        .index
        .of_resource("apiservices.apiregistration.k8s.io")
        .filter_map(|object| {
            let Facts::ApiService(api) = &object.facts else { return None };
            let available = api.available.as_ref()?;
            let is_down = api.service.is_some() && available.status != ConditionStatus::True;
            let (version, group) = object.name.split_once('.').filter(|_| is_down)?;
            Some(format!("{group}/{version}"))
        })
        .collect();
    down.sort();
    let verdicts = down.iter().take(MOST).map(|name| namespace::api_down(case, name));
    let is_down = |verdict: &Verdict| matches!(verdict.cause, Cause::ApiDown { .. });
    // That the API is down is certain; that a dependent is of it is not.
    let inferred = |verdict| Verdict { confidence: Confidence::Inferred, ..verdict };
    verdicts.filter(is_down).map(inferred).collect()
}
