-- Who may write: the installed term, its history, and the fence that every results table carries.
--
-- Redis decides who tries, this schema decides who leads. Three things hold it together:
--
--   the lock    One transaction-scoped advisory lock a lease, (1128682572, lease_key(lease)). Whoever writes holds it
--               shared until its transaction ends; whoever installs a term takes it exclusively. So an install waits for
--               the writers in flight, and writers that come later wait behind it.
--   the row     leader_term: the installed term. Read FOR SHARE by writers, so that a snapshot older than an install
--               ends in 40001 and not in a write under the old term.
--   the setting counterfoil.term, local to a transaction: "<lease> <transaction id> <token> <owner>". It only says what
--               the transaction claims to be. It proves nothing: every statement compares it again with the row and with
--               the transaction's own id, under the lock.
--
-- SQLSTATEs of our own (class TF, "term fence"; classes from I on are left to implementers by the standard):
--   TF001 the term is not the installed one: step down        TF004 a token leaps by more than a million
--   TF002 the transaction did not enter its term              TF006 a table that cannot carry the fence
--   TF003 a token out of range, or a bad name                 TF007 the account, or the row, is another lease's
--   TF008 the lease was won in another Redis than that of the term, whose leader is alive
-- TF005 is retired: it refused a second lease in a database, before an account belonged to one.
--
-- Every function names its objects in full and fixes search_path with pg_temp last, so that no temporary table, function
-- or operator of a caller can stand in for ours.

CREATE SCHEMA IF NOT EXISTS counterfoil;
REVOKE ALL ON SCHEMA counterfoil FROM PUBLIC;

-- What replicas may do. Their login is a member of it; `counterfoil migrate` grants that.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'counterfoil_worker') THEN
        CREATE ROLE counterfoil_worker NOLOGIN;
    END IF;
EXCEPTION
    -- Roles belong to the whole server: another database's migration was faster.
    WHEN duplicate_object OR unique_violation THEN NULL;
END
$$;
GRANT USAGE ON SCHEMA counterfoil TO counterfoil_worker;

-- === The tables ===

CREATE TABLE counterfoil.leader_term (
    lease        text        NOT NULL PRIMARY KEY CHECK (lease ~ '^[A-Za-z0-9._-]{1,64}$'),
    -- Below 2^53: Redis counts it in Lua, whose numbers are doubles.
    token        bigint      NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991),
    owner        text        NOT NULL CHECK (owner <> ''),
    installed_at timestamptz NOT NULL,
    -- The Redis that its lease was won in, by the id that Redis keeps; null where it was not told.
    store        uuid
);
COMMENT ON TABLE counterfoil.leader_term IS
    'The installed term: the only one whose transactions may write. Written by install_term alone.';

CREATE TABLE counterfoil.leadership_event (
    id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    lease         text        NOT NULL,
    kind          text        NOT NULL
        CHECK (kind IN ('term', 'candidacy', 'step_down', 'eviction', 'refusal', 'request')),
    token         bigint      CHECK (token BETWEEN 1 AND 9007199254740991),
    owner         text,
    node          text        NOT NULL,
    reason        text,
    detail        text,
    trust_left_ms bigint,
    started_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at      timestamptz,
    CHECK (kind <> 'term' OR (token IS NOT NULL AND owner IS NOT NULL)),
    CHECK (ended_at >= started_at)
);
COMMENT ON TABLE counterfoil.leadership_event IS
    'History. A row of kind "term" spans a term, opened and closed by install_term at this database''s clock; the others are points, inserted by replicas.';
CREATE UNIQUE INDEX leadership_event_term ON counterfoil.leadership_event (lease, token) WHERE kind = 'term';
CREATE INDEX leadership_event_time ON counterfoil.leadership_event (started_at);

-- A replica writes down what it saw; what a term was is written by install_term alone, which runs as the owner.
ALTER TABLE counterfoil.leadership_event ENABLE ROW LEVEL SECURITY;
CREATE POLICY all_may_read ON counterfoil.leadership_event FOR SELECT USING (true);
CREATE POLICY points_only ON counterfoil.leadership_event FOR INSERT WITH CHECK (kind <> 'term');

