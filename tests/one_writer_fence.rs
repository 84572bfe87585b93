//! Promise 1, one writer: Postgres itself refuses a write of a term that is not the installed one, whatever code path it
//! comes from. Everything here is told to Postgres in plain SQL, as any client could.

mod support;

use counterfoil::election::LeaseName;
use counterfoil::election::term::Installation;
use sqlx::Connection;
use sqlx::postgres::PgConnection;
use support::{BOUND, database, kept, lead, lead_of, lease, owner, run, session, state, store, token, words};

const ENTER_1: &str = "SELECT counterfoil.enter_term('reconciliation', 1, 'a:1')";
const WRITE: &str = "INSERT INTO counterfoil.probe VALUES ('stale')";

#[tokio::test]
async fn s20_a_transaction_begun_before_the_handover_cannot_write_after_it_under_read_committed() {
    let database = database().await;
    lead(&database, 1, "a").await;
    let mut stale = session(&database).await;
    run(&mut stale, "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT 1").await.expect("begun");
    lead(&database, 2, "b").await;
    assert_eq!(state(run(&mut stale, ENTER_1).await), "TF001");
    run(&mut stale, "ROLLBACK").await.expect("rolled back");
    assert_eq!(kept(&database).await, [""; 0]);
}

#[tokio::test]
async fn s20_under_repeatable_read_the_old_snapshot_is_a_conflict_and_the_next_answer_the_verdict() {
    let database = database().await;
    lead(&database, 1, "a").await;
    let mut stale = session(&database).await;
    run(&mut stale, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM counterfoil.probe")
        .await
        .expect("begun");
    lead(&database, 2, "b").await;
    assert_eq!(state(run(&mut stale, ENTER_1).await), "40001");
    run(&mut stale, "ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ").await.expect("begun again");
    assert_eq!(state(run(&mut stale, ENTER_1).await), "TF001");
}

#[tokio::test]
async fn s20_a_transaction_that_entered_holds_off_the_install_until_it_ends() {
    let database = database().await;
    lead(&database, 1, "a").await;
    for isolation in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        let mut writer = session(&database).await;
        run(&mut writer, &format!("BEGIN ISOLATION LEVEL {isolation}; {ENTER_1}")).await.expect("entered");
        let blocked = store(&database).install(&lease(), token(2), &owner("b"), BOUND).await.expect("an answer");
        assert_eq!(blocked, Installation::Blocked, "{isolation}");
        run(&mut writer, "INSERT INTO counterfoil.probe VALUES ('in time'); COMMIT").await.expect("in time");
    }
    lead(&database, 2, "b").await;
    assert_eq!(kept(&database).await, ["in time"; 3]);
}

/// A savepoint's rollback drops the lock that was taken inside it. The setting is rolled back too; here it is put back by
/// hand, under the very transaction's id: the worst that a client could do by accident.
#[tokio::test]
async fn s20_a_rolled_back_savepoint_that_dropped_the_lock_opens_no_hole() {
    for (isolation, refusal) in [("READ COMMITTED", "TF001"), ("REPEATABLE READ", "40001")] {
        let database = database().await;
        lead(&database, 1, "a").await;
        let mut stale = session(&database).await;
        run(&mut stale, &format!("BEGIN ISOLATION LEVEL {isolation}; SAVEPOINT s; {ENTER_1}")).await.expect("entered");
        let claim: String = sqlx::query_scalar("SELECT current_setting('counterfoil.term')")
            .fetch_one(&mut stale)
            .await
            .expect("the claim");
        run(&mut stale, "ROLLBACK TO s").await.expect("the lock is dropped");
        run(&mut stale, &format!("SELECT set_config('counterfoil.term', '{claim}', true)")).await.expect("put back");
        lead(&database, 2, "b").await;
        assert_eq!(state(run(&mut stale, WRITE).await), refusal, "{isolation}");
        run(&mut stale, "ROLLBACK").await.expect("rolled back");
        assert_eq!(kept(&database).await, [""; 0]);
    }
}

