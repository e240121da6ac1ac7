//! Requests that write: their options, bodies and answers.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use super::{Content, Reply, body, created, encode::View, escalation, list, request::Request};
use crate::{
    cluster::{Cluster, DeleteOptions, Propagation, Write},
    kind::Kind,
    object::{self, json_type},
    patch::Patch,
    status::{Cause, Status},
    store::Key,
};

pub(super) fn create(
    cluster: &mut Cluster,
    request: &Request,
    kind: &Arc<Kind>,
    key: &Key,
) -> Result<Reply, Status> {
    let view = View::negotiate(request, kind)?;
    let write = options(request, "CreateOptions")?;
    let object = body::object(cluster, request, kind)?;
    let actor = &request.actor;
    let made =
        cluster.create_with(actor, &write, &key.group, &key.plural, &key.namespace, object)?;
    Ok(Reply::object(StatusCode::CREATED, made, view))
}

pub(super) fn update(
    cluster: &mut Cluster,
    request: &Request,
    kind: &Arc<Kind>,
    key: &Key,
    subresource: &str,
) -> Result<Reply, Status> {
    let view = View::negotiate(request, kind)?;
    let write = options(request, "UpdateOptions")?;
    let object = body::object(cluster, request, kind)?;
    let name = object::name(&object);
    if name != &*key.name {
        let why = if name.is_empty() {
            format!(
                "the name of the object ({} based on URL) was undeterminable: name must be provided",
                key.name
            )
        } else {
            format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                key.name
            )
        };
        return Err(Status::bad_request(why));
    }
    let namespace = object::namespace(&object);
    if kind.namespaced && !namespace.is_empty() && namespace != &*key.namespace {
        let why =
            "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Status::bad_request(why));
    }
    // AllowCreateOnUpdate.
    if cluster.get(key).is_none()
        && subresource.is_empty()
        && key.is_of("coordination.k8s.io", "leases")
    {
        return create(cluster, request, kind, key);
    }
    let stored = cluster.update_with(&request.actor, &write, key, subresource, object)?;
    Ok(Reply::object(StatusCode::OK, stored, view))
}

pub(super) fn patch(
    cluster: &mut Cluster,
    request: &Request,
    kind: &Arc<Kind>,
    key: &Key,
    subresource: &str,
) -> Result<Reply, Status> {
    let view = View::negotiate(request, kind)?;
    let mut write = options(request, "PatchOptions")?;
    let patch = read_patch(request, kind)?;
    if let Patch::Apply { object, .. } = &patch {
        write.applied = Some(object.clone());
    }
    if !matches!(patch, Patch::Apply { .. }) && !request.query.get("force").is_empty() {
        let cause = Cause::forbidden("force", "may not be specified for non-apply patch");
        return Err(Status::invalid("meta.k8s.io", "PatchOptions", "", vec![cause]));
    }
    if let Patch::Apply { object, .. } = &patch {
        check_apply(request, kind, key, object)?;
        if cluster.get(key).is_none() && subresource.is_empty() {
            let (actor, mut object) = (&request.actor, object.clone());
            object::unset(&mut object, &["metadata", "resourceVersion"]);
            object::set(&mut object, &["metadata", "name"], json!(*key.name));
            let made = cluster.create_with(
                actor,
                &write,
                &key.group,
                &key.plural,
                &key.namespace,
                object,
            )?;
            return Ok(Reply::object(StatusCode::CREATED, made, view));
        }
    }
    let stored = cluster.patch_with(&request.actor, &write, key, &patch, subresource)?;
    Ok(Reply::object(StatusCode::OK, stored, view))
}

/// A patch from its content type and body.
pub(super) fn read_patch(request: &Request, kind: &Kind) -> Result<Patch, Status> {
    let media = request.header("content-type").split(';').next().unwrap_or_default().trim();
    let read = || {
        serde_json::from_slice::<Value>(&request.body).map_err(|error| {
            let why = body::in_go(&error, &request.body);
            Status::bad_request(format!("error decoding patch: {why}"))
        })
    };
    match media {
        "application/json-patch+json" => Ok(Patch::Json(read()?)),
        "application/merge-patch+json" => Ok(Patch::Merge(read()?)),
        "application/strategic-merge-patch+json" if !kind.is_custom() => {
            Ok(Patch::Strategic(read()?))
        }
        "application/apply-patch+yaml" => {
            Ok(Patch::Apply { object: read()?, force: request.query.is("force") })
        }
        // The handler of custom resources has a message of its own.
        "application/strategic-merge-patch+json" => Err(Status::unsupported_media_type(&[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/apply-patch+yaml",
        ])),
        _ => Err(Status::unsupported_patch()),
    }
}

