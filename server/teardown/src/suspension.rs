//! The JSON patches that suspend a declaring parent, and make it active again. Each is refused on another object.

use serde_json::{Value, json};

use crate::{
    declaration::is_of_kapp,
    object::{Kind, Uid},
};

/// The field of an Application of Argo CD that lets it apply its objects by itself.
const AUTOMATED: &str = "/spec/syncPolicy/automated";

/// The way in which a parent is suspended.
enum Way {
    /// Flux: `spec.suspend`.
    Suspend,
    /// Argo CD: without `spec.syncPolicy.automated`, an Application does nothing by itself.
    Automated,
    /// kapp-controller: `spec.paused`, and `spec.noopDelete`, without which its deletion deletes what it declares although it
    /// is paused (`pkg/app/app_reconcile.go`, `pkg/app/app_deploy.go`).
    Paused,
}

impl Way {
    fn of(kind: &Kind) -> Self {
        match kind {
            kind if kind.is("argoproj.io", "Application") => Self::Automated,
            kind if is_of_kapp(kind) => Self::Paused,
            _ => Self::Suspend,
        }
    }
}

/// Suspends a parent. It is also refused where the field of an Application is not as it was when it was seen, because that
/// value is what is put back.
pub(crate) fn suspend(kind: &Kind, uid: &Uid, active: &str) -> Value {
    match Way::of(kind) {
        Way::Automated => json!([
            test_uid(uid),
            { "op": "test", "path": AUTOMATED, "value": parsed(active) },
            { "op": "remove", "path": AUTOMATED },
        ]),
        Way::Paused => json!([
            test_uid(uid),
            { "op": "add", "path": "/spec/paused", "value": true },
            { "op": "add", "path": "/spec/noopDelete", "value": true },
        ]),
        Way::Suspend => {
            json!([test_uid(uid), { "op": "add", "path": "/spec/suspend", "value": true }])
        }
    }
}

/// Makes a parent active again, as it was. It is refused where somebody else already did; that the field of an Application is
/// still missing, which no `test` can say, is read just before.
pub(crate) fn resume(kind: &Kind, uid: &Uid, was: &str) -> Value {
    let was = parsed(was);
    match Way::of(kind) {
        Way::Automated => {
            json!([test_uid(uid), { "op": "add", "path": AUTOMATED, "value": was }])
        }
        Way::Paused => json!([
            test_uid(uid),
            { "op": "test", "path": "/spec/paused", "value": true },
            { "op": "test", "path": "/spec/noopDelete", "value": true },
            { "op": "add", "path": "/spec/paused", "value": was["paused"] },
            { "op": "add", "path": "/spec/noopDelete", "value": was["noopDelete"] },
        ]),
        Way::Suspend => json!([
            test_uid(uid),
            { "op": "test", "path": "/spec/suspend", "value": true },
            { "op": "add", "path": "/spec/suspend", "value": was },
        ]),
    }
}

fn test_uid(uid: &Uid) -> Value {
    json!({ "op": "test", "path": "/metadata/uid", "value": uid })
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_default()
}