#[tokio::test]
async fn a_statement_takes_the_lock_again_that_a_savepoint_dropped() {
    let database = database().await;
    lead(&database, 1, "a").await;
    let mut writer = session(&database).await;
    run(&mut writer, &format!("BEGIN; SAVEPOINT s; {ENTER_1}")).await.expect("entered");
    let claim: String = sqlx::query_scalar("SELECT current_setting('counterfoil.term')")
        .fetch_one(&mut writer)
        .await
        .expect("the claim");
    run(&mut writer, "ROLLBACK TO s").await.expect("the lock is dropped");
    run(&mut writer, &format!("SELECT set_config('counterfoil.term', '{claim}', true); {WRITE}"))
        .await
        .expect("it leads still");
    let blocked = store(&database).install(&lease(), token(2), &owner("b"), BOUND).await.expect("an answer");
    assert_eq!(blocked, Installation::Blocked);
}

/// The new version's lease has a counter of its own in Redis, and a term of its own here; the accounts are the old one's.
#[tokio::test]
async fn r2_a_renamed_lease_can_write_nothing_that_is_not_its_own() {
    let database = database().await;
    lead(&database, 7, "a").await;
    let renamed = LeaseName::new("renamed").expect("a name");
    lead_of(&database, &renamed, 1, "b").await;
    let enter = "SELECT counterfoil.enter_term('renamed', 1, 'b:1')";
    let own = "INSERT INTO counterfoil.checkpoint (account, step, key, owner) VALUES ('', 'ingest', 'x', 'b:1')";
    let foreign = own.replace("('',", "('acme',");
    let mut new = session(&database).await;
    for write in [
        foreign.as_str(),
        "SELECT counterfoil.enter_account('acme')",
        "UPDATE counterfoil.account SET lease = 'renamed'",
        "UPDATE counterfoil.account SET moving_to = 'renamed'",
        "INSERT INTO counterfoil.run (lease, business_date, origin, status, due, deadline)
         VALUES ('reconciliation', '2026-11-27', 'planned', 'due', now(), now())",
    ] {
        run(&mut new, &format!("BEGIN; {enter}")).await.expect("it leads what is its own");
        let [code, message, _, hint] = words(run(&mut new, write).await);
        assert_eq!(code, "TF007", "{write}: {message}");
        assert!(!hint.is_empty(), "{message}");
        run(&mut new, "ROLLBACK").await.expect("rolled back");
    }
    run(&mut new, &format!("BEGIN; {enter}; {own}; COMMIT")).await.expect("what is no account's is its own");
    let old = format!("BEGIN; {}; {foreign}; COMMIT", ENTER_1.replace(", 1,", ", 7,"));
    run(&mut session(&database).await, &old).await.expect("the old one writes on");
}

/// A setting that names the account, put there by hand or left by a savepoint, is compared again at each statement.
#[tokio::test]
async fn the_account_that_a_transaction_names_is_believed_no_more_than_its_term() {
    let database = database().await;
    lead(&database, 1, "a").await;
    let other = LeaseName::new("treasury").expect("a name");
    lead_of(&database, &other, 1, "b").await;
    let mut writer = session(&database).await;
    let step = "INSERT INTO counterfoil.checkpoint (account, step, key, owner) VALUES ('acme', 'match', 'x', 'b:1')";
    let put = "BEGIN; SELECT counterfoil.enter_term('treasury', 1, 'b:1'); SELECT set_config('counterfoil.account', 'acme', true)";
    run(&mut writer, put).await.expect("put");
    assert_eq!(state(run(&mut writer, step).await), "TF007");
}

#[tokio::test]
async fn s21_a_write_that_entered_no_term_is_refused_by_every_verb() {
    let database = database().await;
    lead(&database, 1, "a").await;
    let mut psql = session(&database).await;
    for write in [
        WRITE,
        "UPDATE counterfoil.probe SET word = 'x'",
        "DELETE FROM counterfoil.probe",
        "TRUNCATE counterfoil.probe",
        "WITH w AS (INSERT INTO counterfoil.probe VALUES ('x') RETURNING 1) SELECT * FROM w",
        "MERGE INTO counterfoil.probe p USING (SELECT 'x' AS word) s ON p.word = s.word WHEN NOT MATCHED THEN INSERT VALUES ('x')",
    ] {
        assert_eq!(state(run(&mut psql, write).await), "TF002", "{write}");
    }
    let mut copy = psql.copy_in_raw("COPY counterfoil.probe FROM STDIN").await.expect("it takes data");
    copy.send(b"x\n".as_slice()).await.expect("sent");
    assert_eq!(state(copy.finish().await), "TF002", "COPY");
    // The owner too: it can undo the fence, but not forget it.
    let mut owner = PgConnection::connect(&database.owner_url()).await.expect("the owner logs in");
    assert_eq!(state(run(&mut owner, WRITE).await), "TF002");
}

