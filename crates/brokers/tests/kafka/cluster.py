"""A cluster of Kafka for tests: the brokers that librdkafka brings for its own tests, and its client beside them.

Reads a command in JSON from each line of its input, and answers each with a line of JSON. The first line it writes is the
addresses of the brokers.
"""

import ctypes
import glob
import json
import os
import sys

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

package = os.path.dirname(confluent_kafka.__file__)
library = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(package), "confluent_kafka.libs", "librdkafka*"))[0])
POINTER, TEXT, INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int


def declare(name, result, *arguments):
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function


new_conf = declare("rd_kafka_conf_new", POINTER)
new_client = declare("rd_kafka_new", POINTER, INT, POINTER, TEXT, ctypes.c_size_t)
new_cluster = declare("rd_kafka_mock_cluster_new", POINTER, POINTER, INT)
bootstraps = declare("rd_kafka_mock_cluster_bootstraps", TEXT, POINTER)
topic_create = declare("rd_kafka_mock_topic_create", INT, POINTER, TEXT, INT, INT)
topic_error = declare("rd_kafka_mock_topic_set_error", None, POINTER, TEXT, INT)
set_leader = declare("rd_kafka_mock_partition_set_leader", INT, POINTER, TEXT, ctypes.c_int32, ctypes.c_int32)
set_down = declare("rd_kafka_mock_broker_set_down", INT, POINTER, ctypes.c_int32)
set_up = declare("rd_kafka_mock_broker_set_up", INT, POINTER, ctypes.c_int32)
set_address = declare(
    "rd_kafka_mock_broker_set_host_port", INT, POINTER, ctypes.c_int32, TEXT, ctypes.c_int32)
push_errors = declare(
    "rd_kafka_mock_push_request_errors_array", None, POINTER, ctypes.c_int16, ctypes.c_size_t, POINTER)
set_coordinator = declare("rd_kafka_mock_coordinator_set", INT, POINTER, TEXT, TEXT, ctypes.c_int32)
delete_records = declare(
    "rd_kafka_mock_partition_delete_records", INT, POINTER, TEXT, ctypes.c_int32, ctypes.c_int64)
rebalance_delay = declare("rd_kafka_mock_group_initial_rebalance_delay_ms", None, POINTER, ctypes.c_int32)

# The log of the client that the brokers live in would be the only thing on the error output of a test that passes.
saved = os.dup(2)
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
client = new_client(0, new_conf(), ctypes.create_string_buffer(512), 512)
cluster = new_cluster(client, int(sys.argv[1]))
os.dup2(saved, 2)
rebalance_delay(cluster, 100)
addresses = bootstraps(cluster).decode()


def text(value):
    return None if value is None else value.decode()


def produce(command):
    # The messages of one command are one batch: these brokers answer with one at a time.
    compression = command.get("compression", "none")
    producer = Producer({"bootstrap.servers": addresses, "compression.type": compression, "linger.ms": 1000})
    for one in command["messages"]:
        headers = list(one.get("headers", {}).items())
        producer.produce(command["topic"], one["value"], one.get("key"), one.get("partition", -1), headers=headers)
    return producer.flush(20)


def partitions(topic):
    consumer = Consumer({"bootstrap.servers": addresses, "group.id": "reader"})
    metadata = consumer.list_topics(topic, 20).topics[topic]
    consumer.close()
    return sorted(metadata.partitions)


def consume(command):
    """All messages of a topic."""
    topic, found = command["topic"], []
    consumer = Consumer({
        "bootstrap.servers": addresses, "group.id": "reader", "enable.auto.commit": False, "enable.partition.eof": True,
    })
    waiting = set(partitions(topic))
    consumer.assign([TopicPartition(topic, partition, 0) for partition in waiting])
    while waiting:
        message = consumer.poll(20)
        if message is None:
            raise TimeoutError(f"{topic}: no message and no end")
        if message.error() is None:
            headers = {name: text(value) for name, value in message.headers() or []}
            found.append({
                "partition": message.partition(), "offset": message.offset(), "key": text(message.key()),
                "value": text(message.value()), "headers": headers, "timestamp": message.timestamp()[1],
            })
        elif message.error().code() == KafkaError._PARTITION_EOF:
            waiting.discard(message.partition())
        else:
            raise RuntimeError(message.error())
    consumer.close()
    return found


def committed(command):
    consumer = Consumer({"bootstrap.servers": addresses, "group.id": command["group"]})
    topic = command["topic"]
    asked = [TopicPartition(topic, partition) for partition in partitions(topic)]
    offsets = [it.offset for it in consumer.committed(asked, 20)]
    consumer.close()
    return offsets


member = None


def join(command):
    """Joins a group as another client does, until it has partitions; it reads no message."""
    global member
    own = []
    member = Consumer({
        "bootstrap.servers": addresses, "group.id": command["group"], "enable.auto.commit": False,
        "partition.assignment.strategy": "range", "session.timeout.ms": 6000, "auto.offset.reset": "earliest",
    })
    member.subscribe([command["topic"]], on_assign=lambda _, all: own.append([it.partition for it in all]))
    member.poll(0)
    while not own:
        member.poll(0.2)
    return own[0]


def leave(_):
    member.close()


def errors(command):
    all = command["errors"]
    push_errors(cluster, command["api"], len(all), (INT * len(all))(*all))


COMMANDS = {
    "produce": produce,
    "consume": consume,
    "committed": committed,
    "join": join,
    "leave": leave,
    "errors": errors,
    "topic": lambda it: topic_create(cluster, it["topic"].encode(), it["partitions"], 1),
    "topic_error": lambda it: topic_error(cluster, it["topic"].encode(), it["error"]),
    "leader": lambda it: set_leader(cluster, it["topic"].encode(), it["partition"], it["broker"]),
    "down": lambda it: set_down(cluster, it["broker"]),
    "up": lambda it: set_up(cluster, it["broker"]),
    "address": lambda it: set_address(cluster, it["broker"], it["host"].encode(), it["port"]),
    "coordinator": lambda it: set_coordinator(cluster, b"group", it["group"].encode(), it["broker"]),
    "delete": lambda it: delete_records(cluster, it["topic"].encode(), it["partition"], it["before"]),
}

print(json.dumps(addresses.split(",")), flush=True)
for line in sys.stdin:
    command = json.loads(line)
    print(json.dumps(COMMANDS[command["do"]](command)), flush=True)