GRANT SELECT ON counterfoil.leader_term, counterfoil.leadership_event TO counterfoil_worker;
GRANT INSERT (lease, kind, token, owner, node, reason, detail, trust_left_ms)
    ON counterfoil.leadership_event TO counterfoil_worker;

-- === The lock ===

-- The second half of a lease's advisory key. From SHA-256, so that it is the same on every server and every version.
-- Its value never changes; declared STABLE and with no settings of its own, it is inlined where it is called (convert_to
-- is declared STABLE, and an IMMUTABLE body may not call it): a twentieth of a millisecond less at each statement.
CREATE FUNCTION counterfoil.lease_key(lease text) RETURNS integer
    LANGUAGE sql STABLE STRICT PARALLEL SAFE
    AS $$
        SELECT ('x' || pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(lease, 'UTF8')), 'hex'), 8))
               ::pg_catalog.bit(32)::pg_catalog.int4
    $$;

-- Who holds, or waits for, the advisory lock of a class and a name (a lease, an owner) in this database. A prepared
-- transaction has no pid.
CREATE FUNCTION counterfoil.locks_of(class integer, name text) RETURNS TABLE (pid integer, mode text, granted boolean)
    LANGUAGE sql STABLE STRICT
    SET search_path = pg_catalog, pg_temp
    AS $$
        SELECT l.pid, l.mode, l.granted
        FROM pg_locks l
        WHERE l.locktype = 'advisory'
          AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
          AND l.classid = class::oid
          AND l.objid = (counterfoil.lease_key(name)::bigint & 4294967295)::oid
          AND l.objsubid = 2
    $$;

-- Who holds, or waits for, a lease's lock in this database.
CREATE FUNCTION counterfoil.lock_holders(lease text)
    RETURNS TABLE (pid integer, exclusive boolean, granted boolean, within_reach boolean)
    LANGUAGE sql STABLE STRICT
    SET search_path = pg_catalog, pg_temp
    AS $$
        SELECT l.pid, l.mode = 'ExclusiveLock', l.granted, coalesce(pg_has_role(a.usesysid, 'USAGE'), false)
        FROM counterfoil.locks_of(1128682572, lease) l
        LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    $$;

-- Terminates the sessions that hold a lease's lock in this database, except one's own. Runs with the caller's rights:
-- a replica reaches the sessions of its own role. What is out of reach (another role, a prepared transaction) is counted.
CREATE FUNCTION counterfoil.evict_holders(lease text, OUT evicted bigint, OUT out_of_reach bigint)
    LANGUAGE sql VOLATILE STRICT
    SET search_path = pg_catalog, pg_temp
    AS $$
        SELECT count(*) FILTER (WHERE CASE WHEN h.within_reach THEN pg_terminate_backend(h.pid) END),
               count(*) FILTER (WHERE NOT h.within_reach)
        FROM counterfoil.lock_holders(lease) h
        WHERE h.granted AND h.pid IS DISTINCT FROM pg_backend_pid()
    $$;

-- For migrations that touch data: as their first statement, so that no writer is in flight while they run.
CREATE FUNCTION counterfoil.exclude_writers() RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    held record;
BEGIN
    FOR held IN SELECT t.lease FROM counterfoil.leader_term t ORDER BY t.lease LOOP
        PERFORM pg_advisory_xact_lock(1128682572, counterfoil.lease_key(held.lease));
    END LOOP;
END
$$;

-- === Whether a leader is alive ===

-- A leader's session of the election holds a second advisory lock, (1128682561, lease_key(owner)), from the install of its
-- term until it has stepped down. It says one thing, that its process is there, and protects nothing: who may write is
-- decided by the row alone. Asked only where a term is to be replaced out of another Redis.
CREATE FUNCTION counterfoil.is_alive(owner text) RETURNS boolean
    LANGUAGE sql STABLE STRICT
    SET search_path = pg_catalog, pg_temp
    AS $$
        SELECT EXISTS (
            SELECT FROM counterfoil.locks_of(1128682561, owner) l WHERE l.granted AND l.pid <> pg_backend_pid())
    $$;

-- Takes that lock for this session, once however often it is called: session locks are counted. False where another
-- session has it: the leader's own one, whose end the server has not noticed yet.
CREATE FUNCTION counterfoil.hold_term(owner text) RETURNS boolean
    LANGUAGE sql VOLATILE STRICT
    SET search_path = pg_catalog, pg_temp
    AS $$
        SELECT CASE
            WHEN EXISTS (
                SELECT FROM counterfoil.locks_of(1128682561, owner) l WHERE l.granted AND l.pid = pg_backend_pid())
            THEN true
            ELSE pg_try_advisory_lock(1128682561, counterfoil.lease_key(owner))
        END
    $$;