#[tokio::test]
async fn a_refusal_names_both_tokens_and_says_what_to_do() {
    let database = database().await;
    lead(&database, 1, "a").await;
    lead(&database, 2, "b").await;
    let mut stale = session(&database).await;
    run(&mut stale, "BEGIN").await.expect("begun");
    let [code, message, detail, hint] = words(run(&mut stale, ENTER_1).await);
    assert_eq!(code, "TF001");
    assert_eq!(message, "term 1 of lease \"reconciliation\" may not write: the installed term is 2");
    assert_eq!(detail, "own token 1, owner a:1; installed token 2, owner b:1");
    assert!(hint.contains("step down"), "{hint}");
}

#[tokio::test]
async fn the_setting_of_an_earlier_or_of_another_transaction_does_not_pass() {
    let database = database().await;
    lead(&database, 1, "a").await;
    let mut writer = session(&database).await;
    run(&mut writer, &format!("BEGIN; {ENTER_1}")).await.expect("entered");
    let claim: String = sqlx::query_scalar("SELECT current_setting('counterfoil.term')")
        .fetch_one(&mut writer)
        .await
        .expect("the claim");
    let put = format!("SELECT set_config('counterfoil.term', '{claim}', true)");
    // Of another transaction, while that one is open, in another session.
    let mut other = session(&database).await;
    run(&mut other, &format!("BEGIN; {put}")).await.expect("put");
    assert_eq!(state(run(&mut other, WRITE).await), "TF002");
    // Of an earlier one, in the same session; also where it was put there for the whole session.
    run(&mut writer, "COMMIT").await.expect("committed");
    run(&mut writer, &format!("BEGIN; {put}")).await.expect("put");
    assert_eq!(state(run(&mut writer, WRITE).await), "TF002");
    run(&mut writer, "ROLLBACK").await.expect("rolled back");
    run(&mut writer, &put.replace("true", "false")).await.expect("put");
    assert_eq!(state(run(&mut writer, WRITE).await), "TF002");
    // And a term does not outlive its transaction by itself.
    run(&mut writer, &format!("BEGIN; {ENTER_1}; COMMIT")).await.expect("entered and ended");
    assert_eq!(state(run(&mut writer, WRITE).await), "TF002");
}

#[tokio::test]
async fn a_made_up_claim_of_another_token_or_owner_does_not_pass() {
    let database = database().await;
    lead(&database, 5, "a").await;
    let mut writer = session(&database).await;
    for claim in ["4 a:1", "6 a:1", "5 b:1", "5 a:1x", "5", "05 a:1", "5  a:1"] {
        let put = format!(
            "BEGIN; SELECT set_config('counterfoil.term', 'reconciliation ' || pg_current_xact_id() || ' {claim}', true)"
        );
        run(&mut writer, &put).await.expect("put");
        assert_eq!(state(run(&mut writer, WRITE).await), "TF001", "{claim}");
        run(&mut writer, "ROLLBACK").await.expect("rolled back");
    }
}

#[tokio::test]
async fn a_temporary_table_cannot_shadow_the_term() {
    let database = database().await;
    lead(&database, 1, "a").await;
    lead(&database, 2, "b").await;
    let mut stale = session(&database).await;
    let shadow = "CREATE TEMPORARY TABLE leader_term AS \
                  SELECT 'reconciliation'::text AS lease, 1::bigint AS token, 'a:1'::text AS owner, now() AS installed_at";
    assert_eq!(state(run(&mut stale, shadow).await), "42501", "the worker may make no temporary table");
    // Even where somebody gave that right back.
    let mut superuser = PgConnection::connect(&database.superuser_url()).await.expect("the superuser logs in");
    run(&mut superuser, &format!("GRANT TEMPORARY ON DATABASE {} TO PUBLIC", database.name())).await.expect("granted");
    run(&mut stale, shadow).await.expect("the shadow");
    run(&mut stale, "SET search_path = pg_temp, counterfoil, public; BEGIN").await.expect("begun");
    assert_eq!(state(run(&mut stale, ENTER_1).await), "TF001");
    run(&mut stale, "ROLLBACK; BEGIN").await.expect("begun");
    let put = "SELECT set_config('counterfoil.term', 'reconciliation ' || pg_current_xact_id() || ' 1 a:1', true)";
    run(&mut stale, put).await.expect("put");
    assert_eq!(state(run(&mut stale, WRITE).await), "TF001");
}

