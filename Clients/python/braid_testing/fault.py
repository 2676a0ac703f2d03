"""The rules of `Faults.set`. Each function makes a rule with one action:

    faults.set(fault.lose_answer(method="POST", path="/v1/sessions/*/edits", times=1))

Every function also accepts the members of `Rule`: which requests match, and to which of them the rule applies.
"""
from __future__ import annotations

from typing import Any, TypedDict, Unpack


class Match(TypedDict, total=False):
    """Which requests match. All members that are present must hold."""

    method: str
    path: str  # `*` is one segment, `**` is any rest
    session: str
    role: str  # "controller", "participant" or "viewer"
    token: str  # a token's id
    headers: dict[str, str]  # values may contain `*`
    query: dict[str, str]
    body: Any  # a part of the body


class Rule(Match, total=False):
    """Which requests match, and to which of them the rule applies."""

    id: str
    skip: int  # the number of matching requests to leave alone
    times: int  # the number of matching requests after `skip` to which the rule applies
    probability: float
    wait: int  # milliseconds before the server handles the request
    jitter: int  # milliseconds by which `wait` varies at random


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
    """The server handles the request later."""
    return _rule({}, {**rule, "wait": milliseconds})


def respond(status: int, retry_after: int | None = None, type: str | None = None, **rule: Unpack[Rule]) -> dict[str, Any]:
    """The server refuses the request with a problem document. `retry_after`: seconds. `type`: the name of a problem."""
    optional = {"retryAfter": retry_after, "type": type}
    return _rule({"respond": {"status": status, **{name: value for name, value in optional.items() if value is not None}}}, rule)


def close(**rule: Unpack[Rule]) -> dict[str, Any]:
    """The server closes the connection, and does nothing."""
    return _rule({"close": {}}, rule)


def lose_answer(**rule: Unpack[Rule]) -> dict[str, Any]:
    """The server carries out the request, and closes the connection without an answer."""
    return _rule({"loseAnswer": {}}, rule)


def truncate(bytes: int, **rule: Unpack[Rule]) -> dict[str, Any]:
    """The server closes the connection after this part of the answer's body."""
    return _rule({"truncate": {"bytes": bytes}}, rule)


def throttle(bytes_per_second: int, **rule: Unpack[Rule]) -> dict[str, Any]:
    """The server sends the answer slowly."""
    return _rule({"throttle": {"bytesPerSecond": bytes_per_second}}, rule)


def cut_stream(events: int, bytes: int = 0, **rule: Unpack[Rule]) -> dict[str, Any]:
    """The server closes a stream after a number of events and of bytes of the next event."""
    return _rule({"cutStream": {"events": events, "bytes": bytes}}, rule)


def pause_stream(events: int, milliseconds: int, **rule: Unpack[Rule]) -> dict[str, Any]:
    """The server delivers nothing for a while after a number of events."""
    return _rule({"pauseStream": {"events": events, "milliseconds": milliseconds}}, rule)


def snapshot(**rule: Unpack[Rule]) -> dict[str, Any]:
    """The server sends a snapshot instead of updates, as if its history did not reach back."""
    return _rule({"snapshot": {}}, rule)


def new_epoch(**rule: Unpack[Rule]) -> dict[str, Any]:
    """The session gets a new epoch before the server handles the request."""
    return _rule({"newEpoch": {}}, rule)


def refuse_connections(milliseconds: int, **rule: Unpack[Rule]) -> dict[str, Any]:
    """The server closes all connections and refuses new ones for a while, as during a restart."""
    return _rule({"refuseConnections": {"milliseconds": milliseconds}}, rule)
