//! The server process. The cluster's observations go to the hub; the hub's decisions go to the cluster and to every
//! browser.
#![warn(missing_docs)]

pub mod args;
pub mod chance;
pub mod metrics;
mod blocking;
mod private_file;
pub mod notify;
pub mod cluster;
pub mod http;
pub mod hub;
pub mod journal;
pub mod demo;
pub mod shutdown;

use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use teardown::{right::Right, wanted::Wanted};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::{
    args::Args,
    cluster::{Access, Cluster},
    demo::DemoCluster,
    http::{AppState, Limits, LocalAccess, Site},
    hub::{Hub, HubHandle},
    journal::Journal,
    notify::Notifier,
    shutdown::Signals,
};

/// Runs until a signal arrives or a task ends unexpectedly.
///
/// # Errors
/// Returns the reason why the server cannot start or continue, with advice.
pub fn run(args: Args) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(start(args))
}

async fn start(args: Args) -> anyhow::Result<()> {
    let Args {
        context,
        kubeconfig,
        sandbox,
        address,
        port,
        state,
        site,
        name,
        keep_runs,
        compact_runs,
        read_only,
        allow_remedies,
        kubelet_logs,
        kubelet_kubeconfig,
        metrics_address,
        notify_url,
        notify_format,
        log,
    } = args;
    write_log(&log)?;
    let signals =
        Signals::listen().context("cannot install the handlers for SIGINT and SIGTERM")?;

    let notified = notify_url.map(|url| notify::Address::parse(url.reveal())).transpose()?;
    let site = Site::open(&site)?;
    let mut asides = JoinSet::new();
    let (state, journal, cluster, demo) = match sandbox {
        None => {
            let state = args::state_dir(state)?;
            let journal = Journal::open(&state.join("journal.redb"))?;
            let cluster = connect(Access { kubeconfig, context }).await?;
            let logs = kubelet_logs.then_some(kubelet_kubeconfig);
            (state, journal, with_kubelet_logs(cluster, logs).await?, None)
        }
        Some(world) => {
            let state = args::state_dir(Some(args::state_dir(state)?.join("sandbox")))?;
            let demo = open_sandbox(world.as_deref(), &state, &mut asides).await?;
            // The sandbox's objects end with the process, so its runs need no journal on disk.
            (state, Journal::in_memory(), demo.cluster(), Some(demo))
        }
    };
    let listener = http::listen(address, port, Some(&state)).await?;
    let address = listener.local_addr()?;
    let most = greatest_right(read_only, allow_remedies);
    let scraped = match metrics_address {
        Some(address) => Some(http::listen_for_metrics(address).await?),
        None => None,
    };
    let (access, link) = LocalAccess::open(address, Some(&state), &name, most, Timestamp::now());

    let limits = Limits::of_process();
    let drain = CancellationToken::new();
    let days = |days: u32| SignedDuration::from_hours(24 * i64::from(days));
    let Connected { cluster, hub, mailbox, calls, writable } =
        connect_hub(cluster, journal, days(keep_runs), days(compact_runs), allow_remedies)?;
    if let Some(demo) = demo.clone() {
        asides.spawn(demo.report(mailbox.clone()));
    }
    let handle = HubHandle::new(mailbox.clone());
    let app = AppState::new(handle.clone(), Arc::new(access), site, drain.clone()).with_demo(demo);
    let notifier = match notified {
        Some(address) => {
            let (name, now) = (cluster.name(), Timestamp::now());
            Some(Notifier::open(handle.clone(), name, address, notify_format, &state, now)?)
        }
        None => None,
    };
    let app = app.watching_journal(writable);
    let app = app.measuring(cluster.metrics(), notifier.as_ref().map(Notifier::metrics));
    if let Some(notifier) = notifier {
        asides.spawn(notifier.run(drain.clone()));
    }
    if let Some(listener) = scraped {
        let address = listener.local_addr()?;
        eprintln!("Prometheus can read http://{address}/metrics.");
        let router = http::metrics_router(app.clone(), address);
        asides.spawn(http::serve(listener, router, Limits::of_metrics(), drain.clone()));
    }
    let router = http::router(app);

    announce(cluster.name(), &link.url());
    let serving = http::serve(listener, router, limits, drain.clone());
    let work = work(cluster, hub, mailbox, calls, serving, drain.clone());
    supervise(work, asides, signals, drain).await
}

/// Writes the log to the standard error.
fn write_log(filter: &str) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter).context("--log is not a filter; use a level such as `info`, or a list such as `info,server::http=debug`")?;
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        .init();
    Ok(())
}

/// The cluster, with the logs of its kubelets if they may be read, and by this kubeconfig if there is one for them.
async fn with_kubelet_logs(
    cluster: Cluster,
    logs: Option<Option<PathBuf>>,
) -> anyhow::Result<Cluster> {
    match logs {
        None => Ok(cluster),
        Some(None) => Ok(cluster.reading_kubelet_logs()),
        Some(Some(path)) => {
            let access = Access { kubeconfig: Some(path), context: None };
            let reading = cluster.reading_kubelet_logs_as(access).await;
            reading.context("the file of --kubelet-kubeconfig cannot be used")
        }
    }
}

