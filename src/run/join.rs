//! Several futures side by side in one task: they share its leadership, its cancellation and its end.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Runs up to `limit` futures at a time, in the order given, and returns what each came to, in that order. Dropped, all
/// are dropped: nothing goes on behind the back of who waits.
pub(super) async fn side_by_side<F: Future>(limit: usize, futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut waiting = futures.into_iter().enumerate();
    let mut running: Vec<(usize, Pin<Box<F>>)> = Vec::new();
    let mut done: Vec<(usize, F::Output)> = Vec::new();
    std::future::poll_fn(|context: &mut Context<'_>| {
        loop {
            while running.len() < limit.max(1) {
                let Some((at, future)) = waiting.next() else { break };
                running.push((at, Box::pin(future)));
            }
            if running.is_empty() {
                return Poll::Ready(());
            }
            let before = done.len();
            let mut at = 0;
            while at < running.len() {
                match running[at].1.as_mut().poll(context) {
                    Poll::Ready(output) => {
                        let (place, _) = running.swap_remove(at);
                        done.push((place, output));
                    }
                    Poll::Pending => at += 1,
                }
            }
            // Room was made: the next ones must be polled once, to be woken at all.
            if done.len() == before {
                return Poll::Pending;
            }
        }
    })
    .await;
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, output)| output).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn no_more_than_the_limit_run_at_once_and_the_order_is_kept() {
        let (running, most) = (Cell::new(0), Cell::new(0));
        let (running, most) = (&running, &most);
        let futures = (0..10).map(|at| async move {
            running.set(running.get() + 1);
            most.set(most.get().max(running.get()));
            for _ in 0..=(10 - at) {
                tokio::task::yield_now().await;
            }
            running.set(running.get() - 1);
            at
        });
        assert_eq!(side_by_side(3, futures).await, (0..10).collect::<Vec<_>>());
        assert_eq!(most.get(), 3);
    }
}
