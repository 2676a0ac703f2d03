"""Functions and errors that the client and its subscriptions use: positions, paths and answers."""
from __future__ import annotations

import email.utils
import http.client
import json
import re
import time
import urllib.parse
from collections.abc import Mapping
from typing import Any

Position = str | int | Mapping[str, Any]
"""A position: a revision, `EPOCH.REVISION`, or a snapshot."""


class Problem(Exception):
    """Raised if the server, or a proxy, refused the request."""

    def __init__(self, status: int, document: Any = None, retry_after: float | None = None) -> None:
        # A proxy's answer may contain any JSON value.
        self.document: dict[str, Any] = document if isinstance(document, dict) else {}
        self.status = status
        self.type = self._text("type") or "about:blank"
        self.kind = self.type.rsplit("/", 1)[-1]
        """The last part of `type`: "row-gone"."""
        self.title = self._text("title")
        self.detail = self._text("detail")
        errors = self.document.get("errors")
        self.errors: list[dict[str, str]] = [error for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []
        """The faults of the body: `pointer`, `code` and `detail`."""
        self.retry_after = retry_after
        """Seconds, from the header `Retry-After`."""
        self.tries = 1
        """How often the request was sent."""
        super().__init__(f"{status} {self.kind}: {self.detail or self.title or 'The server refused the request.'}")

    def _text(self, name: str) -> str | None:
        value = self.document.get(name)
        return value if isinstance(value, str) else None


class ConnectionLost(Exception):
    """Raised if no complete answer arrived, or if the answer is of the wrong type. The server may have handled the
    request.
    """

    tries = 1


def position(at: Position) -> str:
    """Returns a position as text, for the parameters `base`, `if_match` and `since`."""
    if not isinstance(at, Mapping):
        return str(at)
    return f"{at['epoch']}.{at['revision']}" if "epoch" in at else str(at["revision"])


def quoted(text: str | int) -> str:
    """Percent-encodes a variable part of a URL path."""
    return urllib.parse.quote(str(text), safe="")


def with_query(path: str, query: Mapping[str, Any]) -> str:
    """Returns the path with a query of those parameters that are not `None`. `True` and `False` become `true` and
    `false`.
    """
    values = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items() if value is not None}
    return f"{path}?{urllib.parse.urlencode(values)}" if values else path


def answer(response: http.client.HTTPResponse, data: bytes) -> Any:
    """Returns the JSON of a complete answer. Raises `Problem` for a refusal, and `ConnectionLost` if a successful
    answer is not JSON.
    """
    if not 200 <= response.status < 300:
        raise problem(response, data)
    if response.status == 204:
        return None
    # An answer with another media type can be the log-in page of a network.
    if not re.search(r"[/+]json\s*(;|$)", response.headers.get("Content-Type", ""), re.I):
        raise ConnectionLost("The answer is not JSON.")
    try:
        return json.loads(data)
    except ValueError as error:
        raise ConnectionLost("The answer is not JSON.") from error


def problem(response: http.client.HTTPResponse, data: bytes) -> Problem:
    try:
        document = json.loads(data)
    except ValueError:
        document = {"title": response.reason}
    text = response.headers.get("Retry-After")
    seconds: float | None = None
    if text is not None and text.isdecimal():
        seconds = float(text)
    elif text is not None:
        try:
            seconds = max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
        except ValueError:
            pass
    return Problem(response.status, document, seconds)
