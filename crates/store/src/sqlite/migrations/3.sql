-- Version 3: what a message has beside its columns, as JSON: the trace of its producer. Null where there is nothing.
ALTER TABLE message ADD COLUMN document TEXT;
