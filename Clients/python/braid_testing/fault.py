"""The rules of `Faults.set`. Each function makes a rule:

    faults.set(fault.lose_answer(method="POST", path="/v1/sessions/*/edits", times=1))

Every function also accepts the members of `Rule` as arguments. They say, for example, which requests match, and to
which of these requests the rule applies.
"""
from __future__ import annotations

from typing import Any, TypedDict, Unpack


class Match(TypedDict, total=False):
    """The conditions by which a rule or a verification selects requests. A request matches if it meets all conditions
    that are present.
    """

    method: str
    path: str  # the request's path; `*` stands for any text in a segment, a last segment `**` for any rest of the path
    session: str
    role: str  # the role of the client: "controller", "participant" or "viewer"
    token: str  # the id of the token with which the request was sent
    headers: dict[str, str]  # the values of header fields; `*` in a value stands for any text
    query: dict[str, str]
    body: Any  # members and values that the request's body must contain


class Rule(Match, total=False):
    """The members of a rule: its id, its delay, which requests match the rule, and to which of these requests the rule
    applies.
    """

    id: str
    skip: int  # the number of matching requests that the rule leaves alone before it applies to any
    times: int  # the maximum number of requests to which the rule applies
    probability: float
    wait: int  # the number of milliseconds that the server waits before it handles the request
    jitter: int  # the number of milliseconds by which the server varies `wait` at random


def _rule(action: dict[str, Any], options: Rule) -> dict[str, Any]:
    values: dict[str, Any] = dict(options)
    rule: dict[str, Any] = {name: values.pop(name) for name in ("id", "skip", "times", "probability") if name in values}
    delay = {long: values.pop(short) for short, long in (("wait", "milliseconds"), ("jitter", "jitter")) if short in values}
    if delay:
        rule["delay"] = delay
    if values:
        rule["match"] = values
    return rule | ({"action": action} if action else {})


def delay(milliseconds: int, **rule: Unpack[Rule]) -> dict[str, Any]:
    """Makes a rule: the server waits before it handles a matching request."""
    return _rule({}, {**rule, "wait": milliseconds})


def respond(status: int, retry_after: int | None = None, type: str | None = None, **rule: Unpack[Rule]) -> dict[str, Any]:
    """Makes a rule: the server refuses a matching request with a problem document. `retry_after` is a number of
    seconds. `type` is the name of a problem, such as "row-gone".
    """
    optional = {"retryAfter": retry_after, "type": type}
    return _rule({"respond": {"status": status, **{name: value for name, value in optional.items() if value is not None}}}, rule)


def close(**rule: Unpack[Rule]) -> dict[str, Any]:
    """Makes a rule: the server closes the connection without handling a matching request."""
    return _rule({"close": {}}, rule)


def lose_answer(**rule: Unpack[Rule]) -> dict[str, Any]:
    """Makes a rule: the server handles a matching request, and then closes the connection without an answer."""
    return _rule({"loseAnswer": {}}, rule)


def truncate(bytes: int, **rule: Unpack[Rule]) -> dict[str, Any]:
    """Makes a rule: the server closes the connection after the first `bytes` bytes of the answer's body."""
    return _rule({"truncate": {"bytes": bytes}}, rule)


def throttle(bytes_per_second: int, **rule: Unpack[Rule]) -> dict[str, Any]:
    """Makes a rule: the server sends the answer's body slowly, with `bytes_per_second` bytes per second."""
    return _rule({"throttle": {"bytesPerSecond": bytes_per_second}}, rule)


def cut_stream(events: int, bytes: int = 0, **rule: Unpack[Rule]) -> dict[str, Any]:
    """Makes a rule: the server closes a stream after `events` events, and after `bytes` bytes of the next event."""
    return _rule({"cutStream": {"events": events, "bytes": bytes}}, rule)


def pause_stream(events: int, milliseconds: int, **rule: Unpack[Rule]) -> dict[str, Any]:
    """Makes a rule: after `events` events of a stream, the server sends nothing for `milliseconds` milliseconds."""
    return _rule({"pauseStream": {"events": events, "milliseconds": milliseconds}}, rule)


def snapshot(**rule: Unpack[Rule]) -> dict[str, Any]:
    """Makes a rule: the server sends a snapshot instead of updates, as if its journal did not reach back far enough."""
    return _rule({"snapshot": {}}, rule)


def new_epoch(**rule: Unpack[Rule]) -> dict[str, Any]:
    """Makes a rule: the session's epoch changes before the server handles a matching request."""
    return _rule({"newEpoch": {}}, rule)


def refuse_connections(milliseconds: int, **rule: Unpack[Rule]) -> dict[str, Any]:
    """Makes a rule: on a matching request, the server closes all connections without handling the request. It refuses
    new connections for `milliseconds` milliseconds, as during a restart.
    """
    return _rule({"refuseConnections": {"milliseconds": milliseconds}}, rule)
