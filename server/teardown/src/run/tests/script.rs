//! Runs as scripts: a cluster, and then answers, changes, clicks and time, one a line; those that come at once are joined by
//! ` & `. The run reconciles after each line. The transcript has each line with all that follows from it: the lines of the event log,
//! and the calls. An object that is gone has its proof, unless the watch showed it go.
//!
//! The read of an object just before its DELETE is not shown and finds the object as it was planned, a namespace is then empty, and
//! a claim that is read at the end of a run is as the index has it: unless the script says `each call`.
//!
//! | in front | meaning |
//! |---|---|
//! | `unit ID` | the plan is of this unit, and not of `shop` |
//! | `choose NAME=VALUE` | a choice of the person who made the plan, as an address has it |
//! | `each call` | every read is shown and the script answers it; calls have their versions and patches |
//! | `pause first` | the run is paused before it looks at the cluster |
//!
//! | answer | meaning |
//! |---|---|
//! | `accepted UID`, `suspended UID`, `recalled UID` | the call of a step had its effect, or was not made |
//! | `refused UID`, `refused CODE UID: MESSAGE` | the API server refused it, with 403 unless it says otherwise |
//! | `silent UID`, `silent SECONDS UID` | there was no answer, or one that asks to come back later |
//! | `throttled UID`, `throttled SECONDS UID` | there were too many requests |
//! | `there UID`, `there of UNIT UID`, `going UID` | a read shows the object as it was planned, of this unit or of `nobody`, or terminating |
//! | `there keep=MARK UID` | a read shows the object as it was planned, with an annotation that asks to keep it |
//! | `missing UID`, `replaced UID` | there is no object of the name, or it is another one |
//! | `bound UID`, `unbound UID` | a read shows a claim whose data is kept |
//! | `no pods UID`, `pods UID: POD; POD` | a read shows these Pods |
//! | `no content UID`, `content UID: OBJECT; OBJECT` | a read shows these objects |
//! | `no content but RESOURCE UID` | the same, and that kind may not be listed |
//! | `cannot list RESOURCE UID` | the read failed, because that kind may not be listed |
//!
//! | change | meaning |
//! |---|---|
//! | `gone OBJECT`, `applied OBJECT` | a change that the watch shows |
//! | `listed KIND: OBJECT; OBJECT`, `listed KIND in NAMESPACE: OBJECT` | a list shows these objects and no others |
//! | `limited KIND to NAMESPACE` | the kind can be listed in this namespace alone, or in `nothing` |
//! | `unfinalize OBJECT` | a finalizer of the object is removed by hand |
//! | `hidden RESOURCE`, `undiscovered RESOURCE`, `visible RESOURCE` | a kind can no longer be listed, because it is forbidden or its API is down; or again |
//! | `undeletable RESOURCE` | a kind has no verb `delete` |
//! | `unreachable`, `reachable` | the API server is away, or back |
//! | `restart`, `restart anew`, `restart anew without OBJECT; OBJECT` | the server was restarted; anew, it sees the cluster of the beginning |
//! | `+30`, `until call` | seconds pass, or as many as it takes to the next call |
//!
//! | person | meaning |
//! |---|---|
//! | `pause`, `resume`, `stop`, `skip UID` | a command |
//! | `take on UID`, `take on UID for UID UID` | somebody answers for all that the step waits for, or for these, or for `none` |
//! | `look at UID`, `look at log`, `look at clock` | shows how a step is, all lines of the event log, or when the run wakes |
//! | `look at unplanned` | shows what holds the run outside its plan, and a plan of that |
//! | `look at taken` | shows the steps whose objects go along with another |
//! | `look at suspended` | shows what the run left suspended, with the command that puts it back |

use super::{
    wording::{call_of, entry_of, log_of, look_at, suspended, taken, unplanned, wakes, written},
    *,
};
use crate::action::{ContentSight, PodSight};

const UNREADABLE: &str = "no line of a script";

/// A script that is being played.
struct Play {
    cluster: String,
    scenario: Scenario,
    answers_reads: bool,
    /// The lines of the event log that were shown.
    shown: usize,
    lines: Vec<String>,
}

/// The transcript of a run of the plan of `shop`, or of the unit that the script names.
pub(super) fn transcript(cluster: &str, script: &str) -> String {
    played(cluster, script).1
}

