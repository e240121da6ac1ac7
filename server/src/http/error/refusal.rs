//! The sentences of each refusal, beside its stable code: what happened, what it means and what to do.

use std::{borrow::Cow, fmt::Display};

use app::text::{
    goes_unproven, goes_unreported, isolated, named, shortened, some_of, unknown_reason, visible,
};
use teardown::{
    object::ObjectRef,
    plan::{Choice, Parts},
    remedy::RemedyRefusal,
    unknown_reason::UnknownReason,
};

/// The most parts of a plan that a sentence names.
const UNCONFIRMED: usize = 8;

/// The words of one refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) what: Cow<'static, str>,
    pub(super) means: &'static str,
    pub(super) advice: &'static str,
}

const fn words(what: &'static str, means: &'static str, advice: &'static str) -> Words {
    Words { what: Cow::Borrowed(what), means, advice }
}

fn filled(what: String, means: &'static str, advice: &'static str) -> Words {
    Words { what: what.into(), means, advice }
}

/// No unit of that name.
pub(super) fn unknown_unit(name: impl Display) -> Words {
    filled(
        format!("No unit is called “{}”", isolated(&name.to_string())),
        "No object in the cluster belongs to a unit of that name.",
        "Look at the list of units.",
    )
}

/// No plan of that id.
pub(super) fn unknown_plan(id: impl Display) -> Words {
    filled(
        format!("No plan is called “{}”", isolated(&id.to_string())),
        "A plan without a run is lost when the server stops.",
        "Make a new plan of the unit.",
    )
}

/// No run of that id.
pub(super) fn unknown_run(id: impl Display) -> Words {
    filled(
        format!("No run is called “{}”", isolated(&id.to_string())),
        "This server’s journal has no such run.",
        "Look at the list of runs.",
    )
}

/// Nothing waits for that cause.
pub(super) const UNKNOWN_DIAGNOSIS: Words = words(
    "Nothing waits for this cause any more",
    "The deletion went on, or waits for something else now.",
    "Look at the list of trouble.",
);

/// The run has fewer steps.
pub(super) fn unknown_step(step: impl Display) -> Words {
    filled(
        format!("The run has no step {step}"),
        "The run’s plan has fewer steps.",
        "Look at the run’s steps.",
    )
}

pub(super) const NOT_READY: Words = words(
    "The cluster has not been read completely yet",
    "Until every kind has been listed once, a plan could overlook a dependency.",
    "Wait a few seconds and try again.",
);

pub(super) const EMPTY_PLAN: Words = words(
    "Nothing of the unit can be deleted",
    "Every object of the unit is kept or already gone.",
    "See the unit’s page: each object says why it is kept.",
);

/// Each object goes before the next; the last is the first again.
pub(super) fn cyclic_plan(path: &[ObjectRef]) -> Words {
    let path: Vec<String> = path.iter().map(named).collect();
    filled(
        format!("The objects wait for each other in a circle: {}", path.join(" → ")),
        "No order of deletion satisfies all of these dependencies, so Unwind does not try one.",
        "Remove one of the references on the path by hand, then make a new plan.",
    )
}

/// The data is to be kept, and an operator would delete it.
pub(super) fn deletes_claims(object: &ObjectRef, mark: &str) -> Words {
    filled(
        format!("{} would take its claims along: {}", named(object), isolated(mark)),
        "Its operator deletes the claims when the object goes, so this plan could not keep the data.",
        "Change that on the object, or leave the object out of the plan.",
    )
}

/// A choice that names nothing of the unit.
pub(super) fn unknown_choice(choice: &Choice) -> Words {
    let (name, value) = choice.pair();
    filled(
        format!("The choice {name}={} is about nothing", isolated(&value)),
        "The unit has no such object, kind or namespace. No plan was made, because a mistyped name would be deleted.",
        "Correct the name, or take the choice out if the object is gone.",
    )
}

pub(super) const STALE_PLAN: Words = words(
    "The cluster has moved since this plan was made",
    "Starting it would not do what you confirmed. Nothing was deleted.",
    "Make a new plan and look at the differences.",
);

pub(super) const WRONG_HASH: Words = words(
    "The confirmed hash is not the plan’s",
    "You confirmed a different plan. Nothing was deleted.",
    "Read the plan again and confirm its hash.",
);

