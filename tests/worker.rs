//! The worker as whoever runs it sees it: a process, its signals and exit codes, its log, its HTTP answers; and the
//! commands beside it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it could not go on without"
)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use counterfoil::clock::{Clock, SystemClock};
use counterfoil::db::schema;
use counterfoil::scratch::free_port;
use counterfoil::scratch::postgres::{self, Database, OWNER, Postgres, WORKER};
use counterfoil::scratch::redis::Redis;
use rustix::process::{Pid, Signal, kill_process};
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};
use tempfile::TempDir;

/// How often, and how long apart, an outside condition is looked at: 40 s in all.
const LOOKS: u32 = 2000;
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The ttl of a deployment's lease.
const LEASE_TTL: Duration = Duration::from_millis(2500);

/// A deployment of one machine: a settings file, an inbox.
struct Deployment {
    folder: TempDir,
    redis: String,
    postgres: String,
}

struct Worker {
    child: Child,
    port: u16,
    log: std::path::PathBuf,
}

impl Deployment {
    fn new(redis: &str, postgres: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for side in ["inbox/bank", "inbox/book", "outbox"] {
            std::fs::create_dir_all(folder.path().join(side)).unwrap();
        }
        let path = folder.path().display();
        let settings = format!(
            "[lease]\nttl = \"2500ms\"\nheartbeat = \"500ms\"\nattempt_timeout = \"500ms\"\nmargin = \"200ms\"\n\
             drain = \"2s\"\nstall_limit = \"10s\"\n\
             [inbox]\nurl = \"file://{path}/inbox\"\n[outbox]\nurl = \"file://{path}/outbox\"\n\
             [[accounts]]\nid = \"main\"\nnumber = \"1\"\ncurrency = \"BRL\"\n"
        );
        std::fs::write(folder.path().join("counterfoil.toml"), settings).unwrap();
        Self { folder, redis: redis.to_owned(), postgres: postgres.to_owned() }
    }

    fn command(&self, node: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_counterfoil"));
        command
            .current_dir(self.folder.path())
            .env("COUNTERFOIL__REDIS__URL", &self.redis)
            .env("COUNTERFOIL__POSTGRES__URL", &self.postgres)
            .env("COUNTERFOIL__NODE__ID", node);
        command
    }

    fn start(&self, node: &str) -> Worker {
        self.start_with(node, &[])
    }

