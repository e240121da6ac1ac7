//! A run that waits for a person, because an object changed during a remedy.

use app::PageSeed;
use teardown::{message::Record, object::ObjectRef, run::RunState};

use super::{check, consortium, render, with_records};

fn settings() -> ObjectRef {
    ObjectRef {
        group: "".into(),
        kind: "ConfigMap".into(),
        namespace: Some("shop".into()),
        name: "settings".into(),
    }
}

#[test]
fn paused_run_says_what_changed_during_a_remedy() {
    let halted = |seed: PageSeed, by_change: bool| {
        with_records(seed, |records| {
            for record in records {
                if let Record::Run(card) = record
                    && !card.state.is_ended()
                {
                    card.state = RunState::Paused;
                    card.halted_by = by_change.then(settings);
                }
            }
        })
    };
    let said = "ConfigMap shop/settings changed during a remedy";
    let html = render("run-halted", "/r/7", halted(consortium::run(), true));
    check(&html);
    assert!(html.contains(said) && html.contains("then resume the run"));
    assert!(!render("run-paused", "/r/7", halted(consortium::run(), false)).contains(said));
    let overview = render("units-halted", "/", halted(consortium::units(), true));
    assert!(overview.contains("<span class=\"run-state\">Paused"));
}
