//! Commands that a person can paste into a shell. The names in them come from the cluster and are not trusted: each argument
//! is quoted, a name has only the characters that the API allows in a path, and a text that a terminal could mistake for
//! something else makes the command unavailable.
//!
//! # Decisions
//! - A change carries its guards: the UID of the object, and for one entry of a list its place and its value. `kubectl
//!   delete` has no option for a UID, so a DELETE goes through `--raw`, whose input is the body of the request.
//! - A PUT replaces the whole object, so its line reads the object when it runs, and changes the one value that the page names. The
//!   version that it reads travels with it: the API server refuses it if somebody changes the object in between.
//! - A name stands behind its kind (`pods/web`), so that kubectl cannot take it for an option.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::request::{RECREATED, Request, Verb};
use crate::{
    labels::Labels,
    object::{Facts, Kind, Object, ObjectRef, Uid},
};

/// The longest name that the API allows for most kinds, a DNS subdomain (RFC 1123).
const LONGEST: usize = 253;
/// The annotation by which an object is changed so that its controller looks at it again.
const LOOK_AGAIN: &str = "unwind/look-again";

/// One command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Command {
    /// Its part in the remedy.
    pub purpose: Purpose,
    /// The shell that it belongs in.
    pub place: Place,
    /// The program's arguments; for a node the program is the first.
    pub args: Vec<String>,
    /// The standard input.
    pub input: Option<String>,
    /// Commands of kubectl before it, each of which reads the output of the one before; it reads the output of the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pipe: Vec<Vec<String>>,
    /// The same as a request, where Unwind can do it.
    pub request: Option<Request>,
}

/// The part of a command in its remedy, in the order in which a person uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Purpose {
    /// It shows something and changes nothing.
    Look,
    /// It shows the object that is about to go, so that a copy can be kept.
    Copy,
    /// It does what the remedy says.
    Act,
    /// It takes the remedy back.
    Undo,
}

/// The shell that a command belongs in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// Anywhere: kubectl with the context of the cluster.
    Kubectl,
    /// On this node, as root.
    Node(Arc<str>),
}

impl Command {
    /// The line for a POSIX shell; `context` is the cluster's name in the kubeconfig. `None` where an argument has a
    /// character that a shell or a terminal could act on.
    pub fn line(&self, context: &str) -> Option<String> {
        let simple = |args: &Vec<String>| {
            let mut words = Vec::with_capacity(args.len() + 2);
            if self.place == Place::Kubectl {
                words.extend(["kubectl".to_owned(), quoted(&format!("--context={context}"))?]);
            }
            for arg in args {
                words.push(quoted(arg)?);
            }
            Some(words.join(" "))
        };
        let mut lines = Vec::with_capacity(self.pipe.len() + 2);
        if let Some(input) = &self.input {
            lines.push(format!("printf %s {}", quoted(input)?));
        }
        for args in self.pipe.iter().chain([&self.args]) {
            lines.push(simple(args)?);
        }
        Some(lines.join(" | "))
    }

    fn new(
        purpose: Purpose,
        place: Place,
        args: Vec<String>,
        input: Option<String>,
    ) -> Option<Self> {
        let command = Self { purpose, place, args, input, pipe: Vec::new(), request: None };
        command.checked()
    }

    /// The same command, which reads the output of the last of these.
    fn after(self, pipe: Vec<Vec<String>>) -> Option<Self> {
        Self { pipe, ..self }.checked()
    }

    fn checked(self) -> Option<Self> {
        self.line("").is_some().then_some(self)
    }

    fn with_request(self, request: Request) -> Self {
        Self { request: Some(request), ..self }
    }

    /// The same command for another purpose.
    pub(super) fn to(mut self, purpose: Purpose) -> Self {
        self.purpose = purpose;
        self
    }
}

