//! Scripts of faults.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{
    Action, AdmissionDecision, Faults, Matcher, NfsFault, NodeFault, OperatingMode, Rule,
    ScheduledFault, ServerFault, VolumeFault,
};
use crate::{cluster::Propagation, store::Key};

/// A line of a script that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct BadLine {
    /// Counted from 1.
    pub line: usize,
    pub why: String,
}

impl Faults {
    /// Reads a script. Each line is a rule (`on`) or a scheduled fault (`at`). A word that begins with `#` begins a
    /// comment, except in JSON and in the words of a webhook or a cloud, which go on to the end of the line:
    ///
    /// ```text
    /// on delete pods shop/web-* 2x -> reset after
    /// on list * as=alice from=30s until=60s p=0.5 -> 429 retry=3
    /// on get,list,watch deployments.apps -> 403
    /// on watch pods -> truncate
    /// on * * -> latency 200ms
    /// at 10s node n1 silent
    /// at 15s node n2 slow 20s
    /// at 20s clock -5m
    /// at 30s controller garbage-collector-controller off
    /// at 40s webhook validate.example.com fail context deadline exceeded
    /// at 45s webhook protect.example.com deny 403 not on a Friday
    /// at 50s nfs nfs.example stale
    /// at 52s nfs nfs.example dead
    /// at 53s volume disk leftover
    /// at 54s api v1beta1.metrics.k8s.io dead
    /// at 54s api v1beta1.metrics.k8s.io ignores-dry-run
    /// at 54s driver csi.unwind.test unregistered n1
    /// at 54s cloud refuses the security group is in use
    /// at 55s node n1 off
    /// at 60s delete persistentvolumeclaims shop/data
    /// at 61s unfinalize persistentvolumeclaims shop/data kubernetes.io/pvc-protection
    /// at 62s change deployments.apps shop/web {"spec": {"replicas": 0}}
    /// at 63s recreate configmaps shop/settings
    /// at 64s webhook pods.example.com patch [{"op": "add", "path": "/spec/hostname", "value": "one"}]
    /// at 65s corrupt widgets.example.com shop/one
    /// at 66s erase widgets.example.com shop/one
    /// at 67s delete configmaps shop/settings foreground
    /// at 68s finalize shop
    /// ```
    ///
    /// Times count from `now`. `controllers` are the names that a line may give to a controller. The name of a
    /// program, such as `kube-controller-manager`, addresses all controllers in it and the lease by which it leads. Actions are `latency
    /// TIME`, `reset`, `429`, `401`, `403`, `408`, `410`, `500`, `502`, `503`, `504`, `stale CHANGES`, `stall`, `truncate`,
    /// `no-bookmarks`. After `reset`, `408` and the codes from 500 on, `after` says that the request has had its effect.
    ///
    /// A rule applies to a watch when it is opened, and again whenever it is about to send something: with `latency`,
    /// `reset`, `410`, `stall`, `truncate` and `no-bookmarks`. A watch that stalled stays silent when the rule no
    /// longer holds.
    ///
    /// # Errors
    ///
    /// The first line that cannot be read.
    pub fn parse(text: &str, now: Timestamp, controllers: &[&str]) -> Result<Self, BadLine> {
        let mut faults = Self::default();
        for (index, line) in text.lines().enumerate() {
            let words = line.split_whitespace().take_while(|word| !word.starts_with('#'));
            let words: Vec<&str> = words.collect();
            let read = match words.as_slice() {
                [] => Ok(()),
                ["on", rest @ ..] => rules(rest, now).map(|rules| faults.rules.extend(rules)),
                ["at", time, rest @ ..] => moment(time, now).and_then(|at| {
                    faults.schedule(at, scheduled_fault(rest, after(line, 2), controllers)?);
                    Ok(())
                }),
                [word, ..] => Err(format!("{word:?} is neither \"on\" nor \"at\"")),
            };
            read.map_err(|why| BadLine { line: index + 1, why })?;
        }
        Ok(faults)
    }
}

/// The verbs of requests.
const VERBS: [&str; 8] =
    ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/// A line without its first words, in its original spacing.
