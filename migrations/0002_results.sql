-- What the reconciliation knows and what it found.
--
-- Three rules hold for every table here. It carries the fence: only the installed term's transactions write it. Where it
-- grows with the bank's or the ledger's lines, its keys begin with the account, so that it can be hash-partitioned without
-- another design. And on the hot path rows are only inserted: which day took a line is not written into the line, it
-- follows from two numbers of the day's manifest.
--
-- Those two numbers: an account's statements, and its book batches, are numbered in the order in which they were taken in
-- (`seq`). A manifest names the last number that its day reads. A day takes the lines with seq <= its own number and
-- ledger day <= its date, without those of seq <= the number and ledger day <= the date of the account's last closed day.
-- Both grow from day to day, so that no line is taken twice and none is left out.
--
-- Money is in minor units of the account's currency: bigint for an amount, numeric for a sum.
--
-- What is not an account's is its lease's, and has the lease in its key. Where a row of an account names a lease too, that
-- is the book under which it came or was done, also after the account has moved.

-- === Where it came from ===

CREATE TABLE counterfoil.source_file (
    lease       text        NOT NULL DEFAULT counterfoil.entered_lease(),
    sha256      bytea       NOT NULL CHECK (octet_length(sha256) = 32),
    side        text        NOT NULL CHECK (side IN ('bank', 'book')),
    name        text        NOT NULL,
    size        bigint      NOT NULL CHECK (size >= 0),
    pinned      text,
    format      text,
    status      text        NOT NULL CHECK (status IN ('accepted', 'quarantined', 'refused')),
    -- Something of it was not taken, and may be later: a gap may fill, an account may be declared.
    waiting     boolean     NOT NULL,
    diagnostics jsonb       NOT NULL,
    -- What judged it: settings and engine. Judged again when they change, unless it was accepted.
    judged_by   text        NOT NULL,
    seen_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    judged_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (lease, sha256)
);
COMMENT ON TABLE counterfoil.source_file IS
    'Files that a book read, by content. The name is the one under which the content was first seen.';

-- Of files that wait alone: the inbox belongs to whoever fills it, and may have been emptied when the gap fills.
CREATE TABLE counterfoil.source_bytes (
    lease  text  NOT NULL DEFAULT counterfoil.entered_lease(),
    sha256 bytea NOT NULL,
    bytes  bytea NOT NULL,
    PRIMARY KEY (lease, sha256),
    FOREIGN KEY (lease, sha256) REFERENCES counterfoil.source_file
);

-- === The bank's side ===

CREATE TABLE counterfoil.statement (
    account   text    NOT NULL,
    -- The book whose file it came in.
    lease     text    NOT NULL DEFAULT counterfoil.entered_lease(),
    sha256    bytea   NOT NULL,
    -- Place in the file, from 1.
    ordinal   integer NOT NULL,
    status    text    NOT NULL CHECK (status IN ('accepted', 'held', 'quarantined')),
    -- In which order it was taken in; none until then.
    seq       bigint  CHECK ((seq IS NOT NULL) = (status = 'accepted')),
    format    text    NOT NULL,
    bank_id   text,
    sequence  text,
    from_day  date    NOT NULL,
    to_day    date    NOT NULL,
    -- The header that the ledger is folded from again, and how its lines relate to known ones.
    header    jsonb   CHECK ((header IS NOT NULL) = (status = 'accepted')),
    reading   text    CHECK ((reading IS NOT NULL) = (status = 'accepted')),
    -- P1 and P3, as they stood at the door.
    proofs    jsonb   NOT NULL,
    -- Rows that are no money: pending, informational, zero, balances.
    aside     jsonb   NOT NULL,
    new_lines bigint  NOT NULL DEFAULT 0,
    known     bigint  NOT NULL DEFAULT 0,
    vanished  bigint  NOT NULL DEFAULT 0,
    -- Why it is held or quarantined.
    code      text,
    reason    text,
    PRIMARY KEY (account, sha256, ordinal),
    FOREIGN KEY (lease, sha256) REFERENCES counterfoil.source_file,
    UNIQUE (account, seq)
);