#[tokio::test]
async fn the_worker_can_neither_disable_nor_alter_the_fence_nor_write_the_term() {
    let database = database().await;
    lead(&database, 1, "a").await;
    let mut worker = session(&database).await;
    for attempt in [
        "ALTER TABLE counterfoil.probe DISABLE TRIGGER fence",
        "ALTER TABLE counterfoil.probe DISABLE TRIGGER ALL",
        "DROP TRIGGER fence ON counterfoil.probe",
        "CREATE TRIGGER mine BEFORE INSERT ON counterfoil.probe EXECUTE FUNCTION counterfoil.check_fence()",
        "ALTER TRIGGER fence ON counterfoil.probe RENAME TO gone",
        "CREATE OR REPLACE FUNCTION counterfoil.check_fence() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "SET session_replication_role = replica",
        "SET ROLE counterfoil_owner",
        "INSERT INTO counterfoil.leader_term VALUES ('x', 9, 'x', now())",
        "UPDATE counterfoil.leader_term SET token = 9",
        "DELETE FROM counterfoil.leader_term",
        "UPDATE counterfoil.leadership_event SET reason = 'x'",
        "DELETE FROM counterfoil.leadership_event",
        "INSERT INTO counterfoil.leadership_event (lease, kind, token, owner, node) VALUES ('reconciliation', 'term', 9, 'x', 'x')",
        "INSERT INTO counterfoil.leadership_event (lease, kind, node, started_at) VALUES ('reconciliation', 'request', 'x', now())",
        "SELECT counterfoil.fence_table('counterfoil.probe')",
        "SELECT counterfoil.exclude_writers()",
        "CREATE TABLE counterfoil.mine ()",
    ] {
        assert_eq!(state(run(&mut worker, attempt).await), "42501", "{attempt}");
    }
}

/// The closed list: tables that the worker writes and that carry no fence, with the verbs it may use.
const UNFENCED: [(&str, &str); 4] = [
    ("account_request", "INSERT"),
    ("leadership_event", "INSERT"),
    ("planner_pause", "INSERT"),
    ("run_request", "INSERT"),
];

#[tokio::test]
async fn whatever_the_worker_can_write_carries_the_fence_or_is_on_the_closed_list() {
    let database = database().await;
    let mut owner = PgConnection::connect(&database.owner_url()).await.expect("the owner logs in");
    let writable: Vec<(String, String, bool, bool)> = sqlx::query_as(
        "SELECT c.relname, v.verb, c.relispartition, EXISTS (
             SELECT FROM pg_trigger t
             WHERE t.tgrelid = c.oid AND t.tgfoid = 'counterfoil.check_fence'::regproc AND t.tgenabled = 'O'
               AND t.tgtype = 2 + 4 + 8 + 16 + 32) -- before, statement; insert, delete, update, truncate
         FROM pg_class c
         JOIN pg_namespace n ON n.oid = c.relnamespace
         CROSS JOIN (VALUES ('INSERT'), ('UPDATE'), ('DELETE'), ('TRUNCATE')) v (verb)
         WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
           AND CASE WHEN v.verb IN ('INSERT', 'UPDATE') THEN has_any_column_privilege('counterfoil_worker', c.oid, v.verb)
                    ELSE has_table_privilege('counterfoil_worker', c.oid, v.verb) END
         ORDER BY 1, 2",
    )
    .fetch_all(&mut owner)
    .await
    .expect("the catalogue");
    assert!(writable.iter().any(|(table, ..)| table == "checkpoint"), "{writable:?}");
    for (table, verb, partition, fenced) in writable {
        assert!(!partition, "{table} is a partition: statement triggers do not fire for it");
        assert!(
            fenced || UNFENCED.contains(&(table.as_str(), verb.as_str())),
            "the worker may {verb} {table}, which is behind no fence: call counterfoil.fence_table in its migration"
        );
    }
}