-- A worker that would lead a lease holds a third one, shared: (1128682562, lease_key(lease)), on a session of its election,
-- once however often this is called. It says that it is there, so that a node that leads more may leave the lease to it.
CREATE FUNCTION counterfoil.attend(lease text) RETURNS boolean
    LANGUAGE sql VOLATILE STRICT
    SET search_path = pg_catalog, pg_temp
    AS $$
        SELECT CASE
            WHEN EXISTS (
                SELECT FROM counterfoil.locks_of(1128682562, lease) l WHERE l.granted AND l.pid = pg_backend_pid())
            THEN true
            ELSE pg_try_advisory_lock_shared(1128682562, counterfoil.lease_key(lease))
        END
    $$;

-- Which node leads which lease, of those whose leader is alive, and which nodes attend it, leaders among them.
CREATE FUNCTION counterfoil.attendance() RETURNS TABLE (lease text, node text, leads boolean)
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
    AS $$
        SELECT t.lease, regexp_replace(t.owner, ':[^:]*$', ''), true
        FROM counterfoil.leader_term t
        WHERE counterfoil.is_alive(t.owner)
        UNION ALL
        SELECT DISTINCT t.lease, substring(a.application_name FROM '^counterfoil/(.*)/election$'), false
        FROM counterfoil.leader_term t
        CROSS JOIN LATERAL counterfoil.locks_of(1128682562, t.lease) l
        JOIN pg_stat_activity a ON a.pid = l.pid
        WHERE l.granted AND a.application_name ~ '^counterfoil/.*/election$'
    $$;

-- === Installing a term ===

-- Makes (token, owner) the installed term if its token is higher than the installed one, and returns the row that stands
-- afterwards: the caller leads if it is its own. So a lost reply is safe to ask again, and an equal token of another
-- owner is refused (a Redis that lost its counter can hand one out twice). Waits for writers in flight; the caller bounds
-- that by statement_timeout. A lease that was won in another Redis than the installed term's replaces it only once its
-- leader has gone: two Redises for one database would otherwise take turns for ever.
CREATE FUNCTION counterfoil.install_term(p_lease text, p_token bigint, p_owner text, p_store uuid DEFAULT NULL)
    RETURNS counterfoil.leader_term
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    standing counterfoil.leader_term;
    now_here timestamptz;
