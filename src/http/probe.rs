//! The other end of `/livez` and `/status`: how a container asks its own worker, without a shell or curl in the image.

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

/// What a worker answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status code; 0 where the answer was no HTTP.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// Longest answer that is read: a sentence, or a status of a few lines.
const ANSWER: u64 = 16 * 1024;

/// Asks the worker that listens on `listen` for `/livez`, as [`ask`] does.
pub fn probe(listen: SocketAddr, limit: Duration) -> io::Result<Health> {
    let answer = ask(listen, "/livez", limit)?;
    Ok(Health { live: answer.status == 200, says: answer.body.lines().next().unwrap_or_default().to_owned() })
}

/// Asks the worker that listens on `listen` for one of its pages, over the loopback where it listens everywhere. Blocks,
/// at most about `limit` for each of connecting, sending and reading.
pub fn ask(listen: SocketAddr, page: &str, limit: Duration) -> io::Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&reachable(listen), limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    write!(stream, "GET {page} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = BufReader::new(stream.take(ANSWER));
    let mut line = String::new();
    answer.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    while !line.trim().is_empty() {
        line.clear();
        answer.read_line(&mut line)?;
    }
    let mut body = String::new();
    answer.read_to_string(&mut body)?;
    Ok(Answer { status, body })
}

/// Where to reach a listener: `0.0.0.0` and `::` are every address, and no address.
pub fn reachable(listen: SocketAddr) -> SocketAddr {
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
