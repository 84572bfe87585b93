//! Promise 1, one writer: the install, which makes a leader of a candidate, and the eviction that clears its way.

#![expect(clippy::expect_used, reason = "a test says what it could not go on without")]

mod support;

use std::time::Duration;

use counterfoil::db::fence::WriteError;
use counterfoil::db::schema;
use counterfoil::election::reason::Reason;
use counterfoil::election::term::{Event, EventKind, Eviction, Installation, InstalledTerm, Obstacle, TermStore};
use counterfoil::election::{FencingToken, LeaseName};
use counterfoil::scratch::postgres;
use sqlx::Connection;
use sqlx::postgres::PgConnection;
use support::{BOUND, connector, database, fence, kept, lead, lease, owner, run, session, state, store, token};
use tokio::task::JoinSet;

const ENTER_1: &str = "SELECT counterfoil.enter_term('reconciliation', 1, 'a:1')";

fn standing(installed: Option<InstalledTerm>) -> (u64, String) {
    let installed = installed.expect("a term is installed");
    (installed.token.get(), installed.owner.as_str().to_owned())
}

#[tokio::test]
async fn a_higher_token_is_installed_and_a_lower_or_equal_one_refused() {
    let database = database().await;
    let mut store = store(&database);
    assert_eq!(store.installed(&lease()).await.expect("an answer"), None);
    let first = store.install(&lease(), token(7), &owner("a"), BOUND).await.expect("an answer");
    assert!(matches!(first, Installation::Installed(term) if term.token() == token(7)));
    for (number, who) in [(7, "b"), (6, "b"), (6, "a")] {
        let refused = store.install(&lease(), token(number), &owner(who), BOUND).await.expect("an answer");
        assert!(
            matches!(refused, Installation::Refused { installed } if installed.token == token(7)),
            "{number} of {who}"
        );
    }
    let next = store.install(&lease(), token(8), &owner("b"), BOUND).await.expect("an answer");
    assert!(matches!(next, Installation::Installed(_)));
    assert_eq!(standing(store.installed(&lease()).await.expect("an answer")), (8, "b:1".to_owned()));
}

#[tokio::test]
async fn an_install_whose_reply_was_lost_finds_itself_installed() {
    let database = database().await;
    lead(&database, 1, "a").await;
    let mut writer = session(&database).await;
    run(&mut writer, &format!("BEGIN; {ENTER_1}")).await.expect("entered");
    // The caller leaves while its install waits in the queue; the server goes on with it.
    let mut gone = store(&database);
    let (lease, node) = (lease(), owner("b"));
    let lost = gone.install(&lease, token(2), &node, Duration::from_secs(5));
    assert!(tokio::time::timeout(BOUND, lost).await.is_err(), "it waits for the writer");
    run(&mut writer, "COMMIT").await.expect("committed");
    for _ in 0..2 {
        let again = store(&database).install(&lease, token(2), &node, BOUND).await.expect("an answer");
        assert!(matches!(again, Installation::Installed(_)), "{again:?}");
    }
    let entries: i64 = sqlx::query_scalar("SELECT count(*) FROM counterfoil.leadership_event WHERE kind = 'term'")
        .fetch_one(&mut writer)
        .await
        .expect("a count");
    assert_eq!(entries, 2, "installed once");
}

#[tokio::test]
async fn a_token_out_of_range_or_leaping_is_refused_with_a_sentence_that_says_what_to_do() {
    let database = database().await;
    let mut store = store(&database);
    lead(&database, 10, "a").await;
    let leap = store.install(&lease(), token(1_000_011), &owner("b"), BOUND).await.expect("an answer");
    let Installation::Impossible(sentence) = leap else { unreachable!("{leap:?}") };
    assert!(sentence.contains("1000011") && sentence.contains("{counterfoil:reconciliation}:token"), "{sentence}");
    let highest = store.install(&lease(), token(1_000_010), &owner("b"), BOUND).await.expect("an answer");
    assert!(matches!(highest, Installation::Installed(_)));
    let mut psql = session(&database).await;
    for number in ["0", "-1", "9007199254740992", "NULL"] {
        let install = format!("SELECT counterfoil.install_term('reconciliation', {number}, 'b:1')");
        assert_eq!(state(run(&mut psql, &install).await), "TF003", "{number}");
    }
    assert_eq!(state(run(&mut psql, "SELECT counterfoil.install_term('a b', 1, 'b:1')").await), "TF003");
    // The table itself would not take one either, whoever writes it.
    let mut owner = PgConnection::connect(&database.owner_url()).await.expect("the owner logs in");
    let by_hand = "UPDATE counterfoil.leader_term SET token = 9007199254740992";
    assert_eq!(state(run(&mut owner, by_hand).await), "23514");
    assert_eq!(FencingToken::MAX.get(), 9_007_199_254_740_991);
}

