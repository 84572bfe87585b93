//! The only place that starts tasks and threads, so that none ends unseen.
//!
//! A supervisor owns what it started, in the order in which it started it, and stops it in the reverse order, each
//! within its own limit: what was begun last leans on what was begun first. A task that ends before it was told to, or
//! that panics, is an [`End`] that the owner reads; nothing is restarted behind anybody's back.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

/// What a task may fail with.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Owns tasks and threads. Dropping it aborts the tasks; threads see their token cancelled.
#[derive(Debug, Default)]
pub struct Supervisor {
    running: JoinSet<Result<(), Failure>>,
    ranks: Vec<Rank>,
    ended: HashMap<Id, End>,
}

/// One task or thread, as its supervisor knows it.
#[derive(Debug)]
struct Rank {
    id: Id,
    name: &'static str,
    stop: CancellationToken,
    limit: Duration,
    handle: AbortHandle,
}

/// That something ended, and how.
#[derive(Debug)]
pub struct End {
    /// The name that it was started under.
    pub name: &'static str,
    /// How.
    pub how: How,
}

/// How a task or thread ended.
#[derive(Debug)]
pub enum How {
    /// It returned without a fault.
    Finished,
    /// It returned an error.
    Failed(Failure),
    /// It panicked; the message, where it had one.
    Panicked(String),
    /// It was told to stop and did not, within its limit. A task was aborted; a thread goes on until the process ends.
    Overdue(Duration),
}

// === impl Supervisor ===

impl Supervisor {
    /// One without tasks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a task. It is given a token that is cancelled when it shall stop, and then has `limit` to do so.
    pub fn spawn<F, T>(&mut self, name: &'static str, limit: Duration, task: T) -> CancellationToken
    where
        T: FnOnce(CancellationToken) -> F,
        F: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        let stop = CancellationToken::new();
        let handle = self.running.spawn(task(stop.clone()));
        self.rank(name, limit, stop.clone(), handle);
        stop
    }

    /// Starts a thread of the operating system, for work that must not share a runtime. Its token is cancelled when it
    /// shall stop. Errors if the system gives no thread.
    pub fn thread<T>(&mut self, name: &'static str, limit: Duration, work: T) -> std::io::Result<CancellationToken>
    where
        T: FnOnce(CancellationToken) -> Result<(), Failure> + Send + 'static,
    {
        let stop = CancellationToken::new();
        let (done, outcome) = oneshot::channel();
        let token = stop.clone();
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            // Unwind safety: the thread's state is gone with it; nobody looks at it after a panic.
            let result = catch_unwind(AssertUnwindSafe(|| work(token)));
            // The receiver is gone only if the supervisor was dropped: then nobody wants to know.
            let _ = done.send(result);
        })?;
        let handle = self.running.spawn(async move {
            match outcome.await {
                Ok(Ok(result)) => result,
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                Err(_) => Err("the thread went away without a word".into()),
            }
        });
        self.rank(name, limit, stop.clone(), handle);
        Ok(stop)
    }

    /// Waits until something ends, in whatever way. Never returns while all run; returns `None` if there is nothing.
    pub async fn next_end(&mut self) -> Option<End> {
        let (id, how) = next(&mut self.running).await?;
        let name = self.name(id);
        self.ranks.retain(|rank| rank.id != id);
        Some(End { name, how })
    }

    /// Stops everything, last started first, each within its limit; then tells how each ended, in that order.
    pub async fn stop(mut self) -> Vec<End> {
        let mut ends = Vec::with_capacity(self.ranks.len());
        while let Some(rank) = self.ranks.pop() {
            rank.stop.cancel();
            let end = match self.ended.remove(&rank.id) {
                Some(end) => end,
                None => self.await_end(&rank).await,
            };
            ends.push(end);
        }
        ends
    }

    async fn await_end(&mut self, rank: &Rank) -> End {
        let waited = tokio::time::timeout(rank.limit, async {
            while let Some((id, how)) = next(&mut self.running).await {
                if id == rank.id {
                    return how;
                }
                // Another one ended while we wait for this one: kept until its turn comes.
                let name = name_of(&self.ranks, id);
                self.ended.insert(id, End { name, how });
            }
            How::Finished
        })
        .await;
        let how = waited.unwrap_or_else(|_| {
            rank.handle.abort();
            How::Overdue(rank.limit)
        });
        End { name: rank.name, how }
    }

    fn rank(&mut self, name: &'static str, limit: Duration, stop: CancellationToken, handle: AbortHandle) {
        self.ranks.push(Rank { id: handle.id(), name, stop, limit, handle });
    }

    fn name(&self, id: Id) -> &'static str {
        name_of(&self.ranks, id)
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        for rank in &self.ranks {
            rank.stop.cancel();
        }
    }
}

