//! Where Redis is: one server, several of which any answers (a Cluster's nodes), or the primary that Sentinels name.
//!
//! Asked at every dial anew, since that is when the answer may have changed: a Sentinel names another primary after a
//! failover, and a Cluster's node sends us on to whoever serves the lease's slot (`MOVED`).

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo, ProtocolVersion,
    RedisError, RedisResult, TlsCertificates, TlsMode,
};

/// Where Redis is. Never printed: it may hold a password.
#[derive(Clone)]
pub struct RedisAddress {
    way: Way,
    /// PEM of the authority that signed the servers' certificates; none: the public ones.
    authority: Option<Vec<u8>>,
}

#[derive(Clone)]
enum Way {
    /// Tried in turn.
    Servers(Vec<ConnectionInfo>),
    Sentinel {
        sentinels: Vec<ConnectionAddr>,
        primary: String,
        /// How to log in at the primary; its address is not used.
        login: Box<ConnectionInfo>,
        /// How to log in at a Sentinel.
        sentinel_login: Login,
    },
}

#[derive(Clone, Default)]
struct Login {
    user: Option<String>,
    password: Option<String>,
}

/// An address that is none of Redis. What it says is not repeated: it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRedisUrl {
    /// What is wrong with the address.
    #[error("no address of Redis: {0}. {FORMS}")]
    Url(String),
    /// The authority's file cannot be read.
    #[error("{path} cannot be read: {why}", path = path.display())]
    Authority {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
}

/// What `redis.url` may look like.
pub const FORMS: &str = "Expected redis://[user:password@]host:port[,host:port…][/database], or \
                         redis+sentinel://[user:password@]host:port[,host:port…]/primary[/database]\
                         [?sentinel_user=…&sentinel_password=…]; with rediss in place of redis for TLS";

// === impl RedisAddress ===

impl RedisAddress {
    /// Reads an address. `authority`: the PEM file of the authority that signed the servers' certificates.
    pub fn new(url: &str, authority: Option<&Path>) -> Result<Self, BadRedisUrl> {
        let authority = authority
            .map(|path| {
                std::fs::read(path)
                    .map_err(|error| BadRedisUrl::Authority { path: path.to_owned(), why: error.to_string() })
            })
            .transpose()?;
        let (scheme, rest) = url.split_once("://").ok_or_else(|| BadRedisUrl::Url("it has no scheme".to_owned()))?;
        let (secure, sentinel) = match scheme {
            "redis" => ("redis", false),
            "rediss" => ("rediss", false),
            "redis+sentinel" => ("redis", true),
            "rediss+sentinel" => ("rediss", true),
            _ => return Err(BadRedisUrl::Url(format!("its scheme is {scheme:?}"))),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        // The last @: a password may hold one.
        let at = rest.rfind('@').map_or(0, |at| at + 1);
        let (login, rest) = rest.split_at(at);
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        let hosts: Vec<&str> = hosts.split(',').map(str::trim).collect();
        if hosts.iter().any(|host| host.is_empty()) {
            return Err(BadRedisUrl::Url("a host is missing".to_owned()));
        }
        let server = |host: &str, database: &str, query: &str| {
            let query = if query.is_empty() { String::new() } else { format!("?{query}") };
            let info = format!("{secure}://{login}{host}/{database}{query}").into_connection_info();
            // Its message names what is wrong and not what was written.
            info.map_err(|error| BadRedisUrl::Url(error.to_string()))
        };
        let way = if sentinel {
            let (primary, database) = path.split_once('/').unwrap_or((path, ""));
            if primary.is_empty() {
                return Err(BadRedisUrl::Url(
                    "the name of the primary is missing: what Sentinel calls the master".to_owned(),
                ));
            }
            let sentinels = hosts
                .iter()
                .map(|host| {
                    let host = if host.contains(':') { (*host).to_owned() } else { format!("{host}:26379") };
                    Ok(server(&host, "", "")?.addr().clone())
                })
                .collect::<Result<_, BadRedisUrl>>()?;
            let login = Box::new(server(hosts[0], database, "")?);
            Way::Sentinel { sentinels, primary: primary.to_owned(), login, sentinel_login: Login::of(query)? }
        } else {
            Way::Servers(hosts.iter().map(|host| server(host, path, query)).collect::<Result<_, _>>()?)
        };
        Ok(Self { way, authority })
    }

    /// The servers, or Sentinels, `host:port` each: what may be shown.
    pub fn servers(&self) -> Vec<String> {
        match &self.way {
            Way::Servers(servers) => servers.iter().map(|server| server.addr().to_string()).collect(),
            Way::Sentinel { sentinels, .. } => sentinels.iter().map(ToString::to_string).collect(),
        }
    }

    /// A new connection, to `moved` where a Cluster's node named it. The caller bounds the time; where there are several
    /// servers, each gets its share of `limit`.
    ///
    /// # Errors
    /// What the last server that was tried said, or Sentinel: it knows no such primary, or the one that it names is none.
    pub async fn dial(
        &self,
        moved: Option<&str>,
        protocol: ProtocolVersion,
        limit: Duration,
        config: AsyncConnectionConfig,
    ) -> RedisResult<MultiplexedConnection> {
        let open = |info: &ConnectionInfo| {
            let settings = info.redis_settings().clone().set_protocol(protocol);
            let info = info.clone().set_tcp_settings(tcp(limit)).set_redis_settings(settings);
            match &self.authority {
                Some(_) if is_secure(info.addr()) => Client::build_with_tls(info, self.certificates()),
                _ => Client::open(info),
            }
        };
        match &self.way {
            Way::Servers(servers) => {
                let moved = moved.and_then(|to| servers.first().and_then(|server| elsewhere(server, to)));
                let servers: Vec<&ConnectionInfo> = match &moved {
                    Some(moved) => vec![moved],
                    None => servers.iter().collect(),
                };
                // A lone server gets the whole of the caller's time.
                let count = u32::try_from(servers.len()).unwrap_or(1);
                let share = (count > 1).then(|| limit / count);
                let config = config.set_connection_timeout(share);
                let mut last = None;
                for server in servers {
                    match open(server)?.get_multiplexed_async_connection_with_config(&config).await {
                        Ok(connection) => return Ok(connection),
                        Err(error) => last = Some(error),
                    }
                }
                Err(last.unwrap_or_else(|| RedisError::from((ErrorKind::InvalidClientConfig, "no server"))))
            }
            Way::Sentinel { login, .. } => {
                let named = self.sentinels(limit)?.async_get_client().await?;
                let addr = named.get_connection_info().addr().clone();
                let info = (**login).clone().set_addr(addr);
                let config = config.set_connection_timeout(None);
                open(&info)?.get_multiplexed_async_connection_with_config(&config).await
            }
        }
    }

    /// Asks the Sentinels in turn, and whoever they name whether it is a primary indeed.
    fn sentinels(&self, limit: Duration) -> RedisResult<SentinelClient> {
        let Way::Sentinel { sentinels, primary, login, sentinel_login } = &self.way else {
            return Err(RedisError::from((ErrorKind::InvalidClientConfig, "no Sentinel")));
        };
        let settings = login.redis_settings();
        let mut builder = SentinelClientBuilder::new(sentinels.clone(), primary, SentinelServerType::Master)?
            .set_client_to_redis_tcp_settings(tcp(limit))
            .set_client_to_sentinel_tcp_settings(tcp(limit));
        if is_secure(login.addr()) {
            builder =
                builder.set_client_to_redis_tls_mode(TlsMode::Secure).set_client_to_sentinel_tls_mode(TlsMode::Secure);
            if self.authority.is_some() {
                builder = builder
                    .set_client_to_redis_certificates(self.certificates())
                    .set_client_to_sentinel_certificates(self.certificates());
            }
        }
        if let Some(user) = settings.username() {
            builder = builder.set_client_to_redis_username(user);
        }
        if let Some(password) = settings.password() {
            builder = builder.set_client_to_redis_password(password);
        }
        if let Some(user) = &sentinel_login.user {
            builder = builder.set_client_to_sentinel_username(user);
        }
        if let Some(password) = &sentinel_login.password {
            builder = builder.set_client_to_sentinel_password(password);
        }
        builder.build()
    }

    fn certificates(&self) -> TlsCertificates {
        TlsCertificates { client_tls: None, root_cert: self.authority.clone() }
    }
}

impl fmt::Debug for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RedisAddress").field(&self.servers()).finish()
    }
}

