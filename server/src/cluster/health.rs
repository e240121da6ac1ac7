//! The health check: one task asks whether the API server answers, so that an outage is reported once and not once per
//! watch.
//!
//! A watch whose connection fails calls [`Health::check`]. The health check then asks `/version`, and only that answer
//! counts. During an outage every watch waits here. Afterwards each watch opens a new stream at its last position,
//! because a stream from before the outage may be dead without an error.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
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
    fair_watch::{FairReceiver, FairSender},
    report::{HubGone, Report},
    request::{self, ApiClient},
    text::bounded,
};
use crate::chance::Chance;

/// The time between two checks. A pulled cable breaks no connection by itself, so waiting for an error is not enough.
const INTERVAL: Duration = Duration::from_secs(10);
/// The deadline of `/version`; the API server answers it from memory.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The first retry delay. A single failure may be a lost packet, or one replica behind a load balancer that restarts.
const RETRY: Duration = Duration::from_millis(500);
/// The longest retry delay during an outage.
const MAX_RETRY: Duration = Duration::from_secs(5);

/// The state that watches wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reachability {
    reached: bool,
    /// The number of times that the API server became reachable.
    connects: u64,
}

/// The task that asks the API server and reports its state.
pub(super) struct HealthCheck {
    client: ApiClient,
    report: Report,
    reachability: FairSender<Reachability>,
    check_now: Arc<Notify>,
    chance: Chance,
}

/// A watch's handle to the health check.
#[derive(Clone, Debug)]
pub(super) struct Health {
    reachability: FairReceiver<Reachability>,
    check_now: Arc<Notify>,
}

impl HealthCheck {
    /// A health check that has not asked yet.
    pub(super) fn new(client: ApiClient, report: Report, chance: Chance) -> Self {
        let (reachability, check_now) = (FairSender::default(), Arc::default());
        Self { client, report, reachability, check_now, chance }
    }

    /// A handle for a watch.
    pub(super) fn health(&self) -> Health {
        Health { reachability: self.reachability.subscribe(), check_now: self.check_now.clone() }
    }

    /// Checks until the hub is gone.
    pub(super) async fn run(self) -> Result<(), HubGone> {
        let mut version: Option<String> = None;
        let mut reported: Option<AwayCause> = None;
        let mut failures = 0;
        let mut time = ClockReading::default();
        loop {
            match self.ask().await {
                Ok((answer, date)) => {
                    failures = 0;
                    let back = version.is_none();
                    if let Some(date) = date.filter(|date| !time.is_expected(*date)) {
                        time = ClockReading { date, at: Some(Instant::now()) };
                        self.report.send(Observation::Time(date)).await?;
                    }
                    // An answer without a version does not replace a known version.
                    let answer =
                        answer.or_else(|| version.clone()).unwrap_or_else(|| "unknown".to_owned());
                    if version.as_deref() != Some(&answer) {
                        self.report.send(Observation::Reached { version: answer.clone() }).await?;
                        version = Some(answer);
                    }
                    if back {
                        reported = None;
                        tracing::info!("the API server answers");
                        self.reachability.send_if_modified(|reachability| {
                            *reachability =
                                Reachability { reached: true, connects: reachability.connects + 1 };
                            true
                        });
                    }
                    tokio::select! {
                        biased;
                        () = sleep(INTERVAL) => {}
                        // Many watches fail at once, and one check serves them all.
                        () = self.check_now.notified() => sleep(Duration::from_millis(100)).await,
                    }
                }
                Err(Failed { cause, message }) => {
                    failures += 1;
                    if failures > 1 && reported != Some(cause) {
                        reported = Some(cause);
                        version = None;
                        tracing::warn!(?cause, "the API server does not answer");
                        self.reachability.send_if_modified(|reachability| {
                            std::mem::take(&mut reachability.reached)
                        });
                        self.report.send(Observation::Unreachable { cause, message }).await?;
                    }
                    sleep(self.chance.spread((RETRY * failures).min(MAX_RETRY))).await;
                }
            }
        }
    }

    /// Asks for the version and the time of the API server's clock. An API server that refuses to say its version is
    /// reachable too.
    async fn ask(&self) -> Result<(Option<String>, Option<Timestamp>), Failed> {
        let request = request::get("/version", request::JSON);
        let answer = request::ask(&self.client, request, TIMEOUT).await?;
        match answer.code {
            200 => {
                let version =
                    serde_json::from_slice::<Version>(&answer.body).map_err(|_| Failed {
                        cause: AwayCause::Failing,
                        message: ProblemCode::NotAnApiServer.into(),
                    })?;
                Ok((Some(bounded(&version.git_version)), answer.date))
            }
            403 | 404 | 429 => Ok((None, answer.date)),
            401 => Err(Failed { cause: AwayCause::Unauthorized, message: answer.message() }),
            code => {
                Err(Failed { cause: AwayCause::Failing, message: answered(code, answer.message()) })
            }
        }
    }
}

/// Adds the HTTP status code to the message.
fn answered(code: u16, message: ApiProblem) -> ApiProblem {
    match message {
        ApiProblem::Quoted(said) => ProblemCode::Status { code, said }.into(),
        found @ ApiProblem::Code(_) => found,
    }
}

/// A time that the API server's clock showed, and the instant of the answer.
#[derive(Clone, Copy, Debug, Default)]
struct ClockReading {
    date: Timestamp,
    at: Option<Instant>,
}

