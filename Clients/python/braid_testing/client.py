"""The client: requests with retries, sessions and their commands, as docs/clients/README.md says of all clients."""
from __future__ import annotations

import http.client
import json
import random
import re
import threading
import time
import urllib.parse
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NotRequired, TypedDict

from .following import Event, Subscription
from .updates import IndexPath, Snapshot, Update
from .wire import ConnectionLost, Position, Problem, answer, position, quoted, with_query

RowReference = Mapping[str, Any] | list[int]

RETRIED = {408, 429, 502, 503, 504}
FIRST_DELAY, LONGEST_DELAY = 0.5, 30.0  # seconds


class RowTally(TypedDict):
    """What `insert_rows` or `put_rows` did with its models. `section` received the inserted and the moved rows."""

    section: str
    inserted: int
    replaced: int
    moved: int
    unchanged: int


class Answer(TypedDict):
    """The server's answer to a command."""

    revision: int
    outcome: str
    reason: NotRequired[str]
    at: NotRequired[IndexPath]
    notification: NotRequired[Any]
    rows: NotRequired[RowTally]
    update: Update


class Default:
    """The default of parameters named `key`: the client makes a new idempotency key."""


NEW_KEY = Default()


class _Turns:
    """A lock that threads acquire in the order in which they asked for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def turn(self) -> Iterator[None]:
        mine = threading.Event()
        with self._lock:
            self._waiting.append(mine)
            if len(self._waiting) == 1:
                mine.set()
        try:
            mine.wait()
            yield
        finally:
            with self._lock:
                is_first = self._waiting[0] is mine
                self._waiting.remove(mine)
                if is_first and self._waiting:
                    self._waiting[0].set()


class BraidClient:
    """A client for one server. Several threads may use one client.

    - `timeout`: the number of seconds to wait for a whole answer.
    - `retries`: the maximum number of times that the client sends a request again.
    - `sleep`: a function that replaces the wait before a retry, for tests.
    """

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 60, retries: int = 6,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self.token = token
        self.timeout = timeout
        self.retries = retries
        self.sleep = sleep
        self.name = uuid.uuid4().hex
        """Tells this client from others among those present."""
        self._shown: dict[str, dict[str, Any]] = {}
        """What the client shows to the others, by the paths of the sessions."""
        self._turns: dict[str, _Turns] = {}
        self._lock = threading.Lock()

    def with_token(self, token: str | None) -> BraidClient:
        """Returns a client for the same server with another token."""
        return BraidClient(self.url, token, timeout=self.timeout, retries=self.retries, sleep=self.sleep)

    def session(self, id: str) -> Session:
        return Session(self, id)

    def open_session(self, opening: Mapping[str, Any], *, key: str | None | Default = NEW_KEY) -> Session:
        """Opens a session. `opening` is the body of `POST /v1/sessions`."""
        snapshot: Snapshot = self.send("POST", "/v1/sessions", opening, key=key)
        return Session(self, snapshot["session"], snapshot)

    def fork(self, session: str, revision: int | None = None, id: str | None = None) -> Session:
        """Opens a fork: a copy of a session as it is now, or as it was at an earlier revision."""
        origin: dict[str, Any] = {"session": session} | ({} if revision is None else {"revision": revision})
        return self.open_session({"from": origin} | ({} if id is None else {"id": id}))

    def sessions(self) -> list[dict[str, Any]]:
        """Returns the summaries (id, revision, times, number of rows) of all sessions, in the order of their ids."""
        found: list[dict[str, Any]] = []
        page: dict[str, Any] = {"next": None}
        while "next" in page:
            page = self.send("GET", "/v1/sessions", query={"limit": 1000, "after": page["next"]})
            found += page["sessions"]
        return found

    def put_table(self, name: str, description: Mapping[str, Any]) -> dict[str, Any]:
        """Registers a table description. A changed description becomes a new version."""
        answer: dict[str, Any] = self.send("PUT", f"/v1/tables/{quoted(name)}", description)
        return answer

    def send(
        self, method: str, path: str, body: Any = None, *, query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None, key: str | None | Default = None, is_repeatable: bool | None = None,
        patience: float = 0,
    ) -> Any:
        """Sends a request, and returns the JSON of the answer. Raises `Problem` or `ConnectionLost`.

        - `key`: the idempotency key. Without a key, the client repeats a POST only if the server certainly has not
          handled it.
        - `is_repeatable`: whether the client may repeat the request even if the server may have handled it. By
          default, this is true for requests with a key and for all requests except POST.
        - `patience`: seconds that are added to the timeout, for a long poll.

        The client sends the commands of one session in the order of the calls.
        """
        fields = {"Accept": "application/json", **(headers or {})}
        if isinstance(key, Default):
            key = uuid.uuid4().hex
        if key is not None:
            fields["Idempotency-Key"] = key
        if is_repeatable is None:
            is_repeatable = key is not None or method != "POST"
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        if data is not None:
            fields["Content-Type"] = "application/json"
        path = with_query(path, query or {})
        # A command waits until the earlier commands of its session were answered or have failed. GET requests and
        # requests for tokens do not wait. Requests for presence wait only for each other.
        changed = None if method == "GET" else re.match(r"/v1/sessions/[^/?]+(/presence)?(?=$|\?|/(?!tokens))", path)
        if changed is None:
            return self._deliver(method, path, data, fields, is_repeatable, patience)
        with self._lock:
            turns = self._turns.setdefault(changed[0], _Turns())
        with turns.turn():
            return self._deliver(method, path, data, fields, is_repeatable, patience)

    def _deliver(self, method: str, path: str, data: bytes | None, fields: dict[str, str], is_repeatable: bool, patience: float) -> Any:
        tries = 0
        while True:
            tries += 1
            try:
                return self._exchange(method, path, data, fields, patience)
            except (Problem, ConnectionLost) as error:
                error.tries = tries
                if tries > self.retries or not _is_retried(error, is_repeatable):
                    raise
                (self.sleep or time.sleep)(self.delay(tries, error.retry_after if isinstance(error, Problem) else None))

    def delay(self, tries: int, retry_after: float | None = None, first: float = FIRST_DELAY) -> float:
        """The number of seconds before a retry: the server's `Retry-After`, plus a random delay whose maximum doubles
        with each try, up to 30 seconds.
        """
        return (retry_after or 0) + random.random() * min(LONGEST_DELAY, first * 2.0 ** (tries - 1))

    def connect(self, timeout: float) -> http.client.HTTPConnection:
        """Opens a connection to the server. `timeout` is the number of seconds to wait for each step, such as
        connecting or receiving the next bytes.
        """
        url = urllib.parse.urlsplit(self.url)
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        connection = kind(url.hostname or "", url.port, timeout=timeout)
        try:
            connection.connect()
        except OSError as error:
            raise ConnectionLost(f"There is no connection to {self.url}: {error}") from error
        return connection

    def begin(
        self, connection: http.client.HTTPConnection, method: str, path: str, data: bytes | None, fields: Mapping[str, str],
    ) -> http.client.HTTPResponse:
        """Sends a request. Returns the answer as soon as its header fields have arrived."""
        authorization = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        prefix = urllib.parse.urlsplit(self.url).path
        try:
            connection.request(method, prefix + path, data, {"Connection": "close", **fields, **authorization})
            return connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionLost(f"The connection was lost before an answer arrived: {error!r}") from error

    def _exchange(self, method: str, path: str, data: bytes | None, fields: dict[str, str], patience: float) -> Any:
        deadline = time.monotonic() + self.timeout + patience
        connection = self.connect(self.timeout + patience)
        socket = connection.sock
        try:
            response = self.begin(connection, method, path, data, fields)
            pieces = []
            while piece := response.read1(1 << 16):
                pieces.append(piece)
                socket.settimeout(max(0.001, deadline - time.monotonic()))
            # If the connection ends before the body is complete, `read1` raises no error. Then `length`, the number of
            # missing bytes, is not 0.
            if response.length:
                raise ConnectionLost("The connection was lost before the whole answer arrived.")
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionLost(f"The connection was lost before the whole answer arrived: {error!r}") from error
        finally:
            connection.close()
        return answer(response, b"".join(pieces))


def _is_retried(error: Problem | ConnectionLost, is_repeatable: bool) -> bool:
    if isinstance(error, ConnectionLost):
        return is_repeatable
    if error.retry_after is not None and error.retry_after > LONGEST_DELAY:
        return False
    if error.kind == "idempotency-key-in-use":
        return True
    may_be_done = error.status in (502, 504) or error.kind == "outcome-unknown"
    return error.status in RETRIED and (is_repeatable or not may_be_done)


class Session:
    """One session on the server."""

    def __init__(self, client: BraidClient, id: str, opened: Snapshot | None = None) -> None:
        self.client = client
        self.id = id
        self.opened = opened
        """The snapshot with which the session was opened, if `client` opened it."""
        self.path = f"/v1/sessions/{quoted(id)}"

    def __repr__(self) -> str:
        return f"<Session {self.id!r} of {self.client.url}>"

    # MARK: Reads

    def summary(self) -> dict[str, Any]:
        result: dict[str, Any] = self.client.send("GET", self.path)
        return result

    def snapshot(self, *, at: Position | None = None, **window: Any) -> Snapshot:
        """Gets the snapshot of the whole table or of a window. `at` is an earlier position, which the journal must
        still contain.
        """
        query = {"at": None if at is None else position(at), **window}
        result: Snapshot = self.client.send("GET", f"{self.path}/snapshot", query=query)
        return result

    def updates(self, since: Position, *, wait: int | None = None, coalesce: bool = False) -> dict[str, Any]:
        """Gets the updates after a position: `from`, `to` and `updates`, or `reset` and `snapshot`. If there are no
        updates, the server waits up to `wait` seconds for one.
        """
        query = {"since": position(since), "wait": wait, "coalesce": coalesce or None}
        result: dict[str, Any] = self.client.send("GET", f"{self.path}/updates", query=query, patience=wait or 0)
        return result

    def journal(self, *, after: int | None = None, limit: int | None = None) -> dict[str, Any]:
        result: dict[str, Any] = self.client.send("GET", f"{self.path}/journal", query={"after": after, "limit": limit})
        return result

    def rows(self, section: str) -> list[Any]:
        """The displayed rows of one section. A section that is not displayed has no rows."""
        return [row for shown in self.snapshot()["sections"] if shown["id"] == section for row in shown["rows"]]

    def ids(self, section: str) -> list[str]:
        """The ids of the displayed rows of one section."""
        return [row["id"] for row in self.rows(section)]

    def subscribe(
        self, *, since: Snapshot | None = None, on_event: Callable[[Event], object] | None = None, silence: float = 40,
        presence: bool = False,
    ) -> Subscription:
        """Follows the session in a thread of the subscription until `close`. Use it with `with`.

        - `since`: a snapshot that the caller already has. The subscription continues from this snapshot.
        - `on_event`: a function that the subscription's thread calls for each event.
        - `silence`: the number of seconds without any data after which the connection counts as lost.
        - `presence`: also follows who is present, and keeps the client present after `set_presence`.
        """
        return Subscription(
            self.client, self.path, since=since, on_event=on_event, silence=silence, reappear=self._reappear if presence else None)

    # MARK: Presence

    def presence(self) -> list[dict[str, Any]]:
        """Everybody present, in the order in which they came."""
        result: list[dict[str, Any]] = self.client.send("GET", f"{self.path}/presence")["present"]
        return result

    def set_presence(self, at: RowReference | None = None, data: Any = None) -> dict[str, Any]:
        """Shows the client to the others for 30 seconds, and as long as it has a subscription with `presence`. Returns
        the client as the others see it.
        """
        return self._show({name: value for name, value in {"at": at, "data": data}.items() if value is not None})

    def leave_presence(self) -> None:
        self.client._shown.pop(self.path, None)
        self.client.send("DELETE", f"{self.path}/presence", query={"client": self.client.name})

    def _show(self, entry: dict[str, Any]) -> dict[str, Any]:
        self.client._shown[self.path] = entry
        result: dict[str, Any] = self.client.send("PUT", f"{self.path}/presence", entry, query={"client": self.client.name})
        if "at" in entry:
            # From now on, the row has its id: an index path counts only now.
            entry["at"] = result["at"]
        return result

    def _reappear(self) -> None:
        entry = self.client._shown.get(self.path)
        try:
            if entry is not None:
                self._show(entry)
        except Problem as refusal:
            # The row may be gone.
            if refusal.status in (404, 409) and entry and self.client._shown.get(self.path) is entry and entry.pop("at", None):
                self._reappear()
        except ConnectionLost:
            pass

    # MARK: Life

    def fork(self, revision: int | None = None, id: str | None = None) -> Session:
        """Opens a fork: a copy of this session as it is now, or as it was at an earlier revision."""
        return self.client.fork(self.id, revision, id)

    def token(
        self, role: str = "participant", expires_in: int = 3600, *, user: str | None = None, name: str | None = None,
        claims: Mapping[str, Any] | None = None,
    ) -> str:
        """Makes a token for this session. `role` is "participant" or "viewer". The token expires after `expires_in`
        seconds. `user`, `name` and `claims` say whose it is.
        """
        whose = {name: value for name, value in {"user": user, "name": name, "claims": claims}.items() if value is not None}
        body = {"role": role, "expiresIn": expires_in, **whose}
        made: dict[str, Any] = self.client.send("POST", f"{self.path}/tokens", body)
        return str(made["token"])

    def end(self) -> None:
        """Ends the session."""
        try:
            self.client.send("DELETE", self.path)
        except Problem as refusal:
            # A 404 after a retry means that an earlier try has ended the session and its answer was lost.
            if refusal.status != 404 or refusal.tries == 1:
                raise

    # MARK: Commands

    def command(
        self, method: str, resource: str, body: Any = None, *, base: Position | None = None, if_match: Position | None = None,
        dry_run: bool = False, key: str | None | Default = NEW_KEY, **parameters: Any,
    ) -> Answer:
        """Sends any command of the HTTP API: `command("POST", "taps", {"at": [0, 1]})`.

        - `base`: the position to which the index paths of the body refer.
        - `if_match`: a position. If the session is at another position, the server refuses the command with 412.
        - `dry_run`: the server computes and answers the command, but does not apply it.
        - `key`: the idempotency key. By default the client makes a new key. With `None`, the client sends no key.
        - `parameters`: more query parameters, such as `strict=True`.
        """
        query = {"base": None if base is None else position(base), "dryRun": dry_run or None, **parameters}
        headers = {} if if_match is None else {"If-Match": f'"{position(if_match)}"'}
        result: Answer = self.client.send(
            method, f"{self.path}/{resource}", body, query=query, headers=headers, key=None if dry_run else key,
            is_repeatable=dry_run or key is not None)
        return result

    def edit(self, body: Mapping[str, Any], **options: Any) -> Answer:
        """Deletes or inserts a row, as a person does. `body` is `{"delete": row}` or `{"insert": row, "model": …}`."""
        return self.command("POST", "edits", body, **options)

    def delete(self, row: RowReference, **options: Any) -> Answer:
        """Deletes a row, as a person does. The description must allow this."""
        return self.edit({"delete": row}, **options)

    def move(self, row: RowReference, to: RowReference, **options: Any) -> Answer:
        return self.command("POST", "moves", {"from": row, "to": to}, **options)

    def tap(self, at: RowReference, **options: Any) -> Answer:
        return self.command("POST", "taps", {"at": at}, **options)

    def event(self, at: RowReference, event: Mapping[str, Any], **options: Any) -> Answer:
        """Sends a cell event. `event` contains the event's name and its parameters."""
        return self.command("POST", "events", {"at": at, "event": event}, **options)

    def displayed_rows(self, rows: list[RowReference], **options: Any) -> Answer:
        return self.command("POST", "displayed-rows", {"rows": rows}, **options)

    def set_models(self, models: Mapping[str, list[Any]], **options: Any) -> Answer:
        """Replaces the models of all sections."""
        return self.command("PUT", "models", models, **options)

    def patch_models(self, models: Mapping[str, list[Any] | None], **options: Any) -> Answer:
        """Replaces the models of the sections that `models` names."""
        return self.command("PATCH", "models", models, **options)

    def patch_headers(self, headers: Mapping[str, Any], **options: Any) -> Answer:
        return self.command("PATCH", "headers", headers, **options)

    def patch_footers(self, footers: Mapping[str, Any], **options: Any) -> Answer:
        return self.command("PATCH", "footers", footers, **options)

    def set_displayed_sections(self, ids: list[str], **options: Any) -> Answer:
        return self.command("PUT", "displayed-sections", ids, **options)

    def patch_state(self, patch: Mapping[str, Any], **options: Any) -> Answer:
        """Changes the state by a merge patch (RFC 7396)."""
        return self.command("PATCH", "state", patch, **options)

    def transaction(self, commands: list[Mapping[str, Any]], **options: Any) -> Answer:
        """Applies several commands as one revision. If a command fails, the server applies none of them."""
        return self.command("POST", "transactions", {"commands": commands}, **options)

    def reset(self, **options: Any) -> Answer:
        """Resets the session to the table with which it was opened."""
        return self.command("POST", "reset", {}, **options)

    def undo(self, revision: int | None = None, **options: Any) -> Answer:
        """Takes back what the command of this revision did. By default, it is your last command that is not taken back
        yet.
        """
        return self.command("POST", "undo", {"last": "mine"} if revision is None else {"revision": revision}, **options)

    def redo(self, revision: int | None = None, **options: Any) -> Answer:
        """Takes back the undo of this revision. By default, it is your last undo."""
        return self.command("POST", "redo", {"last": "mine"} if revision is None else {"revision": revision}, **options)

    def insert_row(self, section: str, at: Any, model: Any, **options: Any) -> Answer:
        return self.command("POST", f"sections/{quoted(section)}/rows", {"at": at, "model": model}, **options)

    def insert_rows(self, section: str, at: Any, models: list[Any], **options: Any) -> Answer:
        return self.command("POST", f"sections/{quoted(section)}/rows", {"at": at, "models": models}, **options)

    def put_rows(
        self, section: str, models: list[Any], *, at: Any = "end", move: bool = False, **options: Any
    ) -> Answer:
        """Replaces the rows that have the models' ids, in whichever section each is, and inserts the other models."""
        body = {"section": section, "models": models, "at": at, "move": move}
        return self.command("PUT", "rows", body, **options)

    def put_row(self, section: str, id: str | int, model: Any, **options: Any) -> Answer:
        """Replaces the row with this id. If the section has no such row, the server appends the row to the section."""
        return self.command("PUT", f"sections/{quoted(section)}/rows/{quoted(id)}", model, **options)

    def patch_row(self, section: str, id: str | int, patch: Any, **options: Any) -> Answer:
        return self.command("PATCH", f"sections/{quoted(section)}/rows/{quoted(id)}", patch, **options)

    def delete_row(self, section: str, id: str | int, **options: Any) -> Answer:
        """Deletes the row with this id, as a controller does."""
        return self.command("DELETE", f"sections/{quoted(section)}/rows/{quoted(id)}", **options)