CREATE TABLE counterfoil.bank_line (
    account      text    NOT NULL,
    -- <account>:<booking date>:<identity, 16 hex>:<occurrence among equals, from 1>
    id           text    NOT NULL,
    seq          bigint  NOT NULL,
    ledger_day   date    NOT NULL,
    booking_date date    NOT NULL,
    value_date   date,
    minor        bigint  NOT NULL CHECK (minor <> 0),
    code         text,
    reversal     boolean NOT NULL,
    refs         jsonb   NOT NULL,
    counterparty jsonb,
    description  text    NOT NULL,
    sha256       bytea   NOT NULL,
    -- Place of the statement in the file, and of the row in the statement, from 1.
    statement    integer NOT NULL,
    ordinal      integer NOT NULL,
    -- On or before the settings' opening: kept, and outside every proof.
    before_opening boolean NOT NULL,
    PRIMARY KEY (account, id)
);
COMMENT ON TABLE counterfoil.bank_line IS
    'Booked movements, each once, whatever the number of files that tell of it. Signed as the account''s owner sees them.';
CREATE INDEX bank_line_day ON counterfoil.bank_line (account, ledger_day, seq);

-- Sums of what each statement brought, by ledger day: the ledger is folded from these, and not from all lines ever.
CREATE TABLE counterfoil.bank_day (
    account    text    NOT NULL,
    ledger_day date    NOT NULL,
    seq        bigint  NOT NULL,
    lines      bigint  NOT NULL,
    minor      numeric NOT NULL,
    PRIMARY KEY (account, ledger_day, seq)
);

-- === The company's side ===

CREATE TABLE counterfoil.book_batch (
    account  text   NOT NULL,
    seq      bigint NOT NULL,
    -- The book whose file it came in.
    lease    text   NOT NULL DEFAULT counterfoil.entered_lease(),
    sha256   bytea  NOT NULL,
    lines    bigint NOT NULL,
    balances bigint NOT NULL,
    known    bigint NOT NULL,
    changed  bigint NOT NULL,
    -- The latest date of any line or balance in it, known ones included: the books were seen through it.
    through  date,
    PRIMARY KEY (account, seq),
    FOREIGN KEY (lease, sha256) REFERENCES counterfoil.source_file,
    UNIQUE (account, sha256)
);

CREATE TABLE counterfoil.book_line (
    account      text    NOT NULL,
    id           text    NOT NULL,
    -- 0 at first; one more each time that the entry came with other content.
    revision     integer NOT NULL CHECK (revision >= 0),
    seq          bigint  NOT NULL,
    date         date    NOT NULL,
    minor        bigint  NOT NULL,
    refs         jsonb   NOT NULL,
    counterparty text,
    description  text    NOT NULL,
    batch        text,
    reverses     text,
    content      bytea   NOT NULL CHECK (octet_length(content) = 16),
    sha256       bytea   NOT NULL,
    ordinal      integer NOT NULL,
    PRIMARY KEY (account, id, revision)
);
CREATE INDEX book_line_day ON counterfoil.book_line (account, date, seq);
CREATE INDEX book_line_changed ON counterfoil.book_line (account, seq) WHERE revision > 0;

CREATE TABLE counterfoil.book_balance (
    account text   NOT NULL,
    date    date   NOT NULL,
    seq     bigint NOT NULL,
    closing bigint NOT NULL,
    PRIMARY KEY (account, date, seq)
);

-- === The ledger of runs ===