BEGIN
    IF p_lease IS NULL OR p_lease !~ '^[A-Za-z0-9._-]{1,64}$' OR p_owner IS NULL OR p_owner = '' THEN
        RAISE EXCEPTION 'lease %, owner %: not a name', coalesce(quote_literal(p_lease), 'NULL'), coalesce(quote_literal(p_owner), 'NULL')
            USING ERRCODE = 'TF003', HINT = 'A lease has 1 to 64 letters, digits, "-", "_" and "."; an owner is not empty.';
    END IF;
    IF p_token IS NULL OR p_token NOT BETWEEN 1 AND 9007199254740991 THEN
        RAISE EXCEPTION 'token % of lease "%" is out of range: 1 to 9007199254740991', coalesce(p_token::text, 'NULL'), p_lease
            USING ERRCODE = 'TF003',
                  HINT = format('Delete the key {counterfoil:%s}:token in Redis: the next candidate raises it to the installed term again.', p_lease);
    END IF;

    -- Looked at twice: without the lock, so that a loser does not hold up the writers; and under it, when it counts.
    FOR look IN 1..2 LOOP
        IF look = 2 THEN
            PERFORM pg_advisory_xact_lock(1128682572, counterfoil.lease_key(p_lease));
        END IF;
        SELECT t.* INTO standing FROM counterfoil.leader_term t WHERE t.lease = p_lease;
        IF standing.token = p_token AND standing.owner = p_owner THEN
            PERFORM counterfoil.hold_term(p_owner);
        END IF;
        IF standing.token >= p_token THEN
            RETURN standing;
        END IF;
        IF standing.store <> p_store AND counterfoil.is_alive(standing.owner) THEN
            RAISE EXCEPTION 'token % of lease "%" was won in Redis %, and the installed term % in Redis %, whose leader % is alive',
                    p_token, p_lease, left(p_store::text, 8), standing.token, left(standing.store::text, 8), standing.owner
                USING ERRCODE = 'TF008', HINT = 'One of the two has a wrong redis.url: correct it, and restart that replica.';
        END IF;
        IF p_token - coalesce(standing.token, 0) > 1000000 THEN
            RAISE EXCEPTION 'token % of lease "%" leaps by more than a million: the installed one is %',
                    p_token, p_lease, coalesce(standing.token::text, 'none')
                USING ERRCODE = 'TF004',
                      HINT = format('Redis holds a counter that is not this database''s, or one that was set by hand. Delete the key {counterfoil:%s}:token: the next candidate raises it to the installed term again.', p_lease);
        END IF;
    END LOOP;

    now_here := clock_timestamp();
    IF standing.lease IS NULL THEN
        INSERT INTO counterfoil.leader_term AS t (lease, token, owner, installed_at, store)
        VALUES (p_lease, p_token, p_owner, now_here, p_store)
        RETURNING t.* INTO standing;
    ELSE
        UPDATE counterfoil.leader_term t
        SET token = p_token, owner = p_owner, installed_at = now_here, store = p_store
        WHERE t.lease = p_lease
        RETURNING t.* INTO standing;
    END IF;

    -- The predecessor's own last word, if it had one, is why its term ended.
    UPDATE counterfoil.leadership_event e
    SET ended_at = now_here,
        reason = coalesce(
            (SELECT s.reason FROM counterfoil.leadership_event s
             WHERE s.lease = e.lease AND s.token = e.token AND s.owner = e.owner AND s.kind = 'step_down'
             ORDER BY s.id DESC LIMIT 1),
            'superseded')
    WHERE e.lease = p_lease AND e.kind = 'term' AND e.ended_at IS NULL;
    INSERT INTO counterfoil.leadership_event (lease, kind, token, owner, node, started_at)
    VALUES (p_lease, 'term', p_token, p_owner, regexp_replace(p_owner, ':[^:]*$', ''), now_here);

    PERFORM counterfoil.hold_term(p_owner);
    RETURN standing;
END
$$;

-- === The fence ===

-- The claim that counterfoil.term must hold in this very transaction. Inlined, like lease_key.
CREATE FUNCTION counterfoil.claim_of(lease text, token bigint, owner text) RETURNS text
    LANGUAGE sql VOLATILE STRICT
    AS $$
        SELECT lease || ' ' || pg_catalog.pg_current_xact_id()::pg_catalog.text || ' ' || token::pg_catalog.text || ' ' || owner
    $$;

-- Refuses: says which term asks and which one is installed.
CREATE FUNCTION counterfoil.refuse_term(p_lease text, p_token text, p_owner text) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    standing counterfoil.leader_term;
BEGIN
    SELECT t.* INTO standing FROM counterfoil.leader_term t WHERE t.lease = p_lease;
    IF standing.lease IS NULL THEN
        RAISE EXCEPTION 'term % of lease "%" may not write: no term of it is installed', p_token, p_lease
            USING ERRCODE = 'TF001', DETAIL = format('own token %s, owner %s; installed token none', p_token, p_owner),
                  HINT = 'Step down and campaign again: a term is installed by install_term.';
    END IF;
    RAISE EXCEPTION 'term % of lease "%" may not write: the installed term is %', p_token, p_lease, standing.token
        USING ERRCODE = 'TF001',
              DETAIL = format('own token %s, owner %s; installed token %s, owner %s', p_token, p_owner, standing.token, standing.owner),
              HINT = 'Nothing of this transaction was kept. Stop writing and step down: another replica leads.';
END
$$;

-- First statement of every writing transaction: takes the lease's lock shared, compares, and binds the term to this
-- transaction. Returns the transaction's id, which tells later what became of it.
CREATE FUNCTION counterfoil.enter_term(p_lease text, p_token bigint, p_owner text) RETURNS xid8
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(1128682572, counterfoil.lease_key(p_lease));
    PERFORM FROM counterfoil.leader_term t
    WHERE t.lease = p_lease AND t.token = p_token AND t.owner = p_owner FOR SHARE;
    IF NOT FOUND THEN
        PERFORM counterfoil.refuse_term(coalesce(p_lease, '?'), coalesce(p_token::text, '?'), coalesce(p_owner, '?'));
    END IF;
    PERFORM set_config('counterfoil.term', counterfoil.claim_of(p_lease, p_token, p_owner), true);
    RETURN pg_current_xact_id();
