-- The tables of a Braid Server database in SQLite. The binary contains this file.
--
-- Times are milliseconds since 1970. JSON is stored as text. JSON of a client keeps the order of its members and the
-- written form of its numbers, but not the white space.
--
-- Sections, rows and journal records have a key that starts with the number of their session: `session << 32 | n`. So
-- the entries of one session are next to each other in a table, and one range of keys selects all of them. A change of
-- one row writes only one or two leaf pages of a table, however large the table is. There are no foreign keys: when a
-- session ends, the server deletes the session's entries by their range of keys.

PRAGMA application_id = 1114792297; -- "Brai"
PRAGMA user_version = 2;

-- A table with one row, which says which versions of the server may use the database.
CREATE TABLE compatibility (
    minimum_version INTEGER NOT NULL -- a server may use the database if it knows this schema version or a later one
) STRICT;

INSERT INTO compatibility (minimum_version) VALUES (2);

-- The registered table descriptions, in versions. The server keeps the latest versions of a description, and older
-- versions as long as a session uses them.
CREATE TABLE table_description (
    name TEXT NOT NULL,
    version INTEGER NOT NULL, -- the number of this version of the table description: 1, 2, 3, …
    updated INTEGER NOT NULL,
    description TEXT NOT NULL,
    UNIQUE (name, version)
) STRICT;

-- A table with one row. The epoch of every session with a number up to `last_session` ends with `suffix`. If a server
-- starts with a database that may have lost revisions which clients have seen, the server replaces the suffix. All
-- these sessions then have new epochs, although only one row has changed.
CREATE TABLE epoch_suffix (
    suffix TEXT NOT NULL,
    last_session INTEGER NOT NULL, -- a session number: sessions up to this one have epochs that end with the suffix
    -- 1: the next start of a server replaces the suffix, because this file is a backup or comes from an import, or
    -- because a server with --synchronous normal has not closed it
    is_due INTEGER NOT NULL
) STRICT;

INSERT INTO epoch_suffix (suffix, last_session, is_due) VALUES ('', 0, 0);

-- One row for each session. Each commit rewrites the session's row, so the row must stay small. AUTOINCREMENT: no
-- number is used twice, so that a late write to a session that has ended cannot change another session.
CREATE TABLE session (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    table_name TEXT,
    -- the version of the registered table description that the session uses. null: the session uses no registered
    -- description. `state` or `opening` then contains its description, if it has one
    table_version INTEGER,
    epoch TEXT NOT NULL,
    revision INTEGER NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    next_key INTEGER NOT NULL,
    next_section INTEGER NOT NULL,
    total_row_count INTEGER NOT NULL, -- the number of the session's displayed rows
    journal_bytes INTEGER NOT NULL DEFAULT 0, -- the size of the texts in the session's journal, in bytes
    unused_limit INTEGER, -- seconds: the server ends the session when it was unused for this time. null: it stays
    used INTEGER -- with `unused_limit`: when the session was last used, but up to a quarter of the limit too early
) STRICT;

CREATE INDEX session_of_table ON session (table_name, table_version) WHERE table_version IS NOT NULL;
CREATE INDEX session_by_table ON session (table_name, id);
CREATE INDEX session_by_use ON session (used) WHERE used IS NOT NULL;

-- The request with which each session was opened. Only `description` can change later: once, from null to the text,
-- when the session is bound to another version of its table description.
CREATE TABLE opening (
    session INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    -- the description with which the session was opened. null: the session still uses this description, and it is
    -- registered. For a session without a description: what clients see while there are no rows
    description TEXT
) STRICT;

CREATE TABLE state (
    session INTEGER PRIMARY KEY,
    state TEXT NOT NULL,
    -- the ids of the sections that a command has chosen for display; null: no command has chosen sections
    displayed_sections TEXT,
    cells TEXT, -- the session's own cells by model type; null: the session has none
    -- the table description to which a command has bound the session after its opening, if that description is not
    -- registered; else null
    description TEXT
) STRICT;

