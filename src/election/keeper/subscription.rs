//! Listens for releases, so that followers can sleep: on a connection of its own, since it speaks only when something
//! happens, and dialled anew whenever it is lost.
//!
//! RESP3 (Redis 6 and later): messages and the loss of the connection come by one channel. Where it cannot be had,
//! followers still campaign when the holder's lease ends.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ProtocolVersion, PushInfo, PushKind, RedisError};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::mpsc;

use super::News;
use crate::election::elector::Event;
use crate::election::timing::Timings;

/// Listens on one channel.
pub(super) struct Listener {
    channel: String,
    limit: Duration,
    longest_pause: Duration,
}

// === impl Listener ===

impl Listener {
    const SHORTEST_PAUSE: Duration = Duration::from_millis(200);

    pub(super) fn new(channel: String, timings: Timings) -> Self {
        Self { channel, limit: timings.attempt_timeout, longest_pause: timings.ttl / 3 }
    }

    /// For ever.
    pub(super) async fn run(self, url: SecretString, news: mpsc::UnboundedSender<News>) -> &'static str {
        let mut pause = Self::SHORTEST_PAUSE;
        loop {
            match self.subscribed(&url).await {
                Ok((connection, mut pushes)) => {
                    pause = Self::SHORTEST_PAUSE;
                    let _ = news.send(News::Listening(Ok(())));
                    // Whatever was released while nobody listened was missed.
                    let _ = news.send(News::Event(Event::Woken));
                    while let Some(push) = pushes.recv().await {
                        match push.kind {
                            PushKind::Message => {
                                let _ = news.send(News::Event(Event::Woken));
                            }
                            PushKind::Disconnection => break,
                            _ => {}
                        }
                    }
                    drop(connection);
                    let _ = news.send(News::Listening(Err("the connection was lost".to_owned())));
                }
                Err(fault) => {
                    let _ = news.send(News::Listening(Err(fault)));
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(self.longest_pause.max(Self::SHORTEST_PAUSE));
        }
    }

    async fn subscribed(
        &self,
        url: &SecretString,
    ) -> Result<(MultiplexedConnection, mpsc::UnboundedReceiver<PushInfo>), String> {
        let dialled = tokio::time::timeout(self.limit, async {
            let client = client(url, self.limit).map_err(|error| error.to_string())?;
            let (sender, pushes) = mpsc::unbounded_channel();
            let config = AsyncConnectionConfig::new()
                .set_connection_timeout(None)
                .set_response_timeout(Some(self.limit))
                .set_push_sender(sender);
            let told = |error: RedisError| format!("cannot listen for releases: {error}");
            let mut connection = client.get_multiplexed_async_connection_with_config(&config).await.map_err(told)?;
            connection.subscribe(&self.channel).await.map_err(told)?;
            Ok((connection, pushes))
        });
        dialled.await.unwrap_or_else(|_| Err(format!("Redis did not answer within {} ms", self.limit.as_millis())))
    }
}

fn client(url: &SecretString, limit: Duration) -> Result<Client, crate::election::lease::BadRedisUrl> {
    crate::election::lease::client(url.expose_secret(), limit, ProtocolVersion::RESP3)
}
