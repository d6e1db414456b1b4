-- Version 8: the version and the start of a node in columns of their own; its name is its address. A name had all three,
-- with spaces between them. started_at: nanoseconds since 1970. Both are null of a node that does not tell them, so that
-- nodes of the previous release go on writing: one that joins again before it is replaced has the long name.
ALTER TABLE node ADD COLUMN version text, ADD COLUMN started_at bigint;
UPDATE node SET
    name = split_part(name, ' ', 1),
    version = split_part(name, ' ', 2),
    started_at = (extract(epoch FROM split_part(name, ' ', 3)::timestamptz) * 1000000)::bigint * 1000
WHERE name ~ '^[^ ]+ [^ ]+ [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?Z$';
