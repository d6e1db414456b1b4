-- Version 2, first part: the open deliveries of an endpoint by state, so that a list of those in one state looks at no
-- others. Lists of an application, and of all, merge those of their endpoints.
CREATE INDEX delivery_open_by_endpoint ON delivery (endpoint, state, message) WHERE state < 2;

-- Second part: the audit log. The oldest entries are deleted as new ones come.
CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