fn after(line: &str, words: usize) -> &str {
    (0..words).fold(line.trim(), |line, _| {
        line.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start())
    })
}

fn rules(words: &[&str], now: Timestamp) -> Result<Vec<Rule>, String> {
    let arrow = words.iter().position(|word| *word == "->").ok_or("no \"->\"")?;
    let (before, after) = words.split_at(arrow);
    let [verbs, resource, rest @ ..] = before else {
        return Err("a verb and a resource are needed".into());
    };
    let action = action(&after[1..])?;
    let any = |word: &str| if word == "*" { String::new() } else { word.to_owned() };
    let mut matcher = Matcher { resource: any(resource), ..Matcher::default() };
    let (mut times, mut chance) = (None, 1_000);
    for word in rest {
        if let Some(user) = word.strip_prefix("as=") {
            matcher.user = user.into();
        } else if let Some(time) = word.strip_prefix("from=") {
            matcher.from = Some(moment(time, now)?);
        } else if let Some(time) = word.strip_prefix("until=") {
            matcher.until = Some(moment(time, now)?);
        } else if let Some(part) = word.strip_prefix("p=") {
            let part: f64 = part.parse().map_err(|_| format!("{part:?} is no probability"))?;
            if !(0.001..=1.0).contains(&part) {
                return Err(format!("{part} is no probability from 0.001 to 1"));
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is between 0 and 1000"
            )]
            {
                chance = (part * 1_000.0) as u32;
            }
        } else if let Some(count) = word.strip_suffix('x').and_then(|count| count.parse().ok()) {
            times = Some(count);
        } else if let Some((namespace, name)) = word.split_once('/') {
            matcher.namespace = any(namespace);
            matcher.name = any(name);
        } else {
            matcher.name = any(word);
        }
    }
    let rule = |verb: &str| {
        if verb != "*" && !VERBS.contains(&verb) {
            return Err(format!("{verb:?} is no verb: {}", VERBS.join(", ")));
        }
        let only = match action {
            Action::Stall | Action::Truncate | Action::NoBookmarks => "watch",
            Action::Stale(_) => "list",
            Action::Latency(_)
            | Action::Reset { .. }
            | Action::TooMany { .. }
            | Action::Code { .. } => "*",
        };
        if ![only, verb].contains(&"*") && only != verb {
            return Err(format!("only a {only} can be struck so, and no {verb}"));
        }
        let matcher = Matcher { verb: any(verb), ..matcher.clone() };
        Ok(Rule { matcher, action: action.clone(), times, chance })
    };
    verbs.split(',').map(rule).collect()
}

fn action(words: &[&str]) -> Result<Action, String> {
    let code = |word: &str| word.parse::<u16>().ok();
    Ok(match words {
        ["latency", time] => Action::Latency(wait(time)?),
        ["reset"] => Action::Reset { after: false },
        ["reset", "after"] => Action::Reset { after: true },
        ["429"] => Action::TooMany { retry_after: None },
        ["429", retry] => {
            let seconds = retry.strip_prefix("retry=").and_then(|seconds| seconds.parse().ok());
            Action::TooMany { retry_after: Some(seconds.ok_or("retry=SECONDS is expected")?) }
        }
        ["stale", changes] => {
            Action::Stale(changes.parse().map_err(|_| format!("{changes:?} is no number"))?)
        }
        ["stall"] => Action::Stall,
        ["truncate"] => Action::Truncate,
        ["no-bookmarks"] => Action::NoBookmarks,
        [word] if matches!(code(word), Some(401 | 403 | 408 | 410 | 500 | 502 | 503 | 504)) => {
            Action::Code { code: code(word).unwrap_or(500), after: false }
        }
        [word, "after"] if matches!(code(word), Some(408 | 500 | 502 | 503 | 504)) => {
            Action::Code { code: code(word).unwrap_or(500), after: true }
        }
        _ => return Err(format!("{:?} is no action", words.join(" "))),
    })
}