/// The word in single quotes, where a shell would read it differently without them. `None` for a text with a control
/// character, or with one that a person cannot see or that turns the direction of writing.
fn quoted(word: &str) -> Option<String> {
    let is_shown =
        |c: char| c == ' ' || c.is_ascii_graphic() || !c.is_ascii() && c.is_alphanumeric();
    if !word.chars().all(is_shown) {
        return None;
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,@%+=".contains(c);
    // zsh looks for a program where a word begins with `=`.
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(is_plain) {
        return Some(word.to_owned());
    }
    Some(format!("'{}'", word.replace('\'', r"'\''")))
}

/// Whether the API can hold this as the name of an object, a namespace, a group or a resource, and no path or option can be
/// made of it. RBAC allows more (`ValidatePathSegmentName` in `staging/src/k8s.io/apimachinery`); those objects have no
/// command.
pub(super) fn is_name(name: &str) -> bool {
    name.len() <= LONGEST
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-._:".contains(c))
}

/// A command of kubectl about one object: the verb, the object, the options.
pub(super) fn about(
    purpose: Purpose,
    object: &Object,
    verb: &str,
    options: &[&str],
) -> Option<Command> {
    let resource = object.kind.resource();
    let names = [&*resource, &*object.name].into_iter().chain(object.namespace.as_deref());
    if !names.into_iter().all(is_name) {
        return None;
    }
    let mut args: Vec<String> =
        object.namespace.iter().map(|namespace| format!("--namespace={namespace}")).collect();
    args.extend([verb.to_owned(), format!("{resource}/{}", object.name)]);
    args.extend(options.iter().map(ToString::to_string));
    Command::new(purpose, Place::Kubectl, args, None)
}

/// Another command of kubectl; the arguments must hold no name that [`is_name`] does not allow.
pub(super) fn kubectl(purpose: Purpose, args: &[&str]) -> Option<Command> {
    let args = args.iter().map(ToString::to_string).collect();
    Command::new(purpose, Place::Kubectl, args, None)
}

/// Shows the object as the API server stores it.
pub(super) fn look(object: &Object) -> Option<Command> {
    about(Purpose::Look, object, "get", &["--output=yaml", "--show-managed-fields"])
}

/// Shows the object with its Events.
pub(super) fn describe(object: &Object) -> Option<Command> {
    about(Purpose::Look, object, "describe", &[])
}

/// Shows the object so that it can be created again.
pub(super) fn copy(object: &Object) -> Option<Command> {
    about(Purpose::Copy, object, "get", &["--output=yaml"])
}

/// Shows objects of one resource in a namespace, by an object that names them.
pub(super) fn list(resource: &str, namespace: &str, options: &[&str]) -> Option<Command> {
    if !is_name(namespace) {
        return None;
    }
    let namespace = format!("--namespace={namespace}");
    let args: Vec<&str> =
        [&*namespace, "get", resource].into_iter().chain(options.iter().copied()).collect();
    kubectl(Purpose::Look, &args)
}

/// The Service, its endpoints and its Pods.
pub(super) fn look_at_service(service: &ObjectRef) -> Vec<Command> {
    let namespace = service.namespace.as_deref().unwrap_or_default();
    if !is_name(&service.name) {
        return Vec::new();
    }
    let (named, label) = (
        format!("services/{}", service.name),
        format!("--selector=kubernetes.io/service-name={}", service.name),
    );
    [
        list(&named, namespace, &["--output=wide"]),
        list("endpointslices", namespace, &[&label]),
        list("pods", namespace, &["--output=wide"]),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A JSON patch that the API server refuses unless the object still has this UID.
pub(super) fn patch(object: &Object, operations: &[Value]) -> Option<Command> {
    let mut patch = vec![test("/metadata/uid", object.uid.to_string())];
    patch.extend_from_slice(operations);
    let patch = Value::Array(patch);
    let command = about(Purpose::Act, object, "patch", &["--type=json", "-p", &patch.to_string()])?;
    Some(command.with_request(Request::about(
        object,
        Verb::JsonPatch,
        path(&object.kind, &object.reference())?,
        patch,
    )))
}

/// The same for a person alone: Unwind does not send it.
pub(super) fn patch_by_hand(object: &Object, operations: &[Value]) -> Option<Command> {
    Some(Command { request: None, ..patch(object, operations)? })
}

/// The operation of a JSON patch that requires a value.
pub(super) fn test(path: &str, value: impl Into<Value>) -> Value {
    set("test", path, value)
}

/// The operation of a JSON patch that sets a value.
pub(super) fn set(operation: &str, path: &str, value: impl Into<Value>) -> Value {
    json!({ "op": operation, "path": path, "value": value.into() })
}

/// Removes one finalizer, if it is still at the same place of the list; of an attachment, if its record says of the volume what it said.
pub(super) fn remove_finalizer(object: &Object, finalizer: &str) -> Option<Command> {
    let place = object.finalizers.iter().position(|it| &**it == finalizer)?;
    let path = format!("/metadata/finalizers/{place}");
    let removal = [test(&path, finalizer), json!({ "op": "remove", "path": path })];
    let attached = match &object.facts {
        Facts::Attachment(facts) => Some(test("/status/attached", facts.attached)),
        _ => None,
    };
    patch(object, &attached.into_iter().chain(removal).collect::<Vec<_>>())
}

/// Writes an annotation with a value that it never had, because a patch that changes nothing wakes nobody. An object of the
/// same name with another UID refuses it (`ValidateObjectMetaUpdate` in `staging/src/k8s.io/apimachinery`).
pub(super) fn annotate(object: &Object, now: jiff::Timestamp) -> Option<Command> {
    let patch = json!({ "metadata": {
        "uid": object.uid,
        "annotations": { LOOK_AGAIN: now.as_second().to_string() },
    } });
    let command =
        about(Purpose::Act, object, "patch", &["--type=merge", "-p", &patch.to_string()])?;
    Some(command.with_request(Request::about(
        object,
        Verb::MergePatch,
        path(&object.kind, &object.reference())?,
        patch,
    )))
}

/// Takes that annotation off.
pub(super) fn take_annotation_off(object: &Object) -> Option<Command> {
    about(Purpose::Undo, object, "annotate", &[&format!("{LOOK_AGAIN}-")])
}

/// A DELETE with the UID as precondition and these options (`DeleteOptions` of `meta/v1`).
pub(super) fn delete(object: &Object, options: &Value) -> Option<Command> {
    let mut body = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": { "uid": object.uid },
    });
    for (name, value) in options.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    let path = path(&object.kind, &object.reference())?;
    let args = ["delete".to_owned(), format!("--raw={path}"), "--filename=-".to_owned()];
    let command = Command::new(Purpose::Act, Place::Kubectl, args.into(), Some(body.to_string()))?;
    Some(command.with_request(Request::about(object, Verb::Delete, path, body)))
}

/// Removes finalizers from the spec of a namespace: one, or all. Only its subresource `finalize` can, which takes nothing but a PUT
/// (`pkg/registry/core/namespace/storage/storage.go`), and a PUT removes what it does not name. So a person's line reads the namespace
/// when it runs and sends it back with its version, changed only where its finalizers are those that the page showed; Unwind does
/// the same ([`Request::replacing`]).
pub(super) fn finalize(namespace: &Object, one: Option<&Arc<str>>) -> Option<Command> {
    let Facts::Namespace(facts) = &namespace.facts else { return None };
    let all = "/spec/finalizers";
    let change = match one {
        Some(one) => {
            let place = facts.finalizers.iter().position(|it| it == one)?;
            let path = format!("{all}/{place}");
            [test(&path, &**one), json!({ "op": "remove", "path": path })]
        }
        None => [test(all, json!(facts.finalizers)), set("replace", all, json!([]))],
    };
    let patch = json!([test("/metadata/uid", namespace.uid.to_string()), change[0], change[1]]);
    let path = format!("{}/finalize", path(&namespace.kind, &namespace.reference())?);
    let read = about(Purpose::Act, namespace, "get", &["--output=json"])?.args;
    let (from_pipe, patch) = ("--filename=-", patch.to_string());
    let change = ["patch", "--local", from_pipe, "--type=json", "-p", &patch, "--output=json"];
    let change: Vec<String> = change.map(str::to_owned).into();
    let raw = format!("--raw={path}");
    let command =
        kubectl(Purpose::Act, &["replace", &raw, from_pipe])?.after(vec![read, change])?;
    let stays = |it: &&Arc<str>| one.is_some_and(|one| *it != one);
    let rest: Vec<&Arc<str>> = facts.finalizers.iter().filter(stays).collect();
    let spec = json!({ "spec": { "finalizers": rest } });
    Some(command.with_request(Request::about(namespace, Verb::Replace, path, spec)))
}

/// Creates a namespace and deletes it at once, so that its controller deletes what was left in it. The DELETE of the second
/// line takes only the namespace that the first line made: it alone has the label. Unwind names its UID instead
/// ([`Request::deleting`]).
pub(super) fn recreate(
    namespace: &ObjectRef,
    labels: Option<&Labels>,
    now: jiff::Timestamp,
) -> Vec<Command> {
    let name = &*namespace.name;
    if !is_name(name) {
        return Vec::new();
    }
    let mark = now.as_second().to_string();
    let known = labels.into_iter().flat_map(Labels::iter);
    let mut all: BTreeMap<&str, &str> = known.map(|(key, value)| (&**key, &**value)).collect();
    all.insert(RECREATED, &mark);
    let body = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": { "name": name, "labels": all },
    });
    let create = ["create", "--filename=-"].map(str::to_owned).into();
    let create = Command::new(Purpose::Act, Place::Kubectl, create, Some(body.to_string()));
    let create = create.map(|create| {
        create.with_request(Request {
            verb: Verb::Create,
            path: "/api/v1/namespaces".to_owned(),
            body,
            object: namespace.clone(),
            uid: None,
        })
    });
    let selector = format!("--selector={RECREATED}={mark}");
    let delete = kubectl(Purpose::Act, &["delete", "namespaces", &selector, "--wait=false"]);
    create.into_iter().chain(delete).collect()
}