/// Opens the sandbox with this world, and a port of its API server for kubectl.
async fn open_sandbox(
    world: Option<&str>,
    state: &Path,
    asides: &mut JoinSet<()>,
) -> anyhow::Result<DemoCluster> {
    let demo = DemoCluster::open(world)?;
    let kubeconfig = state.join("kubeconfig");
    asides.spawn(demo.listen(&kubeconfig).await?);
    eprintln!("kubectl --kubeconfig {} get pods -A looks at the sandbox.", kubeconfig.display());
    Ok(demo)
}

/// The greatest right of a session.
fn greatest_right(read_only: bool, allow_remedies: bool) -> Right {
    match (read_only, allow_remedies) {
        (true, _) => Right::Look,
        (false, false) => Right::Act,
        (false, true) => Right::Force,
    }
}

/// The hub and the cluster, joined by their channels.
struct Connected {
    cluster: Cluster,
    hub: Hub,
    mailbox: mpsc::Sender<hub::Incoming>,
    calls: mpsc::Receiver<hub::CallRequest>,
    /// Whether the journal can be written.
    writable: watch::Receiver<bool>,
}

/// Opens the hub, which reads the journal. A run is removed `keep` after its end, and its journal shortened `compact` after it.
fn connect_hub(
    cluster: Cluster,
    journal: Journal,
    keep: SignedDuration,
    compact: SignedDuration,
    allow_remedies: bool,
) -> anyhow::Result<Connected> {
    let (mailbox, inbox) = mpsc::channel(hub::MAILBOX);
    let (out, calls) = mpsc::channel(hub::CALLS);
    let (asked, preflights) = mpsc::channel(hub::PREFLIGHTS);
    let (want, wanted) = watch::channel(Wanted::default());
    let cluster = cluster.answering(preflights).fetching(wanted);
    let (report, writable) = watch::channel(true);
    let hub = Hub::open(cluster.name().to_owned(), inbox, out, journal)
        .context(
        "the journal cannot be read. It holds the open runs, so first repair its disk or make room on it. \
         Only if the file itself is damaged, move it away to start without these runs",
    )?
    .asking(asked)
    .wanting(want)
    .reporting(report)
    .keeping_runs(keep)
    .compacting_runs(compact);
    let (out, remedies) = mpsc::channel(hub::REMEDIES);
    let cluster = cluster.with_remedies(remedies);
    let hub = match allow_remedies {
        true => hub.allow_remedies(out),
        false => hub.sending_remedies(out),
    };
    Ok(Connected { cluster, hub, mailbox, calls, writable })
}

/// Says the URL that opens the page, once.
fn announce(cluster: &str, url: &str) {
    eprintln!("unwind serves {cluster} on this machine. Open, once:");
    // A program that starts the server reads this line.
    #[expect(clippy::print_stdout, reason = "the URL is the program's output")]
    {
        println!("{url}");
    }
}

async fn connect(access: Access) -> anyhow::Result<Cluster> {
    Cluster::connect(access).await.map_err(|error| {
        let advice = error.advice();
        anyhow::anyhow!("{:#}\n{advice}", anyhow::Error::new(error))
    })
}

/// Runs everything until it has ended, or until a second signal. A task beside it that panics ends it.
async fn supervise(
    work: impl Future<Output = anyhow::Result<()>>,
    asides: JoinSet<()>,
    signals: Signals,
    drain: CancellationToken,
) -> anyhow::Result<()> {
    let ends = async {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            ended = &mut work => ended,
            panicked = panicked(asides) => {
                drain.cancel();
                work.await.and(Err(panicked))
            }
        }
    };
    tokio::select! {
        aborted = signals.drain_then_abort(drain.clone()) => Err(aborted.into()),
        ended = ends => ended,
    }
}

/// Waits until one of the tasks panics. Their ends are expected.
async fn panicked(mut tasks: JoinSet<()>) -> anyhow::Error {
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            return anyhow::Error::new(error).context(
                "a task of the server panicked; restart the server. Open runs are in the journal and continue then",
            );
        }
    }
    std::future::pending().await
}

/// Runs the cluster, the hub and the page. A task that ends without being asked to ends the others.
async fn work(
    cluster: Cluster,
    hub: Hub,
    mailbox: mpsc::Sender<hub::Incoming>,
    calls: mpsc::Receiver<hub::CallRequest>,
    serving: impl Future<Output = ()>,
    drain: CancellationToken,
) -> anyhow::Result<()> {
    let hub_drain = CancellationToken::new();
    let hub = tokio::spawn(hub.run(hub_drain.clone()));
    let work = async {
        let watching = async {
            let ended = cluster.run(mailbox, calls, drain.clone()).await;
            drain.cancel();
            ended
        };
        let (watched, ()) = tokio::join!(watching, serving);
        watched.context(
            "the connection to the cluster ended, so nothing more is observed or deleted",
        )?;
        // The hub ends last, so that it journals the answers that arrive during shutdown.
        hub_drain.cancel();
        Ok(())
    };
    let hub = async {
        let ended = hub.await.context("the hub panicked; restart the server")?.context(
            "the hub ended, so nothing more is deleted. Open runs are in the journal and continue at the next start",
        );
        drain.cancel();
        ended
    };
    tokio::try_join!(hub, work).map(|_| ())
}
