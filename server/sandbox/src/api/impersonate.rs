//! Impersonation (`apiserver/pkg/endpoints/filters/impersonation`).

use percent_encoding::percent_decode_str;

use super::{
    authorize::of_request,
    request::{Request, Target, Verb},
};
use crate::{
    cluster::{
        Actor, Cluster,
        rbac::{Attributes, allows, refusal},
    },
    status::Status,
};

/// The number of users that are remembered as impersonators, as in kube-apiserver.
const IMPERSONATORS: usize = 10_000;

/// The user that a request acts as: the sender, or the user in its headers if the sender may impersonate that user.
pub(super) fn actor(
    cluster: &mut Cluster,
    request: &Request,
    verb: Verb,
    target: &Target,
) -> Result<Actor, Status> {
    let Some(actor) = impersonated(cluster, request, verb, target)? else {
        return Ok(request.actor.clone());
    };
    if cluster.impersonators.len() >= IMPERSONATORS {
        cluster.impersonators.clear();
    }
    cluster.impersonators.insert(request.actor.name.clone());
    Ok(actor)
}

/// The user in the headers of a request, if the sender may impersonate that user.
fn impersonated(
    cluster: &Cluster,
    request: &Request,
    verb: Verb,
    target: &Target,
) -> Result<Option<Actor>, Status> {
    let all = |name: &str| {
        let values = request.headers.get_all(name).iter();
        values.filter_map(|value| value.to_str().ok()).map(String::from).collect::<Vec<_>>()
    };
    let user = request.header("impersonate-user");
    let mut groups = all("impersonate-group");
    let uid = request.header("impersonate-uid");
    let extra = request.headers.iter().filter_map(|(name, value)| {
        let name = name.as_str().strip_prefix("impersonate-extra-")?;
        Some((unescaped(name), value.to_str().ok()?.to_owned()))
    });
    let mut as_actor = Actor { name: user.into(), uid: uid.into(), ..Actor::default() };
    for (name, value) in extra {
        as_actor.extra.entry(name).or_default().push(value);
    }
    if user.is_empty() {
        if groups.is_empty() && uid.is_empty() && as_actor.extra.is_empty() {
            return Ok(None);
        }
        let none = "(nil)".to_owned();
        let groups = if groups.is_empty() { none.clone() } else { in_braces(&groups) };
        let extra = as_actor.extra.iter();
        let extra: Vec<String> =
            extra.map(|(key, all)| format!("{key:?}:[]string{}", in_braces(all))).collect();
        let extra = if extra.is_empty() { none } else { format!("{{{}}}", extra.join(", ")) };
        return Err(Status::bad_request(format!(
            "requested &user.DefaultInfo{{Name:\"\", UID:{uid:?}, Groups:[]string{groups}, \
             Extra:map[string][]string{extra}}} without impersonating a user name"
        )));
    }
    let account = user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    let may = |attributes: Attributes<'_>| {
        if allows(cluster, &request.actor, &attributes) {
            Ok(())
        } else if cluster.impersonators.contains(&request.actor.name) {
            Err(refusal(&request.actor, &attributes))
        } else {
            // A user who has never impersonated is shown the right that this one request needs
            // (ConstrainedImpersonation).
            let sort = if account.is_some() { "serviceaccount" } else { "user-info" };
            let wanted = format!("impersonate-on:{sort}:{}", verb.name());
            Err(refusal(&request.actor, &Attributes { verb: &wanted, ..of_request(verb, target) }))
        }
    };
    let impersonate = |resource, name| Attributes {
        verb: "impersonate",
        resource,
        name,
        ..Attributes::default()
    };
    match account {
        Some((namespace, name)) => {
            may(Attributes { namespace, ..impersonate("serviceaccounts", name) })?
        }
        None => may(impersonate("users", user))?,
    }
    let of_authentication = |resource, name| Attributes {
        group: "authentication.k8s.io",
        ..impersonate(resource, name)
    };
    if !uid.is_empty() {
        may(of_authentication("uids", uid))?;
    }
    for group in &groups {
        may(impersonate("groups", group))?;
    }
    for (key, values) in &as_actor.extra {
        for value in values {
            may(Attributes { subresource: key, ..of_authentication("userextras", value) })?;
        }
    }
    if let Some((namespace, _)) = account
        && groups.is_empty()
    {
        groups =
            vec!["system:serviceaccounts".into(), format!("system:serviceaccounts:{namespace}")];
    }
    let known =
        if user == "system:anonymous" { "system:unauthenticated" } else { "system:authenticated" };
    if !groups.iter().any(|group| group == known) {
        groups.push(known.into());
    }
    as_actor.groups = groups;
    Ok(Some(as_actor))
}

/// Strings as Go writes a list of them.
fn in_braces(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("{{{}}}", texts.join(", "))
}

/// `unescapeExtraKey`: a key with an invalid escape stays as it is.
fn unescaped(key: &str) -> String {
    let parts = key.split('%').skip(1);
    let is_escape =
        |part: &str| part.len() >= 2 && part.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit);
    if !parts.into_iter().all(is_escape) {
        return key.to_owned();
    }
    percent_decode_str(key).decode_utf8().map_or_else(|_| key.to_owned(), Into::into)
}