/// For each cell of a table, which the script has in its midst: what follows from the script's last line but looks.
pub(super) fn endings(
    cluster: &str,
    cells: impl IntoIterator<Item: AsRef<str>>,
    script: impl Fn(&str) -> String,
) -> String {
    let mut lines = Vec::new();
    for cell in cells {
        let cell = cell.as_ref();
        lines.push(if cell.is_empty() { "nothing".to_owned() } else { cell.to_owned() });
        let transcript = transcript(cluster, &script(cell));
        let is_look = |line: &str| line.starts_with("> look at ");
        let is_other = |line: &str| line.starts_with("> ") && !is_look(line);
        let last = transcript.lines().rev().take_while(|line| !is_other(line));
        let last = last.filter(|line| !is_look(line)).map(|line| format!("    {line}"));
        lines.extend(last.collect::<Vec<_>>().into_iter().rev());
    }
    lines.join("\n")
}

/// A run after a script, for what is not in its transcript.
pub(super) fn played(cluster: &str, script: &str) -> (Scenario, String) {
    let chosen = script.lines().filter_map(|line| line.trim().strip_prefix("choose "));
    let choices = Choices::of_query(chosen.map(|it| it.split_once('=').unwrap())).unwrap();
    let unit = script.lines().find_map(|line| line.trim().strip_prefix("unit "));
    let scenario = Scenario::of_unit(cluster, unit.unwrap_or("shop"), &choices);
    let is_first = |word: &str| script.lines().any(|line| line.trim() == word);
    let mut play = Play {
        cluster: cluster.to_owned(),
        shown: scenario.run.event_log().len(),
        scenario,
        answers_reads: !is_first("each call"),
        lines: vec![],
    };
    if is_first("pause first") {
        play.scenario.steer(&command(RunCommand::Pause));
        play.shown += 1;
    }
    let lines = script.lines().map(str::trim).filter(|line| !line.is_empty());
    let (in_front, lines): (Vec<&str>, Vec<&str>) = lines.partition(|line| is_in_front(line));
    play.lines.extend(in_front.iter().map(|line| format!("> {line}")));
    let calls = play.reconcile();
    play.show(calls);
    for line in lines {
        play.lines.push(format!("> {line}"));
        let mut calls = vec![];
        line.split(" & ").for_each(|part| calls.extend(play.follow(part)));
        calls.extend(play.reconcile());
        play.show(calls);
    }
    (play.scenario, play.lines.join("\n"))
}

/// Whether a line says something about the run before it looks at the cluster.
fn is_in_front(line: &str) -> bool {
    matches!(line, "each call" | "pause first")
        || line.starts_with("choose ")
        || line.starts_with("unit ")
}

/// The words after the first ones of a line.
fn rest<'a>(line: &'a str, first: &str) -> &'a str {
    line.strip_prefix(first).unwrap().trim()
}

fn seconds(text: &str) -> jiff::SignedDuration {
    jiff::SignedDuration::from_secs(text.parse().expect(UNREADABLE))
}

fn objects(text: &str) -> Vec<crate::object::Object> {
    fixture::objects(&text.replace("; ", "\n"))
}

fn pod_sight(line: &str) -> PodSight {
    let pod = fixture::object(line);
    let Facts::Pod(facts) = &pod.facts else { panic!("{line} is no Pod") };
    let claims = facts.uses.iter().filter(|it| it.what == PodReferenceKind::Claim);
    let claims = claims.map(|it| it.name.clone()).collect();
    let (object, labels, owners) = (pod.reference(), pod.labels.clone(), pod.owners.clone());
    PodSight { uid: pod.uid, object, labels, owners, claims }
}

fn content(text: &str, unlisted: &[&str]) -> Outcome {
    let found = objects(text).into_iter();
    let objects = found.map(|it| ContentSight { object: it.reference(), uid: it.uid }).collect();
    Outcome::Content { objects, unlisted: unlisted.iter().map(|it| (*it).into()).collect() }
}

impl Play {
    /// Shows the calls behind the lines of the event log that are new.
    fn show(&mut self, mut calls: Vec<String>) {
        calls.sort();
        let run = &self.scenario.run;
        let new = run.event_log().iter().skip(self.shown);
        self.lines.extend(new.filter_map(|entry| entry_of(run, &entry.event)));
        self.lines.extend(calls);
        self.shown = run.event_log().len();
    }