// === impl Login ===

impl Login {
    fn of(query: &str) -> Result<Self, BadRedisUrl> {
        let mut login = Self::default();
        for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match &*key {
                "sentinel_user" => login.user = Some(value.into_owned()),
                "sentinel_password" => login.password = Some(value.into_owned()),
                other => return Err(BadRedisUrl::Url(format!("{other:?} is not known after the ?"))),
            }
        }
        Ok(login)
    }
}

/// Sockets that notice a dead peer: no delay, keepalive, and a limit on unacknowledged data. redis-rs sets none of them
/// by itself.
fn tcp(limit: Duration) -> TcpSettings {
    let keepalive =
        TcpKeepalive::new().with_time(Duration::from_secs(5)).with_interval(Duration::from_secs(1)).with_retries(3);
    TcpSettings::default()
        .set_nodelay(true)
        .set_keepalive(keepalive)
        .set_user_timeout(limit.max(Duration::from_secs(1)) * 2)
}

fn is_secure(addr: &ConnectionAddr) -> bool {
    matches!(addr, ConnectionAddr::TcpTls { .. })
}

/// `host:port` that a Cluster's node named; an empty host is the node's own.
fn elsewhere(server: &ConnectionInfo, to: &str) -> Option<ConnectionInfo> {
    let (named, port) = to.rsplit_once(':')?;
    let port: u16 = port.parse().ok()?;
    let addr = match server.addr() {
        ConnectionAddr::Tcp(host, _) => {
            ConnectionAddr::Tcp(if named.is_empty() { host.clone() } else { named.to_owned() }, port)
        }
        ConnectionAddr::TcpTls { host, insecure, tls_params, .. } => ConnectionAddr::TcpTls {
            host: if named.is_empty() { host.clone() } else { named.to_owned() },
            port,
            insecure: *insecure,
            tls_params: tls_params.clone(),
        },
        _ => return None,
    };
    Some(server.clone().set_addr(addr))
}
