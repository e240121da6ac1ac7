//! Kinds that are answered and not stored: access reviews, SelfSubjectReview, token reviews and requests.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    Content, Reply, body,
    request::{Request, Verb},
};
use crate::{
    clock,
    cluster::{
        Actor, Cluster,
        rbac::{self, Attributes},
    },
    kind::Kind,
    object,
    status::{Cause, Status},
    store::Key,
};

pub(super) fn answer(
    cluster: &mut Cluster,
    request: &Request,
    kind: &Arc<Kind>,
    namespace: &str,
    verb: Verb,
) -> Result<Reply, Status> {
    if verb != Verb::Create {
        return Err(Status::method_refused());
    }
    let mut review = body::object(cluster, request, kind)?;
    object::set(&mut review, &["apiVersion"], json!(kind.api_version()));
    object::set(&mut review, &["kind"], json!(kind.kind));
    object::set_default(&mut review, &["metadata"], json!({}));
    match kind.plural.as_str() {
        "selfsubjectreviews" => {
            let now = clock::written(cluster.now());
            object::set(&mut review, &["metadata", "creationTimestamp"], now);
            object::set(&mut review, &["status"], json!({"userInfo": user_info(&request.actor)}));
        }
        "selfsubjectaccessreviews" => {
            one_question(kind, &review["spec"])?;
            let status = verdict(cluster, &request.actor, &review["spec"]);
            object::set(&mut review, &["status"], status);
        }
        "subjectaccessreviews" | "localsubjectaccessreviews" => {
            let spec = review["spec"].clone();
            if kind.namespaced
                && object::text(&spec, &["resourceAttributes", "namespace"]) != namespace
            {
                let value = &spec["resourceAttributes"]["namespace"];
                let cause = Cause::invalid(
                    "spec.resourceAttributes.namespace",
                    value,
                    "must match metadata.namespace",
                );
                return Err(Status::invalid(&kind.group, "", "", vec![cause]));
            }
            let actor = Actor {
                name: object::text(&spec, &["user"]).into(),
                groups: object::texts(&spec, &["groups"]).map(String::from).collect(),
                ..Actor::default()
            };
            if actor.name.is_empty() && actor.groups.is_empty() {
                let why = "at least one of user or group must be specified";
                let cause = Cause::invalid("spec.user", &json!(""), why);
                return Err(Status::invalid(&kind.group, "", "", vec![cause]));
            }
            one_question(kind, &spec)?;
            let status = verdict(cluster, &actor, &spec);
            object::set(&mut review, &["status"], status);
        }
        "selfsubjectrulesreviews" => {
            let status =
                rules(cluster, &request.actor, object::text(&review, &["spec", "namespace"]));
            object::set(&mut review, &["status"], status);
        }
        "bindings" => {
            let key = Key::new("", "pods", namespace, object::name(&review));
            super::write::bindable(&review)?;
            cluster.bind(&key, object::text(&review, &["target", "name"]), false)?;
            return Ok(Reply::new(StatusCode::CREATED, Content::Json(super::created())));
        }
        _ => object::set(&mut review, &["status"], json!({"authenticated": false})),
    }
    Ok(Reply::new(StatusCode::CREATED, Content::Json(review)))
}

/// `ValidateSubjectAccessReviewSpec`: exactly one of a resource and a path.
fn one_question(kind: &Kind, spec: &Value) -> Result<(), Status> {
    let (of_resource, of_path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    if of_resource.is_null() != of_path.is_null() {
        return Ok(());
    }
    let (field, value) = if of_resource.is_null() {
        ("spec.resourceAttributes", of_resource)
    } else {
        ("spec.nonResourceAttributes", of_path)
    };
    let why = if of_resource.is_null() {
        "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    } else {
        "cannot be specified in combination with resourceAttributes"
    };
    let cause = Cause::invalid(field, value, why);
    Err(Status::invalid(&kind.group, "", "", vec![cause]))
}

fn verdict(cluster: &Cluster, actor: &Actor, spec: &Value) -> Value {
    let (of_resource, of_path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let from = if of_resource.is_null() { of_path } else { of_resource };
    let text = |field: &str| object::text(from, &[field]);
    let attributes = Attributes {
        verb: text("verb"),
        group: text("group"),
        resource: text("resource"),
        subresource: text("subresource"),
        namespace: text("namespace"),
        name: text("name"),
        path: text("path"),
    };
    match rbac::reason(cluster, actor, &attributes) {
        Some(reason) if reason.is_empty() => json!({"allowed": true}),
        Some(reason) => json!({"allowed": true, "reason": reason}),
        None => json!({"allowed": false}),
    }
}

fn rules(cluster: &Cluster, actor: &Actor, namespace: &str) -> Value {
    let (mut of_resources, mut of_paths): (Vec<Value>, Vec<Value>) = (vec![], vec![]);
    if actor.groups.iter().any(|group| group == "system:masters") {
        of_resources.push(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
        of_paths.push(json!({"verbs": ["*"], "nonResourceURLs": ["*"]}));
    }
    for rule in rbac::rules(cluster, actor, namespace) {
        if rule["nonResourceURLs"].is_null() { &mut of_resources } else { &mut of_paths }
            .push(rule.clone());
    }
    json!({"resourceRules": of_resources, "nonResourceRules": of_paths, "incomplete": false})
}

fn user_info(actor: &Actor) -> Value {
    let mut info = json!({"username": actor.name, "groups": actor.groups});
    if !actor.uid.is_empty() {
        info["uid"] = json!(actor.uid);
    }
    if !actor.extra.is_empty() {
        info["extra"] = json!(actor.extra);
    }
    info
}

/// The subresource `token` of a ServiceAccount. The token only names its account, because nothing here is secret.
pub(super) fn token(cluster: &mut Cluster, request: &Request, key: &Key) -> Result<Reply, Status> {
    cluster.get(key).ok_or_else(|| Status::not_found("", "serviceaccounts", &key.name))?;
    let mut answer = body::json(request)?;
    let seconds = answer["spec"]["expirationSeconds"].as_i64().unwrap_or(3_600).clamp(0, 1 << 32);
    let until = cluster
        .now()
        .checked_add(jiff::SignedDuration::from_secs(seconds))
        .unwrap_or(jiff::Timestamp::MAX);
    let token = account_token(&key.namespace, &key.name);
    object::set(&mut answer, &["kind"], json!("TokenRequest"));
    object::set(&mut answer, &["apiVersion"], json!("authentication.k8s.io/v1"));
    object::set(
        &mut answer,
        &["status"],
        json!({"token": token, "expirationTimestamp": clock::written(until)}),
    );
    Ok(Reply::new(StatusCode::CREATED, Content::Json(answer)))
}

fn account_token(namespace: &str, name: &str) -> String {
    format!("serviceaccount:{namespace}:{name}")
}

/// The account that a token from [`token`] belongs to.
pub(crate) fn account_of(token: &str) -> Option<Actor> {
    let (namespace, name) = token.strip_prefix("serviceaccount:")?.split_once(':')?;
    Some(Actor::service_account(namespace, name))
}
