//! Speaking as somebody else (`apiserver/pkg/endpoints/filters/impersonation`).

use super::{
    authorize::{Attributes, allows, of_request, refusal},
    request::{Request, Target, Verb},
};
use crate::{
    cluster::{Actor, Cluster},
    status::Status,
};

/// Who a request speaks as: whoever sent it, or whom its headers name, if the sender may.
pub(super) fn actor(
    cluster: &Cluster,
    request: &Request,
    verb: Verb,
    target: &Target,
) -> Result<Actor, Status> {
    let all = |name: &str| {
        let values = request.headers.get_all(name).iter();
        values.filter_map(|value| value.to_str().ok()).map(String::from).collect::<Vec<_>>()
    };
    let user = request.header("impersonate-user");
    let mut groups = all("impersonate-group");
    let uid = request.header("impersonate-uid");
    let extra = request.headers.iter().filter_map(|(name, value)| {
        let name = name.as_str().strip_prefix("impersonate-extra-")?;
        Some((name.to_owned(), value.to_str().ok()?.to_owned()))
    });
    let mut as_actor = Actor { name: user.into(), uid: uid.into(), ..Actor::default() };
    for (name, value) in extra {
        as_actor.extra.entry(name).or_default().push(value);
    }
    if user.is_empty() {
        if groups.is_empty() && uid.is_empty() && as_actor.extra.is_empty() {
            return Ok(request.actor.clone());
        }
        let all: Vec<String> = groups.iter().map(|group| format!("{group:?}")).collect();
        return Err(Status::bad_request(format!(
            "requested &user.DefaultInfo{{Name:\"\", UID:{uid:?}, Groups:[]string{{{}}}, Extra:map[string][]string(nil)}} \
             without impersonating a user name",
            all.join(", ")
        )));
    }
    let account = user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    let may = |attributes: Attributes<'_>| {
        if allows(cluster, &request.actor, &attributes) {
            Ok(())
        } else {
            // It is told what it would need for this one request (ConstrainedImpersonation).
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
    for group in &groups {
        may(impersonate("groups", group))?;
    }
    let of_authentication = |resource, name| Attributes {
        group: "authentication.k8s.io",
        ..impersonate(resource, name)
    };
    if !uid.is_empty() {
        may(of_authentication("uids", uid))?;
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
    Ok(as_actor)
}