    /// Reconciles until nothing follows, and returns the calls.
    fn reconcile(&mut self) -> Vec<String> {
        if self.answers_reads {
            return self.scenario.reconcile();
        }
        let mut calls = vec![];
        loop {
            let decision = self.scenario.apply_input(&Input::Reconcile);
            if decision.is_empty() {
                return calls;
            }
            calls.extend(decision.actions.iter().map(written));
        }
    }

    fn answer(&mut self, uid: &str, outcome: Outcome) -> Vec<String> {
        if !self.scenario.is_awaited(uid) {
            self.lines.push("nobody waits for this answer".to_owned());
        }
        let name = if self.answers_reads { call_of } else { written };
        self.scenario.answer(uid, outcome).iter().map(name).collect()
    }

    /// Follows one line, and returns the calls that follow at once.
    fn follow(&mut self, line: &str) -> Vec<String> {
        let (head, text) = match line.split_once(": ") {
            Some(it) => it,
            None => (line.strip_suffix(':').unwrap_or(line), ""),
        };
        let words: Vec<&str> = head.split(' ').collect();
        if let Some((uid, outcome)) = self.outcome(&words, text) {
            return self.answer(uid, outcome);
        }
        match &words[..] {
            ["until", "call"] => return self.until_call(),
            ["look", "at", what] => self.look(what),
            ["gone", ..] => self.scenario.gone(rest(line, "gone")),
            ["applied", ..] => self.scenario.applied(rest(line, "applied")),
            ["unfinalize", ..] => {
                let uid = fixture::object(rest(line, "unfinalize")).uid;
                self.scenario.index.set_by_hand(std::iter::once(uid).collect());
            }
            ["restart"] => self.scenario.steer(&Input::Recover),
            ["restart", "anew", ..] => {
                let without = rest(line, "restart anew");
                let without = without.strip_prefix("without").unwrap_or(without).trim();
                self.restart_without(without);
            }
            ["pause"] => self.person(&command(RunCommand::Pause)),
            ["resume"] => self.person(&command(RunCommand::Resume)),
            ["stop"] => self.person(&command(RunCommand::Stop)),
            ["skip", uid] => self.person(&command(RunCommand::Skip(self.scenario.id(uid)))),
            ["take", "on", uid, named @ ..] => {
                let problem = self.scenario.progress(uid).hold.problem.as_ref();
                let all = problem.map(StepProblem::unconfirmed).unwrap_or_default();
                let pods = match named {
                    [] => all,
                    ["for", "none"] => vec![],
                    ["for", named @ ..] => named.iter().map(|uid| fixture::uid(uid)).collect(),
                    _ => panic!("{UNREADABLE}: {line}"),
                };
                let (step, by) = (self.scenario.id(uid), "Li".to_owned());
                self.person(&Input::TakeOn { step, pods, by });
            }
            [time] if time.starts_with('+') => {
                self.scenario.pass(time[1..].parse().expect(UNREADABLE));
            }
            _ => self.see(&words, text),
        }
        vec![]
    }

