//! The request of a remedy, which Unwind sends where it is offered.

use teardown::remedy::{Purpose, Remedy, Request, Verb};

/// The method and the path of each request, in a sentence; none for what a person does on a node.
pub(super) fn requests(remedy: &Remedy, is_offered: bool) -> Option<String> {
    let mut acting = remedy.commands.iter().filter(|it| it.purpose == Purpose::Act);
    let request = acting.find_map(|it| it.request.as_ref()).map(written)?;
    Some(if is_offered {
        format!("Unwind sends {request}.")
    } else {
        format!("The request is {request}.")
    })
}

fn written(Request { verb, path, object, .. }: &Request) -> String {
    match verb {
        Verb::JsonPatch => format!("PATCH {path} (JSON patch)"),
        Verb::MergePatch => format!("PATCH {path} (merge patch)"),
        Verb::Delete => format!("DELETE {path}"),
        // The only object that a remedy creates is a namespace, which is deleted at once.
        Verb::Create => format!("POST {path}, then DELETE {path}/{}", object.name),
        Verb::Replace => format!("PUT {path}"),
    }
}

#[cfg(test)]
mod tests {
    use teardown::object::ObjectRef;

    use super::*;

    #[test]
    fn every_request_is_named_with_its_method_and_its_path() {
        let of = |verb, path: &str| {
            written(&Request {
                verb,
                path: path.to_owned(),
                body: Default::default(),
                object: ObjectRef {
                    group: "".into(),
                    kind: "Namespace".into(),
                    namespace: None,
                    name: "a".into(),
                },
                uid: None,
            })
        };
        let (all, one) = ("/api/v1/namespaces", "/api/v1/namespaces/a");
        assert_eq!(of(Verb::Delete, one), format!("DELETE {one}"));
        assert_eq!(of(Verb::JsonPatch, one), format!("PATCH {one} (JSON patch)"));
        assert_eq!(of(Verb::MergePatch, one), format!("PATCH {one} (merge patch)"));
        let finalize = "/api/v1/namespaces/a/finalize";
        assert_eq!(of(Verb::Replace, finalize), format!("PUT {finalize}"));
        assert_eq!(of(Verb::Create, all), format!("POST {all}, then DELETE {one}"));
    }
}
