//! The rights that Unwind's own identity needs to carry out a remedy, as access reviews ask for them.
//!
//! # Decisions
//! - Every remedy that Unwind could do names the rights of all its calls: the change, the read of its target before it, and the
//!   DELETE of an object that it creates only to delete it. To take it back takes the same rights, except where the object is
//!   created again; that one disables nothing, for a person may create it from the copy.
//! - A right that is missing disables the remedy here and leaves its command, because a person may have more rights.
//! - An answer is not in the hash of a remedy: it says whether the request will be allowed, not what it does.

use super::{
    act::{Remedy, RemedyAct, Undo},
    permit::{Permit, PermitAnswer},
    request::{Request, Verb},
};
use crate::{
    api_problem::ApiProblem,
    fetched::{Permission, Review},
    index::Index,
};

impl Remedy {
    /// The rights of the calls of this remedy; none where a person does it.
    pub fn permissions(&self) -> Vec<Permission> {
        let Some(request) = self.request() else { return Vec::new() };
        let mut found: Vec<Permission> =
            permission(request, verb(request.verb)).into_iter().collect();
        if matches!(self.act, RemedyAct::RecreateNamespace { .. }) {
            found.extend(permission(request, "delete"));
        }
        found.extend(permission(request, "get"));
        found
    }

    /// The further right of the call that takes this remedy back.
    pub fn undo_permission(&self) -> Option<Permission> {
        let is_created = self.undo == Some(Undo::CreateAgain);
        permission(self.request().filter(|_| is_created)?, "create")
    }

    /// The same with the answers that are known.
    pub(super) fn permitted(mut self, index: &Index) -> Self {
        let permit = |permission: Permission, is_for_undo: bool| {
            let answer = match index.review(&permission) {
                None => PermitAnswer::Asked,
                Some(Err(problem)) => PermitAnswer::Unknown(problem.clone()),
                Some(Ok(Review { allowed: true, .. })) => PermitAnswer::Allowed,
                Some(Ok(Review { said, .. })) => {
                    PermitAnswer::Denied(ApiProblem::Quoted(said.to_string()))
                }
            };
            Permit { permission, is_for_undo, answer }
        };
        let needed = self.permissions().into_iter().map(|it| permit(it, false));
        self.permits = needed.chain(self.undo_permission().map(|it| permit(it, true))).collect();
        self
    }

    /// The first right that Unwind is known not to have.
    pub fn missing_permission(&self) -> Option<&Permission> {
        let is_missing = |permit: &&Permit| {
            !permit.is_for_undo && matches!(permit.answer, PermitAnswer::Denied(_))
        };
        self.permits.iter().find(is_missing).map(|permit| &permit.permission)
    }
}

fn verb(verb: Verb) -> &'static str {
    match verb {
        Verb::JsonPatch | Verb::MergePatch => "patch",
        Verb::Delete => "delete",
        Verb::Create => "create",
        Verb::Replace => "update",
    }
}

