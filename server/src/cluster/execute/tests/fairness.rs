//! Measures how much the calls of one kind or one run delay those of another, in paused time.

use std::collections::BTreeMap;

use super::*;

/// The latency of a healthy API server.
const LATENCY: Duration = Duration::from_millis(20);
/// The calls of each kind or run.
const CALLS: usize = 200;

/// Whether a call to a kind is answered, or is silent until its deadline.
fn replies(is_hanging: fn(&Seen) -> bool) -> ApiClient {
    let (client, _) = fake::client(move |seen| {
        let is_hanging = is_hanging(&seen);
        Box::pin(async move {
            if is_hanging {
                return Reply::Silence;
            }
            sleep(LATENCY).await;
            Reply::Answer(200, "{}".into())
        })
    });
    client
}

fn request(run: &str, plural: &str) -> CallRequest {
    let kind = kind("example.com", "Widget", plural, true);
    let (target, propagation) = (ActionTarget { kind, ..deployment() }, Propagation::Background);
    let action = Action::Delete { step: StepId(1), target, propagation };
    CallRequest { run: RunId::new(run), action, steps_behind: 0, recall: CancellationToken::new() }
}

/// The times after which the calls were completed, by run and plural.
async fn times(
    client: ApiClient,
    calls: Vec<CallRequest>,
) -> BTreeMap<(String, String), Vec<Duration>> {
    let (mailbox, mut incoming) = mpsc::channel(4);
    let (sender, drain, task) = executing(client, mailbox);
    let (began, count) = (Instant::now(), calls.len());
    for call in calls {
        sender.send(call).await.unwrap();
    }
    let mut times: BTreeMap<_, Vec<Duration>> = BTreeMap::new();
    for _ in 0..count {
        let Some(Incoming::CallCompleted { run, action, .. }) = incoming.recv().await else {
            panic!("not an answer")
        };
        let plural = action.target().kind.plural.to_string();
        times.entry((run.to_string(), plural)).or_default().push(began.elapsed());
    }
    drain.cancel();
    task.await.unwrap();
    times
}

fn last(times: &BTreeMap<(String, String), Vec<Duration>>, run: &str, plural: &str) -> Duration {
    *times[&(run.to_owned(), plural.to_owned())].last().unwrap()
}

fn many(run: &str, plural: &str) -> Vec<CallRequest> {
    (0..CALLS).map(|_| request(run, plural)).collect()
}

#[tokio::test(start_paused = true)]
async fn kind_that_hangs_delays_no_other_kind() {
    let is_hanging = |seen: &Seen| seen.path.contains("/hanging/");
    let alone = times(replies(is_hanging), many("r", "healthy")).await;
    let alone = last(&alone, "r", "healthy");
    for runs in [["r", "r"], ["r1", "r2"]] {
        let calls = [many(runs[0], "hanging"), many(runs[1], "healthy")].concat();
        let both = times(replies(is_hanging), calls).await;
        let beside = last(&both, runs[1], "healthy");
        assert!(beside <= alone * 3 / 2, "{beside:?} beside a kind that hangs, {alone:?} alone");
        assert!(last(&both, runs[0], "hanging") > Duration::from_secs(1_000), "they did hang");
    }
}

/// A dead webhook guards several kinds. All of their calls hang from the first one.
#[tokio::test(start_paused = true)]
async fn several_kinds_that_hang_together_delay_no_other_kind() {
    let is_hanging = |seen: &Seen| seen.path.contains("/hanging-");
    let alone = times(replies(is_hanging), many("r", "healthy")).await;
    let alone = last(&alone, "r", "healthy");
    for kinds in [2, 4, 6] {
        let hanging = (0..kinds).flat_map(|kind| many("r", &format!("hanging-{kind}")));
        let calls = hanging.chain(many("r", "healthy")).collect();
        let both = times(replies(is_hanging), calls).await;
        let beside = last(&both, "r", "healthy");
        assert!(beside <= alone * 2, "{beside:?} beside {kinds} kinds that hang, {alone:?} alone");
    }
}

/// The kind hangs only after its limit has grown, and takes the calls of its neighbours only until they are due.
#[tokio::test(start_paused = true)]
async fn kind_that_begins_to_hang_leaves_half_of_the_calls_to_others() {
    static SERVED: AtomicUsize = AtomicUsize::new(0);
    let is_hanging = |seen: &Seen| {
        seen.path.contains("/hanging/") && SERVED.fetch_add(1, Ordering::SeqCst) > 2_000
    };
    let warm = (0..12).flat_map(|_| many("r", "hanging")).collect::<Vec<_>>();
    let alone = times(replies(|_| false), many("r", "healthy")).await;
    let both = times(replies(is_hanging), [warm, many("r", "healthy")].concat()).await;
    let (alone, beside) = (last(&alone, "r", "healthy"), last(&both, "r", "healthy"));
    assert!(beside <= alone * 3 / 2, "{beside:?} beside a kind that hangs, {alone:?} alone");
}

#[tokio::test(start_paused = true)]
async fn two_runs_share_the_calls_evenly_whatever_they_wait_for() {
    // The second run asks after the first, for the same kind or for another one.
    for plurals in [["widgets", "widgets"], ["widgets", "gadgets"]] {
        let calls = [many("r1", plurals[0]), many("r2", plurals[1])].concat();
        let times = times(replies(|_| false), calls).await;
        let [one, two] = ["r1", "r2"].map(|run| {
            let mut times = times.iter().filter(|((of, _), _)| of == run);
            times.next().unwrap().1.clone()
        });
        for (n, (one, two)) in one.iter().zip(&two).enumerate() {
            assert!(one.abs_diff(*two) <= LATENCY * 2, "call {n}: {one:?} and {two:?}");
        }
    }
}
