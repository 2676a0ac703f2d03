-- The tables of a Braid Server database in PostgreSQL. The binary contains this file. Most tables are those of
-- schema.sql, which explains more about each of them. Only PostgreSQL has the tables `braid_server`,
-- `crash_detector` and `last_commit`.
--
-- Times are milliseconds since 1970. JSON is stored as `text`, without white space between tokens. `jsonb` would lose
-- the order of members and the written form of numbers. Names that clients choose are stored as `bytea`, in UTF-8: a
-- name can contain U+0000, which `text` cannot store, and `bytea` is sorted by bytes.
--
-- The sections, models and journal records of a session have a key that starts with the session's number, so that one
-- range of the index, or one shard, contains all of them. The large tables (section, model, journal) have no foreign
-- keys, which each command would have to check.

-- A table with one row, for all servers that share the database.
CREATE TABLE braid_server (
    application TEXT NOT NULL,
    version BIGINT NOT NULL,
    minimum_version BIGINT NOT NULL, -- a server may use the database if it knows this schema version or a later one
    answer_time BIGINT NOT NULL, -- the servers' common clock for the age of stored answers; at most a minute late
    ticket_secret TEXT -- signs tickets, together with the servers' token if they have one; null: there was no ticket yet
);
INSERT INTO braid_server (application, version, minimum_version, answer_time)
VALUES ('Braid Server', 2, 2, extract(epoch FROM clock_timestamp()) * 1000);

CREATE TABLE table_description (
    name BYTEA NOT NULL,
    version BIGINT NOT NULL, -- the number of this version of the table description: 1, 2, 3, …
    updated BIGINT NOT NULL,
    description TEXT NOT NULL,
    PRIMARY KEY (name, version)
);

-- A table with one row. The epoch of every session with a number up to `last_session` ends with `suffix`. If a server
-- connects to a database that may have lost revisions which clients have seen, the server replaces the suffix. All
-- these sessions then have new epochs.
CREATE TABLE epoch_suffix (
    suffix BYTEA NOT NULL,
    last_session BIGINT NOT NULL, -- a session number: sessions up to this one have epochs that end with the suffix
    -- the cluster, timeline, database and table for which the suffix was made. If the present ones differ, this is a
    -- restored copy, or a standby that took over
    place TEXT NOT NULL,
    -- whether a server has used the database with --synchronous normal since the suffix was made, so that a crash of
    -- the database may lose commits
    loses_commits BOOLEAN NOT NULL
);
INSERT INTO epoch_suffix (suffix, last_session, place, loses_commits) VALUES ('', 0, '', false);

-- A server that sets `loses_commits` stores one row in this table. PostgreSQL empties an unlogged table after a crash,
-- and its rows do not exist on a standby. So if `loses_commits` is set and the row is missing, commits may be lost.
CREATE UNLOGGED TABLE crash_detector (
    is_set BOOLEAN NOT NULL
);

-- One row for each session, which each commit rewrites. Half of each page is left free, so that PostgreSQL can write
-- the new row into the same page. The sequence gives no number twice, so that a late write to a session that has ended
-- cannot change another session.
CREATE TABLE session (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id BYTEA NOT NULL UNIQUE,
    table_name BYTEA,
    -- the version of the registered table description that the session uses. null: the session uses no registered
    -- description. `state` or `opening` then contains its description, if it has one
    table_version BIGINT,
    epoch BYTEA NOT NULL,
    revision BIGINT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    next_key BIGINT NOT NULL,
    next_section BIGINT NOT NULL,
    total_row_count BIGINT NOT NULL, -- the number of the session's displayed rows
    journal_bytes BIGINT NOT NULL DEFAULT 0, -- the size of the texts in the session's journal, in bytes
    unused_limit BIGINT, -- seconds: the servers end the session when it was unused for this time. null: it stays
    used BIGINT, -- with `unused_limit`: when the session was last used, but up to a quarter of the limit too early
    FOREIGN KEY (table_name, table_version) REFERENCES table_description (name, version)
) WITH (fillfactor = 50);

CREATE INDEX session_of_table ON session (table_name, table_version) WHERE table_version IS NOT NULL;
CREATE INDEX session_by_table ON session (table_name, id);
CREATE INDEX session_by_use ON session (used) WHERE used IS NOT NULL;

CREATE TABLE opening (
    session BIGINT PRIMARY KEY,
    body TEXT NOT NULL,
    -- the description with which the session was opened. null: the session still uses this description, and it is
    -- registered. For a session without a description: what clients see while there are no rows
    description TEXT
);

