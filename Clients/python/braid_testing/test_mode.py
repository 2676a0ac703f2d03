"""The faults, the record of requests and the clock of a server in test mode."""
from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NotRequired, TypedDict, Unpack

from .client import BraidClient
from .fault import Match
from .wire import Problem


class Faults:
    """The rules that make the server fail in tests."""

    def __init__(self, client: BraidClient) -> None:
        self._client = client

    def set(self, *rules: dict[str, Any], seed: int = 0) -> None:
        """Replaces all rules. The functions of `braid_testing.fault` make rules. To a request, the server applies the
        first rule that matches and is due. `seed` makes the random choices and delays reproducible.
        """
        self._client.send("PUT", "/v1/test/faults", {"seed": seed, "faults": rules})

    def all(self) -> list[dict[str, Any]]:
        """Returns all rules. `matched` is the number of requests that matched the rule and to which no earlier rule was
        applied. `applied` is the number of requests to which the rule was applied.
        """
        rules: list[dict[str, Any]] = self._client.send("GET", "/v1/test/faults")["faults"]
        return rules

    def applied(self, id: str | None = None) -> int:
        """Returns the number of requests to which the fault rule with this id was applied. Without an id, returns the
        number of requests to which any rule was applied.
        """
        rules = [rule for rule in self.all() if id in (None, rule["id"])]
        if not rules:
            raise LookupError(f"There is no rule {id!r}." if id else "There are no rules.")
        return sum(rule["applied"] for rule in rules)

    def clear(self) -> None:
        """Removes all rules, so that the server no longer fails."""
        self._client.send("DELETE", "/v1/test/faults")


class RequestMatch(Match, total=False):
    """The conditions by which a verification selects requests and their answers."""

    status: int
    problem: str
    replayed: bool  # whether the answer is the stored answer of an idempotency key
    fault: str  # the id of the rule that the server applied to the request


class Entry(TypedDict):
    """A request that the server received, and its answer. If a fault closed the connection before the server handled
    the request, there is no answer.
    """

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
    answer: NotRequired[dict[str, Any]]
    fault: NotRequired[str]
    lost: NotRequired[bool]


class VerificationFailed(AssertionError):
    """Raised if the number of matching requests is not the expected one."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.count: int = document["count"]
        self.nearest_misses: list[dict[str, Any]] = document["nearestMisses"]
        lines = [document.get("detail") or f"{self.count} requests match, expected: {document['expected']}."]
        for miss in self.nearest_misses:
            request = miss["request"]
            status = request.get("answer", {}).get("status", "no answer")
            lines.append(f"nearest: {request['method']} {request['path']} → {status}")
            lines += [f"  {one['member']}: expected {one.get('expected')!r}, was {one.get('actual')!r}" for one in miss["differences"]]
        super().__init__("\n".join(lines))


class Requests:
    """The record of the newest requests to `/v1` that the server received since its start, its last reset or the last
    `clear`. The record does not contain requests to `/v1/test`.
    """

    def __init__(self, client: BraidClient) -> None:
        self._client = client

    def all(self) -> list[Entry]:
        """Returns all recorded requests with their answers, the oldest first."""
        entries: list[Entry] = self._client.send("GET", "/v1/test/requests")["requests"]
        return entries

    def clear(self) -> None:
        self._client.send("DELETE", "/v1/test/requests")

    def verify(
        self, *, exactly: int | None = None, at_least: int | None = None, at_most: int | None = None, **match: Unpack[RequestMatch],
    ) -> list[str]:
        """Returns the ids of the requests that match. Raises `VerificationFailed` if the number of these requests is
        not as expected. Pass one of `exactly`, `at_least` and `at_most`.
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
    """The clock of the server. Tests can set and advance it."""

    def __init__(self, client: BraidClient) -> None:
        self._client = client

    def now(self) -> datetime:
        return _time(self._client.send("GET", "/v1/test/clock"))

    def set(self, time: datetime) -> datetime:
        """Sets the server's clock. `time` needs a time zone. From `time`, the clock follows real time. With
        `--deterministic`, it instead advances in steps of 1 ms, for example with a command.
        """
        if time.tzinfo is None:
            raise ValueError("The time has no time zone.")
        return _time(self._client.send("PUT", "/v1/test/clock", {"time": time.isoformat()}))

    def advance(self, duration: timedelta) -> datetime:
        # The request that advances the clock is not repeatable, because a repetition would advance the clock twice.
        return _time(self._client.send("PUT", "/v1/test/clock", {"advance": duration.total_seconds()}, is_repeatable=False))


def _time(answer: dict[str, str]) -> datetime:
    return datetime.fromisoformat(answer["time"])
