//! The findings of a preflight. Only the server asks for them: see `teardown::preflight`.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use teardown::{
    advice::{Advice, Way},
    api_problem::ApiProblem,
    object::ObjectRef,
    preflight::{
        Asked, CheckState, HiddenBy, Note, NoteCard, NoteCode, Predicted, PreflightCard,
        PreflightView, Severity, Unasked,
    },
    remedy::Harm,
};

use crate::text::{
    absolute, and_more, api_problem, cause, isolated, many, named, names, objects, unknown_reason,
};

const LOOK_AGAIN: &str = "Repair it, then check again.";

/// A preflight in sentences.
pub fn preflight(view: &PreflightView) -> PreflightCard {
    let PreflightView { state, checked, total, at, notes, more, refusals, .. } = view;
    let mut cards: Vec<NoteCard> = notes.iter().map(card).collect();
    if *more > 0 {
        cards.push(NoteCard {
            severity: Severity::Info,
            title: format!("{} not shown", many(*more, "more finding is", "more findings are")),
            meaning: "Only the worst findings are shown.".to_owned(),
            what_to_do: "Solve those above, then check again.".to_owned(),
            objects: Vec::new(),
            more: 0,
        });
    }
    let advice = Advice {
        log: None,
        first: Vec::new(),
        expected: expected(*refusals),
        confidence: progress(view),
        ways: cards.iter().map(drawn).collect(),
        chain: Vec::new(),
        evidence: Vec::new(),
        attempts: Vec::new(),
        note: if *state == CheckState::Running { String::new() } else { markdown(view, &cards) },
    };
    let (state, checked, total, at) = (*state, *checked, *total, *at);
    PreflightCard { state, checked, total, at, notes: cards, advice }
}

/// The findings for a ticket.
fn markdown(view: &PreflightView, cards: &[NoteCard]) -> String {
    let lines = cards.iter().map(|note| {
        let count = objects(note.objects.len() + note.more);
        format!("- {}: {} ({count})\n", label(note.severity), note.title)
    });
    format!("{}\n\n{}", progress(view), lines.collect::<String>())
}

fn label(severity: Severity) -> &'static str {
    match severity {
        Severity::Refusal => "Refusal",
        Severity::Warning => "Warning",
        Severity::Info => "Information",
    }
}

/// A finding in the form that a page draws.
fn drawn(note: &NoteCard) -> Way {
    let harm = match note.severity {
        Severity::Refusal => Harm::DataLoss,
        Severity::Warning => Harm::Interruption,
        Severity::Info => Harm::None,
    };
    let mut named: Vec<String> = note.objects.iter().map(named).collect();
    if note.more > 0 {
        named.push(and_more(note.more));
    }
    Way {
        title: note.title.clone(),
        harm,
        harms: label(note.severity).to_owned(),
        does: note.meaning.clone(),
        reaches: vec![format!("To do: {}", note.what_to_do)],
        loses: named,
        needs: Vec::new(),
        undo: None,
        withheld: None,
        commands: Vec::new(),
        offer: None,
    }
}

fn progress(view: &PreflightView) -> String {
    let at = view.at.map_or_else(String::new, |at| format!(" at {}", absolute(at)));
    match view.state {
        CheckState::NotRun => "Not checked yet.".to_owned(),
        CheckState::Running | CheckState::Done => {
            let (checked, total) = (view.checked, objects(view.total));
            let more = if view.awaits_manager {
                " Still to come, within 90 s: whether the kube-controller-manager runs."
            } else {
                ""
            };
            format!("Checked {checked} of {total}{at}: {}{more}", found(view))
        }
    }
}

/// The number of findings of each severity.
fn found(view: &PreflightView) -> String {
    let of = |severity| view.notes.iter().filter(|note| note.severity == severity).count();
    let counts = [
        (view.refusals, "refusal", "refusals"),
        (of(Severity::Warning), "warning", "warnings"),
        (of(Severity::Info), "piece of information", "pieces of information"),
    ];
    let counts = counts.iter().filter(|(count, ..)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, one, more)| many(*count, one, more)).collect();
    match (counts.is_empty(), view.state) {
        (true, CheckState::Running) => "nothing so far…".to_owned(),
        (true, _) => "nothing was found.".to_owned(),
        (false, CheckState::Running) => format!("{} so far…", counts.join(", ")),
        (false, _) => format!("{}.", counts.join(", ")),
    }
}