CREATE TABLE state (
    session BIGINT PRIMARY KEY,
    state TEXT NOT NULL,
    -- the ids of the sections that a command has chosen for display; null: no command has chosen sections
    displayed_sections TEXT,
    cells TEXT, -- the session's own cells by model type; null: the session has none
    -- the table description to which a command has bound the session after its opening, if that description is not
    -- registered; else null
    description TEXT
);

CREATE TABLE section (
    session BIGINT NOT NULL,
    key BIGINT NOT NULL, -- the section's number
    ordinal BIGINT NOT NULL,
    id BYTEA NOT NULL,
    header TEXT, -- SQL null: no command has set the header. JSON null: a command has removed it
    footer TEXT,
    prefetched BIGINT,
    PRIMARY KEY (session, key)
);

CREATE TABLE model (
    session BIGINT NOT NULL,
    key BIGINT NOT NULL,
    section BIGINT NOT NULL, -- the number of the section that contains the row
    rank BIGINT NOT NULL,
    id BYTEA, -- the row's id; null: the row has no id
    body TEXT NOT NULL,
    PRIMARY KEY (session, key)
);

-- What clients still see of a session with unpublished changes. The tables `published…` contain only the parts of the
-- published table that differ from the stored table.
CREATE TABLE published (
    session BIGINT PRIMARY KEY,
    updated BIGINT NOT NULL,
    displayed_sections TEXT
);

-- The published state of changed sections, in the columns of `section`. All columns except the key are null: the
-- published table does not contain the section.
CREATE TABLE published_section (
    session BIGINT NOT NULL REFERENCES published ON DELETE CASCADE,
    key BIGINT NOT NULL,
    ordinal BIGINT,
    id BYTEA,
    header TEXT,
    footer TEXT,
    prefetched BIGINT,
    PRIMARY KEY (session, key)
);

-- The published state of changed rows, in the columns of `model`. All columns except the key are null: the published
-- table does not contain the row.
CREATE TABLE published_model (
    session BIGINT NOT NULL REFERENCES published ON DELETE CASCADE,
    key BIGINT NOT NULL,
    section BIGINT,
    rank BIGINT,
    id BYTEA,
    body TEXT,
    PRIMARY KEY (session, key)
);

CREATE TABLE journal (
    session BIGINT NOT NULL,
    revision BIGINT NOT NULL, -- the revision to which the command led
    at BIGINT NOT NULL,
    command TEXT NOT NULL,
    changes TEXT NOT NULL, -- the command's update, in JSON
    cell_events TEXT,
    hidden TEXT,
    undo TEXT NOT NULL, -- what the server needs to restore the session at the revision before this one
    author TEXT, -- who sent the command: {"id", "name", "role", "claims"?}; null: a controller without a user
    PRIMARY KEY (session, revision)
);

CREATE TABLE answer (
    session BIGINT NOT NULL, -- the number of the session that got the request; 0: the request opens a session
    requester BYTEA NOT NULL, -- the id of the requester's token; empty: the requester is a controller
    key BYTEA NOT NULL, -- the client's Idempotency-Key, without quotes
    at BIGINT NOT NULL,
    request BIGINT NOT NULL, -- a hash of the request's method, target and body
    answer TEXT NOT NULL,
    cost_before BIGINT NOT NULL, -- the sum of the costs of the requester's earlier answers in this session
    cost BIGINT NOT NULL, -- the cost of this answer: about its size in bytes, at least 1,024
    PRIMARY KEY (session, requester, key)
);

CREATE INDEX answer_by_age ON answer (at);
CREATE INDEX answer_by_cost ON answer (session, requester, cost_before);

CREATE TABLE token (
    id BYTEA PRIMARY KEY,
    session BIGINT NOT NULL, -- the number of the only session that the token covers; 0: see `grants`
    role TEXT NOT NULL, -- the role that the token gives: controller, participant or viewer
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    hash TEXT NOT NULL, -- the SHA-256 of the whole token, in hexadecimal
    grants TEXT -- whose the token is, and what it covers; null: nobody's, and all
);

CREATE INDEX token_of_session ON token (session, id);
CREATE INDEX token_by_expiry ON token (expires);

-- The number of the last transaction that each writing connection has committed. A server whose connection is lost
-- during COMMIT reads here whether the transaction is stored. Rows are deleted after a day.
CREATE TABLE last_commit (
    connection BIGINT PRIMARY KEY, -- a random number
    number BIGINT NOT NULL,
    at BIGINT NOT NULL
);
