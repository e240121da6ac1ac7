//! The remedies that persons had Unwind do, each in one line. Only the server asks for it: see `teardown::advice`.

use teardown::{
    advice::{Advice, Fact, SWITCHED_OFF, Way, WayCommand, WayOffer},
    object::{ObjectRef, ServiceRef},
    remedy::{Attempt, AttemptOutcome, Harm, PutBack, SwitchedOff},
};

use super::{proof::remedy_proof, remedy_title};
use crate::text::{absolute, api_problem, isolated, named};

/// An attempt with its outcome.
pub fn attempt(attempt: &Attempt) -> String {
    let title = remedy_title(&attempt.act, Some(&attempt.request.object));
    let title = match attempt.undoes {
        Some(_) => format!("Taken back: {title}"),
        None => title,
    };
    let said = match attempt.statement.as_str() {
        "" => String::new(),
        statement => format!(" “{}”", isolated(statement)),
    };
    let (at, by) = (absolute(attempt.asked), isolated(&attempt.by));
    format!("{at}, {by}: {title}. {}{said}", outcome(attempt))
}

fn outcome(attempt: &Attempt) -> String {
    match &attempt.outcome {
        AttemptOutcome::Sending => "It is on its way.".to_owned(),
        AttemptOutcome::Changed { object } => {
            format!("Not done: {} has changed since you looked.", named(object))
        }
        AttemptOutcome::NotSent { message } => {
            format!("Not sent: {}", api_problem(message))
        }
        AttemptOutcome::Interrupted => {
            "Not sent: the server or the attempt ended before the request left.".to_owned()
        }
        AttemptOutcome::Refused { message } => {
            format!("The API server refused: {}", api_problem(message))
        }
        AttemptOutcome::Accepted { meanwhile: None } if attempt.undoes.is_some() => {
            "The API server accepted it.".to_owned()
        }
        AttemptOutcome::Accepted { meanwhile: None } => format!(
            "The API server accepted it. Its card goes when nothing waits any more. {}",
            remedy_proof(&attempt.act)
        ),
        AttemptOutcome::Accepted { meanwhile: Some(object) } => {
            format!(
                "The API server accepted it. While this was sent, {} changed: look before you do more.",
                named(object)
            )
        }
        AttemptOutcome::Unfinished { message, meanwhile } => format!(
            "The API server accepted the first part, and the second is not done: {}. It is among the things that are switched off until somebody finishes it.{}",
            api_problem(message),
            changed_too(meanwhile.as_ref())
        ),
        AttemptOutcome::MadeOther { object } => format!(
            "The API server accepted the first part, but its answer is not {} as Unwind asked for it: something changed the object on the way. The second part was not sent. Look at the object, and delete it if it is not to stay.",
            named(object)
        ),
        AttemptOutcome::Unknown { message, meanwhile } => format!(
            "Its effect is unknown: {}. Look at the object before you try again.{}",
            message
                .as_ref()
                .map_or_else(|| "the server ended before the answer".to_owned(), api_problem),
            changed_too(meanwhile.as_ref())
        ),
    }
}

/// The object that changed around a request of which nobody knows whether it was done. One that cannot be read again counts as changed.
fn changed_too(meanwhile: Option<&ObjectRef>) -> String {
    meanwhile.map_or_else(String::new, |object| {
        format!(
            " While this was sent, {} changed, or could not be read again: look at it too.",
            named(object)
        )
    })
}

/// The things that are switched off, each as a fact with the time since when, and as a way to put it back.
pub fn switched_off_advice(off: &[PutBack]) -> Advice {
    let fact = |off: &PutBack| Fact {
        text: format!("{} {}", named(&off.attempt.request.object), state_of(off.what)),
        at: Some(off.attempt.asked),
    };
    Advice {
        evidence: off.iter().map(fact).collect(),
        ways: off.iter().map(put_back).collect(),
        ..Advice::default()
    }
}

fn state_of(what: SwitchedOff) -> &'static str {
    match what {
        SwitchedOff::Node => "is marked out of service",
        SwitchedOff::Webhook => "lets requests pass that it cannot check",
        SwitchedOff::Configuration | SwitchedOff::Api => "is deleted",
        SwitchedOff::Workload => "is scaled to 0",
        SwitchedOff::ClaimPolicy => "keeps the claims of replicas that it removes (Retain)",
        SwitchedOff::Reclaim => "is set to keep its data (Retain)",
        SwitchedOff::Parent => "is suspended by a run",
        SwitchedOff::Conversion => "does not convert its objects",
        SwitchedOff::Namespace => "was created again and is not deleted",
    }
}

