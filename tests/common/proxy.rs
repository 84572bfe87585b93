//! A TCP proxy that can lose what passes through it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the network does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Network {
    /// All passes.
    Open = 0,
    /// Requests arrive, answers do not.
    Mute = 1,
    /// Nothing arrives, and nobody is told.
    Hole = 2,
    /// Connections are refused, and cut.
    Cut = 3,
    /// Requests are kept, and arrive when it is open again, even if who sent them has gone.
    Late = 4,
    /// Answers take [`SLOW`] longer.
    Slow = 5,
}

/// What a slow network adds to an answer.
pub(crate) const SLOW: Duration = Duration::from_millis(300);

/// Stands between a client and a server on the loopback address. Ends with the process.
#[derive(Clone)]
pub(crate) struct Proxy {
    port: u16,
    network: Arc<AtomicU8>,
    open: Arc<Mutex<Vec<TcpStream>>>,
    /// Pieces that came from clients: one a request, where requests are small and not pipelined.
    requests: Arc<AtomicU64>,
    /// Pieces that arrived late.
    late: Arc<AtomicU64>,
    /// The most requests of one connection that were unanswered at a time.
    unanswered: Arc<AtomicU64>,
}

/// One way of one connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    There,
    Back,
}

impl Proxy {
    pub(crate) fn to(target: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let proxy = Self {
            port,
            network: Arc::default(),
            open: Arc::default(),
            requests: Arc::default(),
            late: Arc::default(),
            unanswered: Arc::default(),
        };
        let own = proxy.clone();
        thread(move || {
            for client in listener.incoming().flatten() {
                if own.is(Network::Cut) {
                    continue; // dropped: the client sees it closed
                }
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, target)) else { continue };
                own.open.lock().unwrap().extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
                let waiting = Arc::default();
                own.carry(Way::There, client.try_clone().unwrap(), server.try_clone().unwrap(), Arc::clone(&waiting));
                own.carry(Way::Back, server, client, waiting);
            }
        });
        proxy
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn redis_url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }

    pub(crate) fn late(&self) -> u64 {
        self.late.load(Ordering::SeqCst)
    }

    /// The most requests that were unanswered at a time on one connection, since it was last asked.
    pub(crate) fn most_unanswered(&self) -> u64 {
        self.unanswered.swap(0, Ordering::SeqCst)
    }

    pub(crate) fn set(&self, network: Network) {
        self.network.store(network as u8, Ordering::SeqCst);
        if network == Network::Cut {
            for stream in self.open.lock().unwrap().drain(..) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }

    fn is(&self, network: Network) -> bool {
        self.network.load(Ordering::SeqCst) == network as u8
    }

    fn carry(&self, way: Way, mut from: TcpStream, mut to: TcpStream, waiting: Arc<AtomicU64>) {
        let own = self.clone();
        thread(move || {
            let mut buffer = [0; 16 * 1024];
            while let Ok(read @ 1..) = from.read(&mut buffer) {
                let (mut lost, mut late) = (own.is(Network::Hole), false);
                match way {
                    Way::There => {
                        own.requests.fetch_add(1, Ordering::SeqCst);
                        let unanswered = waiting.fetch_add(1, Ordering::SeqCst) + 1;
                        own.unanswered.fetch_max(unanswered, Ordering::SeqCst);
                        while own.is(Network::Late) {
                            late = true;
                            std::thread::sleep(Duration::from_millis(2));
                        }
                    }
                    Way::Back => {
                        lost |= own.is(Network::Mute);
                        if own.is(Network::Slow) {
                            std::thread::sleep(SLOW);
                        }
                        let _ = waiting.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| Some(n.saturating_sub(1)));
                    }
                }
                if !lost && to.write_all(&buffer[..read]).is_err() && !late {
                    break;
                }
                own.late.fetch_add(u64::from(late), Ordering::SeqCst);
            }
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}

fn thread(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().name("proxy".to_owned()).spawn(work).unwrap();
}
