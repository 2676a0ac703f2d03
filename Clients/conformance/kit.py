"""The conformance kit. It plays scenarios with a client under test and the real server, and reports which rules of the
protocol the client breaks. README.md explains the kit.
"""
import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import queue
import secrets
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
SESSION = "conformance"
LEVELS = ("updates", "commands", "stream", "poll", "windows")


@dataclasses.dataclass(frozen=True)
class Fault:
    """A rule of the protocol that a client broke, and the detail that shows this."""

    rule: str
    detail: str

    def __str__(self):
        return f"rule {self.rule}: {self.detail}"


class Broken(Exception):
    """Raised if the client broke a rule in such a way that the scenario cannot continue."""


# Scenarios


class Scenario:
    """One scenario: a table, a script, faults and expectations, as data. README.md lists the members."""

    MEMBERS = {"title", "rules", "needs", "table", "golden", "script", "expect"}
    STEPS = {"client", "controller", "faults", "await"}
    EXPECTATIONS = {"table", "state", "snapshots", "requests"}

    def __init__(self, path):
        self.name = path.stem
        self.data = data = json.loads(path.read_text())
        self.title, self.rules, self.needs = data["title"], data["rules"], data["needs"]
        self.script, self.expect = data.get("script", []), data.get("expect", {})
        unknown = data.keys() - self.MEMBERS | self.expect.keys() - self.EXPECTATIONS | set(self.needs) - set(LEVELS)
        for step in self.script:
            unknown |= step.keys() - self.STEPS
            if len(step) != 1:
                raise ValueError(f"{path}: a step has exactly one member: {step}")
        if unknown:
            raise ValueError(f"{path}: unknown: {', '.join(sorted(unknown))}")
        self.table = json.loads((HERE / f"scenarios/tables/{data.get('table', 'board')}.table.json").read_text())

    @property
    def golden(self):
        """The updates that the client applies in a scenario without a server, each with the snapshots before and after
        it.
        """
        return json.loads((HERE / self.data["golden"]).read_text())["cases"]


def scenarios():
    """All scenarios, by their names."""
    return {path.stem: Scenario(path) for path in sorted((HERE / "scenarios").glob("*.json"))}


# The server