    /// The answer that a line is, and the object that it is about.
    fn outcome<'a>(&self, words: &[&'a str], text: &str) -> Option<(&'a str, Outcome)> {
        let message = |or: &str| if text.is_empty() { or.into() } else { text.into() };
        let uid = *words.last()?;
        let read = |terminating, named| Outcome::Present {
            terminating,
            version: "17".into(),
            named,
            keep: None,
        };
        let claim =
            |phase: &str, terminating| Outcome::Claim { phase: Some(phase.into()), terminating };
        let outcome = match &words[..words.len() - 1] {
            ["accepted"] => Outcome::Accepted,
            ["suspended"] => Outcome::Suspended,
            ["recalled"] => Outcome::Recalled,
            ["missing"] => Outcome::NotFound,
            ["replaced"] => Outcome::OtherUid { uid: None },
            ["refused"] => Outcome::Refused { code: 403, message: message("no") },
            ["refused", code] => {
                Outcome::Refused { code: code.parse().expect(UNREADABLE), message: message("no") }
            }
            ["silent"] => Outcome::Unanswered { message: message("no answer"), after: None },
            ["silent", after] => {
                let after = Some(seconds(after));
                Outcome::Unanswered { message: message("shutting down"), after }
            }
            ["throttled"] => Outcome::Throttled { after: None },
            ["throttled", after] => Outcome::Throttled { after: Some(seconds(after)) },
            ["there"] => read(false, self.scenario.planned_unit(uid)),
            ["there", "of", "nobody"] => read(false, None),
            ["there", "of", unit] => read(false, Some(UnitId::new(*unit))),
            ["there", keep] if keep.starts_with("keep=") => Outcome::Present {
                terminating: false,
                version: "17".into(),
                named: self.scenario.planned_unit(uid),
                keep: Some(keep["keep=".len()..].into()),
            },
            ["going"] if self.scenario.is_step(uid) => read(true, None),
            ["going"] => claim("Bound", true),
            ["bound"] => claim("Bound", false),
            ["unbound"] => claim("Lost", false),
            ["no", "pods"] => Outcome::Pods(vec![]),
            ["pods"] => Outcome::Pods(text.split("; ").map(pod_sight).collect()),
            ["no", "content"] | ["content"] => content(text, &[]),
            ["no", "content", "but", resource] => content("", &[resource]),
            ["cannot", "list", resource] => {
                Outcome::Unlisted { resource: (*resource).into(), message: message("forbidden") }
            }
            _ => return None,
        };
        Some((uid, outcome))
    }

    /// A line about kinds that can or cannot be listed, or about the API server.
    fn see(&mut self, words: &[&str], text: &str) {
        let message = "no".into();
        let observation = match words {
            ["listed", word] => {
                Observation::Listed { kind: fixture::kind(word), objects: objects(text) }
            }
            ["listed", word, "in", namespace] => {
                let (kind, namespace) = (fixture::kind(word), (*namespace).into());
                Observation::ListedIn { kind, namespace, objects: objects(text) }
            }
            ["limited", word, "to", namespace] => {
                let namespaces =
                    if *namespace == "nothing" { vec![] } else { vec![(*namespace).into()] };
                Observation::PerNamespace { kind: fixture::kind(word), namespaces, message }
            }
            ["hidden", resource] => return self.scenario.hidden(resource),
            ["visible", resource] => return self.scenario.visible(resource),
            ["undiscovered", resource] => {
                let (resource, cause) = ((*resource).into(), HiddenCause::Discovery);
                Observation::Hidden { resource, cause, message }
            }
            ["undeletable", resource] => Observation::Undeletable([(*resource).into()].into()),
            ["unreachable"] => Observation::Unreachable { cause: AwayCause::Silent, message },
            ["reachable"] => Observation::Reached { version: "v1.36.3".into() },
            _ => panic!("{UNREADABLE}: {}", words.join(" ")),
        };
        self.scenario.see(observation);
    }

    fn person(&mut self, input: &Input) {
        let Scenario { run, index, now, .. } = &self.scenario;
        match run.decide(input, index, &Graph::of(index), *now) {
            Ok(_) => self.scenario.steer(input),
            Err(error) => self.lines.push(format!("refused: {error}")),
        }
    }

    /// A process that starts again has seen nothing go.
    fn restart_without(&mut self, missing: &str) {
        let missing: Vec<Uid> = objects(missing).into_iter().map(|it| it.uid).collect();
        let is_there =
            |line: &&str| line.is_empty() || !missing.contains(&fixture::object(line).uid);
        let cluster: Vec<&str> = self.cluster.lines().map(str::trim).filter(is_there).collect();
        self.scenario.index = Index::default();
        let lists = fixture::listing(&fixture::objects(&cluster.join("\n")));
        self.scenario.index.apply(lists, self.scenario.now);
        self.scenario.steer(&Input::Recover);
    }

    fn until_call(&mut self) -> Vec<String> {
        for waited in 0..100_000 {
            let calls = self.reconcile();
            if !calls.is_empty() {
                self.lines.push(format!("{waited} s later"));
                return calls;
            }
            self.scenario.pass(1);
        }
        panic!("there is no call")
    }

    fn look(&mut self, what: &str) {
        let scenario = &self.scenario;
        let seen = match what {
            "log" => log_of(&scenario.run, scenario.now),
            "clock" => vec![wakes(scenario)],
            "unplanned" => unplanned(scenario).lines().map(|it| format!("  {it}")).collect(),
            "suspended" => suspended(scenario),
            "taken" => vec![taken(scenario)],
            uid => vec![look_at(scenario, uid)],
        };
        self.lines.extend(seen);
    }
}
