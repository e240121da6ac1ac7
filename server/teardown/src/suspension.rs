//! The JSON patches that suspend a declaring parent, and make it active again. Each is refused on another object.

use serde_json::{Value, json};

use crate::object::{Kind, Uid};

/// The field of an Application of Argo CD that lets it apply its objects by itself.
const AUTOMATED: &str = "/spec/syncPolicy/automated";

/// Suspends a parent. It is also refused where the field of an Application is not as it was when it was seen, because that
/// value is what is put back.
pub(crate) fn suspend(kind: &Kind, uid: &Uid, active: &str) -> Value {
    match is_application(kind) {
        true => json!([
            test_uid(uid),
            { "op": "test", "path": AUTOMATED, "value": parsed(active) },
            { "op": "remove", "path": AUTOMATED },
        ]),
        false => json!([test_uid(uid), { "op": "add", "path": "/spec/suspend", "value": true }]),
    }
}

/// Makes a parent active again, as it was. It is refused where somebody else already did; that the field of an Application is
/// still missing, which no `test` can say, is read just before.
pub(crate) fn resume(kind: &Kind, uid: &Uid, was: &str) -> Value {
    match is_application(kind) {
        true => json!([test_uid(uid), { "op": "add", "path": AUTOMATED, "value": parsed(was) }]),
        false => json!([
            test_uid(uid),
            { "op": "test", "path": "/spec/suspend", "value": true },
            { "op": "add", "path": "/spec/suspend", "value": parsed(was) },
        ]),
    }
}

fn is_application(kind: &Kind) -> bool {
    kind.is("argoproj.io", "Application")
}

fn test_uid(uid: &Uid) -> Value {
    json!({ "op": "test", "path": "/metadata/uid", "value": uid })
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_default()
}
