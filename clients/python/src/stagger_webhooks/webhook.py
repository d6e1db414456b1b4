"""Signatures of received webhooks: Standard Webhooks 1.0.0, HMAC-SHA256 (`v1`)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from typing import Any, Iterable, Mapping, Optional, Union

# How far the timestamp may be from the receiver's clock, in seconds.
TOLERANCE = 300


class SignatureError(Exception):
    """A message that is not accepted, and why."""


class Webhook:
    """Verifies messages with the secrets of an endpoint: one, or several while one is replaced.

    A secret is `whsec_` and the base64 of the key. Endpoints with an ed25519 key (`whsk_`) need another library, because
    Python's own has none.
    """

    def __init__(self, secrets: Union[str, Iterable[str]]) -> None:
        texts = [secrets] if isinstance(secrets, str) else list(secrets)
        if not texts:
            raise ValueError("secrets = []: must be at least one")
        self._keys = [_key(text) for text in texts]

    def verify(
        self, body: bytes, headers: Mapping[str, str], *, now: Optional[float] = None
    ) -> Any:
        """Checks the signature over the bytes of the body as received, and returns the body's JSON.

        Raises SignatureError. `now` is in seconds since 1970.
        """
        self.verify_bytes(body, headers, now=now)
        return json.loads(body)

    def verify_bytes(
        self, body: bytes, headers: Mapping[str, str], *, now: Optional[float] = None
    ) -> None:
        """The same for a body that is no JSON."""
        lower = {name.lower(): value for name, value in headers.items()}
        try:
            message_id = lower["webhook-id"]
            timestamp = lower["webhook-timestamp"]
            signatures = lower["webhook-signature"]
        except KeyError as missing:
            raise SignatureError(f"the header {missing.args[0]} is missing") from None
        if not (timestamp.isascii() and timestamp.isdigit()):
            raise SignatureError("webhook-timestamp is not a number of seconds")
        clock = time.time() if now is None else now
        if abs(clock - int(timestamp)) > TOLERANCE:
            raise SignatureError(f"webhook-timestamp is more than {TOLERANCE} s off")
        signed = f"{message_id}.{timestamp}.".encode() + body
        right = [hmac.new(key, signed, hashlib.sha256).digest() for key in self._keys]
        fits = False
        for part in signatures.split(" "):
            version, _, text = part.partition(",")
            if version != "v1":
                continue
            try:
                given = base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError):
                continue
            for wanted in right:
                fits |= hmac.compare_digest(wanted, given)
        if not fits:
            raise SignatureError("no signature fits")


def _key(secret: str) -> bytes:
    if not secret.startswith("whsec_"):
        raise ValueError("secret = (not shown): must begin with whsec_")
    try:
        return base64.b64decode(secret[len("whsec_") :], validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("secret = (not shown): must be whsec_ and base64") from None
