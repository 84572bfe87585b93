//! A client of Postgres' wire protocol, version 3, that can stop reading: what a frozen process looks like to a server.

#![expect(clippy::expect_used, reason = "a test says what it could not go on without")]

use counterfoil::scratch::postgres::{Database, WORKER};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Mutex;

pub struct Raw(Mutex<TcpStream>);

impl Raw {
    /// Logs in as the worker (the scratch server trusts everybody).
    pub async fn login(database: &Database) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        // A small buffer of a fixed size: the kernel would let it grow, and let the server write on, for a while.
        socket.set_recv_buffer_size(4096).expect("a small buffer");
        let address = (std::net::Ipv4Addr::LOCALHOST, database.port()).into();
        let mut stream = socket.connect(address).await.expect("connected");
        let mut body = 196_608_i32.to_be_bytes().to_vec();
        for word in ["user", WORKER, "database", database.name(), "application_name", "frozen"] {
            body.extend_from_slice(word.as_bytes());
            body.push(0);
        }
        body.push(0);
        stream.write_all(&framed(&body)).await.expect("sent");
        let raw = Self(Mutex::new(stream));
        raw.read_until_ready().await;
        raw
    }

    /// Statements by the simple protocol, and everything that they answer.
    pub async fn query(&self, statements: &str) {
        self.send(statements).await;
        self.read_until_ready().await;
    }

    /// Statements, whose answer nobody reads.
    pub async fn send(&self, statements: &str) {
        let mut body = statements.as_bytes().to_vec();
        body.push(0);
        let mut message = vec![b'Q'];
        message.extend_from_slice(&framed(&body));
        self.0.lock().await.write_all(&message).await.expect("sent");
    }

    /// Waits until the server cannot write any more, and has stood so beyond a statement limit of half a second.
    pub async fn wait_until_the_server_stands(&self, database: &Database) {
        let mut admin = <sqlx::postgres::PgConnection as sqlx::Connection>::connect(&database.superuser_url())
            .await
            .expect("the superuser logs in");
        loop {
            let stands: bool = sqlx::query_scalar(
                "SELECT EXISTS (SELECT FROM pg_stat_activity
                 WHERE application_name = 'frozen' AND datname = current_database() AND wait_event = 'ClientWrite'
                   AND clock_timestamp() - query_start > interval '1 second')",
            )
            .fetch_one(&mut admin)
            .await
            .expect("a row");
            if stands {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    async fn read_until_ready(&self) {
        let mut stream = self.0.lock().await;
        loop {
            let kind = stream.read_u8().await.expect("a message");
            let length = stream.read_i32().await.expect("its length");
            let mut body = vec![0; usize::try_from(length).expect("a length") - 4];
            stream.read_exact(&mut body).await.expect("its body");
            assert!(kind != b'E', "{}", String::from_utf8_lossy(&body));
            if kind == b'Z' {
                return;
            }
        }
    }
}

fn framed(body: &[u8]) -> Vec<u8> {
    let length = i32::try_from(body.len() + 4).expect("short");
    [&length.to_be_bytes(), body].concat()
}
