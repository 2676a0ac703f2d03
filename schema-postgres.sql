-- What Braid Server keeps in PostgreSQL. The binary contains this file. The tables are those of schema.sql, which says more
-- about each.
--
-- Times are milliseconds since 1970. JSON is the text that the client sent: `jsonb` would lose the order of members, and
-- numbers as they were written. What clients name is `bytea`, the UTF-8 bytes of the name: they may have U+0000, which
-- `text` cannot hold, and are in the order of their bytes. What belongs to a session has a key that starts with the session's
-- number: a range of the index, or a shard, is all of it. There are no foreign keys where a command writes.

-- One row, for the servers that share the database.
CREATE TABLE braid_server (
    application TEXT NOT NULL,
    version BIGINT NOT NULL,
    minimum_version BIGINT NOT NULL, -- a server may use the database if it knows this schema version or a later one
    answer_time BIGINT NOT NULL -- the servers' clock for the age of kept answers, at most a minute late
);
INSERT INTO braid_server (application, version, minimum_version, answer_time)
VALUES ('Braid Server', 2, 2, extract(epoch FROM clock_timestamp()) * 1000);

CREATE TABLE table_description (
    name BYTEA NOT NULL,
    version BIGINT NOT NULL, -- 1, 2, 3, …
    updated BIGINT NOT NULL,
    description TEXT NOT NULL,
    PRIMARY KEY (name, version)
);

-- One row. Every session's epoch ends with the suffix if the session is as old as it. A server that connects to a database which may have
-- lost what clients have seen replaces the suffix.
CREATE TABLE epoch_suffix (
    suffix BYTEA NOT NULL,
    last_session BIGINT NOT NULL, -- the suffix belongs to the sessions up to this number
    place TEXT NOT NULL, -- cluster, timeline, database and table for which the suffix was made; others: a restored copy, or a standby that took over
    loses_commits BOOLEAN NOT NULL -- a server uses it with --synchronous normal: a crash of the database may lose commits
);
INSERT INTO epoch_suffix (suffix, last_session, place, loses_commits) VALUES ('', 0, '', false);

-- PostgreSQL empties an unlogged table after a crash, and has none of its rows on a standby. It has a row while `loses_commits` holds.
CREATE UNLOGGED TABLE crash_detector (
    is_set BOOLEAN NOT NULL
);

-- Rewritten by each commit, within its page: half of each is left free for that.
-- A sequence gives no number twice: a late write to a session that has ended cannot hit another one.
CREATE TABLE session (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id BYTEA NOT NULL UNIQUE,
    table_name BYTEA,
    table_version BIGINT, -- of a registered description; null: the description stands in `state` or `opening`
    epoch BYTEA NOT NULL,
    revision BIGINT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    next_key BIGINT NOT NULL,
    next_section BIGINT NOT NULL,
    total_row_count BIGINT NOT NULL, -- as clients see it
    journal_bytes BIGINT NOT NULL DEFAULT 0, -- of the texts in its journal
    FOREIGN KEY (table_name, table_version) REFERENCES table_description (name, version)
) WITH (fillfactor = 50);

CREATE INDEX session_of_table ON session (table_name, table_version) WHERE table_version IS NOT NULL;
CREATE INDEX session_by_table ON session (table_name, id);

CREATE TABLE opening (
    session BIGINT PRIMARY KEY,
    body TEXT NOT NULL,
    description TEXT -- inline; null: the registered one that the session still uses. Without a table: what is shown while there are no rows
);

CREATE TABLE state (
    session BIGINT PRIMARY KEY,
    state TEXT NOT NULL,
    displayed_sections TEXT, -- null: none were set
    cells TEXT, -- the session's own cells by model type; null: none
    description TEXT -- inline, if the session was bound to another one than it was opened with; else null
);

CREATE TABLE section (
    session BIGINT NOT NULL,
    key BIGINT NOT NULL, -- the section's number
    ordinal BIGINT NOT NULL,
    id BYTEA NOT NULL,
    header TEXT, -- SQL null: none was set; JSON null: set to none
    footer TEXT,
    prefetched BIGINT,
    PRIMARY KEY (session, key)
);

CREATE TABLE model (
    session BIGINT NOT NULL,
    key BIGINT NOT NULL,
    section BIGINT NOT NULL, -- the section's number
    rank BIGINT NOT NULL,
    id BYTEA, -- null: the model's type is not identifiable
    body TEXT NOT NULL,
    PRIMARY KEY (session, key)
);

-- What clients go on seeing of a session that has changes which are not published.
CREATE TABLE published (
    session BIGINT PRIMARY KEY,
    updated BIGINT NOT NULL,
    displayed_sections TEXT
);

-- As `section`; all null: there was no such section.
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

-- As `model`; all null: there was no such row.
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
    revision BIGINT NOT NULL, -- that the command led to
    at BIGINT NOT NULL,
    command TEXT NOT NULL,
    changes TEXT NOT NULL, -- the update, in JSON
    cell_events TEXT,
    hidden TEXT,
    undo TEXT NOT NULL, -- what leads back to the revision before
    PRIMARY KEY (session, revision)
);

CREATE TABLE answer (
    session BIGINT NOT NULL, -- 0: the opening of a session
    requester BYTEA NOT NULL, -- the id of the requester's token; empty: a controller
    key BYTEA NOT NULL, -- the client's Idempotency-Key
    at BIGINT NOT NULL,
    request BIGINT NOT NULL, -- a hash of what was asked
    answer TEXT NOT NULL,
    cost_before BIGINT NOT NULL, -- of the requester's earlier answers
    cost BIGINT NOT NULL, -- of this one: about its bytes
    PRIMARY KEY (session, requester, key)
);

CREATE INDEX answer_by_age ON answer (at);
CREATE INDEX answer_by_cost ON answer (session, requester, cost_before);

CREATE TABLE token (
    id BYTEA PRIMARY KEY,
    session BIGINT NOT NULL,
    role TEXT NOT NULL, -- participant or viewer
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    hash TEXT NOT NULL -- of the whole token: SHA-256 in hexadecimal
);

CREATE INDEX token_of_session ON token (session, id);
CREATE INDEX token_by_expiry ON token (expires);