/// Reads a fault from its words and the whole line.
fn scheduled_fault(
    words: &[&str],
    written: &str,
    controllers: &[&str],
) -> Result<ScheduledFault, String> {
    Ok(match words {
        ["clock", by] => ScheduledFault::ClockJump(duration(by)?),
        ["compact"] => ScheduledFault::Compact,
        ["node", name, how @ ..] => {
            ScheduledFault::Node { name: (*name).into(), fault: node_fault(how)? }
        }
        ["controller", name, how @ ..] => {
            if !controllers.contains(name) {
                return Err(format!(
                    "no controller is called {name:?}: {}",
                    controllers.join(", ")
                ));
            }
            ScheduledFault::Controller { name: (*name).into(), mode: operating_mode(how)? }
        }
        ["webhook", name, how, rest @ ..] => {
            let decision = admission_decision(how, rest, written)?;
            ScheduledFault::Webhook { name: (*name).into(), decision }
        }
        ["volume", name, how] => {
            ScheduledFault::Volume { name: (*name).into(), fault: volume_fault(how)? }
        }
        ["nfs", server, how] => {
            ScheduledFault::Nfs { server: (*server).into(), fault: nfs_fault(how)? }
        }
        ["api", name, how] => {
            ScheduledFault::Server { api_service: (*name).into(), fault: server_fault(how)? }
        }
        ["driver", name, how, node] => {
            let registered = match *how {
                "registered" => true,
                "unregistered" => false,
                _ => return Err(format!("a driver is registered or unregistered, not {how:?}")),
            };
            ScheduledFault::Driver { name: (*name).into(), node: (*node).into(), registered }
        }
        ["cloud", "refuses", _, ..] => ScheduledFault::Cloud(Some(after(written, 2).into())),
        ["cloud", "repaired"] => ScheduledFault::Cloud(None),
        ["recreate", resource, name] => ScheduledFault::Recreate(key(resource, name)),
        ["corrupt", resource, name] => ScheduledFault::Corrupt(key(resource, name)),
        ["erase", resource, name] => ScheduledFault::Erase(key(resource, name)),
        ["delete", resource, name, how @ ..] => {
            ScheduledFault::Delete { key: key(resource, name), propagation: propagation(how)? }
        }
        ["finalize", namespace] => {
            ScheduledFault::Finalize(Key::new("", "namespaces", "", namespace))
        }
        ["unfinalize", resource, name, finalizer] => {
            ScheduledFault::Unfinalize { key: key(resource, name), finalizer: (*finalizer).into() }
        }
        ["change", resource, name, ..] => {
            let patch =
                serde_json::from_str(after(written, 3)).map_err(|error| error.to_string())?;
            ScheduledFault::Change { key: key(resource, name), patch }
        }
        _ => return Err(format!("{:?} is nothing that happens", words.join(" "))),
    })
}

/// The fault of a node; none if it is repaired.
fn node_fault(how: &[&str]) -> Result<Option<NodeFault>, String> {
    Ok(match how {
        ["silent"] => Some(NodeFault::Silent),
        ["off"] => Some(NodeFault::Off),
        ["shutting-down"] => Some(NodeFault::ShuttingDown),
        ["busy"] => Some(NodeFault::Busy),
        ["stale-nfs"] => Some(NodeFault::StaleNfs),
        ["failing"] => Some(NodeFault::Failing),
        ["slow", by] => Some(NodeFault::Slow(wait(by)?)),
        ["repaired"] => None,
        _ => {
            return Err(format!(
                "a node is silent, off, shutting-down, busy, stale-nfs, failing, slow TIME or repaired, not {:?}",
                how.join(" ")
            ));
        }
    })
}

fn operating_mode(how: &[&str]) -> Result<OperatingMode, String> {
    Ok(match how {
        ["off"] => OperatingMode::Off,
        ["on"] => OperatingMode::Running,
        ["failing"] => OperatingMode::Failing,
        ["slow", by] => OperatingMode::Slow(duration(by)?),
        _ => return Err("a controller is off, on, failing, or slow TIME".into()),
    })
}