impl ClockReading {
    /// Whether the clock must show this date by now. Dates have whole seconds and arrive late, so 2 s are tolerated.
    fn is_expected(self, date: Timestamp) -> bool {
        self.at.is_some_and(|at| {
            let passed = SignedDuration::try_from(at.elapsed()).unwrap_or(SignedDuration::MAX);
            (date.duration_since(self.date) - passed).abs() <= SignedDuration::from_secs(2)
        })
    }
}

/// The reason why a check failed.
#[derive(Debug)]
struct Failed {
    cause: AwayCause,
    message: ApiProblem,
}

impl From<request::Failure> for Failed {
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

impl Health {
    /// Asks for a check now, because a connection failed.
    pub(super) fn check(&self) {
        self.check_now.notify_one();
    }

    /// Whether the API server counts as reachable.
    pub(super) fn is_reached(&self) -> bool {
        self.reachability.borrow(|reachability| reachability.reached)
    }

    /// Waits until the API server is reachable, and returns how many times it became so. Never returns once the health
    /// check has ended.
    pub(super) async fn reached(&mut self) -> u64 {
        self.reachability
            .wait_for(|reachability| reachability.reached.then_some(reachability.connects))
            .await
    }

    /// Waits for an outage and its end, after the API server became reachable for the `connects`th time.
    pub(super) async fn reconnected(&mut self, connects: u64) {
        self.reachability
            .wait_for(|reachability| {
                (reachability.reached && reachability.connects > connects).then_some(())
            })
            .await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU16, Ordering};

    use tokio::time::{Instant, timeout};

    use super::*;
    use crate::cluster::fake::{self, Reply};

    #[tokio::test(start_paused = true)]
    async fn outage_and_its_end_are_reported_once_each() {
        static CODE: AtomicU16 = AtomicU16::new(200);
        let (client, _) = fake::client(|_| {
            Box::pin(std::future::ready(match CODE.load(Ordering::SeqCst) {
                0 => Reply::Broken,
                1 => Reply::Silence,
                code => Reply::Answer(code, r#"{"gitVersion":"v1.36.3"}"#.into()),
            }))
        });
        let (report, mut reported) = Report::channel();
        let health_check = HealthCheck::new(client, report, Chance::default());
        let mut view = health_check.health();
        let task = tokio::spawn(health_check.run());
        let reached = Observation::Reached { version: "v1.36.3".into() };
        assert_eq!(view.reached().await, 1);
        assert_eq!(reported.recv().await, Some(reached.clone()));

        let ways = [
            (0, AwayCause::Silent),
            (1, AwayCause::Silent),
            (401, AwayCause::Unauthorized),
            (503, AwayCause::Failing),
        ];
        for (connects, (away, why)) in (1..).zip(ways) {
            let back = tokio::spawn({
                let mut view = view.clone();
                async move { view.reconnected(connects).await }
            });
            CODE.store(away, Ordering::SeqCst);
            for _ in 0..100 {
                view.check();
            }
            let began = Instant::now();
            let said = reported.recv().await;
            assert!(
                matches!(&said, Some(Observation::Unreachable { cause, .. }) if *cause == why),
                "{said:?}"
            );
            assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
            assert!(
                timeout(Duration::from_secs(60), reported.recv()).await.is_err(),
                "reported once"
            );
            assert!(!view.is_reached() && !back.is_finished());
            CODE.store(200, Ordering::SeqCst);
            assert_eq!(reported.recv().await, Some(reached.clone()));
            back.await.unwrap();
        }
        task.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn single_failed_check_is_not_reported() {
        static NUMBER: AtomicU16 = AtomicU16::new(0);
        let (client, _) = fake::client(|_| {
            Box::pin(std::future::ready(match NUMBER.fetch_add(1, Ordering::SeqCst) {
                1 => Reply::Broken,
                _ => Reply::Answer(200, r#"{"gitVersion":"v1.36.3"}"#.into()),
            }))
        });
        let (report, mut reported) = Report::channel();
        let task = tokio::spawn(HealthCheck::new(client, report, Chance::default()).run());
        assert!(matches!(reported.recv().await, Some(Observation::Reached { .. })));
        assert!(timeout(Duration::from_secs(60), reported.recv()).await.is_err());
        task.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn time_is_reported_once_and_after_the_clock_jumps() {
        static NUMBER: AtomicU16 = AtomicU16::new(0);
        let (client, _) = fake::client(|_| {
            let date = match NUMBER.fetch_add(1, Ordering::SeqCst) {
                0 => "Fri, 15 Jan 2027 08:00:00 GMT",
                // Ten seconds later, within the tolerance.
                1 => "Fri, 15 Jan 2027 08:00:11 GMT",
                2 => "not a date",
                _ => "Fri, 15 Jan 2027 07:30:00 GMT",
            };
            let reply = Reply::Dated(date, r#"{"gitVersion":"v1.36.3"}"#.into());
            Box::pin(std::future::ready(reply))
        });
        let (report, mut reported) = Report::channel();
        let task = tokio::spawn(HealthCheck::new(client, report, Chance::default()).run());
        let time = |text: &str| Some(Observation::Time(text.parse().unwrap()));
        assert_eq!(reported.recv().await, time("2027-01-15T08:00:00Z"));
        assert!(matches!(reported.recv().await, Some(Observation::Reached { .. })));
        let begin = Instant::now();
        assert_eq!(reported.recv().await, time("2027-01-15T07:30:00Z"));
        assert_eq!(begin.elapsed().as_secs(), 30);
        task.abort();
    }
}
