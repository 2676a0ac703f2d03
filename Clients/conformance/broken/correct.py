#!/usr/bin/env python3
"""A small client that follows every rule of the levels `commands`, `stream` and `poll`, with its driver program. Each
other client in this folder is a variant of this client that breaks one rule.

This client needs only Python's standard library, and is written to be read. docs/http-api/client-protocol.md explains
the rules.
"""
import collections
import email.utils
import http.client
import json
import secrets
import sys
import threading
import time
import urllib.parse

# In seconds. The delay before the first retry is twice `FIRST_DELAY`. The delay doubles with each retry, up to
# `LONGEST_DELAY`.
FIRST_DELAY, LONGEST_DELAY = 0.01, 0.1


class UpdateFault(Exception):
    """The error for an update that does not fit the client's copy of the table."""


class Refusal(Exception):
    """The error for a request that the server refused."""

    def __init__(self, status, document, retry_after):
        super().__init__(f"{status} {document.get('type', 'about:blank')}")
        self.status, self.kind, self.retry_after = status, document.get("type", "about:blank").rsplit("/", 1)[-1], retry_after


# The errors that mean: no complete answer arrived. The server may have carried out the command.
LOST = (OSError, http.client.HTTPException, ValueError)


class Client:
    RETRIED = {408, 429, 502, 503, 504}

    def __init__(self, url, token, session, report):
        self.address = urllib.parse.urlsplit(url)
        self.token, self.path, self.report = token, f"/v1/sessions/{session}", report
        # The client's copy of the table, and the position after the last event that it has processed.
        self.lock = threading.RLock()
        self.copy = self.position = None
        # The commands that wait to be sent, in the order of the calls.
        self.commands = collections.deque()
        self.has_commands = threading.Condition()
        threading.Thread(target=self.send_commands, daemon=True).start()

    # Requests

    def exchange(self, method, path, body=None, headers={}):
        """Sends a request once. Returns the connection and the answer, whose body was not read yet. Raises `Refusal` if
        the server refused the request.
        """
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=60)
        try:
            fields = {"Authorization": f"Bearer {self.token}", "Accept": "application/json", **headers}
            if body is not None:
                fields["Content-Type"] = "application/json"
            connection.request(method, self.address.path.rstrip("/") + path, body, fields)
            answer = connection.getresponse()
            if answer.status >= 300:
                raise self.refusal(answer)
            return connection, answer
        except BaseException:
            connection.close()
            raise

    def refusal(self, answer):
        text, after = answer.read(), answer.headers.get("Retry-After")
        try:
            document = json.loads(text)
        except ValueError:
            document = {}
        if after is not None:
            after = float(after) if after.isdigit() else email.utils.parsedate_to_datetime(after).timestamp() - time.time()
        return Refusal(answer.status, document, after)

    def json(self, method, path, body=None, headers={}):
        connection, answer = self.exchange(method, path, body, headers)
        try:
            return json.loads(answer.read())
        finally:
            connection.close()

    def is_retried(self, failure):
        return not isinstance(failure, Refusal) or failure.status in self.RETRIED or failure.kind == "idempotency-key-in-use"

    def pause(self, tries, failure=None):
        """Waits before another try, at least as long as the server's `Retry-After` says."""
        time.sleep((getattr(failure, "retry_after", None) or 0) + min(LONGEST_DELAY, FIRST_DELAY * 2**tries))

    def get(self, path):
        """Sends a GET, and repeats it until the server answers."""
        tries = 0
        while True:
            try:
                return self.json("GET", self.path + path)
            except (Refusal, *LOST) as failure:
                if not self.is_retried(failure):
                    raise
                tries += 1
                self.pause(tries, failure)

    # The copy

    def take_snapshot(self, snapshot):
        with self.lock:
            self.copy = snapshot
            self.position = self.position_of(snapshot)
            self.report({"copy": self.copy, "by": "snapshot"})

    def position_of(self, snapshot):
        return f"{snapshot['epoch']}.{snapshot['revision']}"

    def take_update(self, update):
        """Applies an update to the copy. An update that the copy already contains is not applied again."""
        with self.lock:
            if update["to"] <= self.copy["revision"]:
                return
            # The update's `from` may be later than the copy's revision, because revisions that changed nothing visible
            # have no update.
            if update["from"] < self.copy["revision"]:
                raise UpdateFault(f"the update begins at {update['from']}, the copy is of {self.copy['revision']}")
            self.copy = self.applied(update, self.copy)
            self.report({"copy": self.copy, "by": "update"})

    def stages(self, update):
        return update["stages"]

    def applied(self, update, copy):
        try:
            sections = copy["sections"]
            for stage in self.stages(update):
                sections = after_stage(stage, sections)
        except (LookupError, TypeError, ValueError) as error:
            raise UpdateFault(str(error)) from error
        result = {**copy, "revision": update["to"], "sections": sections, "totalRowCount": sum(len(section["rows"]) for section in sections)}
        if result["totalRowCount"] != update["totalRowCount"]:
            raise UpdateFault(f"there are {result['totalRowCount']} rows, and not {update['totalRowCount']}")
        result.update({name: update[name] for name in ("state", "empty") if name in update})
        if result.get("empty", ...) is None:
            del result["empty"]
        return result

    def read(self):
        self.take_snapshot(self.get("/snapshot"))

    def poll(self):
        """Gets the updates since the copy's revision as a list, and applies them."""
        news = self.get(f"/updates?since={self.position_of(self.copy)}")
        if "snapshot" in news:
            return self.take_snapshot(news["snapshot"])
        for update in news["updates"]:
            self.take_update(update)

    # Following

    def follow(self):
        threading.Thread(target=self.follow_until_the_end, daemon=True).start()

    def follow_until_the_end(self):
        tries = 0
        while True:
            failure = None
            try:
                for event in self.events():
                    tries = 0
                    if not self.take(event):
                        return self.report({"ended": {}})
            except Refusal as refusal:
                failure = refusal
                if not self.is_retried(refusal):
                    return self.report({"ended": {"status": refusal.status, "problem": refusal.kind}})
            except UpdateFault:
                self.position = None
            except LOST:
                pass
            tries += 1
            self.pause(tries, failure)
            self.reconnects()

    def reconnects(self):
        """Called before the client connects again. Clients that break a rule override this method."""

    def events(self):
        """Opens one connection, and yields its complete events. The stream begins after the client's position."""
        headers = {"Accept": "text/event-stream"}
        if self.position is not None:
            headers["Last-Event-ID"] = self.position
        connection, answer = self.exchange("GET", f"{self.path}/updates", headers=headers)
        try:
            event = {}
            # A line is decoded only when it is complete, because the bytes of one character may arrive in two pieces.
            for line in self.lines(answer):
                name, _, value = line.decode().partition(":")
                value = value.removeprefix(" ")
                if line == b"":
                    if "data" in event:
                        yield event
                    event = {}
                elif name == "data":
                    event["data"] = "\n".join([*filter(None, [event.get("data")]), value])
                elif name in ("id", "event"):
                    event[name] = value
                    self.reads_field(name, value)
        finally:
            connection.close()

    def reads_field(self, name, value):
        """Called for each field of an event that is not complete yet. Clients that break a rule override this method.
        """

    def lines(self, answer):
        """Yields the complete lines of a body, without their line ends. If the connection ends in the middle of a line,
        the client ignores this line.
        """
        rest = b""
        while piece := answer.read1():
            *lines, rest = (rest + piece).split(b"\n")
            yield from lines

    def take(self, event):
        """Processes one event of the stream. Returns whether the stream continues after this event."""
        data = json.loads(event["data"])
        with self.lock:
            if event["event"] == "snapshot":
                self.take_snapshot(data)
            elif event["event"] == "update":
                self.take_update(data)
            elif event["event"] == "caught-up":
                self.copy = {**self.copy, "revision": max(data["revision"], self.copy["revision"])}
                self.report({"live": True})
            self.position = event.get("id", self.position)
        return event["event"] != "ended"

    # Commands

    def send(self, command, base, if_match, tell):
        """Queues a command behind the session's earlier commands. `tell` is called with the answer."""
        [(name, body)] = command.items()
        with self.lock:
            position = self.position_of(self.copy) if base or if_match else None
        path = f"{self.path}/{name}" + (f"?base={position}" if base else "")
        headers = {"If-Match": f'"{position}"'} if if_match else {}
        with self.has_commands:
            self.commands.append({"path": path, "body": json.dumps(body), "headers": headers, "key": self.new_key(), "tries": 0, "tell": tell})
            self.has_commands.notify()

    def new_key(self):
        return secrets.token_hex(16)

    def send_commands(self):
        while True:
            with self.has_commands:
                self.has_commands.wait_for(lambda: self.commands)
                command = self.commands.popleft()
            try:
                answer = self.json("POST", command["path"], command["body"], {"Idempotency-Key": self.key(command), **command["headers"]})
            except (Refusal, *LOST) as failure:
                command["tries"] += 1
                if self.is_retried(failure):
                    self.keep(command)
                    self.pause(command["tries"], failure)
                else:
                    self.refused(command, failure)
                continue
            with self.lock:
                # If the update does not begin at or before the copy's revision, the client ignores it here and receives
                # it from the stream.
                if self.copy and answer["update"]["from"] <= self.copy["revision"]:
                    self.take_answer(answer)
            command["tell"](answer)

    def key(self, command):
        return command["key"]

    def take_answer(self, answer):
        try:
            self.take_update(answer["update"])
        except UpdateFault:
            # The update does not fit the copy. The client receives the change from the stream.
            pass

    def keep(self, command):
        """Puts a command that must be sent again before all other queued commands."""
        self.commands.appendleft(command)

    def refused(self, command, refusal):
        """Reports a refusal to the program. A refused command has changed nothing, and the program decides what to do
        next.
        """
        command["tell"]({"status": refusal.status, "problem": refusal.kind})


