//! What is said where the server does not do what it is asked: what happened, what it means, what to do. The server puts
//! these words beside the stable code of each refusal.

use std::{borrow::Cow, fmt::Display};

use teardown::{object::ObjectRef, unknown_reason::UnknownReason};

use super::in_doubt;

/// The words of one refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// What happened.
    pub what: Cow<'static, str>,
    /// What that means.
    pub means: &'static str,
    /// What a person can do.
    pub advice: &'static str,
}

const fn words(what: &'static str, means: &'static str, advice: &'static str) -> Words {
    Words { what: Cow::Borrowed(what), means, advice }
}

fn filled(what: String, means: &'static str, advice: &'static str) -> Words {
    Words { what: what.into(), means, advice }
}

/// No unit of that name.
pub fn unknown_unit(name: impl Display) -> Words {
    filled(
        format!("No unit is called “{name}”"),
        "No object in the cluster belongs to a unit of that name, any more or yet.",
        "Look at the list of units.",
    )
}

/// No plan of that id.
pub fn unknown_plan(id: impl Display) -> Words {
    filled(
        format!("No plan is called “{id}”"),
        "Plans that no run performs are forgotten when the server ends.",
        "Make a new plan of the unit.",
    )
}

/// No run of that id.
pub fn unknown_run(id: impl Display) -> Words {
    filled(
        format!("No run is called “{id}”"),
        "This server’s journal has no such run.",
        "Look at the list of runs.",
    )
}

/// The run has fewer steps.
pub fn unknown_step(step: impl Display) -> Words {
    filled(
        format!("The run has no step {step}"),
        "The run’s plan has fewer steps.",
        "Look at the run’s steps.",
    )
}

pub const NOT_READY: Words = words(
    "The cluster has not been read completely yet",
    "Until every kind has been listed once, something in front of an object could be overlooked.",
    "Wait a few seconds and try again.",
);

pub const EMPTY_PLAN: Words = words(
    "Nothing of the unit can be deleted",
    "Everything that belongs to the unit is kept, or gone already.",
    "Look at the unit: each object says why it is kept.",
);

/// Each object goes before the next; the last is the first again.
pub fn cyclic_plan(path: &[ObjectRef]) -> Words {
    let path: Vec<String> = path.iter().map(ObjectRef::to_string).collect();
    filled(
        format!("The objects wait for each other in a circle: {}", path.join(" → ")),
        "No order satisfies all of the edges on the path, so none is tried.",
        "Remove one of the references on the path by hand, then make a new plan.",
    )
}

pub const STALE_PLAN: Words = words(
    "The cluster has moved since this plan was made",
    "What you confirmed is no longer what would happen. Nothing was deleted.",
    "Make a new plan and look at the differences.",
);

pub const WRONG_HASH: Words = words(
    "The confirmed hash is not the plan’s",
    "What you confirmed is another plan than the one that is named. Nothing was deleted.",
    "Read the plan again and confirm its hash.",
);

pub const WRONG_NAME: Words = words(
    "The typed name is not the unit’s",
    "The name is typed to be sure that this unit is meant. Nothing was deleted.",
    "Type the unit’s name exactly as it is shown.",
);

/// The Pods of a namespace of the plan cannot be seen.
pub fn pods_hidden(reason: &UnknownReason) -> Words {
    filled(
        capital(&in_doubt(reason)),
        "Nobody can tell what Pods that cannot be seen still need. Nothing was deleted.",
        "Restore the right to list Pods, or wait until they are read again; then make a new plan.",
    )
}

/// Another run works on one of the objects.
pub fn overlap(run: impl Display, object: &ObjectRef) -> Words {
    filled(
        format!("Run {run} already works on {object}"),
        "Two runs that touch the same object could not both be proven. Nothing was deleted.",
        "Follow the run that is open, or stop it first.",
    )
}

pub const RUN_ENDED: Words = words(
    "The run is over",
    "It can be read, but no longer steered.",
    "Make a new plan of what is left.",
);

