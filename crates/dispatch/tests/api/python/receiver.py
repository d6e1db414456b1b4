"""A sender of CloudEvents by their official library, and a receiver that checks signatures by another implementation of
RFC 9421. `receiver.py make` writes requests; `receiver.py check` reads what arrived."""

import base64
import hashlib
import json
import sys
from types import SimpleNamespace

from cloudevents.core.bindings import http
from cloudevents.core.v1.event import CloudEvent
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms
from http_message_signatures.structures import CaseInsensitiveDict


def events():
    common = {"source": "/shop", "type": "order.taken", "specversion": "1.0"}
    plain = {**common, "id": "1", "subject": "Euro € \"1\" 100%", "myext": "a b"}
    yield CloudEvent({**plain, "datacontenttype": "application/json"}, {"amount": 10.5, "name": "é"})
    yield CloudEvent({**plain, "id": "2", "datacontenttype": "application/octet-stream"}, b"\x00\xff<a>")
    yield CloudEvent({**plain, "id": "3", "datacontenttype": "text/plain"}, "a text")


def make():
    made = []
    for event in events():
        for build in (http.to_binary_event, http.to_structured_event):
            message = build(event)
            body = message.body if isinstance(message.body, bytes) else message.body.encode()
            made.append({"headers": dict(message.headers), "body": base64.b64encode(body).decode()})
    print(json.dumps(made))


class Keys(HTTPSignatureKeyResolver):
    def __init__(self, keys):
        self.keys = keys

    def resolve_public_key(self, key_id):
        return self.keys[key_id]


def bytes_of(data):
    if isinstance(data, (dict, list)):
        return json.dumps(data, sort_keys=True).encode()
    return data.encode() if isinstance(data, str) else data


def check():
    given = json.load(sys.stdin)
    hmac = base64.b64decode(given["secret"].removeprefix("whsec_"))
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(given["public_key"].removeprefix("whpk_")))
    keys = Keys({given["hmac_id"]: hmac, given["ed25519_id"]: public})
    made = {event.get_id(): event for event in events()}
    for request in given["requests"]:
        body = base64.b64decode(request["body"])
        message = SimpleNamespace(method=request["method"], url=request["url"], headers=CaseInsensitiveDict(request["headers"]), body=body)
        verified = []
        for label, algorithm in (("sig1", algorithms.ED25519), ("sig2", algorithms.HMAC_SHA256)):
            verifier = HTTPMessageVerifier(signature_algorithm=algorithm, key_resolver=keys)
            verified += verifier.verify(message, expect_tag="webhook", expect_label=label)
        for result in verified:
            covered = set(result.covered_components)
            assert {'"@method"', '"@target-uri"', '"content-digest"', '"webhook-id"'} <= covered, covered
        assert len(verified) == 2, verified
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        assert request["headers"]["content-digest"] == f"sha-256=:{digest}:"
        event = http.from_http_event(http.HTTPMessage(headers=request["headers"], body=body))
        own = made[event.get_id()]
        for get in ("get_source", "get_type", "get_subject", "get_datacontenttype"):
            assert getattr(event, get)() == getattr(own, get)(), (get, event)
        assert event.get_extension("myext") == "a b", event
        assert bytes_of(event.get_data()) == bytes_of(own.get_data()), (event.get_data(), own.get_data())
    print("checked", len(given["requests"]))


{"make": make, "check": check}[sys.argv[1]]()
