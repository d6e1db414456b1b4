-- Version 7: settings of the whole installation as documents: event types and API keys. used_on: the day of the last use,
-- in days since 1970.
CREATE TABLE document (
    kind text NOT NULL,
    id text NOT NULL,
    document text NOT NULL,
    used_on integer,
    PRIMARY KEY (kind, id)
);

-- The changes of documents, numbered together with `news`. Nodes of the previous release refuse kinds in `news` that they
-- do not know; a number that is missing there makes them read all settings anew.
CREATE TABLE document_news (
    number bigint PRIMARY KEY,
    kind text NOT NULL,
    id text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
