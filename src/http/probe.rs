//! The other end of `/livez`: how a container asks its own worker, without a shell or curl in the image.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// What a worker said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Did it say that it lives?
    pub live: bool,
    /// Its own words, on one line.
    pub says: String,
}

/// Longest answer that is read: `/livez` says one sentence.
const ANSWER: u64 = 4096;

/// Asks the worker that listens on `listen` for `/livez`, over the loopback where it listens everywhere. Blocks, at
/// most about `limit` for each of connecting, sending and reading.
pub fn probe(listen: SocketAddr, limit: Duration) -> io::Result<Health> {
    let mut stream = TcpStream::connect_timeout(&reachable(listen), limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = BufReader::new(stream.take(ANSWER));
    let mut line = String::new();
    answer.read_line(&mut line)?;
    let live = line.split(' ').nth(1) == Some("200");
    while !line.trim().is_empty() {
        line.clear();
        answer.read_line(&mut line)?;
    }
    let mut body = String::new();
    answer.read_to_string(&mut body)?;
    Ok(Health { live, says: body.lines().next().unwrap_or_default().to_owned() })
}

/// Where to reach a listener: `0.0.0.0` and `::` are every address, and no address.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_listens_everywhere_is_asked_over_the_loopback() {
        assert_eq!(reachable("0.0.0.0:9464".parse().unwrap()).to_string(), "127.0.0.1:9464");
        assert_eq!(reachable("[::]:9464".parse().unwrap()).to_string(), "[::1]:9464");
        assert_eq!(reachable("10.0.0.7:1".parse().unwrap()).to_string(), "10.0.0.7:1");
    }
}
