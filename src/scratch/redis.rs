//! A throw-away Redis: no persistence, one free loopback port.

use std::path::PathBuf;

use super::{Ending, Folder, ScratchError, Server, find_program, free_port};

const INSTALL: &str = "Install Redis 6 or newer (Debian, Ubuntu: apt-get install redis-server; Fedora: dnf install \
                       redis; macOS: brew install redis).";

/// A running Redis. Ends when dropped, or with this process.
#[derive(Debug)]
pub struct Redis {
    server: Server,
    port: u16,
}

// === impl Redis ===

impl Redis {
    /// Starts one on a free port, and waits until it answers.
    pub async fn start() -> Result<Self, ScratchError> {
        let mut last = None;
        // A port that another process took in between is the one failure that a second try mends.
        for _ in 0..3 {
            match Self::start_on(free_port()?).await {
                Ok(started) => return Ok(started),
                Err(error @ ScratchError::NotUp { .. }) => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| ScratchError::NotUp { what: "Redis".to_owned(), log: String::new() }))
    }

    /// Starts one on this port, empty, as one that was lost and replaced.
    pub async fn start_on(port: u16) -> Result<Self, ScratchError> {
        Self::start_with(port, &[]).await
    }

    /// Starts one on this port with more of Redis' own settings, `--name value`.
    pub async fn start_with(port: u16, more: &[&str]) -> Result<Self, ScratchError> {
        let program =
            find_program("redis-server", &[PathBuf::from("/usr/local/bin"), PathBuf::from("/opt/homebrew/bin")])
                .ok_or_else(|| ScratchError::NotInstalled { what: "redis-server".to_owned(), install: INSTALL })?;
        let folder = Folder::new("redis", None)?;
        let port_text = port.to_string();
        let folder_text = folder.path().display().to_string();
        let arguments = [
            ["--port", port_text.as_str()],
            ["--bind", "127.0.0.1"],
            ["--dir", folder_text.as_str()],
            ["--save", ""],
            ["--appendonly", "no"],
            ["--maxmemory-policy", "noeviction"],
        ];
        let server = Server::start(folder, None, Ending::Kill, &program, arguments.iter().flatten().chain(more))?;
        let redis = Self { server, port };
        redis.first_answer().await?;
        Ok(redis)
    }

    async fn first_answer(&self) -> Result<(), ScratchError> {
        for _ in 0..Server::LOOKS {
            if self.server.has_ended() {
                break;
            }
            if self.answers().await {
                return Ok(());
            }
            tokio::time::sleep(Server::LOOK_EVERY).await;
        }
        Err(ScratchError::NotUp { what: "Redis".to_owned(), log: self.server.last_words() })
    }

    async fn answers(&self) -> bool {
        let Ok(client) = redis::Client::open(self.url()) else { return false };
        let Ok(mut connection) = client.get_multiplexed_async_connection().await else { return false };
        redis::cmd("PING").query_async::<String>(&mut connection).await.is_ok()
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The server, to ask for its process or its log.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Ends it and waits until it is gone. Dropping it does the same, and blocks.
    pub async fn stop(self) {
        self.server.stop().await;
    }
}