fn check_apply(request: &Request, kind: &Kind, key: &Key, object: &Value) -> Result<(), Status> {
    if request.query.get("fieldManager").is_empty() {
        let cause = Cause::required("fieldManager", "is required for apply patch");
        return Err(Status::invalid("meta.k8s.io", "PatchOptions", "", vec![cause]));
    }
    let version = object::text(object, &["apiVersion"]);
    if version.is_empty() {
        let said = object::text(object, &["kind"]);
        return Err(Status::bad_request(format!("invalid object type: /, Kind={said}")));
    }
    if version != kind.api_version() {
        let why = format!(
            "Incorrect version specified in apply patch. Specified patch version: {version}, expected: {}",
            kind.api_version()
        );
        return Err(Status::bad_request(why));
    }
    let name = object::name(object);
    if !name.is_empty() && name != &*key.name {
        return Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            key.name
        )));
    }
    if !object["metadata"]["managedFields"].is_null() {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}

pub(super) fn delete(
    cluster: &mut Cluster,
    request: &Request,
    kind: &Arc<Kind>,
    key: &Key,
) -> Result<Reply, Status> {
    let view = View::negotiate(request, kind)?;
    let options = delete_options(request)?;
    let deleted = cluster.delete(&request.actor, key, &options)?;
    let code = if !deleted.gone && options.orphan_dependents == Some(false) {
        StatusCode::ACCEPTED
    } else {
        StatusCode::OK
    };
    Ok(Reply::object(code, deleted.answer, view))
}

pub(super) fn delete_collection(
    cluster: &mut Cluster,
    request: &Request,
    kind: &Arc<Kind>,
    namespace: &str,
) -> Result<Reply, Status> {
    let options = delete_options(request)?;
    let (list, view) = list::list(cluster, request, kind, namespace)?;
    for one in &list.items {
        let key = Key::new(&kind.group, &kind.plural, object::namespace(one), object::name(one));
        match cluster.delete_of_many(&request.actor, &key, &options) {
            Err(status) if !status.is_not_found() => return Err(status),
            _ => {}
        }
    }
    Ok(Reply::new(StatusCode::OK, Content::Page { page: list, view }))
}

pub(super) fn evict(cluster: &mut Cluster, request: &Request, key: &Key) -> Result<Reply, Status> {
    let eviction = body::json(request)?;
    let name = object::name(&eviction);
    if name != &*key.name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    let mut options = read_delete_options(&eviction["deleteOptions"])?;
    options.dry_run |= options_dry_run(request, "CreateOptions")?;
    cluster.evict(&request.actor, key, &options)?;
    Ok(Reply::new(StatusCode::CREATED, Content::Json(created())))
}

pub(super) fn bind(cluster: &mut Cluster, request: &Request, key: &Key) -> Result<Reply, Status> {
    let binding = body::json(request)?;
    bindable(&binding)?;
    let dry_run = options_dry_run(request, "CreateOptions")?;
    cluster.bind(key, object::text(&binding, &["target", "name"]), dry_run)?;
    Ok(Reply::new(StatusCode::CREATED, Content::Json(created())))
}

/// `ValidatePodBinding`. Upstream its errors have no status code, so they are answered with 500.
pub(super) fn bindable(binding: &Value) -> Result<(), Status> {
    let mut wrong = vec![];
    match object::text(binding, &["target", "kind"]) {
        "" | "Node" => {}
        kind => wrong.push(format!(
            "target.kind: Unsupported value: {kind:?}: supported values: \"Node\", \"<empty>\""
        )),
    }
    if object::text(binding, &["target", "name"]).is_empty() {
        wrong.push("target.name: Required value".into());
    }
    match wrong.as_slice() {
        [] => Ok(()),
        [one] => Err(Status::plain(500, one)),
        all => Err(Status::plain(500, &format!("[{}]", all.join(", ")))),
    }
}

/// Reads the options of a write from the query.
pub(super) fn options(request: &Request, kind: &str) -> Result<Write, Status> {
    let dry_run = options_dry_run(request, kind)?;
    let field_manager = match request.query.get("fieldManager") {
        "" => request
            .header("user-agent")
            .split('/')
            .next()
            .filter(|name| !name.is_empty())
            .unwrap_or("unknown"),
        name => name,
    };
    let mut causes = vec![];
    if field_manager.len() > 128 {
        causes.push(Cause::too_long("fieldManager", 128));
    }
    if let Some((at, odd)) = field_manager.char_indices().find(|(_, one)| one.is_control()) {
        let why = format!(
            "Invalid value: {}: invalid character U+{:04X} (at position {at})",
            in_quotes(field_manager),
            u32::from(odd)
        );
        let reason = "FieldValueInvalid".into();
        causes.push(Cause { reason, message: why, field: "fieldManager".into() });
    }
    let validation = request.query.get("fieldValidation");
    let words = ["", "Ignore", "Strict", "Warn"];
    if !words.contains(&validation) {
        causes.push(Cause::not_supported("fieldValidation", &json!(validation), &words));
    }
    if !causes.is_empty() {
        return Err(Status::invalid("meta.k8s.io", kind, "", causes));
    }
    let field_manager = field_manager.into();
    Ok(Write {
        dry_run,
        field_manager,
        applied: None,
        tracked: true,
        guard: Some(escalation::check),
    })
}