CREATE TABLE counterfoil.run (
    lease         text        NOT NULL DEFAULT counterfoil.entered_lease(),
    business_date date        NOT NULL,
    -- 'planned' by the schedule, or 'asked' for by hand ahead of it.
    origin        text        NOT NULL CHECK (origin IN ('planned', 'asked')),
    status        text        NOT NULL CHECK (status IN ('due', 'complete', 'incomplete', 'failed', 'skipped')),
    reason        text,
    due           timestamptz NOT NULL,
    deadline      timestamptz NOT NULL,
    digest        text,
    token         bigint      NOT NULL DEFAULT counterfoil.entered_token(),
    recorded_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    progress_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at   timestamptz,
    PRIMARY KEY (lease, business_date),
    CHECK ((status = 'skipped') <= (reason IS NOT NULL))
);
COMMENT ON TABLE counterfoil.run IS
    'One row a book and business date, whoever planned it and however often. Two leaders at a hand-over make one.';

CREATE TABLE counterfoil.account_day (
    account       text        NOT NULL REFERENCES counterfoil.account,
    -- The book whose run of the date it belongs to.
    lease         text        NOT NULL DEFAULT counterfoil.entered_lease(),
    business_date date        NOT NULL,
    revision      integer     NOT NULL CHECK (revision >= 0),
    status        text        NOT NULL CHECK (status IN ('waiting', 'closed', 'failed', 'skipped')),
    -- What it waits for, or why it failed or was skipped.
    reason        text,
    currency      text        NOT NULL,
    -- A statement that did not come was taken for a day without movement.
    no_movement_assumed boolean NOT NULL DEFAULT false,
    -- Of a closed one: where the account stands, its digest, and the counts that people ask for.
    digest        text,
    rule_set      text,
    standing      jsonb,
    matched       bigint,
    open          bigint,
    changed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (account, business_date, revision),
    FOREIGN KEY (lease, business_date) REFERENCES counterfoil.run,
    CHECK ((status = 'closed') = (digest IS NOT NULL)),
    CHECK ((status = 'closed') = (standing IS NOT NULL)),
    CHECK (status = 'closed' OR reason IS NOT NULL)
);
CREATE INDEX account_day_date ON counterfoil.account_day (lease, business_date, account);

CREATE TABLE counterfoil.manifest (
    account       text    NOT NULL,
    lease         text    NOT NULL DEFAULT counterfoil.entered_lease(),
    business_date date    NOT NULL,
    revision      integer NOT NULL,
    -- One more each time that a replica of another engine or other settings began the account-day again.
    pass          integer NOT NULL,
    bank_seq      bigint  NOT NULL,
    book_seq      bigint  NOT NULL,
    -- The account's last closed day, which this one goes on from; none for the first.
    previous      date,
    rule_set      jsonb   NOT NULL,
    settings      text    NOT NULL,
    engine        text    NOT NULL,
    no_movement_assumed boolean NOT NULL,
    -- Hashes of the files that the lines came from: for people, and for an audit.
    files         jsonb   NOT NULL,
    PRIMARY KEY (account, business_date, revision, pass),
    FOREIGN KEY (lease, business_date) REFERENCES counterfoil.run
);

-- Begun, whether or not it ended: a step that kills its process is not tried for ever.
CREATE TABLE counterfoil.step_attempt (
    account    text        NOT NULL,
    step       text        NOT NULL,
    key        text        NOT NULL,
    attempt    integer     NOT NULL CHECK (attempt >= 1),
    lease      text        NOT NULL DEFAULT counterfoil.entered_lease(),
    token      bigint      NOT NULL DEFAULT counterfoil.entered_token(),
    began_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Why it failed; null while it runs, where it was done, and where its process died.
    failure    text,
    PRIMARY KEY (account, step, key, attempt, lease)
);

-- === What was found ===

CREATE TABLE counterfoil.match (
    account       text    NOT NULL,
    business_date date    NOT NULL,
    revision      integer NOT NULL,
    id            text    NOT NULL,
    -- Canonical order, from 0: what the digest is taken in.
    place         integer NOT NULL,
    rule          text    NOT NULL,
    status        text    NOT NULL CHECK (status IN ('suggested', 'confirmed', 'rejected', 'undone')),
    difference    bigint  NOT NULL,
    explanation   jsonb   NOT NULL,
    -- The business date that undid it, because an entry of it came again with other content.
    undone_by     date    CHECK ((undone_by IS NOT NULL) = (status = 'undone')),
    PRIMARY KEY (account, business_date, revision, id)
);

