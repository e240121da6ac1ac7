//! POST: what `Store.Create` and `rest.BeforeCreate` do.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Actor, Cluster, Write,
    admission::{Attributes, Operation},
    defaults, managed, validate,
};
use crate::{clock, kind::Kind, object, status::Status, store::Key};

impl Cluster {
    /// Creates an object; `namespace` is that of the request.
    pub(crate) fn create_with(
        &mut self,
        actor: &Actor,
        write: &Write,
        group: &str,
        plural: &str,
        namespace: &str,
        object: Value,
    ) -> Result<Arc<Value>, Status> {
        let kind = self.kinds.get(group, plural).cloned();
        let kind = kind.ok_or_else(|| Status::not_found(group, plural, object::name(&object)))?;
        let mut object = object;
        validate::shape(&kind, &object)?;
        validate::convert(&kind, &mut object);
        self.check_storable(&kind, &object)?;
        self.fill(&kind, namespace, &mut object)?;
        let name = object::name(&object).to_owned();
        let key = Key::new(group, plural, if kind.namespaced { namespace } else { "" }, &name);
        self.may_hold(&kind, &key)?;
        self.may_create_of(&kind, &name)?;
        let asked = Attributes {
            actor,
            write,
            operation: Operation::Create,
            key: &key,
            name: &name,
            subresource: "",
            object: &Value::Null,
            existing: None,
        };
        self.mutate(&kind, asked, &mut object)?;
        settle(&kind, &mut object);
        defaults::apply(&kind, &mut object);
        managed::note(None, &mut object, &kind, write, "", self.now());
        self.allocate(&kind, &mut object);
        self.admit_new(&key, &mut object)?;
        self.decide(&Attributes { object: &object, ..asked })?;
        self.ask_guard(actor, write, &key, None, &object)?;
        validate::create(&kind, &object)?;
        self.charge(write, &key, "", &object, None)?;
        if !object::resource_version(&object).is_empty() {
            let why = "resourceVersion should not be set on objects to be created";
            return Err(Status::plain(500, why));
        }
        if let Some(existing) = self.get(&key) {
            let mut status = match object::text(&object, &["metadata", "generateName"]) {
                "" => Status::already_exists(group, plural, &name),
                _ => Status::generated_name_exists(group, plural, &name),
            };
            if object::is_deleting(existing) {
                status.message.insert_str(0, "object is being deleted: ");
            }
            return Err(status);
        }
        if write.dry_run {
            return Ok(Arc::new(object));
        }
        validate::size(&object)?;
        let created = self.store.create(&key, object);
        self.after_write(&key, None, Some(&created));
        Ok(created)
    }

    /// Sets the system metadata of a new object, whatever the client sent.
    fn fill(&mut self, kind: &Kind, namespace: &str, object: &mut Value) -> Result<(), Status> {
        if kind.namespaced && namespace.is_empty() {
            return Err(Status::bad_request("an empty namespace may not be set during creation"));
        }
        match object::namespace(object) {
            "" => {}
            _ if !kind.namespaced => object::unset(object, &["metadata", "namespace"]),
            one if one != namespace => {
                return Err(Status::bad_request(validate::NAMESPACE_DIFFERS));
            }
            _ => {}
        }
        if object::name(object).is_empty() {
            let base = object::text(object, &["metadata", "generateName"]).to_owned();
            if !base.is_empty() {
                // maxGeneratedNameLength: 63 less the five random letters.
                let base: String = base.chars().take(58).collect();
                let name = format!("{base}{}", self.suffix(5));
                object::set(object, &["metadata", "name"], json!(name));
            }
        }
        let uid = self.uid();
        let now = clock::written(self.now());
        let metadata = object::map_at(object, &["metadata"]);
        for gone in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
            metadata.remove(gone);
        }
        metadata.insert("uid".into(), json!(uid));
        metadata.insert("creationTimestamp".into(), now);
        if kind.namespaced {
            metadata.insert("namespace".into(), json!(namespace));
        }
        if kind.generation {
            metadata.insert("generation".into(), json!(1));
        }
        for empty in ["labels", "annotations", "finalizers", "ownerReferences"] {
            let is_empty = |value: &Value| {
                value.is_null()
                    || value.as_object().is_some_and(|map| map.is_empty())
                    || value.as_array().is_some_and(Vec::is_empty)
            };
            if metadata.get(empty).is_some_and(is_empty) {
                metadata.remove(empty);
            }
        }
        Ok(())
    }
}

/// Clears the status of a new object, which only controllers write.
fn settle(kind: &Kind, object: &mut Value) {
    if let Value::Object(map) = object {
        map.insert("apiVersion".into(), json!(kind.api_version()));
        map.insert("kind".into(), json!(kind.kind));
        if kind.subresource("status").is_some() {
            map.remove("status");
        }
    }
}