/// A string as Go's `%q` formats it.
fn in_quotes(text: &str) -> String {
    let shown = |one: char| match one {
        '\0'..='\x06' | '\x0e'..='\x1f' | '\x7f' => format!("\\x{:02x}", u32::from(one)),
        _ => one.escape_debug().to_string(),
    };
    format!("\"{}\"", text.chars().map(shown).collect::<String>())
}

fn options_dry_run(request: &Request, kind: &str) -> Result<bool, Status> {
    let words: Vec<&str> = request.query.all("dryRun").collect();
    dry_run(&words, kind)
}

fn dry_run(words: &[&str], kind: &str) -> Result<bool, Status> {
    if words.iter().any(|word| *word != "All") {
        let cause = Cause::not_supported("dryRun", &json!(words), &["All"]);
        return Err(Status::invalid("meta.k8s.io", kind, "", vec![cause]));
    }
    Ok(!words.is_empty())
}

/// Whether a request sets `dryRun`, to a valid value or not.
pub(super) fn is_dry_run(request: &Request) -> bool {
    request.query.all("dryRun").next().is_some()
        || delete_options(request).is_ok_and(|options| options.dry_run)
}

/// The UID in a DELETE's preconditions.
pub(super) fn uid_precondition(request: &Request) -> Option<String> {
    if request.body.is_empty() {
        return None;
    }
    let options = body::json(request).ok()?;
    let of = |value: &Value| value["preconditions"]["uid"].as_str().map(String::from);
    of(&options).or_else(|| of(&options["deleteOptions"]))
}

fn delete_options(request: &Request) -> Result<DeleteOptions, Status> {
    if !request.body.is_empty() {
        let body = body::json(request)?;
        return read_delete_options(&body);
    }
    let query = &request.query;
    let mut said = json!({});
    if let Some(seconds) = query.number("gracePeriodSeconds")? {
        said["gracePeriodSeconds"] = json!(seconds);
    }
    match query.get("propagationPolicy") {
        "" => {}
        policy => said["propagationPolicy"] = json!(policy),
    }
    match query.get("orphanDependents") {
        "" => {}
        _ => said["orphanDependents"] = json!(query.is("orphanDependents")),
    }
    said["dryRun"] = query.all("dryRun").collect();
    read_delete_options(&said)
}

fn read_delete_options(options: &Value) -> Result<DeleteOptions, Status> {
    let (version, kind) =
        (object::text(options, &["apiVersion"]), object::text(options, &["kind"]));
    if !["", "DeleteOptions"].contains(&kind) {
        return Err(Status::bad_request(body::unregistered(version, kind)));
    }
    let invalid = |cause| Status::invalid("meta.k8s.io", "DeleteOptions", "", vec![cause]);
    let propagation = match &options["propagationPolicy"] {
        Value::Null => None,
        Value::String(word) => match word.as_str() {
            "Background" => Some(Propagation::Background),
            "Foreground" => Some(Propagation::Foreground),
            "Orphan" => Some(Propagation::Orphan),
            _ => {
                let words = ["Foreground", "Background", "Orphan", "nil"];
                return Err(invalid(Cause::not_supported(
                    "propagationPolicy",
                    &json!(word),
                    &words,
                )));
            }
        },
        odd => return Err(unreadable("propagationPolicy", odd, "v1.DeletionPropagation")),
    };
    let number = &options["gracePeriodSeconds"];
    if !number.is_null() && !number.is_i64() && !number.is_u64() {
        return Err(unreadable("gracePeriodSeconds", number, "int64"));
    }
    let orphan = &options["orphanDependents"];
    if !orphan.is_null() && !orphan.is_boolean() {
        return Err(unreadable("orphanDependents", orphan, "bool"));
    }
    let preconditions = &options["preconditions"];
    if !preconditions.is_null() && !preconditions.is_object() {
        return Err(unreadable("preconditions", preconditions, "v1.Preconditions"));
    }
    let words: Vec<&str> = object::texts(options, &["dryRun"]).collect();
    let text = |field: &str| options["preconditions"][field].as_str().map(String::from);
    Ok(DeleteOptions {
        grace_period_seconds: number.as_i64(),
        propagation,
        orphan_dependents: orphan.as_bool(),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        dry_run: dry_run(&words, "DeleteOptions")?,
    })
}

fn unreadable(field: &str, is: &Value, expected: &str) -> Status {
    let sort = json_type(is);
    Status::bad_request(format!(
        "json: cannot unmarshal {sort} into Go struct field DeleteOptions.{field} of type {expected}"
    ))
}