    fn start_with(&self, node: &str, settings: &[(&str, &str)]) -> Worker {
        let port = free_port().unwrap();
        let log = self.folder.path().join(format!("{node}.log"));
        let child = self
            .command(node)
            .arg("worker")
            .envs(settings.iter().copied())
            .env("COUNTERFOIL__HTTP__LISTEN", format!("127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        Worker { child, port, log }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command("operator").args(arguments).output().unwrap()
    }

    fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Worker {
    /// The answer's status code and body; none while nobody listens.
    fn get(&self, path: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok()?;
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }

    async fn until(&mut self, what: &str, path: &str, wanted: impl Fn(u16, &str) -> bool) -> String {
        let mut last = None;
        for _ in 0..LOOKS {
            last = self.get(path);
            if let Some((code, body)) = &last
                && wanted(*code, body)
            {
                return body.clone();
            }
            assert_eq!(self.child.try_wait().unwrap(), None, "it ended before {what}:\n{}", self.log());
            tokio::time::sleep(LOOK_EVERY).await;
        }
        panic!("{what}: still {last:?}\n{}", self.log());
    }

    async fn leads(&mut self) -> serde_json::Value {
        let body = self.until("it leads", "/status", |_, body| body.contains("\"role\":\"leader\"")).await;
        serde_json::from_str(&body).unwrap()
    }

    async fn ready(&mut self) {
        self.until("it is ready", "/readyz", |code, _| code == 200).await;
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    async fn ended(&mut self) -> i32 {
        for _ in 0..LOOKS {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap();
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        panic!("it did not end:\n{}", self.log());
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn servers() -> (Redis, Database) {
    (Redis::start().await.unwrap(), postgres::migrated().await.unwrap())
}

#[tokio::test]
async fn s22_told_to_end_it_hands_over_and_exits_0_by_sigterm_and_by_sigint() {
    let (redis, database) = servers().await;
    let deployment = Deployment::new(&redis.url(), &database.url());
    let mut first = deployment.start("first");
    let status = first.leads().await;
    assert_eq!((&status["node"], &status["token"]), (&"first".into(), &1.into()));
    assert!(status["trust_remaining_seconds"].as_f64().unwrap() > 0.0);
    let mut second = deployment.start("second");
    second.until("it knows who leads", "/status", |_, body| body.contains("\"token\":1")).await;
    second.ready().await;
    let clock = SystemClock;
    let told = clock.now();
    first.signal(Signal::TERM);
    let status = second.leads().await;
    println!("takeover after SIGTERM, idle: {:?}", clock.now().since(told));
    assert_eq!(status["token"], 2);
    assert_eq!(first.ended().await, 0, "{}", first.log());
    second.signal(Signal::INT);
    assert_eq!(second.ended().await, 0, "{}", second.log());

    let history = deployment.json(&["history", "--terms", "--json"]);
    let told: Vec<_> = history.as_array().unwrap().iter().map(|term| (&term["node"], &term["reason"])).collect();
    assert_eq!(told, [(&"first".into(), &"shutdown".into()), (&"second".into(), &"shutdown".into())]);
    let said = String::from_utf8(deployment.run(&["history"]).stdout).unwrap();
    assert!(said.contains("first") && said.contains("shutdown"), "{said}");
}

/// What Redis holds of the lease, at one moment: holder, milliseconds left, counter.
async fn lease_at_a_glance(outside: &mut redis::aio::MultiplexedConnection) -> Option<(String, i64, u64)> {
    let script = redis::Script::new(
        "return {redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[2])}",
    );
    let keys = ["{counterfoil:reconciliation}:holder", "{counterfoil:reconciliation}:token"];
    let glance: (Option<String>, i64, Option<u64>) =
        script.key(keys[0]).key(keys[1]).invoke_async(outside).await.unwrap();
    let (holder, left, counter) = glance;
    holder.map(|holder| (holder, left, counter.expect("S13: a lease without a counted token")))
}

/// S13: replicas are killed at the moment at which Redis has granted the lease, and while they campaign. There is no
/// moment at which a lease has no end, or no token, or a token that another had.
#[tokio::test]
async fn s13_a_replica_killed_in_the_middle_of_its_candidacy_leaves_no_lease_without_an_end_or_without_a_token() {
    let (redis, database) = servers().await;
    let deployment = Deployment::new(&redis.url(), &database.url());
    let mut outside = redis::Client::open(redis.url()).unwrap().get_multiplexed_async_connection().await.unwrap();
    let mut last = 0;
    for round in 0..4 {
        let node = format!("node-{round}");
        let mut worker = deployment.start(&node);
        let clock = SystemClock;
        let begin = clock.now();
        loop {
            let glance = lease_at_a_glance(&mut outside).await;
            if let Some((holder, left, counter)) = glance {
                // −1 would be a lease without an end; 0 is one that ends now.
                assert!(left >= 0, "S13: a lease without an end: {holder:?}");
                let (owner, token) = holder.rsplit_once(' ').expect("S13: a lease without a token");
                let token: u64 = token.parse().unwrap();
                assert!(token <= counter, "{token} was never counted: {counter}");
                if owner.starts_with(&format!("{node}:")) {
                    assert!(token > last, "{token} was another's");
                    last = token;
                    break;
                }
            }
            assert!(clock.now().since(begin) < LOOK_EVERY * LOOKS, "it never campaigned:\n{}", worker.log());
        }
        worker.child.kill().unwrap();
        worker.child.wait().unwrap();
    }
    let mut heir = deployment.start("heir");
    assert!(heir.leads().await["token"].as_u64().unwrap() > last);
}

#[tokio::test]
async fn a_hang_up_releases_the_lease_as_sigterm_does() {
    let (redis, database) = servers().await;
    let deployment = Deployment::new(&redis.url(), &database.url());
    let mut worker = deployment.start("a");
    worker.leads().await;
    worker.signal(Signal::HUP);
    assert_eq!(worker.ended().await, 0, "{}", worker.log());
    let mut outside = redis::Client::open(redis.url()).unwrap().get_multiplexed_async_connection().await.unwrap();
    let holder: Option<String> =
        redis::cmd("GET").arg("{counterfoil:reconciliation}:holder").query_async(&mut outside).await.unwrap();
    assert_eq!(holder, None);
    let history = deployment.json(&["history", "--terms", "--json"]);
    assert_eq!(history[0]["reason"], "shutdown");
}

#[tokio::test]
async fn it_says_at_start_what_follows_from_its_timings() {
    let (redis, database) = servers().await;
    let deployment = Deployment::new(&redis.url(), &database.url());
    let mut worker = deployment.start("a");
    worker.ready().await;
    let log = worker.log();
    assert!(log.contains("an outage of Redis up to 1s 200ms costs nobody the lead"), "{log}");
    assert!(log.contains("\"worst_takeover\":\"2s 625ms\""), "{log}");
}

#[tokio::test]
async fn servers_that_are_away_are_waited_for_said_once_and_reason_of_readyz() {
    let port = free_port().unwrap();
    let database = postgres::migrated().await.unwrap();
    let deployment = Deployment::new(&format!("redis://127.0.0.1:{port}/"), &database.url());
    let mut worker = deployment.start("a");
    let redis_alone = |code, body: &str| code == 503 && body.starts_with("[-] redis:") && body.lines().count() == 1;
    worker.until("it waits for Redis alone", "/readyz", redis_alone).await;
    let (code, _) = worker.get("/livez").unwrap();
    assert_eq!(code, 200, "an outage of a server is no reason to restart a worker");
    let _redis = Redis::start_on(port).await.unwrap();
    worker.leads().await;
    worker.ready().await;
    let log = worker.log();
    let said = log.lines().filter(|line| line.contains("dependency.down") && line.contains("\"redis\"")).count();
    assert_eq!(said, 1, "{log}");
}

#[tokio::test]
async fn a_login_that_could_bypass_the_fence_is_told_and_never_leads() {
    let (redis, database) = servers().await;
    let deployment = Deployment::new(&redis.url(), &database.owner_url());
    let mut worker = deployment.start("a");
    let why = worker.until("it says why", "/readyz", |_, body| body.contains("owns the schema")).await;
    assert!(why.starts_with("[-] postgres: ") && why.lines().count() == 1 && !why.contains(';'), "{why}");
    assert!(worker.log().contains("this replica does not campaign"), "{}", worker.log());
}

#[tokio::test]
async fn a_leader_that_loses_its_inbox_makes_way_for_a_replica_that_can_read_its_own_and_where_none_can_nobody_leads() {
    let (redis, database) = servers().await;
    let deployment = Deployment::new(&redis.url(), &database.url());
    let other = deployment.folder.path().join("other");
    for side in ["bank", "book"] {
        std::fs::create_dir_all(other.join(side)).unwrap();
    }
    let mut first = deployment.start("first");
    first.leads().await;
    let mut second =
        deployment.start_with("second", &[("COUNTERFOIL__INBOX__URL", &format!("file://{}", other.display()))]);
    second.until("it knows who leads", "/status", |_, body| body.contains("\"token\":1")).await;
    second.ready().await;

    let inbox = deployment.folder.path().join("inbox");
    std::fs::rename(inbox.join("bank"), inbox.join("gone")).unwrap();
    let not_ready = |code: u16, body: &str| code == 503 && body.starts_with("[-] inbox: ") && body.contains("bank/");
    first.until("it says what it lacks", "/readyz", not_ready).await;
    second.leads().await;
    let history = deployment.json(&["history", "--terms", "--json"]);
    assert_eq!((&history[0]["node"], &history[0]["reason"]), (&"first".into(), &"ineligible".into()), "{history}");

    std::fs::remove_dir(other.join("bank")).unwrap();
    second.until("it says what it lacks", "/readyz", not_ready).await;
    for worker in [&mut first, &mut second] {
        worker.until("it follows", "/status", |_, body| body.contains("\"role\":\"follower\"")).await;
        let down = "counterfoil_dependency_up{lease=\"reconciliation\",dependency=\"inbox\"} 0";
        let held = "counterfoil_leader_ineligible{lease=\"reconciliation\",reason=\"inbox_unreadable\"} 1";
        worker.until("its metrics say so", "/metrics", |_, page| page.contains(down) && page.contains(held)).await;
        let said = |event: &str| worker.log().lines().filter(|line| line.contains(event)).count();
        assert_eq!((said("dependency.down"), said("leader.ineligible")), (1, 1), "{}", worker.log());
    }
    let asked = deployment.run(&["run", "--date", "2026-03-02"]);
    let told = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert_eq!(asked.status.code(), Some(1), "{told}");
    assert!(told.contains("nobody leads") && told.contains("second: ineligible (the inbox"), "{told}");

    std::fs::rename(inbox.join("gone"), inbox.join("bank")).unwrap();
    first.leads().await;
    first.ready().await;
}

#[tokio::test]
async fn what_makes_every_candidacy_vain_is_said_once_is_why_it_is_not_ready_and_is_found_by_check() {
    let (redis, database) = servers().await;
    let deployment = Deployment::new(&redis.url(), &database.url());
    let mut outside = redis::Client::open(redis.url()).unwrap().get_multiplexed_async_connection().await.unwrap();
    let token = "{counterfoil:reconciliation}:token";
    redis::cmd("SET").arg(token).arg("5000000").exec_async(&mut outside).await.unwrap();
    let mut worker = deployment.start("a");
    let why =
        |code: u16, body: &str| code == 503 && body.starts_with("[-] election: ") && body.contains("redis-cli DEL");
    worker.until("it says what is in the way", "/readyz", why).await;
    // Looked at several times: the pause between looks is at most a ttl and a fifth.
    let asked = "counterfoil_leader_elections_total{lease=\"reconciliation\",outcome=\"error\"} 4";
    worker.until("it looked again", "/metrics", |_, page| page.contains(asked)).await;
    let said = worker.log().lines().filter(|line| line.contains("leader.ineligible")).count();
    assert_eq!(said, 1, "{}", worker.log());
    let check = deployment.run(&["check"]);
    let found = String::from_utf8(check.stdout).unwrap();
    assert!(check.status.code() == Some(1) && found.contains("PROBLEM  redis") && found.contains("5000000"), "{found}");
    redis::cmd("DEL").arg(token).exec_async(&mut outside).await.unwrap();
    worker.leads().await;
    worker.ready().await;
}

#[tokio::test]
async fn s25_a_leader_whose_passes_fail_hands_the_lead_on_and_another_does_the_work() {
    let (redis, database) = servers().await;
    let deployment = Deployment::new(&redis.url(), &database.url());
    // A file stands where the outbox of the first should be: nothing can be published there.
    let blocked = deployment.folder.path().join("blocked");
    std::fs::write(&blocked, "").unwrap();
    let blocked = format!("file://{}", blocked.display());
    let short = ("COUNTERFOIL__LEASE__STALL_LIMIT", "3s");
    let mut first = deployment.start_with("first", &[short, ("COUNTERFOIL__OUTBOX__URL", &blocked)]);
    first.leads().await;
    let mut second = deployment.start_with("second", &[short]);
    second.until("it knows who leads", "/status", |_, body| body.contains("\"token\":1")).await;
    second.ready().await;
    let asked = deployment.run(&["run", "--date", "2026-03-02"]);
    assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));

    second.leads().await;
    let failing = "counterfoil_leader_transitions_total{lease=\"reconciliation\",reason=\"failing\"} 1";
    first.until("it says why", "/metrics", |_, page| page.contains(failing)).await;
    let history = deployment.json(&["history", "--json"]);
    let events = history.as_array().unwrap();
    assert_eq!((&events[0]["node"], &events[0]["reason"]), (&"first".into(), &"failing".into()), "{history}");
    let why = events.iter().find_map(|event| event["detail"].as_str().filter(|said| said.contains("published")));
    assert!(why.is_some_and(|why| why.contains("passes failed in a row")), "{history}");
    let said = first.log().lines().filter(|line| line.contains("report.not_published")).count();
    assert_eq!(said, 1, "said once, and not with each pass:\n{}", first.log());

    let summary = deployment.folder.path().join("outbox/2026-03-02/summary.txt");
    let passed = |page: &str| {
        let last = "counterfoil_work_last_pass_timestamp_seconds{lease=\"reconciliation\"} ";
        page.lines().filter_map(|line| line.strip_prefix(last)).any(|at| at.parse::<f64>().unwrap() > 1e9)
    };
    second.until("its passes succeed", "/metrics", |_, page| passed(page) && summary.exists()).await;
}

/// How each replica stands, where one leads: whether it is ready.
fn settled(workers: &[Worker]) -> Option<(usize, Vec<bool>)> {
    let leads = |worker: &Worker| worker.get("/status").is_some_and(|(_, body)| body.contains("\"role\":\"leader\""));
    let leader = workers.iter().position(leads)?;
    let mut ready = Vec::new();
    for worker in workers {
        ready.push(worker.get("/readyz")?.0 == 200);
    }
    Some((leader, ready))
}

/// Waits until the replicas of the leader's Redis are ready, and those of the other are not; who leads.
async fn until_only_one_redis_serves(workers: &[Worker], redises: &[usize]) -> usize {
    for _ in 0..LOOKS {
        if let Some((leader, ready)) = settled(workers)
            && ready.iter().zip(redises).all(|(ready, redis)| *ready == (*redis == redises[leader]))
        {
            return leader;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    panic!("it never settled:\n{}", workers.iter().map(Worker::log).collect::<Vec<_>>().join("\n---\n"));
}

#[tokio::test]
async fn two_redises_for_one_database_end_in_one_sentence_a_replica_and_a_wait() {
    let (one, database) = servers().await;
    let two = Redis::start().await.unwrap();
    let deployment = Deployment::new(&one.url(), &database.url());
    let wrong = [("COUNTERFOIL__REDIS__URL", two.url())];
    let wrong: Vec<(&str, &str)> = wrong.iter().map(|(key, url)| (*key, url.as_str())).collect();
    let redises = [0, 0, 1];
    let mut workers = [deployment.start("a"), deployment.start("b"), deployment.start_with("lone", &wrong)];
    let leader = until_only_one_redis_serves(&workers, &redises).await;
    let token = deployment.json(&["status", "--json"])["term"]["token"].clone();

    // A while in which the two took the lead from each other a dozen times.
    let clock = SystemClock;
    let begin = clock.now();
    while clock.now().since(begin) < Duration::from_secs(8) {
        assert_eq!(until_only_one_redis_serves(&workers, &redises).await, leader);
        assert_eq!(deployment.json(&["status", "--json"])["term"]["token"], token, "it went on");
        tokio::time::sleep(LOOK_EVERY * 10).await;
    }
    for (index, worker) in workers.iter_mut().enumerate() {
        let waits = redises[index] != redises[leader];
        let said = worker.log().lines().filter(|line| line.contains("leader.ineligible")).count();
        assert_eq!(said, usize::from(waits), "{}", worker.log());
        let held = format!(
            "counterfoil_leader_ineligible{{lease=\"reconciliation\",reason=\"other_redis\"}} {}",
            u8::from(waits)
        );
        worker.until("its metric says so", "/metrics", |_, page| page.contains(&held)).await;
        if waits {
            let (_, why) = worker.get("/readyz").unwrap();
            assert!(
                why.starts_with("[-] election: ") && why.contains("redis.url") && why.lines().count() == 1,
                "{why}"
            );
            let check = deployment
                .command("operator")
                .arg("check")
                .env("COUNTERFOIL__REDIS__URL", [one.url(), two.url()][redises[index]].as_str())
                .output();
            let check = check.unwrap();
            let found = String::from_utf8(check.stdout).unwrap();
            assert!(check.status.code() == Some(1) && found.contains("another one than the leader's"), "{found}");
        }
    }

    // The lone one is given the right address.
    let [a, b, mut lone] = workers;
    lone.signal(Signal::TERM);
    assert_eq!(lone.ended().await, 0);
    drop(lone);
    let workers = [a, b, deployment.start("mended")];
    until_only_one_redis_serves(&workers, &[0, 0, 0]).await;
}

#[tokio::test]
async fn a_replica_without_an_inbox_is_not_ready_from_its_start() {
    let (redis, database) = servers().await;
    let deployment = Deployment::new(&redis.url(), &database.url());
    std::fs::remove_dir(deployment.folder.path().join("inbox/bank")).unwrap();
    let mut worker = deployment.start("a");
    let inbox_alone = |code: u16, body: &str| code == 503 && body.starts_with("[-] inbox: the inbox");
    worker.until("it says what it lacks", "/readyz", inbox_alone).await;
    worker.until("it does not campaign", "/metrics", |_, page| page.contains("reason=\"inbox_unreadable\"} 1")).await;
}

/// S30: a failover of Postgres as a replica sees it whose address leads to the standby first.
#[tokio::test]
async fn s30_a_replica_whose_postgres_is_a_standby_says_so_does_not_campaign_and_leads_once_that_is_promoted() {
    let redis = Redis::start().await.unwrap();
    let primary = Postgres::start_with(&Postgres::with_standbys()).await.unwrap();
    let database = primary.database().await.unwrap();
    schema::migrate(&database.connector(OWNER).unwrap(), Some(WORKER)).await.unwrap();
    let standby = primary.standby().await.unwrap();
    let copy = database.on(&standby);

    let before = Deployment::new(&redis.url(), &database.url());
    let mut leader = before.start("leader");
    leader.leads().await;
    let deployment = Deployment::new(&redis.url(), &copy.url());
    let mut worker = deployment.start("a");
    let not_ready = |code: u16, body: &str| code == 503 && body.contains("[-] postgres: Postgres is in recovery");
    worker.until("it says what it lacks", "/readyz", not_ready).await;
    let held = "counterfoil_leader_ineligible{lease=\"reconciliation\",reason=\"postgres_in_recovery\"} 1";
    worker.until("its metrics say so", "/metrics", |_, page| page.contains(held)).await;
    // What was committed on the primary arrives.
    worker.until("it knows who leads", "/status", |_, body| body.contains("\"token\":1")).await;

    // The primary goes, and with it its leader: the lease is free, and nobody may take it.
    leader.signal(Signal::TERM);
    assert_eq!(leader.ended().await, 0, "{}", leader.log());
    primary.stop().await;
    let mut outside = redis::Client::open(redis.url()).unwrap().get_multiplexed_async_connection().await.unwrap();
    let (clock, begin) = (SystemClock, SystemClock.now());
    while clock.now().since(begin) < LEASE_TTL * 2 {
        assert_eq!(lease_at_a_glance(&mut outside).await, None, "it campaigned over a standby");
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let said = worker.log().lines().filter(|line| line.contains("leader.ineligible")).count();
    assert_eq!(said, 1, "{}", worker.log());

    let mut superuser = PgConnection::connect(&copy.superuser_url()).await.unwrap();
    superuser.execute("SELECT pg_promote()").await.unwrap();
    assert_eq!(worker.leads().await["token"], 2);
    worker.ready().await;
}

/// S9: an ACL that forbids a command in the middle of the script that wins the lease.
#[tokio::test]
async fn s9_a_replica_whose_campaigns_end_in_errors_begins_no_term_and_plans_no_run() {
    let (redis, database) = servers().await;
    let mut outside = redis::Client::open(redis.url()).unwrap().get_multiplexed_async_connection().await.unwrap();
    let login = ["SETUSER", "worker", "on", ">secret", "~*", "&*", "+@all", "-set"];
    redis::cmd("ACL").arg(&login).exec_async(&mut outside).await.unwrap();
    let deployment = Deployment::new(&format!("redis://worker:secret@127.0.0.1:{}/", redis.port()), &database.url());
    let mut worker = deployment.start("a");
    let failed = |page: &str| {
        let count =
            page.split("counterfoil_leader_elections_total{lease=\"reconciliation\",outcome=\"error\"} ").nth(1);
        count.is_some_and(|rest| rest.split('\n').next().unwrap().parse::<u32>().unwrap() >= 3)
    };
    worker.until("three candidacies have failed", "/metrics", |_, page| failed(page)).await;
    let status = worker.get("/status").unwrap().1;
    assert!(status.contains("\"role\":\"follower\"") && status.contains("\"token\":null"), "{status}");
    assert_eq!(lease_at_a_glance(&mut outside).await, None);
    let mut session = PgConnection::connect(&database.superuser_url()).await.unwrap();
    let written = "SELECT (SELECT count(*) FROM counterfoil.leadership_event WHERE kind = 'term') \
                   + (SELECT count(*) FROM counterfoil.leader_term) + (SELECT count(*) FROM counterfoil.run)";
    assert_eq!(sqlx::query_scalar::<_, i64>(written).fetch_one(&mut session).await.unwrap(), 0);

    // With the right to win comes a term, and with the term the run that is due.
    redis::cmd("ACL").arg(&["SETUSER", "worker", "+set"]).exec_async(&mut outside).await.unwrap();
    worker.leads().await;
    let runs = "SELECT count(*) FROM counterfoil.run";
    for _ in 0..LOOKS {
        if sqlx::query_scalar::<_, i64>(runs).fetch_one(&mut session).await.unwrap() == 1 {
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    panic!("no run was planned:\n{}", worker.log());
}

/// S11: SIGKILL, and started again under the same name, at once.
#[tokio::test]
async fn s11_a_leader_killed_and_started_again_within_the_ttl_waits_for_its_former_lease_to_end() {
    let (redis, database) = servers().await;
    let deployment = Deployment::new(&redis.url(), &database.url());
    let mut outside = redis::Client::open(redis.url()).unwrap().get_multiplexed_async_connection().await.unwrap();
    let mut before = deployment.start("a");
    before.leads().await;
    before.child.kill().unwrap();
    before.child.wait().unwrap();
    let (former, left, _) = lease_at_a_glance(&mut outside).await.expect("the lease outlives its holder");
    let killed = SystemClock.now();
    let mut after = deployment.start("a");
    assert_eq!(after.leads().await["token"], 2);
    let waited = SystemClock.now().since(killed);
    assert!(
        waited.as_millis() >= u128::from(left.unsigned_abs()),
        "it led after {waited:?}, with {left} ms left of the old lease"
    );
    let (holder, ..) = lease_at_a_glance(&mut outside).await.expect("it leads");
    assert_ne!(former.split(' ').next(), holder.split(' ').next());
    let history = deployment.json(&["history", "--terms", "--json"]);
    let terms = history.as_array().unwrap();
    assert_eq!((terms.len(), &terms[0]["token"], &terms[1]["token"]), (2, &1.into(), &2.into()), "{history}");
}

/// What makes a step take long, or never end: done by the owner to the table that a file's step writes first.
async fn owner_says(database: &Database, statements: &'static str) -> PgConnection {
    let mut owner = PgConnection::connect(&database.owner_url()).await.unwrap();
    owner.execute(statements).await.unwrap();
    owner
}

const SHORT_STALL: [(&str, &str); 2] =
    [("COUNTERFOIL__LEASE__STALL_LIMIT", "3s"), ("COUNTERFOIL__INBOX__SETTLE", "200ms")];
const ENTRY: &str = "id,account,date,amount,currency,reference\nA,main,2026-11-27,1.00,BRL,INV-1\n";

#[tokio::test]
async fn one_statement_that_takes_longer_than_the_stall_limit_is_no_stall() {
    let (redis, database) = servers().await;
    let deployment = Deployment::new(&redis.url(), &database.url());
    let _owner = owner_says(
        &database,
        "CREATE FUNCTION counterfoil.slowly() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(7); RETURN NULL; END';
         CREATE TRIGGER slowly AFTER INSERT ON counterfoil.source_file FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.slowly()",
    )
    .await;
    std::fs::write(deployment.folder.path().join("inbox/book/entries.csv"), ENTRY).unwrap();
    let mut worker = deployment.start_with("a", &SHORT_STALL);
    let taken = "counterfoil_files_total{lease=\"reconciliation\",side=\"book\",outcome=\"accepted\"} 1";
    worker.until("the file is taken", "/metrics", |_, page| page.contains(taken)).await;
    let history = deployment.json(&["history", "--json"]);
    assert_eq!(history.as_array().unwrap().len(), 1, "one term, which has not ended: {history}");
}

#[tokio::test]
async fn a_step_that_only_waits_is_a_stall_and_the_leader_steps_down() {
    let (redis, database) = servers().await;
    let deployment = Deployment::new(&redis.url(), &database.url());
    // Readers pass; whoever writes waits, for somebody who does nothing.
    let _holder = owner_says(&database, "BEGIN; LOCK TABLE counterfoil.source_file IN EXCLUSIVE MODE").await;
    std::fs::write(deployment.folder.path().join("inbox/book/entries.csv"), ENTRY).unwrap();
    let mut worker = deployment.start_with("a", &SHORT_STALL);
    let stalled = "counterfoil_leader_transitions_total{lease=\"reconciliation\",reason=\"stalled\"} 1";
    worker.until("it steps down", "/metrics", |_, page| page.contains(stalled)).await;
}

#[tokio::test]
async fn a_database_without_the_schema_is_told_with_what_to_do() {
    let redis = Redis::start().await.unwrap();
    let database = postgres::database().await.unwrap();
    let deployment = Deployment::new(&redis.url(), &database.url());
    let mut worker = deployment.start("a");
    let why = worker.until("it says why", "/readyz", |_, body| body.contains("counterfoil migrate")).await;
    assert!(why.contains("[-] schema"), "{why}");
}

#[tokio::test]
async fn unsound_settings_end_it_at_once_with_every_fault_and_exit_2() {
    let deployment = Deployment::new("redis://127.0.0.1:1/", "postgres://x@127.0.0.1:1/x");
    let output = deployment
        .command("a")
        .arg("worker")
        .env("COUNTERFOIL__LEASE__HEARTBEAT", "900ms")
        .env("COUNTERFOIL__LEASE__COLOUR", "red")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("× 3 is 2s 700ms") && said.contains("LEASE__COLOUR"), "{said}");
}

#[tokio::test]
async fn an_address_that_is_taken_ends_it_at_once() {
    let deployment = Deployment::new("redis://127.0.0.1:1/", "postgres://x@127.0.0.1:1/x");
    let taken = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let output = deployment.command("a").arg("worker").env("COUNTERFOIL__HTTP__LISTEN", &listen).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains(&listen));
}

#[tokio::test]
async fn resign_hands_over_and_names_the_term_that_it_meant() {
    let (redis, database) = servers().await;
    let deployment = Deployment::new(&redis.url(), &database.url());
    let nobody = deployment.run(&["resign"]);
    assert_eq!(nobody.status.code(), Some(1), "nobody has led yet");
    let mut first = deployment.start("first");
    first.leads().await;
    let mut second = deployment.start("second");
    second.until("it knows who leads", "/status", |_, body| body.contains("\"token\":1")).await;

    let wrong = deployment.run(&["resign", "--token", "9"]);
    assert_eq!(wrong.status.code(), Some(1));
    let asked = deployment.json(&["resign", "--wait", "--reason", "a new version", "--json"]);
    assert_eq!(asked["installed"]["node"], "second");
    second.leads().await;

    let status = deployment.json(&["status", "--json"]);
    assert_eq!((&status["term"]["token"], &status["term"]["node"]), (&2.into(), &"second".into()));
    let history = deployment.json(&["history", "--json"]);
    let reasons: Vec<_> = history.as_array().unwrap().iter().map(|event| (&event["kind"], &event["detail"])).collect();
    assert!(reasons.contains(&(&"request".into(), &"a new version".into())), "{history}");
    assert_eq!(history[0]["reason"], "resigned");
}

#[tokio::test]
async fn a_follower_tells_the_installed_token_too_and_its_scrape_passes_promtool() {
    let (redis, database) = servers().await;
    let deployment = Deployment::new(&redis.url(), &database.url());
    let mut first = deployment.start("first");
    first.leads().await;
    let mut second = deployment.start("second");
    let token = "counterfoil_leader_fencing_token{lease=\"reconciliation\"} 1";
    let page = second.until("it tells the token", "/metrics", |_, page| page.contains(token)).await;
    assert!(page.contains("counterfoil_leader_status{lease=\"reconciliation\"} 0"), "{page}");
    let led = first.until("it tells the token", "/metrics", |_, page| page.contains(token)).await;
    assert!(led.contains("counterfoil_leader_status{lease=\"reconciliation\"} 1"), "{led}");
    assert!(led.contains("counterfoil_leader_elections_total{lease=\"reconciliation\",outcome=\"won\"} 1"), "{led}");

    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool, of Debian's package `prometheus`, is needed by this test");
    promtool.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let said = promtool.wait_with_output().unwrap();
    assert!(
        said.status.success(),
        "{}{}",
        String::from_utf8_lossy(&said.stdout),
        String::from_utf8_lossy(&said.stderr)
    );
}

#[tokio::test]
async fn the_health_check_of_a_container_asks_the_worker_beside_it() {
    let (redis, database) = servers().await;
    let deployment = Deployment::new(&redis.url(), &database.url());
    let mut worker = deployment.start("first");
    worker.until("it answers", "/livez", |code, _| code == 200).await;
    let check = |port: u16| {
        let listen = format!("0.0.0.0:{port}");
        let output = deployment.command("first").arg("healthcheck").env("COUNTERFOIL__HTTP__LISTEN", listen).output();
        let output = output.unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(check(worker.port), (Some(0), String::new()));
    worker.signal(Signal::TERM);
    assert_eq!(worker.ended().await, 0);
    let (code, said) = check(worker.port);
    assert_eq!(code, Some(1), "nobody answers any more");
    assert!(said.contains(&format!("no worker answers at 127.0.0.1:{}", worker.port)), "where it asked: {said}");
}

#[tokio::test]
async fn status_tells_who_leads_who_waits_and_for_how_long_and_follows_a_hand_over() {
    let (redis, database) = servers().await;
    let deployment = Deployment::new(&redis.url(), &database.url());
    let mut first = deployment.start("first");
    first.leads().await;
    let mut second = deployment.start("second");
    second.until("it knows who leads", "/status", |_, body| body.contains("\"token\":1")).await;
    second.ready().await;

    let standing = deployment.json(&["status", "--json"]);
    assert_eq!((&standing["term"]["node"], &standing["waiting"]), (&"first".into(), &serde_json::json!(["second"])));
    let lease = &standing["redis"];
    assert_eq!((&lease["holder"], &lease["listening"]), (&"first".into(), &2.into()), "{lease}");
    assert_eq!(standing["leads"], true);
    let (left, trusted) =
        (lease["lease_left_seconds"].as_f64().unwrap(), lease["trust_left_seconds"].as_f64().unwrap());
    assert!(0.0 < trusted && trusted < left && left <= standing["timings"]["ttl"].as_f64().unwrap(), "{lease}");
    let told = String::from_utf8(deployment.run(&["status"]).stdout).unwrap();
    assert!(told.contains("held by first for ") && told.contains("Waiting: second."), "{told}");

    let seen = deployment.folder.path().join("seen");
    let mut following = deployment
        .command("operator")
        .args(["status", "--follow"])
        .stdout(std::fs::File::create(&seen).unwrap())
        .spawn()
        .unwrap();
    first.signal(Signal::TERM);
    second.leads().await;
    let mut told = String::new();
    for _ in 0..LOOKS {
        told = std::fs::read_to_string(&seen).unwrap();
        if told.contains("term 2 of second") {
            break;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    following.kill().unwrap();
    following.wait().unwrap();
    assert!(told.contains("term 2 of second") && told.contains("No other replica waits."), "{told}");

    let told = String::from_utf8(deployment.run(&["status"]).stdout).unwrap();
    assert!(told.starts_with("reconciliation: term 2 of second, since "), "{told}");
    assert!(told.contains("; 1 listens for its release."), "{told}");
    second.signal(Signal::TERM);
    assert_eq!(second.ended().await, 0);
    let told = String::from_utf8(deployment.run(&["status"]).stdout).unwrap();
    assert!(told.starts_with("reconciliation: nobody leads; the last term was 2 of second, since "), "{told}");
    assert_eq!(deployment.json(&["status", "--json"])["leads"], false);
}

#[tokio::test]
async fn systemd_is_told_when_it_is_up_how_it_stands_that_it_lives_and_that_it_stops() {
    let (redis, database) = servers().await;
    let deployment = Deployment::new(&redis.url(), &database.url());
    let path = deployment.folder.path().join("notify");
    let socket = tokio::net::UnixDatagram::bind(&path).unwrap();
    let path = path.display().to_string();
    let mut worker = deployment.start_with("first", &[("NOTIFY_SOCKET", &path), ("WATCHDOG_USEC", "400000")]);
    let heard = async |words: &str| {
        let mut buffer = [0; 1024];
        loop {
            let received = tokio::time::timeout(LOOK_EVERY * LOOKS, socket.recv(&mut buffer)).await;
            let said =
                String::from_utf8_lossy(&buffer[..received.unwrap_or_else(|_| panic!("never heard {words}")).unwrap()])
                    .trim()
                    .to_owned();
            if said == words {
                return;
            }
        }
    };
    heard("READY=1").await;
    heard("STATUS=leader").await;
    heard("WATCHDOG=1").await;
    heard("WATCHDOG=1").await;
    worker.signal(Signal::TERM);
    heard("STOPPING=1").await;
    assert_eq!(worker.ended().await, 0, "{}", worker.log());
}
