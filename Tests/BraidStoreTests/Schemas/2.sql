-- The tables in which Braid Server stores its data in SQLite. The binary contains this file.
--
-- Times are milliseconds since 1970. JSON is stored as the text that the client sent.
--
-- The keys of a session's rows start with the session's number: `session << 32 | n`. The rows of a session are
-- therefore next to each other in one range of keys. A change writes only one or two leaf pages, whatever the size of
-- the table. There are no foreign keys: when a session ends, the server deletes its range of keys from each table.

PRAGMA application_id = 1114792297; -- "Brai"
PRAGMA user_version = 2;

-- This table has one row. It says which versions of the server may use the database.
CREATE TABLE compatibility (
    minimum_version INTEGER NOT NULL -- the oldest schema version that a server must know to use the database
) STRICT;

INSERT INTO compatibility (minimum_version) VALUES (2);

-- The registered table descriptions. A version that no session uses is deleted when it is no longer among the newest
-- versions of its table.
CREATE TABLE table_description (
    name TEXT NOT NULL,
    version INTEGER NOT NULL, -- the versions of a table count 1, 2, 3, …
    updated INTEGER NOT NULL,
    description TEXT NOT NULL,
    UNIQUE (name, version)
) STRICT;

-- This table has one row. The epoch of every session up to `last_session` ends with the suffix. If the database may
-- have lost revisions that clients have seen, the server replaces the suffix at its start. All these sessions then
-- have a new epoch, however many they are.
CREATE TABLE epoch_suffix (
    suffix TEXT NOT NULL,
    last_session INTEGER NOT NULL, -- the epochs of all sessions up to this number end with the suffix
    -- 1 if the next start replaces the suffix: in a backup, and while a server uses the database with --synchronous
    -- normal.
    is_due INTEGER NOT NULL
) STRICT;

INSERT INTO epoch_suffix (suffix, last_session, is_due) VALUES ('', 0, 0);

-- The facts of each session. Each commit writes the session's row again, so the row must not contain anything large.
-- With AUTOINCREMENT, a number is never used again. A late write to an ended session therefore cannot change another
-- session.
CREATE TABLE session (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    table_name TEXT,
    -- The version of a registered description; null if `state` or `opening` contains the description.
    table_version INTEGER,
    epoch TEXT NOT NULL,
    revision INTEGER NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    next_key INTEGER NOT NULL,
    next_section INTEGER NOT NULL,
    total_row_count INTEGER NOT NULL, -- the number of displayed rows, as clients see it
    journal_bytes INTEGER NOT NULL DEFAULT 0 -- the size of the texts in the session's journal
) STRICT;

CREATE INDEX session_of_table ON session (table_name, table_version) WHERE table_version IS NOT NULL;
CREATE INDEX session_by_table ON session (table_name, id);

-- The data with which each session was opened. When a session is bound to another version, `description` changes
-- once, from null to the text.
CREATE TABLE opening (
    session INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    -- The description in the request; null if the session still uses a registered one. For a session without a
    -- description: what it shows while it has no rows.
    description TEXT
) STRICT;

CREATE TABLE state (
    session INTEGER PRIMARY KEY,
    state TEXT NOT NULL,
    displayed_sections TEXT, -- the sections that a command has set to be displayed; null if no command has
    cells TEXT, -- the cells that were registered for this session, by model type; null if there are none
    description TEXT -- the inline description to which the session was bound after its opening; else null
) STRICT;

-- The key of a section is `session << 32 | number`, with the section's number in its session.
CREATE TABLE section (
    key INTEGER PRIMARY KEY,
    ordinal INTEGER NOT NULL,
    id TEXT NOT NULL,
    header TEXT, -- the header that a command has set; SQL null if none was set, and JSON null if it was set to none
    footer TEXT,
    prefetched INTEGER -- the number of the section's rows when `onPrefetch` last ran
) STRICT;

-- The stored rows. The key is `session << 32 | n`, with the row's key in its session. When the server loads a
-- session, it sorts the rows by the section's ordinal and the rank. An index for this order would be a second tree to
-- write at every insert.
CREATE TABLE model (
    key INTEGER PRIMARY KEY,
    section INTEGER NOT NULL, -- the number of the section in its session
    rank INTEGER NOT NULL,
    id TEXT, -- null if models of this type have no ids
    body TEXT NOT NULL
) STRICT;

-- The three tables `published…` contain what clients still see of a session with unpublished changes, which were
-- stored with `notify: false`. They contain only the differences between the published and the stored table. The next
-- commit that publishes deletes these rows.
CREATE TABLE published (
    session INTEGER PRIMARY KEY,
    updated INTEGER NOT NULL, -- the time of the published table
    displayed_sections TEXT
) STRICT;

-- The published content of changed sections, with the columns of `section`. All columns are null if the published
-- table lacks the section.
CREATE TABLE published_section (
    key INTEGER PRIMARY KEY,
    ordinal INTEGER,
    id TEXT,
    header TEXT,
    footer TEXT,
    prefetched INTEGER
) STRICT;

-- The published content of changed rows, with the columns of `model`. All columns are null if the published table
-- lacks the row.
CREATE TABLE published_model (
    key INTEGER PRIMARY KEY,
    section INTEGER,
    rank INTEGER,
    id TEXT,
    body TEXT
) STRICT;

-- The journal. The key is `session << 32 | revision`, with the revision that the command created.
CREATE TABLE journal (
    key INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    command TEXT NOT NULL,
    changes TEXT NOT NULL, -- the command's update, as JSON
    cell_events TEXT, -- the events of this command that controllers receive, as a JSON array; null if there are none
    -- The ids of the sections and rows that are no longer displayed after the update; null if there are none.
    hidden TEXT,
    undo TEXT NOT NULL -- the undo data, which leads back to the preceding revision
) STRICT;

CREATE TABLE answer (
    session INTEGER NOT NULL, -- the session's number; 0 for a request that opens a session
    requester TEXT NOT NULL, -- the id of the requester's token; empty for a controller
    key TEXT NOT NULL, -- the key from the client's header Idempotency-Key
    at INTEGER NOT NULL,
    request INTEGER NOT NULL, -- a hash of the request
    answer TEXT NOT NULL, -- a JSON object with "status", "headers", and "body" or "snapshot"
    cost_before INTEGER NOT NULL, -- the sum of the costs of the requester's earlier answers
    cost INTEGER NOT NULL, -- the cost of this answer: about its number of bytes
    PRIMARY KEY (session, requester, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX answer_by_age ON answer (at);
CREATE INDEX answer_by_cost ON answer (session, requester, cost_before);

-- The tokens for single sessions. The server stores only a hash of each token, and not the token itself.
CREATE TABLE token (
    id TEXT PRIMARY KEY,
    session INTEGER NOT NULL,
    role TEXT NOT NULL, -- the token's role: participant or viewer
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    hash TEXT NOT NULL -- the SHA-256 hash of the whole token, in hexadecimal
) STRICT, WITHOUT ROWID;

CREATE INDEX token_of_session ON token (session, id);
CREATE INDEX token_by_expiry ON token (expires);
