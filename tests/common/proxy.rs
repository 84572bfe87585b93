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
}

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
        };
        let own = proxy.clone();
        thread(move || {
            for client in listener.incoming().flatten() {
                if own.network() == Network::Cut as u8 {
                    continue; // dropped: the client sees it closed
                }
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, target)) else { continue };
                own.open.lock().unwrap().extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
                own.carry(
                    client.try_clone().unwrap(),
                    server.try_clone().unwrap(),
                    &[Network::Hole],
                    Some(&own.requests),
                );
                own.carry(server, client, &[Network::Hole, Network::Mute], None);
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

    pub(crate) fn set(&self, network: Network) {
        self.network.store(network as u8, Ordering::SeqCst);
        if network == Network::Cut {
            for stream in self.open.lock().unwrap().drain(..) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }

    fn network(&self) -> u8 {
        self.network.load(Ordering::SeqCst)
    }

    fn carry(
        &self,
        mut from: TcpStream,
        mut to: TcpStream,
        lost_in: &'static [Network],
        count: Option<&Arc<AtomicU64>>,
    ) {
        let (own, count) = (self.clone(), count.cloned());
        thread(move || {
            let mut buffer = [0; 16 * 1024];
            while let Ok(read @ 1..) = from.read(&mut buffer) {
                if let Some(count) = &count {
                    count.fetch_add(1, Ordering::SeqCst);
                }
                // Only requests are counted, and only they come late.
                if count.is_some() && own.network() == Network::Late as u8 {
                    while own.network() == Network::Late as u8 {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                    let _ = to.write_all(&buffer[..read]);
                    own.late.fetch_add(1, Ordering::SeqCst);
                    continue;
                }
                let lost = lost_in.iter().any(|network| *network as u8 == own.network());
                if !lost && to.write_all(&buffer[..read]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}

fn thread(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().name("proxy".to_owned()).spawn(work).unwrap();
}