-- The stored sections. The key is `session << 32 | the section's number`.
CREATE TABLE section (
    key INTEGER PRIMARY KEY,
    ordinal INTEGER NOT NULL,
    id TEXT NOT NULL,
    header TEXT, -- SQL null: no command has set the header. JSON null: a command has removed it
    footer TEXT,
    -- the number of the section's displayed rows when the server last ran the handler onPrefetch; null: the handler has
    -- not run yet, or the section was filled with fewer rows since the last run
    prefetched INTEGER
) STRICT;

-- The stored rows. The key is `session << 32 | the row's key`. When the server loads a session, it sorts the rows by
-- the section's ordinal and the rank. An index for this order would be a second tree that every insert has to change.
CREATE TABLE model (
    key INTEGER PRIMARY KEY,
    section INTEGER NOT NULL, -- the number of the section that contains the row
    rank INTEGER NOT NULL,
    id TEXT, -- the row's id; null: the row has no id
    body TEXT NOT NULL
) STRICT;

-- What clients still see of a session with unpublished changes (`notify=false`). The tables `published…` contain only
-- the parts of the published table that differ from the stored table. The next commit that publishes the changes
-- deletes these parts.
CREATE TABLE published (
    session INTEGER PRIMARY KEY,
    updated INTEGER NOT NULL, -- the time at which the published table was committed
    displayed_sections TEXT
) STRICT;

-- The published state of changed sections, in the columns of `section`. All columns except the key are null: the
-- published table does not contain the section.
CREATE TABLE published_section (
    key INTEGER PRIMARY KEY,
    ordinal INTEGER,
    id TEXT,
    header TEXT,
    footer TEXT,
    prefetched INTEGER
) STRICT;

-- The published state of changed rows, in the columns of `model`. All columns except the key are null: the published
-- table does not contain the row.
CREATE TABLE published_model (
    key INTEGER PRIMARY KEY,
    section INTEGER,
    rank INTEGER,
    id TEXT,
    body TEXT
) STRICT;

-- The journals of all sessions. The key is `session << 32 | the revision to which the command led`.
CREATE TABLE journal (
    key INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    command TEXT NOT NULL,
    changes TEXT NOT NULL, -- the command's update, in JSON
    -- the command's taps, cell events and emitted events, which controllers receive, as an array; null: there are none
    cell_events TEXT,
    -- the rows and sections that the update removes from the display or replaces there, with their ids; null: there are
    -- none
    hidden TEXT,
    undo TEXT NOT NULL, -- what the server needs to restore the session at the revision before this one
    author TEXT -- who sent the command: {"id", "name", "role", "claims"?}; null: a controller without a user
) STRICT;

CREATE TABLE answer (
    session INTEGER NOT NULL, -- the number of the session that got the request; 0: the request opens a session
    requester TEXT NOT NULL, -- the id of the requester's token; empty: the requester is a controller
    key TEXT NOT NULL, -- the client's Idempotency-Key, without quotes
    at INTEGER NOT NULL,
    request INTEGER NOT NULL, -- a hash of the request's method, target and body
    answer TEXT NOT NULL, -- the stored answer: {"status", "headers", "body" or "snapshot"}
    cost_before INTEGER NOT NULL, -- the sum of the costs of the requester's earlier answers in this session
    cost INTEGER NOT NULL, -- the cost of this answer: about its size in bytes, at least 1,024
    PRIMARY KEY (session, requester, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX answer_by_age ON answer (at);
CREATE INDEX answer_by_cost ON answer (session, requester, cost_before);

-- The access tokens. The database contains only a hash of each token, so that a reader of the database cannot use the
-- tokens.
CREATE TABLE token (
    id TEXT PRIMARY KEY,
    session INTEGER NOT NULL, -- the number of the only session that the token covers; 0: see `grants`
    role TEXT NOT NULL, -- the role that the token gives: controller, participant or viewer
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    hash TEXT NOT NULL, -- the SHA-256 of the whole token, in hexadecimal
    -- whose the token is, and what it covers: {"user"?, "name"?, "claims"?, "sessions"?, "tables"?}; null: none of these
    grants TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX token_of_session ON token (session, id);
CREATE INDEX token_by_expiry ON token (expires);
