//! The election on Redis as people run it: Sentinels, a Cluster, TLS, a login, a database number, replicas to wait for.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what it could not go on without")]

#[expect(dead_code, reason = "each suite uses its own part")]
mod common;

#[path = "common/authority.rs"]
mod authority;

use std::path::Path;
use std::time::Duration;

use common::replica::{Replica, TIMINGS};
use common::{connect, keys, lease_name};
use counterfoil::election::Owner;
use counterfoil::election::address::RedisAddress;
use counterfoil::election::lease::{Acquisition, Lease, LeaseError};
use counterfoil::election::reason::Role;
use counterfoil::scratch::postgres;
use counterfoil::scratch::redis::Redis;
use counterfoil::scratch::{Ending, Folder, Server, find_program, free_port};
use redis::AsyncTypedCommands;
use sqlx::Connection;
use sqlx::postgres::PgConnection;

const TTL: Duration = Duration::from_secs(30);
const LIMIT: Duration = Duration::from_secs(2);
/// How often, and for how long in all, an outside condition is looked at: 40 s.
const LOOKS: u32 = 800;
const LOOK_EVERY: Duration = Duration::from_millis(50);

async fn command<T: redis::FromRedisValue>(redis: &Redis, words: &[&str]) -> T {
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    command.query_async(&mut connect(redis).await).await.unwrap()
}