/// The decision of a webhook, whose message or patch is read from the whole line; none if it is unscripted.
fn admission_decision(
    how: &str,
    rest: &[&str],
    written: &str,
) -> Result<Option<AdmissionDecision>, String> {
    Ok(match how {
        "allow" => Some(AdmissionDecision::Allow),
        "deny" => {
            let code = rest.first().and_then(|word| word.parse().ok());
            let message = after(written, if code.is_some() { 4 } else { 3 }).into();
            Some(AdmissionDecision::Deny { code: code.unwrap_or(0), message })
        }
        "patch" => {
            let text = after(written, 3);
            let read = serde_json::from_str::<json_patch::Patch>(text);
            read.map_err(|error| format!("{text:?} is no JSON patch: {error}"))?;
            Some(AdmissionDecision::Patch(serde_json::from_str(text).unwrap_or_default()))
        }
        "fail" => Some(AdmissionDecision::Fail(after(written, 3).into())),
        "unscripted" => None,
        _ => {
            return Err(format!(
                "a webhook is to allow, patch, deny, fail or be unscripted, not {how:?}"
            ));
        }
    })
}

/// The fault of a volume; none if it is free.
fn volume_fault(how: &str) -> Result<Option<VolumeFault>, String> {
    Ok(match how {
        "busy" => Some(VolumeFault::Busy),
        "leftover" => Some(VolumeFault::Leftover),
        "free" => None,
        _ => return Err(format!("a volume is busy, leftover or free, not {how:?}")),
    })
}

/// The fault of an NFS server; none if it is repaired.
fn nfs_fault(how: &str) -> Result<Option<NfsFault>, String> {
    Ok(match how {
        "stale" => Some(NfsFault::Stale),
        "dead" => Some(NfsFault::Dead),
        "repaired" => None,
        _ => return Err(format!("an NFS server is stale, dead or repaired, not {how:?}")),
    })
}

/// The fault of the server of an API; none if it is repaired.
fn server_fault(how: &str) -> Result<Option<ServerFault>, String> {
    Ok(match how {
        "dead" => Some(ServerFault::Dead),
        "ignores-dry-run" => Some(ServerFault::IgnoresDryRun),
        "repaired" => None,
        _ => {
            return Err(format!(
                "the server of an API is dead, ignores-dry-run or repaired, not {how:?}"
            ));
        }
    })
}

fn propagation(how: &[&str]) -> Result<Propagation, String> {
    Ok(match how {
        [] => Propagation::Background,
        ["foreground"] => Propagation::Foreground,
        ["orphan"] => Propagation::Orphan,
        _ => return Err("a deletion is foreground, orphan, or nothing is said".into()),
    })
}

/// The key of an object in a script: `deployments.apps shop/web`, `nodes node-a`.
fn key(resource: &str, name: &str) -> Key {
    let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    Key::new(group, plural, namespace, name)
}

/// A duration after now; a time beyond the largest timestamp never comes.
fn moment(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    Ok(now.checked_add(duration(text)?).unwrap_or(Timestamp::MAX))
}

fn duration(text: &str) -> Result<SignedDuration, String> {
    text.parse().map_err(|_| format!("{text:?} is no time such as 30s"))
}