/// The course of things if the plan is started as it is.
fn expected(refusals: usize) -> String {
    if refusals == 0 {
        return "No check expects a refusal.".to_owned();
    }
    format!(
        "{}: as things are, some objects are not deleted, or their deletion does not end. You can start all the same. The run then deletes the rest, and waits for somebody to act.",
        many(refusals, "check expects a refusal", "checks expect refusals")
    )
}

fn card(note: &Note) -> NoteCard {
    let (title, meaning, what_to_do) = sentences(&note.code);
    NoteCard {
        severity: note.severity,
        title,
        meaning,
        what_to_do,
        objects: note.objects.clone(),
        more: note.total.saturating_sub(note.objects.len()),
    }
}

/// The finding, the consequence and the advice.
fn sentences(code: &NoteCode) -> (String, String, String) {
    let texts = |title: String, meaning: &str, what_to_do: &str| {
        (title, meaning.to_owned(), what_to_do.to_owned())
    };
    match code {
        NoteCode::WebhookDown {
            webhook,
            configuration,
            service,
            exists,
            asked,
            refuses,
            certain,
        } => {
            let asked = (*asked, *refuses, *certain);
            webhook_down(webhook, configuration, (service, *exists), asked)
        }
        NoteCode::ConverterDown { definition, service, exists } => {
            let (why, what_to_do) = unserved(service, *exists);
            texts(
                format!("The conversion webhook of {} cannot answer: {why}", named(definition)),
                "Objects that are stored in another version cannot be read, and no namespace ends while a list of the kind fails.",
                what_to_do,
            )
        }
        NoteCode::ApiDown { group_version } => texts(
            format!("The API {} does not answer", isolated(group_version)),
            "Kubernetes lists every kind before it lets a namespace go. While one API is down, no namespace ends.",
            "Repair the server behind it. If nobody needs the API any more, delete its APIService.",
        ),
        NoteCode::Hidden { why, by } => texts(
            unknown_reason(why),
            "The run cannot prove that nothing of this kind is left or in use, so these objects wait.",
            &format!("{}, or leave these objects out of the plan.", unhide(*by)),
        ),
        NoteCode::NoDeleteVerb { resource } => texts(
            format!("The API cannot delete {}", isolated(resource)),
            "Discovery lists no verb delete for the kind, so every DELETE is refused.",
            "Make the plan again: these objects then stay.",
        ),
        NoteCode::FinisherGone { .. }
        | NoteCode::FinisherNotReady { .. }
        | NoteCode::FinishersNotReady { .. }
        | NoteCode::FinisherHidden { .. } => finisher(code),
        NoteCode::CloudControllerUnseen => texts(
            "Whether a cloud controller runs is not known".to_owned(),
            "It removes the load balancers of these Services. Without it, these Services stay after their deletion.",
            "Make sure that it runs. Most clouds run it outside the cluster.",
        ),
        NoteCode::ManagerSilent { .. } | NoteCode::ManagerUnseen { .. } => manager(code),
        NoteCode::StaticPods { node } => texts(
            format!("Static Pods of node {} stay", isolated(node)),
            "The kubelet runs them for as long as their files are there. A DELETE would end none of their containers, and the kubelet would create the Pods again. So their namespaces and what they need stay too.",
            "To have them go, move their files out of the kubelet’s staticPodPath on the node, mostly /etc/kubernetes/manifests. Make the plan again once the kubelet has removed the Pods.",
        ),
        NoteCode::NodeSilent { node } => texts(
            format!("Node {} has stopped reporting", isolated(node)),
            "Nobody confirms that its Pods have ended, so they stay, and their claims and volumes with them.",
            "Bring the node back first. If it is gone for good, tell Kubernetes: the Trouble page lists the ways out.",
        ),
        NoteCode::NodeNotReady { node } => texts(
            format!("Node {} is not ready", isolated(node)),
            "Its kubelet may be unable to end Pods or to unmount their volumes.",
            "Look at the node’s conditions.",
        ),
        NoteCode::DriverMissing { driver, node } => texts(
            format!("The driver {} is not registered on node {}", isolated(driver), isolated(node)),
            "The kubelet cannot unmount the volumes, so the Pods stay.",
            "Bring the driver’s Pod on this node back.",
        ),
        NoteCode::DriverNotReady { driver, node, plugin } => texts(
            format!(
                "{} of the driver {} is not ready on node {}",
                named(plugin),
                isolated(driver),
                isolated(node)
            ),
            "The kubelet may be unable to unmount the volumes, and the Pods stay then.",
            "Look at its log, and make it ready first.",
        ),
        NoteCode::ManagedElsewhere { manager } => texts(
            format!("Jobs that are left to the controller {}", isolated(manager)),
            "Their Pods stay until that controller releases them, or until the Job itself is gone.",
            "If Pods of a Job that was left stay, check that the controller runs and reaches this cluster.",
        ),
        NoteCode::ClaimMissing { claim } => texts(
            format!("{} does not exist any more, and Pods mount it", named(claim)),
            "Its data may be gone under them. Their node may then not be able to unmount the volume, and they stay.",
            "Check the storage behind it first, and restore it if it is gone.",
        ),
        NoteCode::ProvisionerMissing { driver } => texts(
            format!("The driver {} is not installed", isolated(driver)),
            "No node has it registered. The storage behind these volumes may stay, and the volumes with it.",
            "Install the driver again, or delete the storage yourself.",
        ),
        NoteCode::DriverGone { driver, finalizer } => texts(
            format!("The driver {} is not installed", isolated(driver)),
            &format!(
                "No node has it registered. Once deleted, these volumes may stay until it clears the finalizer {}.",
                isolated(finalizer)
            ),
            "Install the driver again.",
        ),
        NoteCode::Waits { diagnosis } => texts(
            format!("Already being deleted, and waiting. {}", cause(diagnosis)),
            "The run waits for this deletion too.",
            "Solve it first: the Trouble page lists its ways out.",
        ),
        NoteCode::Declared { parent } => texts(
            format!("{} declares these objects and is not in the plan", named(parent)),
            "Its controller may create them again as soon as they are gone.",
            "Suspend it or turn off its automatic sync, or delete it first with its pruning turned off.",
        ),
        NoteCode::Reverted { by } => texts(
            format!("{} undoes the suspension", named(by)),
            "It must be suspended before the objects that it declares can go, but its owner, which is not in the plan, resets its spec.",
            "Let the owner leave the sync policy alone (of an ApplicationSet: spec.ignoreApplicationDifferences with \
             /spec/syncPolicy), or delete it first with --cascade=orphan.",
        ),
        NoteCode::DeclaredElsewhere { kind, name } => texts(
            format!("These objects are managed by {kind} {}, which cannot be seen", isolated(name)),
            "It may be in another cluster. If it still exists, its controller may create them again.",
            "Look whether it still exists. If so, suspend it first.",
        ),
        NoteCode::Budgets => texts(
            "Disruption budgets do not hold a teardown".to_owned(),
            "Kubernetes asks them only for evictions, never for a DELETE.",
            "Nothing, if nobody needs these Pods any more.",
        ),
        NoteCode::Unchecked { resources } => texts(
            format!("Not checked: {} cannot be seen", isolated(&resources.join(", "))),
            "No finding about these objects does not mean that nothing will hold them.",
            "Give Unwind the right to list and watch these kinds, then check again.",
        ),
        NoteCode::MayNotDelete { .. }
        | NoteCode::MayNotSuspend { .. }
        | NoteCode::Denied { .. }
        | NoteCode::WebhookFails { .. }
        | NoteCode::Refused { .. }
        | NoteCode::PlanIsOld
        | NoteCode::NoAnswer { .. }
        | NoteCode::NoDryRun { .. }
        | NoteCode::OnlyReviewed { .. }
        | NoteCode::NotAsked { .. } => answered(code),
    }
}

