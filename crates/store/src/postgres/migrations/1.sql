-- The tables of the PostgreSQL store, version 1.
--
-- Ids are uuids that sort by the time of making. Instants and spans are nanoseconds, kept as the 64
-- bits they are. States of deliveries: 0 pending, 1 waiting, 2 delivered, 3 dead, 4 cancelled.

-- run: the number of the newest run of the dispatcher. slack: by how many milliseconds the time within
-- a message's id and the time of its acceptance have differed at most. copy: 1 while a copy of another
-- store is being written into this one. touch: written to see whether writing works.
CREATE TABLE mark (
    name text PRIMARY KEY,
    value bigint NOT NULL
);
INSERT INTO mark VALUES ('run', 0), ('slack', 0), ('copy', 0), ('touch', 0);

-- gone: deleted, and what belongs to it is being deleted.
CREATE TABLE application (
    id uuid PRIMARY KEY,
    document text NOT NULL,
    gone boolean NOT NULL DEFAULT false
);

-- gone_at: when it was deleted; its open deliveries are being cancelled.
CREATE TABLE endpoint (
    id uuid PRIMARY KEY,
    application uuid NOT NULL,
    document text NOT NULL,
    standing text NOT NULL,
    gone_at bigint
);
CREATE INDEX endpoint_by_application ON endpoint (application);

-- Payloads have a table of their own, so that nothing that is looked through is wide.
CREATE TABLE payload (
    message uuid PRIMARY KEY,
    bytes bytea NOT NULL
);

CREATE TABLE message (
    id uuid PRIMARY KEY,
    application uuid NOT NULL,
    event_type text NOT NULL,
    key text,
    content_type text NOT NULL,
    size bigint NOT NULL,
    created_at bigint NOT NULL
);
CREATE UNIQUE INDEX message_by_application ON message (application, id);
CREATE UNIQUE INDEX message_by_key ON message (application, key) WHERE key IS NOT NULL;

-- shard: the first byte of the SHA-256 of the endpoint's id. Nodes lead endpoints by shards.
-- ended: 0 while it is open, else its state. Indexes name this one and not the state, so that a
-- delivery that fails and waits is changed within its page and touches no index.
CREATE TABLE delivery (
    message uuid NOT NULL,
    endpoint uuid NOT NULL,
    application uuid NOT NULL,
    shard smallint NOT NULL,
    state smallint NOT NULL,
    ended smallint NOT NULL,
    attempts bigint NOT NULL,
    replays bigint NOT NULL,
    due bigint NOT NULL,
    updated_at bigint NOT NULL,
    ending text,
    call bytea,
    PRIMARY KEY (message, endpoint)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX delivery_open ON delivery (message, endpoint) WHERE ended = 0;
CREATE INDEX delivery_open_by_shard ON delivery (shard, message, endpoint) WHERE ended = 0;
CREATE INDEX delivery_by_endpoint ON delivery (endpoint, message);
-- Few deliveries end without success, so these cost the others nothing.
CREATE INDEX delivery_ended ON delivery (ended, message, endpoint) WHERE ended >= 3;
CREATE INDEX delivery_ended_by_application
    ON delivery (application, ended, message, endpoint) WHERE ended >= 3;
CREATE INDEX delivery_ended_by_endpoint ON delivery (endpoint, ended, message) WHERE ended >= 3;

-- day: that of the message's id, in days since 1970. The attempts of a day go with their partition once
-- no message of that day is left. Those of days without a partition are in attempt_other.
CREATE TABLE attempt (
    day integer NOT NULL,
    message uuid NOT NULL,
    endpoint uuid NOT NULL,
    number bigint NOT NULL,
    started_at bigint NOT NULL,
    latency bigint NOT NULL,
    status integer,
    failure text,
    detail text,
    reply bytea,
    verdict text NOT NULL,
    hint bigint,
    next bigint,
    PRIMARY KEY (day, message, endpoint, number)
) PARTITION BY RANGE (day);
CREATE TABLE attempt_other PARTITION OF attempt DEFAULT;

-- Deliveries in each state by endpoint, kept within each transaction; the nil id counts all. Each
-- writer has a counter of its own, so that none waits for another: a count is the sum over the counters.
CREATE TABLE tally (
    endpoint uuid NOT NULL,
    counter smallint NOT NULL,
    pending bigint NOT NULL,
    waiting bigint NOT NULL,
    delivered bigint NOT NULL,
    dead bigint NOT NULL,
    cancelled bigint NOT NULL,
    PRIMARY KEY (endpoint, counter)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