#[tokio::test]
async fn several_leases_share_a_database_and_neither_install_waits_for_the_other() {
    let database = database().await;
    let mut writer = session(&database).await;
    lead(&database, 5, "a").await;
    run(&mut writer, "BEGIN; SELECT counterfoil.enter_term('reconciliation', 5, 'a:1')").await.expect("in flight");
    let other = LeaseName::new("treasury").expect("a name");
    let installed = store(&database).install(&other, token(1), &owner("b"), BOUND).await.expect("an answer");
    assert!(matches!(installed, Installation::Installed(_)), "{installed:?}");
    let standing = store(&database).installed(&lease()).await.expect("an answer").expect("a term");
    assert_eq!((standing.token, standing.owner), (token(5), owner("a")));
    run(&mut writer, "COMMIT").await.expect("nobody ended it");
}

#[tokio::test]
async fn the_history_spans_each_term_and_keeps_why_it_ended() {
    let database = database().await;
    lead(&database, 1, "a").await;
    let event = Event {
        lease: lease(),
        kind: EventKind::StepDown,
        token: Some(token(1)),
        owner: Some(owner("a")),
        node: "a".to_owned(),
        reason: Some(Reason::Resigned),
        detail: None,
        trust_left: Some(Duration::from_millis(1500)),
    };
    store(&database).record(&event).await.expect("recorded");
    lead(&database, 2, "b").await;
    lead(&database, 3, "c").await;
    let terms: Vec<(i64, String, Option<String>, bool)> = sqlx::query_as(
        "SELECT token, node, reason, ended_at IS NULL FROM counterfoil.leadership_event WHERE kind = 'term' ORDER BY token",
    )
    .fetch_all(&mut session(&database).await)
    .await
    .expect("the history");
    let told: Vec<_> =
        terms.iter().map(|(token, node, reason, open)| (*token, &**node, reason.as_deref(), *open)).collect();
    assert_eq!(told, [(1, "a", Some("resigned"), false), (2, "b", Some("superseded"), false), (3, "c", None, true)]);
    let gaps: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM counterfoil.leadership_event one JOIN counterfoil.leadership_event next
            ON next.token = one.token + 1 WHERE one.kind = 'term' AND next.kind = 'term' AND one.ended_at <> next.started_at",
    )
    .fetch_one(&mut session(&database).await)
    .await
    .expect("a count");
    assert_eq!(gaps, 0, "a term ends when the next begins: they do not overlap");
}

#[tokio::test]
async fn an_install_under_a_load_of_overlapping_writers_stays_within_its_bound() {
    let database = database().await;
    let term = lead(&database, 1, "a").await;
    let mut writers = JoinSet::new();
    for _ in 0..8 {
        let mut fence = fence(&database, &term);
        writers.spawn(async move {
            let mut written = 0_u32;
            loop {
                let done = fence
                    .record(async |transaction| {
                        // A write that takes its time: there is no moment without a writer in flight.
                        run(transaction.sql(), "INSERT INTO counterfoil.probe VALUES ('x'); SELECT pg_sleep(0.05)")
                            .await?;
                        Ok(())
                    })
                    .await;
                match done {
                    Ok(()) => written += 1,
                    Err(error) => return (written, error),
                }
            }
        });
    }
    while kept(&database).await.len() < 20 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Nobody is evicted: the lock's queue alone does it.
    let bound = Duration::from_secs(2);
    let mut candidate = store(&database);
    let (lease, node) = (lease(), owner("b"));
    let installed = tokio::time::timeout(bound, candidate.install(&lease, token(2), &node, bound)).await;
    assert!(matches!(installed, Ok(Ok(Installation::Installed(_)))), "{installed:?}");
    let at_install = kept(&database).await.len();
    let mut answered = 0;
    while let Some(writer) = writers.join_next().await {
        let (written, error) = writer.expect("no panic");
        answered += written;
        assert!(matches!(&error, WriteError::Fenced(fenced) if fenced.installed == Some(token(2))), "{error:?}");
    }
    assert_eq!(kept(&database).await.len(), at_install, "nothing was written after the install");
    assert_eq!(usize::try_from(answered), Ok(at_install), "and each write that was answered is there");
}