pub(super) const WRONG_NAME: Words = words(
    "The typed name is not the unit’s",
    "Typing the name confirms that you mean this unit. Nothing was deleted.",
    "Type the unit’s name exactly as it is shown.",
);

/// Parts of a plan that nobody confirmed one by one.
pub(super) fn unconfirmed(missing: &Parts) -> Words {
    let objects: Vec<String> = missing.destroys.iter().map(|it| named(&it.0)).collect();
    let kinds = missing.unproven.iter().map(goes_unproven);
    let nodes = missing.unreported.iter().map(|node| goes_unreported(node));
    let waived = missing
        .waived
        .iter()
        .map(|it| format!("Nobody confirmed that {} goes although others use it", named(&it.0)));
    let sentences = kinds.chain(nodes).chain(waived).take(UNCONFIRMED);
    let objects = (!objects.is_empty())
        .then(|| format!("Nobody confirmed by name: {}", some_of(&objects, UNCONFIRMED)));
    let said: Vec<String> = objects.into_iter().chain(sentences).collect();
    filled(
        said.join(". "),
        "Their loss cannot be undone, and the plan’s hash alone does not say that you know. Nothing was deleted.",
        "Name each object in “destroys” or “waived”, each kind in “unproven” and each node in “unreported”; this answer has the lists.",
    )
}

/// The Pods of a namespace of the plan cannot be seen.
pub(super) fn pods_hidden(reason: &UnknownReason) -> Words {
    filled(
        capital(&unknown_reason(reason)),
        "Pods that cannot be seen may still need these objects. Nothing was deleted.",
        "Restore the right to list Pods, or wait until they are read again; then make a new plan.",
    )
}

/// Another run works on one of the objects.
pub(super) fn overlap(run: impl Display, object: &ObjectRef) -> Words {
    filled(
        format!("Run {run} already works on {}", named(object)),
        "Two runs must not delete the same object. Nothing was deleted.",
        "Follow the open run, or stop it first.",
    )
}

/// A run that cannot be read may have worked on one of the objects.
pub(super) fn set_aside(run: impl Display, object: Option<&ObjectRef>) -> Words {
    let run = isolated(&run.to_string());
    let what = match object {
        Some(object) => {
            format!("Run {run} may still work on {}, and cannot be read", named(object))
        }
        None => format!("Run {run} may still work on anything here, and cannot be read"),
    };
    filled(
        what,
        "Its records in the journal are damaged, and its end is not among them. Nothing was deleted.",
        "Look at its objects, then release the run at /journal.",
    )
}

pub(super) const RUN_ENDED: Words = words(
    "The run is over",
    "It can be read, but not changed.",
    "Make a new plan of what is left.",
);

pub(super) const NOT_STOPPED: Words = words(
    "The run was not stopped",
    "An open run needs what it suspended, and one that finished keeps suspended what would make again what went. Nothing was sent.",
    "Stop the run first.",
);

/// The step's deletion was asked for.
pub(super) fn too_late(step: impl Display) -> Words {
    filled(
        format!("The run can no longer skip step {step}"),
        "Its deletion, or that of its owner, was requested and cannot be undone.",
        "Wait for it, or check what holds it.",
    )
}

/// The step waits for nothing that a person could take on.
pub(super) fn nothing_to_take_on(step: impl Display) -> Words {
    filled(
        format!("Step {step} waits for nothing that went unconfirmed"),
        "Only what waits for Pods without a report that they have ended, or for objects that lost a finalizer by hand, can be opened by a person.",
        "Look at the step again: it may have gone on by itself.",
    )
}

/// An object joined those that the person saw, or left them.
pub(super) fn other_pods(step: impl Display) -> Words {
    filled(
        format!("Step {step} waits for other objects than those you were shown"),
        "You would answer for an object that you have not seen. Nothing was deleted.",
        "Open the question again and check each object in the list.",
    )
}

pub(super) const WRONG_OBJECT_NAME: Words = words(
    "The typed name is not the step’s object’s",
    "Typing the name confirms that you mean this object. Nothing was deleted.",
    "Type the object’s name exactly as it is shown.",
);

