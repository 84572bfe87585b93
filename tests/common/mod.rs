//! What several suites share: a network that misbehaves, and a view of Redis from outside.

pub(crate) mod proxy;
pub(crate) mod replica;

use counterfoil::election::LeaseName;
use counterfoil::election::lease::LeaseKeys;
use counterfoil::scratch::redis::Redis;
use redis::aio::MultiplexedConnection;

/// A connection of our own, past the lease client.
pub(crate) async fn connect(redis: &Redis) -> MultiplexedConnection {
    redis::Client::open(redis.url()).unwrap().get_multiplexed_async_connection().await.unwrap()
}

/// The lease that the tests contend for.
pub(crate) fn lease_name() -> LeaseName {
    LeaseName::new("test").unwrap()
}

/// Its keys.
pub(crate) fn keys() -> LeaseKeys {
    LeaseKeys::of(&lease_name())
}

/// Sends a signal to a server.
pub(crate) fn signal(pid: i32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}
