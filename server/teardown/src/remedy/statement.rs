//! A person's word for what the API does not show: who checked what, and how.
//!
//! # Decisions
//! - The server cannot judge a sentence. It asks for one that is long enough to say who checked what; that a machine is off has to
//!   be said of that machine, by the name of its node or of its instance. Whoever looked at another one has to write its name to
//!   find out.
//! - The page judges by the same functions (`WayOffer::is_answered`), so that it offers nothing that the server refuses.

use super::act::{Holds, NeedCode, Remedy};

/// The longest statement of a person that is kept, in characters.
pub(super) const LONGEST_STATEMENT: usize = 500;
/// The shortest statement that can say who checked what, in characters.
const SHORTEST_STATEMENT: usize = 10;
/// The shortest name of an instance that is told from any other word, in characters: a scale set of Azure counts its own from 0.
const SHORTEST_INSTANCE: usize = 4;

/// Whether a statement can say who checked what. Where it is about a machine, it has one of these names of it.
pub(crate) fn is_statement(said: &str, machine: &[String]) -> bool {
    is_long_enough(said) && is_about(said, machine)
}

/// Whether a statement has enough characters to say who checked what.
pub(super) fn is_long_enough(said: &str) -> bool {
    said.trim().chars().count() >= SHORTEST_STATEMENT
}

/// Whether a name of the machine is among the words of a statement. A name that only begins with it is that of another machine.
pub(super) fn is_about(said: &str, machine: &[String]) -> bool {
    let is_inside = |it: char| it.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&it);
    let words = || said.split(|it: char| !is_inside(it)).map(|word| word.trim_matches(['.', '-']));
    let is_said = |name: &String| words().any(|word| word.eq_ignore_ascii_case(name));
    machine.is_empty() || machine.iter().any(is_said)
}

/// The last part of a node's `spec.providerID`, which names the instance in most clouds: `aws:///eu-west-1a/i-0abc`.
pub(super) fn instance(provider: &str) -> Option<&str> {
    let last = provider.rsplit('/').next()?;
    (last.chars().count() >= SHORTEST_INSTANCE).then_some(last)
}

impl Remedy {
    /// Whether a condition is for a person to answer, because the API does not show it.
    pub fn needs_statement(&self) -> bool {
        self.needs.iter().any(|need| need.holds == Holds::Unknown)
    }

    /// The names of the machine of which a person has to say that it is off: its node's, and that of its instance if it has one. None
    /// if the remedy is not about a machine.
    pub fn machine(&self) -> Vec<String> {
        let named = self.needs.iter().filter(|need| need.holds == Holds::Unknown);
        let names = named.filter_map(|need| match &need.code {
            NeedCode::PoweredOff { node, instance, .. } => Some([Some(node), instance.as_ref()]),
            _ => None,
        });
        names.flatten().flatten().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_about_node(said: &str) -> bool {
        is_statement(said, &["node-a".to_owned(), "i-0abc".to_owned()])
    }

    #[test]
    fn statement_about_a_machine_names_it_or_its_instance() {
        for said in [
            "Li saw in the rack that node-a is off",
            "Node-A: Li saw in the rack that it is off",
            "Off, Li saw it in the console (i-0abc).",
            "aws:///eu-west-1a/i-0abc is stopped, Li",
            "Li checked node-a.",
        ] {
            assert!(is_about_node(said), "{said}");
        }
    }

    #[test]
    fn statement_about_another_machine_or_about_none_does_not_count() {
        for said in [
            "Li saw in the rack that the machine is off",
            "Li saw in the rack that node-ab is off",
            "Li saw in the rack that node-a.example.com is off",
            "Li saw that i-0abcd is stopped",
            "node-a ok",
            "",
        ] {
            assert!(!is_about_node(said), "{said}");
        }
    }

    #[test]
    fn statement_is_measured_in_characters() {
        assert!(!is_statement("üüüüüüü", &[]), "7 characters in 14 bytes");
        assert!(is_statement("üüüüüüüüüü", &[]));
        assert!(!is_statement("   ok      ", &[]));
    }

    #[test]
    fn last_part_of_a_provider_id_is_the_instance_unless_it_is_a_mere_number() {
        for (provider, expected) in [
            ("aws:///eu-west-1a/i-0abc", Some("i-0abc")),
            ("gce://project/zone/worker-1", Some("worker-1")),
            ("azure:///subscriptions/x/virtualMachineScaleSets/pool/virtualMachines/0", None),
            ("", None),
        ] {
            assert_eq!(instance(provider), expected, "{provider}");
        }
    }
}
