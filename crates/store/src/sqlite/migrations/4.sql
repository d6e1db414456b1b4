-- Version 4: settings of the whole installation as documents: event types and API keys. used_on: the day of the last use,
-- in days since 1970.
CREATE TABLE document (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    document TEXT NOT NULL,
    used_on INTEGER,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
