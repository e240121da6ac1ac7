//! The field manager that wrote a finalizer: a hint to the program that clears it.
//!
//! # Decisions
//! - It is evidence, decides only where neither a project's table nor rights do, and never confirms anything.

use std::sync::Arc;

use jiff::Timestamp;

use super::{
    case::{Case, NAMED},
    cause::{Evidence, Source},
};
use crate::{
    object::{FinalizerManager, Object},
    relation::{is_called, is_distinct},
};

/// The kinds that programs are of.
const PROGRAMS: [&str; 3] = ["deployments.apps", "statefulsets.apps", "daemonsets.apps"];

/// The entry that wrote a finalizer last.
fn writer<'a>(object: &'a Object, finalizer: &str) -> Option<&'a FinalizerManager> {
    let managers = object.deletion.iter().flat_map(|held| held.managers.iter());
    managers.filter(|it| &*it.finalizer == finalizer).max_by_key(|it| it.at)
}

/// The name by which a finalizer was written, if it distinguishes a program.
pub(super) fn name<'a>(object: &'a Object, finalizer: &str) -> Option<&'a str> {
    let name = &*writer(object, finalizer)?.manager;
    is_distinct(name).then_some(name)
}

/// The field manager of a finalizer as evidence.
pub(super) fn evidence(object: &Object, finalizer: &Arc<str>) -> Option<Evidence> {
    let writer = writer(object, finalizer)?;
    let source =
        Source::WrittenBy { finalizer: finalizer.clone(), manager: writer.manager.clone() };
    let at = writer.at.map(Timestamp::from);
    Some(Evidence { of: object.reference(), source, said: String::new(), at })
}

/// The programs that have the name by which a finalizer was written: among those that possibly clear it, or among all
/// workloads where there is none.
pub(super) fn programs<'a>(
    case: &Case<'a>,
    object: &Object,
    finalizer: &str,
    possible: &[&'a Arc<Object>],
) -> Vec<&'a Arc<Object>> {
    let Some(name) = name(object, finalizer) else { return Vec::new() };
    if !possible.is_empty() {
        return possible.iter().copied().filter(|it| is_called(it, name)).collect();
    }
    called(case, &[name])
}

/// The workloads that have one of these names and that nobody deletes, the first few.
pub(super) fn called<'a>(case: &Case<'a>, names: &[&str]) -> Vec<&'a Arc<Object>> {
    let index = case.index;
    let all = PROGRAMS.iter().flat_map(move |resource| index.of_resource(resource));
    let is_one = |it: &&Arc<Object>| names.iter().any(|name| is_called(it, name));
    let mut found: Vec<&Arc<Object>> =
        all.filter(|it| it.deletion.is_none()).filter(is_one).collect();
    found.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    found.truncate(NAMED);
    found
}
