//! A TCP proxy between a writer and Postgres that cuts the wire at the one moment that matters, a commit; or freezes it,
//! which is what a frozen process hears of the world.

#![expect(clippy::expect_used, reason = "a test says what it could not go on without")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What the proxy does to the next COMMIT that comes by; to later connections it does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Cut {
    /// Nothing.
    Never,
    /// Postgres gets it and commits; the answer is swallowed, and the wire cut.
    AfterTheCommit,
    /// Postgres never gets it, and sees the wire cut.
    BeforeTheCommit,
    /// Postgres never gets it and does not see the cut either: the transaction stays open, as behind a dead router.
    Silently,
}

/// The running proxy. Ends when dropped.
pub struct Proxy {
    port: u16,
    next: Arc<AtomicU8>,
    frozen: watch::Sender<bool>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    /// In front of a server on this machine.
    pub async fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let next = Arc::new(AtomicU8::new(Cut::Never as u8));
        let cuts = Arc::clone(&next);
        let (frozen, thaw) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut wires = JoinSet::new();
            loop {
                let (client, _) = listener.accept().await.expect("a client");
                let server = TcpStream::connect(("127.0.0.1", server)).await.expect("the server");
                wires.spawn(wire(client, server, Arc::clone(&cuts), thaw.clone()));
            }
        });
        Self { port, next, frozen, _tasks: tasks }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on nothing comes through, and nothing is lost.
    pub fn freeze(&self) {
        self.frozen.send_replace(true);
    }

    /// What was kept back comes through.
    pub fn thaw(&self) {
        self.frozen.send_replace(false);
    }

    /// Arms it for one commit.
    pub fn arm(&self, cut: Cut) {
        self.next.store(cut as u8, Ordering::SeqCst);
    }
}

/// Carries bytes both ways until a commit is to be cut, or one side ends.
async fn wire(mut client: TcpStream, mut server: TcpStream, cuts: Arc<AtomicU8>, mut thaw: watch::Receiver<bool>) {
    let (mut up, mut down) = (vec![0; 65536], vec![0; 65536]);
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let _ = thaw.wait_for(|frozen| !frozen).await;
                let Ok(read @ 1..) = read else { return };
                let commit = up[..read].windows(7).any(|word| matches!(word, b"COMMIT\0" | b"COMMIT;"));
                let cut = if commit { cuts.swap(Cut::Never as u8, Ordering::SeqCst) } else { Cut::Never as u8 };
                if cut == Cut::BeforeTheCommit as u8 {
                    return;
                }
                if cut == Cut::Silently as u8 {
                    drop(client);
                    // The server's side stays open until the server itself ends it.
                    while server.read(&mut down).await.is_ok_and(|read| read > 0) {}
                    return;
                }
                if server.write_all(&up[..read]).await.is_err() {
                    return;
                }
                if cut == Cut::AfterTheCommit as u8 {
                    // Its answer says that it was done; nobody else hears it.
                    let _ = server.read(&mut down).await;
                    return;
                }
            }
            read = server.read(&mut down) => {
                // Kept back too is that the server has gone.
                let _ = thaw.wait_for(|frozen| !frozen).await;
                let Ok(read @ 1..) = read else { return };
                if client.write_all(&down[..read]).await.is_err() {
                    return;
                }
            }
        }
    }
}
