//! Whether the API server answers at all: asked in one place, so that its absence is told once and not once per watch.
//!
//! A watch whose connection fails raises a [`Suspicion`]; the pulse then asks `/version`, and only its verdict counts.
//! While the API server is away every watch waits here, and when it is back each resumes where it was: a stream from
//! before may be half-dead without knowing it.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use serde::Deserialize;
use teardown::{
    api_problem::{ApiProblem, ProblemCode},
    observation::{AwayCause, Observation},
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

use super::{
    report::{HubGone, Report},
    request,
    text::bounded,
    told::{Hearer, Teller},
};
use crate::chance::Chance;

/// How often it is asked unprompted: a cable that was pulled breaks no connection by itself.
const EVERY: Duration = Duration::from_secs(10);
/// How long `/version` may take; the API server answers it from memory.
const PATIENCE: Duration = Duration::from_secs(5);
/// A single failure may be one lost packet or one replica behind a load balancer that restarts.
const AGAIN: Duration = Duration::from_millis(500);
/// The longest wait while it is away.
const LONGEST: Duration = Duration::from_secs(5);

/// What is known of the API server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reach {
    reached: bool,
    /// How often it came (back).
    times: u64,
}

/// Asks, and tells.
pub(super) struct Pulse {
    client: Client,
    report: Report,
    reach: Teller<Reach>,
    suspicion: Arc<Notify>,
    chance: Chance,
}

/// A watch's view of the pulse.
#[derive(Clone, Debug)]
pub(super) struct Suspicion {
    reach: Hearer<Reach>,
    raised: Arc<Notify>,
}

impl Pulse {
    /// A pulse that has not been felt yet.
    pub(super) fn new(client: Client, report: Report, chance: Chance) -> Self {
        let (reach, suspicion) = (Teller::default(), Arc::default());
        Self { client, report, reach, suspicion, chance }
    }

    /// A view of it.
    pub(super) fn suspicion(&self) -> Suspicion {
        Suspicion { reach: self.reach.hearer(), raised: self.suspicion.clone() }
    }

    /// Asks for ever.
    pub(super) async fn run(self) -> Result<(), HubGone> {
        let mut version: Option<String> = None;
        let mut told: Option<AwayCause> = None;
        let mut failures = 0;
        let mut time = Reading::default();
        loop {
            match self.ask().await {
                Ok((answer, date)) => {
                    failures = 0;
                    let back = version.is_none();
                    if let Some(date) = date.filter(|date| !time.is_expected(*date)) {
                        time = Reading { date, at: Some(Instant::now()) };
                        self.report.tell(Observation::Time(date)).await?;
                    }
                    // An answer without a version does not make a known one unknown.
                    let answer =
                        answer.or_else(|| version.clone()).unwrap_or_else(|| "unknown".to_owned());
                    if version.as_deref() != Some(&answer) {
                        self.report.tell(Observation::Reached { version: answer.clone() }).await?;
                        version = Some(answer);
                    }
                    if back {
                        told = None;
                        tracing::info!("the API server answers");
                        self.reach.change(|reach| {
                            *reach = Reach { reached: true, times: reach.times + 1 };
                            true
                        });
                    }
                    tokio::select! {
                        biased;
                        () = sleep(EVERY) => {}
                        // Many watches fail at once: one question answers them all.
                        () = self.suspicion.notified() => sleep(Duration::from_millis(100)).await,
                    }
                }
                Err(Away { cause, message }) => {
                    failures += 1;
                    if failures > 1 && told != Some(cause) {
                        told = Some(cause);
                        version = None;
                        tracing::warn!(?cause, "the API server does not answer");
                        self.reach.change(|reach| std::mem::take(&mut reach.reached));
                        self.report.tell(Observation::Unreachable { cause, message }).await?;
                    }
                    sleep(self.chance.spread((AGAIN * failures).min(LONGEST))).await;
                }
            }
        }
    }

    /// The version and what its clock shows, or why there is no answer. An API server that does not tell its version is
    /// there all the same.
    async fn ask(&self) -> Result<(Option<String>, Option<Timestamp>), Away> {
        let request = request::get("/version", request::JSON)?;
        let answer = request::ask(&self.client, request, PATIENCE).await?;
        match answer.code {
            200 => {
                let version = serde_json::from_slice::<Version>(&answer.body).map_err(|_| {
                    Away { cause: AwayCause::Failing, message: ProblemCode::NotAnApiServer.into() }
                })?;
                Ok((Some(bounded(&version.git_version)), answer.date))
            }
            403 | 404 | 429 => Ok((None, answer.date)),
            401 => Err(Away { cause: AwayCause::Unauthorized, message: answer.message() }),
            code => {
                Err(Away { cause: AwayCause::Failing, message: answered(code, answer.message()) })
            }
        }
    }
}

/// What it said, with the code it said it with.
fn answered(code: u16, message: ApiProblem) -> ApiProblem {
    match message {
        ApiProblem::Quoted(said) => ProblemCode::Status { code, said }.into(),
        found @ ApiProblem::Code(_) => found,
    }
}

/// What the API server's clock showed, and when.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    date: Timestamp,
    at: Option<Instant>,
}

impl Reading {
    /// Whether this date is what the clock must show by now. Dates have whole seconds and have been under way.
    fn is_expected(self, date: Timestamp) -> bool {
        self.at.is_some_and(|at| {
            let passed = SignedDuration::try_from(at.elapsed()).unwrap_or(SignedDuration::MAX);
            (date.duration_since(self.date) - passed).abs() <= SignedDuration::from_secs(2)
        })
    }
}