/// The right to do something with the object of a request. Its path says the resource and the subresource, as it does to the API
/// server (`staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go`): a read is of the object itself, and a creation
/// names none.
fn permission(request: &Request, verb: &'static str) -> Option<Permission> {
    let (group, version, path) = match request.path.strip_prefix("/apis/") {
        Some(path) => {
            let (group, path) = path.split_once('/')?;
            let (version, path) = path.split_once('/')?;
            (group, version, path)
        }
        None => {
            let (version, path) = request.path.strip_prefix("/api/")?.split_once('/')?;
            ("", version, path)
        }
    };
    let namespace = request.object.namespace.clone();
    let path = match &namespace {
        Some(namespace) => {
            path.strip_prefix("namespaces/")?.strip_prefix(&**namespace)?.strip_prefix('/')?
        }
        None => path,
    };
    let mut parts = path.split('/');
    let resource = parts.next()?;
    let subresource = parts.nth(1).filter(|_| verb != "get").unwrap_or_default();
    let name = if verb == "create" { "".into() } else { request.object.name.clone() };
    Some(Permission {
        verb,
        group: group.into(),
        version: version.into(),
        resource: resource.into(),
        subresource: subresource.into(),
        namespace,
        name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fetched::{Answer, Question},
        fixture,
        observation::Observation,
        remedy::{RemedyRefusal, tests::found},
    };

    /// The rights that the remedies of a fixture need, by act.
    fn needed(index: &Index) -> Vec<String> {
        let all = found(index).into_iter().flat_map(|(_, remedies)| remedies);
        let named = all.flat_map(|remedy| {
            let permissions = remedy.permissions();
            permissions.into_iter().map(|permission| permission.to_string()).collect::<Vec<_>>()
        });
        let mut named: Vec<String> = named.collect();
        named.sort();
        named.dedup();
        named
    }

    #[test]
    fn rights_are_those_of_the_calls_with_subresource_name_and_namespace() {
        let finalizer = fixture::index(
            "
            ns s4
            Topic.queue.example s4/orders deleted=400 finalizers=queue.example/topic
        ",
        );
        assert_eq!(
            needed(&finalizer),
            ["get topics.queue.example orders in s4", "patch topics.queue.example orders in s4",]
        );
        let namespace = fixture::index(
            "
            ns shop deleted=400 spec=kubernetes,example.com/x
        ",
        );
        assert_eq!(needed(&namespace), ["get namespaces shop", "update namespaces/finalize shop",]);
        let left = fixture::index(
            "
            ns other
            cm gone/left deleted=400 finalizers=example.com/x
        ",
        );
        assert_eq!(
            needed(&left),
            ["create namespaces", "delete namespaces gone", "get namespaces gone",]
        );
    }

    #[test]
    fn right_to_create_a_deleted_configuration_again_is_asked_for_and_disables_nothing() {
        let mut index = fixture::index(
            "
            deploy shop/web deleted=400 finalizers=foregroundDeletion
            rs shop/web-1 owner=deploy/web
            webhook gate service=ops/gate guards=replicasets.apps
        ",
        );
        let removal = |index: &Index| {
            let mut all = found(index).into_iter().flat_map(|(_, remedies)| remedies);
            all.find(|it| matches!(it.act, RemedyAct::DeleteWebhookConfiguration))
        };
        let Some(asked) = removal(&index) else { panic!("{:?}", found(&index)) };
        let create = asked.undo_permission().unwrap();
        assert_eq!(
            create.to_string(),
            "create validatingwebhookconfigurations.admissionregistration.k8s.io"
        );
        let question = Question::Permission(create.clone());
        let answer = Ok(Answer::Review(Review { allowed: false, said: "".into() }));
        index.apply([Observation::Fetched { question, answer }], fixture::now());
        let denied = removal(&index).unwrap();
        let is_said = |it: &Permit| {
            it.is_for_undo
                && it.permission == create
                && matches!(it.answer, PermitAnswer::Denied(_))
        };
        assert!(denied.permits.iter().any(is_said), "{:?}", denied.permits);
        assert_eq!(denied.missing_permission(), None);
    }

    #[test]
    fn right_that_is_missing_disables_the_remedy_and_keeps_its_command() {
        let mut index = fixture::index(
            "
            ns s4
            Topic.queue.example s4/orders deleted=400 finalizers=queue.example/topic
        ",
        );
        let removal = |index: &Index| {
            let remedies = found(index).remove(0).1;
            let is_removal = |it: &Remedy| matches!(it.act, RemedyAct::RemoveFinalizer { .. });
            remedies.into_iter().find(is_removal).unwrap()
        };
        let diagnosis = found(&index).remove(0).0;
        let asked = removal(&index);
        assert!(asked.check_offered().is_ok());
        assert!(asked.permits.iter().all(|it| it.answer == PermitAnswer::Asked));
        let patch = asked.permissions().into_iter().find(|it| it.verb == "patch").unwrap();
        let answer = |index: &mut Index, answer| {
            let question = Question::Permission(patch.clone());
            index.apply([Observation::Fetched { question, answer }], fixture::now());
        };

        let review = |allowed| Ok(Answer::Review(Review { allowed, said: "RBAC".into() }));
        answer(&mut index, review(false));
        let denied = removal(&index);
        assert_eq!(denied.check_offered(), Err(RemedyRefusal::MayNot(patch.clone())));
        assert_eq!(denied.lines("prod"), asked.lines("prod"));
        assert_eq!(denied.hash(&diagnosis), asked.hash(&diagnosis));

        answer(&mut index, Err(ApiProblem::Quoted("no".into())));
        let unknown = removal(&index);
        assert!(unknown.check_offered().is_ok());
        assert!(matches!(&unknown.permits[0].answer, PermitAnswer::Unknown(_)));
        assert_eq!(unknown.needs_statement(), asked.needs_statement());

        answer(&mut index, review(true));
        let allowed = removal(&index);
        assert!(allowed.check_offered().is_ok());
        assert_eq!(allowed.permits[0].answer, PermitAnswer::Allowed);
    }
}
