-- Version 5: a delivery that is made and delivered writes four entries of indexes instead of eight. Open deliveries have
-- one index, which leads from a shard over its endpoints to their messages; the state is at its end, so that a list of
-- those in one state looks at no row of others. Those that wait, and those that were delivered, have an index
-- of their endpoints each, in which no other delivery is. Writers wait while the indexes are built.
CREATE INDEX delivery_open_by_leader ON delivery (shard, endpoint, message, state) WHERE ended = 0;
CREATE INDEX delivery_waiting_by_endpoint ON delivery (endpoint, message) WHERE state = 1;
CREATE INDEX delivery_delivered_by_endpoint ON delivery (endpoint, message) WHERE ended = 2;
DROP INDEX delivery_open_by_shard;
DROP INDEX delivery_open_by_endpoint;
DROP INDEX delivery_by_endpoint;
