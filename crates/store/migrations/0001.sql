-- The first schema. Content is held once; `facts` is the ordered record of its changes.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    key          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    alias        TEXT UNIQUE,
    title        TEXT NOT NULL,
    workspace    TEXT,
    cwd          TEXT,
    model        TEXT,
    mode         TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    updated_seq  INTEGER NOT NULL,
    messages     INTEGER NOT NULL DEFAULT 0,
    run          TEXT,
    phase        TEXT,
    input        INTEGER NOT NULL DEFAULT 0,
    output       INTEGER NOT NULL DEFAULT 0,
    reasoning    INTEGER NOT NULL DEFAULT 0,
    cache_read   INTEGER NOT NULL DEFAULT 0,
    cache_write  INTEGER NOT NULL DEFAULT 0,
    deleted      INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX sessions_recent ON sessions (updated_seq) WHERE deleted = 0;
CREATE INDEX sessions_deleted ON sessions (key) WHERE deleted = 1;

-- A message's key rises in the order of storing, which is the order of the conversation.
CREATE TABLE messages (
    key        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    session    INTEGER NOT NULL,
    role       TEXT NOT NULL,
    run        TEXT,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_of_session ON messages (session);

-- A part's key is its message's key times 2^20 plus its index: one tree, parts of a message side by side.
CREATE TABLE parts (
    key  INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE runs (
    key         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    session     INTEGER NOT NULL,
    message     INTEGER NOT NULL,
    model       TEXT NOT NULL,
    mode        TEXT NOT NULL,
    interactive INTEGER NOT NULL,
    state       TEXT NOT NULL,
    phase       TEXT NOT NULL,
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER
) STRICT;
CREATE INDEX runs_of_session ON runs (session);
CREATE INDEX runs_live ON runs (phase) WHERE ended_at IS NULL;

CREATE TABLE facts (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    subject TEXT NOT NULL,
    session TEXT,
    kind    TEXT NOT NULL,
    version INTEGER NOT NULL,
    body    TEXT NOT NULL
) STRICT;
CREATE INDEX facts_of_session ON facts (session) WHERE session IS NOT NULL;

CREATE TABLE idempotency (
    key    INTEGER PRIMARY KEY,
    scope  TEXT NOT NULL,
    token  TEXT NOT NULL,
    answer TEXT NOT NULL,
    at     INTEGER NOT NULL,
    UNIQUE (scope, token)
) STRICT;