END
$$;

-- The statement trigger. A reader that only looked would let a stale transaction commit, and a rolled-back savepoint
-- drops the lock that `enter_term` took inside it: so lock and row are taken again at every statement.
CREATE FUNCTION counterfoil.check_fence() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    claim    text := coalesce(current_setting('counterfoil.term', true), '');
    lease    text := split_part(claim, ' ', 1);
    standing counterfoil.leader_term;
BEGIN
    IF claim = '' THEN
        RAISE EXCEPTION '% on %.% refused: this transaction did not enter a term', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
            USING ERRCODE = 'TF002', HINT = 'Only the leader writes here: begin with SELECT counterfoil.enter_term(lease, token, owner).';
    END IF;
    IF split_part(claim, ' ', 2) <> pg_current_xact_id()::text THEN
        RAISE EXCEPTION '% on %.% refused: this transaction did not enter a term, its setting is another transaction''s',
                TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
            USING ERRCODE = 'TF002', HINT = 'A term is entered once in every transaction, by SELECT counterfoil.enter_term(lease, token, owner).';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(1128682572, counterfoil.lease_key(lease));
    SELECT t.* INTO standing FROM counterfoil.leader_term t WHERE t.lease = split_part(claim, ' ', 1) FOR SHARE;
    -- Compared as a whole: there is no way to read the claim wrongly.
    IF standing.lease IS NULL OR claim <> counterfoil.claim_of(standing.lease, standing.token, standing.owner) THEN
        PERFORM counterfoil.refuse_term(lease, split_part(claim, ' ', 3),
            substr(claim, length(split_part(claim, ' ', 1) || split_part(claim, ' ', 2) || split_part(claim, ' ', 3)) + 4));
    END IF;
    -- The account that the rows of this statement are compared with: nothing is believed of the setting either.
    IF coalesce(current_setting('counterfoil.account', true), '') <> '' THEN
        PERFORM counterfoil.hold_account(current_setting('counterfoil.account', true), standing.lease);
    END IF;
    RETURN NULL;
END
$$;