/// The path of an object in the API.
pub(super) fn path(kind: &Kind, object: &ObjectRef) -> Option<String> {
    let group = (!kind.group.is_empty()).then_some(&*kind.group);
    let namespace = object.namespace.as_deref();
    let names =
        [&*kind.version, &*kind.plural, &*object.name].into_iter().chain(group).chain(namespace);
    if !names.into_iter().all(is_name) {
        return None;
    }
    let root = group.map_or_else(|| "/api".to_owned(), |group| format!("/apis/{group}"));
    let within = namespace.map_or_else(String::new, |it| format!("/namespaces/{it}"));
    Some(format!("{root}/{}{within}/{}/{}", kind.version, kind.plural, object.name))
}

/// A command on a node, as root.
pub(super) fn on_node(purpose: Purpose, node: &Arc<str>, args: &[&str]) -> Option<Command> {
    let args = args.iter().map(ToString::to_string).collect();
    Command::new(purpose, Place::Node(node.clone()), args, None)
}

/// The mounts of a Pod that are left on its node, the processes that use them, and the kubelet's errors about them.
///
/// The kubelet has the volumes of a Pod below its UID (`pkg/kubelet/kubelet_getters.go`). The list of mounts is read from
/// the kernel and not with a program that visits them, because a mount of a dead server holds each visitor; so the search
/// for processes ends after 20 s.
pub(super) fn look_for_mounts(node: &Arc<str>, pod: &Uid, sub_paths: bool) -> Vec<Command> {
    let uid = pod.to_string();
    if !is_name(&uid) {
        return Vec::new();
    }
    let pods = format!("/var/lib/kubelet/pods/{uid}");
    let (volumes, parts) = (format!("{pods}/volumes"), format!("{pods}/volume-subpaths"));
    let mut search = vec!["timeout", "--signal=KILL", "20", "find", &volumes];
    if sub_paths {
        search.push(&parts);
    }
    // `-xdev`: a mount is found, and what is in it is not searched.
    search.extend(["-xdev", "-mindepth", "2", "-maxdepth", "3", "-exec"]);
    search.extend(["fuser", "--verbose", "--ismountpoint", "--mount", "{}", ";"]);
    let mounts = format!("/pods/{uid}/");
    [&["grep", "-F", &mounts, "/proc/self/mountinfo"][..], &search]
        .into_iter()
        .filter_map(|args| on_node(Purpose::Look, node, args))
        .chain(journal(node, &uid))
        .collect()
}