/// Why nobody answers for a Service, and what helps.
fn unserved(service: &ObjectRef, exists: bool) -> (String, &'static str) {
    let service = named(service);
    if exists {
        (format!("{service} has no ready Pod"), "Bring its Pods back.")
    } else {
        (format!("{service} does not exist"), "Bring the Service and its Pods back.")
    }
}

/// The step that makes a kind visible again.
fn unhide(by: HiddenBy) -> &'static str {
    match by {
        HiddenBy::Rights => "Give Unwind the right to list and watch the kind",
        HiddenBy::Conversion => "Bring the conversion webhook of the kind back",
        HiddenBy::Storage => {
            "Let the API server read the object again (most often its encryption key is missing)"
        }
        HiddenBy::Other => "Repair what the API server reports",
    }
}

fn webhook_down(
    webhook: &str,
    configuration: &ObjectRef,
    (service, exists): (&ObjectRef, bool),
    (asked, refuses, certain): (Asked, bool, bool),
) -> (String, String, String) {
    let (why, bring_back) = unserved(service, exists);
    let title = format!("Webhook {} cannot answer: {why}", isolated(webhook));
    let (is, so) = if certain { ("is", "and") } else { ("may be", "and if so") };
    let meaning = match (refuses, asked) {
        (true, Asked::Deletion) => format!(
            "It {is} asked about these deletions, {so} they are refused while it does not answer."
        ),
        (true, Asked::Finalizers) => format!(
            "It {is} asked when the finalizers of these objects are cleared, {so} that is refused while it does not answer, so they stay."
        ),
        (true, Asked::Contents) => format!(
            "Kubernetes deletes what is left in these namespaces, such as RoleBindings and the account default. It {is} asked about that too, {so} it refuses while it does not answer, so the namespaces stay."
        ),
        (false, _) => format!(
            "It {is} asked about these deletions, but they go on while it does not answer. Its own work on a deletion is skipped."
        ),
    };
    let uncertain = if certain {
        ""
    } else {
        " Unwind cannot evaluate its matchConditions, or cannot see the labels that its selectors ask for."
    };
    let what_to_do =
        format!("{bring_back} If nobody needs it any more, delete {}.", named(configuration));
    (title, meaning + uncertain, what_to_do)
}