def after_stage(stage, before):
    """Returns the sections after one stage. The indexes of deletes, reloads, updates and the sources of moves refer to
    the table before the stage. The indexes of inserts and the targets of moves refer to the table after the stage.
    """
    sections = [{**section, "rows": list(section["rows"])} for section in before]
    for section, row in stage.get("deleteRows", []):
        sections[section]["rows"][index(row)] = None
    moved = []
    for move in stage.get("moveRows", []):
        section, row = move["from"]
        moved.append((move["to"], move.get("row", before[section]["rows"][index(row)])))
        sections[section]["rows"][row] = None
    for change in stage.get("reloadRows", []) + stage.get("updateRows", []):
        section, row = change["at"]
        replaced(sections[section]["rows"], index(row), change["row"])
    for change in stage.get("reloadSections", []):
        replaced(sections, index(change["at"]), change["section"])
    for change in stage.get("updateSections", []):
        section = sections[change["at"]]
        section.update({name: change[name] for name in ("header", "footer", "movesTo") if name in change})
        if section.get("movesTo", ...) is None:
            del section["movesTo"]
    gone = set(stage.get("deleteSections", []))
    arriving = {change["at"]: change["section"] for change in stage.get("insertSections", [])}
    for move in stage.get("moveSections", []):
        gone.add(move["from"])
        arriving[move["to"]] = before[move["from"]]
    sections = filled([section for number, section in enumerate(sections) if number not in gone], arriving)
    places = collections.defaultdict(dict)
    for (section, row), content in moved + [(change["at"], change["row"]) for change in stage.get("insertRows", [])]:
        places[section][row] = content
    for number, section in enumerate(sections):
        rows = filled([row for row in section["rows"] if row is not None], places.pop(number, {}))
        sections[number] = {**section, "rows": rows, "rowCount": len(rows)}
    if places:
        raise ValueError(f"there are no sections {list(places)}")
    return sections


