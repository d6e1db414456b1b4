-- Version 4: fewer indexes on what every delivery writes. An arrival is named by its shard and its number, so that
-- one index finds and forgets it. An arrival whose delivery was deleted stays until its leader meets it.
-- All open deliveries in order are read by nobody who is in a hurry; those of a shard or an endpoint have their own
-- indexes. Each step waits for a lock of a moment.
DROP INDEX delivery_open;
DROP INDEX arrival_by_message;
DROP INDEX arrival_by_shard;
ALTER TABLE arrival DROP CONSTRAINT arrival_pkey;
ALTER TABLE arrival ADD PRIMARY KEY (shard, number);
