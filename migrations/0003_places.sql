-- Where books come from, and what lies in the inbox and is not read.

SELECT counterfoil.exclude_writers();

-- A place (a name in the inbox, or the setting that holds a query) says one thing after another, and may come back to
-- what it said before. So a content may make several batches, and a batch names its place.
ALTER TABLE counterfoil.book_batch ADD COLUMN place text, DROP CONSTRAINT book_batch_account_sha256_key;
ALTER TABLE counterfoil.book_batch DISABLE TRIGGER USER;
UPDATE counterfoil.book_batch b SET place = f.name FROM counterfoil.source_file f 
WHERE f.lease = b.lease AND f.sha256 = b.sha256;
ALTER TABLE counterfoil.book_batch ENABLE TRIGGER USER;
ALTER TABLE counterfoil.book_batch ALTER COLUMN place SET NOT NULL;
CREATE INDEX book_batch_content ON counterfoil.book_batch (sha256, account);

-- What the leader's last look found in the inbox and did not read, or did not take though its content is known: for
-- people. As many rows as there are such files now.
CREATE TABLE counterfoil.file_left (
    id    bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The book whose inbox it is.
    lease text        NOT NULL DEFAULT counterfoil.entered_lease(),
    name  text        NOT NULL,
    why   text        NOT NULL CHECK (why IN ('unreadable', 'too_large', 'taken_before')),
    told  text        NOT NULL,
    since timestamptz NOT NULL DEFAULT clock_timestamp()
);
SELECT counterfoil.fence_table('counterfoil.file_left');
GRANT SELECT, INSERT (name, why, told), DELETE ON counterfoil.file_left TO counterfoil_worker;
