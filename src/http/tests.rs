use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::election::reason::Role;
use crate::election::{FencingToken, LeaseName, Owner};
use crate::instant::Boot;
use crate::supervisor::blocking;

/// A replica that stands as it is told.
struct Told(Mutex<Status>);

impl StatusSource for Told {
    fn status(&self) -> Status {
        self.0.lock().unwrap().clone()
    }
}

fn follower() -> Status {
    Status {
        at: Boot::ZERO,
        node: "node-1".to_owned(),
        lease: LeaseName::new("reconciliation").unwrap(),
        believed: Role::Follower,
        trust_remaining: Duration::ZERO,
        term: FencingToken::new(7).map(|token| (token, Owner::from_stored("node-2:u"))),
        ineligible: None,
        run: None,
        schema_fault: None,
        redis_fault: None,
        postgres_fault: None,
        inbox_fault: None,
        waits: None,
        obstacle: None,
        no_account: None,
    }
}

fn leader() -> Status {
    Status { believed: Role::Leader, trust_remaining: Duration::from_millis(9500), ..follower() }
}

/// Serves this status on a free port, asks, and gives code and body.
async fn ask(status: Status, path: &'static str) -> (u16, String) {
    let listener = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let server = serve(listener, Arc::new(Told(Mutex::new(status))), Telemetry::for_tests(), stop.clone());
    let question = async {
        let answer = blocking(move || get_over_tcp(address, path)).await;
        stop.cancel();
        answer
    };
    let (served, answer) = tokio::join!(server, question);
    served.unwrap();
    answer
}

fn get_over_tcp(address: SocketAddr, path: &str) -> (u16, String) {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[tokio::test]
async fn a_follower_is_ready() {
    assert_eq!(ask(follower(), "/readyz").await, (200, "ok\n".to_owned()));
}

#[tokio::test]
async fn a_replica_without_redis_lives_but_is_not_ready_and_says_why() {
    let cut_off = Status { redis_fault: Some("connection refused".to_owned()), ..leader() };
    assert_eq!(ask(cut_off.clone(), "/livez").await.0, 200);
    assert_eq!(ask(cut_off, "/readyz").await, (503, "[-] redis: connection refused\n".to_owned()));
}

#[tokio::test]
async fn verbose_readiness_tells_each_check() {
    let (code, body) = ask(follower(), "/readyz?verbose").await;
    assert_eq!(
        (code, body.as_str()),
        (200, "[+] settings\n[+] schema\n[+] redis\n[+] postgres\n[+] inbox\n[+] election\n[+] accounts\nok\n")
    );
}

#[tokio::test]
async fn a_leader_that_believes_past_the_end_of_its_trust_is_not_live() {
    assert_eq!(ask(leader(), "/livez").await.0, 200);
    let stuck = Status { trust_remaining: Duration::ZERO, ..leader() };
    assert_eq!(ask(stuck.clone(), "/healthz").await.0, 503);
    let (_, status) = ask(stuck, "/status").await;
    assert!(status.contains(r#""role":"follower""#), "no flag is believed: {status}");
}

#[tokio::test]
async fn status_has_the_promised_shape() {
    let run = RunStatus {
        business_date: chrono::NaiveDate::from_ymd_opt(2026, 3, 2),
        step: "match",
        key: "itau-brl".to_owned(),
        steps_done: 3,
        steps_total: 12,
    };
    let (_, body) = ask(Status { run: Some(run), ..leader() }, "/status").await;
    let json: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        json,
        json!({
            "node": "node-1", "version": env!("CARGO_PKG_VERSION"), "lease": "reconciliation", "role": "leader",
            "token": 7, "owner": "node-2:u", "trust_remaining_seconds": 9.5,
            "run": {"business_date": "2026-03-02", "step": "match", "key": "itau-brl", "steps_done": 3, "steps_total": 12},
            "dependencies": {"redis": true, "postgres": true},
        })
    );
    let (_, body) = ask(Status { term: None, ..follower() }, "/status").await;
    let json: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert!(["token", "owner", "trust_remaining_seconds", "run"].iter().all(|key| json[key].is_null()), "{json}");
}

#[tokio::test]
async fn the_scrape_tells_who_leads_from_the_status_and_not_from_a_stored_flag() {
    let (code, page) = ask(leader(), "/metrics").await;
    assert_eq!(code, 200);
    assert!(page.contains("counterfoil_leader_status{lease=\"reconciliation\"} 1"), "{page}");
    assert!(page.contains("counterfoil_lease_trust_remaining_seconds{lease=\"reconciliation\"} 9.500"), "{page}");
    let (_, page) = ask(Status { trust_remaining: Duration::ZERO, ..leader() }, "/metrics").await;
    assert!(page.contains("counterfoil_leader_status{lease=\"reconciliation\"} 0"), "{page}");
}

#[tokio::test]
async fn the_container_s_own_question_tells_life_from_death() {
    for (status, live) in [(leader(), true), (Status { trust_remaining: Duration::ZERO, ..leader() }, false)] {
        let listener = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let server = serve(listener, Arc::new(Told(Mutex::new(status))), Telemetry::for_tests(), stop.clone());
        let question = async {
            let health = blocking(move || probe(address, Duration::from_secs(5))).await;
            stop.cancel();
            health
        };
        let (served, health) = tokio::join!(server, question);
        served.unwrap();
        let health = health.unwrap();
        assert_eq!(health.live, live);
        assert_eq!(health.says == "ok", live);
    }
}

#[tokio::test]
async fn an_address_that_is_taken_is_refused_by_its_name() {
    let taken = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = taken.local_addr().unwrap();
    let error = bind(address).await.unwrap_err().to_string();
    assert!(error.contains(&address.to_string()) && error.contains("http.listen"), "{error}");
}
