"""A client of stagger's webhook dispatcher."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List

from ._transport import ApiError, RetryBudget, Transport, TransportError
from .api import API_VERSION, ApiMethods
from .webhook import SignatureError, Webhook

__all__ = [
    "API_VERSION",
    "ApiError",
    "Client",
    "RetryBudget",
    "SignatureError",
    "TransportError",
    "Webhook",
]


class Client(ApiMethods):
    """A dispatcher and a key to it: that of an application, of an operator, or the admin key.

    Threads may share a client; they share its retry budget too.

    `timeout` bounds one attempt, in seconds. A call makes at most `max_attempts`, and none that would wait longer than
    `max_wait` seconds, also if `Retry-After` asks for more: then the refusal is raised.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float = 30.0,
        max_attempts: int = 4,
        max_wait: float = 60.0,
    ) -> None:
        self._transport = Transport(
            url, key, timeout=timeout, max_attempts=max_attempts, max_wait=max_wait
        )

    def pages(self, method: Callable[..., Any], *path: str, **query: Any) -> Iterator[Dict[str, Any]]:
        """All entries of a list, over all its pages: `client.pages(client.list_messages, app)`."""
        cursor = None
        while True:
            page = method(*path, cursor=cursor, **query)
            items: List[Dict[str, Any]] = page["items"]
            yield from items
            cursor = page.get("next")
            if cursor is None:
                return