def index(number):
    """Returns `number`, but raises an error for a negative number, which Python would count from the end of a list."""
    if number < 0:
        raise ValueError("an index is negative")
    return number


def replaced(list, at, new):
    if list[at].get("id") != new.get("id"):
        raise ValueError(f"{list[at]} is replaced by {new}")
    list[at] = new


def filled(staying, arriving):
    """Returns the list after the stage: new items at their indexes, and the other items around them in their old order.
    """
    result = list(staying)
    for at in sorted(arriving):
        if at > len(result):
            raise ValueError(f"nothing can come to {at} of {len(result)}")
        result.insert(at, arriving[at])
    return result


def main(client_type=Client):
    """The driver program. It reads commands from standard input and prints answers and reports to standard output, as
    lines of JSON.
    """
    printing = threading.Lock()

    def report(line):
        with printing:
            print(json.dumps(line), flush=True)

    client = None
    for line in sys.stdin:
        command = json.loads(line)
        number, do = command.pop("id"), command.pop("do")
        try:
            if do == "connect":
                client = client_type(report=report, **command)
                answer = {"client": "correct.py", "levels": ["commands", "stream", "poll"]}
            elif do == "send":
                client.send(command["command"], command.get("base", False), command.get("ifMatch", False), lambda answer, number=number: report({"id": number, "answer": answer}))
                continue
            else:
                answer = getattr(client, do)() or {}
        except Refusal as refusal:
            answer = {"status": refusal.status, "problem": refusal.kind}
        report({"id": number, "answer": answer})


if __name__ == "__main__":
    main()
