"""Requests to the dispatcher: connections, retries, and refusals as errors."""

from __future__ import annotations

import http.client
import json
import random
import secrets
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Callable, Dict, Mapping, Optional

# The share of retries among all requests, and how many may be saved up.
RETRY_SHARE = 0.1
RETRY_BURST = 10.0

# The ceiling of the first delay and of the longest one, in seconds.
BASE_DELAY = 0.2
LONGEST_DELAY = 10.0

# Replies that can be another one later.
RETRYABLE = frozenset({429, 500, 502, 503, 504})


class TransportError(Exception):
    """No reply: the connection failed, or the time was over."""


class ApiError(Exception):
    """A refusal. `status` is that of the reply, `problem` its document (RFC 9457)."""

    def __init__(self, status: int, problem: Dict[str, Any], retry_after: Optional[float]) -> None:
        super().__init__(f"{status}: {problem.get('detail', 'no reason is given')}")
        self.status = status
        self.problem = problem
        self.retry_after = retry_after


class RetryBudget:
    """Keeps retries few: a tenth of the requests, and a few more at first."""

    def __init__(self, share: float = RETRY_SHARE, burst: float = RETRY_BURST) -> None:
        self._share = share
        self._burst = burst
        self._tokens = burst
        self._lock = threading.Lock()

    def on_call(self) -> None:
        """A first attempt is made."""
        with self._lock:
            self._tokens = min(self._burst, self._tokens + self._share)

    def take(self) -> bool:
        """Whether a retry may be made."""
        with self._lock:
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True


def path_segment(text: str) -> str:
    """A text as a part of a path."""
    return urllib.parse.quote(text, safe="")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is a refusal: the key goes nowhere else."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Transport:
    """Makes the calls of a client."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float,
        max_attempts: int,
        max_wait: float,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"url = {url}: must be an http or https address")
        if max_attempts < 1:
            raise ValueError(f"max_attempts = {max_attempts}: must be at least 1")
        self._base = url.rstrip("/")
        self._key = key
        self._timeout = timeout
        self._max_attempts = max_attempts
        self._max_wait = max_wait
        self._sleep = sleep
        self._opener = urllib.request.build_opener(_NoRedirects)
        self.budget = RetryBudget()

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Mapping[str, Any]] = None,
        json_body: Any = None,
        bytes_body: Optional[bytes] = None,
        content_type: str = "application/json",
        takes_key: bool = False,
        idempotency_key: Optional[str] = None,
        reply: str = "json",
    ) -> Any:
        """Makes a call, and returns its reply as `reply` says: nothing, json, text or bytes."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        url = self._base + path + ("?" + urllib.parse.urlencode(given) if given else "")
        body = bytes_body if json_body is None else json.dumps(json_body).encode()
        headers = {"Authorization": f"Bearer {self._key}", "Accept": "application/json, */*"}
        if body is not None:
            headers["Content-Type"] = content_type
        if takes_key:
            headers["Idempotency-Key"] = idempotency_key or secrets.token_hex(16)
        # A message under a key is one message, however often it is sent.
        repeatable = takes_key or method in ("GET", "HEAD", "PUT", "DELETE")
        data = self._attempts(method, url, headers, body, repeatable)
        if reply == "json":
            return json.loads(data)
        if reply == "text":
            return data.decode()
        return data if reply == "bytes" else None

    def _attempts(
        self, method: str, url: str, headers: Dict[str, str], body: Optional[bytes], repeatable: bool
    ) -> bytes:
        self.budget.on_call()
        attempt = 1
        while True:
            try:
                return self._attempt(method, url, headers, body)
            except (ApiError, TransportError) as error:
                delay = self._delay(error, attempt, repeatable)
                if delay is None:
                    raise
                self._sleep(delay)
                attempt += 1

    def _delay(self, error: Exception, attempt: int, repeatable: bool) -> Optional[float]:
        """The wait before the next attempt; None if there is none."""
        hint = 0.0
        if isinstance(error, ApiError):
            # 429 says that nothing was done.
            can_help = error.status == 429 or (repeatable and error.status in RETRYABLE)
            hint = error.retry_after or 0.0
        else:
            can_help = repeatable
        if not can_help or attempt >= self._max_attempts:
            return None
        ceiling = min(LONGEST_DELAY, BASE_DELAY * 2 ** (attempt - 1))
        delay = hint + random.uniform(0.0, ceiling)
        if delay > self._max_wait or not self.budget.take():
            return None
        return delay

    def _attempt(
        self, method: str, url: str, headers: Dict[str, str], body: Optional[bytes]
    ) -> bytes:
        request = urllib.request.Request(url, data=body, headers=headers, method=method)
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                data: bytes = response.read()
                return data
        except urllib.error.HTTPError as refusal:
            with refusal:
                raise _refused(refusal) from None
        except (OSError, http.client.HTTPException) as error:
            raise TransportError(f"no reply from {self._base}: {error}") from error


def _refused(refusal: urllib.error.HTTPError) -> ApiError:
    try:
        problem = json.loads(refusal.read())
    except (OSError, ValueError, http.client.HTTPException):
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    hint = refusal.headers.get("Retry-After", "")
    return ApiError(refusal.code, problem, float(hint) if hint.isdigit() else None)