fn finisher(code: &NoteCode) -> (String, String, String) {
    const STAY: &str = "Once deleted, these objects and everything that waits for them stay until their finalizer is cleared.";
    let cleared = |finalizer: &Arc<str>| format!("the finalizer {}", isolated(finalizer));
    let (title, what_to_do) = match code {
        NoteCode::FinisherGone { finalizer, deleted } if deleted.is_empty() => (
            format!("Nothing in the cluster is known to clear {}", cleared(finalizer)),
            "Find the program that sets the finalizer. If it runs outside the cluster, make sure that it does; if it was uninstalled, install it again first.".to_owned(),
        ),
        NoteCode::FinisherGone { finalizer, deleted } => (
            format!("Nothing is left that clears {}", cleared(finalizer)),
            format!("Install the program again first. Deleted lately: {}.", names(deleted)),
        ),
        NoteCode::FinisherNotReady { finalizer, finisher } => (
            format!("{} clears {} and has no ready Pod", named(finisher), cleared(finalizer)),
            "Bring it back first.".to_owned(),
        ),
        NoteCode::FinishersNotReady { finalizer, possible } => (
            format!("No program that may clear {} is ready", cleared(finalizer)),
            format!("Bring the right one back first: {}.", names(possible)),
        ),
        NoteCode::FinisherHidden { finalizer, resource } => (
            format!(
                "Whether anything clears {} is not known: {} cannot be seen",
                cleared(finalizer),
                isolated(resource)
            ),
            "Make sure that the program that sets the finalizer runs.".to_owned(),
        ),
        _ => return (String::new(), String::new(), String::new()),
    };
    (title, STAY.to_owned(), what_to_do)
}

fn manager(code: &NoteCode) -> (String, String, String) {
    const STAY: &str = "Its controllers finish the deletion of these objects. Without them, they and everything that waits for them stay.";
    match code {
        NoteCode::ManagerSilent { since } => (
            "The kube-controller-manager does not renew its lease".to_owned(),
            format!(
                "The lease has not changed since {}, while Unwind watched. {STAY}",
                absolute(*since)
            ),
            "Start it again first. If one runs that leads by another lease, this one is left over."
                .to_owned(),
        ),
        NoteCode::ManagerUnseen { said } => (
            "Whether the kube-controller-manager runs is not known".to_owned(),
            match said {
                Some(said) => format!("Its lease cannot be read: {}. {STAY}", quoted(said)),
                None => format!(
                    "Its lease has not changed, but it is valid for longer than a check lasts. {STAY}"
                ),
            },
            "Make sure that it runs.".to_owned(),
        ),
        _ => (String::new(), String::new(), String::new()),
    }
}

