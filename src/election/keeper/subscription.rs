//! Listens for releases, so that followers can sleep: on a connection of its own, since it speaks only when something
//! happens, and dialled anew whenever it is lost.
//!
//! RESP3 (Redis 6 and later): messages and the loss of the connection come by one channel. Where it cannot be had,
//! followers still campaign when the holder's lease ends.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ProtocolVersion, PushInfo, PushKind, RedisError};
use tokio::sync::mpsc;

use super::News;
use crate::election::address::RedisAddress;
use crate::election::elector::Event;
use crate::election::timing::Timings;

/// Why nothing can be heard.
struct Deaf {
    why: String,
    /// Redis answered, and will not: an ACL, an old version. It is there all the same.
    refused: bool,
}

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
    pub(super) async fn run(self, redis: RedisAddress, news: mpsc::UnboundedSender<News>) -> &'static str {
        let mut pause = Self::SHORTEST_PAUSE;
        loop {
            match self.subscribed(&redis).await {
                Ok((connection, mut pushes)) => {
                    pause = Self::SHORTEST_PAUSE;
                    let _ = news.send(News::Redis(Ok(())));
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
                    let lost = "the connection was lost".to_owned();
                    let _ = news.send(News::Redis(Err(lost.clone())));
                    let _ = news.send(News::Listening(Err(lost)));
                }
                Err(Deaf { why, refused }) => {
                    if !refused {
                        // A follower may ask nothing else for a ttl: this is how it learns that Redis is away.
                        let _ = news.send(News::Redis(Err(why.clone())));
                    }
                    let _ = news.send(News::Listening(Err(why)));
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(self.longest_pause.max(Self::SHORTEST_PAUSE));
        }
    }

    async fn subscribed(
        &self,
        redis: &RedisAddress,
    ) -> Result<(MultiplexedConnection, mpsc::UnboundedReceiver<PushInfo>), Deaf> {
        let dialled = tokio::time::timeout(self.limit, async {
            let (sender, pushes) = mpsc::unbounded_channel();
            let config = AsyncConnectionConfig::new()
                .set_connection_timeout(None)
                .set_response_timeout(Some(self.limit))
                .set_push_sender(sender);
            let told = |error: RedisError| Deaf {
                refused: !error.is_io_error() && !error.is_timeout(),
                why: format!("cannot listen for releases: {error}"),
            };
            // Any node of a Cluster hears what is published on another.
            let mut connection = redis.dial(None, ProtocolVersion::RESP3, self.limit, config).await.map_err(told)?;
            connection.subscribe(&self.channel).await.map_err(told)?;
            Ok((connection, pushes))
        });
        let late =
            || Deaf { why: format!("Redis did not answer within {} ms", self.limit.as_millis()), refused: false };
        dialled.await.unwrap_or_else(|_| Err(late()))
    }
}
