"""Faults, requests and the clock of a server in test mode."""
from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NotRequired, TypedDict, Unpack

from .client import BraidClient
from .fault import Match
from .wire import Problem


class Faults:
    """The rules by which the server fails."""

    def __init__(self, client: BraidClient) -> None:
        self._client = client

    def set(self, *rules: dict[str, Any], seed: int = 0) -> None:
        """Replaces all rules. `braid_testing.fault` makes them. The first matching rule that is due applies to a request.

        `seed`: decides all probabilities and jitter.
        """
        self._client.send("PUT", "/v1/test/faults", {"seed": seed, "faults": rules})

    def all(self) -> list[dict[str, Any]]:
        """The rules, with the members `matched` and `applied`: numbers of requests."""
        rules: list[dict[str, Any]] = self._client.send("GET", "/v1/test/faults")["faults"]
        return rules

    def applied(self, id: str | None = None) -> int:
        """The number of requests to which the rule with this id applied, or any rule."""
        rules = [rule for rule in self.all() if id in (None, rule["id"])]
        if not rules:
            raise LookupError(f"There is no rule {id!r}." if id else "There are no rules.")
        return sum(rule["applied"] for rule in rules)

    def clear(self) -> None:
        """Removes all rules."""
        self._client.send("DELETE", "/v1/test/faults")


class RequestMatch(Match, total=False):
    """Which requests and answers match."""

    status: int
    problem: str
    replayed: bool  # whether the answer is the kept answer of an idempotency key
    fault: str  # the id of the rule that applied


class Entry(TypedDict):
    """A request that the server received, with its answer."""

    id: str
    time: str
    milliseconds: float
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    role: NotRequired[str]
    token: NotRequired[str]
    session: NotRequired[str]
    body: NotRequired[Any]
    bodyBytes: NotRequired[int]
    answer: dict[str, Any]
    fault: NotRequired[str]
    lost: NotRequired[bool]


class VerificationFailed(AssertionError):
    """Another number of requests matched."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.count: int = document["count"]
        self.nearest_misses: list[dict[str, Any]] = document["nearestMisses"]
        lines = [document.get("detail") or f"{self.count} requests match, expected: {document['expected']}."]
        for miss in self.nearest_misses:
            request = miss["request"]
            lines.append(f"nearest: {request['method']} {request['path']} → {request['answer'].get('status')}")
            lines += [f"  {one['member']}: expected {one.get('expected')!r}, was {one.get('actual')!r}" for one in miss["differences"]]
        super().__init__("\n".join(lines))


class Requests:
    """The requests that the server received since its start, its reset or `clear`."""

    def __init__(self, client: BraidClient) -> None:
        self._client = client

    def all(self) -> list[Entry]:
        """All requests with their answers, oldest first."""
        entries: list[Entry] = self._client.send("GET", "/v1/test/requests")["requests"]
        return entries

    def clear(self) -> None:
        self._client.send("DELETE", "/v1/test/requests")

    def verify(
        self, *, exactly: int | None = None, at_least: int | None = None, at_most: int | None = None, **match: Unpack[RequestMatch],
    ) -> list[str]:
        """Returns the ids of the requests that match. Raises `VerificationFailed` if their number is another one.

        Give one of `exactly`, `at_least` and `at_most`.
        """
        counts = {"exactly": exactly, "atLeast": at_least, "atMost": at_most}
        body = {"match": match, **{name: count for name, count in counts.items() if count is not None}}
        try:
            ids: list[str] = self._client.send("POST", "/v1/test/requests/verify", body, is_repeatable=True)["requests"]
            return ids
        except Problem as problem:
            if problem.kind != "verification-failed":
                raise
            raise VerificationFailed(problem.document) from None


class Clock:
    """The server's clock."""

    def __init__(self, client: BraidClient) -> None:
        self._client = client

    def now(self) -> datetime:
        return _time(self._client.send("GET", "/v1/test/clock"))

    def set(self, time: datetime) -> datetime:
        """Sets the time, with a time zone. The clock goes on from there."""
        if time.tzinfo is None:
            raise ValueError("The time has no time zone.")
        return _time(self._client.send("PUT", "/v1/test/clock", {"time": time.isoformat()}))

    def advance(self, duration: timedelta) -> datetime:
        # Repeated, the request would advance the clock twice.
        return _time(self._client.send("PUT", "/v1/test/clock", {"advance": duration.total_seconds()}, is_repeatable=False))


def _time(answer: dict[str, str]) -> datetime:
    return datetime.fromisoformat(answer["time"])