/// The findings that are answers of the API server.
fn answered(code: &NoteCode) -> (String, String, String) {
    let (title, meaning, what_to_do) = match code {
        NoteCode::MayNotDelete { resource, said } => (
            format!("You may not delete {}", isolated(resource)),
            said.as_ref().map_or_else(
                || "The API server says so.".to_owned(),
                quoted,
            ),
            "Ask for the right, or leave these objects out.",
        ),
        NoteCode::MayNotSuspend { resource, said } => (
            format!("You may not suspend {}", isolated(resource)),
            said.as_ref().map_or_else(
                || "The objects that they declare wait for that: a controller would recreate them. The API server refuses the verb patch.".to_owned(),
                quoted,
            ),
            "Ask for the right to patch them, or suspend them by hand.",
        ),
        NoteCode::Denied { request, webhook, said } => {
            let denies = format!("denies the {}", noun(*request));
            let title = match webhook {
                Some(webhook) => format!("Webhook {} {denies}", isolated(webhook)),
                None => format!("A policy {denies}"),
            };
            let meaning = refused(*request, said);
            (title, meaning, "Meet its condition, or ask its owner. Then check again.")
        }
        NoteCode::WebhookFails { request, webhook, said } => (
            format!(
                "Webhook {} does not answer, and the {} is refused",
                isolated(webhook),
                noun(*request)
            ),
            refused(*request, said),
            LOOK_AGAIN,
        ),
        NoteCode::Refused { request, said } => (
            format!("The API server would refuse the {}", noun(*request)),
            refused(*request, said),
            LOOK_AGAIN,
        ),
        NoteCode::PlanIsOld => (
            "The cluster has changed since this plan was made".to_owned(),
            "These objects are gone, or others have their names.".to_owned(),
            "Make a new plan.",
        ),
        NoteCode::NoAnswer { said } => (
            "The API server gave no usable answer".to_owned(),
            quoted(said),
            "Nothing is predicted for these objects. Check again.",
        ),
        NoteCode::NoDryRun { request, said } => (
            "A webhook cannot be asked without side effects".to_owned(),
            quoted(said),
            match request {
                Predicted::Deletion => "Nothing is predicted for these objects. Its owner can say whether it denies deletions.",
                Predicted::Suspension => "Whether these objects can be suspended cannot be predicted. Its owner can say whether it denies that.",
            },
        ),
        NoteCode::OnlyReviewed { request, resource } => (
            format!("Only the right to {} {} was checked", verb(*request), isolated(resource)),
            "Another API server stores these objects, or it is not known which. A dry run might be carried out there, so the rest cannot be predicted.".to_owned(),
            "Nothing. The rest shows when the run does it.",
        ),
        NoteCode::NotAsked { why } => (
            "Not asked about every object".to_owned(),
            match why {
                Unasked::Limit => "A preflight asks the API server at most 500 questions, about one object of each kind and namespace first.",
                Unasked::Time => "A preflight ends after 30 s.",
                Unasked::Throttled => "The API server asked for fewer requests.",
                Unasked::Busy => "The server was busy.",
            }
            .to_owned(),
            "Nothing is predicted for these objects. Check again if it matters.",
        ),
        _ => return (String::new(), String::new(), String::new()),
    };
    (title, meaning, what_to_do.to_owned())
}

/// The request of a run, as a noun.
fn noun(request: Predicted) -> &'static str {
    match request {
        Predicted::Deletion => "deletion",
        Predicted::Suspension => "suspension",
    }
}

fn verb(request: Predicted) -> &'static str {
    match request {
        Predicted::Deletion => "delete",
        Predicted::Suspension => "suspend",
    }
}

/// The consequence of a refusal, with the words of the cluster.
fn refused(request: Predicted, said: &ApiProblem) -> String {
    match request {
        Predicted::Deletion => quoted(said),
        Predicted::Suspension => format!(
            "{} What these objects declare waits for their suspension: a controller would recreate it.",
            quoted(said)
        ),
    }
}

/// The words of the cluster.
fn quoted(said: &ApiProblem) -> String {
    format!("“{}”", api_problem(said))
}