/// A remedy that was confirmed is not done.
pub(super) fn remedy(why: &RemedyRefusal) -> Words {
    match why {
        RemedyRefusal::Changed => words(
            "The cluster has changed since this remedy was shown",
            "You confirmed something that is not true any more. Nothing was sent.",
            "Read the card again, and decide anew.",
        ),
        RemedyRefusal::ByHand => words(
            "Unwind cannot do this",
            "It is work outside the API of the cluster. Nothing was sent.",
            "Use the commands on the card. The page notices by itself when it is done.",
        ),
        RemedyRefusal::Withheld(_) | RemedyRefusal::NeedFails(_) => words(
            "This remedy cannot be done now",
            "Something that it needs does not hold; the card says what. Nothing was sent.",
            "Use a way out that is less harmful, or see to what is missing first.",
        ),
        RemedyRefusal::MayNot(permission) => Words {
            what: format!("Unwind may not {}", visible(&permission.to_string())).into(),
            means: "The cluster does not give this right to the identity that Unwind works with. Nothing was sent.",
            advice: "Use the command on the card with an identity that may, or grant the right.",
        },
        RemedyRefusal::WrongName => words(
            "The typed name is not the object’s",
            "Typing the name confirms that you mean this object. Nothing was sent.",
            "Type the name exactly as it is shown.",
        ),
        RemedyRefusal::NoStatement => words(
            "Nobody has answered for what the cluster does not show",
            "The remedy needs something that only a person can check. Nothing was sent.",
            "Say who checked what, and how. Your answer is saved with your name.",
        ),
        RemedyRefusal::OtherMachine(names) => {
            let names: Vec<String> = names.iter().map(|name| isolated(name)).collect();
            filled(
                format!("The answer does not say that {} is off", names.join(" or ")),
                "It must be about the machine that this remedy gives up. Nothing was sent.",
                "Have somebody check that machine, and name it in the answer.",
            )
        }
        RemedyRefusal::Busy => words(
            "Another remedy for the same cause is on its way",
            "Its effect must be known first. Nothing was sent.",
            "Wait for its outcome on the card, then look again.",
        ),
    }
}

pub(super) const REMEDIES_OFF: Words = words(
    "This server carries out no remedies",
    "It was started without --allow-remedies. Nothing was sent.",
    "Use the commands on the card, or start the server with --allow-remedies.",
);

/// No attempt has this id.
pub(super) fn unknown_attempt(id: impl Display) -> Words {
    filled(
        format!("There is no remedy {}", isolated(&id.to_string())),
        "It may belong to another cluster.",
        "Take one from the list of things that are switched off.",
    )
}

pub(super) const NOTHING_TO_UNDO: Words = words(
    "There is nothing to put back",
    "It is on again already, or Unwind has no copy of it. Nothing was sent.",
    "If it is still off, create it again from your own copy.",
);

/// The journal’s disk is full or read-only.
pub(super) fn journal_unwritable(why: impl Display) -> Words {
    filled(
        format!("The journal cannot be written: {why}"),
        "Unwind starts nothing that it could not recover after a crash. Nothing new was deleted.",
        "Free disk space for the state directory, or restore its permissions. Open runs then continue. Try again after that.",
    )
}

pub(super) const SHUTTING_DOWN: Words = words(
    "The server is shutting down",
    "Open runs continue from the journal at the next start.",
    "Start the server again; an open page reconnects by itself.",
);

pub(super) const WRONG_HOST: Words = words(
    "This server does not go by that name",
    "A foreign name that resolves to this machine (DNS rebinding) could let another site act in your name.",
    "Use the address the server printed: 127.0.0.1 or localhost with its port.",
);

pub(super) const FOREIGN_ORIGIN: Words = words(
    "The request comes from another site",
    "Pages of other sites may not use or link to this server.",
    "Paste the address into the address bar.",
);

pub(super) const NOT_SIGNED_IN: Words = words(
    "You are not signed in",
    "This browser has no session: it ended, was taken back, or was not used for 12 hours.",
    "Open the link that the server printed when it started, or ask somebody who is signed in for a new one.",
);

/// The session may only look.
pub(super) const NOT_ALLOWED: Words = words(
    "Your session may look, but not change anything",
    "The link that signed this browser in gives the right to look alone, or the server was started with `--read-only`. Nothing was changed.",
    "Ask whoever invited you for a link that may act.",
);

