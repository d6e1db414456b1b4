-- The tables of the embedded store, version 1.
--
-- Ids are 16-byte blobs that sort by the time of making. Instants and spans are nanoseconds, kept as
-- the 64 bits they are. States of deliveries: 0 pending, 1 waiting, 2 delivered, 3 dead, 4 cancelled;
-- the conditions of the indexes below say "open" (< 2) and "ended without success" (>= 3).

-- run: the number of the newest run of the dispatcher. slack: by how many milliseconds the time within
-- a message's id and the time of its acceptance have differed at most.
CREATE TABLE mark (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO mark VALUES ('run', 0), ('slack', 0);

-- gone: deleted, and what belongs to it is being deleted.
CREATE TABLE application (
    id BLOB PRIMARY KEY,
    document TEXT NOT NULL,
    gone INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- gone_at: when it was deleted; its open deliveries are being cancelled.
CREATE TABLE endpoint (
    id BLOB PRIMARY KEY,
    application BLOB NOT NULL,
    document TEXT NOT NULL,
    standing TEXT NOT NULL,
    gone_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX endpoint_by_application ON endpoint (application);

-- Payloads have a table of their own, with small keys, so that nothing that changes moves them.
CREATE TABLE payload (
    number INTEGER PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE message (
    id BLOB PRIMARY KEY,
    application BLOB NOT NULL,
    event_type TEXT NOT NULL,
    key TEXT,
    content_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    payload INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX message_by_application ON message (application, id);
CREATE UNIQUE INDEX message_by_key ON message (application, key) WHERE key IS NOT NULL;

CREATE TABLE delivery (
    message BLOB NOT NULL,
    endpoint BLOB NOT NULL,
    application BLOB NOT NULL,
    state INTEGER NOT NULL,
    due INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    replays INTEGER NOT NULL,
    call BLOB,
    ending TEXT,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (message, endpoint)
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_open ON delivery (message, endpoint) WHERE state < 2;
CREATE INDEX delivery_by_endpoint ON delivery (endpoint, message);
-- Few deliveries end without success, so these cost the others nothing.
CREATE INDEX delivery_ended ON delivery (state, message, endpoint) WHERE state >= 3;
CREATE INDEX delivery_ended_by_application
    ON delivery (application, state, message, endpoint) WHERE state >= 3;
CREATE INDEX delivery_ended_by_endpoint ON delivery (endpoint, state, message) WHERE state >= 3;

CREATE TABLE attempt (
    message BLOB NOT NULL,
    endpoint BLOB NOT NULL,
    number INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    latency INTEGER NOT NULL,
    status INTEGER,
    failure TEXT,
    detail TEXT,
    reply BLOB,
    verdict TEXT NOT NULL,
    hint INTEGER,
    next INTEGER,
    PRIMARY KEY (message, endpoint, number)
) STRICT, WITHOUT ROWID;

-- Deliveries in each state by endpoint, kept within each transaction; the nil id counts all.
CREATE TABLE tally (
    endpoint BLOB PRIMARY KEY,
    pending INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    dead INTEGER NOT NULL,
    cancelled INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