/// The step's deletion was asked for.
pub fn too_late(step: impl Display) -> Words {
    filled(
        format!("Step {step} can no longer be left out"),
        "Its deletion was requested, or that of what it goes with, and Kubernetes cannot take that back.",
        "Wait for it, or look at what holds it.",
    )
}

/// The journal's disk says no.
pub fn journal_unwritable(why: impl Display) -> Words {
    filled(
        format!("The journal cannot be written: {why}"),
        "What could not be recovered after a crash is not begun. Nothing new was deleted.",
        "Make room on the disk of the state directory, or restore the rights to it, and try again.",
    )
}

pub const SHUTTING_DOWN: Words = words(
    "The server is shutting down",
    "The process is ending; open runs go on from the journal at its next start.",
    "Come back when it has been started again; an open page does so by itself.",
);

pub const WRONG_HOST: Words = words(
    "This server does not go by that name",
    "A name that leads to this machine by a trick could make your browser act for somebody else.",
    "Use the address the server printed: 127.0.0.1 or localhost with its port.",
);

pub const FOREIGN_ORIGIN: Words = words(
    "The request comes from another site",
    "Another site’s page may neither read nor do anything here, and its links do not lead here.",
    "Copy the address into the address bar.",
);

pub const NOT_SIGNED_IN: Words = words(
    "You are not signed in",
    "This browser has no session, or it was not used for 12 hours.",
    "Open the link the server printed when it started, or ask somebody who is signed in for another one.",
);

pub const WRONG_TOKEN: Words = words(
    "The link is not valid, or was used before",
    "Every link signs one browser in, once; links made on the page end after an hour.",
    "Ask somebody who is signed in for another link, or start the server again.",
);

pub const TOO_MANY_ATTEMPTS: Words = words(
    "Too many wrong links were tried",
    "Somebody on this machine tries links one after another.",
    "Wait a minute, then open the right link again; it has not been used up.",
);

pub const UNKNOWN_PATH: Words = words(
    "There is nothing at this address",
    "The address is mistyped, or belongs to another version.",
    "Look the address up in the documentation of the API.",
);

pub const WRONG_METHOD: Words = words(
    "This address does not answer that method",
    "Reading is GET, everything else is POST.",
    "Use a method that the header `Allow` names.",
);

pub const LONG_ADDRESS: Words =
    words("The address is too long", "No address here needs to be so long.", "Shorten the query.");

/// `problem` says which part of the address, and why.
pub fn malformed(problem: &str) -> Words {
    filled(
        capital(problem),
        "A part of the address cannot be read.",
        "Look the address up in the documentation of the API.",
    )
}

pub const NOT_JSON: Words = words(
    "The body is not declared as JSON",
    "Only what declares itself as JSON is read; other sites' forms cannot.",
    "Send the header `Content-Type: application/json`.",
);

/// `problem` says where the body is no JSON.
pub fn syntax(problem: &str) -> Words {
    filled(capital(problem), "The body is no JSON.", "Correct the body.")
}

/// `problem` says what the body lacks, or has too much.
pub fn shape(problem: &str) -> Words {
    filled(
        capital(problem),
        "The body is JSON, but not what is asked for here: a field is missing, unknown or of another type.",
        "Look the body up in the documentation of the API.",
    )
}

/// No body may be longer than this.
pub fn too_large(kibibytes: usize) -> Words {
    filled(
        format!("The body is longer than {kibibytes} KiB"),
        "Nothing here needs so long a body.",
        "Send what is asked for.",
    )
}

pub const TOO_SLOW: Words = words(
    "The body did not arrive in time",
    "The connection is too slow, or stopped.",
    "Send it again.",
);

pub const INTERNAL: Words = words(
    "The server made a mistake",
    "It is an error in Unwind, not in what you did; nothing else was affected.",
    "Report it with the request’s id and what the log says beside it.",
);

/// A sentence of somebody else, as the beginning of a paragraph.
fn capital(sentence: &str) -> String {
    let mut rest = sentence.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}
