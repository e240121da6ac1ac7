//! The change that a remedy makes, as one request to the API server. The command that a person can paste and the request that
//! Unwind sends are made from the same values, so their guards are the same.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::object::{Object, ObjectRef, Uid};

/// The label of a namespace that is created only to be deleted.
pub(super) const RECREATED: &str = "unwind/recreated";

/// A change of one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// The kind of the change.
    pub verb: Verb,
    /// The path in the API, without a query.
    pub path: String,
    /// The body as JSON. Its guards, the UID among them, are in it.
    pub body: Value,
    /// The object.
    pub object: ObjectRef,
    /// Its UID; none for an object that the request creates.
    pub uid: Option<Uid>,
}

/// The kinds of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// A PATCH with a JSON patch (RFC 6902), whose `test` operations refuse it on another object.
    JsonPatch,
    /// A PATCH with a JSON merge patch (RFC 7396).
    MergePatch,
    /// A DELETE with `DeleteOptions`.
    Delete,
    /// A POST to the list of the kind.
    Create,
    /// A PUT of the object as it is, with the spec of the body.
    Replace,
}

impl Request {
    /// A request about an existing object.
    pub(super) fn about(object: &Object, verb: Verb, path: String, body: Value) -> Self {
        let (uid, object) = (Some(object.uid.clone()), object.reference());
        Self { verb, path, body, object, uid }
    }

    /// The body of a replacement: the object as it was read, with its UID and its version, and the spec of this request. `None`
    /// if that is not the object of this request.
    pub fn replacing(&self, live: &Value) -> Option<Self> {
        let mut body = live.as_object()?.clone();
        let uid = self.uid.as_ref()?.to_string();
        let metadata = body.get("metadata")?;
        if metadata.get("uid")?.as_str()? != uid
            || metadata.get("resourceVersion")?.as_str()?.is_empty()
        {
            return None;
        }
        let spec = self.body.get("spec")?.as_object()?.clone();
        body.get_mut("spec")?.as_object_mut()?.extend(spec);
        Some(Self { body: Value::Object(body), ..self.clone() })
    }

    /// The DELETE of the object that this request created, as the answer to it has it. `None` if that is not its object.
    pub fn deleting(&self, made: &Value) -> Option<Self> {
        let metadata = made.get("metadata")?;
        let uid = metadata.get("uid")?.as_str().filter(|uid| !uid.is_empty())?;
        let name = metadata.get("name")?.as_str()?;
        let is_its = name == &*self.object.name
            && metadata.get("labels")?.get(RECREATED) == self.mark()
            && self.mark().is_some();
        if self.verb != Verb::Create || !is_its {
            return None;
        }
        let body = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": { "uid": uid },
        });
        let path = format!("{}/{name}", self.path);
        Some(Self {
            verb: Verb::Delete,
            path,
            body,
            object: self.object.clone(),
            uid: Some(Uid::new(uid)),
        })
    }

    /// The value of the label by which the namespace that it created is known.
    pub(super) fn mark(&self) -> Option<&Value> {
        self.body.get("metadata")?.get("labels")?.get(RECREATED)
    }

    /// Creates an object again from a copy that was read before it was deleted. `None` if the copy is not of this request's
    /// object. The fields that the API server sets are left out
    /// (`staging/src/k8s.io/apiserver/pkg/registry/rest/create.go`).
    pub fn create_again(&self, copy: &Value) -> Option<Self> {
        let mut body = copy.as_object()?.clone();
        body.remove("status");
        let metadata = body.get_mut("metadata")?.as_object_mut()?;
        let uid = self.uid.as_ref()?.to_string();
        if metadata.get("name")?.as_str()? != &*self.object.name
            || metadata.get("uid")?.as_str()? != uid
        {
            return None;
        }
        for field in ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"]
        {
            metadata.remove(field);
        }
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
            metadata.remove(field);
        }
        let (path, _) = self.path.rsplit_once('/')?;
        Some(Self {
            verb: Verb::Create,
            path: path.to_owned(),
            body: Value::Object(body),
            object: self.object.clone(),
            uid: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn request(verb: Verb) -> Request {
        let object = fixture::object("apiservice v1.m service=shop/m");
        let path = "/apis/apiregistration.k8s.io/v1/apiservices/v1.m".to_owned();
        Request::about(&object, verb, path, json!({}))
    }

    #[test]
    fn replacement_keeps_everything_but_the_field_that_it_sets() {
        let namespace = fixture::object("ns shop");
        let path = "/api/v1/namespaces/shop/finalize".to_owned();
        let body = json!({ "spec": { "finalizers": ["a/b"] } });
        let request = Request::about(&namespace, Verb::Replace, path, body);
        let live = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": "shop", "uid": namespace.uid, "resourceVersion": "7",
                "labels": { "a": "b" }, "annotations": { "c": "d" }, "finalizers": ["e/f"],
            },
            "spec": { "finalizers": ["kubernetes", "a/b"], "other": 1 },
            "status": { "phase": "Terminating" },
        });
        let mut expected = live.clone();
        expected["spec"]["finalizers"] = json!(["a/b"]);
        assert_eq!(request.replacing(&live).unwrap().body, expected);
        for other in [json!("another"), json!(null)] {
            let mut live = live.clone();
            live["metadata"]["uid"] = other;
            assert_eq!(request.replacing(&live), None);
        }
        let mut unversioned = live;
        unversioned["metadata"]["resourceVersion"] = json!("");
        assert_eq!(request.replacing(&unversioned), None);
    }

    #[test]
    fn object_is_created_again_without_the_fields_of_the_server() {
        let copy = json!({
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": { "name": "v1.m", "uid": request(Verb::Delete).uid, "resourceVersion": "7", "labels": { "a": "b" } },
            "spec": { "group": "m" },
            "status": { "conditions": [] },
        });
        let again = request(Verb::Delete).create_again(&copy).unwrap();
        assert_eq!(again.path, "/apis/apiregistration.k8s.io/v1/apiservices");
        assert_eq!(
            again.body.to_string(),
            r#"{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"labels":{"a":"b"},"name":"v1.m"},"spec":{"group":"m"}}"#
        );
        let other = json!({ "metadata": { "name": "v1.m", "uid": "another" } });
        assert_eq!(request(Verb::Delete).create_again(&other), None);
        assert_eq!(request(Verb::Delete).create_again(&json!([])), None);
    }
}
