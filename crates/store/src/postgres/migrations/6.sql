-- Version 6: what a message has beside its columns, as JSON: the trace of its producer. Null where there is nothing, so
-- that nodes of the previous release go on writing.
ALTER TABLE message ADD COLUMN document text;
