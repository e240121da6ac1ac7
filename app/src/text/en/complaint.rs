//! What is wrong with an answer: what was said of it is quoted, what Unwind found is put into words here.

use teardown::complaint::{Complaint, Fault};

use super::many;

/// A complaint as the end of a sentence or a line of its own.
pub fn complaint(complaint: &Complaint) -> String {
    let fault = match complaint {
        Complaint::Said(said) => return said.clone(),
        Complaint::Found(fault) => &**fault,
    };
    let words = match fault {
        Fault::Silence { seconds } => return format!("no answer within {seconds} s"),
        Fault::TooLarge { mebibytes } => {
            return format!("the answer is larger than {mebibytes} MiB");
        }
        Fault::Answered { code, said } if said.is_empty() => {
            return format!("answered {code} without a word");
        }
        Fault::Answered { code, said } => return format!("answered {code}: {said}"),
        Fault::Unreadable { why } => {
            return format!("what the API server sends cannot be read: {why}");
        }
        Fault::NoDocument { path, why } => {
            return format!("{path} is no discovery document: {why}");
        }
        Fault::BadName { name } => return format!("it serves what no kind may be called: {name}"),
        Fault::Partly { hidden, of, named, whole } => {
            let more = if *hidden > named.len() { ", …" } else { "" };
            return format!(
                "hidden in {hidden} of {} ({}{more}): {}",
                namespaces(*of),
                named.join(", "),
                self::complaint(whole)
            );
        }
        Fault::Unbounded { seen, whole } => {
            return format!(
                "seen in {}, and nobody can tell which others there are: {}",
                namespaces(*seen),
                self::complaint(whole)
            );
        }
        Fault::Credentials => "the credentials of the kubeconfig’s user could not be obtained",
        Fault::NoApiServer => "what answers is no API server",
        Fault::Stale => "its API server does not answer, so its kinds are unknown",
        Fault::NoPath => "its name has no path in the API",
        Fault::NoVersion => "it came without a resourceVersion to watch from",
        Fault::NoUid => "the answer holds no UID",
        Fault::Crowded => "too many single namespaces are watched already",
        Fault::Queued => "too many calls are waiting",
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
    fn what_was_said_of_a_whole_stands_at_the_end() {
        let whole = || Box::new(Complaint::from("secrets is forbidden"));
        let named = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        for (fault, sentence) in [
            (
                Fault::Partly { hidden: 2, of: 3, named: named(&["bank", "dark"]), whole: whole() },
                "hidden in 2 of 3 namespaces (bank, dark): secrets is forbidden",
            ),
            (
                Fault::Partly {
                    hidden: 39,
                    of: 40,
                    named: named(&["a", "b", "c"]),
                    whole: whole(),
                },
                "hidden in 39 of 40 namespaces (a, b, c, …): secrets is forbidden",
            ),
            (
                Fault::Unbounded { seen: 1, whole: whole() },
                "seen in 1 namespace, and nobody can tell which others there are: secrets is forbidden",
            ),
            (Fault::Answered { code: 500, said: String::new() }, "answered 500 without a word"),
            (Fault::Answered { code: 500, said: "boom".into() }, "answered 500: boom"),
        ] {
            assert_eq!(complaint(&fault.into()), sentence);
        }
    }
}
