//! Work on a thread of the runtime that waits for the disk.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Does something that may wait for the disk. Meanwhile the other tasks of this thread go on on another one, so that a slow disk
/// stops no page. A runtime with one thread, as most tests have, has no other one.
pub(crate) fn blocking<T>(act: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|it| it.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(act),
        _ => act(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_of_the_thread_go_on_meanwhile() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let slow = tokio::spawn(async move {
            tokio::spawn(async move { sender.send("done") });
            blocking(|| receiver.recv_timeout(std::time::Duration::from_secs(10)))
        });
        assert_eq!(slow.await.unwrap(), Ok("done"));
    }

    #[tokio::test]
    async fn runtime_of_one_thread_does_it_in_place() {
        assert_eq!(blocking(|| 1), 1);
    }

    #[test]
    fn no_runtime_is_needed() {
        assert_eq!(blocking(|| 1), 1);
    }
}