CREATE TABLE counterfoil.match_leg (
    account       text    NOT NULL,
    business_date date    NOT NULL,
    revision      integer NOT NULL,
    match         text    NOT NULL,
    side          text    NOT NULL CHECK (side IN ('bank', 'book')),
    -- Place in canonical order, from 0.
    place         integer NOT NULL,
    line          text    NOT NULL,
    -- Its match is confirmed, and was not undone.
    consumes      boolean NOT NULL,
    PRIMARY KEY (account, business_date, revision, match, side, place)
);
-- The constraint behind "a line is consumed once".
CREATE UNIQUE INDEX a_line_is_consumed_once ON counterfoil.match_leg (account, side, line) WHERE consumes;

-- What matching left open, and why, in canonical order: the step that closes the day reads it back.
CREATE TABLE counterfoil.residue (
    account       text    NOT NULL,
    business_date date    NOT NULL,
    revision      integer NOT NULL,
    place         integer NOT NULL,
    side          text    NOT NULL CHECK (side IN ('bank', 'book')),
    line          text    NOT NULL,
    class         text    NOT NULL,
    nearest       jsonb,
    PRIMARY KEY (account, business_date, revision, place)
);

-- Every open line of a closed day, once, with its age. The next day carries forward exactly these.
CREATE TABLE counterfoil.break (
    account       text    NOT NULL,
    business_date date    NOT NULL,
    revision      integer NOT NULL,
    side          text    NOT NULL CHECK (side IN ('bank', 'book')),
    line          text    NOT NULL,
    -- Canonical order, from 0.
    place         integer NOT NULL,
    class         text    NOT NULL,
    minor         bigint  NOT NULL,
    age           integer NOT NULL CHECK (age >= 0),
    bucket        text    NOT NULL,
    first_seen    date    NOT NULL,
    late          boolean NOT NULL,
    nearest       jsonb,
    PRIMARY KEY (account, business_date, revision, side, line)
);

CREATE TABLE counterfoil.proof (
    account       text    NOT NULL,
    business_date date    NOT NULL,
    revision      integer NOT NULL,
    place         integer NOT NULL,
    id            text    NOT NULL,
    scope         text    NOT NULL,
    status        text    NOT NULL CHECK (status IN ('proved', 'derived', 'unprovable', 'failed')),
    left_side     text,
    right_side    text,
    difference    text,
    PRIMARY KEY (account, business_date, revision, place)
);

CREATE TABLE counterfoil.report (
    account       text    NOT NULL,
    business_date date    NOT NULL,
    revision      integer NOT NULL,
    extension     text    NOT NULL,
    bytes         bytea   NOT NULL,
    PRIMARY KEY (account, business_date, revision, extension)
);

CREATE TABLE counterfoil.summary (
    lease         text        NOT NULL DEFAULT counterfoil.entered_lease(),
    business_date date        NOT NULL,
    extension     text        NOT NULL,
    bytes         bytea       NOT NULL,
    changed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (lease, business_date, extension),
    FOREIGN KEY (lease, business_date) REFERENCES counterfoil.run
);

-- === What people ask for ===