fn name_of(ranks: &[Rank], id: Id) -> &'static str {
    ranks.iter().find(|rank| rank.id == id).map_or("(unknown)", |rank| rank.name)
}

async fn next(running: &mut JoinSet<Result<(), Failure>>) -> Option<(Id, How)> {
    Some(match running.join_next_with_id().await? {
        Ok((id, Ok(()))) => (id, How::Finished),
        Ok((id, Err(failure))) => (id, How::Failed(failure)),
        Err(error) => (error.id(), How::of(error)),
    })
}

/// Runs work that computes or blocks on a thread of the runtime's blocking pool. A panic in it goes on in the caller.
///
/// The work cannot be cancelled: dropping the future leaves it running to its end.
#[expect(clippy::disallowed_methods, reason = "the supervisor is the place that spawns")]
pub async fn blocking<T, W>(work: W) -> T
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The pool refuses work only while its runtime is being torn down, and then so is this future.
            Err(_) => std::future::pending().await,
        },
    }
}

// === impl End ===

impl End {
    /// It returned of itself, without a fault.
    pub fn is_clean(&self) -> bool {
        matches!(self.how, How::Finished)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.how {
            How::Finished => write!(f, "{} ended", self.name),
            How::Failed(failure) => write!(f, "{} failed: {failure}", self.name),
            How::Panicked(message) => write!(f, "{} panicked: {message}", self.name),
            How::Overdue(limit) => write!(f, "{} did not stop within {limit:?}", self.name),
        }
    }
}

// === impl How ===

impl How {
    fn of(error: JoinError) -> Self {
        match error.try_into_panic() {
            Ok(panic) => Self::Panicked(message_of(panic.as_ref())),
            Err(_) => Self::Failed("aborted".into()),
        }
    }
}

/// What a panic said.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    const SOON: Duration = Duration::from_secs(5);

    #[tokio::test]
    async fn what_was_started_last_is_stopped_first() {
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut supervisor = Supervisor::new();
        for name in ["keeper", "work", "http"] {
            let order = Arc::clone(&order);
            supervisor.spawn(name, SOON, |stop| async move {
                stop.cancelled().await;
                order.lock().unwrap().push(name);
                Ok(())
            });
        }
        let ends = supervisor.stop().await;
        assert_eq!(*order.lock().unwrap(), ["http", "work", "keeper"]);
        assert!(ends.iter().all(End::is_clean), "{ends:?}");
    }

    #[tokio::test]
    async fn a_task_that_panics_is_seen_by_name() {
        let mut supervisor = Supervisor::new();
        supervisor.spawn("steady", SOON, |stop| async move {
            stop.cancelled().await;
            Ok(())
        });
        supervisor.spawn("clumsy", SOON, |_| async { panic!("dropped it") });
        let end = supervisor.next_end().await.unwrap();
        assert_eq!(end.to_string(), "clumsy panicked: dropped it");
        assert_eq!(supervisor.stop().await.len(), 1);
    }

    #[tokio::test]
    async fn a_thread_that_panics_is_seen_by_name() {
        let mut supervisor = Supervisor::new();
        supervisor.thread("keeper", SOON, |_| panic!("dropped it")).unwrap();
        assert_eq!(supervisor.next_end().await.unwrap().to_string(), "keeper panicked: dropped it");
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_does_not_stop_holds_nobody_up_past_its_limit() {
        let mut supervisor = Supervisor::new();
        supervisor.spawn("polite", SOON, |stop| async move {
            stop.cancelled().await;
            Ok(())
        });
        supervisor.spawn("deaf", Duration::from_secs(2), |_| std::future::pending());
        let ends = supervisor.stop().await;
        assert!(matches!(ends[0].how, How::Overdue(_)), "{}", ends[0]);
        assert!(ends[1].is_clean(), "{}", ends[1]);
    }

    #[tokio::test]
    async fn one_that_ended_before_its_turn_is_still_reported_in_its_place() {
        let mut supervisor = Supervisor::new();
        supervisor.spawn("first", SOON, |_| async { Err("no such thing".into()) });
        supervisor.spawn("second", SOON, |stop| async move {
            stop.cancelled().await;
            tokio::task::yield_now().await;
            Ok(())
        });
        let ends = supervisor.stop().await;
        assert_eq!(ends[0].to_string(), "second ended");
        assert_eq!(ends[1].to_string(), "first failed: no such thing");
    }

    #[tokio::test]
    #[should_panic(expected = "in the pool")]
    async fn a_panic_of_blocking_work_goes_on_in_the_caller() {
        blocking(|| panic!("in the pool")).await;
    }
}
