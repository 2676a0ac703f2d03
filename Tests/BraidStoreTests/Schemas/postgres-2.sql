-- The tables in which Braid Server stores its data in PostgreSQL. The binary contains this file. The file schema.sql
-- has the same tables for SQLite, and explains each of them.
--
-- Times are milliseconds since 1970. JSON is stored as the text that the client sent: `jsonb` would lose the order of
-- members and the notation of numbers. The names that clients choose are stored in `bytea`, as UTF-8. A name may
-- contain U+0000, which `text` does not allow, and names are sorted by their bytes.
--
-- The keys of a session's rows start with the session's number. All rows of a session are therefore in one range of
-- an index, or in one shard. The tables into which commands write have no foreign keys.

-- This table has one row, for the servers that share the database.
CREATE TABLE braid_server (
    application TEXT NOT NULL,
    version BIGINT NOT NULL,
    minimum_version BIGINT NOT NULL, -- the oldest schema version that a server must know to use the database
    answer_time BIGINT NOT NULL -- the time of the servers' clock for the age of kept answers, at most a minute old
);
INSERT INTO braid_server (application, version, minimum_version, answer_time)
VALUES ('Braid Server', 2, 2, extract(epoch FROM clock_timestamp()) * 1000);

CREATE TABLE table_description (
    name BYTEA NOT NULL,
    version BIGINT NOT NULL, -- the versions of a table count 1, 2, 3, …
    updated BIGINT NOT NULL,
    description TEXT NOT NULL,
    PRIMARY KEY (name, version)
);

-- This table has one row. The epoch of every session up to `last_session` ends with the suffix. A server that
-- connects to a database which may have lost revisions that clients have seen replaces the suffix.
CREATE TABLE epoch_suffix (
    suffix BYTEA NOT NULL,
    last_session BIGINT NOT NULL, -- the epochs of all sessions up to this number end with the suffix
    -- The cluster, timeline, database and table for which the suffix was made. If they differ, this is a restored
    -- copy, or a standby that took over.
    place TEXT NOT NULL,
    -- True while a server uses the database with --synchronous normal, because a crash of PostgreSQL may then lose
    -- commits.
    loses_commits BOOLEAN NOT NULL
);
INSERT INTO epoch_suffix (suffix, last_session, place, loses_commits) VALUES ('', 0, '', false);

-- This table has a row while `loses_commits` is true. PostgreSQL empties an unlogged table after a crash, and a
-- standby has none of its rows. A missing row therefore shows that commits may be lost.
CREATE UNLOGGED TABLE crash_detector (
    is_set BOOLEAN NOT NULL
);

-- The facts of each session. Each commit writes the session's row again within its page, so half of each page is left
-- free. The sequence never returns a number twice. A late write to an ended session therefore cannot change another
-- session.
CREATE TABLE session (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id BYTEA NOT NULL UNIQUE,
    table_name BYTEA,
    -- The version of a registered description; null if `state` or `opening` contains the description.
    table_version BIGINT,
    epoch BYTEA NOT NULL,
    revision BIGINT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    next_key BIGINT NOT NULL,
    next_section BIGINT NOT NULL,
    total_row_count BIGINT NOT NULL, -- the number of displayed rows, as clients see it
    journal_bytes BIGINT NOT NULL DEFAULT 0, -- the size of the texts in the session's journal
    FOREIGN KEY (table_name, table_version) REFERENCES table_description (name, version)
) WITH (fillfactor = 50);

CREATE INDEX session_of_table ON session (table_name, table_version) WHERE table_version IS NOT NULL;
CREATE INDEX session_by_table ON session (table_name, id);

CREATE TABLE opening (
    session BIGINT PRIMARY KEY,
    body TEXT NOT NULL,
    -- The description in the request; null if the session still uses a registered one. For a session without a
    -- description: what it shows while it has no rows.
    description TEXT
);

CREATE TABLE state (
    session BIGINT PRIMARY KEY,
    state TEXT NOT NULL,
    displayed_sections TEXT, -- the sections that a command has set to be displayed; null if no command has
    cells TEXT, -- the cells that were registered for this session, by model type; null if there are none
    description TEXT -- the inline description to which the session was bound after its opening; else null
);

CREATE TABLE section (
    session BIGINT NOT NULL,
    key BIGINT NOT NULL, -- the number of the section in its session
    ordinal BIGINT NOT NULL,
    id BYTEA NOT NULL,
    header TEXT, -- the header that a command has set; SQL null if none was set, and JSON null if it was set to none
    footer TEXT,
    prefetched BIGINT,
    PRIMARY KEY (session, key)
);

CREATE TABLE model (
    session BIGINT NOT NULL,
    key BIGINT NOT NULL,
    section BIGINT NOT NULL, -- the number of the section in its session
    rank BIGINT NOT NULL,
    id BYTEA, -- null if models of this type have no ids
    body TEXT NOT NULL,
    PRIMARY KEY (session, key)
);

-- The three tables `published…` contain what clients still see of a session with unpublished changes.
CREATE TABLE published (
    session BIGINT PRIMARY KEY,
    updated BIGINT NOT NULL,
    displayed_sections TEXT
);

-- The published content of changed sections, with the columns of `section`. All columns are null if the published
-- table lacks the section.
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

-- The published content of changed rows, with the columns of `model`. All columns are null if the published table
-- lacks the row.
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
    revision BIGINT NOT NULL, -- the revision that the command created
    at BIGINT NOT NULL,
    command TEXT NOT NULL,
    changes TEXT NOT NULL, -- the command's update, as JSON
    cell_events TEXT,
    hidden TEXT,
    undo TEXT NOT NULL, -- the undo data, which leads back to the preceding revision
    PRIMARY KEY (session, revision)
);

CREATE TABLE answer (
    session BIGINT NOT NULL, -- the session's number; 0 for a request that opens a session
    requester BYTEA NOT NULL, -- the id of the requester's token; empty for a controller
    key BYTEA NOT NULL, -- the key from the client's header Idempotency-Key
    at BIGINT NOT NULL,
    request BIGINT NOT NULL, -- a hash of the request
    answer TEXT NOT NULL,
    cost_before BIGINT NOT NULL, -- the sum of the costs of the requester's earlier answers
    cost BIGINT NOT NULL, -- the cost of this answer: about its number of bytes
    PRIMARY KEY (session, requester, key)
);

CREATE INDEX answer_by_age ON answer (at);
CREATE INDEX answer_by_cost ON answer (session, requester, cost_before);

CREATE TABLE token (
    id BYTEA PRIMARY KEY,
    session BIGINT NOT NULL,
    role TEXT NOT NULL, -- the token's role: participant or viewer
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    hash TEXT NOT NULL -- the SHA-256 hash of the whole token, in hexadecimal
);

CREATE INDEX token_of_session ON token (session, id);
CREATE INDEX token_by_expiry ON token (expires);