-- Unfenced, and only ever inserted: anybody may ask, the leader answers each once.
CREATE TABLE counterfoil.run_request (
    id            uuid        NOT NULL PRIMARY KEY,
    -- Whose leader is asked.
    lease         text        NOT NULL CHECK (lease ~ '^[A-Za-z0-9._-]{1,64}$'),
    -- A date that people count with: 'infinity' and the like would be a leader's last request.
    business_date date        NOT NULL CHECK (business_date BETWEEN '1970-01-01' AND '9999-12-31'),
    -- Run a closed date again, as a new revision; with the reason.
    reopen        boolean     NOT NULL DEFAULT false,
    -- Let this account pass by the date; with the reason.
    skip_account  text,
    reason        text        CHECK (reason IS NOT NULL OR NOT (reopen OR skip_account IS NOT NULL)),
    actor         text        NOT NULL,
    asked_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (id, lease)
);
CREATE TABLE counterfoil.run_answer (
    request     uuid        NOT NULL PRIMARY KEY,
    lease       text        NOT NULL DEFAULT counterfoil.entered_lease(),
    accepted    boolean     NOT NULL,
    message     text        NOT NULL,
    token       bigint      NOT NULL DEFAULT counterfoil.entered_token(),
    answered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    FOREIGN KEY (request, lease) REFERENCES counterfoil.run_request (id, lease)
);
-- The planner of a lease rests while the newest row says so. Unfenced, and only ever inserted.
CREATE TABLE counterfoil.planner_pause (
    id     bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    lease  text        NOT NULL CHECK (lease ~ '^[A-Za-z0-9._-]{1,64}$'),
    paused boolean     NOT NULL,
    reason text,
    actor  text        NOT NULL,
    at     timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- Which lease an account shall belong to: of each account the newest row counts. Unfenced, and only ever inserted.
CREATE TABLE counterfoil.account_request (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account    text        NOT NULL REFERENCES counterfoil.account,
    -- Whose it was when somebody asked.
    from_lease text        NOT NULL,
    to_lease   text        NOT NULL CHECK (to_lease ~ '^[A-Za-z0-9._-]{1,64}$'),
    reason     text        NOT NULL CHECK (reason <> ''),
    actor      text        NOT NULL,
    asked_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX account_request_newest ON counterfoil.account_request (account, id);

-- === Fence and rights ===

DO $$
DECLARE
    results text;
BEGIN
    FOREACH results IN ARRAY ARRAY[
        'source_file', 'source_bytes', 'statement', 'bank_line', 'bank_day', 'book_batch', 'book_line', 'book_balance',
        'run', 'account_day', 'manifest', 'step_attempt', 'match', 'match_leg', 'residue', 'break', 'proof',
        'report', 'summary', 'run_answer']
    LOOP
        PERFORM counterfoil.fence_table(format('counterfoil.%I', results)::regclass);
        EXECUTE format('GRANT SELECT, INSERT ON counterfoil.%I TO counterfoil_worker', results);
    END LOOP;
END
$$;
GRANT UPDATE (status, waiting, format, diagnostics, judged_by, judged_at) ON counterfoil.source_file TO counterfoil_worker;
GRANT DELETE ON counterfoil.source_bytes TO counterfoil_worker;
GRANT UPDATE ON counterfoil.statement TO counterfoil_worker;
GRANT UPDATE (status, reason, digest, progress_at, finished_at, origin) ON counterfoil.run TO counterfoil_worker;
GRANT UPDATE (lease, status, reason, no_movement_assumed, digest, rule_set, standing, matched, open, changed_at)
    ON counterfoil.account_day TO counterfoil_worker;
GRANT UPDATE (failure) ON counterfoil.step_attempt TO counterfoil_worker;
GRANT UPDATE (status, undone_by) ON counterfoil.match TO counterfoil_worker;
GRANT UPDATE (consumes) ON counterfoil.match_leg TO counterfoil_worker;
GRANT UPDATE (bytes, changed_at) ON counterfoil.summary TO counterfoil_worker;
-- An account-day that another engine had begun is begun again.
GRANT DELETE ON counterfoil.match, counterfoil.match_leg, counterfoil.residue TO counterfoil_worker;

GRANT SELECT ON counterfoil.run_request, counterfoil.planner_pause, counterfoil.account_request TO counterfoil_worker;
GRANT INSERT (id, lease, business_date, reopen, skip_account, reason, actor) ON counterfoil.run_request TO counterfoil_worker;
GRANT INSERT (lease, paused, reason, actor) ON counterfoil.planner_pause TO counterfoil_worker;
GRANT INSERT (account, from_lease, to_lease, reason, actor) ON counterfoil.account_request TO counterfoil_worker;