/// Why the API server counts as away.
#[derive(Debug)]
struct Away {
    cause: AwayCause,
    message: ApiProblem,
}

impl From<request::Failure> for Away {
    fn from(failure: request::Failure) -> Self {
        let cause = match failure {
            request::Failure::Silence(_) | request::Failure::Connection(_) => AwayCause::Silent,
            request::Failure::Credentials => AwayCause::Unauthorized,
            request::Failure::TooLarge => AwayCause::Failing,
        };
        Self { cause, message: ApiProblem::from(&failure) }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    git_version: String,
}

impl Suspicion {
    /// The API server may be away: a connection failed.
    pub(super) fn raise(&self) {
        self.raised.notify_one();
    }

    /// Whether it answers, as far as is known.
    pub(super) fn is_reached(&self) -> bool {
        self.reach.peek(|reach| reach.reached)
    }

    /// Waits until it answers, and says how often it has come back by then. Never returns once the pulse has ended.
    pub(super) async fn reached(&mut self) -> u64 {
        self.reach.wait_for(|reach| reach.reached.then_some(reach.times)).await
    }

    /// Waits until it has been away and is back again, since it came back for the `times`th time.
    pub(super) async fn came_back(&mut self, times: u64) {
        self.reach.wait_for(|reach| (reach.reached && reach.times > times).then_some(())).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU16, Ordering};

    use tokio::time::{Instant, timeout};

    use super::*;
    use crate::cluster::fake::{self, Reply};

    #[tokio::test(start_paused = true)]
    async fn absence_and_return_are_told_once() {
        static CODE: AtomicU16 = AtomicU16::new(200);
        let (client, _) = fake::client(|_| {
            Box::pin(std::future::ready(match CODE.load(Ordering::SeqCst) {
                0 => Reply::Broken,
                1 => Reply::Silence,
                code => Reply::Answer(code, r#"{"gitVersion":"v1.36.3"}"#.into()),
            }))
        });
        let (report, mut told) = Report::channel();
        let pulse = Pulse::new(client, report, Chance::default());
        let mut view = pulse.suspicion();
        let task = tokio::spawn(pulse.run());
        let reached = Observation::Reached { version: "v1.36.3".into() };
        assert_eq!(view.reached().await, 1);
        assert_eq!(told.recv().await, Some(reached.clone()));

        let ways = [
            (0, AwayCause::Silent),
            (1, AwayCause::Silent),
            (401, AwayCause::Unauthorized),
            (503, AwayCause::Failing),
        ];
        for (times, (away, why)) in (1..).zip(ways) {
            let back = tokio::spawn({
                let mut view = view.clone();
                async move { view.came_back(times).await }
            });
            CODE.store(away, Ordering::SeqCst);
            for _ in 0..100 {
                view.raise();
            }
            let began = Instant::now();
            let said = told.recv().await;
            assert!(
                matches!(&said, Some(Observation::Unreachable { cause, .. }) if *cause == why),
                "{said:?}"
            );
            assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
            assert!(timeout(Duration::from_secs(60), told.recv()).await.is_err(), "told once");
            assert!(!view.is_reached() && !back.is_finished());
            CODE.store(200, Ordering::SeqCst);
            assert_eq!(told.recv().await, Some(reached.clone()));
            back.await.unwrap();
        }
        task.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn one_lost_packet_is_no_absence() {
        static NUMBER: AtomicU16 = AtomicU16::new(0);
        let (client, _) = fake::client(|_| {
            Box::pin(std::future::ready(match NUMBER.fetch_add(1, Ordering::SeqCst) {
                1 => Reply::Broken,
                _ => Reply::Answer(200, r#"{"gitVersion":"v1.36.3"}"#.into()),
            }))
        });
        let (report, mut told) = Report::channel();
        let task = tokio::spawn(Pulse::new(client, report, Chance::default()).run());
        assert!(matches!(told.recv().await, Some(Observation::Reached { .. })));
        assert!(timeout(Duration::from_secs(60), told.recv()).await.is_err());
        task.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_is_told_once_and_when_it_is_another_than_expected() {
        static NUMBER: AtomicU16 = AtomicU16::new(0);
        let (client, _) = fake::client(|_| {
            let date = match NUMBER.fetch_add(1, Ordering::SeqCst) {
                0 => "Fri, 15 Jan 2027 08:00:00 GMT",
                // Ten seconds later, as far as whole seconds can tell.
                1 => "Fri, 15 Jan 2027 08:00:11 GMT",
                2 => "not a date",
                _ => "Fri, 15 Jan 2027 07:30:00 GMT",
            };
            let reply = Reply::Dated(date, r#"{"gitVersion":"v1.36.3"}"#.into());
            Box::pin(std::future::ready(reply))
        });
        let (report, mut told) = Report::channel();
        let task = tokio::spawn(Pulse::new(client, report, Chance::default()).run());
        let time = |text: &str| Some(Observation::Time(text.parse().unwrap()));
        assert_eq!(told.recv().await, time("2027-01-15T08:00:00Z"));
        assert!(matches!(told.recv().await, Some(Observation::Reached { .. })));
        let begin = Instant::now();
        assert_eq!(told.recv().await, time("2027-01-15T07:30:00Z"));
        assert_eq!(begin.elapsed().as_secs(), 30);
        task.abort();
    }
}