/// Waits until what Redis says of itself has these words.
async fn says(redis: &Redis, ask: &[&str], words: &str) {
    for _ in 0..LOOKS {
        if command::<String>(redis, ask).await.contains(words) {
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    panic!("{ask:?} of {} never said {words:?}", redis.url());
}

async fn with_a_replica() -> (Redis, Redis) {
    let (primary, replica) = tokio::try_join!(Redis::start(), Redis::start()).unwrap();
    command::<()>(&replica, &["REPLICAOF", "127.0.0.1", &primary.port().to_string()]).await;
    says(&primary, &["INFO", "replication"], "state=online").await;
    (primary, replica)
}

/// A Sentinel that watches `main`. It writes into its own settings file.
struct Sentinel {
    port: u16,
    _server: Server,
}

impl Sentinel {
    fn of(primary: &Redis) -> Self {
        let folder = Folder::new("sentinel", None).unwrap();
        let port = free_port().unwrap();
        let settings = folder.path().join("sentinel.conf");
        let text = format!(
            "port {port}\nbind 127.0.0.1\ndir {}\nsentinel monitor main 127.0.0.1 {} 2\n\
             sentinel down-after-milliseconds main 1000\nsentinel failover-timeout main 5000\n",
            folder.path().display(),
            primary.port()
        );
        std::fs::write(&settings, text).unwrap();
        let program = find_program("redis-server", &[]).unwrap();
        let arguments = [settings.as_os_str(), "--sentinel".as_ref()];
        let server = Server::start(folder, None, Ending::Kill, &program, arguments).unwrap();
        Self { port, _server: server }
    }

    /// Waits until it knows the primary's replica and the other Sentinels.
    async fn knows(&self, words: &[&str]) {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}/", self.port)).unwrap();
        for _ in 0..LOOKS {
            if let Ok(mut link) = client.get_multiplexed_async_connection().await {
                let said: String = redis::cmd("INFO").arg("sentinel").query_async(&mut link).await.unwrap_or_default();
                if words.iter().all(|words| said.contains(words)) {
                    return;
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        panic!("the Sentinel never knew {words:?}");
    }
}

async fn sentinels(primary: &Redis) -> (Vec<Sentinel>, String) {
    let sentinels: Vec<Sentinel> = (0..3).map(|_| Sentinel::of(primary)).collect();
    for sentinel in &sentinels {
        sentinel.knows(&["status=ok", "slaves=1", "sentinels=3"]).await;
    }
    let hosts: Vec<String> = sentinels.iter().map(|sentinel| format!("127.0.0.1:{}", sentinel.port)).collect();
    let url = format!("redis+sentinel://{}/main", hosts.join(","));
    (sentinels, url)
}

#[tokio::test]
async fn s15_the_election_follows_sentinel_to_the_new_primary_and_the_tokens_rise() {
    let database = postgres::migrated().await.unwrap();
    let (primary, replica) = with_a_replica().await;
    let (_sentinels, url) = sentinels(&primary).await;
    let a = Replica::start("a", &url, &database.url());
    let first = a.leads().await;
    let b = Replica::start("b", &url, &database.url());
    b.until("it knows who leads", |now| now.installed.is_some()).await;

    primary.stop().await;
    says(&replica, &["INFO", "replication"], "role:master").await;
    // Somebody leads by the new primary: the same term where the lease had been copied in time, else a higher one.
    let led = |replica: &Replica| {
        let now = replica.handle.snapshot();
        (now.standing.role == Role::Leader && now.redis_fault.is_none()).then(|| now.standing.token.unwrap().get())
    };
    let mut found = None;
    for _ in 0..LOOKS {
        let held = connect(&replica).await.get(keys().holder).await.unwrap();
        found =
            led(&a).or_else(|| led(&b)).filter(|token| held.is_some_and(|held| held.ends_with(&format!(" {token}"))));
        if found.is_some() {
            break;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    assert!(found.is_some_and(|token| token >= first), "{found:?} after {first}");
    assert!(a.stop().await.is_clean());
    assert!(b.stop().await.is_clean());
}

/// S15: the failover loses the grant that was not copied yet. Two replicas hold a lease, each of its own Redis; one term
/// can write.
#[tokio::test]
async fn s15_where_a_failover_lost_the_lease_both_hold_one_and_the_older_term_can_write_nothing_more() {
    let database = postgres::migrated().await.unwrap();
    let (primary, replica) = with_a_replica().await;
    // A first term, of which the other Redis has everything.
    let a = Replica::start("a", &primary.url(), &database.url());
    let first = a.leads().await;
    assert!(a.stop().await.is_clean());
    assert_eq!(command::<i64>(&primary, &["WAIT", "1", "5000"]).await, 1);
    // From here on it copies nothing, and the old primary goes on.
    command::<()>(&replica, &["REPLICAOF", "NO", "ONE"]).await;
    let a = Replica::start("a", &primary.url(), &database.url());
    let older = a.leads_above(first).await;
    let owner = a.handle.snapshot().standing.owner.unwrap();
    let b = Replica::start("b", &replica.url(), &database.url());
    let newer = b.leads_above(older).await;

    let mut session = PgConnection::connect(&database.url()).await.unwrap();
    let refused = sqlx::query("SELECT counterfoil.enter_term($1, $2, $3)")
        .bind(lease_name().as_str())
        .bind(i64::try_from(older).unwrap())
        .bind(owner.as_str())
        .execute(&mut session)
        .await
        .unwrap_err();
    let code = refused.as_database_error().and_then(sqlx::error::DatabaseError::code).unwrap().into_owned();
    assert!(code.starts_with("TF"), "{refused}");
    // The two contend until the old primary is gone: what a term ended by is read in the history.
    let why = "SELECT reason FROM counterfoil.leadership_event WHERE kind = 'step_down' AND token = $1";
    for _ in 0..LOOKS {
        let reason: Option<String> =
            sqlx::query_scalar(why).bind(i64::try_from(older).unwrap()).fetch_optional(&mut session).await.unwrap();
        if let Some(reason) = reason {
            assert_eq!(reason, "fenced");
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    panic!("term {older} never stepped down for {newer}");
}

#[tokio::test]
async fn s18_a_primary_that_sentinel_demotes_is_left_for_its_successor() {
    let database = postgres::migrated().await.unwrap();
    let (primary, replica) = with_a_replica().await;
    let (sentinels, url) = sentinels(&primary).await;
    let a = Replica::start("a", &url, &database.url());
    a.leads().await;

    let sentinel = redis::Client::open(format!("redis://127.0.0.1:{}/", sentinels[0].port)).unwrap();
    let mut link = sentinel.get_multiplexed_async_connection().await.unwrap();
    redis::cmd("SENTINEL").arg("FAILOVER").arg("main").exec_async(&mut link).await.unwrap();
    says(&primary, &["INFO", "replication"], "role:slave").await;
    says(&replica, &["INFO", "replication"], "role:master").await;
    // The demoted one keeps its connections and answers READONLY; what is renewed from now on is on its successor.
    let mut led = false;
    for _ in 0..LOOKS {
        let now = a.handle.snapshot();
        let held = connect(&replica).await.get(keys().holder).await.unwrap();
        led = now.standing.role == Role::Leader
            && held.is_some_and(|held| held.ends_with(&format!(" {}", now.standing.token.unwrap())));
        if led {
            break;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    assert!(led, "{:?}", a.handle.snapshot());
    a.until("it is well", |now| now.redis_fault.is_none()).await;
    assert!(a.stop().await.is_clean());
    assert_eq!(connect(&replica).await.get(keys().holder).await.unwrap(), None, "released where it was held");
}

#[tokio::test]
async fn in_a_cluster_the_lease_is_had_from_whichever_node_serves_its_slot_and_a_release_is_heard_at_any() {
    let database = postgres::migrated().await.unwrap();
    let mut nodes = Vec::new();
    for _ in 0..3 {
        let (port, bus) = (free_port().unwrap(), free_port().unwrap().to_string());
        let more = ["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-node-timeout", "2000"];
        nodes.push((Redis::start_with(port, &more).await.unwrap(), bus));
    }
    let slots = [("0", "5460"), ("5461", "10922"), ("10923", "16383")];
    for ((node, _), (from, to)) in nodes.iter().zip(slots) {
        command::<()>(node, &["CLUSTER", "ADDSLOTSRANGE", from, to]).await;
        let (first, bus) = &nodes[0];
        command::<()>(node, &["CLUSTER", "MEET", "127.0.0.1", &first.port().to_string(), bus]).await;
    }
    for (node, _) in &nodes {
        says(node, &["CLUSTER", "INFO"], "cluster_state:ok").await;
        says(node, &["CLUSTER", "INFO"], "cluster_known_nodes:3").await;
    }
    let slot: u32 = command(&nodes[0].0, &["CLUSTER", "KEYSLOT", &keys().holder]).await;
    let serves = slots.iter().position(|(_, to)| slot <= to.parse().unwrap()).unwrap();
    let others: Vec<u16> = (0..3).filter(|at| *at != serves).map(|at| nodes[at].0.port()).collect();

    // Neither is told the node that serves it.
    let a = Replica::start("a", &format!("redis://127.0.0.1:{}/", others[0]), &database.url());
    let first = a.leads().await;
    let b = Replica::start("b", &format!("redis://127.0.0.1:{},127.0.0.1:{}/", others[1], others[0]), &database.url());
    b.until("it listens", |now| now.listening_fault.is_none() && now.installed.is_some()).await;
    let held = connect(&nodes[serves].0).await.get(keys().holder).await.unwrap();
    assert!(held.is_some_and(|held| held.starts_with("a:")));

    let asked = tokio::time::timeout(TIMINGS.ttl / 2, async {
        assert!(a.stop().await.is_clean());
        b.leads_above(first).await
    });
    assert!(asked.await.is_ok(), "it was woken, and did not wait for the ttl");
    assert!(b.stop().await.is_clean());
}

#[tokio::test]
async fn over_tls_only_a_server_that_the_named_authority_signed_is_believed() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    authority::certify(folder.path());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let secure = free_port().unwrap();
    let port = secure.to_string();
    let (certificate, key, authority) = (file("server.pem"), file("server.key"), file("ca.pem"));
    let more = [
        "--tls-port",
        &port,
        "--tls-cert-file",
        &certificate,
        "--tls-key-file",
        &key,
        "--tls-ca-cert-file",
        &authority,
        "--tls-auth-clients",
        "no",
    ];
    let redis = Redis::start_with(free_port().unwrap(), &more).await.unwrap();
    let url = format!("rediss://127.0.0.1:{secure}/2");

    let named = RedisAddress::new(&url, Some(Path::new(&authority))).unwrap();
    let won = Lease::new(named, &lease_name(), LIMIT).acquire(&Owner::from_stored("a:1"), TTL, 0).await.unwrap();
    assert!(matches!(won, Acquisition::Won { .. }), "{won:?}");
    // In the database that the address names, and in no other.
    let mut outside = redis::Client::open(format!("redis://127.0.0.1:{}/2", redis.port()))
        .unwrap()
        .get_multiplexed_async_connection()
        .await
        .unwrap();
    assert!(outside.get(keys().holder).await.unwrap().is_some());
    assert_eq!(connect(&redis).await.get(keys().holder).await.unwrap(), None);

    let public = RedisAddress::new(&url, None).unwrap();
    let refused = Lease::new(public, &lease_name(), LIMIT).acquire(&Owner::from_stored("b:1"), TTL, 0).await;
    assert!(matches!(refused, Err(LeaseError::Connection(_))), "{refused:?}");
}

#[tokio::test]
async fn a_lease_that_not_enough_replicas_have_is_not_won_and_not_kept() {
    let (primary, replica) = with_a_replica().await;
    let lease = |replicas| {
        Lease::new(RedisAddress::new(&primary.url(), None).unwrap(), &lease_name(), LIMIT).waiting_for(replicas)
    };
    let owner = Owner::from_stored("a:1");
    assert!(matches!(lease(1).acquire(&owner, TTL, 0).await.unwrap(), Acquisition::Won { .. }));
    connect(&primary).await.del(keys().holder).await.unwrap();

    let refused = lease(2).acquire(&owner, TTL, 0).await.unwrap_err();
    assert_eq!(refused.to_string(), "only 1 of 2 replicas of Redis had the lease in time (lease.wait_replicas)");
    assert_eq!(connect(&primary).await.get(keys().holder).await.unwrap(), None);
    drop(replica);
}

#[tokio::test]
async fn the_login_that_the_operations_page_gives_a_worker_is_enough() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations.md")).unwrap();
    let rule = page.lines().find_map(|line| line.trim().strip_prefix("ACL SETUSER ")).unwrap();
    let rule = rule.replace("reconciliation", lease_name().as_str());
    let (database, redis) = (postgres::migrated().await.unwrap(), Redis::start().await.unwrap());
    let words: Vec<&str> = ["ACL", "SETUSER"].into_iter().chain(rule.split(' ')).collect();
    command::<()>(&redis, &words).await;

    let url = format!("redis://counterfoil:PASSWORD@127.0.0.1:{}/", redis.port());
    let a = Replica::start("a", &url, &database.url());
    let first = a.leads().await;
    let b = Replica::start("b", &url, &database.url());
    b.until("it listens", |now| now.listening_fault.is_none() && now.installed.is_some()).await;
    assert!(a.stop().await.is_clean());
    b.leads_above(first).await;
    // And it is a rule: another key is out of reach.
    let stranger = redis::Client::open(url).unwrap().get_multiplexed_async_connection().await;
    let refused = stranger.unwrap().set("other", "x").await.unwrap_err();
    assert!(refused.to_string().contains("key"), "{refused}");
}

#[test]
fn an_address_says_what_is_wrong_with_it_and_shows_no_password() {
    for (url, wrong) in [
        ("hunter2", "it has no scheme"),
        ("http://user:hunter2@host/", "its scheme is \"http\""),
        ("redis://user:hunter2@a:1,,b:2", "a host is missing"),
        ("redis+sentinel://user:hunter2@a:26379", "the name of the primary is missing"),
        ("redis+sentinel://user:hunter2@a/main?hunter=2", "\"hunter\" is not known after the ?"),
        ("redis://user:hunter2@a/seven", ""),
    ] {
        let told = RedisAddress::new(url, None).unwrap_err().to_string();
        assert!(told.contains(wrong) && !told.contains("hunter2"), "{url}: {told}");
        assert!(told.contains("Expected redis://"), "{told}");
    }
    let shown = RedisAddress::new("rediss+sentinel://user:hunter2@a,b:1/main/3", None).unwrap();
    assert_eq!(shown.servers(), ["a:26379", "b:1"]);
    assert!(!format!("{shown:?}").contains("hunter2"));
}
