"""Subscriptions. A subscription keeps a copy of a session's table up to date with events from the server."""
from __future__ import annotations

import codecs
import http.client
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from .updates import Snapshot, UpdateFault, applying
from .wire import ConnectionLost, Problem, position, problem, with_query

if TYPE_CHECKING:
    from .client import BraidClient

T = TypeVar("T")


@dataclass(frozen=True)
class Event:
    """An event of a subscription. The table lists the kinds of events, with their `data`.

    | kind | data |
    |---|---|
    | `snapshot` | the snapshot that replaces the copy |
    | `update` | the update that was applied to the copy |
    | `cellEvent`, `tap`, `emitted` | the event's data from the stream, which only controllers receive |
    | `presence` | the list of everybody present, if the subscription asked for it |
    | `live` | `None`: all changes that happened before the connection have arrived |
    | `waiting` | the error after which the subscription connects again |
    | `ended` | `None` if the session was ended, or the refusal that another try would get again |
    """

    kind: str
    data: Any
    snapshot: Snapshot | None
    """The copy after the event."""


class Subscription:
    """A copy of a session's snapshot that a thread keeps up to date. Made by `Session.subscribe`."""

    def __init__(
        self, client: BraidClient, path: str, *, since: Snapshot | None, on_event: Callable[[Event], object] | None, silence: float,
        reappear: Callable[[], object] | None = None,
    ) -> None:
        self._client = client
        self._path = path
        self._on_event = on_event
        self._silence = silence
        self._reappear = reappear
        """With presence: shows the client again, after each connection."""
        self._position: str | None = None if since is None else position(since)
        """The position of the last event that was applied. A new connection goes on from there."""
        self._retry_time = 1.0
        self._has_ended = False
        self._closed = threading.Event()
        self._socket: socket.socket | None = None
        self._changed = threading.Condition()
        self.snapshot: Snapshot | None = since
        """The copy. `None` before the first snapshot."""
        self.present: list[dict[str, Any]] = []
        """Everybody present, if the subscription asked for it."""
        self.status = "connecting"
        """"connecting", "live", "waiting", "ended" or "closed"."""
        self.events: list[Event] = []
        """All events so far."""
        self._thread = threading.Thread(target=self._run, name=f"subscription to {path}", daemon=True)
        self._thread.start()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def revision(self) -> int | None:
        return None if self.snapshot is None else self.snapshot["revision"]

    def close(self) -> None:
        """Closes the connection. After this call, the subscription calls `on_event` no more."""
        with self._changed:
            self._closed.set()
            if self.status != "ended":
                self.status = "closed"
            if self._socket:
                _shut(self._socket)
            self._changed.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def wait_until(self, condition: Callable[[Subscription], T | None], timeout: float = 10) -> T:
        """Waits until the condition returns a true value, and returns this value.

        Raises `TimeoutError` after `timeout` seconds, or as soon as the subscription has ended or was closed.
        """
        value: T | None = None

        def is_over() -> bool:
            nonlocal value
            value = condition(self)
            return bool(value) or self.status in ("ended", "closed")

        with self._changed:
            self._changed.wait_for(is_over, timeout)
            if not value:
                last = "\n".join(f"  {event.kind} {str(event.data)[:200]}" for event in self.events[-5:])
                raise TimeoutError(f"The subscription is {self.status}, at revision {self.revision}. Its last events:\n{last}")
            return value

    def wait_for_revision(self, revision: int, timeout: float = 10) -> Snapshot:
        """Waits until the copy has this revision or a later one, and returns the copy."""
        return self.wait_until(lambda copy: copy.snapshot if (copy.revision or 0) >= revision else None, timeout)

    def wait_until_live(self, timeout: float = 10) -> Snapshot:
        """Waits until all changes that happened before the connection have arrived. Returns the copy."""
        return self.wait_until(lambda copy: copy.snapshot if copy.status == "live" else None, timeout)

    # MARK: The connection

    def _run(self) -> None:
        failures = 0
        while not self._closed.is_set():
            self._turn("connecting")
            failure: Exception | None = None
            count = len(self.events)
            try:
                self._follow()
            except Exception as error:
                failure = error
            if self._closed.is_set():
                return
            if self._has_ended or isinstance(failure, Problem) and failure.status < 500 and failure.status not in (408, 429):
                return self._note("ended", failure, status="ended")
            # If an update does not fit the copy, the next connection starts with a snapshot.
            if isinstance(failure, UpdateFault):
                self._position = None
            failures = 1 if len(self.events) > count else failures + 1
            self._note("waiting", failure, status="waiting")
            retry_after = failure.retry_after if isinstance(failure, Problem) else None
            delay = self._client.delay(failures, retry_after, self._retry_time)
            if self._client.sleep:
                self._client.sleep(delay)
            else:
                self._closed.wait(delay)

    def _follow(self) -> None:
        """Opens one stream and processes its events until the stream ends."""
        headers = {"Accept": "text/event-stream"}
        if self._position is not None:
            headers["Last-Event-ID"] = self._position
        connection = self._client.connect(self._silence)
        try:
            with self._changed:
                self._socket = connection.sock
                if self._closed.is_set():
                    return
            query = {"presence": True, "client": self._client.name} if self._reappear else {}
            response = self._client.begin(connection, "GET", with_query(f"{self._path}/updates", query), None, headers)
            try:
                if response.status != 200:
                    raise problem(response, response.read())
                # An answer with another media type can be the log-in page of a network.
                if not re.match(r"text/event-stream\s*(;|$)", response.headers.get("Content-Type", ""), re.I):
                    raise ConnectionLost("The answer is not a stream of events.")
                parser = EventParser()
                # The server sends a comment every 15 seconds, so a connection without any data counts as dead, and
                # reading times out.
                while piece := response.read1(1 << 16):
                    for kind, data, id in parser.events(piece):
                        if self._closed.is_set():
                            return
                        self._take(kind, data, id)
                        if self._has_ended:
                            return
                    if parser.retry_time is not None:
                        self._retry_time = parser.retry_time
            except (OSError, http.client.HTTPException) as error:
                raise ConnectionLost(f"The connection was lost: {error!r}") from error
            raise ConnectionLost("The server ended the stream.")
        finally:
            with self._changed:
                self._socket = None
            connection.close()

    def _take(self, kind: str, data: str, id: str | None) -> None:
        try:
            self._take_in(kind, json.loads(data), id)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise UpdateFault(f'the event "{kind}" makes no sense: {error!r}') from error

    def _take_in(self, kind: str, data: Any, id: str | None) -> None:
        if kind == "ended":
            self._has_ended = True
        elif kind == "snapshot":
            self._note(kind, data, snapshot=data, position=id)
        elif kind in ("cellEvent", "tap", "emitted"):
            self._note(kind, data, position=id)
        elif kind == "presence":
            clients = {client["id"]: client for client in data.get("present", self.present) + data.get("changed", [])}
            self.present = [client for id, client in clients.items() if id not in data.get("left", [])]
            self._note(kind, self.present)
        elif self.snapshot is None:
            raise UpdateFault(f'the event "{kind}" came before a snapshot')
        elif kind == "update":
            # An update that does not lead to a later revision than the copy's is skipped: the copy already contains its
            # changes.
            if data["to"] <= self.snapshot["revision"]:
                return
            before = self.snapshot.copy()
            # The revisions between the copy's revision and `from` changed nothing visible.
            before["revision"] = max(before["revision"], data["from"])
            self._note(kind, data, snapshot=applying(data, before), position=id)
        elif kind == "caught-up":
            snapshot = self.snapshot.copy()
            snapshot["revision"] = max(snapshot["revision"], data["revision"])
            self._note("live", None, snapshot=snapshot, position=id, status="live")
            if self._reappear:
                # In a thread of its own, because the request waits for its answer and for retries.
                threading.Thread(target=self._reappear, daemon=True).start()

    def _turn(self, status: str) -> None:
        with self._changed:
            if not self._closed.is_set():
                self.status = status
                self._changed.notify_all()

    def _note(
        self, kind: str, data: Any, *, snapshot: Snapshot | None = None, position: str | None = None, status: str | None = None,
    ) -> None:
        with self._changed:
            if self._closed.is_set():
                return
            self.snapshot = snapshot or self.snapshot
            self._position = position or self._position
            self.status = status or self.status
            event = Event(kind, data, self.snapshot)
            self.events.append(event)
            self._changed.notify_all()
        try:
            if self._on_event:
                self._on_event(event)
        except Exception as error:
            # If the callback raises an error, the subscription continues.
            threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, threading.current_thread())))