pub(in crate::text::en) fn put_back(off: &PutBack) -> Way {
    let PutBack { attempt, what, by_unwind, line, dead_service } = off;
    let object = &attempt.request.object;
    let is = state_of(*what);
    let title = match what {
        SwitchedOff::Namespace => format!("Delete {}", named(object)),
        _ => format!("Put {} back", named(object)),
    };
    let since =
        format!("It {is}, since {}, by {}.", absolute(attempt.asked), isolated(&attempt.by));
    let does = match (by_unwind, line) {
        _ if *what == SwitchedOff::Namespace => format!(
            "{since} It was not deleted after that, so its old content runs again. Delete it, and its content goes with it."
        ),
        (true, _) if *what == SwitchedOff::Parent => format!(
            "{since} It then recreates the objects that it declares, including those that the run deleted, but not a claim’s data."
        ),
        (true, _) => format!("{since} Put it back once the reason for it is over."),
        (false, Some(_)) => {
            format!("{since} Once the reason for it is over, put it back with this command.")
        }
        (false, None) if attempt.undo.is_some() => format!(
            "{since} Unwind has kept the copy that this needs. Start Unwind with --allow-remedies to put it back."
        ),
        (false, None) => format!("{since} Unwind has no copy: put it back by hand."),
    };
    let does = [does, once_back(*what, dead_service.as_ref())].join(" ");
    let command = |line: &String| WayCommand { what: "kubectl".to_owned(), line: line.clone() };
    let offer = by_unwind.then(|| WayOffer {
        diagnosis: SWITCHED_OFF.to_owned(),
        hash: attempt.id.clone(),
        name: object.name.to_string(),
        statement: None,
        machine: Vec::new(),
    });
    Way {
        title,
        harm: match what {
            SwitchedOff::Namespace => Harm::Deletion,
            _ => Harm::Reversible,
        },
        harms: "Switched off".to_owned(),
        does: does.trim_end().to_owned(),
        reaches: Vec::new(),
        loses: Vec::new(),
        needs: Vec::new(),
        undo: None,
        withheld: None,
        commands: line.iter().map(command).collect(),
        offer,
    }
}

/// The consequence of putting a thing back; empty where the sentence before it has it.
fn once_back(what: SwitchedOff, dead_service: Option<&ServiceRef>) -> String {
    if let Some(ServiceRef { namespace, name, .. }) = dead_service {
        let service = isolated(&format!("{namespace}/{name}"));
        return format!(
            "Its Service {service} still has no ready endpoint: namespaces cannot be emptied while it is back. Repair its server first."
        );
    }
    let said = match what {
        SwitchedOff::Node => {
            "While the node does not report, its Pods and volumes wait for it again."
        }
        SwitchedOff::Webhook => {
            "While the webhook does not answer, the requests that it checks are refused again."
        }
        SwitchedOff::Configuration => {
            "While its webhooks do not answer, the requests that they check may be refused again."
        }
        SwitchedOff::Api => {
            "While its server does not answer, namespaces cannot be emptied once it is back: repair the server first."
        }
        SwitchedOff::Workload => "Its Pods then start again.",
        SwitchedOff::ClaimPolicy => {
            "The claims of replicas that it removes are then deleted again."
        }
        SwitchedOff::Reclaim => "Its data is then destroyed once its claim is deleted.",
        SwitchedOff::Conversion => {
            "While its converter does not answer, its objects cannot be read, and namespaces cannot be emptied."
        }
        SwitchedOff::Parent | SwitchedOff::Namespace => "",
    };
    said.to_owned()
}

#[cfg(test)]
mod tests {
    use teardown::{
        object::ObjectRef,
        remedy::{RemedyAct, Request, Verb},
    };

    use super::*;

    fn said(outcome: AttemptOutcome, object: &ObjectRef) -> String {
        attempt(&Attempt {
            id: "a1".to_owned(),
            undoes: None,
            diagnosis: "nodeSilent".to_owned(),
            root: object.clone(),
            act: RemedyAct::Nudge,
            request: Request {
                verb: Verb::Delete,
                path: String::new(),
                body: serde_json::Value::Null,
                object: object.clone(),
                uid: None,
            },
            undo: None,
            by: "Li".to_owned(),
            statement: String::new(),
            asked: jiff::Timestamp::UNIX_EPOCH,
            ended: None,
            outcome,
            settled: false,
            unconfirmed: Vec::new(),
            held: Vec::new(),
        })
    }

    #[test]
    fn object_that_changed_is_named_whether_the_request_was_refused_or_accepted() {
        let object =
            ObjectRef { group: "".into(), kind: "Node".into(), namespace: None, name: "n2".into() };
        let node = named(&object);
        let changed = said(AttemptOutcome::Changed { object: object.clone() }, &object);
        // The API server may have refused a request that was sent.
        assert!(
            changed.ends_with(&format!(". Not done: {node} has changed since you looked.")),
            "{changed}"
        );
        let accepted = AttemptOutcome::Accepted { meanwhile: Some(object.clone()) };
        let accepted = said(accepted, &object);
        assert!(accepted.contains(&format!("While this was sent, {node} changed")), "{accepted}");
    }

    #[test]
    fn object_that_changed_is_named_where_the_effect_is_unknown() {
        let object =
            ObjectRef { group: "".into(), kind: "Node".into(), namespace: None, name: "n2".into() };
        let node = named(&object);
        for message in [None, Some("later".into())] {
            let unknown =
                |meanwhile| AttemptOutcome::Unknown { message: message.clone(), meanwhile };
            let changed = said(unknown(Some(object.clone())), &object);
            let unchanged = said(unknown(None), &object);
            let rest = changed.strip_prefix(&unchanged).unwrap_or_else(|| panic!("{changed}"));
            assert!(rest.starts_with(&format!(" While this was sent, {node} changed")), "{rest}");
        }
        let unfinished = |meanwhile| AttemptOutcome::Unfinished { message: "no".into(), meanwhile };
        let (with, without) =
            (said(unfinished(Some(object.clone())), &object), said(unfinished(None), &object));
        assert!(with.starts_with(&without) && with.contains(&node), "{with}");
        assert!(with.len() > without.len(), "{with}");
    }
}
