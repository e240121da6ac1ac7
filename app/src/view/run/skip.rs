//! The question before a step is left out: what waits for it is left out with it, and nothing brings that back.

use leptos::prelude::*;
use teardown::{message::StepCard, plan::StepId, run::RunCommand};

use crate::{
    state::{
        progress::Progress,
        scene::{self, Scene},
    },
    text,
    view::{control::ask::Ask, object_name::object_name},
};

/// Steps named in the dialog.
const NAMED: usize = 8;

/// The dialog.
#[component]
pub fn Skip(
    /// The run's records.
    scene: Scene,
    /// The step that is to be left out.
    asked: RwSignal<Option<StepId>>,
    /// Whether the dialog is open.
    open: RwSignal<bool>,
    /// Whether a command is on its way.
    #[prop(into)]
    busy: Signal<bool>,
    /// Sends the run a command.
    send: Callback<RunCommand>,
) -> impl IntoView {
    let card = move || {
        let id = asked.get()?;
        scene.read(|records| scene::steps(records).find(|step| step.id == id).cloned())
    };
    let title = Signal::derive(move || {
        card().map(|step| text::skip_title(&step.object)).unwrap_or_default()
    });
    let what = move || {
        let step = card()?;
        let (behind, reach) = scene
            .read(|records| (behind(scene::steps(records), step.id), Progress::of(&step, records)));
        let names = behind
            .iter()
            .take(NAMED)
            .map(|step| view! { <li>{object_name(&step.object)}</li> }.into_any());
        let names = names.collect_view();
        let more = behind.len().saturating_sub(NAMED);
        Some(
            view! {
                <p>{text::skip_means(reach)}</p>
                <p class="stop-counts">{text::skip_behind(behind.len())}</p>
                <ul class="evidence" hidden=behind.is_empty()>
                    {names}
                    {(more > 0).then(|| view! { <li>{text::more(more)}</li> }.into_any())}
                </ul>
            }
            .into_any(),
        )
    };
    let act = Callback::new(move |()| {
        if let Some(step) = asked.get_untracked() {
            send.run(RunCommand::Skip(step));
        }
    });
    view! { <Ask open id="skip-title" title label=text::SKIP_NOW busy act>{move || what()}</Ask> }
}

/// The steps that are left out with this one: those that wait for it, those that wait for them, and so on; with a volume
/// the claim in front of it, which decides over its data.
fn behind<'a>(steps: impl Iterator<Item = &'a StepCard>, step: StepId) -> Vec<StepCard> {
    let steps: Vec<&StepCard> = steps.collect();
    let mut left_out = vec![step];
    let volume =
        steps.iter().filter(|card| card.id == step && &*card.object.kind == "PersistentVolume");
    let in_front: Vec<StepId> = volume.flat_map(|card| card.waits_for.iter().copied()).collect();
    let claims = steps.iter().filter(|card| &*card.object.kind == "PersistentVolumeClaim");
    left_out.extend(claims.map(|card| card.id).filter(|id| in_front.contains(id)));
    // They come in the plan's order, so what waits comes after what it waits for.
    for card in &steps {
        if card.waits_for.iter().any(|id| left_out.contains(id)) && !left_out.contains(&card.id) {
            left_out.push(card.id);
        }
    }
    let with_it = steps.into_iter().filter(|card| card.id != step && left_out.contains(&card.id));
    with_it.cloned().collect()
}

#[cfg(test)]
mod tests {
    use teardown::{
        message::State,
        object::{ObjectRef, Uid},
    };

    use super::*;

    #[test]
    fn steps_that_wait_are_left_out_at_whatever_distance() {
        let step = |id: u32, waits_for: &[u32]| StepCard {
            id: StepId(id),
            uid: Uid::new(id.to_string()),
            object: ObjectRef {
                group: "".into(),
                kind: "Pod".into(),
                namespace: None,
                name: "web".into(),
            },
            wave: 1,
            state: State::Waiting,
            requested: None,
            gone: None,
            proof: None,
            unconfirmed: false,
            left_suspended: None,
            unproven: vec![],
            waits_for: waits_for.iter().map(|id| StepId(*id)).collect(),
            taken: false,
            problem: None,
            fate: None,
            unplanned: vec![],
        };
        let mut steps =
            [step(0, &[]), step(1, &[]), step(2, &[0, 1]), step(3, &[2]), step(4, &[1])];
        let behind = |steps: &[StepCard], id| -> Vec<u32> {
            behind(steps.iter(), StepId(id)).iter().map(|step| step.id.0).collect()
        };
        assert_eq!(behind(&steps, 0), [2, 3]);
        assert_eq!(behind(&steps, 1), [2, 3, 4]);
        assert_eq!(behind(&steps, 3), [0; 0]);
        steps[3].object.kind = "PersistentVolume".into();
        steps[3].waits_for.push(StepId(0));
        steps[2].object.kind = "PersistentVolumeClaim".into();
        assert_eq!(behind(&steps, 3), [2], "the owner that waits in front of both stays in");
    }
}