/// The processes that use a mount that the kubelet named. On the mount of a dead server the search hangs, so it ends after
/// 20 s.
pub(super) fn holders(node: &Arc<str>, path: &str) -> Option<Command> {
    let args =
        ["timeout", "--signal=KILL", "20", "fuser", "--verbose", "--ismountpoint", "--mount", path];
    // `fuser` would read a path that begins with `-` as an option.
    on_node(Purpose::Look, node, &args).filter(|_| path.starts_with('/'))
}

/// The kubelet's lines with a mark, on the node: the UID of a Pod, or the name of a volume.
pub(super) fn journal(node: &Arc<str>, mark: &str) -> Option<Command> {
    let grep = format!("--grep={mark}");
    let args = ["journalctl", "--unit=kubelet", "--since=-10min", "--no-pager", &grep];
    on_node(Purpose::Look, node, &args).filter(|_| is_name(mark))
}

/// The same through the API server, where the kubelet answers log queries (`enableSystemLogQuery`) and the reader may
/// `get nodes/proxy`. The path ends with a slash: without it the kubelet redirects, and the query gets lost.
pub(super) fn journal_by_proxy(node: &Arc<str>, mark: &str) -> Option<Command> {
    if !is_name(node) || !is_name(mark) {
        return None;
    }
    let path =
        format!("/api/v1/nodes/{node}/proxy/logs/?query=kubelet&pattern={mark}&tailLines=500");
    kubectl(Purpose::Look, &["get", &format!("--raw={path}")])
}