class Server:
    """A server in test mode: one that this program starts, or one that runs already (`url`)."""

    def __init__(self, binary=None, url=None, token=None):
        self.token = token or secrets.token_hex(16)
        self.process = None
        self.url = url.rstrip("/") if url else self._start(binary)

    def _start(self, binary):
        # The server may refuse to start if an environment variable `BRAID_…` is not one of its settings.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
        command = [str(binary), "serve", "--test-mode", "--database", ":memory:", "--port", "0", "--exit-with-stdin"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=environment | {"BRAID_TOKEN": self.token})
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise SystemExit(f"The server did not start: {' '.join(command)}")
        return line.removeprefix("listening on ").strip()

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait(timeout=30)
            self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def request(self, method, path, body=None):
        """Sends a request as the controller. Returns the answer's status and JSON. If the connection fails, the request
        is sent again for up to 30 seconds.
        """
        headers = {"Authorization": f"Bearer {self.token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if method != "GET" and path.startswith(f"/v1/sessions/{SESSION}/") and not path.endswith("/tokens"):
            headers["Idempotency-Key"] = secrets.token_hex(8)
        data = None if body is None else json.dumps(body).encode()
        limit = time.monotonic() + 30
        while True:
            try:
                request = urllib.request.Request(self.url + path, data, headers, method=method)
                with urllib.request.urlopen(request, timeout=30) as answer:
                    text = answer.read()
                    return answer.status, json.loads(text) if text else None
            except urllib.error.HTTPError as error:
                with error:
                    text = error.read()
                return error.code, json.loads(text) if text else None
            except OSError:
                # A fault of the scenario can make the server refuse all connections for a while.
                if time.monotonic() > limit:
                    raise
                time.sleep(0.02)

    def must(self, method, path, body=None):
        status, answer = self.request(method, path, body)
        if not 200 <= status < 300:
            raise RuntimeError(f"{method} {path}: {status} {json.dumps(answer)}")
        return answer


# The client under test


class Driver:
    """The driver program of the client under test. It reads commands and prints answers and reports, as lines of JSON."""

    def __init__(self, command, patience):
        self.patience = patience
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        self.lines = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self.number = 0
        self.answers = {}
        # The state that the client has reported so far.
        self.copy = None
        self.snapshots = 0
        self.lives = 0
        self.end = None

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def close(self):
        """Ends the driver program by closing its standard input."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()

    def said(self):
        """The last 2000 characters of what the program wrote to standard error."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")[-2000:].strip()

    def tell(self, what, **members):
        """Sends a command to the driver program. Returns the command's number."""
        self.number += 1
        try:
            self.process.stdin.write(json.dumps({"id": self.number, "do": what, **members}).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Broken(f"the driver has ended: {self.said()}") from None
        return self.number

    def ask(self, what, **members):
        return self.answer(self.tell(what, **members))

    def answer(self, number):
        """Waits until the driver program has answered the command with this number. Returns the answer."""
        self.until(lambda: number in self.answers, "the client has not answered", ends_with_stream=False)
        return self.answers.pop(number)

    def until(self, condition, otherwise, ends_with_stream=True):
        """Reads the driver's lines until the condition is true. Raises `Broken` if this takes too long."""
        limit = time.monotonic() + self.patience
        while not condition():
            if ends_with_stream and self.end is not None:
                raise Broken(f"the client has stopped following: {json.dumps(self.end)}")
            try:
                line = self.lines.get(timeout=max(0, limit - time.monotonic()))
            except queue.Empty:
                raise Broken(f"{otherwise} after {self.patience} seconds: {self.said()}") from None
            if line is None:
                raise Broken(f"the driver has ended: {self.said()}")
            self._take(line)

    def drain(self):
        """Reads the lines that the driver has already printed."""
        while not self.lines.empty():
            line = self.lines.get()
            if line is not None:
                self._take(line)

    def _take(self, line):
        try:
            message = json.loads(line)
        except ValueError:
            raise Broken(f"the driver printed a line that is not JSON: {line[:200]!r}") from None
        match message:
            case {"id": int(number), "answer": dict(answer)}:
                self.answers[number] = answer
            case {"copy": {"revision": int(), "sections": list()} as copy, "by": "snapshot"}:
                self.copy = copy
                self.snapshots += 1
            case {"copy": {"revision": int(revision), "sections": list()} as copy, "by": "update"}:
                old, self.copy = self.copy, copy
                if old is not None and revision <= old["revision"] and "window" not in copy:
                    raise Broken(f"an update led from revision {old['revision']} to {revision}")
            case {"live": True}:
                self.lives += 1
            case {"ended": dict(end)}:
                self.end = end
            case _:
                raise Broken(f"the driver printed a line that is no answer and no report: {line[:200]!r}")


# Playing


def holds(part, whole):
    """Whether each member of `part` has the same value in `whole`. Objects in `part` are compared in the same way."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(name in whole and holds(value, whole[name]) for name, value in part.items())
    return part == whole


def rows(snapshot):
    """The ids of a snapshot's rows, by section."""
    return {section["id"]: [row.get("id") for row in section["rows"]] for section in snapshot["sections"]}


def shown(snapshot):
    """The part of a snapshot that a client must have, for comparisons: everything except the names of the session and
    the table, and the revision, which can rise without a visible change. A missing header or footer counts as null.
    """
    sections = [{"header": None, "footer": None} | section for section in snapshot["sections"]]
    return {name: snapshot.get(name) for name in ("epoch", "totalRowCount", "state", "empty", "window")} | {"sections": sections}


def difference(expected, actual, pointer=""):
    """Describes the first difference between two JSON values. `None` if they are equal."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in [*expected, *(actual.keys() - expected.keys())]:
            if name not in expected or name not in actual:
                return f"{pointer}/{name} is {'missing' if name not in actual else 'too much'}"
            if found := difference(expected[name], actual[name], f"{pointer}/{name}"):
                return found
        return None
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return next(filter(None, (difference(one, other, f"{pointer}/{index}") for index, (one, other) in enumerate(zip(expected, actual)))), None)
    return None if expected == actual else f"{pointer or '/'} is {json.dumps(actual)[:300]} instead of {json.dumps(expected)[:300]}"


class Play:
    """One run of a scenario."""

    def __init__(self, scenario, server, driver):
        self.scenario, self.server, self.driver = scenario, server, driver
        self.path = f"/v1/sessions/{SESSION}"
        self.faults = []
        self.sent = []
        self.named = {}
        self.window = None
        self.lives = 0

    def judge(self):
        """Plays the scenario, and returns the faults of the client."""
        if "golden" in self.scenario.data:
            self.attempt(self.apply_updates)
            return self.faults
        self.open()
        if self.attempt(self.perform):
            self.attempt(self.check_copy)
        self.check_requests()
        return self.faults

    def attempt(self, action):
        """Runs an action of the scenario. If the action raises `Broken`, notes the client's fault and returns false."""
        try:
            action()
            return True
        except Broken as broken:
            self.note(str(broken))
            return False

    def note(self, detail, rule=None):
        fault = Fault(rule or self.scenario.rules[0], detail)
        if fault not in self.faults:
            self.faults.append(fault)

    def open(self):
        self.server.must("POST", "/v1/test/reset")
        self.server.must("POST", "/v1/sessions", {"id": SESSION, "table": self.scenario.table})
        self.token = self.server.must("POST", f"{self.path}/tokens", {"role": "participant", "expiresIn": 3600})

    def perform(self):
        answer = self.driver.ask("connect", url=self.server.url, token=self.token["token"], session=SESSION)
        if "client" not in answer:
            raise Broken(f"the client did not connect: {json.dumps(answer)}")
        for number, step in enumerate(self.scenario.script):
            [(kind, value)] = step.items()
            try:
                getattr(self, f"do_{kind}")(value)
            except Broken as broken:
                raise Broken(f"step {number + 1}, {json.dumps(step)[:200]}: {broken}") from None

    # Steps

    def do_controller(self, request):
        method, path, *body = request
        self.server.must(method, self.path + path, *body)

    def do_faults(self, rules):
        self.server.must("PUT", "/v1/test/faults", {"faults": [rule | {"match": self.match(rule.get("match", {}))} for rule in rules]})

    def match(self, match):
        """Restricts a match of requests to those of the client, by the id of the client's token."""
        return {"token": self.token["tokenId"]} | match

    def do_client(self, act):
        act = {act: {}} if isinstance(act, str) else act
        if "send" in act:
            return self.send(act)
        [(what, members)] = act.items()
        self.window = members.get("window", self.window)
        if "problem" in (answer := self.driver.ask(what, **members)) or "failure" in answer:
            raise Broken(f"the client failed: {json.dumps(answer)}")

    def send(self, act):
        self.sent.append(act["send"])
        flags = {name: act[name] for name in ("base", "ifMatch") if name in act}
        number = self.driver.tell("send", command=act["send"], **flags)
        if "as" in act:
            self.named[act["as"]] = number
        else:
            self.compare(self.driver.answer(number), act)

    def compare(self, answer, expectation):
        expected = expectation.get("answer", {"outcome": "applied"})
        if not holds(expected, answer):
            self.note(f"the client's answer was {json.dumps(answer)} instead of {json.dumps(expected)}", expectation.get("rule"))

    def do_await(self, condition):
        kind = next(iter(condition))
        value = condition[kind]
        if kind == "copy":
            self.driver.until(lambda: self.driver.copy is not None and holds(value, self.driver.copy), f"the client's copy has no {json.dumps(value)}")
        elif kind == "live":
            self.driver.until(lambda: self.driver.lives > self.lives, "the client is not live")
            self.lives = self.driver.lives
        elif kind == "ended":
            self.driver.until(lambda: self.driver.end is not None, "the client still follows")
            if self.driver.end != value:
                self.note(f"the client stopped following with {json.dumps(self.driver.end)} instead of {json.dumps(value)}")
        elif kind == "answer":
            self.compare(self.driver.answer(self.named[value]), {"answer": condition["is"]} if "is" in condition else {})
        elif kind == "requests":
            self.until_requests(self.match(value), condition)
        else:
            raise ValueError(f"there is no condition {kind}")

    def until_requests(self, match, condition):
        """Waits until the client has sent `atLeast` matching requests in all, or `more` matching requests than before.
        """
        count = condition.get("atLeast") or condition["more"] + self.server.must("POST", "/v1/test/requests/verify", {"match": match, "atLeast": 0})["count"]
        limit = time.monotonic() + self.driver.patience
        while self.server.request("POST", "/v1/test/requests/verify", {"match": match, "atLeast": count})[0] == 422:
            self.driver.drain()
            if self.driver.end is not None:
                raise Broken(f"the client has stopped following: {json.dumps(self.driver.end)}")
            if time.monotonic() > limit:
                raise Broken(f"the client has not sent {count} of the requests")
            time.sleep(0.02)

    # Judging

    def check_copy(self):
        self.server.must("DELETE", "/v1/test/faults")
        self.driver.drain()
        expect = self.scenario.expect
        status, server = self.server.request("GET", f"{self.path}/snapshot")
        if status == 200:
            for name, actual in (("table", rows(server)), ("state", server["state"])):
                if name in expect and (found := difference(expect[name], actual)):
                    self.note(f"the session's {name} is wrong at the end: {found}")
        copy = self.driver.copy
        if copy is not None and status == 200:
            if self.window is not None and "window" not in copy:
                self.note("the client's copy is not a window")
            answers = [server]
            if "window" in copy:
                answers = []
                for window in self.current_windows(copy):
                    query = "&".join(f"{name}={value}" for name, value in window.items())
                    status, answer = self.server.request("GET", f"{self.path}/snapshot?{query}")
                    if status != 200:
                        return self.note(f"the client's window has an anchor that is gone: {json.dumps(copy['window'])}")
                    answers.append(answer)
            differences = [difference(shown(answer), shown(copy)) for answer in answers]
            if all(differences):
                self.note(f"the client's copy is not the session's table: {differences[0]}")
        if "snapshots" in expect and self.driver.snapshots != expect["snapshots"]:
            self.note(f"the client took {self.driver.snapshots} snapshots in, not {expect['snapshots']}")

    def current_windows(self, copy):
        """The windows that the client may be following now. If the copy names an anchor, the only possible window is
        the one around this anchor. Otherwise the window is given by its offset.
        """
        window, anchor = self.window, copy["window"].get("anchor")
        if "around" not in window:
            return [window]
        if anchor:
            return [window | {"around": anchor["id"], "aroundSection": anchor["section"]}]
        place = {"offset": copy["window"]["offset"]} | {name: window[name] for name in ("section",) if name in window}
        # The window has a different size in two cases: the server does not know the anchor (rule W4), or the window was
        # empty when the client connected (rule W2).
        return [place | {"limit": limit} for limit in (window["before"] + 1 + window["after"], 1 + window["after"])]

    def check_requests(self):
        for expected in self.scenario.expect.get("requests", []):
            match = self.match(expected["match"])
            if "secondsApart" in expected:
                self.check_gap(expected, match)
                continue
            count = {name: expected[name] for name in ("exactly", "atLeast", "atMost") if name in expected}
            status, answer = self.server.request("POST", "/v1/test/requests/verify", {"match": match, **count})
            if status == 422:
                misses = [miss["differences"] for miss in answer.get("nearestMisses", [])]
                self.note(f"{expected['because']}: {answer['count']} requests match {json.dumps(expected['match'])}, not {json.dumps(count)}"
                          + (f". Nearest: {json.dumps(misses[0])[:500]}" if misses else ""), expected["rule"])
            elif status != 200:
                raise RuntimeError(json.dumps(answer))
        self.check_commands()

    def requests(self):
        return [entry for entry in self.server.must("GET", "/v1/test/requests")["requests"] if entry.get("token") == self.token["tokenId"]]

    def check_gap(self, expected, match):
        ids = set(self.server.must("POST", "/v1/test/requests/verify", {"match": match, "atLeast": 0})["requests"])
        times = [seconds(entry["time"]) for entry in self.requests() if entry["id"] in ids]
        gaps = [round(later - earlier, 3) for earlier, later in zip(times, times[1:])]
        if not gaps or min(gaps) < expected["secondsApart"]:
            self.note(f"{expected['because']}: the requests were {gaps} seconds apart", expected["rule"])

    def check_commands(self):
        """Checks the rules for commands that hold in every scenario: idempotency keys, retries and order."""
        groups = []
        for entry in self.requests():
            if entry["method"] == "GET":
                continue
            key = entry["headers"].get("idempotency-key")
            if key is None:
                return self.note(f"{entry['method']} {entry['path']} has no `Idempotency-Key`", "C1")
            same = next((group for group in groups if group[0]["headers"]["idempotency-key"] == key), None)
            if same is None:
                groups.append([entry])
            elif any(same[0].get(name) != entry.get(name) for name in ("method", "path", "query", "body")):
                self.note(f"two different requests have the key {key}: {same[0].get('body')} and {entry.get('body')}", "C2")
            elif same is not groups[-1]:
                self.note(f"{json.dumps(entry.get('body'))} was sent again after a later command", "C6")
            else:
                same.append(entry)
        if len(groups) > len(self.sent):
            self.note(f"{len(self.sent)} commands were sent under {len(groups)} keys: a retry repeats its key", "C2")
        bodies = [body for command in self.sent for body in command.values()]
        order = [group[0].get("body") for group in groups]
        # A different order is a fault only if the client sent the same bodies as the scenario names. A client may write
        # a row reference in another form, and then the orders are not compared.
        if order != bodies and sorted(map(str, order)) == sorted(map(str, bodies)):
            self.note(f"the commands were sent in the order {json.dumps(order)}", "C6")

    def apply_updates(self):
        """Makes the client apply the updates of the scenario's file. The client must refuse the faulty updates."""
        for case in self.scenario.golden:
            self.check_application(case["name"], case["before"], case["update"], case["after"])
            for fault in case.get("faults", []):
                self.check_application(f"{case['name']}, {fault['fault']}", fault.get("before", case["before"]), fault["update"], None)

    def check_application(self, name, before, update, after):
        answer = self.driver.ask("apply", snapshot=before, update=update)
        if after is None and "copy" in answer:
            self.note(f"{name}: the client applied a faulty update", "T6")
        elif after is not None and "copy" not in answer:
            self.note(f"{name}: the client refused a good update: {json.dumps(answer)}")
        elif after is not None and (found := difference(shown(after), shown(answer["copy"]))):
            self.note(f"{name}: {found}")


def seconds(text):
    """Converts a time in UTC (RFC 3339) to seconds since 1970."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def play(scenario, server, command, patience=30):
    """Plays a scenario with a new client. Returns the faults of the client, and the last text that its driver wrote to
    standard error.
    """
    driver = Driver(command, patience)
    try:
        return Play(scenario, server, driver).judge(), driver.said()
    finally:
        driver.close()


def levels(command, patience=30):
    """Asks the driver for the client's name and for the levels of the protocol that the client implements."""
    driver = Driver(command, patience)
    try:
        answer = driver.ask("connect", url="http://127.0.0.1:1", token="none", session=SESSION)
        if not isinstance(answer.get("client"), str) or not set(answer.get("levels", [])).issubset(LEVELS):
            raise Broken(f"the answer to `connect` has no `client`, or unknown `levels`: {json.dumps(answer)}")
        return answer["client"], set(answer["levels"])
    finally:
        driver.close()