/// Freezes a writer in some way, proves that it holds off the install beyond every limit of its session, and that an
/// eviction clears the way within a second.
async fn a_frozen_writer_is_evicted(database: &counterfoil::scratch::postgres::Database) {
    let mut candidate = store(database);
    let blocked =
        candidate.install(&lease(), token(2), &owner("b"), Duration::from_millis(700)).await.expect("an answer");
    assert_eq!(blocked, Installation::Blocked, "the frozen session outlives its own limits");
    let evicted = candidate.evict(&lease()).await.expect("an answer");
    assert_eq!(evicted, Eviction { evicted: 1, out_of_reach: 0 });
    let installed =
        candidate.install(&lease(), token(2), &owner("b"), Duration::from_secs(1)).await.expect("an answer");
    assert!(matches!(installed, Installation::Installed(_)), "{installed:?}");
}

#[tokio::test]
async fn s29_a_leader_frozen_idle_in_its_transaction_is_evicted() {
    let database = database().await;
    lead(&database, 1, "a").await;
    let mut frozen = session(&database).await;
    run(&mut frozen, &format!("BEGIN; {ENTER_1}; INSERT INTO counterfoil.probe VALUES ('stale')"))
        .await
        .expect("written");
    a_frozen_writer_is_evicted(&database).await;
    assert!(run(&mut frozen, "COMMIT").await.is_err(), "its session is gone");
    assert_eq!(kept(&database).await, [""; 0]);
}

#[tokio::test]
async fn s29_a_leader_frozen_inside_copy_is_evicted_where_statement_timeout_does_not_reach() {
    let database = database().await;
    lead(&database, 1, "a").await;
    let mut frozen = session(&database).await;
    let limits = "SET statement_timeout = 200; SET idle_in_transaction_session_timeout = 200";
    run(&mut frozen, &format!("{limits}; BEGIN; {ENTER_1}")).await.expect("entered");
    let mut copy = frozen.copy_in_raw("COPY counterfoil.probe FROM STDIN").await.expect("it takes data");
    copy.send(b"stale\n".as_slice()).await.expect("sent");
    a_frozen_writer_is_evicted(&database).await;
    assert!(copy.finish().await.is_err(), "its session is gone");
    assert_eq!(kept(&database).await, [""; 0]);
}

#[tokio::test]
async fn s29_a_leader_frozen_while_it_receives_rows_is_evicted() {
    let database = database().await;
    lead(&database, 1, "a").await;
    // Through a socket of our own, that is not read: the rows fill all buffers between, and the server stands in a write.
    let frozen = support::raw::Raw::login(&database).await;
    frozen.query("SET statement_timeout = 500; SET idle_in_transaction_session_timeout = 200").await;
    frozen.query(&format!("BEGIN; {ENTER_1}")).await;
    frozen.send("SELECT repeat('x', 1000) FROM generate_series(1, 100000)").await;
    let stands = frozen.wait_until_the_server_stands(&database);
    tokio::time::timeout(Duration::from_secs(20), stands).await.expect("the server stands in its write");
    a_frozen_writer_is_evicted(&database).await;
}

#[tokio::test]
async fn an_eviction_ends_the_sessions_of_this_lease_in_this_database_and_no_others() {
    let database = database().await;
    lead(&database, 1, "a").await;
    let enter = |session| async move {
        let mut session: PgConnection = session;
        run(&mut session, &format!("BEGIN; {ENTER_1}")).await.expect("entered");
        session
    };
    // The same lease in another database; another advisory lock, another lease's lock, and no lock at all in this one.
    let elsewhere = support::database().await;
    lead(&elsewhere, 1, "a").await;
    let mut elsewhere = enter(session(&elsewhere).await).await;
    let mut reader = session(&database).await;
    run(&mut reader, "BEGIN; SELECT pg_advisory_xact_lock_shared(1128682572, 1)").await.expect("another lease's lock");
    let mut idle = session(&database).await;
    let mut migration = PgConnection::connect(&database.owner_url()).await.expect("the owner logs in");
    run(&mut migration, &format!("BEGIN; {ENTER_1}")).await.expect("another role's session");
    let mut one = enter(session(&database).await).await;
    let mut two = enter(session(&database).await).await;
    let evicted = store(&database).evict(&lease()).await.expect("an answer");
    assert_eq!(evicted, Eviction { evicted: 2, out_of_reach: 1 });
    assert!(one.ping().await.is_err() && two.ping().await.is_err());
    for (name, session) in
        [("elsewhere", &mut elsewhere), ("reader", &mut reader), ("idle", &mut idle), ("migration", &mut migration)]
    {
        session.ping().await.expect(name);
    }
}

#[tokio::test]
async fn a_deployment_as_we_make_it_passes_the_self_test() {
    let database = database().await;
    assert_eq!(store(&database).self_test().await.expect("an answer"), []);
}

