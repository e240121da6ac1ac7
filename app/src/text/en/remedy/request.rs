//! The request that Unwind sends for a remedy.

use teardown::remedy::{Purpose, Remedy, Request, Verb};

/// The method and the path of each request that Unwind sends for it, in a sentence; none for what a person does.
pub(super) fn requests(remedy: &Remedy) -> Option<String> {
    let mut acting = remedy.commands.iter().filter(|it| it.purpose == Purpose::Act);
    acting.find_map(|it| it.request.as_ref()).map(sent)
}

fn sent(Request { verb, path, object, .. }: &Request) -> String {
    let sent = match verb {
        Verb::JsonPatch => format!("PATCH {path} (JSON patch)"),
        Verb::MergePatch => format!("PATCH {path} (merge patch)"),
        Verb::Delete => format!("DELETE {path}"),
        // The only object that a remedy creates is a namespace, which is deleted at once.
        Verb::Create => format!("POST {path}, then DELETE {path}/{}", object.name),
        Verb::Replace => format!("PUT {path}"),
    };
    format!("Unwind sends {sent}.")
}

#[cfg(test)]
mod tests {
    use teardown::object::ObjectRef;

    use super::*;

    #[test]
    fn every_request_is_named_with_its_method_and_its_path() {
        let of = |verb, path: &str| {
            sent(&Request {
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
        assert_eq!(of(Verb::Delete, one), format!("Unwind sends DELETE {one}."));
        assert_eq!(of(Verb::JsonPatch, one), format!("Unwind sends PATCH {one} (JSON patch)."));
        assert_eq!(of(Verb::MergePatch, one), format!("Unwind sends PATCH {one} (merge patch)."));
        let finalize = "/api/v1/namespaces/a/finalize";
        assert_eq!(of(Verb::Replace, finalize), format!("Unwind sends PUT {finalize}."));
        assert_eq!(of(Verb::Create, all), format!("Unwind sends POST {all}, then DELETE {one}."));
    }
}