fn wait(text: &str) -> Result<Duration, String> {
    Duration::try_from(duration(text)?).map_err(|_| "time is negative".to_owned())
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::{super::RequestInfo, *};

    #[test]
    fn script_strikes_what_its_rules_name() {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let script = "
            on delete pods shop/web-* 1x -> reset after   # once
            on get,list pods as=alice from=30s -> 429 retry=3
            on * * -> latency 200ms
            at 10s node n1 silent
            at 5s clock -5m
        ";
        let mut faults = Faults::parse(script, start, &[]).unwrap();
        let mut rng = Rng::with_seed(1);
        let asked = RequestInfo {
            verb: "delete",
            plural: "pods",
            namespace: "shop",
            name: "web-1",
            ..RequestInfo::default()
        };
        let injection = faults.inject(&asked, start, &mut rng);
        assert_eq!(injection.action, Some(Action::Reset { after: true }));
        assert_eq!(injection.latency, Duration::from_millis(200));
        assert_eq!(faults.inject(&asked, start, &mut rng).action, None);
        let asked =
            RequestInfo { verb: "list", plural: "pods", user: "alice", ..RequestInfo::default() };
        assert_eq!(faults.inject(&asked, start, &mut rng).action, None);
        let later = start + SignedDuration::from_secs(30);
        let refused = Some(Action::TooMany { retry_after: Some(3) });
        assert_eq!(faults.inject(&asked, later, &mut rng).action, refused);
        assert_eq!(faults.next(), Some(start + SignedDuration::from_secs(5)));
        assert_eq!(faults.take_due(later).len(), 2);
    }

    #[test]
    fn messages_and_json_go_on_to_the_end_of_the_line() {
        let script = r##"
            # at 1s compact
            at 1s   change configmaps shop/colours {"data": {"red": "#f00", "gap": "a  b"}}
            at 1s webhook a deny 403 see  #12   # and this
            at 1s webhook b fail # nobody
            at 1s compact # all of it
        "##;
        let start = Timestamp::UNIX_EPOCH;
        let mut faults = Faults::parse(script, start, &[]).unwrap();
        let said = faults.take_due(start + SignedDuration::from_secs(1));
        let ScheduledFault::Change { patch, .. } = &said[0] else { panic!("{said:?}") };
        assert_eq!(*patch, serde_json::json!({"data": {"red": "#f00", "gap": "a  b"}}));
        let decision = |at: usize| match &said[at] {
            ScheduledFault::Webhook { decision: Some(decision), .. } => decision.clone(),
            other => panic!("{other:?}"),
        };
        let denial = AdmissionDecision::Deny { code: 403, message: "see  #12   # and this".into() };
        assert_eq!(decision(1), denial);
        assert_eq!(decision(2), AdmissionDecision::Fail("# nobody".into()));
        assert_eq!(said.len(), 4);
    }

    #[test]
    fn joined_script_does_not_move_the_times_of_others() {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let later = start + SignedDuration::from_secs(60);
        let mut faults = Faults::parse("on get pods until=30s -> 503", start, &[]).unwrap();
        faults.extend(Faults::parse("at 1s compact", later, &[]).unwrap());
        let asked = RequestInfo { verb: "get", plural: "pods", ..RequestInfo::default() };
        assert_eq!(faults.inject(&asked, later, &mut Rng::with_seed(1)).action, None);
        assert_eq!(faults.next(), Some(later + SignedDuration::from_secs(1)));
    }

    #[test]
    fn unknown_controller_is_named_with_the_known_ones() {
        let known = ["garbage-collector-controller", "kubelet"];
        let parse = |name: &str| {
            Faults::parse(&format!("at 0s controller {name} off"), Timestamp::UNIX_EPOCH, &known)
        };
        let bad = parse("garbage-colector").unwrap_err().to_string();
        let beginning = "line 1: no controller is called \"garbage-colector\": ";
        assert!(bad.starts_with(beginning), "{bad}");
        for name in known {
            assert!(bad.contains(name), "{name}: {bad}");
            assert!(parse(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn bad_line_is_named() {
        for text in [
            "x",
            "on",
            "on a b",
            "on get b ->",
            "on get b -> 200",
            "at",
            "at x clock 1s",
            "at 1s node n",
            "at 1s node n slow",
            "at 1s node n slow -1s",
            "at 1s corrupt widgets",
            "at 1s erase",
            "at 1s webhook w patch {",
            "at 1s webhook w patch [1]",
            "on get b p=2 -> 500",
            "on get b p=0.0004 -> 500",
            "on deletes pods -> 503",
            "on get pods -> truncate",
            "on get,watch pods -> stale 3",
            "on list pods -> stall",
        ] {
            assert_eq!(
                Faults::parse(&format!("\n{text}"), Timestamp::UNIX_EPOCH, &[])
                    .err()
                    .map(|bad| bad.line),
                Some(2),
                "{text}"
            );
        }
    }
}