#[tokio::test]
async fn a_login_that_could_bypass_the_fence_or_not_evict_fails_the_self_test() {
    let database = database().await;
    let faults = async |url: &str| {
        let connector = counterfoil::db::connect::Connector::new(url, "test").expect("a url");
        let unfit = TermStore::new(connector, Duration::from_secs(10)).self_test().await.expect("an answer");
        unfit.into_iter().map(|unfit| unfit.0).collect::<Vec<_>>().join("\n")
    };
    let superuser = faults(&database.superuser_url()).await;
    assert!(superuser.contains("is a superuser"), "{superuser}");
    let owner = faults(&database.owner_url()).await;
    assert!(owner.contains("owns the schema"), "{owner}");
    for one in [&superuser, &owner] {
        assert_eq!(one.lines().count(), 1, "what follows from it is not said besides: {one}");
    }
    let mut admin = PgConnection::connect(&database.superuser_url()).await.expect("the superuser logs in");
    let (name, role) = (database.name(), format!("stranger_{}", &database.name()[8..16]));
    run(&mut admin, &format!("CREATE ROLE {role} LOGIN")).await.expect("a role");
    run(&mut admin, &format!("GRANT TEMPORARY ON DATABASE {name} TO {role}")).await.expect("granted");
    run(&mut admin, &format!("GRANT SET ON PARAMETER session_replication_role TO {role}")).await.expect("granted");
    let too_much = format!(
        "ALTER ROLE {role} CREATEROLE; GRANT USAGE, CREATE ON SCHEMA counterfoil TO {role};
         GRANT UPDATE ON counterfoil.leader_term TO {role}; GRANT TRIGGER ON counterfoil.probe TO {role}"
    );
    run(&mut admin, &too_much).await.expect("granted");
    let stranger = faults(&database.url_as(&role)).await;
    for fault in [
        "temporary tables",
        "session_replication_role",
        "not a member of counterfoil_worker",
        "may create roles",
        "create objects",
        "write leader_term",
        "put triggers on probe",
    ] {
        assert!(stranger.contains(fault), "{fault} in: {stranger}");
    }
    let revoke = format!("REVOKE EXECUTE ON FUNCTION pg_terminate_backend FROM PUBLIC; DROP OWNED BY {role}");
    run(&mut admin, &revoke).await.expect("revoked");
    let blunt = faults(&database.url()).await;
    assert!(blunt.contains("may not end its own sessions"), "{blunt}");
}

#[tokio::test]
async fn a_replica_does_not_campaign_on_a_schema_it_does_not_know_or_a_server_that_takes_no_writes() {
    let empty = postgres::database().await.expect("a database");
    let obstacle = TermStore::new(connector(&empty, "test"), Duration::from_secs(10)).eligibility().await;
    assert!(obstacle.expect_err("no schema").to_string().contains("counterfoil migrate"));

    let database = database().await;
    store(&database).eligibility().await.expect("eligible");
    let mut owner = PgConnection::connect(&database.owner_url()).await.expect("the owner logs in");
    let newer = "INSERT INTO counterfoil.schema_migration (version, description, success, checksum, execution_time)
                 VALUES (999999, 'of the future', true, '', 0)";
    run(&mut owner, newer).await.expect("a newer schema");
    let obstacle = store(&database).eligibility().await.expect_err("too new").to_string();
    assert!(obstacle.contains("999999") && obstacle.contains("replace this replica"), "{obstacle}");
    let older = "DELETE FROM counterfoil.schema_migration WHERE version = 999999;
                 UPDATE counterfoil.schema_migration SET version = 0 WHERE version = 1";
    run(&mut owner, older).await.expect("an older schema");
    let obstacle = store(&database).eligibility().await.expect_err("too old");
    assert!(
        matches!(obstacle, Obstacle::Schema(schema::SchemaError::TooOld { .. } | schema::SchemaError::Missing)),
        "{obstacle}"
    );

    run(&mut owner, &format!("ALTER DATABASE {} SET default_transaction_read_only = on", database.name()))
        .await
        .expect("read-only");
    let obstacle = store(&database).eligibility().await.expect_err("read-only");
    assert!(matches!(obstacle, Obstacle::ReadOnly), "{obstacle}");
    let unreachable = TermStore::new(
        counterfoil::db::connect::Connector::new("postgres://x@127.0.0.1:1/x", "test").expect("a url"),
        Duration::from_secs(1),
    )
    .eligibility()
    .await;
    assert!(matches!(unreachable, Err(Obstacle::Unreachable(_))));
}
