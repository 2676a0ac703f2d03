-- What Braid Server keeps in SQLite. The binary contains this file.
--
-- Times are milliseconds since 1970, JSON is the text that the client sent. Everything that belongs to a session has
-- a key that starts with the session's number, `session << 32 | n`: one session's things lie side by side, a range of
-- keys is all of them, and a change writes a leaf or two however large the table is. There are no foreign keys: what
-- belongs to a session is deleted with it by key range.

PRAGMA application_id = 1114792297; -- "Brai"
PRAGMA user_version = 2;

-- One row: which versions of the server may use the database.
CREATE TABLE compatibility (
    minimum_version INTEGER NOT NULL -- a server may use the database if it knows this schema version or a later one
) STRICT;

INSERT INTO compatibility (minimum_version) VALUES (2);

-- Registered table descriptions. A version that no session uses is dropped when it is not among the latest ones any
-- more.
CREATE TABLE table_description (
    name TEXT NOT NULL,
    version INTEGER NOT NULL, -- 1, 2, 3, …
    updated INTEGER NOT NULL,
    description TEXT NOT NULL,
    UNIQUE (name, version)
) STRICT;

-- One row. Every session's epoch ends with the suffix if the session is as old as it. A start from a database that may have lost what
-- clients have seen replaces the suffix: all those sessions have a new epoch then, whatever their number.
CREATE TABLE epoch_suffix (
    suffix TEXT NOT NULL,
    last_session INTEGER NOT NULL, -- the suffix belongs to the sessions up to this number
    is_due INTEGER NOT NULL -- 1: the next start replaces the suffix. This is a backup, or a server uses it with --synchronous normal
) STRICT;

INSERT INTO epoch_suffix (suffix, last_session, is_due) VALUES ('', 0, 0);

-- A session's facts, rewritten by each commit: nothing large may stand here.
-- AUTOINCREMENT: a number is never used again, so a late write to a session that has ended cannot hit another one.
CREATE TABLE session (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    table_name TEXT,
    table_version INTEGER, -- of a registered description; null: the description stands in `state` or `opening`
    epoch TEXT NOT NULL,
    revision INTEGER NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    next_key INTEGER NOT NULL,
    next_section INTEGER NOT NULL,
    total_row_count INTEGER NOT NULL, -- as clients see it
    journal_bytes INTEGER NOT NULL DEFAULT 0 -- of the texts in its journal
) STRICT;

CREATE INDEX session_of_table ON session (table_name, table_version) WHERE table_version IS NOT NULL;
CREATE INDEX session_by_table ON session (table_name, id);

-- What a session was opened with. Only the description changes once, from null to the text, when the session is bound to
-- another version.
CREATE TABLE opening (
    session INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    description TEXT -- inline; null: the registered one that the session still uses. Without a table: what is shown while there are no rows
) STRICT;

CREATE TABLE state (
    session INTEGER PRIMARY KEY,
    state TEXT NOT NULL,
    displayed_sections TEXT, -- null: none were set
    cells TEXT, -- the session's own cells by model type; null: none
    description TEXT -- inline, if the session was bound to another one than it was opened with; else null
) STRICT;

-- key: session << 32 | the section's number
CREATE TABLE section (
    key INTEGER PRIMARY KEY,
    ordinal INTEGER NOT NULL,
    id TEXT NOT NULL,
    header TEXT, -- SQL null: none was set; JSON null: set to none
    footer TEXT,
    prefetched INTEGER -- the section's rows when the description's onPrefetch was last called
) STRICT;

-- key: session << 32 | the row's key. Sorted by (ordinal of the section, rank) when a session is loaded: an index on
-- them would be a second tree to write on every insert.
CREATE TABLE model (
    key INTEGER PRIMARY KEY,
    section INTEGER NOT NULL, -- the section's number
    rank INTEGER NOT NULL,
    id TEXT, -- null: the model's type is not identifiable
    body TEXT NOT NULL
) STRICT;

-- What clients go on seeing of a session that has changes which were stored with `notify: false`: where its published
-- table differs from the stored one, how it is. The next commit that publishes deletes all of it.
CREATE TABLE published (
    session INTEGER PRIMARY KEY,
    updated INTEGER NOT NULL, -- when the published table was
    displayed_sections TEXT
) STRICT;

-- As `section`; all null: there was no such section.
CREATE TABLE published_section (
    key INTEGER PRIMARY KEY,
    ordinal INTEGER,
    id TEXT,
    header TEXT,
    footer TEXT,
    prefetched INTEGER
) STRICT;

-- As `model`; all null: there was no such row.
CREATE TABLE published_model (
    key INTEGER PRIMARY KEY,
    section INTEGER,
    rank INTEGER,
    id TEXT,
    body TEXT
) STRICT;

-- key: session << 32 | the revision that the command led to
CREATE TABLE journal (
    key INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    command TEXT NOT NULL,
    changes TEXT NOT NULL, -- the update, in JSON
    cell_events TEXT, -- what controllers are told of the command's cell events, an array; null for none
    hidden TEXT, -- ids of the sections and rows that the update took out of sight; null: none
    undo TEXT NOT NULL -- what leads back to the revision before
) STRICT;

CREATE TABLE answer (
    session INTEGER NOT NULL, -- 0: the opening of a session
    requester TEXT NOT NULL, -- the id of the requester's token; empty: a controller
    key TEXT NOT NULL, -- the client's Idempotency-Key
    at INTEGER NOT NULL,
    request INTEGER NOT NULL, -- a hash of what was asked
    answer TEXT NOT NULL, -- {"status", "headers", "body" or "snapshot"}
    cost_before INTEGER NOT NULL, -- of the requester's earlier answers
    cost INTEGER NOT NULL, -- of this one: about its bytes
    PRIMARY KEY (session, requester, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX answer_by_age ON answer (at);
CREATE INDEX answer_by_cost ON answer (session, requester, cost_before);

-- Tokens that let their bearer into one session. The token itself is not kept, only a hash of it.
CREATE TABLE token (
    id TEXT PRIMARY KEY,
    session INTEGER NOT NULL,
    role TEXT NOT NULL, -- participant or viewer
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    hash TEXT NOT NULL -- of the whole token: SHA-256 in hexadecimal
) STRICT, WITHOUT ROWID;

CREATE INDEX token_of_session ON token (session, id);
CREATE INDEX token_by_expiry ON token (expires);