-- Puts a results table behind the fence. Every later migration that makes one calls it, and grants what the worker needs
-- on the table itself, never on its partitions (statement triggers do not fire for those). Where the table has a column
-- `account`, its rows are written by that account's lease alone; where it has a column `lease` and its row is no account's,
-- by that lease alone.
--
-- Those are AFTER triggers with a condition: where the transaction entered the row's account, nothing is called, and COPY
-- keeps its batches (a BEFORE trigger would take them from it).
CREATE FUNCTION counterfoil.fence_table(results regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    of_account CONSTANT text := '%I.account IS DISTINCT FROM pg_catalog.current_setting(''counterfoil.account'', true)';
    of_lease   CONSTANT text := '%I.lease IS DISTINCT FROM counterfoil.entered_lease()';
    columns    name[] := ARRAY(SELECT a.attname FROM pg_attribute a
                               WHERE a.attrelid = results AND a.attname IN ('account', 'lease') AND NOT a.attisdropped);
    rowwise    CONSTANT text := 'CREATE OR REPLACE TRIGGER %I AFTER %s ON %s FOR EACH ROW WHEN (%s) EXECUTE FUNCTION counterfoil.%I(%L)';
BEGIN
    IF NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = results AND c.relkind IN ('r', 'p') AND NOT c.relispartition) THEN
        RAISE EXCEPTION '% cannot carry the fence: it is no table, or a partition', results USING ERRCODE = 'TF006';
    END IF;
    EXECUTE format(
        'CREATE OR REPLACE TRIGGER fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s '
        'FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.check_fence()', results);
    IF 'account' = ANY (columns) THEN
        EXECUTE format(rowwise, 'own_account_in', 'INSERT OR UPDATE', results, format(of_account, 'new'), 'check_account', 'in');
        EXECUTE format(rowwise, 'own_account_out', 'UPDATE OR DELETE', results, format(of_account, 'old'), 'check_account', 'out');
    END IF;
    -- Of accounts themselves another trigger says whose they may become.
    IF 'lease' = ANY (columns) AND results IS DISTINCT FROM to_regclass('counterfoil.account') THEN
        EXECUTE format(rowwise, 'own_lease_in', 'INSERT', results, format(of_lease, 'new'), 'refuse_row', 'in');
        EXECUTE format(rowwise, 'own_lease_out', 'UPDATE OR DELETE', results,
            CASE WHEN 'account' = ANY (columns) THEN 'old.account = '''' AND ' ELSE '' END || format(of_lease, 'old'),
            'refuse_row', 'out');
    END IF;
END
$$;

-- The lease and the token that this transaction entered with: column defaults for "who wrote this". True where the fence
-- let the row pass, since it compares them.
CREATE FUNCTION counterfoil.entered_lease() RETURNS text
    LANGUAGE sql STABLE
    AS $$ SELECT pg_catalog.split_part(pg_catalog.current_setting('counterfoil.term', true), ' ', 1) $$;
CREATE FUNCTION counterfoil.entered_token() RETURNS bigint
    LANGUAGE sql STABLE
    AS $$ SELECT pg_catalog.split_part(pg_catalog.current_setting('counterfoil.term', true), ' ', 3)::pg_catalog.int8 $$;

-- === Whose an account is ===

-- A book is a lease with its accounts. Several share a database: then no transaction of one writes a row of another's.
CREATE TABLE counterfoil.account (
    id        text        NOT NULL PRIMARY KEY CHECK (id <> ''),
    lease     text        NOT NULL DEFAULT counterfoil.entered_lease() REFERENCES counterfoil.leader_term,
    -- Given up by its lease, and not yet taken by that one: nobody writes rows of it meanwhile.
    moving_to text        CHECK (moving_to ~ '^[A-Za-z0-9._-]{1,64}$' AND moving_to <> lease),
    -- The term that claimed it, gave it up or took it, and when.
    token     bigint      NOT NULL DEFAULT counterfoil.entered_token(),
    since     timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE counterfoil.account IS
    'Which lease an account belongs to. The first leader whose settings declare it claims it; moving it needs both terms.';

-- One lease claims what is nobody's, gives up what is its own, takes back what nobody has taken, and takes what was given
-- to it. Nothing else is a change of an account.
CREATE FUNCTION counterfoil.check_move() RETURNS trigger
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    own text := counterfoil.entered_lease();
BEGIN
    IF TG_OP = 'INSERT' AND NEW.lease = own AND NEW.moving_to IS NULL THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        NEW.token := counterfoil.entered_token();
        NEW.since := clock_timestamp();
        IF NEW.id = OLD.id AND (OLD.lease = own AND NEW.lease = own AND (OLD.moving_to IS NULL) <> (NEW.moving_to IS NULL)
                                OR OLD.moving_to = own AND NEW.lease = own AND NEW.moving_to IS NULL) THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'lease "%" may not do this to account "%"', own, CASE TG_OP WHEN 'DELETE' THEN OLD.id ELSE NEW.id END
        USING ERRCODE = 'TF007', HINT = 'Its own lease gives it up, under its own term; then the other takes it, under its own.';
END
$$;
CREATE TRIGGER move BEFORE INSERT OR UPDATE OR DELETE ON counterfoil.account
    FOR EACH ROW EXECUTE FUNCTION counterfoil.check_move();
SELECT counterfoil.fence_table('counterfoil.account');
GRANT SELECT, INSERT (id), UPDATE (lease, moving_to) ON counterfoil.account TO counterfoil_worker;

-- Refuses: says whose the account is, and what to do.
CREATE FUNCTION counterfoil.refuse_account(p_account text, p_lease text) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    found_it counterfoil.account;
BEGIN
    SELECT a.* INTO found_it FROM counterfoil.account a WHERE a.id = p_account;
    IF found_it.id IS NULL THEN
        RAISE EXCEPTION 'account "%" is no lease''s: lease "%" may not write rows of it', coalesce(p_account, '?'), p_lease
            USING ERRCODE = 'TF007', HINT = 'A leader claims its accounts when its term begins.';
    END IF;
    IF found_it.lease = p_lease THEN
        RAISE EXCEPTION 'account "%" was given up by lease "%", and lease "%" has not taken it', p_account, p_lease, found_it.moving_to
            USING ERRCODE = 'TF007', HINT = 'Nobody writes rows of it until it is taken, or taken back.';
    END IF;
    RAISE EXCEPTION 'account "%" belongs to lease "%": lease "%" may not write rows of it', p_account, found_it.lease, p_lease
        USING ERRCODE = 'TF007',
              HINT = format('counterfoil accounts move --account %s --to %s moves it; or set lease.name back.', p_account, p_lease);
END
$$;

-- Keeps the account with its lease until this transaction ends, or refuses.
CREATE FUNCTION counterfoil.hold_account(p_account text, p_lease text) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    PERFORM FROM counterfoil.account a
    WHERE a.id = p_account AND a.lease = p_lease AND a.moving_to IS NULL FOR SHARE;
    IF NOT FOUND THEN
        PERFORM counterfoil.refuse_account(p_account, p_lease);
    END IF;
END
$$;

-- What a transaction says before it writes many rows of one account. Empty: none. Without it each row is asked about.
CREATE FUNCTION counterfoil.enter_account(p_account text) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    IF p_account <> '' THEN
        PERFORM counterfoil.hold_account(p_account, counterfoil.entered_lease());
    END IF;
    PERFORM set_config('counterfoil.account', p_account, true);
END
$$;

-- A row of another account than the one that was entered. Its argument: which of the row's two versions is meant.
CREATE FUNCTION counterfoil.check_account() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    named text;
BEGIN
    IF TG_ARGV[0] = 'in' THEN named := NEW.account; ELSE named := OLD.account; END IF;
    -- A step that is no account's: a file's, a source's.
    IF named IS DISTINCT FROM '' THEN
        PERFORM counterfoil.hold_account(named, counterfoil.entered_lease());
    END IF;
    RETURN NULL;
END
$$;

-- A row of another lease.
CREATE FUNCTION counterfoil.refuse_row() RETURNS trigger
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    other text;
BEGIN
    IF TG_ARGV[0] = 'in' THEN other := NEW.lease; ELSE other := OLD.lease; END IF;
    RAISE EXCEPTION '% on %.% refused: the row is lease "%"''s, and not lease "%"''s',
            TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME, other, counterfoil.entered_lease()
        USING ERRCODE = 'TF007', HINT = 'A lease writes what is its own.';
END
$$;

-- === The ledger of steps ===

-- One row a committed step, inserted by the transaction that did its work: done and recorded are one commit.
CREATE TABLE counterfoil.checkpoint (
    -- Empty where the step is no account's: a file, a source of books.
    account      text        NOT NULL,
    step         text        NOT NULL,
    key          text        NOT NULL,
    lease        text        NOT NULL DEFAULT counterfoil.entered_lease(),
    token        bigint      NOT NULL DEFAULT counterfoil.entered_token(),
    owner        text        NOT NULL,
    transaction  xid8        NOT NULL DEFAULT pg_current_xact_id(),
    committed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (account, step, key, lease)
);
-- A file is known to each book that reads it; a step of an account is done once, whichever book it belongs to then.
CREATE UNIQUE INDEX checkpoint_of_account ON counterfoil.checkpoint (account, step, key) WHERE account <> '';
COMMENT ON TABLE counterfoil.checkpoint IS
    'Which steps are done, by which term. Inserted under its primary key: a second attempt is told that it came too late.';
SELECT counterfoil.fence_table('counterfoil.checkpoint');
GRANT SELECT ON counterfoil.checkpoint TO counterfoil_worker;
GRANT INSERT (account, step, key, owner) ON counterfoil.checkpoint TO counterfoil_worker;

-- === Rights ===

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA counterfoil FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    counterfoil.lease_key(text), counterfoil.locks_of(integer, text), counterfoil.lock_holders(text), counterfoil.evict_holders(text),
    counterfoil.is_alive(text), counterfoil.hold_term(text), counterfoil.attend(text), counterfoil.attendance(),
    counterfoil.install_term(text, bigint, text, uuid), counterfoil.enter_term(text, bigint, text), counterfoil.entered_token(),
    counterfoil.entered_lease(), counterfoil.enter_account(text)
    TO counterfoil_worker;
