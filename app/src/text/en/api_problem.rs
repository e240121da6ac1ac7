//! API problems in words. A message of the API server is quoted; problems that Unwind found have their words here.

use teardown::api_problem::{ApiProblem, ProblemCode};

use super::{super::visible, many};

/// A problem as the end of a sentence or a line of its own. Parts of it are the cluster's own words, so it is written with
/// nothing in it that is invisible or turns the direction of writing.
pub fn api_problem(problem: &ApiProblem) -> String {
    visible(&raw(problem))
}

fn raw(problem: &ApiProblem) -> String {
    let fault = match problem {
        ApiProblem::Quoted(said) => return said.clone(),
        ApiProblem::Code(fault) => &**fault,
    };
    let words = match fault {
        ProblemCode::Timeout { seconds } => return format!("no answer within {seconds} s"),
        ProblemCode::TooLarge { mebibytes } => {
            return format!("the answer is larger than {mebibytes} MiB");
        }
        ProblemCode::Status { code, said } if said.is_empty() => {
            return format!("answered {code} without a message");
        }
        ProblemCode::Status { code, said } => return format!("answered {code}: {said}"),
        ProblemCode::Unreadable { why } => {
            return format!("the answer of the API server cannot be read: {why}");
        }
        ProblemCode::NotDiscovery { path, why } => {
            return format!("{path} is not a discovery document: {why}");
        }
        ProblemCode::InvalidName { name } => {
            return format!("it serves a kind with an invalid name: {name}");
        }
        ProblemCode::Unlisted { resource, why } => {
            return format!("{resource} cannot be listed: {}", raw(why));
        }
        ProblemCode::HiddenInNamespaces { hidden, of, named, whole } => {
            let more = if *hidden > named.len() { ", …" } else { "" };
            return format!(
                "hidden in {hidden} of {} ({}{more}): {}",
                namespaces(*of),
                named.join(", "),
                raw(whole)
            );
        }
        ProblemCode::NamespacesUnknown { seen, whole } => {
            return format!(
                "visible in {}; which other namespaces exist is not known: {}",
                namespaces(*seen),
                raw(whole)
            );
        }
        ProblemCode::Credentials => {
            "the credentials of the kubeconfig’s user could not be obtained"
        }
        ProblemCode::NotAnApiServer => "this is not an API server",
        ProblemCode::Stale => "its API server does not answer, so its kinds are unknown",
        ProblemCode::NoPath => "its name cannot be part of a path in the API",
        ProblemCode::NoResourceVersion => "the list has no resourceVersion to watch from",
        ProblemCode::NoUid => "the answer has no UID",
        ProblemCode::TooManyNamespaces => "too many namespaces are watched one by one already",
        ProblemCode::QueueFull => "too many calls are waiting",
    };
    words.to_owned()
}

fn namespaces(count: usize) -> String {
    many(count, "namespace", "namespaces")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_cluster_are_shown_without_marks_of_direction() {
        let whole = Box::new(ApiProblem::from("no\u{202e}w\u{2028}"));
        let problem = ProblemCode::NamespacesUnknown { seen: 1, whole };
        assert!(api_problem(&problem.into()).ends_with("is not known: no⟨U+202E⟩w⟨U+2028⟩"));
        assert_eq!(api_problem(&"a\u{1b}[31mb".into()), "a⟨U+001B⟩[31mb");
    }

    #[test]
    fn problem_of_a_whole_kind_stands_at_the_end() {
        let whole = || Box::new(ApiProblem::from("secrets is forbidden"));
        let named = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        for (fault, sentence) in [
            (
                ProblemCode::HiddenInNamespaces {
                    hidden: 2,
                    of: 3,
                    named: named(&["bank", "dark"]),
                    whole: whole(),
                },
                "hidden in 2 of 3 namespaces (bank, dark): secrets is forbidden",
            ),
            (
                ProblemCode::HiddenInNamespaces {
                    hidden: 39,
                    of: 40,
                    named: named(&["a", "b", "c"]),
                    whole: whole(),
                },
                "hidden in 39 of 40 namespaces (a, b, c, …): secrets is forbidden",
            ),
            (
                ProblemCode::NamespacesUnknown { seen: 1, whole: whole() },
                "visible in 1 namespace; which other namespaces exist is not known: secrets is forbidden",
            ),
            (
                ProblemCode::Status { code: 500, said: String::new() },
                "answered 500 without a message",
            ),
            (ProblemCode::Status { code: 500, said: "boom".into() }, "answered 500: boom"),
        ] {
            assert_eq!(api_problem(&fault.into()), sentence);
        }
    }
}