/// The Pods that the container runtime of a node runs, as its kubelet lists them.
pub(super) fn running_pods(node: &Arc<str>) -> Option<Command> {
    by_proxy(node, "runningpods/")
}

/// The metrics of a kubelet.
pub(super) fn kubelet_metrics(node: &Arc<str>) -> Option<Command> {
    by_proxy(node, "metrics")
}

fn by_proxy(node: &Arc<str>, below: &str) -> Option<Command> {
    let path = is_name(node).then(|| format!("/api/v1/nodes/{node}/proxy/{below}"))?;
    kubectl(Purpose::Look, &["get", &format!("--raw={path}")])
}

#[cfg(test)]
mod tests {
    use std::process;

    use proptest::prelude::*;

    use super::*;

    /// The words that a real shell makes of a line.
    fn read_by_shell(line: &str) -> Vec<String> {
        let script = format!("set -- {line}; for word; do printf '%s\\0' \"$word\"; done");
        let output = process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(output.stderr.is_empty(), "{output:?}");
        let words = String::from_utf8(output.stdout).unwrap();
        words.split_terminator('\0').map(str::to_owned).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn shell_reads_every_word_as_it_was(
            words in prop::collection::vec("[ -~]{0,12}|[ '\"$`\\\\!*?~#;&|<>(){}=\\[\\]-]{0,8}|\\PC{0,6}", 1..5),
        ) {
            let quoted: Option<Vec<String>> = words.iter().map(|word| quoted(word)).collect();
            if let Some(quoted) = quoted {
                prop_assert_eq!(read_by_shell(&quoted.join(" ")), words);
            }
        }

        #[test]
        fn word_with_a_control_character_has_no_quotes_that_hold_it(
            before in ".{0,4}", control in "[\\x00-\\x1f\\x7f\u{80}-\u{9f}\u{200b}\u{202e}\u{2028}\u{feff}]", after in ".{0,4}",
        ) {
            prop_assert_eq!(quoted(&format!("{before}{control}{after}")), None);
        }

        #[test]
        fn name_never_leaves_its_segment_of_a_path(name in "[a-z./%?# -]{1,8}") {
            let is_segment = !name.contains(['/', '%', '?', '#', ' ']) && !name.starts_with(['.', '-']);
            prop_assert!(!is_name(&name) || is_segment);
        }
    }

    #[test]
    fn context_is_quoted_as_well() {
        let command = kubectl(Purpose::Look, &["get", "nodes"]).unwrap();
        assert_eq!(
            command.line("it's; rm -rf /").unwrap(),
            r"kubectl '--context=it'\''s; rm -rf /' get nodes"
        );
        assert_eq!(command.line("a\nb"), None);
    }
}
