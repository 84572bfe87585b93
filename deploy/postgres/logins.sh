#!/bin/sh
# The two logins of Counterfoil, made when the volume is new. The owner makes the schema and is used by `migrate` alone;
# the workers' login owns nothing, and gets its rights from `migrate`.
set -eu
# Sent as it is read, never on a command line: `ps` shows those.
owner=$(cat /run/secrets/postgres_owner_password)
worker=$(cat /run/secrets/postgres_worker_password)
psql --quiet --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname "$POSTGRES_DB" <<SQL
SET log_statement = 'none';
SET password_encryption = 'scram-sha-256';
CREATE ROLE counterfoil_owner LOGIN CREATEROLE PASSWORD '$owner';
CREATE ROLE counterfoil LOGIN PASSWORD '$worker';
ALTER DATABASE $POSTGRES_DB OWNER TO counterfoil_owner;
REVOKE ALL ON DATABASE $POSTGRES_DB FROM PUBLIC;
GRANT CONNECT ON DATABASE $POSTGRES_DB TO counterfoil;
SQL
