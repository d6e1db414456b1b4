"""Model P in SimPy, one process function a client: simpy_peer.py CLIENTS prints what it took."""

import json
import random
import sys
import time

import simpy

ATTEMPTS, BASE, UP = 4, 0.5, 1.0


def most_memory():
    with open("/proc/self/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def client(env, counts):
    for attempt in range(1, ATTEMPTS + 1):
        if env.now >= UP:
            counts["served"] += 1
            return
        if attempt < ATTEMPTS:
            yield env.timeout(random.uniform(0, BASE * 2 ** (attempt - 1)))
            counts["events"] += 1


def main():
    clients = int(sys.argv[1])
    random.seed(42)
    counts = {"events": 0, "served": 0}
    before, start = most_memory(), time.perf_counter()
    env = simpy.Environment()
    for _ in range(clients):
        env.process(client(env, counts))
    env.run()
    seconds = time.perf_counter() - start
    bytes_ = most_memory() - before
    print(json.dumps({"engine": "simpy", "clients": clients, **counts, "seconds": seconds, "bytes": bytes_}))


main()