pub(super) const UNKNOWN_LINK: Words = words(
    "You have no such link to take back",
    "The link has expired, was taken back before, or was made by somebody whom you did not invite.",
    "Read the list of links again.",
);

pub(super) const WRONG_TOKEN: Words = words(
    "The link is not valid, or was used before",
    "Each link signs in one browser, once; links made on the page expire after an hour, and can be taken back.",
    "Ask somebody who is signed in for another link, or start the server again.",
);

pub(super) const TOO_MANY_CONNECTIONS: Words = words(
    "Too many connections are open",
    "Every browser tab and every program that follows events holds a connection.",
    "Close tabs that are not needed, then try again.",
);

pub(super) const TOO_MANY_ATTEMPTS: Words = words(
    "Too many wrong links were tried",
    "A program on this machine tries links one after another.",
    "Open the right link: it still works. Other links are refused for a minute.",
);

pub(super) const UNKNOWN_PATH: Words = words(
    "There is nothing at this address",
    "The address is mistyped, or belongs to another version.",
    "Look the address up in the documentation of the API.",
);

pub(super) const WRONG_METHOD: Words = words(
    "This address does not answer that method",
    "Reading is GET, everything else is POST.",
    "Use a method that the header `Allow` names.",
);

pub(super) const LONG_ADDRESS: Words = words(
    "The address is too long",
    "No address of this server is that long.",
    "Shorten the query.",
);

/// `problem` names the part of the address, and the reason.
pub(super) fn malformed(problem: &str) -> Words {
    filled(
        capital(&bounded(problem)),
        "A part of the address cannot be read.",
        "Look the address up in the documentation of the API.",
    )
}

pub(super) const NOT_JSON: Words = words(
    "The body is not declared as JSON",
    "Only JSON is accepted, which forms of other sites cannot send.",
    "Send the header `Content-Type: application/json`.",
);

/// `problem` says where the syntax is wrong.
pub(super) fn syntax(problem: &str) -> Words {
    filled(capital(&bounded(problem)), "The body is not JSON.", "Correct the body.")
}

/// `problem` names the field.
pub(super) fn shape(problem: &str) -> Words {
    filled(
        capital(&bounded(problem)),
        "The body is JSON, but a field is missing, unknown or of the wrong type.",
        "Look the body up in the documentation of the API.",
    )
}

/// No body may be longer than this.
pub(super) fn too_large(kibibytes: usize) -> Words {
    filled(
        format!("The body is longer than {kibibytes} KiB"),
        "No request here needs such a long body.",
        "Send a shorter body.",
    )
}

pub(super) const LONG_PASTE: Words = words(
    "The text is longer than 1 MiB",
    "Nothing of it was read.",
    "Of a log, paste its last lines; of metrics, those that begin with kubelet_ or storage_operation_.",
);

/// A list of Pods without its end.
pub(super) const CUT_LIST: Words = words(
    "The list of Pods is not whole",
    "Its end is missing, and perhaps the Pod with it. Nothing of it was read.",
    "Paste all that the command prints.",
);

/// A list of Pods as the API server has them, or of something else.
pub(super) const OTHER_LIST: Words = words(
    "This is not the list of what a container runtime runs",
    "Pods as the API server or the kubelet has them do not say what runs on the node. Nothing of it was read.",
    "Use the command on the card that ends with runningpods/, and paste its whole output.",
);

pub(super) const OTHER_METRICS: Words = words(
    "These are not the metrics of a kubelet",
    "No line of them begins with kubelet_, so another program counts in them. Nothing of it was read.",
    "Use the command on the card that ends with metrics, and paste its whole output.",
);

pub(super) const TOO_SLOW: Words = words(
    "The body did not arrive in time",
    "The connection is too slow, or stopped.",
    "Send it again.",
);

pub(super) const INTERNAL: Words = words(
    "The server failed",
    "This is a bug in Unwind, not in your request; nothing else was affected.",
    "Report it with the request’s id and the log lines beside it.",
);

/// The longest part of a sentence that a client has written itself.
const LONGEST: usize = 300;

/// The words of a parser, which repeat parts of the request: of a bounded length, with nothing in them that is invisible
/// or turns the direction of writing.
fn bounded(problem: &str) -> String {
    shortened(&visible(problem), LONGEST)
}

/// The sentence with a capital letter.
fn capital(sentence: &str) -> String {
    let mut rest = sentence.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}
