//! The wire between one replica and one server: it can be slow, deaf, cut, and lead to another server.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the wire does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Wire {
    /// All passes.
    Open = 0,
    /// Requests arrive, answers do not.
    Mute = 1,
    /// Nothing arrives, and nobody is told.
    Hole = 2,
    /// Connections are refused, and cut.
    Cut = 3,
    /// All passes, late.
    Slow = 4,
}

/// How late: each piece, each way.
const LATE: Duration = Duration::from_millis(120);

/// Stands between a replica and a server on the loopback address. Ends with the process.
#[derive(Clone)]
pub(crate) struct Link {
    port: u16,
    target: Arc<AtomicU16>,
    wire: Arc<AtomicU8>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

// === impl Link ===

impl Link {
    pub(crate) fn to(target: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let link = Self { port, target: Arc::new(AtomicU16::new(target)), wire: Arc::default(), open: Arc::default() };
        let own = link.clone();
        thread(move || {
            for client in listener.incoming().flatten() {
                if own.is(Wire::Cut) {
                    continue; // dropped: the client sees it closed
                }
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, own.target.load(Ordering::SeqCst))) else {
                    continue;
                };
                let Ok(both) = client.try_clone().and_then(|client| Ok([client, server.try_clone()?])) else {
                    continue;
                };
                let Ok(back) = client.try_clone().and_then(|client| Ok((server.try_clone()?, client))) else {
                    continue;
                };
                own.open.lock().expect("not poisoned").extend(both);
                own.carry(client, server, false);
                own.carry(back.0, back.1, true);
            }
        });
        link
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn set(&self, wire: Wire) {
        self.wire.store(wire as u8, Ordering::SeqCst);
        if wire == Wire::Cut {
            self.cut();
        }
    }

    /// New connections go to another server. Those that stand stay, if their server does.
    pub(crate) fn lead_to(&self, target: u16) {
        self.target.store(target, Ordering::SeqCst);
    }

    fn cut(&self) {
        for stream in self.open.lock().expect("not poisoned").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn is(&self, wire: Wire) -> bool {
        self.wire.load(Ordering::SeqCst) == wire as u8
    }

    fn carry(&self, mut from: TcpStream, mut to: TcpStream, answers: bool) {
        let own = self.clone();
        thread(move || {
            let mut buffer = [0; 16 * 1024];
            while let Ok(read @ 1..) = from.read(&mut buffer) {
                if own.is(Wire::Slow) {
                    std::thread::sleep(LATE);
                }
                let lost = own.is(Wire::Hole) || (answers && own.is(Wire::Mute));
                if lost {
                    // A stream with a gap is no stream: what comes after the loss is lost too, until the client redials.
                    while matches!(from.read(&mut buffer), Ok(1..)) {}
                    break;
                }
                if to.write_all(&buffer[..read]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}

fn thread(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().name("link".to_owned()).spawn(work).expect("a thread");
}