def _shut(connected: socket.socket) -> None:
    try:
        connected.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


class EventParser:
    """Parses a stream of server-sent events from pieces of its bytes (WHATWG HTML, 9.2.6)."""

    def __init__(self) -> None:
        self.retry_time: float | None = None
        """Seconds, if the server has named them."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._ended_with_cr = False
        self._line: list[str] = []
        self._kind = ""
        self._data: list[str] = []
        self._id: str | None = None

    def events(self, piece: bytes) -> Iterator[tuple[str, str, str | None]]:
        """Yields each event that is complete, as its kind, its data and its id."""
        text = self._decoder.decode(piece)
        start = 1 if self._ended_with_cr and text.startswith("\n") else 0
        if text:
            self._ended_with_cr = text.endswith("\r")
        for end in re.compile("\r\n|\n|\r").finditer(text, start):
            self._line.append(text[start:end.start()])
            event = self._end_line("".join(self._line))
            self._line = []
            start = end.end()
            if event:
                yield event
        if start < len(text):
            self._line.append(text[start:])

    def _end_line(self, line: str) -> tuple[str, str, str | None] | None:
        if line == "":
            event = (self._kind or "message", "\n".join(self._data), self._id) if self._data else None
            self._kind, self._data, self._id = "", [], None
            return event
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and re.fullmatch("[0-9]+", value):
            self.retry_time = int(value) / 1000
        return None