/// Rows of an account, and rows of a lease: whose they are is asked wherever there are such.
#[tokio::test]
async fn every_fenced_table_with_an_account_or_a_lease_asks_whose_its_rows_are() {
    let database = database().await;
    let mut owner = PgConnection::connect(&database.owner_url()).await.expect("the owner logs in");
    // After, for each row: 1; insert 4, delete 8, update 16.
    let open: Vec<String> = sqlx::query_scalar(
        "SELECT format('%s lacks %s', c.relname, w.tgname)
         FROM pg_class c JOIN pg_trigger f ON f.tgrelid = c.oid AND f.tgfoid = 'counterfoil.check_fence'::regproc
         JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped
         JOIN (VALUES ('account', 'own_account_in', 1 + 4 + 16), ('account', 'own_account_out', 1 + 8 + 16),
                      ('lease', 'own_lease_in', 1 + 4), ('lease', 'own_lease_out', 1 + 8 + 16)) w (attname, tgname, tgtype)
           ON w.attname = a.attname
         WHERE c.relname <> 'account' AND NOT EXISTS (
             SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = w.tgname AND t.tgtype = w.tgtype
               AND t.tgenabled = 'O' AND t.tgqual IS NOT NULL
               AND t.tgfoid IN ('counterfoil.check_account'::regproc, 'counterfoil.refuse_row'::regproc))",
    )
    .fetch_all(&mut owner)
    .await
    .expect("the catalogue");
    assert_eq!(open, [""; 0]);
}

#[tokio::test]
async fn no_function_of_ours_is_open_to_the_public_or_trusts_the_callers_search_path() {
    let database = database().await;
    let mut owner = PgConnection::connect(&database.owner_url()).await.expect("the owner logs in");
    let open: Vec<String> = sqlx::query_scalar(
        "SELECT p.oid::regprocedure::text FROM pg_proc p
         WHERE p.pronamespace = 'counterfoil'::regnamespace
           AND (has_function_privilege('public', p.oid, 'EXECUTE')
                OR p.prosecdef AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (p.proconfig), false))",
    )
    .fetch_all(&mut owner)
    .await
    .expect("the catalogue");
    assert_eq!(open, [""; 0]);
}

#[tokio::test]
async fn a_partition_cannot_carry_the_fence_and_its_parent_does() {
    let database = database().await;
    lead(&database, 1, "a").await;
    let mut owner = PgConnection::connect(&database.owner_url()).await.expect("the owner logs in");
    run(
        &mut owner,
        "CREATE TABLE counterfoil.parted (account text) PARTITION BY HASH (account);
         CREATE TABLE counterfoil.parted_0 PARTITION OF counterfoil.parted FOR VALUES WITH (MODULUS 1, REMAINDER 0);
         SELECT counterfoil.fence_table('counterfoil.parted');
         GRANT INSERT ON counterfoil.parted TO counterfoil_worker",
    )
    .await
    .expect("a partitioned table");
    assert_eq!(state(run(&mut owner, "SELECT counterfoil.fence_table('counterfoil.parted_0')").await), "TF006");
    let mut worker = session(&database).await;
    assert_eq!(state(run(&mut worker, "INSERT INTO counterfoil.parted VALUES ('x')").await), "TF002");
    assert_eq!(state(run(&mut worker, "INSERT INTO counterfoil.parted_0 VALUES ('x')").await), "42501");
    let fenced = format!("BEGIN; {ENTER_1}; INSERT INTO counterfoil.parted VALUES ('acme'); COMMIT");
    run(&mut worker, &fenced).await.expect("the leader writes through the parent");
}

#[tokio::test]
async fn a_migration_that_touches_data_keeps_the_writers_out() {
    let database = database().await;
    lead(&database, 1, "a").await;
    let mut owner = PgConnection::connect(&database.owner_url()).await.expect("the owner logs in");
    run(&mut owner, "BEGIN; SELECT counterfoil.exclude_writers()").await.expect("no writer is in flight");
    let mut writer = session(&database).await;
    run(&mut writer, "SET lock_timeout = 200; BEGIN").await.expect("begun");
    assert_eq!(state(run(&mut writer, ENTER_1).await), "55P03");
    run(&mut owner, "COMMIT").await.expect("migrated");
    run(&mut writer, "ROLLBACK; BEGIN").await.expect("begun");
    run(&mut writer, ENTER_1).await.expect("the leader writes again");
}

#[tokio::test]
async fn a_request_for_a_date_that_nobody_can_count_with_is_refused_at_the_table() {
    let database = database().await;
    let mut session = session(&database).await;
    for date in ["infinity", "5874897-12-31", "0044-03-15 BC"] {
        let ask = format!(
            "INSERT INTO counterfoil.run_request (id, lease, business_date, actor) \
             VALUES (gen_random_uuid(), 'reconciliation', '{date}', 'x')"
        );
        assert_eq!(state(run(&mut session, &ask).await), "23514", "{date}");
    }
}
